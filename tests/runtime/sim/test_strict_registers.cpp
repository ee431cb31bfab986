// SPDX-License-Identifier: MIT
// Each rule about registers, broken by a tiny program and kept by its twin. The rules are those of the
// ISA manuals as hardware.md §4 and §5 collect them.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/runtime/sim/asm_kernel.hpp"

namespace wavejit::test {
namespace {

using sim::FaultKind;

const std::vector<std::uint32_t> zeros(64, 0);

void with_buffer(Bench& b) {
  set_descriptor(*b.probe, 4, upload(b.memory, zeros), 256);
  b.probe->set_sgpr(8, 0);
}

void check_pair(std::string_view broken, std::string_view right, FaultKind kind, const Setup& setup = {}) {
  INFO("broken: " << broken);
  const auto found = faults_of({.body = broken}, setup);
  INFO(text(found));
  CHECK(found.size() == 1);
  CHECK(count(found, kind) == 1);
  INFO("right: " << right);
  const auto none = faults_of({.body = right}, setup);
  INFO(text(none));
  CHECK(none.empty());
}

TEST_CASE("An undefined VGPR may be moved but not used", "[sim][strict]") {
  check_pair("v_add_nc_u32 v1, v2, v0", "v_mov_b32 v2, 1\n v_add_nc_u32 v1, v2, v0",
             FaultKind::undefined_value);
  check_pair("v_mov_b32 v1, v2\n v_mov_b32 v3, v1\n v_add_nc_u32 v1, v3, v0",
             "v_mov_b32 v1, v2\n v_mov_b32 v3, v1", FaultKind::undefined_value);
  // A store's data and a store's address.
  check_pair("buffer_store_b32 v2, v0, s[4:7], 0 offen", "buffer_store_b32 v0, v0, s[4:7], 0 offen",
             FaultKind::undefined_value, [](Bench& b) {
               with_buffer(b);
               for (unsigned l = 0; l < 32; ++l) b.probe->set_vgpr(0, l, 4 * l);
             });
  check_pair("buffer_load_b32 v1, v2, s[4:7], 0 offen",
             "v_mov_b32 v2, 0\n buffer_load_b32 v1, v2, s[4:7], 0 offen", FaultKind::undefined_value,
             with_buffer);
  // A compare, a readfirstlane.
  check_pair("v_cmp_eq_u32 vcc_lo, v2, v0", "v_cmp_eq_u32 vcc_lo, v0, v0", FaultKind::undefined_value);
  check_pair("v_readfirstlane_b32 s9, v2", "v_readfirstlane_b32 s9, v0", FaultKind::undefined_value);
}

TEST_CASE("Undefinedness is kept per lane", "[sim][strict]") {
  // v1 is written in lanes 0..7 only; then used by 8 lanes, then by 9.
  const std::string_view write = "s_mov_b32 exec_lo, 0xff\n v_mov_b32 v1, 1\n";
  const auto eight = faults_of({.body = std::string(write) + "v_add_nc_u32 v2, v1, v1"});
  CHECK(eight.empty());
  const auto nine =
      faults_of({.body = std::string(write) + "s_mov_b32 exec_lo, 0x1ff\n v_add_nc_u32 v2, v1, v1"});
  REQUIRE(nine.size() == 1);
  CHECK(nine[0].lanes == 0x100);
}

TEST_CASE("Undefinedness is kept per half", "[sim][strict]") {
  check_pair("v_mov_b16 v1.l, 1\n v_add_f16 v2.l, v1.h, v1.l",
             "v_mov_b16 v1.l, 1\n v_add_f16 v2.l, v1.l, v1.l", FaultKind::undefined_value);
  check_pair("v_mov_b16 v1.l, 1\n v_add_nc_u32 v2, v1, v0",
             "v_mov_b16 v1.l, 1\n v_mov_b16 v1.h, 1\n v_add_nc_u32 v2, v1, v0", FaultKind::undefined_value);
  // v_dot2_bf16_bf16 writes one half and keeps the other.
  check_pair(
      "v_mov_b32 v1, 0\n v_dot2_bf16_bf16 v2, v1, v1, v1\n v_add_nc_u32 v3, v2, v1",
      "v_mov_b32 v1, 0\n v_dot2_bf16_bf16 v2, v1, v1, v1\n v_dot2_bf16_bf16 v2, v1, v1, v1 op_sel:[0,0,0,1]\n"
      "v_add_nc_u32 v3, v2, v1",
      FaultKind::undefined_value);
}

TEST_CASE("Bit operations pass on exactly the bits that are undefined", "[sim][strict]") {
  // The mask removes the undefined half; without it the half survives.
  check_pair("v_mov_b16 v1.l, 1\n v_and_b32 v2, 0xfff0ffff, v1\n v_add_nc_u32 v3, v2, v0",
             "v_mov_b16 v1.l, 1\n v_and_b32 v2, 0xffff, v1\n v_add_nc_u32 v3, v2, v0",
             FaultKind::undefined_value);
  check_pair("v_mov_b16 v1.l, 1\n v_lshrrev_b32 v2, 16, v1\n v_add_nc_u32 v3, v2, v0",
             "v_mov_b16 v1.l, 1\n v_lshlrev_b32 v2, 16, v1\n v_add_nc_u32 v3, v2, v0",
             FaultKind::undefined_value);
  // v_perm: bytes 0..3 of the selector choose from the second source.
  check_pair("v_mov_b16 v1.l, 1\n v_perm_b32 v2, v0, v1, 0x03000504\n v_add_nc_u32 v3, v2, v0",
             "v_mov_b16 v1.l, 1\n v_perm_b32 v2, v0, v1, 0x01000504\n v_add_nc_u32 v3, v2, v0",
             FaultKind::undefined_value);
  // x ^ x of one undefined register is 0 for every value it may hold; of two it is not.
  check_pair("v_xor_b32 v1, v2, v3\n v_add_nc_u32 v4, v1, v0",
             "v_xor_b32 v1, v2, v2\n v_add_nc_u32 v4, v1, v0", FaultKind::undefined_value);
  // A select takes the definedness of what it selects.
  check_pair("s_mov_b32 vcc_lo, 0\n v_cndmask_b32 v1, v2, v0, vcc_lo\n v_add_nc_u32 v3, v1, v0",
             "s_mov_b32 vcc_lo, -1\n v_cndmask_b32 v1, v2, v0, vcc_lo\n v_add_nc_u32 v3, v1, v0",
             FaultKind::undefined_value);
}

TEST_CASE("A 64-bit multiply-add with half an addend is good for its low dword only", "[sim][strict]") {
  check_pair("v_mov_b32 v2, 0\n v_mad_u64_u32 v[4:5], null, v0, v0, v[2:3]\n v_add_nc_u32 v6, v5, v0",
             "v_mov_b32 v2, 0\n v_mad_u64_u32 v[4:5], null, v0, v0, v[2:3]\n v_add_nc_u32 v6, v4, v0",
             FaultKind::undefined_value);
}

TEST_CASE("Undefined scalar state", "[sim][strict]") {
  check_pair("s_add_u32 s9, s10, 1", "s_mov_b32 s10, 1\n s_add_u32 s9, s10, 1", FaultKind::undefined_value);
  check_pair("s_mov_b32 s9, s10\n v_add_nc_u32 v1, s9, v0",
             "s_mov_b32 s9, s10\n s_mov_b32 s9, 0\n v_add_nc_u32 v1, s9, v0", FaultKind::undefined_value);
  check_pair("s_cbranch_scc0 .L0\n.L0:", "s_cmp_eq_u32 s2, 0\n s_cbranch_scc0 .L0\n.L0:",
             FaultKind::undefined_value);
  check_pair("s_cbranch_vccz .L0\n.L0:", "s_mov_b32 vcc_lo, 0\n s_cbranch_vccz .L0\n.L0:",
             FaultKind::undefined_value);
  check_pair("s_cselect_b32 s9, 1, 2", "s_cmp_eq_u32 s2, 0\n s_cselect_b32 s9, 1, 2",
             FaultKind::undefined_value);
  check_pair("v_cndmask_b32 v1, v0, v0, vcc_lo", "s_mov_b32 vcc_lo, 5\n v_cndmask_b32 v1, v0, v0, vcc_lo",
             FaultKind::undefined_value);
  check_pair("s_mov_b32 m0, s9\n s_add_u32 s10, m0, 1", "s_mov_b32 m0, 3\n s_add_u32 s10, m0, 1",
             FaultKind::undefined_value);
}

TEST_CASE("A register beyond the descriptor's allocation", "[sim][strict]") {
  const auto found = faults_of({.body = "v_mov_b32 v24, 0", .vgprs = 24});
  CHECK(found.size() == 1);
  CHECK(count(found, FaultKind::register_range) == 1);
  CHECK(faults_of({.body = "v_mov_b32 v23, 0", .vgprs = 24}).empty());
}

TEST_CASE("VGPRs after they were given back", "[sim][strict]") {
  check_pair("s_nop 0\n s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\n v_mov_b32 v1, v0",
             "s_nop 0\n s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)", FaultKind::after_dealloc);
  check_pair("s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)", "s_nop 0\n s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)",
             FaultKind::hazard);
}

TEST_CASE("A load's destination is unusable until a wait covers it", "[sim][strict]") {
  const std::string two =
      "v_mov_b32 v1, 0\n buffer_load_b32 v2, v1, s[4:7], 0 offen\n buffer_load_b32 v3, v1, s[4:7], 0 offen\n";
  const auto check = [&](const std::string& broken, const std::string& right) {
    check_pair(two + broken, two + right, FaultKind::in_flight, with_buffer);
  };
  check("v_add_nc_u32 v4, v2, v1", "s_waitcnt vmcnt(1)\n v_add_nc_u32 v4, v2, v1");
  check("s_waitcnt vmcnt(1)\n v_add_nc_u32 v4, v3, v1", "s_waitcnt vmcnt(0)\n v_add_nc_u32 v4, v3, v1");
  check("s_waitcnt lgkmcnt(0)\n v_add_nc_u32 v4, v2, v1",
        "s_waitcnt vmcnt(0) lgkmcnt(0)\n v_add_nc_u32 v4, v2, v1");
  // Overwriting the destination, even only moving it.
  check("v_mov_b32 v3, 0", "s_waitcnt vmcnt(0)\n v_mov_b32 v3, 0");
  check("v_mov_b32 v5, v3", "s_waitcnt vmcnt(0)\n v_mov_b32 v5, v3");
  // The address register is free at once.
  CHECK(faults_of({.body = two + "v_mov_b32 v1, 7"}, with_buffer).empty());
}

TEST_CASE("Stores count apart from loads", "[sim][strict]") {
  const std::string mixed =
      "v_mov_b32 v1, 0\n buffer_load_b32 v2, v1, s[4:7], 0 offen\n buffer_store_b32 v1, v1, s[4:7], 0 "
      "offen\n";
  check_pair(mixed + "s_waitcnt_vscnt null, 0\n v_add_nc_u32 v4, v2, v1",
             mixed + "s_waitcnt vmcnt(0)\n v_add_nc_u32 v4, v2, v1", FaultKind::in_flight, with_buffer);
  check_pair(mixed + "s_waitcnt vmcnt(1)\n v_add_nc_u32 v4, v2, v1",
             mixed + "s_waitcnt vmcnt(0)\n v_add_nc_u32 v4, v2, v1", FaultKind::in_flight, with_buffer);
}

TEST_CASE("LDS returns in order; scalar loads do not", "[sim][strict]") {
  const auto with_pointer = [](Bench& b) { set_pair(*b.probe, 10, upload(b.memory, zeros)); };
  const auto check = [&](const std::string& broken, const std::string& right) {
    const auto found = faults_of({.body = broken, .lds_bytes = 256}, with_pointer);
    INFO(broken << "\n" << text(found));
    CHECK(count(found, FaultKind::in_flight) == 1);
    const auto none = faults_of({.body = right, .lds_bytes = 256}, with_pointer);
    INFO(right << "\n" << text(none));
    CHECK(none.empty());
  };
  const std::string lds =
      "v_mov_b32 v1, 0\n ds_store_b64 v1, v[0:1]\n ds_load_b32 v2, v1\n ds_load_b32 v3, v1 offset:4\n";
  check(lds + "s_waitcnt lgkmcnt(2)\n v_add_nc_u32 v4, v2, v1",
        lds + "s_waitcnt lgkmcnt(1)\n v_add_nc_u32 v4, v2, v1");
  const std::string scalar = "s_load_b32 s12, s[10:11], 0x0\n s_load_b32 s13, s[10:11], 0x4\n";
  check(scalar + "s_waitcnt lgkmcnt(1)\n s_add_u32 s14, s12, 1",
        scalar + "s_waitcnt lgkmcnt(0)\n s_add_u32 s14, s12, 1");
  // Both at once: only a wait for 0 promises anything, of the LDS load too.
  const std::string both =
      "v_mov_b32 v1, 0\n ds_store_b32 v1, v1\n ds_load_b32 v2, v1\n s_load_b32 s12, s[10:11], 0x0\n";
  check(both + "s_waitcnt lgkmcnt(1)\n v_add_nc_u32 v4, v2, v1",
        both + "s_waitcnt lgkmcnt(0)\n v_add_nc_u32 v4, v2, v1");
  check(both + "s_mov_b32 s12, 0", both + "s_waitcnt lgkmcnt(0)\n s_mov_b32 s12, 0");
}

TEST_CASE("A check that is off reports nothing", "[sim][strict]") {
  sim::Options options;
  options.checks = options.checks.without(FaultKind::undefined_value);
  CHECK(faults_of({.body = "v_add_nc_u32 v1, v2, v0"}, {}, options).empty());
  options.checks = sim::Checks::none();
  CHECK(faults_of({.body = "v_add_nc_u32 v70, v2, v0\n s_add_u32 s9, s10, 1", .vgprs = 24}, {}, options)
            .empty());
}

TEST_CASE("A report names the instruction, its address and the lanes", "[sim][strict]") {
  const auto found = faults_of({.body = "s_nop 0\n v_add_nc_u32 v1, v2, v0"});
  REQUIRE(found.size() == 1);
  CHECK(found[0].instruction.find("v_add_nc_u32_e32 v1, v2, v0") != std::string::npos);
  CHECK(found[0].index == 1);
  CHECK(found[0].lanes == 0xFFFFFFFF);
  const std::string line = sim::to_string(found[0]);
  for (const char* part : {"undefined_value", "v_add_nc_u32_e32 v1, v2, v0", "wave 0", "0xffffffff", "v2"}) {
    INFO(part);
    CHECK(line.find(part) != std::string::npos);
  }
}

TEST_CASE("Every fault kind has a name that finds it", "[sim][strict]") {
  for (std::size_t i = 0; i < sim::fault_kinds; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    CHECK(sim::find_fault(sim::name(kind)) == kind);
  }
  CHECK_FALSE(sim::find_fault("nonsense").has_value());
}

TEST_CASE("a full counter proves its oldest operation done", "[sim][strict]") {
  // lgkmcnt has 4 bits on gfx9, 6 on gfx11; vmcnt 6 on both (hardware.md §4.1).
  const auto in_flight = [](std::string_view target, std::string_view load, std::string_view behind,
                            unsigned n) {
    std::string body = "v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v5, 0\n";
    body += fmt::format("{}\n", load);
    for (unsigned i = 0; i < n; ++i) body += fmt::format("{}\n", behind);
    body += "v_mov_b32 v3, v2\n";
    return count(faults_of({.body = body, .target = target, .lds_bytes = 4096}), sim::FaultKind::in_flight);
  };
  CHECK(in_flight("gfx942", "ds_read_b32 v2, v1", "ds_write_b32 v1, v5 offset:2048", 14) == 1);
  CHECK(in_flight("gfx942", "ds_read_b32 v2, v1", "ds_write_b32 v1, v5 offset:2048", 15) == 0);
  CHECK(in_flight("gfx1151", "ds_load_b32 v2, v1", "ds_store_b32 v1, v5 offset:2048", 62) == 1);
  CHECK(in_flight("gfx1151", "ds_load_b32 v2, v1", "ds_store_b32 v1, v5 offset:2048", 63) == 0);
}

}  // namespace
}  // namespace wavejit::test
