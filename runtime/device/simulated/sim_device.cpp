// SPDX-License-Identifier: MIT
#include "runtime/device/simulated/sim_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "generator/lower/lower.hpp"
#include "runtime/device/common/code_object_target.hpp"
#include "runtime/device/sim/group.hpp"
#include "runtime/device/sim/hidden_arguments.hpp"
#include "runtime/device/simulated/stream_state.hpp"

namespace wavejit::device {
namespace {

/// Room that a capture starts with, so that launches into it allocate nothing.
constexpr std::size_t capture_nodes = 1024;
constexpr std::size_t capture_kernarg_bytes = std::size_t{256} << 10;

std::string unique_name() {
  static std::atomic<unsigned> made = 0;
  return fmt::format("sim-{}", made++);
}

sim::LaunchParams params_of(const Geometry& geometry, std::span<const std::byte> kernarg) {
  sim::LaunchParams params;
  params.grid = geometry.grid;
  params.block = geometry.block;
  params.kernarg = kernarg;
  params.dynamic_lds_bytes = geometry.dynamic_lds_bytes;
  return params;
}

/// The whole segment in `room`: what the caller passed, zeros, and the arguments that a driver fills. Its
/// size is rounded up to the 16 bytes that segments are aligned to: compilers load to that end (the LLVM 14
/// of hiprtc 5.2.3 does), and a driver's segment has them.
std::span<const std::byte> complete(const SimImage& image, const Geometry& geometry,
                                    std::span<const std::byte> given, std::span<std::byte> room) {
  room = room.first((std::size_t{image.facts.kernarg_bytes} + 15) / 16 * 16);
  std::ranges::fill(room, std::byte{0});
  std::ranges::copy(given, room.begin());
  sim::fill_hidden_arguments(image.hidden, geometry.grid, geometry.block, geometry.dynamic_lds_bytes, room);
  return room;
}

Error fault_error(const SimImage& image, const sim::RunReport& report) {
  std::string text = fmt::format("kernel '{}' has {} distinct faults on the simulator; the first: {}",
                                 image.kernel, report.distinct_faults,
                                 report.faults.empty() ? "?" : sim::to_string(report.faults.front()));
  return {ErrorCode::simulation, std::move(text), {}, {}, {}};
}

}  // namespace

/// The handle that callers hold. Its end only hands the image to the device's list.
class SimDevice::LoadedModule final : public Module {
 public:
  LoadedModule(std::shared_ptr<SimDevice> device, std::shared_ptr<const SimImage> image)
      : device_(std::move(device)), image_(std::move(image)) {}
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;
  ~LoadedModule() override { device_->retire(std::move(image_)); }

  [[nodiscard]] std::string_view kernel() const override { return image_->kernel; }
  [[nodiscard]] std::uint64_t code_bytes() const override { return image_->code_bytes; }
  [[nodiscard]] const std::shared_ptr<const SimImage>& image() const { return image_; }
  [[nodiscard]] const SimDevice* device() const { return device_.get(); }

 private:
  std::shared_ptr<SimDevice> device_;
  std::shared_ptr<const SimImage> image_;
};

SimDevice::SimDevice(const SimOptions& options, const target::Target& target)
    : target_(target), run_options_(options.run) {
  info_.kind = Kind::sim;
  info_.ordinal = options.ordinal;
  info_.name = fmt::format("wavejit simulator of {}", target.name);
  info_.target = target.name;
  info_.target_id = options.target;
  info_.unique = unique_name();
  info_.compute_units = target.compute_units;
  info_.wave_size = target.wave_size;
  info_.memory_bytes = options.memory_bytes;
  info_.lds_bytes = target.lds_per_workgroup;
}

Result<std::shared_ptr<SimDevice>> SimDevice::create(const SimOptions& options) {
  const target::Target* target = target::find_simulated(options.target);
  if (target == nullptr) {
    return fail_field(ErrorCode::unknown_target, "simulated target", options.target, "one that has a table");
  }
  std::shared_ptr<SimDevice> device(new SimDevice(options, *target), DestroyWhereMade{});
  device->streams_.emplace(nullptr,
                           std::make_shared<StreamState>(
                               [self = device.get()](const auto& image, const auto& geometry, auto kernarg) {
                                 return self->execute(image, geometry, kernarg);
                               }));
  return device;
}

SimDevice::~SimDevice() {
  // Queues first: their threads use the memory.
  streams_.clear();
}

Result<void> SimDevice::outside_capture(std::string_view what) const {
  if (auto ok = made_.check(info_.name); !ok) return ok;
  if (capturing_ == 0) return {};
  return fail(ErrorCode::capture_active,
              fmt::format("{} is not possible while a stream of {} is being captured; do it before the "
                          "capture begins or after it ends",
                          what, info_.unique));
}

Result<std::shared_ptr<SimDevice::StreamState>> SimDevice::find_stream(Stream stream) const {
  if (auto ok = made_.check(info_.name); !ok) return std::unexpected(std::move(ok.error()));
  const std::shared_lock lock(handles_);
  const auto it = streams_.find(stream);
  if (it == streams_.end()) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} is not a stream of {}", stream, info_.unique));
  }
  return it->second;
}

Result<std::shared_ptr<SimEvent>> SimDevice::find_event(Event event) const {
  if (auto ok = made_.check(info_.name); !ok) return std::unexpected(std::move(ok.error()));
  const std::shared_lock lock(handles_);
  const auto it = events_.find(event);
  if (it == events_.end()) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} is not an event of {}", event, info_.unique));
  }
  return it->second;
}

Result<std::shared_ptr<const Module>> SimDevice::load(std::span<const std::byte> code_object,
                                                      std::string_view kernel) {
  if (auto ok = outside_capture("loading a code object"); !ok) return std::unexpected(ok.error());
  if (auto ok = check_target(code_object, info_.target_id); !ok) return std::unexpected(ok.error());
  const std::span elf(reinterpret_cast<const std::uint8_t*>(code_object.data()), code_object.size());
  auto object = lower::decode(elf);
  if (!object) return std::unexpected(std::move(object.error()));
  const auto found = std::ranges::find(object->kernels, kernel, &lower::DecodedKernel::name);
  if (found == object->kernels.end()) {
    std::string names;
    for (const auto& k : object->kernels) names += (names.empty() ? "" : ", ") + k.name;
    return fail_field(ErrorCode::invalid_code_object, "kernel", std::string(kernel),
                      "one of the code object's: " + names);
  }
  auto program = sim::Program::create(*found, target_);
  if (!program) return std::unexpected(std::move(program.error()));

  auto facts = read_kernel(code_object, kernel);
  if (!facts) return std::unexpected(std::move(facts.error()));
  if (facts->kernarg_bytes > WorkQueue::max_kernarg) {
    return fail_field(ErrorCode::unsupported, "kernarg segment",
                      fmt::format("{} bytes", facts->kernarg_bytes),
                      fmt::format("at most {} bytes", WorkQueue::max_kernarg));
  }
  std::vector<lower::ArgMetadata> hidden = found->args;
  std::erase_if(hidden, [](const auto& arg) { return !arg.value_kind.starts_with("hidden_"); });
  std::shared_ptr<const SimImage> image(
      new SimImage{std::string(kernel), code_object.size(), *facts, std::move(hidden), *std::move(program)},
      [count = loaded_](const SimImage* p) {
        delete p;
        --*count;
      });
  ++*loaded_;
  {
    // Room for all, so that retiring one never allocates.
    const std::scoped_lock lock(retired_mutex_);
    retired_.reserve(*loaded_);
  }
  collect();
  return std::make_shared<LoadedModule>(shared_from_this(), std::move(image));
}

void SimDevice::retire(std::shared_ptr<const SimImage> image) {
  if (made_.crossed()) return;
  const std::scoped_lock lock(retired_mutex_);
  retired_.push_back(std::move(image));
}

std::size_t SimDevice::collect() {
  if (made_.crossed()) return 0;
  const std::scoped_lock lock(retired_mutex_);
  // Images that queued work or a graph still needs are looked at again next time.
  if (capturing_ == 0) std::erase_if(retired_, [](const auto& image) { return image.use_count() == 1; });
  return retired_.size();
}

Result<void> SimDevice::execute(const SimImage& image, const Geometry& geometry,
                                std::span<const std::byte> kernarg) {
  sim::LaunchParams params = params_of(geometry, kernarg);
  params.options = run_options_;
  const std::scoped_lock lock(memory_mutex_);
  const auto report = sim::run(image.program, memory_, params);
  if (!report) return std::unexpected(report.error());
  if (!report->clean()) return std::unexpected(fault_error(image, *report));
  return {};
}

Result<void> SimDevice::launch(const Module& module, const Geometry& geometry,
                               std::span<const std::byte> kernarg, Stream stream) {
  const auto* loaded = dynamic_cast<const LoadedModule*>(&module);
  if (loaded == nullptr || loaded->device() != this) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("kernel '{}' was not loaded on {}", module.kernel(), info_.unique));
  }
  const std::shared_ptr<const SimImage>& image = loaded->image();
  if (auto ok = check_geometry(geometry, image->facts, kernarg.size(), info_.lds_bytes); !ok) return ok;
  std::array<std::byte, WorkQueue::max_kernarg> whole;
  if (kernarg.size() < image->facts.kernarg_bytes || kernarg.size() % 16 != 0)
    kernarg = complete(*image, geometry, kernarg, whole);
  if (auto ok = sim::check_launch(image->program.code(), params_of(geometry, kernarg)); !ok) return ok;
  auto found = find_stream(stream);
  if (!found) return std::unexpected(std::move(found.error()));
  StreamState& state = **found;
  const std::scoped_lock lock(state.capture_mutex);
  if (state.capture == CaptureState::invalidated) {
    return fail(ErrorCode::capture_active, "the stream's capture was invalidated; end it first");
  }
  if (state.capture == CaptureState::active) {
    state.append({.image = image, .geometry = geometry, .event = {}}, kernarg);
  } else {
    state.queue.push_launch(image, geometry, kernarg);
  }
  return {};
}

Result<CaptureState> SimDevice::capture_state(Stream stream) {
  auto state = find_stream(stream);
  if (!state) return std::unexpected(std::move(state.error()));
  return (*state)->capture.load();
}

Result<void> SimDevice::begin_capture(Stream stream) {
  auto found = find_stream(stream);
  if (!found) return std::unexpected(std::move(found.error()));
  StreamState& state = **found;
  const std::scoped_lock lock(state.capture_mutex);
  if (state.capture != CaptureState::none) {
    return fail(ErrorCode::invalid_argument, "the stream is being captured already");
  }
  state.graph = std::make_shared<SimGraph>();
  state.graph->nodes.reserve(capture_nodes);
  state.graph->kernargs.reserve(capture_kernarg_bytes);
  state.capture = CaptureState::active;
  ++capturing_;
  return {};
}

Result<std::shared_ptr<const SimGraph>> SimDevice::end_capture(Stream stream) {
  auto found = find_stream(stream);
  if (!found) return std::unexpected(std::move(found.error()));
  StreamState& state = **found;
  const std::scoped_lock lock(state.capture_mutex);
  const CaptureState was = state.capture;
  if (was == CaptureState::none) {
    return fail(ErrorCode::invalid_argument, "the stream is not being captured");
  }
  state.capture = CaptureState::none;
  --capturing_;
  std::shared_ptr<const SimGraph> graph = std::move(state.graph);
  if (was == CaptureState::invalidated) {
    return fail(ErrorCode::capture_active, "the stream's capture was invalidated; its graph is lost");
  }
  return graph;
}

Result<void> SimDevice::invalidate_capture(Stream stream) {
  auto found = find_stream(stream);
  if (!found) return std::unexpected(std::move(found.error()));
  const std::scoped_lock lock((*found)->capture_mutex);
  if ((*found)->capture == CaptureState::none)
    return fail(ErrorCode::invalid_argument, "the stream is not being captured");
  (*found)->capture = CaptureState::invalidated;
  return {};
}

Result<void> SimDevice::launch_graph(std::shared_ptr<const SimGraph> graph, Stream stream) {
  if (graph == nullptr) return fail(ErrorCode::invalid_argument, "the graph is null");
  auto found = find_stream(stream);
  if (!found) return std::unexpected(std::move(found.error()));
  StreamState& state = **found;
  const std::scoped_lock lock(state.capture_mutex);
  if (state.capture != CaptureState::none) {
    return fail(ErrorCode::capture_active, "a graph cannot be launched into a stream that is being captured");
  }
  state.queue.push_graph(std::move(graph));
  return {};
}

}  // namespace wavejit::device
