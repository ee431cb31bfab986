// SPDX-License-Identifier: MIT
// Which halves of which registers an instruction touches: RDNA3 ISA, VOP3 op_sel, VOP3P op_sel and
// op_sel_hi, d16 memory operations, DPP masks.
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "generator/ir/register_access.hpp"

namespace wavejit {
namespace {

using isa::Opcode;
using isa::Operand;
using isa::sgpr;
using isa::vgpr;

isa::Instruction make(Opcode op, std::initializer_list<Operand> dst, std::initializer_list<Operand> src) {
  isa::Instruction inst;
  inst.op = op;
  for (const Operand& o : dst) inst.dst[inst.dst_count++] = o;
  for (const Operand& o : src) inst.src[inst.src_count++] = o;
  return inst;
}

/// "v3.lo", "s2", "scc" …
std::string text(const ir::RegisterAccess& a) {
  if (a.reg.is_sgpr()) return a.reg.index == ir::scc_register ? "scc" : "s" + std::to_string(a.reg.index);
  const std::string halves = a.halves == ir::both_halves ? "" : a.halves == ir::low_half ? ".lo" : ".hi";
  return "v" + std::to_string(a.reg.index) + halves;
}

using Names = std::multiset<std::string>;
Names reads(const isa::Instruction& inst) {
  Names names;
  const ir::RegisterAccesses access = ir::register_accesses(inst, *target::find("gfx1151"));
  for (const ir::RegisterAccess& a : access.reads())
    if (text(a) != "s126") names.insert(text(a));  // EXEC is in all vector instructions
  return names;
}
Names writes(const isa::Instruction& inst) {
  Names names;
  const ir::RegisterAccesses access = ir::register_accesses(inst, *target::find("gfx1151"));
  for (const ir::RegisterAccess& a : access.writes()) names.insert(text(a));
  return names;
}

}  // namespace

TEST_CASE("named and implied registers", "[access]") {
  const auto add = make(Opcode::s_addc_u32, {sgpr(1)}, {sgpr(2), isa::imm(3)});
  CHECK(reads(add) == Names{"s2", "scc"});
  CHECK(writes(add) == Names{"s1", "scc"});
  const auto save = make(Opcode::s_and_saveexec_b32, {sgpr(4)}, {sgpr(5)});
  CHECK(reads(save) == Names{"s5"});
  CHECK(writes(save) == Names{"s4", "s126", "scc"});
  CHECK(reads(make(Opcode::s_cbranch_vccz, {}, {isa::label(0)})) == Names{"s106"});
  CHECK(reads(make(Opcode::s_mov_b32, {sgpr(0)}, {isa::special(isa::Special::scc)})) == Names{"scc"});
  CHECK(writes(make(Opcode::v_add_co_u32, {vgpr(0), isa::null_reg()}, {vgpr(1), vgpr(2)})) == Names{"v0"});
  const auto swap = make(Opcode::v_swap_b32, {vgpr(0)}, {vgpr(1)});
  CHECK(reads(swap) == Names{"v0", "v1"});
  CHECK(writes(swap) == Names{"v0", "v1"});
}

TEST_CASE("destinations that are read", "[access]") {
  CHECK(reads(make(Opcode::v_fmac_f32, {vgpr(0)}, {vgpr(1), vgpr(2)})) == Names{"v0", "v1", "v2"});
  CHECK(reads(make(Opcode::s_addk_i32, {sgpr(0)}, {isa::imm(1)})) == Names{"s0"});
  CHECK(reads(make(Opcode::v_writelane_b32, {vgpr(0)}, {sgpr(1), sgpr(2)})) == Names{"s1", "s2", "v0"});
  auto undefined = make(Opcode::v_writelane_b32, {vgpr(0)}, {sgpr(1), sgpr(2)});
  undefined.dst[0].undef = true;
  CHECK(reads(undefined) == Names{"s1", "s2"});
  auto dpp = make(Opcode::v_mov_b32, {vgpr(0)}, {vgpr(1)});
  dpp.mods.dpp = {isa::Dpp::Kind::dpp16, 0x111, 0, 0xF, 0xF, true, false};
  CHECK(reads(dpp) == Names{"v1"});
  dpp.mods.dpp.row_mask = 0x5;  // lanes of the other rows keep v0
  CHECK(reads(dpp) == Names{"v0", "v1"});
}

TEST_CASE("16-bit results write one half and leave the other", "[access]") {
  auto dot2 = make(Opcode::v_dot2_bf16_bf16, {vgpr(0)}, {vgpr(1), vgpr(2), vgpr(3)});
  CHECK(writes(dot2) == Names{"v0.lo"});
  CHECK(reads(dot2) == Names{"v1", "v2", "v3.lo"});
  dot2.mods.op_sel = 8 | 4;
  CHECK(writes(dot2) == Names{"v0.hi"});
  CHECK(reads(dot2) == Names{"v1", "v2", "v3.hi"});
  CHECK(writes(make(Opcode::v_cvt_f16_f32, {vgpr(0)}, {vgpr(1)})) == Names{"v0.lo"});
  CHECK(writes(make(Opcode::v_fma_mixhi_f16, {vgpr(0)}, {vgpr(1), vgpr(2), vgpr(3)})) == Names{"v0.hi"});
  CHECK(reads(make(Opcode::v_fmac_f16, {vgpr(0)}, {vgpr(1), vgpr(2)})) == Names{"v0.lo", "v1.lo", "v2.lo"});
  auto named = make(Opcode::v_mov_b16, {vgpr(0)}, {vgpr(1)});
  named.dst[0].half = isa::Half::high;
  named.src[0].half = isa::Half::high;
  CHECK(writes(named) == Names{"v0.hi"});
  CHECK(reads(named) == Names{"v1.hi"});
  CHECK(writes(make(Opcode::v_mov_b32, {vgpr(0)}, {vgpr(1)})) == Names{"v0"});
}

TEST_CASE("packed sources read the halves that op_sel and op_sel_hi choose", "[access]") {
  auto packed = make(Opcode::v_pk_mul_f16, {vgpr(0)}, {vgpr(1), vgpr(2)});
  CHECK(reads(packed) == Names{"v1", "v2"});
  packed.mods.op_sel_hi = 1;  // source 1: its low half for both results
  CHECK(reads(packed) == Names{"v1", "v2.lo"});
  packed.mods.op_sel = 2;  // … its high half for the low result, its low half for the high one
  CHECK(reads(packed) == Names{"v1", "v2"});
  packed.mods.op_sel_hi = 3;
  CHECK(reads(packed) == Names{"v1", "v2.hi"});
  auto mix = make(Opcode::v_fma_mix_f32, {vgpr(0)}, {vgpr(1), vgpr(2), vgpr(3)});
  mix.mods.op_sel_hi = 1 | 2;  // two f16 sources
  mix.mods.op_sel = 2;
  CHECK(reads(mix) == Names{"v1.lo", "v2.hi", "v3"});
  CHECK(reads(make(Opcode::v_dot2_f32_bf16, {vgpr(0)}, {vgpr(1), vgpr(2), vgpr(3)})) ==
        Names{"v1", "v2", "v3"});
}

TEST_CASE("16-bit memory operations", "[access]") {
  const Operand d = sgpr(0, 4), off = isa::imm(0);
  CHECK(writes(make(Opcode::buffer_load_d16_b16, {vgpr(0)}, {vgpr(1), d, off})) == Names{"v0.lo"});
  CHECK(writes(make(Opcode::buffer_load_d16_hi_b16, {vgpr(0)}, {vgpr(1), d, off})) == Names{"v0.hi"});
  CHECK(writes(make(Opcode::buffer_load_u16, {vgpr(0)}, {vgpr(1), d, off})) == Names{"v0"});
  CHECK(reads(make(Opcode::buffer_store_b16, {}, {vgpr(0), vgpr(1), d, off})) == Names{"s0", "v0.lo", "v1"});
  CHECK(reads(make(Opcode::buffer_store_d16_hi_b16, {}, {vgpr(0), vgpr(1), d, off})) ==
        Names{"s0", "v0.hi", "v1"});
  CHECK(reads(make(Opcode::ds_store_b16_d16_hi, {}, {vgpr(0), vgpr(1)})) == Names{"v0", "v1.hi"});
  CHECK(reads(make(Opcode::global_store_b16, {}, {vgpr(0), vgpr(1), sgpr(2, 2)})) ==
        Names{"s2", "v0", "v1.lo"});
}

TEST_CASE("a VOPD pair is one issue group", "[access]") {
  std::vector<isa::Instruction> code(3, make(Opcode::v_mov_b32, {vgpr(0)}, {vgpr(1)}));
  code[1].dual = isa::Dual::x;
  code[2].dual = isa::Dual::y;
  CHECK(ir::issue_group(code, 0) == 1);
  CHECK(ir::issue_group(code, 1) == 2);
  code[2].dual = isa::Dual::none;
  CHECK(ir::issue_group(code, 1) == 1);
}

}  // namespace wavejit
