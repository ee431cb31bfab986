// SPDX-License-Identifier: MIT
// Placement on small pieces (expected text reviewed by hand against hardware.md §4.2 and, where
// said, against what `llc-22 -run-pass=si-insert-waitcnts` gives for the same MIR).
#include <catch2/catch.hpp>

#include "generator/passes/passes.hpp"
#include "tests/generator/passes/late_kernel.hpp"

using namespace wavejit;
using namespace wavejit::test;

namespace {

using Lines = std::vector<std::string>;

Lines waits_of(LateKernel& k) {
  REQUIRE(passes::insert_waits(k.kernel));
  return lines_with(k.kernel, "s_waitcnt");
}

Lines split_waits_of(LateKernel& k) {
  REQUIRE(passes::insert_waits(k.kernel));
  return lines_with(k.kernel, "s_wait_");
}

/// The line in front of which the only wait stands.
std::string waited_for(const LateKernel& k) {
  const Lines lines = lines_of(k.kernel);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i)
    if (lines[i].starts_with("s_waitcnt")) return lines[i + 1];
  return {};
}

}  // namespace

TEST_CASE("a vector load is waited for by the count of younger ones", "[insert_waits]") {
  LateKernel k;
  k.load(0, 4);
  k.load(4, 4);
  k.load(8);
  k.move(20, 3);
  k.move(21, 7);
  k.move(22, 4);
  k.end();
  CHECK(waits_of(k) == Lines{"s_waitcnt vmcnt(2)", "s_waitcnt vmcnt(1)"});
}

TEST_CASE("nothing is waited for without a use, and not at s_endpgm", "[insert_waits]") {
  LateKernel k;
  k.load(0);
  k.lds_load(1);
  k.scalar_load(4);
  k.store(9);
  k.move(20, 21);
  k.end();
  CHECK(waits_of(k).empty());
}

TEST_CASE("LDS returns in order, scalar loads do not", "[insert_waits]") {
  LateKernel k;
  SECTION("LDS alone counts") {
    k.lds_load(0);
    k.lds_load(1);
    k.move(20, 0);
    CHECK(waits_of(k) == Lines{"s_waitcnt lgkmcnt(1)"});
  }
  SECTION("a scalar load in flight makes every count but 0 useless (as LLVM)") {
    k.scalar_load(4);
    k.lds_load(0);
    k.lds_load(1);
    k.move(20, 0);
    CHECK(waits_of(k) == Lines{"s_waitcnt lgkmcnt(0)"});
  }
  SECTION("younger scalar loads too") {
    k.lds_load(0);
    k.scalar_load(4);
    k.move(20, 0);
    CHECK(waits_of(k) == Lines{"s_waitcnt lgkmcnt(0)"});
  }
  SECTION("one of two scalar loads") {
    k.scalar_load(4);
    k.scalar_load(8);
    k.add(Opcode::s_add_u32, {sgpr(20)}, {sgpr(4), imm(1)});
    CHECK(waits_of(k) == Lines{"s_waitcnt lgkmcnt(0)"});
  }
}

TEST_CASE("one s_waitcnt carries both counters", "[insert_waits]") {
  LateKernel k;
  k.load(0);
  k.lds_load(1);
  k.load(2);
  k.add3(20, 0, 1);
  CHECK(waits_of(k) == Lines{"s_waitcnt vmcnt(1) lgkmcnt(0)"});
  CHECK(waited_for(k).starts_with("v_add_nc_u32"));
}

TEST_CASE("a second writer of a register in flight", "[insert_waits]") {
  LateKernel k;
  SECTION("VALU over a load waits") {
    k.load(0);
    k.move(0, 20);
    CHECK(waits_of(k) == Lines{"s_waitcnt vmcnt(0)"});
  }
  SECTION("vector load over vector load lands in order (as LLVM on gfx11)") {
    k.load(0);
    k.load(0);
    CHECK(waits_of(k).empty());
  }
  SECTION("the halves of a register by two 16-bit loads (as LLVM on gfx11)") {
    k.add(Opcode::buffer_load_d16_b16, {vgpr(0)}, {vgpr(9), sgpr(96, 4), imm(0)}).mi.mods.offen = true;
    k.add(Opcode::buffer_load_d16_hi_b16, {vgpr(0)}, {vgpr(9), sgpr(96, 4), imm(0)}).mi.mods.offen = true;
    CHECK(waits_of(k).empty());
  }
  SECTION("LDS load over LDS load waits (as LLVM)") {
    k.lds_load(0);
    k.lds_load(0);
    CHECK(waits_of(k) == Lines{"s_waitcnt lgkmcnt(0)"});
  }
  SECTION("LDS load over vector load waits for the vector load only") {
    k.lds_load(1);
    k.load(0);
    k.lds_load(0);
    CHECK(waits_of(k) == Lines{"s_waitcnt vmcnt(0)"});
  }
  SECTION("where loads do not write in order, the second waits") {
    target::Target target = *target::find("gfx1151");
    target.waits.vmem_writes_in_order = false;
    LateKernel other(target);
    other.load(0);
    other.load(0);
    CHECK(waits_of(other) == Lines{"s_waitcnt vmcnt(0)"});
  }
}

TEST_CASE("sources of stores are free at once, addresses and data must have arrived", "[insert_waits]") {
  LateKernel k;
  k.store(0, 4);
  k.move(0, 20);
  k.load(5);
  k.store(5);
  CHECK(waits_of(k) == Lines{"s_waitcnt vmcnt(0)"});
  CHECK(waited_for(k).starts_with("buffer_store_b32"));
}

TEST_CASE("a barrier waits for LDS accesses only", "[insert_waits]") {
  LateKernel k;
  SECTION("stores to LDS") {
    k.load(0);
    k.lds_store(4);
    k.barrier();
    CHECK(waits_of(k) == Lines{"s_waitcnt lgkmcnt(0)"});
  }
  SECTION("loads from LDS that have not returned") {
    k.lds_load(0);
    k.barrier();
    CHECK(waits_of(k) == Lines{"s_waitcnt lgkmcnt(0)"});
  }
  SECTION("loads that were waited for are complete") {
    k.lds_load(0);
    k.move(20, 0);
    k.barrier();
    CHECK(waits_of(k) == Lines{"s_waitcnt lgkmcnt(0)"});
    CHECK(waited_for(k).starts_with("v_mov_b32"));
  }
  SECTION("a lane permutation behind the store does not touch LDS memory") {
    k.lds_store(4);
    k.add(Opcode::ds_bpermute_b32, {vgpr(0)}, {vgpr(9), vgpr(10)});
    k.barrier();
    CHECK(waits_of(k) == Lines{"s_waitcnt lgkmcnt(1)"});
  }
  SECTION("nothing in LDS, nothing to wait for") {
    k.load(0);
    k.store(4);
    k.barrier();
    CHECK(waits_of(k).empty());
  }
}

TEST_CASE("global memory that the workgroup shares is complete at a barrier", "[insert_waits]") {
  LateKernel k;
  k.kernel.args = {{"output", ir::ArgKind::buffer, 0, 8, ir::Access::write},
                   {"workspace", ir::ArgKind::buffer, 8, 8, ir::Access::read_write}};
  SECTION("read_write argument: store and load, younger private store may stay") {
    k.store(0).mem.object = 1;
    k.store(1).mem.object = 0;
    k.load(2).mem.object = 1;
    k.barrier();
    CHECK(waits_of(k) == Lines{"s_waitcnt vmcnt(0)", "s_waitcnt_vscnt null, 1"});
  }
  SECTION("write-only argument") {
    k.store(1).mem.object = 0;
    k.barrier();
    CHECK(waits_of(k).empty());
  }
  SECTION("on request, every store") {
    k.store(1).mem.object = 0;
    k.barrier();
    REQUIRE(passes::insert_waits(k.kernel, {.publish_global = true}));
    CHECK(lines_with(k.kernel, "s_waitcnt") == Lines{"s_waitcnt_vscnt null, 0"});
  }
}

TEST_CASE("waits that are there already count", "[insert_waits]") {
  LateKernel k;
  isa::WaitCounts counts;
  SECTION("enough") {
    counts.vmcnt = 0;
    k.load(0);
    k.add(Opcode::s_waitcnt, {}, {imm(isa::encode_waitcnt(counts, *k.kernel.target))});
    k.move(20, 0);
    CHECK(waits_of(k) == Lines{"s_waitcnt vmcnt(0)"});
  }
  SECTION("too weak: made stricter, its other fields kept") {
    counts.vmcnt = 1;
    counts.expcnt = 2;
    k.load(0);
    k.lds_load(1);
    k.add(Opcode::s_waitcnt, {}, {imm(isa::encode_waitcnt(counts, *k.kernel.target))});
    k.add3(20, 0, 1);
    CHECK(waits_of(k) == Lines{"s_waitcnt vmcnt(0) expcnt(2) lgkmcnt(0)"});
  }
}

TEST_CASE("a software-pipelined loop keeps the next iteration's loads in flight", "[insert_waits]") {
  // Two register sets, each of two loads: the loop consumes one while the other travels.
  LateKernel k;
  k.load(0, 4);
  k.load(4, 4);
  k.load(8, 4);
  k.load(12, 4);
  const std::uint32_t loop = k.block("loop");
  for (const unsigned set : {0U, 8U}) {
    k.add3(20, set, set);
    k.add3(21, set + 4, set + 4);
    k.load(set, 4);
    k.load(set + 4, 4);
  }
  k.branch_if_scc1(loop);
  k.block("tail");
  for (const unsigned v : {0U, 4U, 8U, 12U}) k.add3(22, v, v);
  k.end();
  REQUIRE(passes::insert_waits(k.kernel));
  CHECK(lines_of(k.kernel) == Lines{
                                  "entry:",
                                  "buffer_load_b128 v[0:3], v250, s[96:99], 0 offen",
                                  "buffer_load_b128 v[4:7], v250, s[96:99], 0 offen",
                                  "buffer_load_b128 v[8:11], v250, s[96:99], 0 offen",
                                  "buffer_load_b128 v[12:15], v250, s[96:99], 0 offen",
                                  "loop:",
                                  "s_waitcnt vmcnt(3)",
                                  "v_add_nc_u32 v20, v0, v0",
                                  "s_waitcnt vmcnt(2)",
                                  "v_add_nc_u32 v21, v4, v4",
                                  "buffer_load_b128 v[0:3], v250, s[96:99], 0 offen",
                                  "buffer_load_b128 v[4:7], v250, s[96:99], 0 offen",
                                  "s_waitcnt vmcnt(3)",
                                  "v_add_nc_u32 v20, v8, v8",
                                  "s_waitcnt vmcnt(2)",
                                  "v_add_nc_u32 v21, v12, v12",
                                  "buffer_load_b128 v[8:11], v250, s[96:99], 0 offen",
                                  "buffer_load_b128 v[12:15], v250, s[96:99], 0 offen",
                                  "s_cbranch_scc1 loop",
                                  "tail:",
                                  "s_waitcnt vmcnt(3)",
                                  "v_add_nc_u32 v22, v0, v0",
                                  "s_waitcnt vmcnt(2)",
                                  "v_add_nc_u32 v22, v4, v4",
                                  "s_waitcnt vmcnt(1)",
                                  "v_add_nc_u32 v22, v8, v8",
                                  "s_waitcnt vmcnt(0)",
                                  "v_add_nc_u32 v22, v12, v12",
                                  "s_endpgm",
                              });
}

TEST_CASE("a load from before a loop that the loop has waited for is not waited for again",
          "[insert_waits]") {
  // LLVM 22 keeps a vmcnt(2) in front of the use in `tail`; no path needs it: whichever way the
  // loop is left, its second wait has retired v9.
  LateKernel k;
  k.load(4);
  k.load(5);
  k.load(9);
  const std::uint32_t loop = k.block("loop");
  k.move(6, 4);
  k.load(4);
  k.move(7, 5);
  k.load(5);
  k.branch_if_scc1(loop);
  k.block("tail");
  k.move(8, 9);
  k.end();
  CHECK(waits_of(k) == Lines{"s_waitcnt vmcnt(1)", "s_waitcnt vmcnt(1)"});
}

TEST_CASE("joins take the stricter path", "[insert_waits]") {
  LateKernel k;
  k.load(0);
  k.branch_if_scc1(2);
  k.block("more");
  k.load(1);
  k.load(2);
  k.block("join");
  k.move(20, 0);
  k.end();
  CHECK(waits_of(k) == Lines{"s_waitcnt vmcnt(0)"});
}

TEST_CASE("a VOPD pair waits in front of its first half", "[insert_waits]") {
  LateKernel k;
  k.load(0);
  k.load(1);
  ir::Instruction& x = k.add(Opcode::v_mov_b32, {vgpr(20)}, {vgpr(0)});
  x.mi.dual = isa::Dual::x;
  ir::Instruction& y = k.add(Opcode::v_mov_b32, {vgpr(21)}, {vgpr(1)});
  y.mi.dual = isa::Dual::y;
  k.end();
  REQUIRE(passes::insert_waits(k.kernel));
  const auto& insts = k.kernel.blocks[0].insts;
  REQUIRE(insts.size() == 6);
  CHECK(insts[2].mi.op == Opcode::s_waitcnt);
  CHECK(isa::decode_waitcnt(static_cast<std::uint16_t>(insts[2].mi.src[0].value), *k.kernel.target).vmcnt ==
        0);
  CHECK(insts[3].mi.dual == isa::Dual::x);
}

TEST_CASE("more loads in flight than a counter can tell", "[insert_waits]") {
  LateKernel k;
  k.load(0);
  for (unsigned i = 0; i < 70; ++i) k.load(1 + i);
  k.move(100, 0);
  k.end();
  // vmcnt(63) would be no wait at all.
  CHECK(waits_of(k) == Lines{"s_waitcnt vmcnt(62)"});
}

TEST_CASE("where stores count as loads do, they are counted in order", "[insert_waits]") {
  target::Target target = *target::find("gfx1151");
  target.waits.vscnt = 0;
  LateKernel k(target);
  k.load(0);
  k.store(4);
  k.store(5);
  k.move(20, 0);
  k.end();
  CHECK(waits_of(k) == Lines{"s_waitcnt vmcnt(2)"});
}

TEST_CASE("gfx12: each counter has a wait of its own, LDS shares one with loads or stores",
          "[insert_waits]") {
  LateKernel k("gfx1201");
  SECTION("a load") {
    k.load(0);
    k.load(1);
    k.move(20, 0);
    k.end();
    CHECK(split_waits_of(k) == Lines{"s_wait_loadcnt 1"});
  }
  SECTION("a load and LDS for one instruction") {
    k.load(0);
    k.lds_load(1);
    k.lds_load(2);
    k.add3(20, 0, 1);
    k.end();
    CHECK(split_waits_of(k) == Lines{"s_wait_loadcnt_dscnt 1"});  // loadcnt 0 in [13:8], dscnt 1
  }
  SECTION("scalar loads count apart from LDS") {
    k.lds_load(1);
    k.scalar_load(4);
    k.lds_load(2);
    k.move(20, 1);
    k.add(Opcode::v_mov_b32, {vgpr(21)}, {sgpr(4)});
    k.end();
    CHECK(split_waits_of(k) == Lines{"s_wait_dscnt 1", "s_wait_kmcnt 0"});
  }
  SECTION("the signal of a barrier waits for LDS, its other half for nothing") {
    k.lds_store(1);
    k.add(Opcode::s_barrier_signal, {}, {imm(-1)});
    k.lds_store(2);
    k.add(Opcode::s_barrier_wait, {}, {imm(-1)});
    k.end();
    CHECK(split_waits_of(k) == Lines{"s_wait_dscnt 0"});
  }
  SECTION("shared stores before a barrier") {
    k.kernel.args = {{"workspace", ir::ArgKind::buffer, 0, 8, ir::Access::read_write}};
    k.store(0).mem.object = 0;
    k.lds_store(1);
    k.barrier();
    k.end();
    CHECK(split_waits_of(k) == Lines{"s_wait_storecnt_dscnt 0"});
  }
}
