// SPDX-License-Identifier: MIT
// The selected CDNA kernels against what issue 8 asks of them, modelled call by call with all their kernels
// (tools/wavejit/call_model.hpp): published MI350X times from shared/published.md, peaks and bandwidths from
// the target's table. Modelled, not measured.
#include <catch2/catch.hpp>

#include "tools/wavejit/published_model.hpp"

namespace wavejit::test {
namespace {

std::vector<tools::PublishedRow> rows_of(tools::PublishedTable table) {
  std::vector<tools::PublishedRow> rows;
  for (const tools::PublishedRow& row : tools::published_rows())
    if (row.table == table) rows.push_back(row);
  return rows;
}

TEST_CASE("published decode rows take at most a third of the published time", "[published][bars]") {
  const auto rows = rows_of(tools::PublishedTable::decode);
  REQUIRE(rows.size() == 8);
  for (const tools::PublishedRow& row : rows) {
    const auto result = tools::model_row(row, *target::find("gfx950"), {});
    REQUIRE(result);
    CAPTURE(row.m, row.n, row.k, templates::canonical(result->call.config), result->call_us());
    REQUIRE(result->speedup(result->call_us()));
    CHECK(*result->speedup(result->call_us()) >= 3);
  }
}

TEST_CASE("published prefill rows reach more than 55 % of the matrix peak", "[published][bars]") {
  const target::Target& target = *target::find(GENERATE("gfx942", "gfx950"));
  const auto rows = rows_of(tools::PublishedTable::prefill);
  REQUIRE(rows.size() == 3);
  for (const tools::PublishedRow& row : rows) {
    const auto result = tools::model_row(row, target, {});
    REQUIRE(result);
    CAPTURE(target.name, row.m, row.n, row.k, templates::canonical(result->call.config));
    CHECK(result->peak_share() >= 0.55);
    REQUIRE(result->call.stages.at(0).counts);
    const tools::WeightCounts& counts = *result->call.stages[0].counts;
    CHECK(counts.loop);
    CHECK(counts.full_waits == 0);
    CHECK(counts.narrow_loads == 0);
    CHECK(counts.valu_per_weight() <= (target.name == "gfx942" ? 4.0 : 2.5));
  }
}

TEST_CASE("one row of 8192 x 3584 draws most of DRAM's bandwidth, or what else it needs says why not",
          "[published][bars]") {
  const tools::PublishedRow row{.m = 1, .n = 8192, .k = 3584, .us = 27.3, .rate = 625};
  const auto big = tools::model_row(row, *target::find("gfx942"), {});
  REQUIRE(big);
  CHECK(big->dram_share(big->call_us()) >= 0.70);
  const auto small = tools::model_row(row, *target::find("gfx950"), {});
  REQUIRE(small);
  REQUIRE(small->call.stages.size() == 1);
  const tools::StageModel& s = small->call.stages[0];
  // The weights are 2.4 us of DRAM; dispatch, arguments, one latency, sums and store are as much again.
  CAPTURE(s.dram_us, s.alone.ramp_us, s.alone.tail_us, s.computing_us);
  CHECK(small->dram_share(small->call_us()) >= 0.50);
  CHECK(s.dram_us / s.strict_sum_us() < 0.70);
}

}  // namespace
}  // namespace wavejit::test
