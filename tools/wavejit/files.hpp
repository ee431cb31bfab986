// SPDX-License-Identifier: MIT
// Reading a file whole, and writing several files so that either all of them appear or none does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/lower/lower.hpp"
#include "generator/support/error.hpp"
#include "generator/target/target.hpp"

namespace wavejit::tools {

/// Half of this machine's memory: what one launch's buffers may take together, and files that fill them.
std::uint64_t most_bytes();
inline constexpr std::uint64_t most_json_bytes = 16 << 20, most_object_bytes = 64 << 20;

/// Errors: io, with the path and the system's reason, or with the size of a file of more than `most` bytes.
Result<std::vector<std::uint8_t>> read_file(const std::filesystem::path& path,
                                            std::uint64_t most = most_object_bytes);

/// A code object: the file itself, or, for .s .S .asm .amdgcn, what it assembles to for `target`.
/// The assembler's errors are "FILE:line:column: message".
Result<std::vector<std::uint8_t>> read_object(const std::filesystem::path& path,
                                              const target::Target& target);

/// The text of a .s .S .asm .amdgcn file; nothing for other files.
Result<std::optional<std::string>> read_assembly(const std::filesystem::path& path);

/// Lines of the assembly text at `path` for the instructions of what it assembled to; nothing for other
/// files.
Result<void> note_lines(lower::CodeObject& object, const std::filesystem::path& path);

/// Files to be: collected first, then put in place together. Each is written beside its place under a
/// temporary name; only when all of them are on disk are they renamed. On an error nothing that was
/// there before has changed and no temporary file is left.
class Outputs {
 public:
  void add(std::filesystem::path path, std::string_view text);
  void add(std::filesystem::path path, const std::vector<std::uint8_t>& bytes);
  [[nodiscard]] bool empty() const { return files_.empty(); }
  Result<void> commit();

 private:
  struct File {
    std::filesystem::path path, temporary;
    std::vector<std::uint8_t> bytes;
  };
  std::vector<File> files_;
};

}  // namespace wavejit::tools
