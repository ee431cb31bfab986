// SPDX-License-Identifier: MIT
// Complete assembly files around a few lines of code, for tests of the assembler side.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generator/lower/lower.hpp"

namespace wavejit::test {

/// Code, descriptor and metadata of one kernel without arguments; `name` must be unique in a file.
std::string kernel_text(std::string_view name, std::string_view body, const target::Target& target);
/// The parts, for files of several kernels.
std::string kernel_code(std::string_view name, std::string_view body);
std::string kernel_metadata(const std::vector<std::string>& names, const target::Target& target);
std::string file_header(const target::Target& target);

/// Assembles, links and decodes; fails the running test when a step does.
lower::CodeObject build(const std::string& text, const target::Target& target);
std::vector<std::uint8_t> assembled(const std::string& text, const target::Target& target);
std::vector<std::uint8_t> build_object(const std::string& text, const target::Target& target);

/// The table of `name`, which must exist.
const target::Target& table(std::string_view name);
/// The same, or for a GPU that LLVM knows and we do not (yet) a table that is right as far as the
/// assembler looks: name, generation, wave size.
target::Target any_table(std::string_view name);

/// Whether LLVM's assembler knows the mnemonic on that GPU. It is given an operand that no
/// instruction takes: the complaint then is about the operand when the name is known, else about the
/// name.
bool assembler_knows(std::string_view mnemonic, const target::Target& target);

}  // namespace wavejit::test
