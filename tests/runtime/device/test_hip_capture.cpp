// SPDX-License-Identifier: MIT
// Stream capture on HIP. An application captures with HIP's own functions; the device must record into the
// graph, refuse what would break it, and keep loaded what it holds.
#include <algorithm>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "tests/runtime/device/fake_driver.hpp"
#include "tests/runtime/device/gemm_job.hpp"

using namespace wavejit;
using namespace wavejit::test;
using device::CaptureState;
using device::Kind;

namespace {

constexpr int global_mode = 0, relaxed_mode = 2;  // hipStreamCaptureMode

struct Fixture {
  explicit Fixture(const std::string& variant = "6")
      : driver(variant),
        device(must(device::open(Kind::hip, 0, driver.options()))),
        module(must(device->load(job.code(), job.kernel.name))),
        tensors(must(upload(*device, job))) {}

  [[nodiscard]] Result<void> launch(device::Stream stream) const {
    return device->launch(*module, job.geometry(), tensors.kernarg, stream);
  }
  /// The graph's result, computed anew.
  [[nodiscard]] bool graph_is_right(void* executable, device::Stream stream) const {
    must(clear_output(*device, job, tensors));
    if (driver.launch_graph(executable, stream) != 0) return false;
    must(device->synchronise(stream));
    return judge(job, must(download(*device, job, tensors))).ok;
  }

  GemmJob job = make_job();
  FakeDriver driver;
  std::shared_ptr<device::Device> device;
  std::shared_ptr<const device::Module> module;
  Tensors tensors;
};

}  // namespace

TEST_CASE("A launch into a captured stream runs with the graph, whose module is never unloaded",
          "[hip_capture]") {
  for (const char* variant : {"5", "6", "7"}) {
    CAPTURE(variant);
    Fixture f(variant);
    void* stream = f.driver.create_stream(0);  // the application's own
    REQUIRE(f.driver.begin_capture(stream, global_mode) == 0);
    CHECK(must(f.device->capture_state(stream)) == CaptureState::active);
    must(f.launch(stream));
    void *graph = nullptr, *executable = nullptr;
    REQUIRE(f.driver.end_capture(stream, &graph) == 0);
    CHECK(must(f.device->capture_state(stream)) == CaptureState::none);
    REQUIRE(f.driver.instantiate(&executable, graph) == 0);
    CHECK(f.graph_is_right(executable, stream));
    f.module.reset();
    CHECK(f.device->collect() == 1);
    CHECK(f.driver.modules() == 1);
    CHECK(f.graph_is_right(executable, stream));
    CHECK(f.driver.used_after_unload() == 0);
  }
}

TEST_CASE("What would break a capture is refused before the driver sees it", "[hip_capture]") {
  Fixture f;
  auto other = must(f.device->load(f.job.code(), f.job.kernel.name));
  void* stream = f.driver.create_stream(0);
  REQUIRE(f.driver.begin_capture(stream, global_mode) == 0);
  must(f.launch(stream));  // now the device knows of it
  other.reset();
  CHECK(f.device->load(f.job.code(), f.job.kernel.name).error().code == ErrorCode::capture_active);
  CHECK(f.device->collect() == 1);
  CHECK(f.device->allocate(16).error().code == ErrorCode::capture_active);
  CHECK(f.device->release(f.tensors.output).error().code == ErrorCode::capture_active);
  CHECK(download(*f.device, f.job, f.tensors).error().code == ErrorCode::capture_active);
  CHECK(clear_output(*f.device, f.job, f.tensors).error().code == ErrorCode::capture_active);
  CHECK(f.device->synchronise(stream).error().code == ErrorCode::capture_active);
  CHECK(f.driver.modules() == 2);
  CHECK(must(f.device->capture_state(stream)) == CaptureState::active);
  void *graph = nullptr, *executable = nullptr;
  REQUIRE(f.driver.end_capture(stream, &graph) == 0);
  REQUIRE(f.driver.instantiate(&executable, graph) == 0);
  CHECK(f.graph_is_right(executable, stream));
  CHECK(f.device->collect() == 0);
  CHECK(f.driver.modules() == 1);
  CHECK(f.driver.last_error() == 0);
}

TEST_CASE("A stream made by the device is known to capture before anything is launched on it",
          "[hip_capture]") {
  Fixture f;
  const auto stream = must(f.device->create_stream());
  REQUIRE(f.driver.begin_capture(stream, global_mode) == 0);
  CHECK(f.device->load(f.job.code(), f.job.kernel.name).error().code == ErrorCode::capture_active);
  void* graph = nullptr;
  REQUIRE(f.driver.end_capture(stream, &graph) == 0);
  CHECK(f.device->load(f.job.code(), f.job.kernel.name));
}

TEST_CASE("Loading and unloading leave a capture alone that the device has never seen", "[hip_capture]") {
  Fixture f;
  auto other = must(f.device->load(f.job.code(), f.job.kernel.name));
  void* stream = f.driver.create_stream(0);
  REQUIRE(f.driver.begin_capture(stream, global_mode) == 0);
  std::jthread([&] {
    other.reset();
    CHECK(f.device->collect() == 0);
    CHECK(f.device->load(f.job.code(), f.job.kernel.name));
  }).join();
  void* graph = nullptr;
  CHECK(f.driver.end_capture(stream, &graph) == 0);
}

TEST_CASE("An unload that the driver refuses for a capture is tried again", "[hip_capture]") {
  Fixture f;
  f.module.reset();
  f.driver.obey("fail hipModuleUnload 900 2");
  CHECK(f.device->collect() == 1);
  CHECK(f.device->collect() == 1);
  CHECK(f.driver.modules() == 1);
  CHECK(f.device->collect() == 0);
  CHECK(f.driver.modules() == 0);
  CHECK(f.driver.last_error() == 0);
}

TEST_CASE("An invalidated capture is told apart and refuses launches", "[hip_capture]") {
  Fixture f;
  void* stream = f.driver.create_stream(0);
  REQUIRE(f.driver.begin_capture(stream, global_mode) == 0);
  // Somebody's hipMalloc in the default mode spoils it.
  f.driver.obey("fail hipThreadExchangeStreamCaptureMode 1 1");
  const auto spoiled = f.device->allocate(64);
  REQUIRE_FALSE(spoiled);
  CHECK(spoiled.error().code == ErrorCode::capture_active);
  CHECK(must(f.device->capture_state(stream)) == CaptureState::invalidated);
  const auto refused = f.launch(stream);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::capture_active);
  CHECK(refused.error().message.find("hipErrorStreamCaptureInvalidated (901)") != std::string::npos);
  void* graph = nullptr;
  CHECK(f.driver.end_capture(stream, &graph) == 901);
  must(f.launch(stream));
  must(f.device->synchronise(stream));
  CHECK(judge(f.job, must(download(*f.device, f.job, f.tensors))).ok);
}

TEST_CASE("The default stream is refused while a blocking stream is captured", "[hip_capture]") {
  Fixture f;
  void* stream = f.driver.create_stream(0);
  REQUIRE(f.driver.begin_capture(stream, relaxed_mode) == 0);
  const auto refused = f.launch(nullptr);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::capture_active);
  CHECK(f.device->capture_state(nullptr).error().code == ErrorCode::capture_active);
  void* graph = nullptr;
  CHECK(f.driver.end_capture(stream, &graph) == 0);
  CHECK(f.launch(nullptr));
  must(f.device->synchronise(nullptr));
}

TEST_CASE("Many streams that captured and are gone do not keep modules loaded", "[hip_capture]") {
  Fixture f;
  for (int i = 0; i < 40; ++i) {  // more than there are slots to remember them
    const auto stream = must(f.device->create_stream());
    REQUIRE(f.driver.begin_capture(stream, relaxed_mode) == 0);
    CHECK(must(f.device->capture_state(stream)) == CaptureState::active);
    must(f.device->destroy_stream(stream));
  }
  f.module.reset();
  f.device->collect();
  CHECK(f.device->collect() == 0);
  CHECK(f.driver.modules() == 0);
}

TEST_CASE(
    "Many streams that capture at once are remembered; of more than there are slots the worst is assumed",
    "[hip_capture]") {
  // Slots for 32 streams that the application made; the device does not know of them otherwise.
  for (const int count : {1, 31, 32, 33, 40}) {
    CAPTURE(count);
    Fixture f;
    std::vector<void*> streams;
    for (int i = 0; i < count; ++i) {
      streams.push_back(f.driver.create_stream(0));
      REQUIRE(f.driver.begin_capture(streams.back(), relaxed_mode) == 0);
      CHECK(must(f.device->capture_state(streams.back())) == CaptureState::active);
    }
    const auto refused = [&] {
      const auto made = f.device->allocate(64);
      if (made) must(f.device->release(*made));
      return !made && made.error().code == ErrorCode::capture_active;
    };
    const auto end = [&](int i) {
      void* graph = nullptr;
      REQUIRE(f.driver.end_capture(streams[static_cast<std::size_t>(i)], &graph) == 0);
    };
    // Whichever of those in the slots is the last to capture: it is not forgotten.
    const int slots = std::min(count, 32);
    for (int i = 0; i < slots; ++i) {
      if (count <= slots) CHECK(refused());
      end(i);
    }
    if (count > slots) CHECK(refused());  // there were more
    for (int i = slots; i < count; ++i) end(i);
    CHECK_FALSE(refused());
  }
}
