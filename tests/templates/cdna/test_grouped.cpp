// SPDX-License-Identifier: MIT
// One launch over groups of rows whose sizes are on the device only: against the oracle group by group, and
// nothing stored in rows that belong to no group.
#include <catch2/catch.hpp>
#include <numeric>

#include "tests/templates/cdna/requests.hpp"

using namespace wavejit;
using test::int4_grouped;
using test::mfma;

namespace {

harness::Outcome run(const std::vector<std::int64_t>& sizes, std::int64_t m, const std::string& target,
                     std::int64_t n = 96) {
  harness::Request r = int4_grouped(sizes, m, n, 256, 64, target);
  r.problem.zero_points = templates::ZeroPoints::additive;
  r.config = mfma(32, 64, 64, 2);
  return harness::passes(r);
}

}  // namespace

TEST_CASE("grouped: sizes with empty groups, one huge group, rows left over", "[cdna]") {
  const std::string target = GENERATE(std::string("gfx942"), std::string("gfx950"));
  const auto sizes = GENERATE(std::vector<std::int64_t>{5}, std::vector<std::int64_t>{0, 0, 5},
                              std::vector<std::int64_t>{33, 0, 1, 64}, std::vector<std::int64_t>{0, 260, 0},
                              std::vector<std::int64_t>{1, 1, 1, 1, 1});
  const std::int64_t sum = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  for (const std::int64_t left_over : {0, 9}) {
    const harness::Outcome outcome = run(sizes, sum + left_over, target);
    CHECK(outcome);
    REQUIRE(outcome.report);
    CHECK(outcome.report->verdict->metrics.elements == sum * 96);
  }
}

TEST_CASE("grouped: 65 and 300 groups, most of them small", "[cdna]") {
  const std::int64_t groups = GENERATE(65, 300);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(groups));
  for (std::size_t g = 0; g < sizes.size(); g += 7) sizes[g] = static_cast<std::int64_t>(g % 5);
  sizes.back() = 40;
  const std::int64_t sum = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  CHECK(run(sizes, sum + 3, "gfx942", 40));
}

TEST_CASE("grouped in the selected Config", "[cdna]") {
  const std::string target = GENERATE(std::string("gfx942"), std::string("gfx950"));
  CHECK(harness::passes(int4_grouped({70, 0, 3, 130}, 210, 256, 512, 128, target)));
}

TEST_CASE("grouped: three groups, only the last has rows; the two rows behind stay as they were", "[cdna]") {
  // shared/cases.md row 50.
  harness::Request r = int4_grouped({0, 0, 5}, 7, 32, 128, 128);
  r.config = mfma(32, 64, 64, 2);
  const harness::Outcome outcome = harness::passes(r);
  CHECK(outcome);
  REQUIRE(outcome.report);
  CHECK(outcome.report->unwritten_bytes == 0);
  CHECK(outcome.report->stray_bytes == 0);  // rows 5 and 6
  CHECK(outcome.report->verdict->metrics.elements == 5 * 32);
}

TEST_CASE("grouped: no groups make no launch, no rows in any group store nothing", "[cdna]") {
  // shared/cases.md row 51. That a launch without workgroups or rows succeeds is the engine's to show.
  harness::Request r = int4_grouped({}, 4, 32, 128, 128);
  const target::Target& target = *target::find("gfx942");
  const auto launch = templates::launch(r.problem, mfma(32, 64, 64, 2), target, 4);
  REQUIRE(launch);
  CHECK(launch->grid[0] == 0);

  r = int4_grouped({0, 0, 0}, 4, 32, 128, 128);
  r.config = mfma(32, 64, 64, 2);
  const harness::Outcome outcome = harness::passes(r);
  CHECK(outcome);
  REQUIRE(outcome.report);
  CHECK(outcome.report->run.workgroups > 0);
  CHECK(outcome.report->stray_bytes == 0);
  CHECK(outcome.report->tiles_in_all == 0);
}

TEST_CASE("grouped: the weights of group 299 of 300, beyond 2^31 bytes", "[cdna]") {
  // shared/cases.md row 34, run: only the rows that the last group needs are ever written to memory.
  std::vector<std::int64_t> sizes(300);
  sizes.back() = 2;
  harness::Request r = int4_grouped(sizes, 2, 4096, 4096, 128);
  r.config = mfma(32, 128, 128, 2);
  r.sample = 2;
  const harness::Outcome outcome = harness::passes(r);
  CHECK(outcome);
  REQUIRE(outcome.report);
  CHECK(outcome.report->tiles[0].block.set == 299);
  const templates::Argument& weights = outcome.report->launch.arguments[1];
  CHECK(weights.strides[0] * 299 * 4096 == 2'508'193'792);
}

TEST_CASE("a grouped product is not split along K", "[cdna]") {
  harness::Request r = int4_grouped({3, 4}, 7, 64, 512, 128);
  r.config = mfma(32, 64, 64, 2, 2);
  CHECK(harness::refused(r, "split_k"));
}
