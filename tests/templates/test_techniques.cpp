// SPDX-License-Identifier: MIT
// Every combination of the five techniques computes the right product, with loads pipelined 0, 1 and 2
// deep; and each technique does what it says to the code.
#include <catch2/catch.hpp>

#include "tests/harness/catch.hpp"

using namespace wavejit;

namespace {

harness::Request small_request() {
  harness::Request r;
  r.problem.n = 72;
  r.problem.k = 192;
  r.problem.group = 32;
  r.m = 41;
  r.config = harness::tile(32, 32, 32, 2);
  return r;
}

harness::Report report_of(const harness::Request& request) {
  const harness::Outcome outcome = harness::passes(request);
  INFO(outcome.text);
  REQUIRE(outcome.ok);
  return *outcome.report;
}

}  // namespace

TEST_CASE("all 32 combinations of techniques, pipelined 0, 1 and 2 deep", "[w4a16]") {
  const unsigned mask = GENERATE(range(0U, 32U));
  harness::Request r = small_request();
  const auto names = templates::technique_names();
  REQUIRE(names.size() == 5);
  for (unsigned i = 0; i < 5; ++i)
    *templates::technique(r.config->techniques, names[i]) = (mask >> i & 1) != 0;
  for (const unsigned depth : {0U, 1U, 2U}) {
    r.config->pipeline_depth = depth;
    CAPTURE(mask, depth);
    CHECK(harness::passes(r));
  }
}

TEST_CASE("all 32 combinations of techniques for f16, zero points and a bias, on gfx11 and gfx12",
          "[w4a16]") {
  const unsigned mask = GENERATE(range(0U, 32U));
  harness::Request r = small_request();
  r.target = GENERATE("gfx1151", "gfx1201");
  const auto names = templates::technique_names();
  for (unsigned i = 0; i < 5; ++i)
    *templates::technique(r.config->techniques, names[i]) = (mask >> i & 1) != 0;
  for (const auto type : {templates::DataType::bf16, templates::DataType::f16})
    for (const auto zeros : {templates::ZeroPoints::symmetric, templates::ZeroPoints::packed}) {
      r.problem.activation = type;
      r.problem.zero_points = zeros;
      r.problem.bias = zeros == templates::ZeroPoints::packed;
      CAPTURE(mask);
      CHECK(harness::passes(r));
    }
}

TEST_CASE("bounds hold whether or not the scalar offset is checked", "[w4a16]") {
  // hardware.md §6: sources disagree, so each rule alone must give a right run too.
  harness::Request r = small_request();
  r.sim.soffset = GENERATE(sim::SoffsetRule::excluded, sim::SoffsetRule::included, sim::SoffsetRule::both);
  r.config->techniques.scalar_offsets = GENERATE(true, false);
  r.config->techniques.exact_descriptors = GENERATE(true, false);
  CHECK(harness::passes(r));
}

TEST_CASE("magic dequantisation takes fewer vector instructions than the plain form", "[w4a16]") {
  harness::Request r = small_request();
  const auto magic = report_of(r).card.body;
  r.config->techniques.magic_dequant = false;
  CHECK(report_of(r).card.body.other_valu() > magic.other_valu());
}

TEST_CASE("exact descriptors leave no compare or select in the loop, guards do", "[w4a16]") {
  harness::Request r = small_request();
  CHECK(report_of(r).card.body.compare_select == 0);
  r.config->techniques.exact_descriptors = false;
  CHECK(report_of(r).card.body.compare_select > 0);
}

TEST_CASE("bank assignment leaves no matrix instruction with two sources in one bank", "[w4a16]") {
  harness::Request r = small_request();
  CHECK(report_of(r).card.conflicts.matrix == 0);
}

TEST_CASE("scalar offsets take address arithmetic off the vector unit", "[w4a16]") {
  harness::Request r = small_request();
  const auto scalar = report_of(r).card.body;
  r.config->techniques.scalar_offsets = false;
  CHECK(report_of(r).card.body.other_valu() > scalar.other_valu());
}

TEST_CASE("round-to-nearest weights pass the bars that truncated ones fail", "[w4a16]") {
  harness::Request r = small_request();
  r.problem.k = 1024;
  r.problem.rounding = templates::WeightRounding::nearest;
  CHECK(harness::passes(r));
  // The same values through the truncating path: right by its own bars, and its gain shows it.
  r.problem.rounding = templates::WeightRounding::fastest;
  const harness::Report fastest = report_of(r);
  CHECK(fastest.verdict->metrics.gain < 0.9995);
}
