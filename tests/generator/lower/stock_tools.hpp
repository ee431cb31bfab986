// SPDX-License-Identifier: MIT
// LLVM's own command-line tools as an independent opinion. They are installed where the tests are
// built (Debian: llvm-22, lld-22); a test that finds none is skipped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wavejit::test {

/// Runs `command` with the given input files (each in a fresh directory that is removed again) and
/// returns what it leaves in `out`; "{name}" in the command is replaced by a file's path, {out} by
/// the output's. Skips the case where the tool is not installed; a tool that
/// fails is a failed test that shows its messages.
struct InputFile {
  std::string name;
  std::vector<std::uint8_t> bytes;
};
std::vector<std::uint8_t> run_tool(const std::string& tool, const std::string& arguments,
                                   const std::vector<InputFile>& inputs);

inline std::vector<std::uint8_t> to_bytes(const std::string& text) { return {text.begin(), text.end()}; }

}  // namespace wavejit::test
