// SPDX-License-Identifier: MIT
// One file of the disk cache: magic, format version, key text, payload, and the XXH3-128 of all that before
// it.
//
//   0  8  magic "WJENTRY\n"
//   8  4  format version, little-endian as all numbers
//  12  4  length of the key text
//  16  8  length of the payload
//  24  …  key text, payload
//   …  16 XXH3-128 of every byte before, canonical (big-endian) form
#pragma once

#include <span>
#include <string_view>

#include "runtime/cache/lookup.hpp"

namespace wavejit::cache {

inline constexpr std::uint32_t entry_format_version = 1;
/// A key and a payload beyond these are not written, and a file that claims them is not read.
inline constexpr std::size_t max_key_bytes = 64 << 10, max_payload_bytes = 64 << 20;

struct Entry {
  std::string key_text;
  Bytes payload;
};

Bytes serialise(std::string_view key_text, std::span<const std::uint8_t> payload);

struct ParsedEntry {
  Miss miss = Miss::none;
  std::string detail;
  Entry entry;  ///< empty unless miss == none
};
/// Believes nothing: lengths are checked against what is there, then the checksum over everything.
ParsedEntry parse_entry(std::span<const std::uint8_t> file);

/// How many bytes of a file peek_key() needs at most.
inline constexpr std::size_t peek_bytes = 24 + max_key_bytes;
/// The key text from a file's first bytes, unverified: good for explanations only. Empty when there is none.
std::string peek_key(std::span<const std::uint8_t> first_bytes);

}  // namespace wavejit::cache
