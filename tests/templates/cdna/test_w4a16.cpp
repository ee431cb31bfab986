// SPDX-License-Identifier: MIT
// W4A16 (ExLlama order, integer zero points) and f16 activations on CDNA, on the simulator against the oracle
// of tests/oracle, which shares no code with the kernels.
#include <catch2/catch.hpp>

#include "tests/harness/catch.hpp"

using namespace wavejit;
using templates::DataType;
using templates::ZeroPoints;

namespace {

templates::Config mfma(unsigned bm, unsigned bn, unsigned bk, unsigned waves, unsigned buffers = 1) {
  templates::Config c;
  c.path = templates::Path::mfma;
  c.bm = bm;
  c.bn = bn;
  c.bk = bk;
  c.waves = waves;
  c.lds_buffers = buffers;
  return c;
}

harness::Request request(const char* target, std::int64_t m, std::int64_t n, std::int64_t k,
                         std::int64_t group) {
  harness::Request r;
  r.target = target;
  r.m = m;
  r.problem.n = n;
  r.problem.k = k;
  r.problem.group = group;
  return r;
}

}  // namespace

TEST_CASE("W4A16 on CDNA: groups, tails and zero points", "[cdna][w4a16]") {
  struct Case {
    std::int64_t m, n, k, group;
    templates::Config config;
  };
  const auto c =
      GENERATE(Case{17, 72, 256, 32, mfma(32, 64, 64, 2)}, Case{5, 200, 384, 32, mfma(16, 128, 128, 4)},
               Case{33, 100, 256, 64, mfma(16, 128, 128, 4)},
               Case{70, 136, 512, 128, mfma(64, 128, 64, 4, 2)}, Case{40, 64, 384, -1, mfma(32, 64, 128, 2)});
  const char* target = GENERATE("gfx942", "gfx950");
  CAPTURE(target, c.m, c.n, c.k, c.group);
  harness::Request r = request(target, c.m, c.n, c.k, c.group);
  r.config = c.config;
  r.problem.activation = GENERATE(DataType::bf16, DataType::f16);
  r.problem.zero_points = GENERATE(ZeroPoints::symmetric, ZeroPoints::packed);
  const harness::Outcome outcome = harness::passes(r);
  CHECK(outcome);
  REQUIRE(outcome.report);
  CHECK(outcome.report->run.lds_conflict_cycles == 0);
}

TEST_CASE("W4A16 on CDNA: the selected Config, padded strides", "[cdna][w4a16]") {
  const char* target = GENERATE("gfx942", "gfx950");
  harness::Request r = request(target, GENERATE(1, 130), 256, 512, 128);
  r.problem.zero_points = ZeroPoints::packed;
  r.problem.activation_stride = 520;
  r.problem.weight_stride = 72;
  r.problem.scale_stride = 7;
  r.problem.zero_point_stride = 5;
  r.problem.output_stride = 264;
  CAPTURE(target, r.m);
  CHECK(harness::passes(r));
}

TEST_CASE("W4A16 on CDNA: split along K, with a bias and without", "[cdna][w4a16]") {
  struct Case {
    std::int64_t m, n, k, group;
    templates::Config config;
    unsigned split;
  };
  // Tails in rows and columns; groups shorter than a step, of one step, of several, and of a whole slice.
  const auto c = GENERATE(
      Case{5, 72, 512, 32, mfma(32, 64, 64, 2), 4}, Case{17, 100, 512, 64, mfma(16, 128, 128, 4), 2},
      Case{33, 66, 768, 128, mfma(32, 64, 64, 2), 3}, Case{40, 7, 1024, 256, mfma(32, 64, 128, 2), 4});
  const char* target = GENERATE("gfx942", "gfx950");
  harness::Request r = request(target, c.m, c.n, c.k, c.group);
  r.config = c.config;
  r.config->split_k = c.split;
  r.problem.bias = GENERATE(false, true);
  r.problem.activation = GENERATE(DataType::bf16, DataType::f16);
  r.problem.zero_points = GENERATE(ZeroPoints::symmetric, ZeroPoints::packed);
  CAPTURE(target, c.m, c.n, c.k, c.group, c.split, r.problem.bias);
  const harness::Outcome outcome = harness::passes(r);
  CHECK(outcome);
  REQUIRE(outcome.report);
  REQUIRE(outcome.report->later.size() == 1);
}

TEST_CASE("W4A16 on CDNA: a bias of every length, added before the one rounding", "[cdna][w4a16]") {
  const char* target = GENERATE("gfx942", "gfx950");
  const std::int64_t n = GENERATE(1, 8, 31, 36, 72, 200);
  harness::Request r = request(target, GENERATE(1, 40), n, 128, 32);
  r.config = GENERATE(mfma(32, 64, 64, 2), mfma(16, 128, 128, 4));
  r.problem.bias = true;
  r.problem.activation = GENERATE(DataType::bf16, DataType::f16);
  CAPTURE(target, r.m, n);
  CHECK(harness::passes(r));
}

TEST_CASE("W4A16 on CDNA: tiles of few rows are split along K by choice", "[cdna][w4a16]") {
  const target::Target& target = *target::find(GENERATE("gfx942", "gfx950"));
  templates::Problem p;
  p.n = 512;
  p.k = 4096;
  p.bias = true;
  const auto few = templates::select_config(p, target, 200), many = templates::select_config(p, target, 4096);
  REQUIRE(few);
  REQUIRE(many);
  CHECK(few->split_k > 1);
  CHECK(templates::stages(p, *few) == 2);
  CHECK(many->split_k == 1);
  harness::Request r = request(target.name.data(), 200, p.n, p.k, 128);
  r.problem.bias = true;
  CHECK(harness::passes(r));
}

TEST_CASE("W4A16 on CDNA: tiles in the order of the int4 products, remapped over the XCDs", "[cdna][w4a16]") {
  const target::Target& target = *target::find("gfx942");
  templates::Problem p;
  p.n = 1000;
  p.k = 256;
  p.group = 64;
  const auto launch = templates::launch(p, mfma(32, 64, 64, 2), target, 700);
  REQUIRE(launch);
  CHECK(launch->grid == std::array<std::uint32_t, 3>{22 * 16, 1, 1});  // ceil(700 / 32) x ceil(1000 / 64)
  harness::Request r = request("gfx942", 700, p.n, p.k, p.group);
  r.config = mfma(32, 64, 64, 2);
  r.sample = 7;  // each checked to be the tile that the schedule says
  CHECK(harness::passes(r));
}

TEST_CASE("W4A16 on CDNA: what it does not do is refused by name", "[cdna][w4a16]") {
  harness::Request r = request("gfx942", 1, 64, 192, 96);
  CHECK(harness::refused(r, "group"));
  r = request("gfx942", 1, 64, 96, 32);
  CHECK(harness::refused(r, "k"));
  r = request("gfx942", 1, 64, 192, 64);
  r.config = mfma(32, 64, 64, 2);
  r.config->split_k = 2;
  CHECK(harness::refused(r, "split_k"));  // three groups do not split into two slices
  // Simulated, but without the matrix instructions.
  const auto other =
      templates::normalise(request("", 1, 64, 128, 32).problem, *target::find_simulated("gfx90a"));
  REQUIRE(!other);
  CHECK(other.error().field == "target");
  r = request("gfx1151", 1, 64, 128, 32);
  r.config = mfma(32, 64, 64, 2);
  CHECK(harness::refused(r, "path"));
}

TEST_CASE("int4_gemm with f16 activations and scales of every type", "[cdna]") {
  const char* target = GENERATE("gfx942", "gfx950");
  harness::Request r = request(target, 20, 136, 256, 128);
  r.problem.op = templates::Operation::int4_gemm;
  r.problem.layout = templates::WeightLayout::row_major_signed;
  r.problem.zero_points = ZeroPoints::additive;
  r.problem.activation = GENERATE(DataType::f16, DataType::bf16);
  r.problem.scale_type = GENERATE(DataType::bf16, DataType::f16, DataType::f32);
  r.problem.rounding = GENERATE(templates::WeightRounding::fastest, templates::WeightRounding::nearest);
  r.config = mfma(32, 64, 64, 2);
  CAPTURE(target);
  CHECK(harness::passes(r));
}
