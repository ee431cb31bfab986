// SPDX-License-Identifier: MIT
// LDS: races, barriers and what must be waited for before them, bounds, alignment, undefined bytes.
#include <catch2/catch.hpp>

#include "runtime/device/sim/bank_conflicts.hpp"
#include "tests/runtime/sim/asm_kernel.hpp"

namespace wavejit::test {
namespace {

using sim::FaultKind;

/// Two waves of one workgroup, 1024 bytes of LDS. Before `body`: v1 = 4 * (lane of the workgroup), s12 =
/// the wave's first work-item (0 or 32), v3 = 4 * (that of the other wave's same lane), v2 = 5.
sim::RunReport run_two_waves(std::string_view body, const sim::Options& options = {}) {
  const std::string whole =
      "v_and_b32 v0, 0x3ff, v0\n v_readfirstlane_b32 s12, v0\n v_lshlrev_b32 v1, 2, v0\n v_xor_b32 v3, 0x80, "
      "v1\n"
      "v_mov_b32 v2, 5\n" +
      std::string(body);
  const sim::Program program = make_program({.body = whole, .lds_bytes = 1024});
  sim::Memory memory;
  sim::LaunchParams launch;
  launch.block = {64, 1, 1};
  launch.options = options;
  auto report = sim::run(program, memory, launch);
  REQUIRE(report);
  INFO(body << "\n" << text(report->faults));
  return *report;
}

std::uint64_t total(const sim::RunReport& r, FaultKind kind) {
  return r.totals[static_cast<std::size_t>(kind)];
}

void check_pair(const std::string& broken, const std::string& right, FaultKind kind) {
  const sim::RunReport found = run_two_waves(broken);
  INFO("broken: " << broken << "\n" << text(found.faults));
  CHECK(found.distinct_faults >= 1);
  CHECK(total(found, kind) > 0);
  for (const sim::Fault& f : found.faults) CHECK(f.kind == kind);
  const sim::RunReport none = run_two_waves(right);
  INFO("right: " << right << "\n" << text(none.faults));
  CHECK(none.distinct_faults == 0);
}

const std::string wait = "s_waitcnt lgkmcnt(0)\n";
const std::string barrier = "s_barrier\n";
const std::string store_mine = "ds_store_b32 v1, v2\n";
const std::string load_other = "ds_load_b32 v4, v3\n";

TEST_CASE("Reading what another wave wrote needs a barrier", "[sim][strict][lds]") {
  check_pair(store_mine + wait + load_other, store_mine + wait + barrier + load_other, FaultKind::lds_race);
}

TEST_CASE("Overwriting what another wave reads needs a barrier", "[sim][strict][lds]") {
  const std::string filled = store_mine + wait + barrier + load_other + wait;
  check_pair(filled + "v_mov_b32 v2, 6\n" + store_mine, filled + barrier + "v_mov_b32 v2, 6\n" + store_mine,
             FaultKind::lds_race);
}

TEST_CASE("A store not waited for makes the barrier worth nothing", "[sim][strict][lds]") {
  check_pair(store_mine + barrier + load_other, store_mine + wait + barrier + load_other,
             FaultKind::unwaited_at_barrier);
  // Waiting after the barrier is too late; a second barrier after the wait is in time.
  check_pair(store_mine + barrier + wait + load_other, store_mine + barrier + wait + barrier + load_other,
             FaultKind::unwaited_at_barrier);
  // vmcnt is another counter.
  check_pair(store_mine + "s_waitcnt vmcnt(0)\n" + barrier + load_other,
             store_mine + wait + barrier + load_other, FaultKind::unwaited_at_barrier);
}

TEST_CASE("A load not waited for may see the next round's data", "[sim][strict][lds]") {
  const std::string filled = store_mine + wait + barrier + load_other;
  check_pair(filled + barrier + "v_mov_b32 v2, 6\n" + store_mine,
             filled + wait + barrier + "v_mov_b32 v2, 6\n" + store_mine, FaultKind::unwaited_at_barrier);
}

TEST_CASE("Races are told apart byte by byte", "[sim][strict][lds]") {
  // Each wave has one half of every dword: no race. Wave 0 reads the other half: a race.
  const std::string mine =
      "v_and_b32 v5, 0x7f, v1\n s_lshr_b32 s13, s12, 4\n v_add_nc_u32 v5, s13, v5\n ds_store_b16 v5, v2\n";
  check_pair(mine + wait + "v_xor_b32 v6, 2, v5\n ds_load_u16 v7, v6\n", mine + wait + "ds_load_u16 v7, v5\n",
             FaultKind::lds_race);
  const std::string bytes =
      "v_and_b32 v5, 0x7f, v1\n s_lshr_b32 s13, s12, 5\n v_add_nc_u32 v5, s13, v5\n ds_store_b8 v5, v2\n";
  check_pair(bytes + wait + "v_xor_b32 v6, 1, v5\n ds_load_u8 v7, v6\n", bytes + wait + "ds_load_u8 v7, v5\n",
             FaultKind::lds_race);
}

TEST_CASE("Two waves storing one value do not race, two values do", "[sim][strict][lds]") {
  const std::string same = "v_mov_b32 v5, 0\n";
  check_pair(same + "v_mov_b32 v2, s12\n ds_store_b32 v5, v2", same + "ds_store_b32 v5, v2",
             FaultKind::lds_race);
}

TEST_CASE("LDS bounds are the launch's bytes", "[sim][strict][lds]") {
  check_pair("v_mov_b32 v5, 0x3fd\n ds_store_b8 v5, v2\n v_mov_b32 v5, 0x400\n ds_store_b8 v5, v2",
             "v_mov_b32 v5, 0x3fd\n ds_store_b8 v5, v2", FaultKind::out_of_bounds);
  check_pair("v_mov_b32 v5, 0\n ds_load_b128 v[8:11], v5 offset:1024", "", FaultKind::out_of_bounds);
  check_pair("v_mov_b32 v5, -4\n ds_store_b32 v5, v2 offset:4",
             "v_mov_b32 v5, 0\n ds_store_b32 v5, v2 offset:4", FaultKind::out_of_bounds);
}

TEST_CASE("LDS alignment", "[sim][strict][lds]") {
  const auto one = [](const std::string& op, unsigned address) {
    return "v_mov_b32 v5, " + std::to_string(address) +
           "\n v_mov_b32 v8, 0\n v_mov_b32 v9, 0\n v_mov_b32 v10, 0\n v_mov_b32 v11, 0\n" + op;
  };
  check_pair(one("ds_store_b32 v5, v8", 2), one("ds_store_b32 v5, v8", 4), FaultKind::misaligned);
  check_pair(one("ds_store_b64 v5, v[8:9]", 4), one("ds_store_b64 v5, v[8:9]", 8), FaultKind::misaligned);
  check_pair(one("ds_store_b128 v5, v[8:11]", 8), one("ds_store_b128 v5, v[8:11]", 16),
             FaultKind::misaligned);
  check_pair(one("ds_store_b16 v5, v8", 1), one("ds_store_b16 v5, v8", 2), FaultKind::misaligned);
  sim::Options unaligned;
  unaligned.lds_unaligned_mode = true;
  CHECK(run_two_waves(one("ds_store_b128 v5, v[8:11]", 8), unaligned).distinct_faults == 0);
  CHECK(run_two_waves(one("ds_store_b128 v5, v[8:11]", 6), unaligned).distinct_faults == 1);
}

TEST_CASE("LDS bytes are undefined until stored", "[sim][strict][lds]") {
  check_pair("ds_load_b32 v4, v1\n" + wait + "v_add_nc_u32 v5, v4, v2",
             "ds_load_b32 v4, v1\n" + wait + "v_mov_b32 v5, v4", FaultKind::undefined_value);
  // One byte of the dword is missing.
  const std::string three = "ds_store_b16 v1, v2\n v_add_nc_u32 v5, 2, v1\n ds_store_b8 v5, v2\n";
  const std::string use = "ds_load_b32 v4, v1\n" + wait + "v_add_nc_u32 v6, v4, v2";
  check_pair(three + use, three + "v_add_nc_u32 v5, 3, v1\n ds_store_b8 v5, v2\n" + use,
             FaultKind::undefined_value);
}

TEST_CASE("A wave that ended no longer counts at a barrier", "[sim][strict][lds]") {
  // Wave 0 ends before the barrier at which wave 1 waits.
  const sim::RunReport r = run_two_waves("s_cmp_eq_u32 s12, 0\n s_cbranch_scc1 .Lend\n s_barrier\n.Lend:");
  CHECK(r.distinct_faults == 0);
}

TEST_CASE("Waves at different barriers", "[sim][strict][lds]") {
  check_pair(
      "s_cmp_eq_u32 s12, 0\n s_cbranch_scc1 .Lone\n s_barrier\n s_branch .Lend\n.Lone:\n s_barrier\n.Lend:",
      "s_cmp_eq_u32 s12, 0\n s_cbranch_scc1 .Lone\n s_nop 0\n.Lone:\n s_barrier",
      FaultKind::barrier_divergence);
}

TEST_CASE("A loop that does not end is stopped", "[sim][strict]") {
  sim::Options options;
  options.max_instructions_per_wave = 10000;
  const sim::RunReport r = run_two_waves(".Lx:\n s_branch .Lx", options);
  CHECK(total(r, FaultKind::watchdog) == 2);
  CHECK(run_two_waves(
            "s_mov_b32 s13, 100\n.Lx:\n s_sub_u32 s13, s13, 1\n s_cmp_lg_u32 s13, 0\n s_cbranch_scc1 .Lx",
            options)
            .distinct_faults == 0);
}

TEST_CASE("Two-address and permute forms", "[sim][lds]") {
  const auto value = [](std::string_view body, unsigned reg, unsigned lane) {
    auto b = make_bench({.body = body, .lds_bytes = 65536});
    b->probe->run();
    INFO(body << "\n" << text(b->probe->faults()));
    CHECK(b->probe->faults().empty());
    return b->probe->vgpr(reg, lane);
  };
  const std::string fill =
      "v_lshlrev_b32 v1, 2, v0\n v_add_nc_u32 v2, 0x100, v0\n v_add_nc_u32 v3, 0x200, v0\n v_lshlrev_b32 v5, "
      "3, v0\n";
  // Elements of 4 bytes: offset1 1 is the next dword.
  CHECK(value(fill + "ds_store_2addr_b32 v5, v2, v3 offset1:1\n ds_load_2addr_b32 v[6:7], v5 offset0:1 "
                     "offset1:0\n s_waitcnt lgkmcnt(0)",
              6, 9) == 0x209);
  // stride64: elements of 64 * 4 bytes.
  CHECK(value(fill + "ds_store_2addr_stride64_b32 v1, v2, v3 offset1:2\n ds_load_b32 v6, v1 offset:512\n "
                     "s_waitcnt lgkmcnt(0)",
              6, 3) == 0x203);
  // ds_bpermute pulls from lane address/4, ds_permute pushes to it.
  CHECK(value(fill + "v_xor_b32 v4, 4, v1\n ds_bpermute_b32 v6, v4, v2\n s_waitcnt lgkmcnt(0)", 6, 10) ==
        0x10B);
  CHECK(value(fill + "v_add_nc_u32 v4, 4, v1\n ds_permute_b32 v6, v4, v2\n s_waitcnt lgkmcnt(0)", 6, 10) ==
        0x109);
  // swizzle(SWAP, 1): lane ^ 1.
  CHECK(value(fill + "ds_swizzle_b32 v6, v2 offset:swizzle(SWAP,1)\n s_waitcnt lgkmcnt(0)", 6, 10) == 0x10B);
  CHECK(value(fill + "ds_swizzle_b32 v6, v2 offset:swizzle(QUAD_PERM,3,2,1,0)\n s_waitcnt lgkmcnt(0)", 6,
              4) == 0x107);
  // 16-bit loads fill one half and keep the other.
  CHECK(value(fill + "ds_store_b32 v1, v2\n v_mov_b32 v6, 0xabcd1234\n ds_load_u16_d16_hi v6, v1\n s_waitcnt "
                     "lgkmcnt(0)",
              6, 2) == 0x01021234);
  CHECK(value(fill + "v_mov_b32 v7, 0x80\n ds_store_b8 v1, v7\n ds_load_i8 v6, v1\n s_waitcnt lgkmcnt(0)", 6,
              2) == 0xFFFFFF80);
}

// hardware.md §7: b128 rows of S bytes are free of conflicts iff S = 16 * odd.
TEST_CASE("Bank conflicts follow the published rule", "[sim][lds]") {
  const auto column = [](unsigned stride, unsigned bytes) {
    std::vector<std::uint32_t> address(32);
    for (unsigned l = 0; l < 32; ++l) address[l] = l * stride;
    return sim::conflict_cycles(address, 0xFFFFFFFF, 32, bytes, 32);
  };
  for (unsigned odd = 1; odd < 16; odd += 2) CHECK(column(16 * odd, 16) == 0);
  CHECK(column(64, 16) == 4 * 3);  // 8 lanes hit 2 of 8 places: 4 clocks instead of 1, four groups
  CHECK(column(128, 16) == 4 * 7);
  CHECK(column(32, 16) == 4 * 1);
  CHECK(column(8 * 5, 8) == 0);
  CHECK(column(16, 8) == 2 * 1);
  CHECK(column(4, 4) == 0);
  CHECK(column(8, 4) == 1);
  CHECK(column(128, 4) == 31);
  CHECK(column(0, 4) == 0);  // one address: broadcast
  CHECK(column(0, 16) == 0);
  CHECK(column(2, 2) == 0);  // two lanes share each dword
}

TEST_CASE("The report counts what LDS instructions moved", "[sim][lds]") {
  const sim::RunReport r =
      run_two_waves("ds_store_b32 v1, v2\n v_lshlrev_b32 v5, 3, v0\n ds_store_b32 v5, v2\n");
  REQUIRE(r.accesses.size() == 2);
  CHECK(r.accesses[0].executed == 2);
  CHECK(r.accesses[0].bytes == 256);
  CHECK(r.accesses[0].conflict_cycles == 0);
  CHECK(r.accesses[1].conflict_cycles == 2);  // stride 8: two lanes per bank, one extra clock a wave
  CHECK(r.lds_conflict_cycles == 2);
}

}  // namespace
}  // namespace wavejit::test
