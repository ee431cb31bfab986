// SPDX-License-Identifier: MIT
// Int4 products of issue 8 on the simulator, all checks on, against the oracle of the dequantised weights:
// rowwise, split along K, batched.
#include <catch2/catch.hpp>

#include "tests/templates/cdna/requests.hpp"

using namespace wavejit;
using test::int4;
using test::mfma;

namespace {

std::string any_target() { return GENERATE(std::string("gfx942"), std::string("gfx950")); }

}  // namespace

TEST_CASE("rowwise shapes in the selected Config", "[cdna]") {
  struct Shape {
    std::int64_t m, n, k, group;
    bool zeros, wide;
    std::size_t sample;
  };
  const std::string target = any_target();
  const Shape s =
      GENERATE(Shape{1, 256, 256, 128, true, false, 0}, Shape{17, 896, 5120, 128, false, false, 0},
               Shape{64, 512, 1024, 64, true, true, 0}, Shape{128, 2048, 5120, 256, true, false, 2},
               Shape{513, 1000, 1024, 64, false, true, 3});
  harness::Request r = int4(s.m, s.n, s.k, s.group, target);
  if (s.zeros) r.problem.zero_points = templates::ZeroPoints::additive;
  if (s.wide) r.problem.scale_type = templates::DataType::f32;
  if (s.sample != 0) {
    // Tiles are sampled only where one kernel makes them.
    const auto config = templates::select_config(r.problem, *target::find(target), s.m);
    REQUIRE(config);
    r.config = *config;
    r.config->split_k = 1;
    r.sample = s.sample;
  }
  CHECK(harness::passes(r));
}

TEST_CASE("large rowwise shapes in square tiles, tails first", "[cdna]") {
  const std::string target = any_target();
  harness::Request r =
      GENERATE(0, 1) == 0 ? int4(128, 2048, 5120, 128, target) : int4(513, 1000, 1024, 64, target);
  r.problem.zero_points = GENERATE(templates::ZeroPoints::symmetric, templates::ZeroPoints::additive);
  r.config = mfma(64, 64, 64, 4);
  r.sample = 3;
  CHECK(harness::passes(r));
}

TEST_CASE("groups, scale types and zeros in both shapes of matrix instruction", "[cdna]") {
  const std::string target = any_target();
  const std::int64_t group = GENERATE(64, 128, 256);
  const bool tall = GENERATE(false, true);
  harness::Request r = int4(tall ? 40 : 17, 96, 512, group, target);
  r.config = tall ? mfma(32, 64, 64, 2) : mfma(16, 128, 128, 4);
  r.problem.zero_points = GENERATE(templates::ZeroPoints::symmetric, templates::ZeroPoints::additive);
  r.problem.scale_type =
      GENERATE(templates::DataType::bf16, templates::DataType::f16, templates::DataType::f32);
  CHECK(harness::passes(r));
}

TEST_CASE("any N, and M on both sides of a tile", "[cdna]") {
  const std::int64_t n = GENERATE(1, 7, 31, 32, 33, 60, 66), m = GENERATE(1, 32, 33);
  harness::Request r = int4(m, n, 128, 64, m == 1 ? "gfx950" : "gfx942");
  r.problem.zero_points = templates::ZeroPoints::additive;
  r.config = mfma(32, 64, 64, 2);
  CHECK(harness::passes(r));
}

TEST_CASE("split-K 1 to 16, slices that K fills and slices that it does not", "[cdna]") {
  const auto split = static_cast<unsigned>(GENERATE(range(1, 17)));
  const std::string target = split % 2 == 0 ? "gfx942" : "gfx950";
  harness::Request r = int4(5, 100, 16 * 64, 64, target);
  r.problem.zero_points = templates::ZeroPoints::additive;
  r.config = mfma(32, 64, 64, 2, split);
  const auto problem = templates::normalise(r.problem, *target::find(target));
  REQUIRE(problem);
  // 16 steps of 64: a slice is ceil(16 / split) of them, and those must cut 16 evenly.
  const unsigned each = (16 + split - 1) / split;
  if (16 % each != 0) {
    CHECK(harness::refused(r, "split_k"));
    return;
  }
  const harness::Outcome outcome = harness::passes(r);
  CHECK(outcome);
  REQUIRE(outcome.report);
  CHECK(outcome.report->later.size() == (split > 1 ? 1U : 0U));
}

TEST_CASE("split-K sums in one order: the same bits whatever runs beside", "[cdna]") {
  harness::Request r = int4(3, 72, 512, 64);
  r.config = mfma(32, 64, 64, 2, 8);
  const harness::Outcome first = harness::passes(r);
  REQUIRE(first);
  r.sim.threads = 1;
  const harness::Outcome second = harness::passes(r);
  REQUIRE(second);
  CHECK(first.report->outputs == second.report->outputs);
}

TEST_CASE("batches of 1 to 4, whole K and split", "[cdna]") {
  const std::int64_t batch = GENERATE(1, 2, 3, 4);
  const unsigned split = GENERATE(1U, 4U);
  harness::Request r = int4(37, 100, 512, 128, batch % 2 == 0 ? "gfx950" : "gfx942");
  r.problem.batch = batch;
  r.problem.zero_points = templates::ZeroPoints::additive;
  r.problem.scale_type = templates::DataType::f32;
  r.config = mfma(32, 64, 64, 2, split);
  const harness::Outcome outcome = harness::passes(r);
  CHECK(outcome);
  REQUIRE(outcome.report);
  CHECK(outcome.report->verdict->metrics.elements == batch * 37 * 100);
}

TEST_CASE("padded rows of activations, weights, scales and output", "[cdna]") {
  harness::Request r = int4(37, 72, 256, 64);
  r.problem.activation_stride = 256 + 64;
  r.problem.weight_stride = 32 + 4;
  r.problem.scale_stride = 72 + 5;
  r.problem.output_stride = GENERATE(72 + 8, 72 + 3);
  r.problem.zero_points = templates::ZeroPoints::additive;
  r.config = mfma(32, 64, 64, 2, GENERATE(1U, 2U));
  CHECK(harness::passes(r));
}
