// SPDX-License-Identifier: MIT
#include "generator/ir/names.hpp"

#include <fmt/format.h>

namespace wavejit::ir {
namespace {

constexpr char class_letter(isa::RegClass cls) {
  constexpr char letters[] = {'s', 'v', 'a'};
  return letters[static_cast<unsigned>(cls)];
}

}  // namespace

std::string KernelNames::virtual_register(const isa::Operand& op) const {
  if (op.index >= kernel_.vregs.size()) return fmt::format("%{}?", op.index);
  const VirtualRegister& reg = kernel_.vregs[op.index];
  std::string text = fmt::format("{}%{}", reg.name, op.index);
  if (op.sub == 0 && op.width == reg.width) return text;
  if (op.width == 1) return text + fmt::format("[{}]", op.sub);
  return text + fmt::format("[{}:{}]", op.sub, op.sub + op.width - 1);
}

std::string KernelNames::label(std::uint32_t index) const {
  if (index >= kernel_.blocks.size()) return fmt::format(".L?{}", index);
  return ".L" + kernel_.blocks[index].label;
}

std::string instruction_text(const Kernel& kernel, const isa::Instruction& inst) {
  if (inst.op == isa::Opcode::invalid || inst.op >= isa::Opcode::count_) return "(invalid opcode)";
  const KernelNames names(kernel);
  return isa::to_text(inst, *kernel.target, &names);
}

std::string operand_text(const Kernel& kernel, const isa::Operand& op) {
  if (op.is_virtual) return KernelNames(kernel).virtual_register(op);
  const char letter = class_letter(op.cls);
  if (op.cls == isa::RegClass::sgpr && op.index == isa::sreg::count) return "scc";
  if (op.cls == isa::RegClass::sgpr && op.index == isa::sreg::vcc_lo) return "vcc";
  if (op.cls == isa::RegClass::sgpr && op.index == isa::sreg::exec_lo) return "exec";
  if (op.cls == isa::RegClass::sgpr && op.index == isa::sreg::m0) return "m0";
  if (op.width == 1) return fmt::format("{}{}", letter, op.index);
  return fmt::format("{}[{}:{}]", letter, op.index, op.index + op.width - 1);
}

}  // namespace wavejit::ir
