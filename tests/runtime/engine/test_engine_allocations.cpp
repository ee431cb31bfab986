// SPDX-License-Identifier: MIT
// A launch must not allocate: it may be in the middle of a stream capture, and in a server's hot path.
// Counted by replacing operator new for this test program; only the thread that asks is counted.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>

#include "tests/harness/device_tensors.hpp"
#include "tests/harness/kquant_device.hpp"
#include "tests/runtime/engine/engine_bench.hpp"

namespace {
thread_local bool counting = false;
thread_local std::size_t allocations = 0;

void* allocate_or_null(std::size_t size) noexcept {
  if (counting) ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}

void* allocate(std::size_t size) {
  if (void* p = allocate_or_null(size)) return p;
  throw std::bad_alloc();
}
}  // namespace

// NOLINTBEGIN(misc-definitions-in-headers)
void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
// The forms that do not throw, too: what they give goes to the same delete (address sanitizer tells them
// apart).
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate_or_null(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate_or_null(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
// NOLINTEND(misc-definitions-in-headers)

namespace wavejit::test {
namespace {

template <class F>
std::size_t counted(F&& f) {
  allocations = 0;
  counting = true;
  f();
  counting = false;
  return allocations;
}

TEST_CASE("The counter counts", "[engine][allocations]") {
  CHECK(counted([] { const std::vector<int> v(100); }) == 1);
}

TEST_CASE("Launches allocate nothing, into a stream or into a capture; nor does preparing again",
          "[engine][allocations]") {
  auto device = *device::SimDevice::create({});
  EngineOptions options = quiet_options();
  options.opened = {device};
  auto engine = *Engine::create(options);
  const templates::Problem problem = small_problem();
  const Plan plan = *engine->prepare(problem, {1, 16});
  auto tensors = *harness::DeviceTensors::create(device, plan.problem(), 5, oracle::random_values(1));
  const device::Stream stream = *device->create_stream();

  bool ok = true;
  CHECK(counted([&] { ok = ok && plan.launch(stream, tensors.arguments()).has_value(); }) == 0);
  REQUIRE(device->synchronise(stream));
  REQUIRE(device->begin_capture(stream));
  CHECK(counted([&] {
          for (int i = 0; i < 100; ++i) ok = ok && plan.launch(stream, tensors.arguments()).has_value();
        }) == 0);
  const auto graph = device->end_capture(stream);
  REQUIRE(graph);
  CHECK(ok);
  CHECK(counted([&] { ok = ok && engine->prepare(problem, {1, 16}).has_value(); }) == 0);
  CHECK(ok);
  REQUIRE(device->destroy_stream(stream));
}

TEST_CASE("Launches of several kernels, and in several pieces, allocate nothing either",
          "[engine][allocations][kquant]") {
  auto device = *device::SimDevice::create({});
  EngineOptions options = quiet_options();
  options.opened = {device};
  auto engine = *Engine::create(options);
  templates::Problem problem;
  problem.op = templates::Operation::kquant;
  problem.n = 8;
  problem.k = 256;
  const Plan plan = *engine->prepare(problem, {1, 20});
  auto tensors = *harness::kquant::DeviceTensors::create(
      device, {.problem = plan.problem(), .m = 20, .workspace_bytes = *plan.workspace_bytes(20)});
  const device::Stream stream = *device->create_stream();
  bool ok = true;
  const auto launch = [&] { ok = ok && plan.launch(stream, tensors.arguments()).has_value(); };
  CHECK(counted(launch) == 0);
  REQUIRE(device->synchronise(stream));
  REQUIRE(device->begin_capture(stream));
  CHECK(counted(launch) == 0);
  REQUIRE(device->end_capture(stream));
  CHECK(ok);
  REQUIRE(device->destroy_stream(stream));
}

}  // namespace
}  // namespace wavejit::test
