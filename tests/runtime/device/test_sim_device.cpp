// SPDX-License-Identifier: MIT
// The simulated device. What a product must be comes from tests/oracle.
#include <catch2/catch.hpp>
#include <thread>

#include "runtime/device/simulated/sim_device.hpp"
#include "tests/runtime/device/gemm_job.hpp"

using namespace wavejit;
using namespace wavejit::test;
using device::CaptureState;
using device::SimDevice;

namespace {

std::shared_ptr<SimDevice> make_device(const std::string& target = "gfx1151",
                                       std::uint64_t memory = std::uint64_t{1} << 30) {
  device::SimOptions options;
  options.target = target;
  options.memory_bytes = memory;
  return must(SimDevice::create(options));
}

/// A launch whose output lies outside every allocation.
std::vector<std::byte> with_wild_output(const GemmJob& job, std::vector<std::byte> kernarg) {
  for (const auto& argument : job.launch.arguments) {
    if (argument.name != "output") continue;
    const std::uint64_t nobody = 0x1000;
    std::memcpy(kernarg.data() + argument.offset, &nobody, sizeof nobody);
  }
  return kernarg;
}

}  // namespace

TEST_CASE("Devices are opened by words", "[sim_device]") {
  CHECK(must(device::open("sim"))->info().target == "gfx1151");
  CHECK(must(device::open("sim:gfx1100"))->info().target == "gfx1100");
  const auto cdna = must(device::open("sim:gfx942:sramecc+:xnack-"));
  CHECK(cdna->info().target == "gfx942");
  CHECK(cdna->info().target_id == "gfx942:sramecc+:xnack-");
  CHECK(cdna->info().wave_size == 64);
  CHECK(must(device::open("sim:2"))->info().ordinal == 2);
  CHECK(must(device::open("sim"))->info().unique != must(device::open("sim"))->info().unique);

  CHECK(device::open("cuda").error().code == ErrorCode::invalid_argument);
  CHECK(device::open("hip:x").error().code == ErrorCode::invalid_argument);
  CHECK(device::open("sim:99").error().code == ErrorCode::no_device);
  CHECK(device::open("sim:gfx7").error().code == ErrorCode::unknown_target);
  CHECK(must(device::count(device::Kind::sim)) == 1);
}

TEST_CASE("A generated kernel gives the oracle's product on simulated devices of two targets",
          "[sim_device]") {
  for (const char* target : {"gfx1151", "gfx1100"}) {
    CAPTURE(target);
    const auto device = make_device(target);
    const GemmJob job = make_job(target);
    const auto on_default = must(run(*device, job));
    const auto verdict = judge(job, on_default);
    INFO(verdict.reason);
    CHECK(verdict.ok);
    const auto stream = must(device->create_stream());
    CHECK(must(run(*device, job, stream)) == on_default);
    CHECK(device->destroy_stream(stream));
    CHECK(device->allocated_bytes() == 0);
  }
}

TEST_CASE("A code object for another target is refused with both named", "[sim_device]") {
  const auto device = make_device("gfx1100");
  const GemmJob job = make_job("gfx1151");
  const auto refused = device->load(job.code(), job.kernel.name);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::wrong_architecture);
  CHECK(refused.error().message.find("gfx1151") != std::string::npos);
  CHECK(refused.error().message.find("gfx1100") != std::string::npos);
}

TEST_CASE("Bytes that are no code object, and a kernel that is not there, are refused", "[sim_device]") {
  const auto device = make_device();
  const GemmJob job = make_job();
  const std::vector<std::byte> junk(100, std::byte{1});
  CHECK(device->load(junk, "k").error().code == ErrorCode::invalid_code_object);
  CHECK(device->load(job.code().first(200), job.kernel.name).error().code == ErrorCode::invalid_code_object);
  const auto other = device->load(job.code(), "other");
  REQUIRE_FALSE(other);
  CHECK(other.error().code == ErrorCode::invalid_code_object);
  CHECK(other.error().message.find(job.kernel.name) != std::string::npos);
}

TEST_CASE("Geometry that the kernel cannot have is refused before anything is queued", "[sim_device]") {
  const auto device = make_device();
  const GemmJob job = make_job();
  const auto module = must(device->load(job.code(), job.kernel.name));
  const auto tensors = must(upload(*device, job));
  const auto code_of = [&](const device::Geometry& geometry, std::span<const std::byte> kernarg) {
    const auto result = device->launch(*module, geometry, kernarg, nullptr);
    return result ? ErrorCode{} : result.error().code;
  };
  auto geometry = job.geometry();
  geometry.grid[1] = 0;
  CHECK(code_of(geometry, tensors.kernarg) == ErrorCode::invalid_argument);
  geometry = job.geometry();
  geometry.block[0] *= 16;
  CHECK(code_of(geometry, tensors.kernarg) == ErrorCode::invalid_argument);
  geometry = job.geometry();
  geometry.dynamic_lds_bytes = 1U << 20;
  CHECK(code_of(geometry, tensors.kernarg) == ErrorCode::invalid_argument);
  CHECK(code_of(job.geometry(), std::span(tensors.kernarg).first(8)) == ErrorCode::invalid_argument);
  CHECK(device->synchronise(nullptr));
  int not_a_stream = 0;
  CHECK(device->launch(*module, job.geometry(), tensors.kernarg, &not_a_stream).error().code ==
        ErrorCode::invalid_argument);
  const auto other = make_device();
  CHECK(other->launch(*module, job.geometry(), tensors.kernarg, nullptr).error().code ==
        ErrorCode::invalid_argument);
}

TEST_CASE("A kernel's fault comes out of synchronise once, and the stream works on", "[sim_device]") {
  const auto device = make_device();
  const GemmJob job = make_job();
  const auto module = must(device->load(job.code(), job.kernel.name));
  const auto tensors = must(upload(*device, job));
  const auto stream = must(device->create_stream());
  must(device->launch(*module, job.geometry(), with_wild_output(job, tensors.kernarg), stream));
  must(device->launch(*module, job.geometry(), tensors.kernarg, stream));
  const auto fault = device->synchronise(stream);
  REQUIRE_FALSE(fault);
  CHECK(fault.error().code == ErrorCode::simulation);
  CHECK(fault.error().message.find(job.kernel.name) != std::string::npos);
  CHECK(fault.error().message.find("out_of_bounds") != std::string::npos);
  CHECK(device->synchronise(stream));
  CHECK(judge(job, must(download(*device, job, tensors))).ok);
}

TEST_CASE("Simulated memory is bounded and its errors have codes", "[sim_device]") {
  const auto device = make_device("gfx1151", 1000);
  const auto address = must(device->allocate(900));
  CHECK(device->allocate(200).error().code == ErrorCode::out_of_memory);
  std::vector<std::byte> bytes(10, std::byte{7});
  must(device->copy_in(address, bytes));
  must(device->fill(address + 10, 5, 9));
  std::vector<std::byte> back(15);
  must(device->copy_out(back, address));
  CHECK(back[9] == std::byte{7});
  CHECK(back[14] == std::byte{9});
  CHECK(device->copy_in(address + 895, bytes).error().code == ErrorCode::invalid_argument);
  must(device->release(address));
  CHECK(device->release(address).error().code == ErrorCode::invalid_argument);
  CHECK(device->allocate(1000));
}

TEST_CASE("Events are reached in stream order", "[sim_device]") {
  const auto device = make_device();
  const GemmJob job = make_job();
  const auto module = must(device->load(job.code(), job.kernel.name));
  const auto tensors = must(upload(*device, job));
  const auto stream = must(device->create_stream());
  const auto start = must(device->create_event());
  const auto stop = must(device->create_event());
  CHECK(device->milliseconds_between(start, stop).error().code == ErrorCode::invalid_argument);
  must(device->record(start, stream));
  must(device->launch(*module, job.geometry(), tensors.kernarg, stream));
  must(device->record(stop, stream));
  CHECK(must(device->milliseconds_between(start, stop)) > 0);
  // The wait for `stop` is a wait for the kernel before it.
  CHECK(judge(job, must(download(*device, job, tensors))).ok);
  must(device->destroy_event(start));
  CHECK(device->destroy_event(start).error().code == ErrorCode::invalid_argument);
  must(device->destroy_event(stop));
}

TEST_CASE("A captured launch runs when its graph does, as often as asked", "[sim_device]") {
  const auto device = make_device();
  const GemmJob job = make_job();
  auto module = must(device->load(job.code(), job.kernel.name));
  const auto tensors = must(upload(*device, job));
  const auto stream = must(device->create_stream());
  CHECK(must(device->capture_state(stream)) == CaptureState::none);
  must(device->begin_capture(stream));
  CHECK(must(device->capture_state(stream)) == CaptureState::active);
  must(device->launch(*module, job.geometry(), tensors.kernarg, stream));
  const auto graph = must(device->end_capture(stream));
  CHECK(graph->nodes.size() == 1);
  must(device->synchronise(stream));
  CHECK(must(download(*device, job, tensors)) ==
        std::vector<std::uint16_t>(static_cast<std::size_t>(job.m * job.kernel.problem.n), 0xFFFF));
  module.reset();
  CHECK(device->collect() == 1);  // the graph needs it
  for (int i = 0; i < 2; ++i) {
    must(clear_output(*device, job, tensors));
    must(device->launch_graph(graph, stream));
    must(device->synchronise(stream));
    CHECK(judge(job, must(download(*device, job, tensors))).ok);
  }
}

TEST_CASE("What a capture forbids is refused, and the capture survives", "[sim_device]") {
  const auto device = make_device();
  const GemmJob job = make_job();
  auto module = must(device->load(job.code(), job.kernel.name));
  auto second = must(device->load(job.code(), job.kernel.name));
  const auto tensors = must(upload(*device, job));
  const auto stream = must(device->create_stream());
  must(device->begin_capture(stream));
  CHECK(device->load(job.code(), job.kernel.name).error().code == ErrorCode::capture_active);
  CHECK(device->allocate(16).error().code == ErrorCode::capture_active);
  CHECK(device->release(tensors.output).error().code == ErrorCode::capture_active);
  CHECK(download(*device, job, tensors).error().code == ErrorCode::capture_active);
  CHECK(clear_output(*device, job, tensors).error().code == ErrorCode::capture_active);
  CHECK(device->synchronise(stream).error().code == ErrorCode::capture_active);
  CHECK(device->begin_capture(stream).error().code == ErrorCode::invalid_argument);
  second.reset();
  CHECK(device->collect() == 1);
  CHECK(device->loaded() == 2);
  must(device->launch(*module, job.geometry(), tensors.kernarg, stream));
  const auto graph = must(device->end_capture(stream));
  CHECK(device->collect() == 0);
  CHECK(device->loaded() == 1);
  must(device->launch_graph(graph, nullptr));
  must(device->synchronise(nullptr));
  CHECK(judge(job, must(download(*device, job, tensors))).ok);
}

TEST_CASE("An invalidated capture refuses launches and gives no graph", "[sim_device]") {
  const auto device = make_device();
  const GemmJob job = make_job();
  const auto module = must(device->load(job.code(), job.kernel.name));
  const auto tensors = must(upload(*device, job));
  const auto stream = must(device->create_stream());
  must(device->begin_capture(stream));
  must(device->invalidate_capture(stream));
  CHECK(must(device->capture_state(stream)) == CaptureState::invalidated);
  CHECK(device->launch(*module, job.geometry(), tensors.kernarg, stream).error().code ==
        ErrorCode::capture_active);
  CHECK(device->end_capture(stream).error().code == ErrorCode::capture_active);
  CHECK(must(device->capture_state(stream)) == CaptureState::none);
  must(device->launch(*module, job.geometry(), tensors.kernarg, stream));
  must(device->synchronise(stream));
  CHECK(judge(job, must(download(*device, job, tensors))).ok);
}

TEST_CASE("A module whose owner let go stays until its work is done", "[sim_device]") {
  const auto device = make_device();
  const GemmJob job = make_job();
  const auto tensors = must(upload(*device, job));
  const auto stream = must(device->create_stream());
  {
    const auto module = must(device->load(job.code(), job.kernel.name));
    for (int i = 0; i < 200; ++i)  // more than the queue has slots
      must(device->launch(*module, job.geometry(), tensors.kernarg, stream));
  }
  CHECK(device->loaded() == 1);
  must(device->synchronise(stream));
  CHECK(device->collect() == 0);
  CHECK(device->loaded() == 0);
  CHECK(judge(job, must(download(*device, job, tensors))).ok);
}

TEST_CASE("A device that is let go with work queued ends in order", "[sim_device]") {
  const GemmJob job = make_job();
  auto device = make_device();
  auto module = must(device->load(job.code(), job.kernel.name));
  const auto tensors = must(upload(*device, job));
  const auto stream = must(device->create_stream());
  for (int i = 0; i < 8; ++i) must(device->launch(*module, job.geometry(), tensors.kernarg, stream));
  const std::weak_ptr<SimDevice> watch = device;
  device.reset();
  CHECK_FALSE(watch.expired());  // the module holds its device
  module.reset();
  CHECK(watch.expired());
}

TEST_CASE("Threads load, launch and let go on one simulated device", "[sim_device]") {
  const auto device = make_device();
  const GemmJob job = make_job();
  const auto expected = must(run(*device, job));
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 6; ++t) {
      threads.emplace_back([&] {
        const auto stream = device->create_stream();
        for (int i = 0; i < 3; ++i) {
          const auto output = run(*device, job, *stream);
          if (output && *output == expected) ++right;
          device->collect();
        }
        (void)device->destroy_stream(*stream);
      });
    }
  }
  CHECK(right == 18);
  CHECK(device->collect() == 0);
  CHECK(device->loaded() == 0);
}
