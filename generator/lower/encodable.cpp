// SPDX-License-Identifier: MIT
#include "generator/lower/encodable.hpp"

#include <llvm/MC/MCExpr.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrDesc.h>

#include <algorithm>

namespace wavejit::lower {
namespace {

/// Whether each operand that the instruction has and its description knows passes. Packed instructions are
/// decoded without their last operands, whose bits are in the sources' modifiers.
template <class Passes>
bool all_operands(const llvm::MCInst& inst, const Machine& machine, const Passes& passes) {
  const llvm::ArrayRef<llvm::MCOperandInfo> infos = machine.instructions->get(inst.getOpcode()).operands();
  for (unsigned i = 0; i < std::min<std::size_t>(infos.size(), inst.getNumOperands()); ++i)
    if (!passes(inst.getOperand(i), infos[i])) return false;
  return true;
}

}  // namespace

bool symbols_only_branch(const llvm::MCInst& inst, const Machine& machine) {
  return all_operands(inst, machine, [](const llvm::MCOperand& operand, const llvm::MCOperandInfo& info) {
    if (!operand.isExpr()) return true;
    const llvm::MCExpr::ExprKind kind = operand.getExpr()->getKind();
    if (kind == llvm::MCExpr::SymbolRef) return info.OperandType == llvm::MCOI::OPERAND_PCREL;
    return kind == llvm::MCExpr::Constant ||
           kind == llvm::MCExpr::Target;  // a literal, perhaps with its width
  });
}

bool encodable(const llvm::MCInst& inst, const Machine& machine) {
  return symbols_only_branch(inst, machine) &&
         all_operands(inst, machine, [&](const llvm::MCOperand& operand, const llvm::MCOperandInfo& info) {
           if (operand.isReg()) return operand.getReg().id() < machine.registers->getNumRegs();
           return info.OperandType != llvm::MCOI::OPERAND_REGISTER && (operand.isImm() || operand.isExpr());
         });
}

}  // namespace wavejit::lower
