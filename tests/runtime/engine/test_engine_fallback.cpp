// SPDX-License-Identifier: MIT
// Problems that no kernel family serves go to the plain HIP kernel. Debian's hiprtc compiles for gfx90a,
// whose code the simulator runs; the oracle judges.
#include <catch2/catch.hpp>

#include "runtime/hiprtc/hiprtc.hpp"
#include "tests/harness/device_tensors.hpp"
#include "tests/runtime/engine/engine_bench.hpp"
#include "tests/skip.hpp"

namespace wavejit::test {
namespace {

using harness::DeviceTensors;

std::shared_ptr<Engine> plain_engine() {
  const auto known = hiprtc::known_targets();
  if (!known || std::ranges::find(*known, "gfx90a") == known->end())
    skip("no hiprtc that knows gfx90a" + (known ? std::string() : ": " + known.error().message));
  EngineOptions options = quiet_options();
  options.devices = {"sim:gfx90a"};
  auto engine = Engine::create(options);
  INFO((engine ? std::string() : engine.error().message));
  REQUIRE(engine);
  return *engine;
}

TEST_CASE("A target without a family is served by the plain kernel", "[engine][fallback]") {
  const auto engine = plain_engine();
  for (const templates::Problem& problem :
       {templates::Problem{.n = 40, .k = 96, .group = 32},
        templates::Problem{.activation = templates::DataType::f16,
        .n = 17,
        .k = 64,
        .group = 16,
        .zero_points = templates::ZeroPoints::packed},
        templates::Problem{.n = 24, .k = 64, .group = -1, .bias = true, .output_stride = 31}}) {
    const auto plan = engine->prepare(problem, {1, 64});
    INFO((plan ? std::string() : plan.error().message));
    REQUIRE(plan);
    CHECK(plan->variants().front().kernel == "wavejit_w4a16_gemm");
    for (const std::int64_t m : {1, 19}) {
      auto tensors = DeviceTensors::create(engine->device(), plan->problem(), m, oracle::random_values(5));
      REQUIRE(tensors);
      const auto launched = plan->launch(nullptr, tensors->arguments());
      INFO((launched ? std::string() : launched.error().message));
      REQUIRE(launched);
      REQUIRE(engine->device()->synchronise(nullptr));
      const auto verdict = tensors->judge(oracle::WeightRounding::nearest);
      REQUIRE(verdict);
      INFO(verdict->reason);
      CHECK(verdict->ok);
    }
  }
}

TEST_CASE("Row 53: K = 0 gives zeros", "[engine][fallback][cases]") {
  const auto engine = plain_engine();
  const auto plan = engine->prepare({.n = 20, .k = 0, .group = 32}, {1, 16});
  INFO((plan ? std::string() : plan.error().message));
  REQUIRE(plan);
  const auto device = engine->device();
  const auto output = device->allocate(4 * 20 * 2);
  REQUIRE(output);
  REQUIRE(device->fill(*output, 4 * 20 * 2, 0xFF));
  Arguments a;
  a.activations = {.rank = 2, .shape = {4, 0}};
  a.weights = {.type = templates::DataType::i32, .rank = 2, .shape = {20, 0}};
  a.scales = {.rank = 2, .shape = {20, 0}};
  a.output = {.address = *output, .bytes = 4 * 20 * 2, .rank = 2, .shape = {4, 20}};
  const auto launched = plan->launch(nullptr, a);
  INFO((launched ? std::string() : launched.error().message));
  REQUIRE(launched);
  REQUIRE(device->synchronise(nullptr));
  std::vector<std::byte> bytes(4 * 20 * 2);
  REQUIRE(device->copy_out(bytes, *output));
  for (const std::byte b : bytes) CHECK(b == std::byte{0});
  CHECK(device->release(*output));
}

TEST_CASE("Where hiprtc cannot help either, both reasons are given", "[engine][fallback]") {
  EngineOptions options = quiet_options();
  options.devices = {"sim:gfx942"};
  auto engine = Engine::create(options);
  REQUIRE(engine);
  const auto plan = (*engine)->prepare({.n = 16, .k = 192, .group = 96}, {1, 1});
  if (plan) return;  // a hiprtc that knows gfx942
  const auto explained = (*engine)->explain({.n = 16, .k = 192, .group = 96}, {1, 1});
  REQUIRE_FALSE(explained);
  CHECK(explained.error().message == plan.error().message);
  CHECK(plan.error().message.find("plain kernel") != std::string::npos);
}

}  // namespace
}  // namespace wavejit::test
