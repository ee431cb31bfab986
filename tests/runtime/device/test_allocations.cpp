// SPDX-License-Identifier: MIT
// launch and capture_state allocate nothing on the host heap. Counted by this program's own operator new,
// on the calling thread only: what a device's own threads do is theirs.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>

#include "runtime/device/simulated/sim_device.hpp"
#include "tests/runtime/device/fake_driver.hpp"
#include "tests/runtime/device/gemm_job.hpp"

namespace {
thread_local long allocations = 0;

void* counted_or_null(std::size_t bytes) noexcept {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}

void* counted(std::size_t bytes) {
  if (void* p = counted_or_null(bytes)) return p;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted_or_null(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return counted_or_null(bytes); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

using namespace wavejit;
using namespace wavejit::test;

namespace {

/// Allocations of one capture_state and one launch, after a first of each.
long allocations_of_launch(device::Device& device, const device::Module& module, const GemmJob& job,
                           const Tensors& tensors, device::Stream stream) {
  long counted_ones = -1;
  for (int i = 0; i < 2; ++i) {
    const long before = allocations;
    const bool good = device.capture_state(stream).has_value() &&
                      device.launch(module, job.geometry(), tensors.kernarg, stream).has_value();
    counted_ones = good ? allocations - before : -1;
  }
  return counted_ones;
}

}  // namespace

TEST_CASE("The counter of allocations counts", "[allocations]") {
  const long before = allocations;
  const auto some = std::make_unique<int>(1);
  CHECK(allocations == before + 1);
}

TEST_CASE("A launch on the simulated device allocates nothing, captured or not", "[allocations]") {
  const auto device = must(device::SimDevice::create({}));
  const GemmJob job = make_job();
  const auto module = must(device->load(job.code(), job.kernel.name));
  const auto tensors = must(upload(*device, job));
  const auto stream = must(device->create_stream());
  CHECK(allocations_of_launch(*device, *module, job, tensors, nullptr) == 0);
  CHECK(allocations_of_launch(*device, *module, job, tensors, stream) == 0);
  must(device->begin_capture(stream));
  CHECK(allocations_of_launch(*device, *module, job, tensors, stream) == 0);
  CHECK(must(device->end_capture(stream))->nodes.size() == 2);
  must(device->synchronise(stream));
  must(device->synchronise(nullptr));
}

TEST_CASE("A launch on the HIP device allocates nothing", "[allocations]") {
  // The simulated driver is in the count too: outside a capture it allocates nothing either.
  const FakeDriver driver("6");
  const auto device = must(device::open(device::Kind::hip, 0, driver.options()));
  const GemmJob job = make_job();
  const auto module = must(device->load(job.code(), job.kernel.name));
  const auto tensors = must(upload(*device, job));
  CHECK(allocations_of_launch(*device, *module, job, tensors, nullptr) == 0);
  must(device->synchronise(nullptr));
}
