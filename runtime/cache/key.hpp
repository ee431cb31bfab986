// SPDX-License-Identifier: MIT
// What a cached kernel is a function of. The key text holds all of it, one line "name=value" a part, after a
// line that says the form's version; parts are sorted by name and all always there, and what would break a
// line is escaped ("\n", "\\", "\x07"), so two KeyParts have equal texts exactly when they are equal. The
// text's digest names files; readers compare the text itself, so a collision of digests is a miss and never a
// wrong kernel.
//
// The build ID stands for the code generator: a digest over the names and contents of every source file of
// generator/ and templates/, taken by CMake at build time. The GNU build-id of the linked image would not do:
// libwavejit is linked into servers and into the `wavejit` command, whose images differ while the generator
// is the same, and a bundle made by the one must hit in the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/support/error.hpp"
#include "generator/target/target.hpp"
#include "runtime/cache/digest.hpp"
#include "templates/problem.hpp"

namespace wavejit::cache {

/// Version of what a payload means (record.hpp) and of the kernels' calling convention.
inline constexpr std::uint32_t schema_version = 1;
/// Of the code objects that generator/lower writes.
inline constexpr std::uint32_t code_object_version = 5;

/// "3f…": 32 hexadecimal digits, equal for equal sources of generator/ and templates/.
std::string_view generator_build_id();

struct KeyParts {
  /// Of the code object, canonical: "gfx1151". Generated code states no feature, so the key under which an
  /// engine makes and stores a kernel has the processor alone, whatever the device's features;
  /// "gfx942:xnack-" is a kernel that somebody offers to such devices only (`wavejit bundle --arch`), or one
  /// of hiprtc's.
  std::string target_id;
  std::uint32_t wave_size = 32;
  bool wgp_mode = true;  ///< false: CU mode
  std::uint32_t code_object = code_object_version;
  std::string llvm;   ///< version, with the commit where LLVM's build says it
  std::string build;  ///< generator_build_id()
  std::uint32_t schema = schema_version;
  std::string problem;  ///< templates::canonical of the normalised Problem
  std::string
      config;  ///< templates::canonical of the normalised Config that was asked for (before generate())
  std::string flags;        ///< whatever else changes the code; empty
  std::uint32_t stage = 0;  ///< which kernel of the Config
  friend bool operator==(const KeyParts&, const KeyParts&) = default;
};

/// Parts for this build. `problem` and `config` must be normalised, `stage` one of the Config's. `target_id`
/// is of `target`. Errors: unknown_target when target_id is malformed or of another processor than `target`.
Result<KeyParts> key_parts(const templates::Problem& problem, const templates::Config& config,
                           const target::Target& target, std::string_view target_id, unsigned stage = 0);

/// "gfx942:xnack-:sramecc+" -> "gfx942:sramecc+:xnack-": features sorted, each "name+" or "name-", none
/// twice. Errors: unknown_target, with what is malformed.
Result<std::string> canonical_target_id(std::string_view target_id);
/// The target IDs whose code runs on a device of this canonical one: each with some of its features, the
/// others left open (LLVM's AMDGPUUsage, "Target ID"). The most specific first, the processor alone last.
std::vector<std::string> compatible_target_ids(std::string_view target_id);

struct Key {
  std::string text;
  Digest digest;  ///< of text
  friend bool operator==(const Key& a, const Key& b) { return a.digest == b.digest && a.text == b.text; }
};

Key make_key(const KeyParts& parts);
/// The keys under which a kernel for a device of this target ID may lie, by compatible_target_ids: the most
/// specific first; the last, the processor's, is the one under which it is made and stored. Errors: as of
/// key_parts.
Result<std::vector<Key>> device_keys(const templates::Problem& problem, const templates::Config& config,
                                     const target::Target& target, std::string_view target_id,
                                     unsigned stage = 0);
/// A key from its text, for tools; the text need not be one that make_key writes.
Key key_of_text(std::string text);
/// The parts of a key text; nullopt when it is not of the form (exactly) that make_key writes.
std::optional<KeyParts> parse_key(std::string_view text);

/// One part in which two keys differ.
struct Difference {
  std::string part, ours, theirs;
};
/// Sorted by part.
std::vector<Difference> differences(const KeyParts& ours, const KeyParts& theirs);
/// "llvm 22.1.8 vs 22.1.9, target_id gfx1151 vs gfx1150" (ours first).
std::string to_string(const std::vector<Difference>& differences);

}  // namespace wavejit::cache
