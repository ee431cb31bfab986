// SPDX-License-Identifier: MIT
#include "tools/wavejit/tune_measure.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <random>

#include "templates/kernel.hpp"
#include "tools/wavejit/model_kernel.hpp"

namespace wavejit::tools {
namespace {

/// A kernel of a call, ready to be repeated.
struct Stage {
  std::shared_ptr<const device::Module> module;
  templates::Launch launch;
  std::vector<std::byte> kernarg;
};

struct Call {
  std::string config;  ///< canonical
  std::vector<Stage> stages;
};

/// One problem's tensors on a device. Calls run one after another, so all kernels of all Configs share them:
/// a workspace carries what passes between the kernels of a call, and is as large as any of them wants it.
class Tensors {
 public:
  explicit Tensors(device::Device& device) : device_(device) {}
  ~Tensors() {
    for (const Tensor& t : all_)
      if (t.address) static_cast<void>(device_.release(*t.address));
  }
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;

  /// Before place(), every tensor of every kernel.
  void want(const templates::Argument& a) {
    const auto known = std::ranges::find(all_, a.name, &Tensor::name);
    if (known == all_.end()) {
      all_.push_back({a.name, a.bytes, a.access == ir::Access::read, {}});
    } else {
      known->bytes = std::max(known->bytes, a.bytes);
    }
  }

  /// Allocates and fills. `group_rows`: of a grouped problem.
  Result<void> place(const std::vector<std::int64_t>& group_rows) {
    const std::vector<std::byte> bits = random_bits();
    for (Tensor& t : all_) {
      const auto address = device_.allocate(static_cast<std::uint64_t>(std::max<std::int64_t>(t.bytes, 1)));
      if (!address) return std::unexpected(address.error());
      t.address = *address;
      auto ok = t.name == "group_rows" ? device_.copy_in(*address, std::as_bytes(std::span(group_rows)))
                                       : fill(t, bits);
      if (!ok) return ok;
    }
    return {};
  }

  [[nodiscard]] device::Address address(const std::string& name) const {
    return *std::ranges::find(all_, name, &Tensor::name)->address;
  }

 private:
  struct Tensor {
    std::string name;
    std::int64_t bytes = 0;
    bool read_first = true;  ///< else a kernel writes it before any reads it
    std::optional<device::Address> address;
  };

  static std::vector<std::byte> random_bits() {
    std::vector<std::byte> bits(1 << 20);
    std::mt19937_64 random(1);
    // The exponent's upper bits stay small: no NaN, no overflow.
    for (std::size_t i = 0; i < bits.size(); ++i)
      bits[i] = static_cast<std::byte>(random() & (i % 2 == 0 ? 0xFF : 0x3F));
    return bits;
  }

  Result<void> fill(const Tensor& t, std::span<const std::byte> bits) {
    if (!t.read_first) return {};
    for (std::int64_t at = 0; at < t.bytes; at += std::ssize(bits)) {
      const auto size = std::min<std::size_t>(bits.size(), static_cast<std::size_t>(t.bytes - at));
      auto ok = device_.copy_in(*t.address + static_cast<std::uint64_t>(at), bits.first(size));
      if (!ok) return ok;
    }
    return {};
  }

  device::Device& device_;
  std::vector<Tensor> all_;
};

Result<Call> load(device::Device& device, const templates::Problem& problem, const templates::Config& config,
                  const target::Target& target, std::int64_t m) {
  Call call{.config = templates::canonical(config), .stages = {}};
  for (unsigned stage = 0; stage < templates::stages(problem, config); ++stage) {
    const auto kernel =
        templates::generate(problem, config, target, {.assemble = true, .stage = stage, .observer = {}});
    if (!kernel) return std::unexpected(kernel.error());
    auto launch = templates::launch(problem, kernel->config, target, m, stage);
    if (!launch) return std::unexpected(launch.error());
    auto module = device.load(std::as_bytes(std::span(kernel->code_object)), kernel->name);
    if (!module) return std::unexpected(module.error());
    call.stages.push_back({*std::move(module), *std::move(launch), {}});
  }
  return call;
}

/// All that have registers enough.
Result<std::vector<Call>> load_all(device::Device& device, const templates::Problem& problem,
                                   const target::Target& target, std::int64_t m,
                                   const std::vector<templates::Config>& configs) {
  std::vector<Call> calls;
  for (const templates::Config& c : configs) {
    auto call = load(device, problem, c, target, m);
    if (!call && call.error().code == ErrorCode::out_of_registers) continue;
    if (!call) return std::unexpected(call.error());
    calls.push_back(*std::move(call));
  }
  return calls;
}

void fill_kernarg(Stage& stage, const Tensors& tensors) {
  stage.kernarg.resize(stage.launch.kernarg_size);
  for (const templates::Argument& a : stage.launch.arguments) {
    const auto value =
        a.kind == ir::ArgKind::buffer ? tensors.address(a.name) : static_cast<std::uint64_t>(a.value);
    std::memcpy(stage.kernarg.data() + a.offset, &value, std::min<std::size_t>(a.size, sizeof value));
  }
}

Result<void> place_all(Tensors& tensors, std::vector<Call>& calls,
                       const std::vector<std::int64_t>& group_rows) {
  for (const Call& call : calls)
    for (const Stage& stage : call.stages)
      for (const templates::Argument& a : stage.launch.arguments)
        if (a.kind == ir::ArgKind::buffer) tensors.want(a);
  if (auto ok = tensors.place(group_rows); !ok) return ok;
  for (Call& call : calls)
    for (Stage& stage : call.stages) fill_kernarg(stage, tensors);
  return {};
}

Result<void> launch(device::Device& device, const Stage& stage) {
  const templates::Launch& l = stage.launch;
  if (std::ranges::find(l.grid, 0U) != l.grid.end()) return {};
  return device.launch(*stage.module, {l.grid, l.block, l.dynamic_lds_bytes}, stage.kernarg, nullptr);
}

/// Two events, destroyed at the end.
class Stopwatch {
 public:
  static Result<std::unique_ptr<Stopwatch>> create(device::Device& device) {
    std::unique_ptr<Stopwatch> watch(new Stopwatch(device));
    for (device::Event* event : {&watch->start_, &watch->stop_}) {
      const auto made = device.create_event();
      if (!made) return std::unexpected(made.error());
      *event = *made;
    }
    return watch;
  }
  ~Stopwatch() {
    for (device::Event event : {start_, stop_})
      if (event != nullptr) static_cast<void>(device_.destroy_event(event));
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  Result<double> milliseconds(const Call& call) {
    auto ok = device_.record(start_, nullptr);
    for (const Stage& stage : call.stages)
      if (ok) ok = launch(device_, stage);
    if (ok) ok = device_.record(stop_, nullptr);
    if (ok) ok = device_.synchronise(nullptr);
    if (!ok) return std::unexpected(ok.error());
    return device_.milliseconds_between(start_, stop_);
  }

 private:
  explicit Stopwatch(device::Device& device) : device_(device) {}

  device::Device& device_;
  device::Event start_ = nullptr, stop_ = nullptr;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

Result<std::vector<engine::TunedTime>> measure_configs(
    device::Device& device, const templates::Problem& problem, const target::Target& target, std::int64_t m,
    const std::vector<templates::Config>& configs, unsigned rounds,
    const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  Tensors tensors(device);
  auto calls = load_all(device, problem, target, m, configs);
  if (!calls) return std::unexpected(calls.error());
  const bool grouped = problem.op == templates::Operation::int4_grouped;
  auto ok =
      place_all(tensors, *calls, grouped ? even_groups(m, problem.groups) : std::vector<std::int64_t>());
  if (!ok) return std::unexpected(ok.error());
  const auto watch = Stopwatch::create(device);
  if (!watch) return std::unexpected(watch.error());
  std::vector<std::vector<double>> times(calls->size());
  for (unsigned round = 0; round <= rounds; ++round)
    for (std::size_t i = 0; i < calls->size(); ++i) {
      const auto ms = (*watch)->milliseconds((*calls)[i]);
      if (!ms) return std::unexpected(ms.error());
      if (round > 0) times[i].push_back(*ms * 1e3);  // the first round warms up
      progress(round * calls->size() + i + 1, (rounds + 1) * calls->size());
    }
  std::vector<engine::TunedTime> result;
  for (std::size_t i = 0; i < calls->size(); ++i) result.push_back({(*calls)[i].config, median(times[i])});
  return result;
}

}  // namespace wavejit::tools
