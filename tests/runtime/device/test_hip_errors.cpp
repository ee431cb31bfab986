// SPDX-License-Identifier: MIT
// Each way in which a HIP driver can refuse has its own error, leaves nothing behind, and the device works
// on afterwards.
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/runtime/device/fake_driver.hpp"
#include "tests/runtime/device/gemm_job.hpp"
#include "tests/skip.hpp"

using namespace wavejit;
using namespace wavejit::test;
using device::Kind;

namespace {

bool mentions(const Error& error, std::string_view text) {
  return error.message.find(text) != std::string::npos;
}

/// The device still computes, and our failures are off the application's hipGetLastError.
void check_works(const FakeDriver& driver, device::Device& device, const GemmJob& job) {
  CHECK(driver.last_error() == 0);
  CHECK(judge(job, must(run(device, job))).ok);
  device.collect();
  CHECK(driver.modules() == 0);
}

}  // namespace

TEST_CASE("A missing HIP library is no_device with the loader's words", "[hip_errors]") {
  const device::OpenOptions options{.hip_library = "/nowhere/libamdhip64.so.6", .sim_target = {}};
  const auto count = device::count(Kind::hip, options);
  REQUIRE_FALSE(count);
  CHECK(count.error().code == ErrorCode::no_device);
  CHECK(mentions(count.error(), "/nowhere/libamdhip64.so.6"));
  CHECK(device::open(Kind::hip, 0, options).error().code == ErrorCode::no_device);
}

TEST_CASE("A library without a function that is needed is refused by that function's name", "[hip_errors]") {
  const FakeDriver driver("old");
  const auto opened = device::open(Kind::hip, 0, driver.options());
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == ErrorCode::driver);
  CHECK(mentions(opened.error(), "hipModuleLaunchKernel, hipStreamIsCapturing"));
}

TEST_CASE("A driver without a GPU, or too old for its kernel module, is no_device", "[hip_errors]") {
  const FakeDriver driver("6", "");
  auto count = device::count(Kind::hip, driver.options());
  REQUIRE_FALSE(count);
  CHECK(count.error().code == ErrorCode::no_device);
  CHECK(mentions(count.error(), "hipErrorNoDevice (100)"));
  driver.obey("devices gfx1151; fail hipInit 35 1");
  count = device::count(Kind::hip, driver.options());
  REQUIRE_FALSE(count);
  CHECK(count.error().code == ErrorCode::no_device);
  CHECK(mentions(count.error(), "hipErrorInsufficientDriver (35)"));
  CHECK(must(device::count(Kind::hip, driver.options())) == 1);  // not remembered
}

TEST_CASE("A failure while a device's properties are read names the call", "[hip_errors]") {
  const FakeDriver driver("6");
  for (const char* call : {"hipGetDevicePropertiesR0600", "hipDeviceGetPCIBusId", "hipDeviceGetName",
                           "hipDeviceTotalMem", "hipDeviceGetAttribute"}) {
    CAPTURE(call);
    driver.obey(std::string("fail ") + call + " 999 1");
    const auto opened = device::open(Kind::hip, 0, driver.options());
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == ErrorCode::driver);
    CHECK(mentions(opened.error(), call));
    CHECK(mentions(opened.error(), "(999)"));
  }
  driver.obey("fail hipDeviceGetUuid 801 1");  // not vital
  CHECK(must(device::open(Kind::hip, 0, driver.options()))->info().unique == "0000:03:00.0");
}

TEST_CASE("Each refusal of a module has its own code", "[hip_errors]") {
  const FakeDriver driver("6");
  const GemmJob job = make_job();
  const auto device = must(device::open(Kind::hip, 0, driver.options()));
  struct Case {
    const char *call, *code, *name;
    ErrorCode expected;
  };
  for (const Case& c :
       {Case{"hipModuleLoadData", "2", "hipErrorOutOfMemory (2)", ErrorCode::out_of_memory},
        Case{"hipModuleLoadData", "209", "hipErrorNoBinaryForGpu (209)", ErrorCode::wrong_architecture},
        Case{"hipModuleLoadData", "200", "hipErrorInvalidImage (200)", ErrorCode::load_failed},
        Case{"hipModuleLoadData", "303", "hipErrorSharedObjectInitFailed (303)", ErrorCode::load_failed},
        Case{"hipModuleLoadData", "900", "hipErrorStreamCaptureUnsupported (900)", ErrorCode::capture_active},
        Case{"hipModuleGetFunction", "500", "hipErrorNotFound (500)", ErrorCode::load_failed},
        Case{"hipModuleGetFunction", "2", "hipErrorOutOfMemory (2)", ErrorCode::out_of_memory}}) {
    CAPTURE(c.call, c.code);
    driver.obey(std::string("fail ") + c.call + " " + c.code + " 1");
    const auto refused = device->load(job.code(), job.kernel.name);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == c.expected);
    CHECK(mentions(refused.error(), c.call));
    CHECK(mentions(refused.error(), c.name));
    CHECK(driver.modules() == 0);  // a module whose function was not found is not left behind
    check_works(driver, *device, job);
  }
}

TEST_CASE("A code object for another target or a broken one never reaches the driver", "[hip_errors]") {
  const FakeDriver driver("6", "gfx1100");
  const GemmJob foreign = make_job("gfx1151"), job = make_job("gfx1100");
  const auto device = must(device::open(Kind::hip, 0, driver.options()));
  const auto code = [&](std::span<const std::byte> bytes, std::string_view kernel) {
    const auto result = device->load(bytes, kernel);
    return result ? ErrorCode{} : result.error().code;
  };
  CHECK(code(foreign.code(), foreign.kernel.name) == ErrorCode::wrong_architecture);
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{63}, std::size_t{64}, std::size_t{500}, job.code().size() - 1})
    CHECK(code(job.code().first(bytes), job.kernel.name) == ErrorCode::invalid_code_object);
  CHECK(code(job.code(), "nobody") == ErrorCode::invalid_code_object);
  CHECK(driver.calls("hipModuleLoadData") == 0);
  check_works(driver, *device, job);
}

TEST_CASE("Each refusal of a launch has its own code", "[hip_errors]") {
  const FakeDriver driver("6");
  const GemmJob job = make_job();
  const auto device = must(device::open(Kind::hip, 0, driver.options()));
  auto module = must(device->load(job.code(), job.kernel.name));
  const auto tensors = must(upload(*device, job));
  struct Case {
    const char* code;
    ErrorCode expected;
  };
  for (const Case& c : {Case{"2", ErrorCode::out_of_memory}, Case{"701", ErrorCode::launch_failed},
                        Case{"719", ErrorCode::launch_failed}, Case{"9", ErrorCode::launch_failed},
                        Case{"901", ErrorCode::capture_active}}) {
    CAPTURE(c.code);
    driver.obey(std::string("fail hipModuleLaunchKernel ") + c.code + " 1");
    const auto refused = device->launch(*module, job.geometry(), tensors.kernarg, nullptr);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == c.expected);
    CHECK(mentions(refused.error(), std::string("(") + c.code + ")"));
    CHECK(driver.last_error() == 0);
  }
  auto geometry = job.geometry();
  geometry.grid[0] = 0;
  CHECK(device->launch(*module, geometry, tensors.kernarg, nullptr).error().code ==
        ErrorCode::invalid_argument);
  CHECK(device->launch(*module, job.geometry(), std::span(tensors.kernarg).first(4), nullptr).error().code ==
        ErrorCode::invalid_argument);
  int not_a_stream = 0;
  CHECK(device->launch(*module, job.geometry(), tensors.kernarg, &not_a_stream).error().code ==
        ErrorCode::invalid_argument);
  module.reset();
  device->collect();
  check_works(driver, *device, job);
}

TEST_CASE("A kernel that fails on the device is launch_failed at the next wait", "[hip_errors]") {
  const FakeDriver driver("6");
  const GemmJob job = make_job();
  const auto device = must(device::open(Kind::hip, 0, driver.options()));
  {
    const auto module = must(device->load(job.code(), job.kernel.name));
    const auto tensors = must(upload(*device, job));
    must(device->release(tensors.output));  // the kernel will store to nobody's memory
    must(device->launch(*module, job.geometry(), tensors.kernarg, nullptr));
    const auto waited = device->synchronise(nullptr);
    REQUIRE_FALSE(waited);
    CHECK(waited.error().code == ErrorCode::launch_failed);
    CHECK(mentions(waited.error(), "hipErrorLaunchFailure (719)"));
  }
  device->collect();
  check_works(driver, *device, job);
}

TEST_CASE("Memory that the device does not have is out_of_memory", "[hip_errors]") {
  const FakeDriver driver("6");
  const GemmJob job = make_job();
  const auto device = must(device::open(Kind::hip, 0, driver.options()));
  const auto refused = device->allocate(std::uint64_t{1} << 50);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::out_of_memory);
  CHECK(mentions(refused.error(), "hipMalloc"));
  std::vector<std::byte> bytes(4);
  CHECK(device->copy_in(16, bytes).error().code == ErrorCode::driver);
  CHECK(device->copy_out(bytes, 16).error().code == ErrorCode::driver);
  CHECK(device->release(16).error().code == ErrorCode::driver);
  check_works(driver, *device, job);
}

TEST_CASE("Debian's libamdhip64 5.2.3 without a GPU is no_device, and no abort", "[hip_errors]") {
  const std::string path = "/usr/lib/x86_64-linux-gnu/libamdhip64.so.5";
  if (!std::filesystem::exists(path) || std::filesystem::exists("/dev/kfd"))
    test::skip("needs " + path + " and a machine without a GPU");
  const device::OpenOptions options{.hip_library = path, .sim_target = {}};
  const auto count = device::count(Kind::hip, options);
  REQUIRE_FALSE(count);
  CHECK(count.error().code == ErrorCode::no_device);
  INFO(count.error().message);
  CHECK(mentions(count.error(), "hipError"));
  const auto automatic = device::open("auto", options);
  REQUIRE_FALSE(automatic);
  CHECK(automatic.error().code == ErrorCode::no_device);
  CHECK(mentions(automatic.error(), "hipError"));
}
