// SPDX-License-Identifier: MIT
// Accounts of clocks, loops without one of their costs, missing hints and the register map, on loops small
// enough to count by hand with the numbers of target::Timing: WMMA 32 clocks, VALU 1, latency 5, a queue
// of 8.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <numeric>

#include "generator/model/delay_hints.hpp"
#include "generator/model/register_map.hpp"
#include "generator/model/wave_time.hpp"
#include "generator/model/what_if.hpp"
#include "tests/generator/lower/text_kernel.hpp"

using namespace wavejit;

namespace {

const target::Target& gfx1151() { return test::table("gfx1151"); }

struct Loop {
  std::vector<isa::Instruction> code;
  model::Stretches stretches;
  model::Prepared prepared;
};

/// The text as a loop's body; `behind` as what follows it.
Loop loop_of(std::string_view text, std::string_view behind = "",
             std::span<const model::AccessNote> notes = {}) {
  Loop l;
  const auto instructions = [](std::string_view t) {
    const lower::CodeObject object = test::build(
        test::kernel_text("loop", ".Lbody:\n" + std::string(t) + "\n  s_endpgm\n", gfx1151()), gfx1151());
    std::vector<isa::Instruction> code;
    for (const auto& i : object.kernels.at(0).instructions) {
      code.push_back(i.inst);
      if (i.inst.op == isa::Opcode::s_endpgm) break;
    }
    return code;
  };
  const std::size_t body = instructions(text).size() - 1;
  l.code = instructions(std::string(text) + "\n" + std::string(behind));
  for (std::size_t i = 0; i + 1 < l.code.size(); ++i)
    (i < body ? l.stretches.body : l.stretches.epilogue).push_back(i);
  l.prepared = model::prepare(l.code, l.stretches, notes, gfx1151());
  return l;
}

constexpr model::RunOptions traced{.warm_iterations = 4, .iterations = 20, .trace_events = 1'000'000};

struct Played {
  model::SteadyState steady;
  model::TimeAccount time;
};

Played play(const Loop& l, const model::Residency& residency) {
  Played p;
  p.steady = model::steady_state(l.prepared.body, residency, gfx1151(), traced);
  p.time = model::account(p.steady, l.prepared.body, residency, gfx1151(), traced.iterations);
  return p;
}

double sum(const model::Shares& s) { return std::accumulate(s.begin(), s.end(), 0.0); }
double at(const model::Shares& s, model::Reason r) { return s[static_cast<std::size_t>(r)]; }

constexpr auto wmma_and_adds =
    "v_wmma_f32_16x16x16_bf16 v[0:7], v[8:15], v[16:23], v[0:7]\n"
    "v_mov_b32 v24, v25\nv_mov_b32 v26, v25\nv_mov_b32 v27, v25\nv_mov_b32 v28, v25\n";
constexpr auto load_and_wait =
    "buffer_load_b32 v1, v0, s[4:7], 0 offen\ns_waitcnt vmcnt(0)\nv_mov_b32 v2, v1\n";

}  // namespace

TEST_CASE("both accounts of a loop add up to its clocks", "[model][explain]") {
  for (const char* text : {wmma_and_adds, load_and_wait,
                           "ds_load_b128 v[0:3], v8\ns_waitcnt lgkmcnt(0)\ns_barrier\nv_add_f32 v0, v1, v2\n"
                           "v_add_f32 v0, v0, v2\ns_barrier\n"})
    for (const unsigned workgroups : {1U, 3U}) {
      const Played p = play(loop_of(text), {workgroups, 8, true});
      INFO(text << " x " << workgroups);
      CHECK(sum(p.time.pipe) == Approx(p.steady.cycles).epsilon(0.002));
      CHECK(sum(p.time.wave) == Approx(p.steady.latency).epsilon(0.002));
    }
}

TEST_CASE("a full pipe is all matrix and VALU, and a wave waits for its queue", "[model][explain]") {
  // Two waves a SIMD: 2 * (32 + 4) = 72 clocks an iteration of the two, 36 of each; a wave issues five.
  const Played p = play(loop_of(wmma_and_adds), {2, 4, true});
  CHECK(at(p.time.pipe, model::Reason::matrix) == Approx(32).epsilon(0.03));
  CHECK(at(p.time.pipe, model::Reason::valu) == Approx(4).epsilon(0.03));
  CHECK(at(p.time.wave, model::Reason::matrix) == Approx(1).epsilon(0.03));
  CHECK(at(p.time.wave, model::Reason::valu) == Approx(4).epsilon(0.03));
  CHECK(at(p.time.wave, model::Reason::queue) > 60);
}

TEST_CASE("an idle pipe is put down to what the wave waits for", "[model][explain]") {
  const Played p = play(loop_of(load_and_wait), {1, 4, true});
  // One wave a SIMD, latency 1000 (target table) and its data: nothing else to do.
  CHECK(at(p.time.pipe, model::Reason::vector_memory) > 0.95 * p.steady.cycles);
  CHECK(at(p.time.pipe, model::Reason::valu) == Approx(1).epsilon(0.03));
  const auto costliest = std::ranges::max_element(p.time.instructions, {}, &model::InstructionTime::idle);
  CHECK(costliest->index == 1);  // the wait, not the load
  CHECK(costliest->worst == model::Reason::vector_memory);
}

TEST_CASE("a dependent chain leaves the pipe idle for its latency", "[model][explain]") {
  // One wave: 5 clocks from one add to the next, one of them work.
  const Played p = play(loop_of("v_add_f32 v0, v1, v0\nv_add_f32 v0, v1, v0\n"), {1, 4, true});
  CHECK(p.steady.cycles == Approx(10).epsilon(0.03));
  CHECK(at(p.time.pipe, model::Reason::valu) == Approx(2).epsilon(0.03));
  CHECK(at(p.time.pipe, model::Reason::dependency) == Approx(8).epsilon(0.03));
}

TEST_CASE("segments of a wave follow each other without gap or overlap", "[model][explain]") {
  const Played p =
      play(loop_of("ds_load_b128 v[0:3], v8\ns_waitcnt lgkmcnt(0)\ns_barrier\nv_add_f32 v0, v1, v2\n"
                   "s_cbranch_scc1 .Lbody\n"),
           {2, 8, true});
  const auto lives = model::wave_lives(p.steady.trace, gfx1151());
  CHECK(lives.size() == 16);
  for (const model::WaveLife& life : lives)
    for (std::size_t i = 1; i < life.segments.size(); ++i) {
      REQUIRE(life.segments[i].from == life.segments[i - 1].to);
      REQUIRE(life.segments[i].to > life.segments[i].from);
    }
}

TEST_CASE("without a cost the loop takes what is left of it", "[model][explain]") {
  const auto clocks = [](model::Cost cost, const Loop& l, const model::Residency& r) {
    return model::clocks_without(cost, l.prepared.body, r, gfx1151(),
                                 {.warm_iterations = 4, .iterations = 20});
  };
  const Loop mixed = loop_of(wmma_and_adds);
  CHECK(clocks(model::Cost::other_valu, mixed, {2, 4, true}) == Approx(32).margin(0.7));
  CHECK(model::matrix_only(mixed.prepared.body, {2, 4, true}, gfx1151()) == Approx(32));
  CHECK(model::matrix_only(mixed.prepared.body, {1, 8, true}, gfx1151()) == Approx(64));
  // Load, wait and one VALU: an issue slot each, and the mov.
  CHECK(clocks(model::Cost::memory, loop_of(load_and_wait), {1, 4, true}) < 15);
  CHECK(clocks(model::Cost::memory_latency, loop_of(load_and_wait), {1, 4, true}) < 60);
  CHECK(clocks(model::Cost::dependency, loop_of("v_add_f32 v0, v1, v0\nv_add_f32 v0, v1, v0\n"),
               {1, 4, true}) == Approx(2).epsilon(0.05));
  // 8 waves over two ports, 12 clocks of conflicts: 4 * 16; free: an issue slot for each of two waves a SIMD.
  const model::AccessNote notes[] = {{0, 12, 0}};
  const Loop lds = loop_of("ds_load_b128 v[0:3], v8\ns_waitcnt lgkmcnt(0)\n", "", notes);
  CHECK(model::steady_state(lds.prepared.body, {4, 8, true}, gfx1151()).cycles == Approx(64).margin(1));
  CHECK(clocks(model::Cost::lds, lds, {4, 8, true}) < 6);
}

TEST_CASE("waves that never meet count each by themselves", "[model][explain]") {
  // Without the barrier older waves run ahead of younger ones; the pipe still bounds all of them: 8 waves on
  // 4 SIMDs, 36 clocks each.
  const Loop l = loop_of(fmt::format("{}s_barrier\n", wmma_and_adds));
  const double clocks = model::clocks_without(model::Cost::barriers, l.prepared.body, {2, 8, true}, gfx1151(),
                                              {.warm_iterations = 10, .iterations = 60});
  CHECK(clocks == Approx(72).epsilon(0.01));
}

TEST_CASE("a late operand without s_delay_alu is found", "[model][explain]") {
  const auto missing = [](std::string_view text) {
    const Loop l = loop_of(text);
    return model::missing_hints(l.code, l.stretches.body, gfx1151());
  };
  const auto found = missing("v_add_f32 v0, v1, v2\nv_mov_b32 v5, v6\nv_add_f32 v3, v0, v2\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0].index == 2);
  CHECK(found[0].producer == 0);
  CHECK(found[0].clocks == 3);  // latency 5, two instructions on
  CHECK(missing(
            "v_add_f32 v0, v1, v2\nv_mov_b32 v5, v6\ns_delay_alu instid0(VALU_DEP_2)\nv_add_f32 v3, v0, v2\n")
            .empty());
  // Named by the second half of a hint: skip over one instruction.
  CHECK(
      missing("v_add_f32 v0, v1, v2\ns_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)\n"
              "v_add_f32 v3, v0, v2\nv_add_f32 v4, v3, v2\n")
          .empty());
  // A hint that names the wrong one.
  CHECK(missing(
            "v_mov_b32 v9, v8\nv_add_f32 v0, v1, v2\ns_delay_alu instid0(VALU_DEP_2)\nv_add_f32 v3, v0, v2\n")
            .size() == 1);
  // Waited for once: there for later readers.
  CHECK(missing("v_add_f32 v0, v1, v2\ns_delay_alu instid0(VALU_DEP_1)\nv_add_f32 v3, v0, v2\nv_add_f32 v4, "
                "v0, v2\n")
            .empty());
  // Far enough, out of reach, or behind something that waits for the VALU itself.
  CHECK(
      missing("v_add_f32 v0, v1, v2\nv_mov_b32 v5, v6\nv_mov_b32 v7, v6\nv_mov_b32 v8, v6\nv_mov_b32 v9, v6\n"
              "v_add_f32 v3, v0, v2\n")
          .empty());
  CHECK(missing("v_add_f32 v0, v1, v2\nds_load_b32 v9, v8\nv_add_f32 v3, v0, v2\n").empty());
  // A WMMA takes 32 clocks of the pipe: its accumulator two WMMAs on is there.
  CHECK(missing("v_wmma_f32_16x16x16_bf16 v[0:7], v[8:15], v[16:23], v[0:7]\n"
                "v_wmma_f32_16x16x16_bf16 v[24:31], v[8:15], v[16:23], v[24:31]\n"
                "v_wmma_f32_16x16x16_bf16 v[0:7], v[8:15], v[16:23], v[0:7]\n")
            .empty());
  CHECK(missing("v_exp_f32 v0, v1\nv_add_f32 v3, v0, v2\n").size() == 1);
  CHECK(missing("v_exp_f32 v0, v1\ns_delay_alu instid0(TRANS32_DEP_1)\nv_add_f32 v3, v0, v2\n").empty());
}

TEST_CASE("the register map holds what is still wanted", "[model][explain]") {
  // v0 is carried around the loop, v1 lives from its load to the add, v2 is only read behind the loop, v3 is
  // written and never read.
  const Loop l = loop_of("v_mov_b32 v1, v4\nv_add_f32 v0, v0, v1\nv_mov_b32 v3, v0\n", "v_mov_b32 v5, v2\n");
  const model::RegisterMap map = model::register_map(l.code, l.stretches, gfx1151());
  std::vector<std::uint32_t> rows;
  for (const auto& row : map.rows) rows.push_back(row.vgpr);
  REQUIRE(rows == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
  using Bits = std::vector<bool>;
  // v0 is not read behind the loop, but by the next iteration.
  CHECK(map.rows[0].live == Bits{true, true, true});
  CHECK(map.rows[1].live == Bits{false, true, false});
  CHECK(map.rows[2].live == Bits{true, true, true});
  CHECK(map.rows[3].live == Bits{false, false, false});
  CHECK(map.rows[3].written == Bits{false, false, true});
  CHECK(map.rows[4].live == Bits{true, true, true});
  CHECK(map.peak() == 4);
  CHECK(map.banks == 4);
  CHECK(map.peak(0) == 2);  // v0 and v4
  CHECK(map.peak(1) == 1);
}
