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

/// SGPRs of a mask of the wave's lanes.
unsigned mask_width(const ir::Builder& b);

/// soffset of an access that has none: gfx12 takes no constant there.
isa::Operand no_offset(const ir::Builder& b);

/// Makes the first source of a VALU instruction come from the lane `distance` (1, 2, 4, 8) away, by exclusive
/// or of lane numbers. On gfx9, which cannot do that for 4 and 8, from the lane mirrored within 8 or 16: the
/// same as long as lanes that differ only below `distance` hold the same, as after a butterfly's earlier
/// steps.
void butterfly(const ir::Builder& b, ir::Instruction& inst, unsigned distance);

/// Adds to each of `sums` that of the lane 16 away, in waves of 32. SGPRs `low` and `high` hold 0x76543210
/// and 0xFEDCBA98, lanes in their order.
void add_other_half(ir::Builder& b, const std::vector<isa::Operand>& sums, const isa::Operand& low,
                    const isa::Operand& high);

/// `value` as a source of a VOP3 instruction: an SGPR, set here, where the target's take no literal.
isa::Operand vop3_constant(ir::Builder& b, std::uint32_t value);

}  // namespace wavejit::templates::kquant
