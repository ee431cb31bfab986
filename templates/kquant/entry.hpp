// SPDX-License-Identifier: MIT
// Private to the K-quant family: how its kernels begin, one wave a workgroup on grid axis x.
#pragma once

#include <vector>

#include "generator/ir/builder.hpp"

namespace wavejit::templates::kquant {

struct Entry {
  std::vector<isa::Operand> pointers;  ///< SGPR pairs, in kernarg order
  isa::Operand workgroup;              ///< id on x
  isa::Operand lane;                   ///< VGPR
};

/// Writes block "entry": loads `pointers` (2 or 3) pointers from the start of the kernel arguments.
Entry emit_entry(ir::Builder& b, unsigned pointers);

/// soffset of an access that has none: gfx12 takes no constant there.
isa::Operand no_offset(const ir::Builder& b);

/// Makes the first source of a VALU instruction come from the lane `distance` (1, 2, 4, 8) away, by exclusive
/// or of lane numbers.
void butterfly(ir::Instruction& inst, unsigned distance);

}  // namespace wavejit::templates::kquant
