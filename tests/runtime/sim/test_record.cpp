// SPDX-License-Identifier: MIT
// Streams of executed instructions: the order that the program's text gives, costs by hardware.md §7 (LDS
// banks) and by counting lines.
#include <catch2/catch.hpp>

#include "runtime/device/sim/line_cache.hpp"
#include "runtime/device/sim/record.hpp"
#include "tests/runtime/sim/asm_kernel.hpp"

using namespace wavejit;

namespace {

std::vector<std::uint32_t> indices(const sim::WaveStream& stream) {
  std::vector<std::uint32_t> all;
  for (const sim::Executed& e : stream) all.push_back(e.index);
  return all;
}

}  // namespace

TEST_CASE("a recorded stream lists every executed instruction in order", "[sim][record]") {
  const sim::Program program = test::make_program({.body = R"(
  s_mov_b32 s10, 3
.Lagain:
  v_mov_b32 v1, 0
  s_sub_u32 s10, s10, 1
  s_cmp_lg_u32 s10, 0
  s_cbranch_scc1 .Lagain
  s_barrier
  v_dual_mov_b32 v2, 0 :: v_dual_mov_b32 v3, 1
)"});
  sim::Memory memory;
  sim::LaunchParams launch;
  launch.grid = {5, 1, 1};
  launch.block = {64, 1, 1};
  launch.workgroups = {4, 1};
  const auto recording = sim::record(program, memory, launch);
  REQUIRE(recording);
  CHECK(recording->distinct_faults == 0);
  REQUIRE(recording->groups.size() == 2);
  CHECK(recording->groups[0].workgroup == 4);
  CHECK(recording->groups[1].workgroup == 1);
  // The pair is one instruction of two entries: 6 and 7.
  const std::vector<std::uint32_t> expected{0, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 8};
  for (const sim::GroupStream& g : recording->groups) {
    REQUIRE(g.waves.size() == 2);
    for (const sim::WaveStream& w : g.waves) CHECK(indices(w) == expected);
  }
  const auto report = sim::run(program, memory, launch);
  REQUIRE(report);
  CHECK(report->wave_instructions == 4 * expected.size());
}

TEST_CASE("a recorded access has its own conflicts, bytes and lines", "[sim][record]") {
  const sim::Program program = test::make_program({.body = R"(
  s_load_b64 s[4:5], s[0:1], 0
  v_and_b32 v0, 31, v0
  v_lshlrev_b32 v1, 2, v0
  v_lshlrev_b32 v2, 7, v0
  ds_store_b32 v1, v0
  ds_store_b32 v2, v0
  s_waitcnt lgkmcnt(0)
  global_load_b32 v3, v1, s[4:5]
  global_load_b32 v4, v2, s[4:5]
  s_waitcnt vmcnt(0)
)",
                                                   .kernarg_bytes = 8,
                                                   .lds_bytes = 4096});
  sim::Memory memory;
  const auto data = memory.allocate(4096, 256, "data");
  REQUIRE(data);
  REQUIRE(memory.fill(*data, 4096, std::byte{0}));
  const std::uint64_t address = *data;
  sim::LaunchParams launch;
  launch.kernarg = std::as_bytes(std::span(&address, 1));
  const auto recording = sim::record(program, memory, launch);
  REQUIRE(recording);
  const sim::WaveStream& w = recording->groups.at(0).waves.at(0);
  REQUIRE(w.size() == 11);
  CHECK(w[4].conflict_cycles == 0);
  CHECK(w[5].conflict_cycles == 31);  // 32 lanes, one bank
  CHECK(w[7].lines == 1);
  CHECK(w[8].lines == 32);
  for (const std::size_t i : {4, 5, 7, 8}) CHECK(w[i].bytes == 128);
  CHECK(w[2].bytes == 0);
}

TEST_CASE("a recording that would be too long is refused", "[sim][record]") {
  const sim::Program program = test::make_program({.body = ".Lfor_ever:\n  s_branch .Lfor_ever\n"});
  sim::Memory memory;
  const auto recording = sim::record(program, memory, {}, 1000);
  REQUIRE_FALSE(recording);
  CHECK(recording.error().message.find("1000") != std::string::npos);
  sim::LaunchParams outside;
  outside.workgroups = {1};
  CHECK_FALSE(sim::record(program, memory, outside));
}

TEST_CASE("lines that a level-1 cache keeps count once, the least recent leave first", "[sim][record]") {
  // Lane l reads 4 bytes of line l; then of line 0 alone, and of lines 0 to 31 again.
  const sim::Program program = test::make_program({.body = R"(
  s_load_b64 s[4:5], s[0:1], 0
  v_and_b32 v0, 31, v0
  v_lshlrev_b32 v1, 7, v0
  v_mov_b32 v2, 0
  s_waitcnt lgkmcnt(0)
  global_load_b32 v3, v1, s[4:5]
  global_load_b32 v4, v2, s[4:5]
  global_load_b32 v5, v1, s[4:5]
  global_store_b32 v1, v0, s[4:5]
  global_store_b32 v1, v0, s[4:5]
  s_waitcnt vmcnt(0)
)",
                                                   .kernarg_bytes = 8});
  sim::Memory memory;
  const auto data = memory.allocate(4096, 256, "data");
  REQUIRE(data);
  REQUIRE(memory.fill(*data, 4096, std::byte{0}));
  const std::uint64_t address = *data;
  struct Case {
    std::uint32_t kept;
    std::array<std::uint32_t, 5> lines;
  };
  // With 31 places line 0 has left when it is asked for, and comes in for line 1; with 32 all are there.
  const Case c =
      GENERATE(Case{0, {32, 1, 32, 32, 32}}, Case{31, {32, 1, 31, 32, 32}}, Case{32, {32, 0, 0, 32, 32}});
  sim::LaunchParams launch;
  launch.kernarg = std::as_bytes(std::span(&address, 1));
  launch.options.kept_lines = c.kept;
  const auto recording = sim::record(program, memory, launch);
  REQUIRE(recording);
  const sim::WaveStream& w = recording->groups.at(0).waves.at(0);
  for (std::size_t i = 0; i < c.lines.size(); ++i) {
    CAPTURE(c.kept, i);
    CHECK(w.at(5 + i).lines == c.lines.at(i));
  }
}

TEST_CASE("a level-1 cache drops the line that was used longest ago, not the oldest", "[sim][record]") {
  sim::LineCache cache;
  cache.reset(2);
  CHECK_FALSE(cache.touch(1));
  CHECK_FALSE(cache.touch(2));
  CHECK(cache.touch(1));
  CHECK_FALSE(cache.touch(3));  // in place of 2
  CHECK(cache.touch(1));
  CHECK_FALSE(cache.touch(2));
  cache.reset(0);
  CHECK_FALSE(cache.touch(1));
  CHECK_FALSE(cache.touch(1));
}
