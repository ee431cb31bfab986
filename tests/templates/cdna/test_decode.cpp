// SPDX-License-Identifier: MIT
// Decode kernels of CDNA on the simulator, all checks on, against the oracle of the dequantised weights.
#include <catch2/catch.hpp>

#include "tests/templates/cdna/requests.hpp"

using namespace wavejit;
using test::decode;
using test::int4;

namespace {

std::string any_target() { return GENERATE(std::string("gfx942"), std::string("gfx950")); }

}  // namespace

TEST_CASE("decode: rows on both sides of every height", "[cdna][decode]") {
  const std::string target = any_target();
  struct Shape {
    unsigned bm;
    std::int64_t group;
  };
  const Shape s = GENERATE(Shape{4, 128}, Shape{8, 128}, Shape{16, 256}, Shape{8, 64}, Shape{16, 64},
                           Shape{32, 128}, Shape{32, 64});
  const std::int64_t m = GENERATE(0, 1, 2);
  harness::Request r = int4(m == 0 ? 1 : m == 1 ? s.bm : s.bm + 1, 96, 1024, s.group, target);
  r.problem.zero_points = m == 1 ? templates::ZeroPoints::symmetric : templates::ZeroPoints::additive;
  r.config = decode(s.bm, 32, 512, 4);
  CHECK(harness::passes(r));
}

TEST_CASE("decode: tiles, waves, steps and depths", "[cdna][decode]") {
  struct Cut {
    unsigned bn, waves, blocks, depth;
  };
  const Cut c = GENERATE(Cut{16, 1, 1, 1}, Cut{32, 2, 2, 2}, Cut{64, 3, 1, 0}, Cut{64, 4, 1, 2},
                         Cut{16, 7, 1, 2}, Cut{32, 8, 1, 1}, Cut{16, 16, 1, 2}, Cut{32, 16, 1, 2});
  const std::string target = any_target();
  const std::int64_t k = GENERATE(384, 3584);
  harness::Request r = int4(3, 200, k, 128, target);
  r.problem.zero_points = c.depth == 1 ? templates::ZeroPoints::additive : templates::ZeroPoints::symmetric;
  r.config = decode(4, c.bn, 128 * c.waves * c.blocks, c.waves, c.depth);
  CHECK(harness::passes(r));
}

TEST_CASE("decode: types of activations, scales and zeros", "[cdna][decode]") {
  const std::string target = any_target();
  harness::Request r = int4(5, 72, 896, 128, target);
  r.problem.activation = GENERATE(templates::DataType::bf16, templates::DataType::f16);
  r.problem.scale_type = r.problem.activation;
  if (GENERATE(false, true)) r.problem.scale_type = templates::DataType::f32;
  r.problem.zero_points = GENERATE(templates::ZeroPoints::symmetric, templates::ZeroPoints::additive);
  r.config = decode(8, 16, 384, 3, 1);
  CHECK(harness::passes(r));
}

TEST_CASE("decode: ExLlama weights, integer zero points, bias", "[cdna][decode]") {
  const std::string target = any_target();
  harness::Request r;
  r.target = target;
  r.m = GENERATE(1, 17);
  r.problem.n = GENERATE(40, 129);
  r.problem.k = 1152;
  r.problem.group = GENERATE(64, 128, -1);
  r.problem.activation = GENERATE(templates::DataType::bf16, templates::DataType::f16);
  r.problem.zero_points = GENERATE(templates::ZeroPoints::symmetric, templates::ZeroPoints::packed);
  r.problem.bias = r.m == 1;
  r.config = r.m == 1 ? decode(8, 32, 512, 4, 1) : decode(16, 64, 256, 2, 2);
  CHECK(harness::passes(r));
}

TEST_CASE("decode: batches, padded rows", "[cdna][decode]") {
  harness::Request r = int4(3, 100, 512, 128, any_target());
  r.problem.batch = GENERATE(2, 3);
  r.problem.zero_points = templates::ZeroPoints::additive;
  r.problem.activation_stride = 512 + 64;
  r.problem.weight_stride = 64 + 4;
  r.problem.scale_stride = 128;
  r.problem.output_stride = 136;
  r.config = decode(4, 16, 256, 2, 1);
  CHECK(harness::passes(r));
}

TEST_CASE("decode: groups of rows on the device, empty ones and a large one", "[cdna][decode]") {
  const std::vector<std::vector<std::int64_t>> sizes{{0, 0, 5}, {0, 0, 0}, {1, 40, 0, 3}, {2}};
  const auto& rows = sizes.at(static_cast<std::size_t>(GENERATE(0, 1, 2, 3)));
  harness::Request r = test::int4_grouped(rows, 48, 72, 384, 128, any_target());
  r.problem.zero_points = GENERATE(templates::ZeroPoints::symmetric, templates::ZeroPoints::additive);
  r.config = decode(8, 32, 256, 2, 1);
  CHECK(harness::passes(r));
}
