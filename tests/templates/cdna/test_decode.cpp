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
  const Shape s = GENERATE(Shape{4, 128}, Shape{8, 128}, Shape{16, 256}, Shape{8, 64}, Shape{16, 64}, Shape{32, 128},
                           Shape{64, 64});
  const std::int64_t m = GENERATE(0, 1, 2);
  harness::Request r = int4(m == 0 ? 1 : m == 1 ? s.bm : s.bm + 1, 96, 1024, s.group, target);
  r.problem.zero_points = m == 1 ? templates::ZeroPoints::symmetric : templates::ZeroPoints::additive;
  r.config = decode(s.bm, 32, s.bm == 64 ? 256 : 512, 4);
  CHECK(harness::passes(r));
}

TEST_CASE("decode: tiles, waves, steps and depths", "[cdna][decode]") {
  struct Cut {
    unsigned bn, waves, blocks, depth;
  };
  const Cut c = GENERATE(Cut{16, 1, 1, 1}, Cut{32, 2, 2, 2}, Cut{64, 3, 1, 0}, Cut{128, 4, 1, 0}, Cut{16, 7, 1, 2},
                         Cut{32, 8, 1, 1}, Cut{16, 16, 1, 2}, Cut{32, 16, 1, 2});
  const std::string target = any_target();
  const std::int64_t k = GENERATE(384, 3584);
  harness::Request r = int4(3, 200, k, 128, target);
  r.problem.zero_points = c.depth == 1 ? templates::ZeroPoints::additive : templates::ZeroPoints::symmetric;
  r.config = decode(4, c.bn, 128 * c.waves * c.blocks, c.waves, c.depth);
  CHECK(harness::passes(r));
}
