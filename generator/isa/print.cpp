// SPDX-License-Identifier: MIT
#include <cassert>

#include "generator/isa/immediates.hpp"
#include "generator/isa/instruction.hpp"
#include "generator/isa/modifier_text.hpp"
#include "generator/isa/operand_text.hpp"

namespace wavejit::isa {
namespace {

void append_mnemonic(std::string& out, const Instruction& inst, const target::Target& target) {
  std::string_view name = spelling(inst.op, target.generation);
  if (name.empty()) name = inst.info().name;  // the assembler then says that the target lacks it
  if (inst.dual != Dual::none) {
    out += "v_dual_";
    name.remove_prefix(2);
  }
  out += name;
  if (inst.mods.sdwa.on) out += "_sdwa";
}

/// The base of a global or scratch access is spelled "off" where there is none.
bool is_absent_base(const Instruction& inst, unsigned src) {
  return inst.has(flag::flat) && src + 1 == inst.src_count &&
         inst.src[src].is_physical(RegClass::sgpr, sreg::null);
}

/// Where the scalar offset of a buffer access is a register, "null" is the one that holds 0.
bool is_zero_offset(const Instruction& inst, unsigned src, const target::Target& target) {
  return target.soffset_is_register && inst.has(flag::buffer) && src + 1 == inst.src_count &&
         inst.src[src] == imm(0);
}

bool is_named_immediate(const Instruction& inst, unsigned src) {
  if (inst.src[src].kind != Operand::Kind::imm) return false;
  const ImmediateForm form = immediate_form(inst.op);
  return form == ImmediateForm::encoded || form == ImmediateForm::encoded_signed ||
         (form == ImmediateForm::hwreg && src == 0);
}

void append_source(std::string& out, const Instruction& inst, unsigned src, const target::Target& target,
                   const OperandNames* names) {
  if (is_absent_base(inst, src)) {
    out += "off";
  } else if (is_zero_offset(inst, src, target)) {
    out += "null";
  } else if (is_named_immediate(inst, src)) {
    append_immediate(out, inst.op, inst.src[src].value, target);
  } else if (src < 2 && inst.mods.sdwa.sext[src]) {
    out += "sext(";
    append_operand(out, inst.src[src], names);
    out += ')';
  } else {
    append_operand(out, inst.src[src], names);
  }
}

/// A dual v_cndmask reads VCC without naming it.
unsigned named_sources(const Instruction& inst) {
  return inst.dual != Dual::none && inst.op == Opcode::v_cndmask_b32 ? 2U : inst.src_count;
}

/// The 16-bit moves, which the assembler takes only with their halves named.
Instruction with_halves(Instruction inst) {
  const auto name = [](Operand& op) {
    if (op.is_vgpr() && op.half == Half::whole) op.half = Half::low;
  };
  name(inst.dst[0]);
  name(inst.src[0]);
  return inst;
}

std::string print(const Instruction& inst, const target::Target& target, const OperandNames* names) {
  std::string out;
  out.reserve(64);
  append_mnemonic(out, inst, target);
  std::string_view separator = " ";
  // A buffer atomic that returns the old value puts it where its data was: one operand in the text.
  const bool dst_is_data = inst.has(flag::atomic) && inst.has(flag::buffer);
  for (unsigned i = 0; i < inst.dst_count && !dst_is_data; ++i) {
    out += separator;
    append_operand(out, inst.dst[i], names);
    separator = ", ";
  }
  for (unsigned i = 0; i < named_sources(inst); ++i) {
    out += separator;
    append_source(out, inst, i, target, names);
    separator = ", ";
  }
  append_modifiers(out, inst, target);
  return out;
}

}  // namespace

std::string to_text(const Instruction& inst, const target::Target& target, const OperandNames* names) {
  const bool is_move = inst.op == Opcode::v_mov_b16 || inst.op == Opcode::v_swap_b16;
  return is_move ? print(with_halves(inst), target, names) : print(inst, target, names);
}

std::string print_dual(const Instruction& x, const Instruction& y, const target::Target& target) {
  assert(x.dual == Dual::x && y.dual == Dual::y);
  return to_text(x, target) + " :: " + to_text(y, target);
}

}  // namespace wavejit::isa
