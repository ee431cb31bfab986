// SPDX-License-Identifier: MIT
// A few lines of assembly as instructions, for the model: loops rebuilt from a published description and
// edited copies of somebody's loop.
#pragma once

#include <string_view>
#include <vector>

#include "generator/isa/instruction.hpp"
#include "generator/support/error.hpp"
#include "generator/target/target.hpp"

namespace wavejit::tools {

/// `text`: instructions and labels; an s_endpgm is appended. Branch labels become instruction indices.
/// Errors: those of the assembler and the decoder.
Result<std::vector<isa::Instruction>> instructions_of(std::string_view text, const target::Target& target);

}  // namespace wavejit::tools
