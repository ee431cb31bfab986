// SPDX-License-Identifier: MIT
// Reading a file whole, and writing several files so that either all of them appear or none does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "generator/support/error.hpp"
#include "generator/target/target.hpp"

namespace wavejit::tools {

/// Errors: io, with the path and the system's reason.
Result<std::vector<std::uint8_t>> read_file(const std::filesystem::path& path);

/// A code object: the file itself, or, for .s .S .asm .amdgcn, what it assembles to for `target`.
/// The assembler's errors are "FILE:line:column: message".
Result<std::vector<std::uint8_t>> read_object(const std::filesystem::path& path,
                                              const target::Target& target);

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
