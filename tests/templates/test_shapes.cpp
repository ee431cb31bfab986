// SPDX-License-Identifier: MIT
// The four decoder GEMMs of a 4-B vision-language model (shared/domain.md §0.1, o_proj both ways
// round), at the published M and at M that leave tails of every kind: samples of workgroups with the
// tail tiles first, all checks on, compared with the oracle.
#include <catch2/catch.hpp>

#include "tests/harness/catch.hpp"

using namespace wavejit;

namespace {

struct Shape {
  const char* name;
  std::int64_t n, k;
};
constexpr Shape shapes[] = {{"gate_up", 19456, 2560},
                            {"qkv", 6144, 2560},
                            {"o_proj", 4096, 2560},
                            {"o_proj_t", 2560, 4096},
                            {"down", 2560, 9728}};

harness::Request request(const Shape& shape, std::int64_t m) {
  harness::Request r;
  r.problem.n = shape.n;
  r.problem.k = shape.k;
  r.problem.group = 32;
  r.m = m;
  r.sample = 3;
  return r;
}

}  // namespace

TEST_CASE("decoder shapes in the published tile, tails included", "[w4a16]") {
  const auto& shape = shapes[GENERATE(0, 1, 2, 3, 4)];
  const std::int64_t m = GENERATE(1322, 1, 17, 127, 129);
  CAPTURE(shape.name);
  harness::Request r = request(shape, m);
  r.config = harness::tile(128, 64, 32, 8);
  CHECK(harness::passes(r));
}

TEST_CASE("decoder shapes in the selected Config", "[w4a16]") {
  const auto& shape = shapes[GENERATE(0, 1, 2, 3, 4)];
  const std::int64_t m = GENERATE(1322, 17);
  CAPTURE(shape.name);
  CHECK(harness::passes(request(shape, m)));
}

TEST_CASE("a product of the 2048 x 2048 class, whole", "[w4a16][slow]") {
  harness::Request r;
  r.problem.n = 2048;
  r.problem.k = 2048;
  r.problem.group = 32;
  r.m = 2048;
  const harness::Outcome outcome = harness::passes(r);
  CHECK(outcome);
  REQUIRE(outcome.report);
  CHECK(outcome.report->verdict->metrics.elements == 2048 * 2048);
  CHECK(static_cast<std::int64_t>(outcome.report->run.workgroups) == outcome.report->tiles_in_all);
}

// Issue 3: a whole product of a decoder's width under every check is an ordinary test.
TEST_CASE("256 x 2048 x 2560 in bf16, whole, with every check on", "[w4a16]") {
  harness::Request r;
  r.problem.n = 2048;
  r.problem.k = 2560;
  r.problem.group = 32;
  r.problem.activation = templates::DataType::bf16;
  r.config = templates::Config{};
  r.m = 256;
  r.sim.checks = sim::Checks::all();
  const harness::Outcome outcome = harness::passes(r);
  CHECK(outcome);
  REQUIRE(outcome.report);
  CHECK(outcome.report->verdict->metrics.elements == 256 * 2048);
  CHECK(static_cast<std::int64_t>(outcome.report->run.workgroups) == outcome.report->tiles_in_all);
}

TEST_CASE("tiles in any multiple of 16, not only powers of two", "[w4a16]") {
  struct Case {
    unsigned bm, bn, bk, waves;
  };
  const Case c =
      GENERATE(Case{192, 64, 32, 8}, Case{48, 48, 32, 1}, Case{96, 48, 32, 2}, Case{16, 16, 16, 1},
               Case{32, 64, 64, 4}, Case{80, 16, 32, 1}, Case{16, 112, 32, 1}, Case{64, 64, 16, 2});
  harness::Request r;
  r.problem.n = 200;
  r.problem.k = 384;
  r.problem.group = 64;
  r.m = 203;
  r.config = harness::tile(c.bm, c.bn, c.bk, c.waves);
  CHECK(harness::passes(r));
}

TEST_CASE("groups of 32, 64 and 128, and one group for all of K", "[w4a16]") {
  harness::Request r;
  r.problem.n = 72;
  r.problem.k = 768;
  r.problem.group = GENERATE(32, 64, 128, -1);
  r.m = 40;
  r.config = harness::tile(32, 32, 32, 2);
  CHECK(harness::passes(r));
}

TEST_CASE("padded strides of every tensor", "[w4a16]") {
  harness::Request r;
  r.problem.n = 72;
  r.problem.k = 256;
  r.problem.group = 32;
  r.problem.activation_stride = 256 + 64;
  r.problem.weight_stride = 32 + 3;
  r.problem.scale_stride = 8 + 5;
  r.problem.output_stride = GENERATE(72 + 8, 72 + 5);
  r.m = 37;
  r.config = harness::tile(32, 32, 32, 2);
  CHECK(harness::passes(r));
}

TEST_CASE("any N, odd ones too", "[w4a16]") {
  harness::Request r;
  r.problem.n = GENERATE(1, 3, 7, 8, 15, 17, 31, 63, 65);
  r.problem.k = 128;
  r.problem.group = 32;
  r.m = GENERATE(1, 16, 33);
  r.config = harness::tile(32, 32, 32, 2);
  CHECK(harness::passes(r));
}

TEST_CASE("one K step, and fewer than the pipeline is deep", "[w4a16]") {
  harness::Request r;
  r.problem.n = 48;
  r.problem.k = GENERATE(32, 64, 96, 128);
  r.problem.group = 32;
  r.m = 20;
  r.config = harness::tile(32, 32, 32, 2);
  r.config->pipeline_depth = GENERATE(0U, 1U, 2U);
  r.config->lds_buffers = GENERATE(1U, 2U);
  CHECK(harness::passes(r));
}

TEST_CASE("the other gfx11 table makes kernels that run as well", "[w4a16]") {
  harness::Request r;
  r.target = "gfx1100";
  r.problem.n = 100;
  r.problem.k = 256;
  r.problem.group = 32;
  r.m = 70;
  r.config = harness::tile(64, 64, 32, 4);
  CHECK(harness::passes(r));
}
