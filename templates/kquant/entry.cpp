// SPDX-License-Identifier: MIT
#include "templates/kquant/entry.hpp"

#include <cassert>

namespace wavejit::templates::kquant {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

Entry emit_entry(ir::Builder& b, unsigned pointers) {
  assert(pointers == 2 || pointers == 3);
  ir::Kernel& k = b.kernel();
  b.block("entry", "arguments");
  k.entry.kernarg = b.fixed(isa::RegClass::sgpr, "kernarg", 0, 2);
  k.entry.workitem_id = b.fixed(isa::RegClass::vgpr, "workitem", 0);
  if (k.target->workgroup_ids_in_ttmp) {
    k.entry.workgroup_id[0] = isa::sgpr(isa::sreg::ttmp0 + 9);
  } else {
    // gfx1100 in wave32 wants at least 16 initialised SGPRs.
    k.entry.user_sgprs = k.target->hazards.user_sgpr_init16 ? 15 : 2;
    k.entry.workgroup_id[0] = b.fixed(isa::RegClass::sgpr, "workgroup", k.entry.user_sgprs);
  }
  Entry e;
  e.workgroup = k.entry.workgroup_id[0];
  const Operand two = b.sgpr("pointers", 4);
  b.note(k.args[0].name + ", " + k.args[1].name).emit(s_load_b128, {two}, {k.entry.kernarg, imm(0)});
  e.pointers = {two.slice(0, 2), two.slice(2, 2)};
  if (pointers == 3) {
    e.pointers.push_back(b.sgpr("pointer", 2));
    b.note(k.args[2].name).emit(s_load_b64, {e.pointers[2]}, {k.entry.kernarg, imm(16)});
  }
  e.lane = b.vgpr("lane");
  b.emit(v_and_b32, {e.lane}, {imm(k.target->wave_size - 1), k.entry.workitem_id});
  return e;
}

unsigned mask_width(const ir::Builder& b) { return b.kernel().target->wave_size / 32; }

Operand no_offset(const ir::Builder& b) {
  return b.kernel().target->soffset_is_register ? isa::null_reg() : imm(0);
}

void butterfly(const ir::Builder& b, ir::Instruction& inst, unsigned distance) {
  constexpr unsigned row_xmask = 0x160;
  constexpr unsigned swap_1 = 0xB1, swap_2 = 0x4E, row_half_mirror = 0x141, row_mirror = 0x140;
  unsigned control = row_xmask + distance;
  if (b.kernel().target->generation == target::Generation::gfx9)
    control = distance == 1   ? swap_1  // quad_perm [1,0,3,2]
              : distance == 2 ? swap_2  // quad_perm [2,3,0,1]
              : distance == 4 ? row_half_mirror
                              : row_mirror;
  inst.mi.mods.dpp.kind = isa::Dpp::Kind::dpp16;
  inst.mi.mods.dpp.ctrl = static_cast<std::uint16_t>(control);
  inst.mi.mods.dpp.bound_ctrl = true;
}

void add_other_half(ir::Builder& b, const std::vector<Operand>& sums, const Operand& low,
                    const Operand& high) {
  for (const Operand& sum : sums) {
    Operand other = b.vgpr("other_half");
    other.undef = true;
    b.emit(isa::Opcode::v_permlanex16_b32, {other}, {sum, low, high});
    other.undef = false;
    b.emit(isa::Opcode::v_add_f32, {sum}, {sum, other});
  }
}

Operand vop3_constant(ir::Builder& b, std::uint32_t value) {
  if (b.kernel().target->vop3_literal || isa::is_inline_integer(static_cast<std::int32_t>(value)))
    return imm(value);
  const Operand reg = b.sgpr("constant");
  b.emit(s_mov_b32, {reg}, {imm(value)});
  return reg;
}

}  // namespace wavejit::templates::kquant
