// SPDX-License-Identifier: MIT
// Machine code -> instructions through LLVM's disassembler. Private to this floor.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "generator/lower/lower.hpp"

namespace wavejit::lower {

/// Decodes all of `code`, which runs at `address`. Branch operands become labels that hold the
/// index of the instruction they go to. The second half of a VOPD pair follows the first with the
/// same address and size 0. Errors: unknown_instruction with mnemonic and address;
/// invalid_code_object for a branch that leaves `code` or lands inside an instruction.
Result<std::vector<DecodedInstruction>> disassemble(std::span<const std::uint8_t> code, std::uint64_t address,
                                                    const target::Target& target, std::string_view kernel);

}  // namespace wavejit::lower
