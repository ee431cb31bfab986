// SPDX-License-Identifier: MIT
// What an instruction reads and writes without naming it: RDNA3 ISA, the pages of each opcode.
#include <catch2/catch.hpp>

#include "generator/isa/instruction.hpp"

namespace wavejit {
namespace {

using isa::Instruction;
using isa::Opcode;

Instruction make(Opcode op, std::vector<isa::Operand> dst, std::vector<isa::Operand> src) {
  Instruction inst;
  inst.op = op;
  for (const isa::Operand& o : dst) inst.dst[inst.dst_count++] = o;
  for (const isa::Operand& o : src) inst.src[inst.src_count++] = o;
  return inst;
}

TEST_CASE("implicit registers", "[isa]") {
  const auto add = implicit(make(Opcode::s_addc_u32, {isa::sgpr(0)}, {isa::sgpr(1), isa::sgpr(2)}));
  CHECK(add.reads_scc);
  CHECK(add.writes_scc);
  CHECK_FALSE(add.reads_exec);
  CHECK(implicit(make(Opcode::v_mov_b32, {isa::vgpr(0)}, {isa::vgpr(1)})).reads_exec);
  CHECK(implicit(make(Opcode::buffer_load_b32, {isa::vgpr(0)}, {})).reads_exec);
  CHECK_FALSE(implicit(make(Opcode::v_readlane_b32, {isa::sgpr(0)}, {isa::vgpr(1), isa::imm(0)})).reads_exec);
  CHECK(implicit(make(Opcode::v_cmpx_eq_u32, {}, {isa::vgpr(0), isa::vgpr(1)})).writes_exec);
  const auto save = implicit(make(Opcode::s_and_saveexec_b32, {isa::sgpr(0)}, {isa::sgpr(1)}));
  CHECK(save.reads_exec);
  CHECK(save.writes_exec);
  CHECK(save.writes_scc);
  CHECK(implicit(make(Opcode::s_cbranch_vccnz, {}, {isa::label(0)})).reads_vcc);
  CHECK_FALSE(implicit(make(Opcode::s_nop, {}, {isa::imm(0)})).reads_exec);
}

TEST_CASE("when the old destination is an input", "[isa]") {
  CHECK(reads_destination(make(Opcode::v_fmac_f32, {isa::vgpr(0)}, {isa::vgpr(1), isa::vgpr(2)})));
  CHECK_FALSE(reads_destination(make(Opcode::v_mov_b32, {isa::vgpr(0)}, {isa::vgpr(1)})));
  CHECK(reads_destination(make(Opcode::ds_load_u16_d16_hi, {isa::vgpr(0)}, {isa::vgpr(1)})));

  Instruction half = make(Opcode::v_pack_b32_f16, {isa::vgpr(0)}, {isa::vgpr(1), isa::vgpr(2)});
  half.mods.op_sel = 3;  // both sources high, destination whole
  CHECK_FALSE(reads_destination(half));
  Instruction sat = make(Opcode::v_cvt_f32_f16, {isa::vgpr(0)}, {isa::vgpr(1)});
  CHECK_FALSE(reads_destination(sat));
  sat.dst[0].half = isa::Half::high;
  CHECK(reads_destination(sat));
  Instruction packed = make(Opcode::v_pk_mul_f16, {isa::vgpr(0)}, {isa::vgpr(1), isa::vgpr(2)});
  packed.mods.op_sel = 4;  // no source, and no destination bit in the packed encoding
  CHECK_FALSE(reads_destination(packed));
  CHECK(reads_destination(
      make(Opcode::v_dot2_bf16_bf16, {isa::vgpr(0)}, {isa::vgpr(1), isa::vgpr(2), isa::imm(0)})));
}

TEST_CASE("DPP keeps the lanes that it does not write", "[isa]") {
  Instruction shift = make(Opcode::v_mov_b32, {isa::vgpr(0)}, {isa::vgpr(1)});
  shift.mods.dpp.kind = isa::Dpp::Kind::dpp16;
  shift.mods.dpp.ctrl = 0x111;
  CHECK(reads_destination(shift));
  shift.mods.dpp.bound_ctrl = true;
  CHECK_FALSE(reads_destination(shift));
  shift.mods.dpp.bank_mask = 7;
  CHECK(reads_destination(shift));
  shift.mods.dpp = {};
  shift.mods.dpp.kind = isa::Dpp::Kind::dpp8;
  CHECK_FALSE(reads_destination(shift));
}

TEST_CASE("uses and definitions leave out the null register", "[isa]") {
  const Instruction mad = make(Opcode::v_mad_u64_u32, {isa::vgpr(0, 2), isa::null_reg()},
                               {isa::vgpr(2), isa::sgpr(3), isa::vgpr(4, 2)});
  unsigned defs = 0, uses = 0;
  isa::for_each_def(mad, [&](const isa::Operand&) { ++defs; });
  isa::for_each_use(mad, [&](const isa::Operand&) { ++uses; });
  CHECK(defs == 1);
  CHECK(uses == 3);
}

}  // namespace
}  // namespace wavejit
