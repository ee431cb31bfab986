// SPDX-License-Identifier: MIT
// Recorded streams through the event model. Expected: the clocks that the model gives the same instructions
// as prologue, body and epilogue, whose rules the measured loops hold (test_cycles.cpp), and counts by hand.
#include <catch2/catch.hpp>

#include "generator/model/cycles.hpp"
#include "generator/model/loops.hpp"
#include "tests/generator/model/text_code.hpp"

using namespace wavejit;

namespace {

constexpr std::string_view loop_text =
    "ds_load_b128 v[8:11], v26\n"
    "s_waitcnt lgkmcnt(0)\n"
    "s_delay_alu instid0(VALU_DEP_1)\n"
    "v_add_f32 v24, v25, v24\n"
    "v_wmma_f32_16x16x16_bf16 v[0:7], v[8:15], v[16:23], v[0:7]\n"
    "s_barrier\n"
    "s_sub_u32 s0, s0, 1\n"
    "s_cmp_lg_u32 s0, 0\n"
    "s_cbranch_scc1 .Lbody\n"
    "v_mov_b32 v0, v1\n";

/// What a wave executes that runs the loop `iterations` times. s_delay_alu is executed too.
std::vector<model::Executed> stream(const std::vector<isa::Instruction>& code, unsigned iterations) {
  std::vector<model::Executed> all;
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < code.size(); ++i)
    if (code[i].op == isa::Opcode::s_cbranch_scc1) last = i;
  for (unsigned n = 0; n < iterations; ++n)
    for (std::uint32_t i = 0; i <= last; ++i) all.push_back({.index = i});
  for (std::uint32_t i = last + 1; i < code.size(); ++i) all.push_back({.index = i});
  return all;
}

model::Clock play(const std::vector<isa::Instruction>& code,
                  const std::vector<std::vector<model::Executed>>& waves, unsigned workgroups,
                  const model::Residency& residency) {
  const target::Target& gfx1151 = *target::find("gfx1151");
  const auto steps = model::prepare_streams(code, waves, gfx1151);
  std::vector<std::vector<const model::Steps*>> queue(workgroups);
  for (auto& group : queue)
    for (const model::Steps& s : steps) group.push_back(&s);
  return model::run_streams(queue, residency, gfx1151);
}

}  // namespace

TEST_CASE("a stream takes what its loop, played as one, takes", "[model][streams]") {
  const target::Target& gfx1151 = *target::find("gfx1151");
  const auto code = test::code_of(loop_text, gfx1151);
  const auto loop = model::hot_loop(code);
  REQUIRE(loop);
  const auto prepared = model::prepare(code, model::split(code, loop->own), {}, gfx1151);
  for (const unsigned workgroups : {1U, 2U, 5U}) {
    const model::Residency residency{2, 4, true};
    const auto whole = model::run_workgroups(prepared, 7, workgroups, residency, gfx1151);
    const std::vector waves(4, stream(code, 7));
    // A loop's last branch is not taken: 3 clocks in place of 10 (shared/calibration/summary.md), for
    // each workgroup behind another; the loop model takes all for taken.
    const auto in_turn = static_cast<model::Clock>((workgroups + 1) / 2);
    CHECK(play(code, waves, workgroups, residency) + 7 * in_turn == whole);
  }
}

TEST_CASE("each execution of a stream has its own cost", "[model][streams]") {
  const auto code = test::code_of(loop_text, *target::find("gfx1151"));
  const model::Residency one{1, 1, true};
  std::vector<std::vector<model::Executed>> waves{stream(code, 5)};
  const model::Clock plain = play(code, waves, 1, one);
  waves[0][0].conflict_clocks = 12;  // the first load only; the wave waits for it
  CHECK(play(code, waves, 1, one) == plain + 12);
}

TEST_CASE("waves of a workgroup may run streams of their own", "[model][streams]") {
  const auto code = test::code_of(loop_text, *target::find("gfx1151"));
  const model::Residency two{1, 2, true};
  // Barriers: the other wave waits for the one with a slow load in its third iteration.
  std::vector waves(2, stream(code, 5));
  const model::Clock plain = play(code, waves, 1, two);
  const std::size_t load_again = 2 * (waves[1].size() - 2) / 5;
  REQUIRE(waves[1][load_again].index == 0);
  waves[1][load_again].conflict_clocks = 40;
  CHECK(play(code, waves, 1, two) == plain + 40);
  CHECK(model::run_streams({}, two, *target::find("gfx1151")) == 0);
}

// By hand for gfx950: the load holds its port for 1024 / 64 clocks, takes 1024 / 48 of level 2, and returns
// 900 later; the wave waits for it and issues every four clocks; the store costs the same.
TEST_CASE("a run of streams tells when loads return and how busy the pipes were", "[model][streams]") {
  const target::Target& gfx950 = *target::find("gfx950");
  const auto code = test::code_of(
      "buffer_load_dwordx4 v[4:7], v0, s[4:7], 0 offen\n"
      "s_waitcnt vmcnt(0)\n"
      "buffer_store_dwordx4 v[4:7], v0, s[8:11], 0 offen\n"
      "s_endpgm\n",
      gfx950);
  std::vector<std::vector<model::Executed>> waves(1);
  for (std::uint32_t i = 0; i < code.size(); ++i) waves[0].push_back({.index = i, .bytes = 1024});
  const auto steps = model::prepare_streams(code, waves, gfx950);
  const std::vector<std::vector<const model::Steps*>> queue{{&steps[0]}};
  model::StreamDetails details;
  const auto clocks = model::run_streams(queue, {1, 1, true}, gfx950, &details, 100);
  constexpr model::Clock returned = 16 + 1024 / 48 + 900, stored = returned + 4 + 16 + 1024 / 48 + 900;
  CHECK(clocks == returned + 8);
  REQUIRE(details.trace.size() == 4);
  CHECK(details.trace[0].unit == model::Unit::vmem_load);
  CHECK(details.trace[0].end == returned);
  CHECK(details.trace[2].unit == model::Unit::vmem_store);
  CHECK(details.trace[2].end == stored);
  CHECK(details.busy.vmem == Approx(32.0 / clocks));
  CHECK(details.busy.l2 == Approx(2 * 1024 / 48.0 / clocks));
  CHECK(details.busy.matrix == 0);
  CHECK(model::run_streams(queue, {1, 1, true}, gfx950) == clocks);
}
