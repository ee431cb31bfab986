// SPDX-License-Identifier: MIT
// Bytes of a launch by the order of its workgroups. Expected values are counted by hand on a grid of 4 x 2
// tiles walked with rows fastest, two workgroups at a time: fronts (A0 A1 B0) (A2 A3 B0) (A0 A1 B1)
// (A2 A3 B1). A band of rows has 1600 bytes, one of columns 160, the outputs of a front 1024.
#include <catch2/catch.hpp>

#include "generator/model/estimate.hpp"

using namespace wavejit;

namespace {

constexpr model::Tiling tiling{.rows = 64,
                               .columns = 32,
                               .tile_rows = 16,
                               .tile_columns = 16,
                               .row_bytes = 100,
                               .column_bytes = 10,
                               .output_bytes = 2};
constexpr double row_band = 1600, column_band = 160, outputs = 64 * 32 * 2;

}  // namespace

TEST_CASE("without caches every front reads its bands again", "[model][traffic]") {
  const model::Traffic t = model::traffic(tiling, 2, {});
  CHECK(t.asked == 8 * (row_band + column_band));
  CHECK(t.mall == 8 * row_band + 4 * column_band);
  CHECK(t.dram == t.mall + outputs);
}

TEST_CASE("what fits the level-2 cache is read once", "[model][traffic]") {
  const model::Traffic t = model::traffic(tiling, 2, {.l2_bytes = 1 << 20, .mall_bytes = 1 << 24});
  CHECK(t.mall == 4 * row_band + 2 * column_band);
  CHECK(t.dram == t.mall + outputs);
}

TEST_CASE("bands that the MALL holds from front to front come from there", "[model][traffic]") {
  model::Tiling t = tiling;
  t.output_bytes = 0;
  // All rows and one of the columns are 6560 bytes: all bands are found again.
  const model::Traffic fits = model::traffic(t, 2, {.l2_bytes = 0, .mall_bytes = 7000});
  CHECK(fits.mall == 8 * row_band + 4 * column_band);
  CHECK(fits.dram == 4 * row_band + 2 * column_band);
  // Three bands of rows: each is thrown out just before its turn; the columns' are found again.
  const model::Traffic thrashes = model::traffic(t, 2, {.l2_bytes = 0, .mall_bytes = 5000});
  CHECK(thrashes.dram == 8 * row_band + 2 * column_band);
  // All at once: one front.
  CHECK(model::traffic(t, 8, {}).dram == 4 * row_band + 2 * column_band);
}

TEST_CASE("outputs take the cache's place from bands", "[model][traffic]") {
  // With 1024 bytes written per front, 7000 bytes no longer hold the rows.
  const model::Traffic t = model::traffic(tiling, 2, {.l2_bytes = 0, .mall_bytes = 7000});
  CHECK(t.dram > 4 * row_band + 2 * column_band + outputs);
}

TEST_CASE("slices of the level-2 cache share nothing", "[model][traffic]") {
  // Two slices: even workgroups have rows 0 and 2, odd ones 1 and 3; both read the columns' bands, which
  // cross from the MALL twice and from DRAM once.
  model::Tiling t = tiling;
  t.output_bytes = 0;
  const model::Traffic two =
      model::traffic(t, 2, {.l2_bytes = 1 << 20, .l2_slices = 2, .mall_bytes = 1 << 24});
  CHECK(two.mall == 4 * row_band + 2 * 2 * column_band);
  CHECK(two.dram == 4 * row_band + 2 * column_band);
}

TEST_CASE("partial tiles read what there is, and their rest is waste", "[model][traffic]") {
  model::Tiling t = tiling;
  t.rows = 50;
  t.columns = 20;
  CHECK(t.wasted_rows() == Approx(14.0 / 64));
  CHECK(t.wasted_columns() == Approx(12.0 / 32));
  const model::Traffic once = model::traffic(t, 8, {});
  CHECK(once.dram == 50 * 100 + 20 * 10 + 50 * 20 * 2);
  CHECK(once.asked == 2 * 50 * 100 + 4 * 20 * 10);
}

TEST_CASE("every target of the tables has its caches", "[model][traffic]") {
  for (const target::Target& target : target::all()) {
    CAPTURE(target.name);
    CHECK(target::caches(target).l2_bytes >= 1 << 20);
  }
  // shared/hardware.md §1.
  CHECK(target::caches(*target::find("gfx1151")).mall_bytes == 32 << 20);
  CHECK(target::caches(*target::find("gfx950")).l2_slices == 8);
}

TEST_CASE("a launch without a known order counts each tensor once", "[model][traffic]") {
  const target::Target& gfx1151 = *target::find("gfx1151");
  model::LaunchShape shape{
      .workgroups = 8, .iterations = 4, .useful_flop = 1, .dram_bytes = 12345, .tiling = {}};
  CHECK(model::launch_traffic(shape, 1, gfx1151).dram == 12345);
  shape.tiling = tiling;
  CHECK(model::launch_traffic(shape, 1, gfx1151).dram == 4 * row_band + 2 * column_band + outputs);
  shape.tiling->rows_fastest = false;
  CHECK(model::launch_traffic(shape, 1, gfx1151).dram == 12345);
  // 215 GB/s at 1830 MHz (target/rdna3.cpp).
  CHECK(model::memory_cycles({0, 0, 215e9}, gfx1151) == Approx(1830e6));
  CHECK(model::memory_cycles({0, 1130e9, 0}, gfx1151) == Approx(1830e6));
}
