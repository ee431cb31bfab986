// SPDX-License-Identifier: MIT
// The HIP device over the simulated drivers of tests/fake_hip. What a product must be comes from
// tests/oracle; struct offsets and codes come from HIP's headers (see tests/fake_hip).
#include <catch2/catch.hpp>
#include <cstdlib>
#include <thread>

#include "tests/runtime/device/fake_driver.hpp"
#include "tests/runtime/device/gemm_job.hpp"

using namespace wavejit;
using namespace wavejit::test;
using device::Kind;

TEST_CASE("A generated kernel runs through HIP 5, 6 and 7 as on the simulated device", "[hip_device]") {
  const GemmJob job = make_job();
  const auto on_sim = must(run(*must(device::open("sim")), job));
  REQUIRE(judge(job, on_sim).ok);
  for (const char* variant : {"5", "6", "7"}) {
    CAPTURE(variant);
    const FakeDriver driver(variant);
    const auto device = must(device::open(Kind::hip, 0, driver.options()));
    CHECK(must(run(*device, job)) == on_sim);
    const auto stream = must(device->create_stream());
    CHECK(must(run(*device, job, stream)) == on_sim);
    must(device->destroy_stream(stream));
    CHECK(driver.calls("hipModuleLaunchKernel") == 2);
    CHECK(driver.last_error() == 0);
  }
}

TEST_CASE("Both struct layouts give the architecture with its features", "[hip_device]") {
  struct Expected {
    const char *variant, *properties;
    int version;
  };
  for (const Expected& e : {Expected{"5", "hipGetDeviceProperties", 50221153},
                            Expected{"6", "hipGetDevicePropertiesR0600", 60241134},
                            Expected{"7", "hipGetDevicePropertiesR0600", 70051831}}) {
    CAPTURE(e.variant);
    const FakeDriver driver(e.variant, "gfx942:sramecc+:xnack-");
    const auto device = must(device::open(Kind::hip, 0, driver.options()));
    const device::Info& info = device->info();
    CHECK(info.kind == Kind::hip);
    CHECK(info.target == "gfx942");
    CHECK(info.target_id == "gfx942:sramecc+:xnack-");
    CHECK(info.driver_version == e.version);
    CHECK(info.wave_size == 64);
    CHECK(info.compute_units == 304);  // shared/hardware.md: MI300X
    CHECK(info.lds_bytes == 65536);
    CHECK(info.clock_khz == 2'900'000);
    CHECK(info.memory_bytes > 0);
    CHECK(info.unique == "000000000000abc0@0000:03:00.0");
    CHECK(driver.calls(e.properties) == 1);
  }
}

TEST_CASE("Two devices of different architectures each take their own code", "[hip_device]") {
  const FakeDriver driver("6", "gfx1151 gfx1100");
  CHECK(must(device::count(Kind::hip, driver.options())) == 2);
  const auto first = must(device::open(Kind::hip, 0, driver.options()));
  const auto second = must(device::open("hip:1", driver.options()));
  CHECK(first->info().target == "gfx1151");
  CHECK(second->info().target == "gfx1100");
  CHECK(first->info().unique != second->info().unique);
  CHECK(must(device::open(Kind::hip, 1, driver.options())) == second);

  const GemmJob job0 = make_job("gfx1151"), job1 = make_job("gfx1100");
  CHECK(judge(job1, must(run(*second, job1))).ok);
  CHECK(judge(job0, must(run(*first, job0))).ok);
  CHECK(second->load(job0.code(), job0.kernel.name).error().code == ErrorCode::wrong_architecture);
  const auto module = must(first->load(job0.code(), job0.kernel.name));
  CHECK(second->launch(*module, job0.geometry(), {}, nullptr).error().code == ErrorCode::invalid_argument);
  CHECK(device::open(Kind::hip, 2, driver.options()).error().code == ErrorCode::no_device);
  CHECK(device::open(Kind::hip, -1, driver.options()).error().code == ErrorCode::no_device);
}

TEST_CASE("The caller's current device is put back, after failures too", "[hip_device]") {
  const FakeDriver driver("6", "gfx1151 gfx1151");
  const GemmJob job = make_job();
  driver.set_device(1);
  const auto device = must(device::open(Kind::hip, 0, driver.options()));
  CHECK(driver.get_device() == 1);
  const auto stream = must(device->create_stream());
  CHECK(judge(job, must(run(*device, job, stream))).ok);
  CHECK(driver.get_device() == 1);
  driver.obey("fail hipModuleLoadData 200 1; fail hipMalloc 2 1");
  CHECK_FALSE(device->load(job.code(), job.kernel.name));
  CHECK_FALSE(device->allocate(16));
  CHECK(driver.get_device() == 1);
  must(device->destroy_stream(stream));
}

TEST_CASE("A module is unloaded by collect, not by whoever lets it go", "[hip_device]") {
  const FakeDriver driver("6");
  const GemmJob job = make_job();
  const auto device = must(device::open(Kind::hip, 0, driver.options()));
  auto module = must(device->load(job.code(), job.kernel.name));
  auto copy = module;
  module.reset();
  CHECK(device->collect() == 0);
  CHECK(driver.modules() == 1);  // a copy of the handle is left
  copy.reset();
  CHECK(driver.modules() == 1);
  CHECK(driver.calls("hipModuleUnload") == 0);
  CHECK(device->collect() == 0);
  CHECK(driver.modules() == 0);

  // A load does it too.
  module = must(device->load(job.code(), job.kernel.name));
  module.reset();
  module = must(device->load(job.code(), job.kernel.name));
  CHECK(driver.modules() == 1);
}

TEST_CASE("The end of a device unloads what was let go", "[hip_device]") {
  const FakeDriver driver("6");
  const GemmJob job = make_job();
  auto device = must(device::open(Kind::hip, 0, driver.options()));
  auto module = must(device->load(job.code(), job.kernel.name));
  device.reset();
  CHECK(driver.modules() == 1);
  module.reset();
  CHECK(driver.modules() == 0);
}

TEST_CASE("HIP events measure a launch", "[hip_device]") {
  const FakeDriver driver("7");
  const GemmJob job = make_job();
  const auto device = must(device::open(Kind::hip, 0, driver.options()));
  const auto module = must(device->load(job.code(), job.kernel.name));
  const auto tensors = must(upload(*device, job));
  const auto start = must(device->create_event()), stop = must(device->create_event());
  must(device->record(start, nullptr));
  must(device->launch(*module, job.geometry(), tensors.kernarg, nullptr));
  must(device->record(stop, nullptr));
  CHECK(must(device->milliseconds_between(start, stop)) > 0);
  CHECK(judge(job, must(download(*device, job, tensors))).ok);
  must(device->destroy_event(start));
  must(device->destroy_event(stop));
}

TEST_CASE("Threads load, launch and let go on two HIP devices at once", "[hip_device]") {
  const FakeDriver driver("6", "gfx1151 gfx1100");
  const std::array devices{must(device::open(Kind::hip, 0, driver.options())),
                           must(device::open(Kind::hip, 1, driver.options()))};
  const std::array jobs{make_job("gfx1151"), make_job("gfx1100")};
  const std::array expected{must(run(*devices[0], jobs[0])), must(run(*devices[1], jobs[1]))};
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 6; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = 0; i < 3; ++i) {
          const std::size_t d = (t + i) % 2;
          const auto stream = devices[d]->create_stream();
          const auto output = run(*devices[d], jobs[d], *stream);
          if (output && *output == expected[d]) ++right;
          devices[d]->collect();
          (void)devices[d]->destroy_stream(*stream);
        }
      });
    }
  }
  CHECK(right == 18);
  for (const auto& device : devices) CHECK(device->collect() == 0);
  CHECK(driver.modules() == 0);
}

TEST_CASE("The environment names the HIP library, and auto never simulates unasked", "[hip_device]") {
  const FakeDriver driver("6", "gfx1100");
  setenv("WAVEJIT_HIP_LIBRARY", driver.path().c_str(), 1);
  CHECK(must(device::open("auto"))->info().target_id == "gfx1100");
  CHECK(must(device::open(""))->info().kind == Kind::hip);
  CHECK(must(device::open("hip"))->info().kind == Kind::hip);
  const auto refused = [](const char* name, std::string_view why) {
    const auto opened = device::open(name);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == ErrorCode::no_device);
    INFO(opened.error().message);
    CHECK(opened.error().message.find(why) != std::string::npos);
    CHECK(opened.error().message.find("\"sim\"") != std::string::npos);
  };
  driver.obey("devices");
  refused("auto", "hipErrorNoDevice");
  setenv("WAVEJIT_HIP_LIBRARY", "/nowhere/libamdhip64.so.6", 1);
  refused("", "/nowhere/libamdhip64.so.6");
  const FakeDriver old("old");  // a library that is of no use is no GPU, either
  setenv("WAVEJIT_HIP_LIBRARY", old.path().c_str(), 1);
  refused("auto", "hipModuleLaunchKernel");
  unsetenv("WAVEJIT_HIP_LIBRARY");
}
