// SPDX-License-Identifier: MIT
// Loads in flight and LDS at barriers. Every expectation is from hardware.md §4: which counter an
// operation is counted on, and in which order it retires.
#include <catch2/catch.hpp>

#include "tests/runtime/check/check_kernel.hpp"

using namespace wavejit;
using check::Kind;
using test::bare_report;
using test::kinds;
using test::nothing;
using test::only;
using test::report;

namespace {

/// Two global loads whose address is v[0:1], written first.
const std::string two_loads =
    "v_mov_b32 v1, 0\n"
    "global_load_b32 v2, v[0:1], off\n"
    "global_load_b32 v3, v[0:1], off\n";

}  // namespace

TEST_CASE("vector loads retire in order: vmcnt(1) covers the older of two", "[check][waits]") {
  CHECK(kinds(report(two_loads + "s_waitcnt vmcnt(1)\nv_mov_b32 v4, v2\n")) == nothing);
  CHECK(kinds(report(two_loads + "s_waitcnt vmcnt(2)\nv_mov_b32 v4, v2\n")) == only(Kind::read_in_flight));
  CHECK(kinds(report(two_loads + "s_waitcnt vmcnt(1)\nv_mov_b32 v4, v3\n")) == only(Kind::read_in_flight));
  CHECK(kinds(report(two_loads + "s_waitcnt vmcnt(0)\nv_mov_b32 v4, v3\n")) == nothing);
}

TEST_CASE("a finding names register, load, counter and the wait that would do", "[check][waits]") {
  const check::Report r = report(two_loads + "v_mov_b32 v4, v2\n");
  REQUIRE(r.findings.size() == 1);
  const check::Finding& f = r.findings[0];
  CHECK(f.instruction == 3);
  CHECK(f.text == "v_mov_b32_e32 v4, v2");
  CHECK(f.message.find("v2 is read") != std::string::npos);
  CHECK(f.message.find("global_load_b32 v2") != std::string::npos);
  CHECK(f.message.find("vmcnt(1) or less") != std::string::npos);
  CHECK(check::to_string(f).find("error read-in-flight at 0x") == 0);
}

TEST_CASE("stores count on vscnt of gfx11 and on vmcnt of gfx9", "[check][waits]") {
  const std::string load = "v_mov_b32 v1, 0\nglobal_load_dword v2, v[0:1], off\n";
  const std::string store = "global_store_dword v[0:1], v1, off\n";
  const target::Target& gfx942 = test::table("gfx942");
  const std::string use = "s_waitcnt vmcnt(1)\nv_mov_b32 v4, v2\n";
  CHECK(kinds(bare_report(load + "s_nop 0\n" + store + use, gfx942)) == nothing);
  CHECK(kinds(bare_report(load + use, gfx942)) == only(Kind::read_in_flight));
  const std::string gfx11 =
      "v_mov_b32 v1, 0\nglobal_load_b32 v2, v[0:1], off\nglobal_store_b32 v[0:1], v1, off\n" + use;
  CHECK(kinds(report(gfx11)) == only(Kind::read_in_flight));
}

TEST_CASE("an atomic that returns counts as a load, one that does not as a store", "[check][waits]") {
  const std::string load = "v_mov_b32 v1, 0\nglobal_load_b32 v2, v[0:1], off\n";
  const std::string use = "s_waitcnt vmcnt(1)\nv_mov_b32 v4, v2\n";
  CHECK(kinds(report(load + "global_atomic_add_u32 v3, v[0:1], v1, off glc\n" + use)) == nothing);
  CHECK(kinds(report(load + "global_atomic_add_u32 v[0:1], v1, off\n" + use)) == only(Kind::read_in_flight));
}

TEST_CASE("scalar loads retire in any order: only lgkmcnt(0) covers them", "[check][waits]") {
  const std::string loads = "s_load_b32 s4, s[0:1], 0x0\ns_load_b32 s5, s[0:1], 0x4\n";
  CHECK(kinds(report(loads + "s_waitcnt lgkmcnt(1)\ns_mov_b32 s6, s4\n")) == only(Kind::read_in_flight));
  CHECK(kinds(report(loads + "s_waitcnt lgkmcnt(0)\ns_mov_b32 s6, s4\n")) == nothing);
  const check::Report r = report(loads + "s_mov_b32 s6, s4\n");
  REQUIRE(r.findings.size() == 1);
  CHECK(r.findings[0].message.find("lgkmcnt(0) must") != std::string::npos);
}

TEST_CASE("scalar loads on the same counter do not age LDS loads", "[check][waits]") {
  const std::string lds = "ds_load_b32 v2, v0\n";
  const std::string scalar = "s_load_b32 s4, s[0:1], 0x0\n";
  // lgkmcnt(1) may mean that the scalar load is done and the LDS load is not.
  CHECK(kinds(report(lds + scalar + "s_waitcnt lgkmcnt(1)\nv_mov_b32 v4, v2\n")) ==
        only(Kind::read_in_flight));
  CHECK(kinds(report(lds + "ds_load_b32 v3, v0\n" + scalar + "s_waitcnt lgkmcnt(1)\nv_mov_b32 v4, v2\n")) ==
        nothing);
  CHECK(kinds(report(lds + scalar + "s_waitcnt lgkmcnt(0)\nv_mov_b32 v4, v2\n")) == nothing);
}

TEST_CASE("gfx12 counts LDS and scalar loads apart", "[check][waits]") {
  const target::Target& gfx12 = test::table("gfx1200");
  const std::string loads =
      "ds_load_b32 v2, v0\ns_load_b32 s4, s[0:1], 0x0\nglobal_load_b32 v3, v0, s[0:1]\n";
  CHECK(kinds(bare_report(loads + "s_wait_dscnt 0x0\nv_mov_b32 v4, v2\n", gfx12)) == nothing);
  CHECK(kinds(bare_report(loads + "s_wait_kmcnt 0x0\nv_mov_b32 v4, v2\n", gfx12)) ==
        only(Kind::read_in_flight));
  CHECK(kinds(bare_report(loads + "s_wait_dscnt 0x0\ns_mov_b32 s5, s4\n", gfx12)) ==
        only(Kind::read_in_flight));
  CHECK(kinds(bare_report(loads + "s_wait_kmcnt 0x0\ns_mov_b32 s5, s4\n", gfx12)) == nothing);
  CHECK(kinds(bare_report(loads + "s_wait_loadcnt 0x0\nv_mov_b32 v4, v3\n", gfx12)) == nothing);
  CHECK(kinds(bare_report(loads + "s_wait_loadcnt_dscnt 0x0\nv_add_nc_u32 v4, v3, v2\n", gfx12)) == nothing);
  CHECK(kinds(bare_report(loads + "s_wait_loadcnt_dscnt 0x1\nv_add_nc_u32 v4, v3, v2\n", gfx12)) ==
        only(Kind::read_in_flight));
}

TEST_CASE("a flat load is done when both counters are at 0", "[check][waits]") {
  const target::Target& gfx942 = test::table("gfx942");
  const std::string load = "v_mov_b32 v1, 0\nflat_load_dword v2, v[0:1]\n";
  CHECK(kinds(bare_report(load + "s_waitcnt vmcnt(0) lgkmcnt(0)\nv_mov_b32 v4, v2\n", gfx942)) == nothing);
  CHECK(kinds(bare_report(load + "s_waitcnt vmcnt(0)\nv_mov_b32 v4, v2\n", gfx942)) ==
        only(Kind::read_in_flight));
  CHECK(kinds(bare_report(load + "s_waitcnt lgkmcnt(0)\nv_mov_b32 v4, v2\n", gfx942)) ==
        only(Kind::read_in_flight));
}

TEST_CASE("a load to LDS counts on vmcnt of gfx9", "[check][waits]") {
  const target::Target& gfx942 = test::table("gfx942");
  const std::string load = "s_mov_b32 m0, 0\nglobal_load_dword v2, v0, s[0:1]\n";
  const std::string to_lds = "global_load_lds_dword v0, s[0:1]\n";
  const std::string use = "s_waitcnt vmcnt(1)\nv_mov_b32 v4, v2\n";
  CHECK(kinds(bare_report(load + to_lds + use, gfx942)) == nothing);
  CHECK(kinds(bare_report(load + use, gfx942)) == only(Kind::read_in_flight));
}

TEST_CASE("a destination may not be overwritten before its load is done", "[check][waits]") {
  CHECK(kinds(report(two_loads + "v_mov_b32 v2, 0\n")) == only(Kind::write_in_flight));
  CHECK(kinds(report(two_loads + "s_waitcnt vmcnt(1)\nv_mov_b32 v2, 0\n")) == nothing);
  CHECK(kinds(report("s_load_b32 s4, s[0:1], 0x0\ns_mov_b32 s4, 0\n")) == only(Kind::write_in_flight));
  CHECK(kinds(report("s_load_b32 s4, s[0:1], 0x0\ns_load_b32 s4, s[0:1], 0x4\n")) ==
        only(Kind::write_in_flight));
  // A second vector load lands behind the first; one from LDS need not.
  CHECK(kinds(report(two_loads + "global_load_b32 v2, v[0:1], off\n")) == nothing);
  CHECK(kinds(report(two_loads + "ds_load_b32 v2, v0\n")) == only(Kind::write_in_flight));
}

TEST_CASE("a tied destination is a use", "[check][waits]") {
  CHECK(kinds(report(two_loads + "v_fmac_f32 v2, v0, v1\n")).front() == check::name(Kind::read_in_flight));
  CHECK(kinds(report(two_loads + "s_waitcnt vmcnt(0)\nv_fmac_f32 v2, v0, v1\n")) == nothing);
  // 16-bit loads into both halves of a register land one behind the other.
  CHECK(kinds(report("global_load_d16_b16 v2, v0, s[0:1]\nglobal_load_d16_hi_b16 v2, v0, s[0:1]\n"
                     "s_waitcnt vmcnt(0)\nv_mov_b32 v3, v2\n")) == nothing);
}

TEST_CASE("both halves of a pair are looked at", "[check][waits]") {
  const std::string pair = "v_dual_mov_b32 v4, v0 :: v_dual_mov_b32 v5, v3\n";
  CHECK(kinds(report(two_loads + pair)) == only(Kind::read_in_flight));
  CHECK(kinds(report(two_loads + "s_waitcnt vmcnt(0)\n" + pair)) == nothing);
}

TEST_CASE("the weakest path counts: a wait on one side of a branch is none", "[check][waits]") {
  const auto body = [](std::string_view taken, std::string_view after) {
    return "v_mov_b32 v1, 0\nglobal_load_b32 v2, v[0:1], off\ns_cmp_eq_u32 s2, 0\ns_cbranch_scc1 .Lskip\n" +
           std::string(taken) + ".Lskip:\n" + std::string(after) + "v_mov_b32 v4, v2\n";
  };
  const check::Report r = report(body("s_waitcnt vmcnt(0)\n", ""));
  CHECK(kinds(r) == only(Kind::read_in_flight));
  REQUIRE(r.findings.size() == 1);
  CHECK(r.findings[0].path.starts_with("from 0x"));
  CHECK(kinds(report(body("", "s_waitcnt vmcnt(0)\n"))) == nothing);
  // One path issues another load behind it and one does not: the fewer count.
  CHECK(kinds(report(body("global_load_b32 v3, v[0:1], off\n", "s_waitcnt vmcnt(1)\n"))) ==
        only(Kind::read_in_flight));
}

TEST_CASE("a loop carries its loads over the back edge", "[check][waits]") {
  const auto loop = [](std::string_view wait) {
    return "v_mov_b32 v1, 0\nv_mov_b32 v2, 0\ns_mov_b32 s4, 4\n.Lagain:\nv_add_nc_u32 v3, v2, v0\n"
           "global_load_b32 v2, v[0:1], off\ns_sub_i32 s4, s4, 1\n" +
           std::string(wait) + "s_cmp_lg_i32 s4, 0\ns_cbranch_scc1 .Lagain\n";
  };
  const check::Report r = report(loop(""));
  CHECK(kinds(r) == only(Kind::read_in_flight));
  REQUIRE(r.findings.size() == 1);
  CHECK(r.findings[0].instruction == 3);
  CHECK_FALSE(r.findings[0].path.empty());
  CHECK(kinds(report(loop("s_waitcnt vmcnt(0)\n"))) == nothing);
}

TEST_CASE("LDS stores are waited for before a barrier with loads behind it", "[check][waits]") {
  const std::string store = "ds_store_b32 v0, v0\n";
  const std::string barrier = "s_barrier\n";
  const std::string load = "ds_load_b32 v2, v0\n";
  const std::string wait = "s_waitcnt lgkmcnt(0)\n";
  CHECK(kinds(report(store + barrier + load)) == only(Kind::lds_store_at_barrier));
  CHECK(kinds(report(store + wait + barrier + load)) == nothing);
  // Nothing behind the barrier looks at LDS before the next one, where the store is done.
  CHECK(kinds(report(store + barrier + wait + barrier + load)) == nothing);
  CHECK(kinds(report(store + barrier + barrier + load)) == only(Kind::lds_store_at_barrier));
  // A workgroup of one wave has nobody to wait for.
  CHECK(kinds(report(store + barrier + load, {.workgroup_size = 32})) == nothing);
}

TEST_CASE("LDS operations in flight at a barrier with stores behind it are doubtful", "[check][waits]") {
  const std::string load = "ds_load_b32 v2, v0\n";
  const std::string store = "ds_store_b32 v0, v0\n";
  const check::Report r = report(load + "s_barrier\n" + store + "s_waitcnt lgkmcnt(0)\n");
  CHECK(kinds(r) == only(Kind::lds_order_at_barrier));
  CHECK(r.ok());
  CHECK(kinds(report(load + "s_waitcnt lgkmcnt(0)\ns_barrier\n" + store)) == nothing);
  CHECK(kinds(report(store + "s_barrier\n" + store)) == only(Kind::lds_order_at_barrier));
}

TEST_CASE("gfx12 signals its barrier when the stores are done", "[check][waits]") {
  const target::Target& gfx12 = test::table("gfx1200");
  const std::string barrier = "s_barrier_signal -1\ns_barrier_wait 0xffff\n";
  CHECK(kinds(bare_report("ds_store_b32 v0, v0\n" + barrier + "ds_load_b32 v2, v0\n", gfx12)) ==
        only(Kind::lds_store_at_barrier));
  CHECK(kinds(bare_report("ds_store_b32 v0, v0\ns_wait_dscnt 0x0\n" + barrier + "ds_load_b32 v2, v0\n",
                          gfx12)) == nothing);
}
