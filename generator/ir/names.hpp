// SPDX-License-Identifier: MIT
// Names for IR text: a virtual register is its name and id ("acc%12"), a part of a tuple adds the
// dwords ("acc%12[0:3]", "acc%12[5]"); a label is the block's, with ".L" in front.
#pragma once

#include <string>

#include "generator/ir/kernel.hpp"

namespace wavejit::ir {

class KernelNames final : public isa::OperandNames {
 public:
  explicit KernelNames(const Kernel& kernel) : kernel_(kernel) {}
  [[nodiscard]] std::string virtual_register(const isa::Operand& op) const override;
  [[nodiscard]] std::string label(std::uint32_t index) const override;

 private:
  const Kernel& kernel_;
};

/// The instruction as print() shows it, without comment. Works on malformed operands too.
std::string instruction_text(const Kernel& kernel, const isa::Instruction& inst);

/// A register operand as print() shows it.
std::string operand_text(const Kernel& kernel, const isa::Operand& op);

}  // namespace wavejit::ir
