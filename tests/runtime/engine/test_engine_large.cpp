// SPDX-License-Identifier: MIT
// Shapes whose grids meet hardware's limits, through the engine.
#include <catch2/catch.hpp>

#include "tests/harness/device_tensors.hpp"
#include "tests/runtime/engine/engine_bench.hpp"

namespace wavejit::test {
namespace {

TEST_CASE("Row 74: 250880 output rows of weights, more than a grid's y may hold", "[engine][cases]") {
  auto engine = Engine::create(quiet_options());
  REQUIRE(engine);
  const auto plan = (*engine)->prepare({.n = 250880, .k = 32, .group = 32}, {1, 1});
  REQUIRE(plan);
  auto tensors =
      harness::DeviceTensors::create((*engine)->device(), plan->problem(), 1, oracle::random_values(1));
  REQUIRE(tensors);
  REQUIRE(plan->launch(nullptr, tensors->arguments()));
  REQUIRE((*engine)->device()->synchronise(nullptr));
  const auto verdict = tensors->judge(oracle::WeightRounding::toward_zero);
  REQUIRE(verdict);
  INFO(verdict->reason);
  CHECK(verdict->ok);
}

TEST_CASE("Rows 73 and 74: a grid that cannot be launched is refused when it is prepared",
          "[engine][cases]") {
  auto engine = Engine::create(quiet_options());
  REQUIRE(engine);
  const auto plan = (*engine)->prepare({.n = std::int64_t{65536} * 256, .k = 32, .group = 32}, {1, 1});
  REQUIRE_FALSE(plan);
  // Tiles of 256 columns would reach that far; the smallest tile's output rows pass 2 GiB first.
  CHECK(plan.error().field == "output_stride");
  CHECK((*engine)->counters().compiles == 0);
}

}  // namespace
}  // namespace wavejit::test
