// SPDX-License-Identifier: MIT
// The CDNA schedule: its host form against formulas of shared/domain.md §1.9 written out here, every tile of
// every grid visited once; and its code on the simulator against its host form.
#include <catch2/catch.hpp>
#include <cstring>
#include <set>
#include <tuple>
#include <vector>

#include "templates/cdna/schedule.hpp"
#include "tests/templates/scalar_kernel.hpp"

using namespace wavejit;
using templates::cdna::Schedule;
using templates::cdna::TilePlace;

namespace {

/// As domain.md has it, for any number of XCDs.
std::int64_t published_remap(std::int64_t id, std::int64_t grid, std::int64_t xcds) {
  const std::int64_t p = (grid + xcds - 1) / xcds;
  const std::int64_t tall = grid % xcds == 0 ? xcds : grid % xcds;
  const std::int64_t x = id % xcds, l = id / xcds;
  return x < tall ? x * p + l : tall * p + (x - tall) * (p - 1) + l;
}

/// The usual grouping along M of GPU matrix products, written from its description: bands of `height` rows of
/// tiles, inside a band column by column.
std::pair<std::int64_t, std::int64_t> banded(std::int64_t id, std::int64_t tiles_m, std::int64_t tiles_n,
                                             std::int64_t height) {
  for (std::int64_t first = 0;; first += height) {
    const std::int64_t rows = std::min(height, tiles_m - first);
    if (id < rows * tiles_n) return {first + id % rows, id / rows};
    id -= rows * tiles_n;
  }
}

struct Emitted {
  TilePlace place;
  std::int64_t column0 = 0, column_end = 0, workspace_row0 = 0, workspace_row_end = 0;
};

test::ScalarKernel kernel_of(const std::string& target, const Schedule& s) {
  return {target, [s](ir::Builder& b, const test::ScalarKernel::Inputs& in) {
            const templates::cdna::Place p =
                templates::cdna::emit_schedule(b, s, {in.workgroup, in.m, in.workitem, in.input, 0});
            const isa::Operand none = isa::imm(0);
            return test::ScalarKernel::Results{
                {p.tile_m, p.tile_n, p.slice, p.set, p.row0, p.row_end, p.column0, p.column_end,
                 s.slices > 1 ? p.workspace_row0 : none, s.slices > 1 ? p.workspace_row_end : none},
                p.exits};
          }};
}

Emitted emitted(const std::vector<std::uint32_t>& v) {
  return {{v[0], v[1], v[2], v[3], v[4], v[5]}, v[6], v[7], v[8], v[9]};
}

/// Code and host agree on the whole grid, and the rows that go with a place are those of its set and slice.
void check_dense(const std::string& target, const Schedule& s, const std::vector<std::uint32_t>& ms) {
  const test::ScalarKernel kernel = kernel_of(target, s);
  for (const std::uint32_t m : ms) {
    const std::int64_t grid = templates::cdna::workgroups(s, m);
    const auto results = kernel.run(static_cast<std::uint32_t>(grid), m, {});
    CAPTURE(target, s.bm, s.bn, s.n, s.slices, s.sets, s.xcds, m, grid);
    bool equal = true;
    for (std::int64_t id = 0; id < grid; ++id) {
      REQUIRE(results[static_cast<std::size_t>(id)]);
      const Emitted e = emitted(*results[static_cast<std::size_t>(id)]);
      const TilePlace p = e.place;
      equal = equal && p == templates::cdna::place(s, m, id);
      equal = equal && e.column0 == p.set * s.n + p.tile_n * s.bn && e.column_end == (p.set + 1) * s.n;
      if (s.slices > 1)
        equal = equal && e.workspace_row0 == (p.set * s.slices + p.slice) * m + p.tile_m * s.bm &&
                e.workspace_row_end == (p.set * s.slices + p.slice + 1) * m;
    }
    CHECK(equal);
  }
}

std::span<const std::byte> bytes_of(const std::vector<std::int64_t>& sizes) {
  return std::as_bytes(std::span(sizes));
}

/// Host and device forms agree; the tiles cover each group's rows once, in order, and no others.
void check_grouped(const test::ScalarKernel& kernel, const Schedule& s,
                   const std::vector<std::int64_t>& sizes, std::int64_t m) {
  const std::int64_t grid = templates::cdna::workgroups(s, m);
  const auto results =
      kernel.run(static_cast<std::uint32_t>(grid), static_cast<std::uint32_t>(m), bytes_of(sizes));
  bool equal = true;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen;  // set, row0, tile_n
  for (std::int64_t id = 0; id < grid; ++id) {
    const auto host = templates::cdna::place(s, sizes, m, id);
    const auto& device = results[static_cast<std::size_t>(id)];
    equal = equal && host.has_value() == device.has_value();
    if (!host || !device) continue;
    const Emitted e = emitted(*device);
    equal = equal && e.place == *host && e.column0 == host->set * s.n + host->tile_n * s.bn &&
            e.column_end == (host->set + 1) * s.n;
    equal = equal && seen.emplace(host->set, host->row0, host->tile_n).second;
  }
  CHECK(equal);
  std::int64_t row = 0;
  std::size_t expected = 0;
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    const std::int64_t rows = std::min(std::max<std::int64_t>(sizes[g], 0), m - row);
    for (std::int64_t r = row; r < row + rows; r += s.bm)
      for (std::int64_t t = 0; t < templates::cdna::tiles_n(s); ++t, ++expected)
        equal = equal && seen.contains({static_cast<std::int64_t>(g), r, t});
    row += rows;
  }
  CHECK(equal);
  CHECK(seen.size() == expected);
}

Schedule grouped(std::int64_t groups, std::int64_t n = 96, unsigned bm = 32, unsigned bn = 32) {
  Schedule s{.xcds = 8};
  s.bm = bm;
  s.bn = bn;
  s.n = n;
  s.sets = groups;
  s.grouped = true;
  return s;
}

}  // namespace

TEST_CASE("nine workgroups on eight XCDs: 0 2 3 4 5 6 7 8 1", "[cdna]") {
  // shared/cases.md row 56; the naive formula (pid % 8) * (9 / 8) + pid / 8 has tile 1 twice and never 8.
  std::vector<std::int64_t> map, naive;
  for (std::int64_t id = 0; id < 9; ++id) {
    map.push_back(templates::cdna::remap(id, 9, 8));
    naive.push_back(id % 8 * (9 / 8) + id / 8);
  }
  CHECK(map == std::vector<std::int64_t>{0, 2, 3, 4, 5, 6, 7, 8, 1});
  CHECK(naive != map);
  Schedule s{.xcds = 8};
  s.bm = s.bn = 16;
  s.n = 16;
  const auto results = kernel_of("gfx942", s).run(9, 9 * 16, {});
  for (std::size_t id = 0; id < 9; ++id) CHECK((*results[id])[0] == static_cast<std::uint32_t>(map[id]));
}

TEST_CASE("the remap visits every tile once, grids of 1 to 3000, 1 to 16 XCDs", "[cdna]") {
  for (unsigned xcds = 1; xcds <= 16; ++xcds)
    for (std::int64_t grid = 1; grid <= 3000; ++grid) {
      std::vector<bool> visited(static_cast<std::size_t>(grid));
      std::int64_t good = 0;
      for (std::int64_t id = 0; id < grid; ++id) {
        const std::int64_t to = templates::cdna::remap(id, grid, xcds);
        if (to < 0 || to >= grid || visited[static_cast<std::size_t>(to)]) break;
        visited[static_cast<std::size_t>(to)] = true;
        good += to == published_remap(id, grid, xcds) ? 1 : 0;
      }
      if (good != grid) {
        CAPTURE(xcds, grid);
        CHECK(good == grid);
      }
    }
}

TEST_CASE("places are bands along M inside a slice inside a set", "[cdna]") {
  for (const std::int64_t m : {1, 16, 17, 129, 400})
    for (const std::int64_t n : {1, 16, 100, 333})
      for (const unsigned slices : {1U, 3U})
        for (const std::int64_t sets : {1, 4}) {
          Schedule s{.xcds = 8};
          s.bm = s.bn = 16;
          s.n = n;
          s.slices = slices;
          s.sets = sets;
          const std::int64_t tiles_m = (m + 15) / 16, tiles_n = (n + 15) / 16, tiles = tiles_m * tiles_n;
          const std::int64_t grid = templates::cdna::workgroups(s, m);
          REQUIRE(grid == tiles * slices * sets);
          bool equal = true;
          for (std::int64_t id = 0; id < grid; ++id) {
            const TilePlace p = templates::cdna::place(s, m, id);
            const std::int64_t number = published_remap(id, grid, 8);
            const auto [tile_m, tile_n] = banded(number % tiles, tiles_m, tiles_n, 8);
            equal = equal && p == TilePlace{tile_m,
                                            tile_n,
                                            number / tiles % slices,
                                            number / (tiles * slices),
                                            number / (tiles * slices) * m + tile_m * 16,
                                            (number / (tiles * slices) + 1) * m};
          }
          CAPTURE(m, n, slices, sets);
          CHECK(equal);
        }
}

TEST_CASE("generated code places workgroups as the host form says", "[cdna]") {
  struct Case {
    unsigned bm, bn;
    std::int64_t n;
    unsigned slices;
    std::int64_t sets;
    unsigned xcds;
  };
  const Case c = GENERATE(Case{16, 16, 16, 1, 1, 8}, Case{64, 128, 5120, 1, 1, 8}, Case{32, 32, 896, 8, 1, 8},
                          Case{128, 64, 1000, 16, 1, 8}, Case{32, 48, 333, 1, 4, 8},
                          Case{48, 32, 96, 3, 3, 8}, Case{16, 16, 80, 1, 1, 1}, Case{16, 16, 80, 5, 1, 3},
                          Case{16, 16, 80, 1, 2, 16}, Case{16, 16, 80, 2, 1, 13});
  Schedule s{.xcds = 8};
  s.bm = c.bm;
  s.bn = c.bn;
  s.n = c.n;
  s.slices = c.slices;
  s.sets = c.sets;
  s.xcds = c.xcds;
  check_dense("gfx942", s, {1, 16, 17, 128, 513, 1030});
  check_dense("gfx950", s, {129});
}

TEST_CASE("a large grid: numbers beyond 2^16 tiles", "[cdna]") {
  Schedule s{.xcds = 8};
  s.bm = s.bn = 16;
  s.n = 16 * 37;
  s.slices = 2;
  const std::int64_t m = 16 * 1000;
  const auto results = kernel_of("gfx950", s)
                           .run(static_cast<std::uint32_t>(templates::cdna::workgroups(s, m)),
                                static_cast<std::uint32_t>(m), {});
  bool equal = true;
  for (std::size_t id = 0; id < results.size(); ++id)
    equal =
        equal && emitted(*results[id]).place == templates::cdna::place(s, m, static_cast<std::int64_t>(id));
  CHECK(results.size() == 74000);
  CHECK(equal);
}

TEST_CASE("grouped: sizes on the device become tiles of each group", "[cdna]") {
  const std::string target = GENERATE(std::string("gfx942"), std::string("gfx950"));
  const Schedule s = grouped(3);
  const test::ScalarKernel kernel = kernel_of(target, s);
  const auto check = [&](const std::vector<std::int64_t>& sizes, std::int64_t m) {
    CAPTURE(sizes, m);
    check_grouped(kernel, s, sizes, m);
  };
  check({0, 0, 5}, 7);
  check({0, 0, 0}, 7);
  check({5, 0, 0}, 5);
  check({1, 1, 1}, 3);
  check({32, 33, 31}, 96);
  check({0, 700, 0}, 700);
  check({100, 700, 13}, 1000);
  // What no caller should pass stays inside the buffers: negative sizes, more rows than there are, 2^32 + 3.
  check({-1, 40, -5}, 64);
  check({50, 50, 50}, 64);
  check({64, 1, 1}, 64);
  check({3, (std::int64_t{1} << 32) + 3, 9}, 100);
  check({INT64_MIN, INT64_MAX, 1}, 33);
}

TEST_CASE("grouped: 1 to 300 groups, several walks of 64", "[cdna]") {
  const std::int64_t groups = GENERATE(1, 2, 63, 64, 65, 128, 129, 300);
  const Schedule s = grouped(groups);
  const test::ScalarKernel kernel = kernel_of("gfx942", s);
  CAPTURE(groups);
  const auto size = static_cast<std::size_t>(groups);
  std::vector<std::int64_t> some(size), last(size), huge(size), ones(size, 1);
  std::int64_t sum = 0;
  for (std::size_t g = 0; g < size; ++g)
    sum += some[g] = static_cast<std::int64_t>(g * g * 7 % 90) * (g % 3 != 1);
  last.back() = 5;
  huge[size / 2] = 2000;
  check_grouped(kernel, s, some, sum + 9);
  check_grouped(kernel, s, last, 7);
  check_grouped(kernel, s, huge, 2000);
  check_grouped(kernel, s, ones, groups);
  check_grouped(kernel, s, std::vector<std::int64_t>(size), 4);
}

TEST_CASE("grouped: 300 groups of 4096 x 4096 weights: rows of the last one by exact numbers", "[cdna]") {
  // shared/cases.md row 34: group 299's weights start at 299 * 8,388,608 bytes, beyond 2^31. The row number
  // of the weights stays a 32-bit number; its product with the row's bytes is one of 64 bits.
  const Schedule s = grouped(300, 4096, 128, 128);
  std::vector<std::int64_t> sizes(300);
  sizes.back() = 2;
  const auto results = kernel_of("gfx942", s).run(32, 2, bytes_of(sizes));
  std::set<std::int64_t> columns;
  for (const auto& r : results) {
    REQUIRE(r);
    const Emitted e = emitted(*r);
    CHECK(e.place.set == 299);
    columns.insert(e.column0 * 2048);
  }
  CHECK(*columns.begin() == 2'508'193'792);
  CHECK(*columns.rbegin() == 2'508'193'792 + 31 * 128 * 2048);
}
