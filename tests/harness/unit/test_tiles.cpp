// SPDX-License-Identifier: MIT
// Tiles of several products in one output: each product's rows begin tiles of their own and have weights of
// their own.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/harness/tiles.hpp"

using namespace wavejit;

namespace {

templates::Problem problem(templates::Operation op) {
  templates::Problem p;
  p.op = op;
  p.layout = templates::WeightLayout::row_major_signed;
  p.n = 40;
  p.k = 128;
  p.group = 64;
  return p;
}

templates::Config config() {
  templates::Config c;
  c.path = templates::Path::mfma;
  c.bm = c.bn = 32;
  return c;
}

}  // namespace

TEST_CASE("a batched output is product after product, tails in each", "[harness]") {
  templates::Problem p = problem(templates::Operation::int4_gemm);
  p.batch = 3;
  templates::Launch launch;
  launch.grid = {2 * 2 * 3, 1, 1};
  const target::Target& target = *target::find("gfx942");
  const harness::TileGrid grid(p, config(), target, launch, 33);
  CHECK(grid.count() == 12);
  CHECK(grid.tile({.row = 0, .column = 1}).block == oracle::Block{0, 32, 32, 40, 0});
  CHECK(grid.tile({.row = 3, .column = 0}).block == oracle::Block{65, 66, 0, 32, 1});
  CHECK(grid.tile({.row = 4, .column = 0}).block == oracle::Block{66, 98, 0, 32, 2});
  std::set<std::uint64_t> workgroups;
  for (const harness::Tile& tile : grid.all()) workgroups.insert(tile.workgroup);
  CHECK(workgroups.size() == 12);
  CHECK(*workgroups.rbegin() == 11);
}

TEST_CASE("a grouped output has no tiles for empty groups and for rows that are left over", "[harness]") {
  templates::Problem p = problem(templates::Operation::int4_grouped);
  p.groups = 4;
  const std::vector<std::int64_t> sizes{0, 33, 0, 5};
  templates::Launch launch;
  launch.grid = {20, 1, 1};
  const target::Target& target = *target::find("gfx942");
  const harness::TileGrid grid(p, config(), target, launch, 50, sizes);
  REQUIRE(grid.products().size() == 2);
  CHECK(grid.products()[1].set == 3);
  CHECK(grid.rows() == 3);
  CHECK(grid.tile({.row = 1, .column = 0}).block == oracle::Block{32, 33, 0, 32, 1});
  CHECK(grid.tile({.row = 2, .column = 1}).block == oracle::Block{33, 38, 32, 40, 3});
  CHECK(harness::TileGrid(p, config(), target, launch, 50, std::vector<std::int64_t>(4)).count() == 0);
}
