// SPDX-License-Identifier: MIT
// The rules of ir::verify by topic. Each function returns the first rule broken; the error's field
// is the rule, given what was found, allowed what would be right, and the message puts the block
// and the instruction in front of them.
#pragma once

#include <string>

#include "generator/ir/kernel.hpp"

namespace wavejit::ir::rules {

/// Where a rule is checked. Block and instruction may be null: then it is about the whole kernel.
struct Place {
  const Kernel& kernel;
  const Block* block = nullptr;
  const isa::Instruction* inst = nullptr;
};

std::unexpected<Error> broken(const Place& place, std::string rule, std::string given, std::string allowed);

/// Operand counts, classes and widths against the signature; tuples within their registers;
/// physical registers within the target's files.
Result<void> operands(const Place& place);

/// Literals, scalar operands of the VALU, immediates, sources that an encoding restricts to VGPRs.
Result<void> constants(const Place& place);

/// Address forms and immediate offsets of memory instructions; memory tags.
Result<void> memory(const Place& place, const MemoryTag& tag);

/// A matrix instruction's destination equals its accumulator or touches none of its sources.
Result<void> matrix(const Place& place);

/// VOPD pairs: complete, different destinations, and the bank rules once registers are assigned.
Result<void> dual_pairs(const Kernel& kernel, const Block& block);

/// Kernel arguments and LDS regions.
Result<void> layout(const Kernel& kernel);

/// Block labels, branch targets, ends, counted loops.
Result<void> control_flow(const Kernel& kernel);

/// Every register is written before it is read, on every path.
Result<void> definitions(const Kernel& kernel);

/// After assign_registers: nothing virtual is left, and all is within what the kernel says it uses.
Result<void> assignment(const Kernel& kernel);

}  // namespace wavejit::ir::rules
