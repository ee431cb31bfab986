// SPDX-License-Identifier: MIT
// Problems of every kind, pruned pairwise: type, zero points, bias, group, M, N, K, strides, tile and
// target, such that each pair of choices meets in some row. Each row runs twice: with random values
// against the oracle's bars, and with values whose exact result every step of the kernel keeps, so that
// the output must be the oracle's sum, rounded once, to the bit.
#include <array>
#include <catch2/catch.hpp>
#include <set>

#include "tests/harness/catch.hpp"
#include "tests/harness/pairwise.hpp"
#include "tests/oracle/product.hpp"
#include "tests/templates/w4a16_request.hpp"

using namespace wavejit;

namespace {

constexpr std::array<std::int64_t, 5> groups{32, 64, 128, 256, -1};
constexpr std::array<std::int64_t, 9> rows_m{1, 5, 6, 17, 64, 128, 129, 333, 1322};
constexpr std::array<std::int64_t, 4> columns{16, 72, 256, 2600};
constexpr std::array<std::int64_t, 5> depths{32, 96, 256, 1024, 2560};
constexpr std::array<const char*, 3> targets{"gfx1151", "gfx1100", "gfx1201"};

enum Factor : std::uint8_t { type, zeros, bias, group, m, n, k, strides, tile, gpu, factor_count };

/// Levels of `tile`: what selection says, then tiles of several shapes.
std::optional<templates::Config> config_of(int level) {
  switch (level) {
    case 1:
      return harness::tile(128, 64, 32, 8);
    case 2:
      return harness::tile(48, 32, 32, 2);
    case 3: {
      templates::Config two_deep = harness::tile(64, 128, 32, 4);
      two_deep.pipeline_depth = 2;
      two_deep.lds_buffers = 1;
      return two_deep;
    }
    default:
      return std::nullopt;
  }
}

bool divides(const harness::Row& row) {
  if (row[group] < 0 || row[k] < 0) return true;
  const std::int64_t g = groups[static_cast<std::size_t>(row[group])];
  return g == -1 || depths[static_cast<std::size_t>(row[k])] % g == 0;
}

std::vector<harness::Row> grid() {
  return harness::pairwise({2, 2, 2, std::ssize(groups), std::ssize(rows_m), std::ssize(columns),
                            std::ssize(depths), 2, 4, std::ssize(targets)},
                           divides);
}

harness::Request request_of(const harness::Row& row) {
  const auto at = [&row](Factor f) { return static_cast<std::size_t>(row[f]); };
  harness::Request r;
  templates::Problem& p = r.problem;
  p.activation = row[type] == 0 ? templates::DataType::bf16 : templates::DataType::f16;
  p.zero_points = row[zeros] == 0 ? templates::ZeroPoints::symmetric : templates::ZeroPoints::packed;
  p.bias = row[bias] == 1;
  p.group = groups[at(group)];
  p.n = columns[at(n)];
  p.k = depths[at(k)];
  if (row[strides] == 1) test::pad_rows(p, row[bias] == 1 ? 8 : 5);
  r.m = rows_m[at(m)];
  r.config = config_of(row[tile]);
  r.target = targets[at(gpu)];
  r.sample = 3;
  return r;
}

/// Small integers times powers of two: every product and every partial sum is a multiple of 2^-6 below
/// 2^17 and so exact in f32, and every weight is exact in both types.
oracle::Values exact_values() {
  oracle::Values v = oracle::random_values(5);
  v.activations = oracle::each(
      [](std::int64_t m, std::int64_t k) { return static_cast<double>((3 * m + 5 * k) % 7 - 3); });
  v.scales = oracle::each([](std::int64_t n, std::int64_t g) {
    return (n % 2 == 0 ? 1.0 : -1.0) / static_cast<double>(1 << (n + g) % 7);
  });
  v.bias = [](std::int64_t n) { return static_cast<double>(n % 33 - 16) / 64; };
  return v;
}

std::size_t wrong_bits(const harness::Report& report, const oracle::Values& values) {
  const oracle::Shape shape{.format = report.problem.activation == templates::DataType::f16
                                          ? oracle::Format::f16
                                          : oracle::Format::bf16,
                            .n = report.problem.n,
                            .k = report.problem.k,
                            .group = report.problem.group,
                            .has_zero_points = report.problem.zero_points == templates::ZeroPoints::packed,
                            .has_bias = report.problem.bias};
  std::size_t wrong = 0;
  for (const harness::Tile& t : report.tiles) {
    const oracle::Matrix want = oracle::product(shape, values, t.block);
    for (std::int64_t row = t.block.row_begin; row < t.block.row_end; ++row)
      for (std::int64_t column = t.block.column_begin; column < t.block.column_end; ++column)
        wrong += report.at(row, column) !=
                 oracle::encode(want(row - t.block.row_begin, column - t.block.column_begin), shape.format);
  }
  return wrong;
}

}  // namespace

TEST_CASE("the grid has every admissible pair and no other row", "[w4a16][grid]") {
  const std::vector<harness::Row> rows = grid();
  std::set<std::tuple<int, int, int, int>> met;
  for (const harness::Row& row : rows) {
    REQUIRE(row.size() == factor_count);
    CHECK(divides(row));
    for (int f = 0; f < factor_count; ++f)
      for (int g = f + 1; g < factor_count; ++g) met.insert({f, row[f], g, row[g]});
  }
  // Sum of the products of two factors' levels, less the groups that do not divide a K: 32 has 3 of
  // them (64, 128, 256), 96 the same, and 256 divides 256, 1024 and 2560.
  const std::array<int, factor_count> levels{2, 2, 2, 5, 9, 4, 5, 2, 4, 3};
  std::size_t pairs = 0;
  for (std::size_t f = 0; f < levels.size(); ++f)
    for (std::size_t g = f + 1; g < levels.size(); ++g)
      pairs += static_cast<std::size_t>(levels[f] * levels[g]);
  CHECK(met.size() == pairs - 6);
  CHECK(rows.size() < 80);
}

TEST_CASE("a grid of problems, random values within the bars", "[w4a16][grid]") {
  for (const harness::Row& row : grid()) CHECK(harness::passes(request_of(row)));
}

TEST_CASE("a grid of problems, exact values to the bit", "[w4a16][grid]") {
  const oracle::Values values = exact_values();
  for (const harness::Row& row : grid()) {
    harness::Request r = request_of(row);
    r.values = values;
    r.compare = false;
    const harness::Outcome outcome = harness::passes(r);
    CHECK(outcome);
    REQUIRE(outcome.report);
    INFO(outcome.text);
    CHECK(wrong_bits(*outcome.report, values) == 0);
  }
}
