// SPDX-License-Identifier: MIT
// The counters on a wave made badly on purpose: the published defect of vllm.cpp#1910, a lane per superblock
// of 144 bytes with 20 superblocks, in a few lines of assembly. The expected numbers are counted by hand.
#include <catch2/catch.hpp>
#include <cstring>

#include "generator/lower/lower.hpp"
#include "tests/harness/weight_traffic.hpp"
#include "tests/runtime/sim/asm_kernel.hpp"

using namespace wavejit;

TEST_CASE("a lane per superblock shows in the counters", "[harness][kquant]") {
  const test::AsmKernel kernel{.body = R"(
  v_and_b32 v0, 31, v0
  s_load_b64 s[8:9], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s4, s8
  s_and_b32 s5, s9, 0xffff
  s_movk_i32 s6, 2880
  s_mov_b32 s7, 0x31027000
  v_mul_u32_u24 v1, 0x90, v0
  buffer_load_b128 v[4:7], v1, s[4:7], 0 offen
  buffer_load_b32 v8, v1, s[4:7], 0 offen offset:16
  s_mov_b32 exec_lo, 0xff
  v_mov_b32 v2, 0)",
                               .kernarg_bytes = 8};
  const target::Target& target = *target::find("gfx1151");
  const auto object = lower::assemble(test::assembly(kernel), target);
  REQUIRE(object);
  const auto linked = lower::link(*object);
  REQUIRE(linked);
  const auto decoded = lower::decode(*linked);
  REQUIRE(decoded);
  const auto program = sim::Program::create(decoded->kernels.at(0), target);
  REQUIRE(program);
  sim::Memory memory;
  const auto weights = memory.allocate(2880, 64, "weights", sim::Contents::zero);
  REQUIRE(weights);
  std::vector<std::byte> kernarg(8);
  std::memcpy(kernarg.data(), &*weights, 8);
  const auto t =
      harness::weight_traffic(decoded->kernels.at(0), *program, memory, {.kernarg = kernarg}, *weights, 2880);
  REQUIRE(t);
  REQUIRE(t->loads.size() == 2);
  CHECK(t->loads[0].lanes == 20);
  CHECK(t->loads[0].lane_bytes == 16);
  CHECK(t->loads[0].bytes == 320);
  CHECK(t->loads[0].gaps == std::vector<std::uint64_t>(19, 128));
  CHECK(t->loads[0].first == 0);
  CHECK(t->loads[0].end == 19 * 144 + 16);
  CHECK(t->loads[1].bytes == 80);
  CHECK(t->idle_loads() == Approx(12.0 / 32));
  CHECK(t->bytes == 20 * 20);
  CHECK(t->most_fetches == 1);
  // 144 i and 144 i + 16 lie in one segment of 64 bytes, but for i = 3, 7, 11, ... (48 into one): five times
  // two of twenty.
  CHECK(t->segments == 25);
  // Three VALU instructions and two loads; 24 lanes off in the last, 12 out of bounds in each load.
  CHECK(t->vector_slots == 5 * 32);
  CHECK(t->idle_slots == 24 + 2 * 12);
}
