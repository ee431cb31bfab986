// SPDX-License-Identifier: MIT
// Hints on the inputs that were given to `llc-22 -mcpu=gfx1151 -run-pass=amdgpu-insert-delay-alu`;
// expected: LLVM's own output, except where said.
#include <catch2/catch.hpp>

#include "generator/passes/passes.hpp"
#include "tests/generator/passes/random_kernel.hpp"

using namespace wavejit;
using namespace wavejit::test;

namespace {

using Lines = std::vector<std::string>;

/// Position in the block (hints counted) and text of each hint.
Lines hints_of(LateKernel& k) {
  REQUIRE(passes::insert_delay_alu(k.kernel));
  Lines result;
  for (const ir::Block& block : k.kernel.blocks)
    for (std::size_t i = 0; i < block.insts.size(); ++i)
      if (block.insts[i].mi.op == Opcode::s_delay_alu)
        result.push_back(std::to_string(i) + " " +
                         isa::to_text(block.insts[i].mi, *k.kernel.target).substr(12));
  return result;
}

void exp_of(LateKernel& k, unsigned to, unsigned from) { k.add(Opcode::v_exp_f32, {vgpr(to)}, {vgpr(from)}); }
void valu(LateKernel& k, unsigned to, unsigned a = 100) { k.add3(to, a, 101); }
void valus(LateKernel& k, unsigned count) {
  for (unsigned i = 0; i < count; ++i) valu(k, 40 + i);
}
void salu(LateKernel& k, unsigned to, unsigned a) {
  k.add(Opcode::s_add_u32, {sgpr(to)}, {sgpr(a), sgpr(90)});
}
void salus(LateKernel& k, unsigned count) {
  for (unsigned i = 0; i < count; ++i) salu(k, 60 + i, 80);
}

}  // namespace

TEST_CASE("VALU results", "[insert_delay_alu]") {
  LateKernel k;
  SECTION("two hints in one instruction") {
    valu(k, 1);
    valu(k, 2, 1);
    valu(k, 3);
    valu(k, 4);
    k.add3(5, 2, 3);
    CHECK(hints_of(k) == Lines{"1 instid0(VALU_DEP_1) | instskip(SKIP_2) | instid1(VALU_DEP_2)"});
  }
  SECTION("four apart is the farthest") {
    valu(k, 1);
    valu(k, 12);
    valus(k, 2);
    valu(k, 5, 1);
    valu(k, 6, 12);
    CHECK(hints_of(k) == Lines{"4 instid0(VALU_DEP_4) | instskip(NEXT) | instid1(VALU_DEP_4)"});
  }
  SECTION("five apart is done") {
    valu(k, 1);
    valus(k, 4);
    valu(k, 5, 1);
    CHECK(hints_of(k).empty());
  }
  SECTION("scalar instructions between take time too") {
    valu(k, 1);
    salus(k, 4);
    valu(k, 2, 1);
    CHECK(hints_of(k).empty());
  }
  SECTION("the nearest of two") {
    valu(k, 1);
    valu(k, 2);
    k.add3(3, 1, 2);
    CHECK(hints_of(k) == Lines{"2 instid0(VALU_DEP_1)"});
  }
  SECTION("the latest write counts") {
    valu(k, 1);
    valu(k, 1);
    valu(k, 2, 1);
    CHECK(hints_of(k) == Lines{"2 instid0(VALU_DEP_1)"});
  }
  SECTION("an LDS instruction has waited for all") {
    valu(k, 1);
    k.lds_load(6);
    valu(k, 2, 1);
    CHECK(hints_of(k).empty());
  }
  SECTION("what one instruction has waited for is ready for the next") {
    valu(k, 1);
    valu(k, 2, 1);
    valu(k, 3, 1);
    CHECK(hints_of(k) == Lines{"1 instid0(VALU_DEP_1)"});
  }
  SECTION("but an older result is not") {
    valu(k, 1);
    valu(k, 5);
    valu(k, 2, 5);
    valu(k, 3, 1);
    CHECK(hints_of(k) == Lines{"2 instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_3)"});
  }
  SECTION("a mask in SGPRs") {
    k.add(Opcode::v_cmp_lt_u32, {sgpr(0)}, {vgpr(0), vgpr(1)});
    k.add(Opcode::v_cndmask_b32, {vgpr(2)}, {vgpr(3), vgpr(4), sgpr(0)});
    CHECK(hints_of(k) == Lines{"1 instid0(VALU_DEP_1)"});
  }
  SECTION("a scalar instruction waits for the VALU by itself") {
    valu(k, 1);
    k.add(Opcode::v_readfirstlane_b32, {sgpr(0)}, {vgpr(1)});
    salu(k, 1, 0);
    k.add(Opcode::v_mov_b32, {vgpr(5)}, {sgpr(0)});
    CHECK(hints_of(k) == Lines{"1 instid0(VALU_DEP_1)"});
  }
}

TEST_CASE("matrix results, which LLVM hints too", "[insert_delay_alu]") {
  LateKernel k;
  SECTION("chains on two accumulators") {
    k.wmma(16, 0, 8);
    k.wmma(24, 0, 8);
    k.wmma(16, 0, 8);
    k.wmma(24, 0, 8);
    CHECK(hints_of(k) == Lines{"2 instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)"});
  }
  SECTION("out of reach with five accumulators") {
    for (const unsigned d : {16U, 24U, 32U, 40U, 48U, 16U}) k.wmma(d, 0, 8);
    CHECK(hints_of(k).empty());
  }
  SECTION("operands from the VALU") {
    valu(k, 0);
    k.wmma(16, 0, 8);
    CHECK(hints_of(k) == Lines{"1 instid0(VALU_DEP_1)"});
  }
}

TEST_CASE("transcendental results", "[insert_delay_alu]") {
  LateKernel k;
  SECTION("behind one VALU instruction") {
    exp_of(k, 1, 0);
    valu(k, 2);
    valu(k, 5, 1);
    CHECK(hints_of(k) == Lines{"2 instid0(TRANS32_DEP_1)"});
  }
  SECTION("three in flight") {
    exp_of(k, 1, 0);
    exp_of(k, 2, 0);
    exp_of(k, 3, 0);
    valu(k, 5, 1);
    valu(k, 6, 2);
    CHECK(hints_of(k) == Lines{"3 instid0(TRANS32_DEP_3) | instskip(NEXT) | instid1(TRANS32_DEP_2)"});
  }
  SECTION("8 VALU later it is still there, 9 later not") {
    exp_of(k, 1, 0);
    valus(k, 8);
    valu(k, 5, 1);
    CHECK(hints_of(k) == Lines{"9 instid0(TRANS32_DEP_1)"});
    LateKernel later;
    exp_of(later, 1, 0);
    valus(later, 9);
    valu(later, 5, 1);
    CHECK(hints_of(later).empty());
  }
  SECTION("with a younger VALU result") {
    exp_of(k, 1, 0);
    valu(k, 2);
    k.add3(3, 1, 2);
    CHECK(hints_of(k) == Lines{"2 instid0(TRANS32_DEP_1) | instid1(VALU_DEP_1)"});
  }
  SECTION("an older VALU result is ready with it") {
    valu(k, 2);
    exp_of(k, 1, 0);
    k.add3(3, 1, 2);
    CHECK(hints_of(k) == Lines{"2 instid0(TRANS32_DEP_1)"});
  }
}

TEST_CASE("scalar results", "[insert_delay_alu]") {
  LateKernel k;
  SECTION("into VALU and into scalar instructions") {
    salu(k, 0, 1);
    k.add(Opcode::v_add_nc_u32, {vgpr(1)}, {sgpr(0), vgpr(0)});
    salu(k, 4, 1);
    salu(k, 5, 4);
    salu(k, 6, 5);
    CHECK(hints_of(k) == Lines{"1 instid0(SALU_CYCLE_1) | instskip(SKIP_1) | instid1(SALU_CYCLE_1)",
                               "5 instid0(SALU_CYCLE_1)"});
  }
  SECTION("one instruction between is enough") {
    salu(k, 0, 1);
    salu(k, 4, 1);
    salu(k, 7, 0);
    CHECK(hints_of(k).empty());
  }
  SECTION("with a VALU result") {
    valu(k, 2);
    k.add(Opcode::s_mov_b32, {sgpr(0)}, {imm(0)});
    k.add(Opcode::v_add_nc_u32, {vgpr(3)}, {sgpr(0), vgpr(2)});
    CHECK(hints_of(k) == Lines{"2 instid0(VALU_DEP_1) | instid1(SALU_CYCLE_1)"});
  }
  SECTION("SCC is not hinted (as LLVM)") {
    salu(k, 0, 1);
    k.add(Opcode::s_addc_u32, {sgpr(4)}, {sgpr(1), sgpr(2)});
    CHECK(hints_of(k).empty());
  }
  SECTION("EXEC is not hinted") {
    k.add(Opcode::s_mov_b32, {isa::exec(32)}, {imm(-1)});
    valu(k, 2);
    CHECK(hints_of(k).empty());
  }
}

TEST_CASE("skips count every instruction between", "[insert_delay_alu]") {
  LateKernel k;
  valu(k, 1);
  valu(k, 2, 1);
  k.add(Opcode::s_waitcnt, {}, {imm(0xFC07)});
  salu(k, 4, 1);
  k.add(Opcode::s_nop, {}, {imm(0)});
  valu(k, 3, 2);
  valu(k, 4, 3);
  CHECK(hints_of(k) ==
        Lines{"1 instid0(VALU_DEP_1) | instskip(SKIP_3) | instid1(VALU_DEP_1)", "7 instid0(VALU_DEP_1)"});
}

TEST_CASE("the encoding reaches four VALU back, however long results take", "[insert_delay_alu]") {
  target::Target target = *target::find("gfx1151");
  target.timing.valu_dependent = 9;
  for (const unsigned between : {3U, 4U}) {
    LateKernel k(target);
    valu(k, 1);
    valus(k, between);
    valu(k, 2, 1);
    CAPTURE(between);
    CHECK(hints_of(k) == (between == 3 ? Lines{"4 instid0(VALU_DEP_4)"} : Lines{}));
  }
}

TEST_CASE("a hint reaches five instructions on", "[insert_delay_alu]") {
  for (const unsigned between : {3U, 4U}) {
    LateKernel k;
    valu(k, 1);
    valu(k, 2, 1);
    valus(k, between);
    valu(k, 10);
    valu(k, 11, 10);
    CAPTURE(between);
    if (between == 3)
      CHECK(hints_of(k) == Lines{"1 instid0(VALU_DEP_1) | instskip(SKIP_4) | instid1(VALU_DEP_1)"});
    else
      CHECK(hints_of(k) == Lines{"1 instid0(VALU_DEP_1)", "8 instid0(VALU_DEP_1)"});
  }
}

TEST_CASE("results pass into the next block by fall-through only", "[insert_delay_alu]") {
  // LLVM follows the branch as well; a taken branch takes longer than a VALU result.
  LateKernel k;
  valu(k, 1);
  const std::uint32_t loop = k.block("loop");
  valu(k, 2, 1);
  valu(k, 1);
  k.branch_if_scc1(loop);
  k.block("end");
  valu(k, 3, 1);
  k.end();
  CHECK(hints_of(k) == Lines{"0 instid0(VALU_DEP_1)"});
}

TEST_CASE("a VOPD pair takes its hint in front and counts as one", "[insert_delay_alu]") {
  LateKernel k;
  valu(k, 1);
  k.move(20, 30).mi.dual = isa::Dual::x;
  k.move(21, 1).mi.dual = isa::Dual::y;
  valu(k, 2, 20);
  REQUIRE(passes::insert_delay_alu(k.kernel));
  const auto& insts = k.kernel.blocks[0].insts;
  REQUIRE(insts.size() == 5);
  CHECK(insts[1].mi.op == Opcode::s_delay_alu);
  CHECK(insts[1].mi.src[0].value == (1 | 1 << 4 | 1 << 7));  // VALU_DEP_1, NEXT, VALU_DEP_1
}

TEST_CASE("targets without s_delay_alu get none", "[insert_delay_alu]") {
  target::Target target = *target::find("gfx1151");
  target.has_delay_alu = false;
  LateKernel k(target);
  valu(k, 1);
  valu(k, 2, 1);
  CHECK(hints_of(k).empty());
}

TEST_CASE("hints change nothing else and never part a clause or a pair", "[insert_delay_alu]") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    LateKernel k = random_kernel(*target::find("gfx1151"), {.blocks = 3, .instructions = 40}, seed);
    REQUIRE(passes::form_clauses(k.kernel));
    const ir::Kernel before = k.kernel;
    REQUIRE(passes::insert_delay_alu(k.kernel));
    INFO("seed " << seed);
    for (std::size_t b = 0; b < before.blocks.size(); ++b) {
      std::vector<ir::Instruction> rest = k.kernel.blocks[b].insts;
      std::size_t clause = 0;
      for (const ir::Instruction& inst : rest) {
        CHECK_FALSE((clause > 0 && inst.mi.op == Opcode::s_delay_alu));
        if (clause > 0) --clause;
        if (inst.mi.op == Opcode::s_clause) clause = static_cast<std::size_t>(inst.mi.src[0].value) + 1;
      }
      std::erase_if(rest, [](const ir::Instruction& i) { return i.mi.op == Opcode::s_delay_alu; });
      REQUIRE(rest.size() == before.blocks[b].insts.size());
      for (std::size_t i = 0; i < rest.size(); ++i) CHECK(rest[i].mi == before.blocks[b].insts[i].mi);
    }
  }
}
