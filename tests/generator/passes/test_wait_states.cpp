// SPDX-License-Identifier: MIT
// The gfx9 wait-state table on the inputs that were given to
// `llc-22 -mcpu=gfx942 -run-pass=post-RA-hazard-rec`; expected: LLVM's own s_nop, except where said.
// The target is made up (the real ones have more rows; test_matrix_wait_states.cpp): gfx1151's vocabulary
// with gfx9's hazards.
#include <catch2/catch.hpp>

#include "generator/passes/passes.hpp"
#include "tests/generator/passes/late_kernel.hpp"

using namespace wavejit;
using namespace wavejit::test;

namespace {

target::Target gfx9_like() {
  target::Target target = *target::find("gfx1151");
  target.wave_size = 64;
  target.hazards = {};
  target.hazards.gfx9_wait_states = true;
  return target;
}

const target::Target gfx9 = gfx9_like();

isa::Operand agpr(unsigned index, unsigned width = 1) { return isa::phys(isa::RegClass::agpr, index, width); }

class Kernel9 : public LateKernel {
 public:
  Kernel9() : LateKernel(gfx9) {}

  void valu(unsigned to = 1) { add3(to, 0, 0); }
  void readfirstlane(unsigned s, unsigned v) { add(Opcode::v_readfirstlane_b32, {sgpr(s)}, {vgpr(v)}); }
  void cmpx() { add(Opcode::v_cmpx_lt_u32, {}, {vgpr(0), vgpr(1)}); }
  void dpp_move() { move(2, 1).mi.mods.dpp = {.kind = isa::Dpp::Kind::dpp16, .bound_ctrl = true}; }
  void exp(unsigned to, unsigned from) { add(Opcode::v_exp_f32, {vgpr(to)}, {vgpr(from)}); }
  void dot(unsigned d, unsigned a, unsigned c) {
    add(Opcode::v_dot2_f32_f16, {vgpr(d)}, {vgpr(a), vgpr(3), vgpr(c)});
  }

  /// Slots of all s_nop that resolve_hazards adds.
  unsigned slots() {
    REQUIRE(passes::resolve_hazards(kernel));
    unsigned sum = 0;
    for (const ir::Block& block : kernel.blocks)
      for (const ir::Instruction& inst : block.insts)
        if (inst.mi.op == Opcode::s_nop && !inst.comment.empty())
          sum += static_cast<unsigned>(inst.mi.src[0].value) + 1;
    return sum;
  }
};

}  // namespace

TEST_CASE("gfx9: a VALU instruction wrote an SGPR", "[wait_states]") {
  Kernel9 k;
  SECTION("mask") {
    k.add(Opcode::v_cmp_lt_u32, {sgpr(0, 2)}, {vgpr(0), vgpr(1)});
    k.add(Opcode::v_cndmask_b32, {vgpr(2)}, {vgpr(3), vgpr(4), sgpr(0, 2)});
    CHECK(k.slots() == 2);
  }
  SECTION("soffset of a vector load") {
    k.readfirstlane(0, 5);
    k.add(Opcode::buffer_load_b32, {vgpr(1)}, {vgpr(2), sgpr(4, 4), sgpr(0)}).mi.mods.offen = true;
    CHECK(k.slots() == 5);
  }
  SECTION("lane number") {
    k.readfirstlane(0, 5);
    k.add(Opcode::v_readlane_b32, {sgpr(1)}, {vgpr(2), sgpr(0)});
    CHECK(k.slots() == 4);
  }
  SECTION("data of v_writelane") {
    k.readfirstlane(0, 5);
    k.add(Opcode::v_writelane_b32, {vgpr(2)}, {sgpr(0), imm(3)});
    CHECK(k.slots() == 2);
  }
  SECTION("a scalar instruction is interlocked") {
    k.readfirstlane(0, 5);
    k.add(Opcode::s_add_u32, {sgpr(1)}, {sgpr(0), imm(1)});
    CHECK(k.slots() == 0);
  }
}

TEST_CASE("gfx9: a VALU instruction wrote a VGPR", "[wait_states]") {
  Kernel9 k;
  k.valu(1);
  SECTION("v_readfirstlane") {
    k.readfirstlane(1, 1);
    CHECK(k.slots() == 1);
  }
  SECTION("v_readlane") {
    k.add(Opcode::v_readlane_b32, {sgpr(1)}, {vgpr(1), imm(3)});
    CHECK(k.slots() == 1);
  }
  SECTION("DPP") {
    k.dpp_move();
    CHECK(k.slots() == 2);
  }
  SECTION("plain VALU is interlocked") {
    k.valu(2);
    CHECK(k.slots() == 0);
  }
}

TEST_CASE("gfx9: v_cmpx wrote EXEC", "[wait_states]") {
  Kernel9 k;
  k.cmpx();
  SECTION("DPP") {
    k.dpp_move();
    CHECK(k.slots() == 5);
  }
  SECTION("v_readfirstlane") {
    k.readfirstlane(1, 9);
    CHECK(k.slots() == 4);
  }
  SECTION("EXEC as data (ISA table; not run with llc)") {
    k.add(Opcode::v_mov_b32, {vgpr(7)}, {isa::sgpr(isa::sreg::exec_lo)});
    CHECK(k.slots() == 2);
  }
  SECTION("other VALU") {
    k.valu();
    CHECK(k.slots() == 0);
  }
}

TEST_CASE("gfx9: transcendental results", "[wait_states]") {
  Kernel9 k;
  k.exp(1, 0);
  SECTION("plain VALU") {
    k.add3(2, 1, 0);
    CHECK(k.slots() == 1);
  }
  SECTION("transcendental") {
    k.exp(2, 1);
    CHECK(k.slots() == 0);
  }
  SECTION("overwritten") {
    k.move(1, 5);
    CHECK(k.slots() == 0);
  }
  SECTION("stored") {
    k.lds_store(1);
    CHECK(k.slots() == 0);
  }
}

TEST_CASE("gfx9: dot products", "[wait_states]") {
  Kernel9 k;
  k.dot(1, 2, 1);
  SECTION("accumulated by the same (LLVM 22 adds one slot where op_sel_hi is set; the ISA asks for none)") {
    k.dot(1, 2, 1);
    CHECK(k.slots() == 0);
  }
  SECTION("multiplied by the same") {
    k.dot(9, 1, 5);
    CHECK(k.slots() == 3);
  }
  SECTION("accumulated by another") {
    k.add(Opcode::v_dot4_i32_iu8, {vgpr(9)}, {vgpr(5), vgpr(3), vgpr(1)});
    CHECK(k.slots() == 3);
  }
  SECTION("read by VALU") {
    k.move(9, 1);
    CHECK(k.slots() == 3);
  }
  SECTION("overwritten by VALU") {
    k.move(1, 7);
    CHECK(k.slots() == 3);
  }
  SECTION("stored") {
    k.lds_store(1);
    CHECK(k.slots() == 3);
  }
  SECTION("overwritten by a load") {
    k.lds_load(1);
    CHECK(k.slots() == 3);
  }
}

TEST_CASE("gfx9: data of wide stores", "[wait_states]") {
  Kernel9 k;
  SECTION("soffset constant") {
    k.store(4, 4);
    k.move(5, 9);
    CHECK(k.slots() == 2);
  }
  SECTION(
      "soffset in an SGPR (measured on MI350X, LLVM pull request 197267; LLVM 22 and the ISA have none)") {
    k.store(4, 4).mi.src[3] = sgpr(9);
    k.move(5, 9);
    CHECK(k.slots() == 1);
  }
  SECTION("soffset in an SGPR, a slot between") {
    k.store(4, 4).mi.src[3] = sgpr(9);
    k.move(30, 9);
    k.move(5, 9);
    CHECK(k.slots() == 0);
  }
  SECTION("soffset in an SGPR, overwritten by a load (the ISA has none)") {
    k.store(4, 4).mi.src[3] = sgpr(9);
    k.lds_load(5);
    CHECK(k.slots() == 0);
  }
  SECTION("in AGPRs, which v_accvgpr_write overwrites") {
    k.store(4, 4).mi.src[0] = agpr(4, 4);
    k.add(Opcode::v_accvgpr_write_b32, {agpr(5)}, {imm(0)});
    CHECK(k.slots() == 2);
  }
  SECTION("exchanged by v_swap") {
    k.store(4, 4);
    k.add(Opcode::v_swap_b32, {vgpr(9)}, {vgpr(5)});
    CHECK(k.slots() == 2);
  }
  SECTION("global, 96 bits") {
    k.add(Opcode::global_store_b96, {}, {vgpr(2), vgpr(4, 3), sgpr(0, 2)});
    k.move(6, 9);
    CHECK(k.slots() == 2);
  }
  SECTION("64 bits") {
    k.store(4, 2);
    k.move(5, 9);
    CHECK(k.slots() == 0);
  }
  SECTION("overwritten by a load (CDNA3 ISA; LLVM leaves it to the load's latency)") {
    k.store(4, 4);
    k.lds_load(5);
    CHECK(k.slots() == 1);
  }
}

TEST_CASE("gfx9: M0 and hardware registers", "[wait_states]") {
  Kernel9 k;
  SECTION("M0 to a message") {
    k.add(Opcode::s_mov_b32, {isa::m0()}, {imm(0)});
    k.add(Opcode::s_sendmsg, {}, {imm(1)});
    CHECK(k.slots() == 1);
  }
  SECTION("s_setreg then s_getreg") {
    k.add(Opcode::s_setreg_b32, {}, {imm(1), sgpr(0)});
    k.add(Opcode::s_getreg_b32, {sgpr(1)}, {imm(1)});
    CHECK(k.slots() == 2);
  }
}

TEST_CASE("gfx9: upper halves and condition flags (ISA table)", "[wait_states]") {
  Kernel9 k;
  SECTION("result in the upper half") {
    k.add(Opcode::v_add_f16, {vgpr(1)}, {vgpr(2), vgpr(3)}).mi.mods.op_sel = 4;
    k.move(4, 1);
    CHECK(k.slots() == 1);
  }
  SECTION("result in the lower half") {
    k.add(Opcode::v_add_f16, {vgpr(1)}, {vgpr(2), vgpr(3)});
    k.move(4, 1);
    CHECK(k.slots() == 0);
  }
  SECTION("vccz as a source") {
    k.add(Opcode::v_cmp_lt_u32, {isa::vcc(64)}, {vgpr(0), vgpr(1)});
    k.add(Opcode::v_mov_b32, {vgpr(2)}, {isa::special(isa::Special::vccz)});
    CHECK(k.slots() == 5);
  }
}

TEST_CASE("gfx9: what stands between counts", "[wait_states]") {
  Kernel9 k;
  k.readfirstlane(0, 5);
  SECTION("every instruction is a slot") {
    k.valu(20);
    k.add(Opcode::s_mov_b32, {sgpr(30)}, {imm(0)});
  }
  SECTION("s_nop is its number and one") { k.add(Opcode::s_nop, {}, {imm(1)}); }
  k.add(Opcode::buffer_load_b32, {vgpr(1)}, {vgpr(2), sgpr(4, 4), sgpr(0)}).mi.mods.offen = true;
  CHECK(k.slots() == 3);
}

TEST_CASE("gfx9: wait states reach across blocks by the shortest path", "[wait_states]") {
  Kernel9 k;
  k.readfirstlane(0, 5);
  k.branch_if_scc1(2);
  k.block("longer");
  for (unsigned i = 0; i < 4; ++i) k.valu(20);
  k.block("join");
  k.add(Opcode::buffer_load_b32, {vgpr(1)}, {vgpr(2), sgpr(4, 4), sgpr(0)}).mi.mods.offen = true;
  k.end();
  // The branch is one slot; over `longer` there are five.
  CHECK(k.slots() == 4);
}

TEST_CASE("targets without the table get none", "[wait_states]") {
  LateKernel k;
  k.add(Opcode::v_readfirstlane_b32, {sgpr(0)}, {vgpr(5)});
  k.add(Opcode::v_readlane_b32, {sgpr(1)}, {vgpr(2), sgpr(0)});
  REQUIRE(passes::resolve_hazards(k.kernel));
  CHECK(lines_with(k.kernel, "s_nop").empty());
}
