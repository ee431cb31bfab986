// SPDX-License-Identifier: MIT
// A folder of edited `.s` files that replace generated kernels. A file is named by its key's digest, "<32 hex
// digits>.s", which replaces exactly that kernel, or by the kernel's name, "<kernel>.s", which replaces the
// kernel of that name on every target and build; the digest wins. The code will run on the GPU, so file and
// folder must belong to the user or to root and be writable by nobody else. load_override() assembles the
// text, links it, compares its metadata with the kernel that it stands in for and passes it through
// runtime/check; a text that fails any of these is refused, and the generated kernel should then be used.
#pragma once

#include <filesystem>
#include <optional>

#include "runtime/cache/record.hpp"

namespace wavejit::cache {

struct OverrideText {
  std::filesystem::path path;
  std::string text;
};

class Overrides {
 public:
  /// Errors: io (no such folder), invalid_argument (others may write it, or it is somebody else's).
  static Result<Overrides> open(const std::filesystem::path& folder);
  /// nullopt: there is no file for this kernel. Errors: io; invalid_argument for a file that others may write
  /// or that is beyond 16 MiB. `kernel` may be empty.
  [[nodiscard]] Result<std::optional<OverrideText>> find(const Digest& key, std::string_view kernel) const;
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  explicit Overrides(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;
};

struct OverrideKernel {
  Record record;                      ///< kernel, layout and code object of the edited text
  std::vector<std::string> warnings;  ///< the checker's findings below error
};

/// `expected`: the kernel that the text replaces, as `launch` and its name describe it. `kernel` empty: the
/// text may hold any one kernel. `path` begins each message. Errors: assembler ("path:line:column: message"),
/// invalid_code_object (metadata that does not fit: name, target, wave and workgroup size, kernarg layout,
/// LDS; or the checker's findings of severity error).
Result<OverrideKernel> load_override(const OverrideText& text, const target::Target& target,
                                     const templates::Launch& launch, std::string_view kernel);

}  // namespace wavejit::cache
