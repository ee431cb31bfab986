// SPDX-License-Identifier: MIT
// Skinny kernels on problems of every kind, pruned pairwise. Each row runs with random values against the
// oracle's bars and with values whose exact result every step keeps, so that the output must be the oracle's
// sum, rounded once, to the bit.
#include <array>
#include <bit>
#include <catch2/catch.hpp>

#include "templates/skinny/choose.hpp"
#include "tests/harness/pairwise.hpp"
#include "tests/oracle/product.hpp"
#include "tests/templates/skinny/skinny.hpp"
#include "tests/templates/w4a16_request.hpp"

using namespace wavejit;

namespace {

constexpr std::array<std::int64_t, 6> groups{32, 64, 96, 128, 256, -1};
constexpr std::array<std::int64_t, 9> rows_m{1, 2, 3, 4, 5, 7, 8, 12, 16};
constexpr std::array<std::int64_t, 7> columns{1, 8, 13, 16, 72, 256, 2600};
constexpr std::array<std::int64_t, 7> depths{32, 96, 256, 1024, 1632, 2560, 5120};
constexpr std::array<const char*, 3> targets{"gfx1151", "gfx1100", "gfx1201"};
struct Form {
  unsigned rows, waves, depth;  ///< rows 0: as selection says
};
constexpr std::array<Form, 7> forms{
    {{0, 0, 0}, {1, 1, 0}, {2, 4, 1}, {4, 2, 2}, {8, 1, 1}, {1, 8, 1}, {2, 2, 1}}};

enum Factor : std::uint8_t { type, zeros, bias, group, m, n, k, strides, form, gpu };

bool admits(const harness::Row& row) {
  if (row[m] >= 0 && row[form] >= 0) {
    // A lane holds an accumulator and a dot product of each: 64 of both are what fits beside the loads.
    const std::int64_t bm =
        std::bit_ceil(static_cast<std::uint64_t>(rows_m[static_cast<std::size_t>(row[m])]));
    if (forms[static_cast<std::size_t>(row[form])].rows * bm > 32) return false;
  }
  if (row[group] < 0 || row[k] < 0) return true;
  const std::int64_t g = groups[static_cast<std::size_t>(row[group])];
  return g == -1 || depths[static_cast<std::size_t>(row[k])] % g == 0;
}

std::vector<harness::Row> grid() {
  return harness::pairwise({2, 2, 2, std::ssize(groups), std::ssize(rows_m), std::ssize(columns),
                            std::ssize(depths), 2, std::ssize(forms), std::ssize(targets)},
                           admits);
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
  if (row[strides] == 1) test::pad_rows(p, 5);
  r.m = rows_m[at(m)];
  r.target = targets[at(gpu)];
  const Form& f = forms[at(form)];
  // A kernel for the next power of two of rows, or the one that selection weighs against tiles.
  if (f.rows != 0) {
    r.config = test::skinny(std::bit_ceil(static_cast<unsigned>(r.m)), f.rows, f.waves, f.depth);
  } else {
    const target::Target& target = *target::find(r.target);
    const auto normal = templates::normalise(p, target);
    REQUIRE(normal);
    const auto choice = templates::skinny::choose(*normal, target, r.m);
    REQUIRE(choice);
    r.config = choice->config;
  }
  r.sample = 6;
  return r;
}

/// Small integers times powers of two: products, their sums with 128 for a nibble, and sums over K are
/// multiples of 2^-6 below 2^17 and so exact in f32.
oracle::Values exact_values() {
  oracle::Values v = oracle::random_values(5);
  v.activations = oracle::each(
      [](std::int64_t row, std::int64_t e) { return static_cast<double>((3 * row + 5 * e) % 7 - 3); });
  v.scales = oracle::each([](std::int64_t row, std::int64_t g) {
    return (row % 2 == 0 ? 1.0 : -1.0) / static_cast<double>(1 << (row + g) % 7);
  });
  v.bias = [](std::int64_t column) { return static_cast<double>(column % 33 - 16) / 64; };
  return v;
}

std::size_t wrong_bits(const harness::Report& report, const oracle::Values& values) {
  const oracle::Shape shape = harness::oracle_shape(report.problem);
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

TEST_CASE("skinny: a grid of problems, random values within the bars", "[skinny][grid]") {
  const std::vector<harness::Row> rows = grid();
  CHECK(rows.size() > 60);
  for (const harness::Row& row : rows) {
    const harness::Outcome outcome = harness::passes(request_of(row));
    CHECK(outcome);
    REQUIRE(outcome.report);
    CHECK(outcome.report->config.path == templates::Path::skinny);
  }
}

TEST_CASE("skinny: a grid of problems, exact values to the bit", "[skinny][grid]") {
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

TEST_CASE("skinny: a row has the same bits for any M, rows per wave and depth, and from run to run",
          "[skinny]") {
  for (const auto type : {templates::DataType::bf16, templates::DataType::f16})
    for (const unsigned waves : {1U, 4U}) {
      const auto outputs = [&](std::int64_t m, unsigned rows, unsigned depth) {
        harness::Request r;
        r.problem = {.activation = type,
                     .n = 24,
                     .k = 5344,
                     .group = 32,
                     .zero_points = templates::ZeroPoints::packed};
        r.m = m;
        r.config = test::skinny(std::bit_ceil(static_cast<unsigned>(m)), rows, waves, depth);
        const harness::Outcome outcome = harness::passes(r);
        CHECK(outcome);
        REQUIRE(outcome.report);
        std::vector<std::uint16_t> row0;
        for (std::int64_t column = 0; column < 24; ++column) row0.push_back(outcome.report->at(0, column));
        return row0;
      };
      const auto one = outputs(1, 1, 1);
      CHECK(outputs(1, 1, 1) == one);
      CHECK(outputs(1, 2, 0) == one);
      CHECK(outputs(2, 2, 2) == one);
      CHECK(outputs(3, 1, 1) == one);
      CHECK(outputs(8, 4, 1) == one);
      CHECK(outputs(16, 2, 1) == one);
    }
}
