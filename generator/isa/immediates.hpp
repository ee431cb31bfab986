// SPDX-License-Identifier: MIT
// The 16-bit immediates that LLVM prints symbolically: waits, delays, messages, hardware registers.
// Private to the printer and the parser of this floor.
#pragma once

#include <string>

#include "generator/isa/instruction.hpp"

namespace wavejit::isa {

/// Appends the symbolic form of `value` as the immediate of `op`, or the plain number where a bit
/// has no name.
void append_immediate(std::string& out, Opcode op, std::int64_t value, const target::Target& target);

/// Where the immediate of an instruction comes from when LLVM's disassembly is read back.
enum class ImmediateForm : std::uint8_t {
  none,            ///< from the text, like any operand
  encoded,         ///< the only operand is simm16 of the encoding, zero-extended
  encoded_signed,  ///< the same, sign-extended
  branch,          ///< simm16 sign-extended: dwords from the next instruction
  sopk_signed,     ///< the last source is simm16, sign-extended
  sopk_unsigned,   ///< the last source is simm16, zero-extended
  hwreg,           ///< the operand spelled hwreg(...) is simm16, zero-extended
  gpr_index,       ///< the last source, spelled gpr_idx(...), is bits 15:8 of the encoding
};
ImmediateForm immediate_form(Opcode op);

}  // namespace wavejit::isa
