// SPDX-License-Identifier: MIT
// The modelled time of a whole call (tools/wavejit/call_model.hpp) for Configs that the tests name. Expected:
// bytes from the tensors' shapes, weights and loads from the tile, clocks from the target's table; all by
// hand.
#include <array>
#include <catch2/catch.hpp>

#include "tools/wavejit/call_model.hpp"
#include "tools/wavejit/streams.hpp"

namespace wavejit::test {
namespace {

const target::Target& gfx950() { return *target::find("gfx950"); }

templates::Problem problem(std::int64_t n, std::int64_t k) {
  templates::Problem p;
  p.op = templates::Operation::int4_gemm;
  p.layout = templates::WeightLayout::row_major_signed;
  p.zero_points = templates::ZeroPoints::additive;
  p.n = n;
  p.k = k;
  return p;
}

templates::Config tile(unsigned bm, unsigned bn, unsigned bk, unsigned split_k = 1) {
  templates::Config c;
  c.path = templates::Path::mfma;
  c.bm = bm;
  c.bn = bn;
  c.bk = bk;
  c.waves = 4;
  c.lds_buffers = 1;
  c.split_k = split_k;
  return c;
}

double sum(const tools::CallModel& call, double (tools::StageModel::*of)() const) {
  double all = 0;
  for (const tools::StageModel& s : call.stages) all += (s.*of)();
  return all;
}

TEST_CASE("a call with two stages counts both", "[call_model]") {
  const auto call = tools::model_call(problem(256, 1024), tile(16, 128, 128, 2), gfx950(), 16);
  REQUIRE(call);
  REQUIRE(call->stages.size() == 2);
  const tools::StageModel &product = call->stages[0], &reduce = call->stages[1];
  CHECK(product.workgroups == 4);  // two tiles of columns, two slices
  // Activations, weights, scales, zero points, partial sums; partial sums, output.
  const double partial = 2 * 16 * 256 * 4;
  CHECK(product.dram_bytes == 16 * 1024 * 2 + 256 * 512 + 2 * 8 * 256 * 2 + partial);
  CHECK(reduce.dram_bytes == partial + 16 * 256 * 2);
  for (const tools::StageModel& s : call->stages) {
    // 6 TB/s; partial sums are read at the MALL's 8.5 TB/s.
    CHECK(s.dram_us == Approx(s.dram_bytes / (s.stage == 0 ? 6000e9 : 8500e9) * 1e6));
    CHECK(s.computing_us > s.alone.ramp_us);
    CHECK(s.binds != "DRAM");
    // Dispatch 200 clocks, the first scalar load 300, a vector load 900, at 1360 MHz; some arithmetic
    // besides.
    CHECK(s.alone.ramp_us >= 1400 / 1360.0);
    CHECK(s.alone.ramp_us <= 3000 / 1360.0);
    // A store takes as long as a load.
    CHECK(s.alone.tail_us >= 900 / 1360.0);
  }
  CHECK(call->weight_bytes == 256 * 512);
  CHECK(call->flop == 2.0 * 16 * 256 * 1024);
  CHECK(call->time_us() == Approx(product.computing_us + reduce.computing_us));
  CHECK(call->strict_us() == Approx(sum(*call, &tools::StageModel::strict_us)));
  CHECK(call->time_us(3) == Approx(call->time_us() + 6));
  CHECK(product.counts);
  CHECK_FALSE(reduce.counts);

  const auto whole = tools::model_call(problem(256, 1024), tile(16, 128, 128), gfx950(), 16);
  REQUIRE(whole);
  CHECK(whole->stages.size() == 1);
  CHECK(whole->time_us(3) == Approx(whole->stages[0].computing_us + 3));
}

// A wave of four has 32 of 128 columns. A step of 128 along K: 32 x 128 weights over 64 lanes are 64 of a
// lane, two loads of 128 bits; 16 x 128 activations over 256 work-items are 16 bytes of each, one load. Two
// tiles of 16 columns: a scale and a zero point for each. Matrix instructions are 16x16x32 on gfx950: two
// tiles, four each.
TEST_CASE("weights, loads and matrix instructions of one step", "[call_model]") {
  const auto call = tools::model_call(problem(128, 128), tile(16, 128, 128), gfx950(), 16);
  REQUIRE(call);
  const tools::WeightCounts& c = *call->stages[0].counts;
  CHECK_FALSE(c.loop);  // one step: nothing repeats, and the model does not mind
  CHECK(c.weights == 64);
  CHECK(c.matrix == 8);
  CHECK(c.wide_loads == 3);
  CHECK(c.narrow_loads == 0);
  CHECK(c.scale_loads == 4);
  CHECK(c.waits >= 1);
  CHECK(c.full_waits <= c.waits);
  CHECK_FALSE(call->stages[0].estimate_us);

  const auto longer = tools::model_call(problem(128, 4096), tile(16, 128, 128), gfx950(), 16);
  REQUIRE(longer);
  const tools::WeightCounts& l = *longer->stages[0].counts;
  CHECK(l.loop);
  CHECK(l.weights == 8 * l.matrix);  // as above, whatever the number of steps in a pass
  CHECK(l.wide_only());
  // 32 steps in place of one.
  CHECK(longer->stages[0].computing_us > 4 * call->stages[0].computing_us);
}

TEST_CASE("streams and estimate agree where a loop is long", "[call_model]") {
  const auto call = tools::model_call(problem(256, 8192), tile(128, 128, 64), gfx950(), 128);
  REQUIRE(call);
  REQUIRE(call->stages[0].estimate_us);
  CHECK(call->stages[0].computing_us == Approx(*call->stages[0].estimate_us).epsilon(0.1));
}

TEST_CASE("a batch is as many products", "[call_model]") {
  templates::Problem p = problem(128, 512);
  p.batch = 3;
  const auto call =
      tools::model_call(p, tile(16, 128, 128), gfx950(), 16, {.group_rows = {}, .estimate = false});
  REQUIRE(call);
  CHECK(call->stages[0].workgroups == 3);
  CHECK(call->weight_bytes == 3 * 128 * 256);
  CHECK(call->flop == 3 * 2.0 * 16 * 128 * 512);
}

TEST_CASE("groups have the rows that they are given", "[call_model]") {
  templates::Problem p = problem(128, 2048);
  p.op = templates::Operation::int4_grouped;
  p.groups = 3;
  const auto model = [&](std::vector<std::int64_t> rows) {
    auto call = tools::model_call(p, tile(16, 128, 128), gfx950(), 48, {.group_rows = std::move(rows)});
    REQUIRE(call);
    return call->stages[0];
  };
  const tools::StageModel even = model({16, 16, 16}), none = model({0, 0, 0}), uneven = model({0, 48, 0});
  CHECK(even.workgroups == 3);
  CHECK(uneven.workgroups == 3);
  CHECK(none.workgroups == 0);
  CHECK(uneven.computing_us == Approx(even.computing_us).epsilon(0.05));
  CHECK(none.computing_us < even.computing_us / 4);  // leaves after it has counted
  CHECK(even.counts->weights == 8 * even.counts->matrix);
}

// 256 compute units and 300 tiles: the first has the workgroups 0 and 256, which nobody says are alike.
TEST_CASE("every workgroup of the fullest unit is recorded where kernels order their tiles", "[call_model]") {
  const auto kernel = tools::prepare_generated(problem(300 * 128, 128), tile(16, 128, 128), gfx950(), 16,
                                               {.stage = 0, .contents = {}, .simulate = false});
  REQUIRE(kernel);
  const auto unit = tools::record_unit(*kernel, gfx950());
  REQUIRE(unit);
  CHECK(unit->queue.size() == 2);
  CHECK(unit->kinds == 2);
  CHECK(unit->resident == 2);
  CHECK(unit->waves.size() == 8);
  CHECK(unit->queue[0][0] != unit->queue[1][0]);
  std::uint64_t executed = 0;
  for (const std::uint64_t e : unit->executed) executed += e;
  CHECK(executed == unit->instructions);
}

TEST_CASE("ramp and tail of a hand-written trace", "[call_model]") {
  using model::Unit;
  const auto event = [](std::uint32_t index, Unit unit, model::Clock issue, model::Clock end) {
    model::IssueEvent e;
    e.index = index;
    e.unit = unit;
    e.issue = issue;
    e.end = end;
    return e;
  };
  const std::array trace{event(0, Unit::vmem_load, 0, 900), event(1, Unit::vmem_load, 4, 950),
                         event(1, Unit::vmem_load, 8, 940), event(2, Unit::valu, 960, 964),
                         event(3, Unit::vmem_store, 970, 1890)};
  const std::array tensors{0, 1, -1, 2};
  const auto weights = tools::alone_clocks(trace, 980, tensors, 1);
  CHECK(weights.ramp == 940);
  CHECK(weights.tail == 1890 - 950);
  CHECK(tools::alone_clocks(trace, 980, tensors, 0).ramp == 900);
  CHECK(tools::alone_clocks(trace, 2000, tensors, 0).tail == 2000 - 950);
}

// 304 x 4 x 512 and 256 x 4 x 1024 operations a clock.
TEST_CASE("peaks of the matrix pipes", "[call_model]") {
  CHECK(tools::peak_tflops(*target::find("gfx942")) == Approx(304 * 4 * 512 * 2100e-6));
  CHECK(tools::peak_tflops(gfx950()) == Approx(256 * 4 * 1024 * 1360e-6));
}

}  // namespace
}  // namespace wavejit::test
