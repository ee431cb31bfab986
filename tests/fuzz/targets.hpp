// SPDX-License-Identifier: MIT
// What the outside hands to wavejit, each kind with one function that takes any bytes. Linked with libFuzzer
// (tools/fuzz) and, in the ordinary test run, with a loop of seeded mutations (test_fuzz.cpp). A find is a
// crash, a sanitizer's report, a hang or too much memory.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace wavejit::test {

using Bytes = std::vector<std::uint8_t>;

struct FuzzTarget {
  std::string_view name;
  /// False where the bytes were refused.
  bool (*take)(std::span<const std::uint8_t> bytes);
  /// Inputs that are taken, to begin with.
  std::vector<Bytes> (*seeds)();
};

std::span<const FuzzTarget> fuzz_targets();
/// nullptr for an unknown name.
const FuzzTarget* find_fuzz_target(std::string_view name);

// Code that is no compiler's (code.cpp).
bool take_object(
    std::span<const std::uint8_t> bytes);  ///< a code object: decoded, checked, simulated for a while
bool take_words(
    std::span<const std::uint8_t> bytes);  ///< byte 0 picks a target, the rest are a kernel's words
bool take_text(std::span<const std::uint8_t> bytes);  ///< byte 0 picks a target, the rest are an edited `.s`
std::vector<Bytes> object_seeds();
std::vector<Bytes> word_seeds();
std::vector<Bytes> text_seeds();

// Files (files.cpp).
bool take_gguf(std::span<const std::uint8_t> bytes);
bool take_checkpoint(std::span<const std::uint8_t> bytes);  ///< config.json, a zero byte, a .safetensors
bool take_launch(std::span<const std::uint8_t> bytes);      ///< launch.json for a small kernel, and its run
bool take_shapes(std::span<const std::uint8_t> bytes);
bool take_config(
    std::span<const std::uint8_t> bytes);  ///< byte 0 picks a target, the rest are a Config's text
std::vector<Bytes> gguf_seeds();
std::vector<Bytes> checkpoint_seeds();
std::vector<Bytes> launch_seeds();
std::vector<Bytes> shapes_seeds();
std::vector<Bytes> config_seeds();

// What an engine reads or is handed (engine.cpp).
bool take_entry(std::span<const std::uint8_t> bytes);  ///< a file of the disk cache
bool take_bundle(
    std::span<const std::uint8_t> bytes);  ///< a code object in a bundle whose checksums are right
bool take_override(std::span<const std::uint8_t> bytes);  ///< a `.s` in the override folder
bool take_structs(std::span<const std::uint8_t> bytes);   ///< structs of the C interface, of any struct_size
std::vector<Bytes> entry_seeds();
std::vector<Bytes> bundle_seeds();
std::vector<Bytes> override_seeds();
std::vector<Bytes> struct_seeds();

}  // namespace wavejit::test
