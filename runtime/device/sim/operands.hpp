// SPDX-License-Identifier: MIT
// Internal: what the ISA says of an instruction's operands beyond their registers — which halves of
// a 32-bit register it reads or writes, in which format a constant is, which lanes it looks at. The
// checks rest on this, so it comes from the ISA manual and not from the passes.
#pragma once

#include <cstdint>

#include "runtime/device/sim/code.hpp"

namespace wavejit::sim::detail {

/// Halves of the first dword of source `i` that the instruction reads.
std::uint8_t source_halves(const isa::Instruction& inst, unsigned i, const target::Target& target);
/// Dwords of source `i` that it reads, bit by dword: packed f32 may take one register twice.
std::uint32_t dwords_read(const isa::Instruction& inst, unsigned i);
/// Halves of dst[0] that it writes; the other half is kept.
std::uint8_t destination_halves(const isa::Instruction& inst, const target::Target& target);
/// gfx9: a 16-bit result of the short encodings clears the high half of its register.
bool clears_high_half(isa::Opcode op, const target::Target& target);
/// Whether the old value of dst[0] takes part in the result (and not only its other half).
bool accumulates(isa::Opcode op);
LaneUse lane_use(isa::Opcode op);
OnUndefined on_undefined(isa::Opcode op);
/// Dwords of a matrix instruction's A and B, and of its C and D.
struct MatrixWidths {
  unsigned ab, cd;
};
MatrixWidths matrix_widths(const isa::Instruction& inst, const target::Target& target, unsigned lanes);
/// Bits of a constant operand as the instruction's unit sees them.
std::uint64_t constant_bits(const isa::Instruction& inst, unsigned i);

}  // namespace wavejit::sim::detail
