// SPDX-License-Identifier: MIT
// The engine on the real HIP device code, over simulated drivers (tests/fake_hip): what a driver refuses has
// an error of its own, and the engine works on afterwards.
#include <catch2/catch.hpp>

#include "tests/harness/device_tensors.hpp"
#include "tests/runtime/device/fake_driver.hpp"
#include "tests/runtime/engine/engine_bench.hpp"

namespace wavejit::test {
namespace {

using harness::DeviceTensors;

EngineOptions hip_options(const FakeDriver& driver, std::vector<std::string> devices = {"hip"}) {
  EngineOptions options = quiet_options();
  options.devices = std::move(devices);
  options.open = driver.options();
  return options;
}

bool right(Engine& engine, const Plan& plan, std::size_t device = 0) {
  const auto on = engine.device(device);
  auto tensors = DeviceTensors::create(on, plan.problem(), 5, oracle::random_values(3));
  if (!tensors) return false;
  if (!plan.launch(nullptr, tensors->arguments()) || !on->synchronise(nullptr)) return false;
  const auto verdict = tensors->judge(oracle::WeightRounding::toward_zero);
  return verdict && verdict->ok;
}

TEST_CASE("The same kernels run through every HIP version's driver", "[engine][hip]") {
  const char* variant = GENERATE("5", "6", "7");
  INFO(variant);
  const FakeDriver driver(variant);
  const auto engine = Engine::create(hip_options(driver));
  REQUIRE(engine);
  CHECK((*engine)->device()->info().kind == device::Kind::hip);
  const auto plan = (*engine)->prepare(small_problem(), {1, 16});
  REQUIRE(plan);
  CHECK(right(**engine, *plan));
}

TEST_CASE("No library, no device: an error, which names the simulator where auto was asked for",
          "[engine][hip]") {
  EngineOptions options = quiet_options();
  options.devices = {"hip"};
  options.open.hip_library = "/nowhere/libamdhip64.so";
  CHECK(Engine::create(options).error().code == ErrorCode::no_device);
  for (const std::vector<std::string>& devices : {std::vector<std::string>{"auto"}, {}}) {
    options.devices = devices;
    const auto engine = Engine::create(options);
    REQUIRE_FALSE(engine);
    CHECK(engine.error().code == ErrorCode::no_device);
    CHECK(engine.error().message.find("\"sim\"") != std::string::npos);
  }
  const FakeDriver driver("6", "gfx1151");
  CHECK(Engine::create(hip_options(driver, {"hip:1"})).error().code == ErrorCode::no_device);
}

TEST_CASE("Two devices of different architecture, features kept for the key (row 65)",
          "[engine][hip][cases]") {
  const FakeDriver driver("6", "gfx1151 gfx1100:xnack-");
  const auto engine = Engine::create(hip_options(driver, {"hip:0", "hip:1"}));
  REQUIRE(engine);
  const auto first = (*engine)->prepare(small_problem(), {1, 16}, 0);
  const auto second = (*engine)->prepare(small_problem(), {1, 16}, 1);
  REQUIRE(first);
  INFO((second ? "" : second.error().message));
  REQUIRE(second);
  CHECK((*engine)->device(1)->info().target == "gfx1100");
  CHECK((*engine)->device(1)->info().target_id == "gfx1100:xnack-");
  CHECK(first->variants().front().key != second->variants().front().key);
  CHECK(right(**engine, *first, 0));
  CHECK(right(**engine, *second, 1));
}

TEST_CASE("What the driver refuses has its own error, and the engine works on", "[engine][hip]") {
  const FakeDriver driver("6");
  const auto made = Engine::create(hip_options(driver));
  REQUIRE(made);
  Engine& engine = **made;
  const struct {
    const char* command;
    ErrorCode code;
  } loads[] = {{"fail hipModuleLoadData 2 1", ErrorCode::out_of_memory},
               {"fail hipModuleLoadData 209 1", ErrorCode::wrong_architecture},
               {"fail hipModuleLoadData 200 1", ErrorCode::load_failed},
               {"fail hipModuleLoadData 900 1", ErrorCode::capture_active}};
  for (const auto& c : loads) {
    INFO(c.command);
    driver.obey(c.command);
    const auto refused = engine.prepare(small_problem(), {1, 16});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == c.code);
    {
      const auto again = engine.prepare(small_problem(), {1, 16});
      REQUIRE(again);
      CHECK(right(engine, *again));
    }
    engine.collect();  // so that the next round loads anew
  }
  const auto plan = engine.prepare(small_problem(), {1, 16});
  REQUIRE(plan);
  auto tensors = DeviceTensors::create(engine.device(), plan->problem(), 5, oracle::random_values(1));
  REQUIRE(tensors);
  driver.obey("fail hipModuleLaunchKernel 2 1");
  CHECK(plan->launch(nullptr, tensors->arguments()).error().code == ErrorCode::out_of_memory);
  driver.obey("fail hipModuleLaunchKernel 1 1");
  const auto refused = plan->launch(nullptr, tensors->arguments());
  CHECK_FALSE(refused);
  CHECK(engine.counters().launch_failures == 2);
  CHECK(right(engine, *plan));
}

TEST_CASE("Row 72 on HIP: a capture stays valid when something unprepared is asked for",
          "[engine][hip][cases]") {
  const FakeDriver driver("7");
  const auto made = Engine::create(hip_options(driver));
  REQUIRE(made);
  Engine& engine = **made;
  const auto plan = engine.prepare(small_problem(), {1, 16});
  REQUIRE(plan);
  auto tensors = DeviceTensors::create(engine.device(), plan->problem(), 5, oracle::random_values(1));
  REQUIRE(tensors);
  void* stream = driver.create_stream(1);
  REQUIRE(driver.begin_capture(stream) == 0);
  CHECK_FALSE(engine.find(small_problem(1), {1, 16}));
  CHECK(Plan().launch(stream, tensors->arguments()).error().code == ErrorCode::not_prepared);
  REQUIRE(plan->launch(stream, tensors->arguments()));
  CHECK(*engine.device()->capture_state(stream) == device::CaptureState::active);
  void *graph = nullptr, *executable = nullptr;
  CHECK(driver.end_capture(stream, &graph) == 0);
  REQUIRE(driver.instantiate(&executable, graph) == 0);
  REQUIRE(driver.launch_graph(executable, stream) == 0);
  REQUIRE(engine.device()->synchronise(stream));
  CHECK(tensors->judge(oracle::WeightRounding::toward_zero)->ok);
  CHECK(engine.prepare(small_problem(1), {1, 16}));
}

TEST_CASE("A grouped launch in a captured graph computes the sizes that each replay finds",
          "[engine][hip][cdna]") {
  const FakeDriver driver("7", "gfx942");
  const auto made = Engine::create(hip_options(driver));
  REQUIRE(made);
  Engine& engine = **made;
  const auto on = engine.device();
  templates::Problem problem;
  problem.op = templates::Operation::int4_grouped;
  problem.layout = templates::WeightLayout::row_major_signed;
  problem.n = 96;
  problem.k = 256;
  problem.group = 64;
  problem.groups = 3;
  const auto plan = engine.prepare(problem, {1, 100});
  REQUIRE(plan);
  constexpr std::int64_t m = 45;
  const auto tensors = [&](const std::vector<std::int64_t>& sizes) {
    return DeviceTensors::create(on, plan->problem(), m, oracle::random_values(5), sizes);
  };
  auto captured = tensors({5, 0, 40});
  REQUIRE(captured);
  void* stream = driver.create_stream(1);
  REQUIRE(driver.begin_capture(stream) == 0);
  REQUIRE(plan->launch(stream, captured->arguments()));
  CHECK(*on->capture_state(stream) == device::CaptureState::active);
  void *graph = nullptr, *executable = nullptr;
  REQUIRE(driver.end_capture(stream, &graph) == 0);
  REQUIRE(driver.instantiate(&executable, graph) == 0);
  const Tensor& output = captured->arguments().output;
  const std::vector<std::vector<std::int64_t>> replays{{5, 0, 40}, {0, 33, 7}, {0, 0, 0}, {45, 0, 0}};
  for (const std::vector<std::int64_t>& sizes : replays) {
    INFO(sizes[0] << ", " << sizes[1] << ", " << sizes[2] << " rows");
    REQUIRE(on->copy_in(captured->arguments().group_rows.address, std::as_bytes(std::span(sizes))));
    REQUIRE(on->fill(output.address, output.bytes, 0xFF));
    REQUIRE(driver.launch_graph(executable, stream) == 0);
    REQUIRE(on->synchronise(stream));
    // The same sizes launched without a graph: right by the oracle, and the same bits, rows behind included.
    auto plain = tensors(sizes);
    REQUIRE(plain);
    REQUIRE(plan->launch(nullptr, plain->arguments()));
    REQUIRE(on->synchronise(nullptr));
    if (sizes != replays[2]) {  // no rows, nothing to judge
      const auto verdict = plain->judge(oracle::WeightRounding::nearest);
      REQUIRE(verdict);
      INFO(verdict->reason);
      CHECK(verdict->ok);
    }
    const auto expected = plain->output(), found = captured->output();
    REQUIRE(expected);
    REQUIRE(found);
    CHECK(*found == *expected);
  }
  CHECK(driver.calls("hipModuleLaunchKernel") == 1 + std::ssize(replays));
}

}  // namespace
}  // namespace wavejit::test
