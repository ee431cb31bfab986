// SPDX-License-Identifier: MIT
// resolve_hazards on the inputs that were given to `llc-22 -mcpu=gfx1100 -run-pass=post-RA-hazard-rec`
// (expected: LLVM's own output), across block borders, and on random programs judged by an
// independent checker.
#include <catch2/catch.hpp>

#include "generator/passes/passes.hpp"
#include "tests/generator/passes/hazard_oracle.hpp"
#include "tests/generator/passes/random_kernel.hpp"

using namespace wavejit;
using namespace wavejit::test;

namespace {

using Lines = std::vector<std::string>;

/// Number of instructions that resolve_hazards adds, and their place: in front of the last one.
Lines added(LateKernel& k) {
  const Lines before = lines_of(k.kernel);
  REQUIRE(passes::resolve_hazards(k.kernel));
  const Lines after = lines_of(k.kernel);
  Lines result;
  for (std::size_t i = 0, j = 0; i < after.size(); ++i) {
    if (j < before.size() && after[i] == before[j])
      ++j;
    else
      result.push_back(after[i]);
  }
  return result;
}

void exp_of(LateKernel& k, unsigned to, unsigned from) { k.add(Opcode::v_exp_f32, {vgpr(to)}, {vgpr(from)}); }

/// `count` VALU (transcendental) instructions that have nothing to do with low registers.
void valus(LateKernel& k, unsigned count) {
  for (unsigned i = 0; i < count; ++i) k.add3(40 + i, 100, 101);
}
void transcendentals(LateKernel& k, unsigned count) {
  for (unsigned i = 0; i < count; ++i) exp_of(k, 60 + i, 101);
}

const Lines one_depctr{"s_waitcnt_depctr depctr_va_vdst(0)"};

}  // namespace

TEST_CASE("matrix result as the next one's A or B", "[resolve_hazards]") {
  LateKernel k;
  k.wmma(16, 0, 8);
  SECTION("directly: v_nop") {
    k.wmma(24, 16, 8);
    CHECK(added(k) == Lines{"v_nop"});
  }
  SECTION("as B, overlapping in part") {
    k.wmma(32, 0, 20);
    CHECK(added(k) == Lines{"v_nop"});
  }
  SECTION("a scalar instruction between does not help") {
    k.add(Opcode::s_mov_b32, {sgpr(0)}, {imm(0)});
    k.wmma(24, 16, 8);
    CHECK(added(k) == Lines{"v_nop"});
  }
  SECTION("any VALU instruction between does, one that reads D too") {
    k.move(50, 16);
    k.wmma(24, 16, 8);
    CHECK(added(k).empty());
  }
  SECTION("as C there is none") {
    k.wmma(16, 0, 8);
    CHECK(added(k).empty());
  }
}

TEST_CASE("matrix hazard across a loop's back edge", "[resolve_hazards]") {
  LateKernel k;
  k.add(Opcode::s_mov_b32, {sgpr(0)}, {imm(0)});
  const std::uint32_t loop = k.block("loop");
  k.wmma(24, 16, 8);
  k.wmma(16, 0, 8);
  k.branch_if_scc1(loop);
  k.block("end");
  k.end();
  REQUIRE(passes::resolve_hazards(k.kernel));
  CHECK(lines_with(k.kernel, "v_nop").size() == 1);
  CHECK(k.kernel.blocks[1].insts.front().mi.op == Opcode::v_nop);
}

TEST_CASE("transcendental result used early", "[resolve_hazards]") {
  LateKernel k("gfx1100");
  exp_of(k, 1, 0);
  SECTION("at once") {
    k.add3(2, 1, 0);
    CHECK(added(k) == one_depctr);
  }
  SECTION("5 VALU between") {
    valus(k, 5);
    k.add3(2, 1, 0);
    CHECK(added(k) == one_depctr);
  }
  SECTION("6 VALU between") {
    valus(k, 6);
    k.add3(2, 1, 0);
    CHECK(added(k).empty());
  }
  SECTION("1 transcendental between") {
    transcendentals(k, 1);
    k.add3(2, 1, 0);
    CHECK(added(k) == one_depctr);
  }
  SECTION("2 transcendentals between") {
    transcendentals(k, 2);
    k.add3(2, 1, 0);
    CHECK(added(k).empty());
  }
  SECTION("1 transcendental and 4 VALU between") {
    transcendentals(k, 1);
    valus(k, 4);
    k.add3(2, 1, 0);
    CHECK(added(k) == one_depctr);
  }
  SECTION("1 transcendental and 5 VALU between") {
    transcendentals(k, 1);
    valus(k, 5);
    k.add3(2, 1, 0);
    CHECK(added(k).empty());
  }
  SECTION("an LDS instruction drains the VALU") {
    k.lds_load(6);
    k.add3(2, 1, 0);
    CHECK(added(k).empty());
  }
  SECTION("a wait that is there already") {
    k.add(Opcode::s_waitcnt_depctr, {}, {imm(0x0F9F)});
    k.add3(2, 1, 0);
    CHECK(added(k).empty());
  }
  SECTION("a second write is no use") {
    k.add3(1, 9, 8);
    CHECK(added(k).empty());
  }
  SECTION("matrix instructions use it too") {
    k.wmma(16, 0, 8);
    CHECK(added(k) == one_depctr);
  }
}

TEST_CASE("no transcendental hazard where the table has none", "[resolve_hazards]") {
  LateKernel k("gfx1151");
  exp_of(k, 1, 0);
  k.add3(2, 1, 0);
  CHECK(added(k).empty());
}

TEST_CASE("v_permlane16 behind v_cmpx", "[resolve_hazards]") {
  LateKernel k;
  k.add(Opcode::v_cmpx_eq_u32, {}, {vgpr(0), vgpr(1)});
  const auto permlane = [&] { k.add(Opcode::v_permlane16_b32, {vgpr(1)}, {vgpr(3), sgpr(1), sgpr(0)}); };
  SECTION("directly") {
    permlane();
    CHECK(added(k) == Lines{"v_mov_b32 v3, v3"});
  }
  SECTION("v_nop between is not enough") {
    k.add(Opcode::v_nop, {}, {});
    permlane();
    CHECK(added(k) == Lines{"v_mov_b32 v3, v3"});
  }
  SECTION("a scalar instruction between is not enough") {
    k.add(Opcode::s_mov_b32, {sgpr(5)}, {imm(0)});
    permlane();
    CHECK(added(k) == Lines{"v_mov_b32 v3, v3"});
  }
  SECTION("a VALU instruction between is") {
    valus(k, 1);
    permlane();
    CHECK(added(k).empty());
  }
}

TEST_CASE("v_cmpx in one of two blocks that meet before v_permlane16", "[resolve_hazards]") {
  LateKernel k;
  k.branch_if_scc1(2);
  k.block("masks");
  k.add(Opcode::v_cmpx_eq_u32, {}, {vgpr(0), vgpr(1)});
  k.block("join");
  k.add(Opcode::v_permlanex16_b32, {vgpr(1)}, {vgpr(3), sgpr(1), sgpr(0)});
  CHECK(added(k) == Lines{"v_mov_b32 v3, v3"});
}

TEST_CASE("s_nop in front of the message that gives VGPRs back", "[resolve_hazards]") {
  LateKernel k;
  SECTION("added") {
    k.add(Opcode::s_sendmsg, {}, {imm(3)});
    k.end();
    REQUIRE(passes::resolve_hazards(k.kernel));
    CHECK(lines_of(k.kernel) ==
          Lines{"entry:", "s_nop 0", "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)", "s_endpgm"});
  }
  SECTION("there already") {
    k.add(Opcode::s_nop, {}, {imm(0)});
    k.add(Opcode::s_sendmsg, {}, {imm(3)});
    CHECK(added(k).empty());
  }
  SECTION("other messages need none") {
    k.add(Opcode::s_sendmsg, {}, {imm(1)});
    CHECK(added(k).empty());
  }
}

/// gfx12: the sequences of tests/runtime/sim/test_hazards_gfx12.cpp, where LLVM 22's pass for this hazard
/// puts an s_wait_alu and where it puts none.
TEST_CASE("SGPRs that VALU has read and that are written again", "[resolve_hazards]") {
  LateKernel k("gfx1201");
  const auto read = [&k](unsigned s) { k.add(Opcode::v_add_nc_u32, {vgpr(0)}, {sgpr(s), vgpr(1)}); };
  const auto scalar = [&k](unsigned to, unsigned from) {
    k.add(Opcode::s_add_u32, {sgpr(to)}, {sgpr(from), imm(1)});
  };
  const auto vector = [&k](unsigned to) { k.add(Opcode::v_readfirstlane_b32, {sgpr(to)}, {vgpr(5)}); };
  const Lines sa{"s_wait_alu depctr_sa_sdst(0)"}, va{"s_wait_alu depctr_va_sdst(0)"};
  SECTION("nobody had read it") {
    scalar(0, 2);
    read(0);
    CHECK(added(k).empty());
  }
  SECTION("SALU writes, VALU reads") {
    read(0);
    scalar(0, 2);
    read(0);
    CHECK(added(k) == sa);
  }
  SECTION("SALU writes, SALU reads") {
    read(0);
    scalar(0, 2);
    scalar(4, 0);
    CHECK(added(k) == sa);
  }
  SECTION("by aligned pairs") {
    read(0);
    scalar(1, 2);
    scalar(2, 3);
    read(2);
    read(1);
    CHECK(added(k) == sa);
  }
  SECTION("a scalar load between settles") {
    read(0);
    scalar(0, 2);
    k.scalar_load(8);
    read(0);
    CHECK(added(k).empty());
  }
  SECTION("a vector load does not") {
    read(0);
    scalar(0, 2);
    k.load(9);
    read(0);
    CHECK(added(k) == sa);
  }
  SECTION("VALU writes, VALU reads") {
    read(0);
    vector(0);
    read(0);
    CHECK(added(k) == va);
  }
  SECTION("VALU writes, SALU reads: it waits by itself, also for later VALU") {
    read(0);
    vector(0);
    scalar(4, 0);
    read(0);
    CHECK(added(k).empty());
  }
  SECTION("VALU writes, SALU reads, but what it reads is settled on one path only") {
    read(0);
    k.branch_if_scc1(2);
    k.block("side");
    read(8);
    k.block("join");
    vector(8);
    vector(0);
    scalar(4, 8);  // waits where s8 had been read, not on the way around
    read(0);
    CHECK(added(k) == va);
  }
  SECTION("VCC has a wait of its own") {
    const Operand vcc = sgpr(isa::sreg::vcc_lo);
    k.add(Opcode::v_cndmask_b32, {vgpr(0)}, {vgpr(1), vgpr(2), vcc});
    k.add(Opcode::v_cmp_eq_u32, {vcc}, {vgpr(1), vgpr(2)});
    k.add(Opcode::v_cndmask_b32, {vgpr(0)}, {vgpr(1), vgpr(2), vcc});
    CHECK(added(k) == Lines{"s_wait_alu depctr_va_vcc(0)"});
  }
  SECTION("across a loop's back edge") {
    k.add(Opcode::s_mov_b32, {sgpr(0)}, {imm(0)});
    const std::uint32_t loop = k.block("loop");
    read(0);
    scalar(0, 2);
    k.branch_if_scc1(loop);
    k.block("end");
    k.end();
    CHECK(added(k) == sa);
  }
}

TEST_CASE("random programs have no hazard on any path afterwards", "[resolve_hazards]") {
  unsigned hazards_before = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    LateKernel k =
        random_kernel(*target::find(seed % 3 == 0 ? "gfx1201" : "gfx1100"),
                      {.blocks = 1 + seed % 4, .instructions = 8, .alu_only = seed % 2 == 0}, seed);
    hazards_before += hazard_on_some_path(k.kernel, 2) ? 1 : 0;
    REQUIRE(passes::resolve_hazards(k.kernel));
    INFO("seed " << seed);
    CHECK(hazard_on_some_path(k.kernel, 2).value_or("").empty());
  }
  CHECK(hazards_before > 100);
}

TEST_CASE("random straight lines: every fix is needed", "[resolve_hazards]") {
  unsigned fixes = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    LateKernel k = random_kernel(*target::find(seed % 3 == 0 ? "gfx1201" : "gfx1100"),
                                 {.instructions = 30, .alu_only = true}, 5000 + seed);
    REQUIRE(passes::resolve_hazards(k.kernel));
    std::vector<ir::Instruction>& insts = k.kernel.blocks[0].insts;
    for (std::size_t i = 0; i < insts.size(); ++i) {
      if (insts[i].comment.empty()) continue;
      ++fixes;
      ir::Kernel without = k.kernel;
      without.blocks[0].insts.erase(without.blocks[0].insts.begin() + static_cast<std::ptrdiff_t>(i));
      INFO("seed " << seed << " at " << i);
      CHECK(hazard_on_some_path(without, 1));
    }
  }
  CHECK(fixes > 100);
}

// The soft clauses of XNACK: LLVM's own output for each of these on gfx942 (-run-pass=post-RA-hazard-rec),
// except where said.
namespace {

class ReplayKernel : public LateKernel {
 public:
  ReplayKernel() : LateKernel("gfx942") {}
  /// global_load of `width` dwords to v[to..] from the address in v[at:at+1].
  void global_load(unsigned to, unsigned at, unsigned width = 1) {
    add(width == 1 ? Opcode::global_load_b32 : Opcode::global_load_b128, {vgpr(to, width)},
        {vgpr(at, 2), isa::null_reg()});
  }
  void global_store(unsigned data, unsigned at) {
    add(Opcode::global_store_b32, {}, {vgpr(at, 2), vgpr(data), isa::null_reg()});
  }
  void scalar(unsigned to, unsigned base) { add(Opcode::s_load_b32, {sgpr(to)}, {sgpr(base, 2), imm(0)}); }
};

const Lines clause_break{"s_nop 0"};

}  // namespace

TEST_CASE("a clause of memory instructions may be issued again", "[resolve_hazards][xnack]") {
  ReplayKernel k;
  SECTION("a load overwrites an address of the load before it") {
    k.global_load(5, 0);
    k.global_load(0, 2);
    CHECK(added(k) == clause_break);
  }
  SECTION("… of one further back, through a longer destination") {
    k.global_load(20, 6);
    k.global_load(24, 2);
    k.global_load(4, 8, 4);
    CHECK(added(k) == clause_break);
  }
  SECTION("its own address, with another behind it") {
    k.global_load(0, 0);
    k.global_load(6, 2);
    CHECK(added(k) == clause_break);
  }
  SECTION("its own address, alone") {
    k.global_load(0, 0);
    CHECK(added(k).empty());
  }
  SECTION("something between breaks the clause") {
    k.global_load(5, 0);
    k.add(Opcode::s_mov_b32, {sgpr(0)}, {imm(0)});
    k.global_load(0, 2);
    CHECK(added(k).empty());
  }
  SECTION("the data of a store: LLVM judges only clauses that have written a register") {
    k.global_store(4, 0);
    k.global_load(4, 2);
    CHECK(added(k).empty());
  }
  SECTION("a store behind a load starts another clause") {
    k.global_load(4, 2);
    k.global_store(9, 0);
    CHECK(added(k) == clause_break);
  }
  SECTION("two loads to one register") {
    k.global_load(4, 2);
    k.global_load(4, 0);
    CHECK(added(k).empty());
  }
  SECTION("the address in AGPRs' data does not matter") {
    k.add(Opcode::global_load_b32, {isa::phys(isa::RegClass::agpr, 0, 1)}, {vgpr(0, 2), isa::null_reg()});
    k.global_load(6, 2);
    CHECK(added(k).empty());
  }
  SECTION("scalar loads") {
    k.scalar(4, 0);
    k.scalar(0, 2);
    CHECK(added(k) == clause_break);
  }
  SECTION("scalar and vector loads are no clause together") {
    k.add(Opcode::global_load_b32, {vgpr(5)}, {vgpr(0), sgpr(0, 2)});
    k.scalar(0, 2);
    CHECK(added(k).empty());
  }
  SECTION("LDS has no clauses") {
    k.add(Opcode::ds_load_b32, {vgpr(5)}, {vgpr(0)});
    k.add(Opcode::ds_load_b32, {vgpr(0)}, {vgpr(2)});
    CHECK(added(k).empty());
  }
  SECTION("a clause goes on in the block that is fallen into") {
    k.global_load(5, 0);
    k.block("next");
    k.global_load(0, 2);
    CHECK(added(k) == clause_break);
  }
}

TEST_CASE("targets without XNACK have no soft clauses", "[resolve_hazards][xnack]") {
  LateKernel k("gfx1151");
  k.add(Opcode::global_load_b32, {vgpr(5)}, {vgpr(0, 2), isa::null_reg()});
  k.add(Opcode::global_load_b32, {vgpr(0)}, {vgpr(2, 2), isa::null_reg()});
  CHECK(added(k).empty());
}
