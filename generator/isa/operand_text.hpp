// SPDX-License-Identifier: MIT
// Operands as LLVM's AMDGPU assembler spells them: registers and tuples, named scalar registers,
// integer and float constants, the -x, |x|, neg(x), abs(x) modifiers and 16-bit halves. Private to
// the printer and the parser of this floor.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "generator/isa/instruction.hpp"

namespace wavejit::isa {

/// Appends the spelling of `op`; an operand of kind none is "off".
void append_operand(std::string& out, const Operand& op, const OperandNames* names);

/// nullopt when the text is no operand that we know. "off" gives an operand of kind none.
std::optional<Operand> parse_operand(std::string_view text);

/// Decimal within -16..64, hexadecimal beyond (decimal when negative).
void append_integer(std::string& out, std::int64_t value);

/// Decimal or 0x hexadecimal, with sign.
std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace wavejit::isa
