// SPDX-License-Identifier: MIT
// The harness must notice what it is there for: kernels whose text was spoiled in one place, and code
// objects that belong to another launch, all fail, each for its own reason.
#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "generator/lower/lower.hpp"
#include "tests/harness/catch.hpp"

using namespace wavejit;

namespace {

harness::Request request() {
  harness::Request r;
  r.problem.n = 40;
  r.problem.k = 256;
  r.problem.group = 32;
  r.problem.output_stride = 48;
  r.m = 35;
  r.config = harness::tile(32, 32, 32, 2);
  return r;
}

std::string assembly_of(const harness::Request& r) {
  const auto kernel = templates::generate(r.problem, *r.config, *target::find(r.target));
  if (!kernel) FAIL(kernel.error().message);
  return kernel->assembly;
}

Result<harness::Report> run_text(const std::string& text, const harness::Request& r) {
  const auto object = lower::assemble(text, *target::find(r.target));
  if (!object) FAIL(object.error().message);
  const auto linked = lower::link(*object);
  if (!linked) FAIL(linked.error().message);
  return harness::run_object(*linked, r);
}

/// Replaces the first `from` at or behind the first `after`.
std::string edited(std::string text, std::string_view after, std::string_view from, std::string_view to) {
  const std::size_t start = text.find(after);
  REQUIRE(start != std::string::npos);
  const std::size_t at = text.find(from, start);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("the emitted text, assembled again, passes as it is", "[harness]") {
  const auto report = run_text(assembly_of(request()), request());
  REQUIRE(report);
  INFO(report->reason());
  CHECK(report->ok());
  CHECK(report->tiles_in_all == 4);
  CHECK(report->verdict->metrics.elements == 35 * 40);
}

TEST_CASE("a missing wait is a fault", "[harness]") {
  const auto report =
      run_text(edited(assembly_of(request()), "loop:", "s_waitcnt vmcnt", "s_nop 0 ; "), request());
  REQUIRE(report);
  CHECK_FALSE(report->ok());
  CHECK(report->run.totals[static_cast<std::size_t>(sim::FaultKind::in_flight)] > 0);
}

TEST_CASE("a missing store leaves elements unwritten", "[harness]") {
  const auto report =
      run_text(edited(assembly_of(request()), "s_cbranch", "buffer_store_b128", "s_nop 0 ; "), request());
  REQUIRE(report);
  CHECK_FALSE(report->ok());
  CHECK(report->unwritten_bytes > 0);
  CHECK(report->stray_bytes == 0);
}

TEST_CASE("a wrong nibble shift is the oracle's to find", "[harness]") {
  const auto report =
      run_text(edited(assembly_of(request()), "loop:", "v_lshrrev_b32 v", "v_lshlrev_b32 v"), request());
  REQUIRE(report);
  CHECK_FALSE(report->ok());
  CHECK(report->run.clean());
  REQUIRE(report->verdict);
  CHECK_FALSE(report->verdict->ok);
}

TEST_CASE("rows at another stride are stray stores and unwritten elements", "[harness]") {
  harness::Request other = request();
  other.problem.output_stride = 40;
  const auto report = run_text(assembly_of(other), request());
  REQUIRE(report);
  CHECK_FALSE(report->ok());
  CHECK(report->stray_bytes > 0);
  CHECK(report->unwritten_bytes > 0);
}

TEST_CASE("truncated weights where nearest was promised fail the bars", "[harness]") {
  harness::Request nearest = request();
  nearest.problem.rounding = templates::WeightRounding::nearest;
  const auto report = run_text(assembly_of(request()), nearest);
  REQUIRE(report);
  CHECK_FALSE(report->ok());
  CHECK(report->run.clean());
}

TEST_CASE("a read past a tensor is a fault even one row on", "[harness]") {
  // The kernel was made for more columns than the tensors have: its weight and scale rows run out.
  harness::Request more = request();
  more.problem.n = 48;
  const auto report = run_text(assembly_of(more), request());
  REQUIRE(report);
  CHECK(report->run.totals[static_cast<std::size_t>(sim::FaultKind::out_of_bounds)] > 0);
}

TEST_CASE("a code object of another launch is refused before it runs", "[harness]") {
  // shared/cases.md row 6: block and LDS sizes are the kernel's own, and a mismatch is refused.
  harness::Request other = request();
  other.config = harness::tile(32, 32, 32, 4);
  const auto threads = run_text(assembly_of(other), request());
  REQUIRE_FALSE(threads);
  CHECK(threads.error().code == ErrorCode::invalid_code_object);
  CHECK(threads.error().field == "workgroup size");
  const auto renamed =
      run_text(edited(assembly_of(request()), "amdhsa.kernels", "weights", "weighty"), request());
  REQUIRE_FALSE(renamed);
  CHECK(renamed.error().field == "argument 1");
}

TEST_CASE("a sample holds the tail corner, the origin and the middle, and no tile twice", "[harness]") {
  harness::Request r = request();
  r.problem.n = 32 * 9 + 8;
  r.problem.output_stride = 0;
  r.m = 32 * 6 + 3;
  r.sample = 12;
  const harness::Outcome outcome = harness::passes(r);
  CHECK(outcome);
  REQUIRE(outcome.report);
  const auto& tiles = outcome.report->tiles;
  REQUIRE(tiles.size() == 12);
  CHECK(tiles[0].block ==
        oracle::Block{.row_begin = 192, .row_end = 195, .column_begin = 288, .column_end = 296});
  CHECK(tiles[1].block == oracle::Block{.row_begin = 0, .row_end = 32, .column_begin = 0, .column_end = 32});
  CHECK(tiles[2].block ==
        oracle::Block{.row_begin = 96, .row_end = 128, .column_begin = 128, .column_end = 160});
  for (std::size_t i = 0; i < tiles.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) CHECK(tiles[i].workgroup != tiles[j].workgroup);
}
