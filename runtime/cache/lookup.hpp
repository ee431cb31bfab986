// SPDX-License-Identifier: MIT
// What a look into a cache gives, and how caches speak to their caller.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cache/key.hpp"

namespace wavejit::cache {

using Bytes = std::vector<std::uint8_t>;

/// Why there is no payload. `none` = there is one.
enum class Miss : std::uint8_t {
  none,
  absent,           ///< nothing under this key
  foreign_format,   ///< not one of our files, or of another format version
  truncated,        ///< shorter (or longer) than it says
  checksum,         ///< some bit is not as it was written
  wrong_key,        ///< another key with the same digest
  invalid_payload,  ///< the checksum is right, the record inside is not (said by the caller)
  untrusted,        ///< not a regular file of ours, or others may write it
  unreadable,       ///< the system would not read it; detail has its reason
  off,              ///< this cache is not in use (no folder, refused folder)
  count_
};
std::string_view name(Miss miss);

struct Lookup {
  std::optional<Bytes> payload;
  Miss miss = Miss::absent;
  std::string detail;  ///< for people; empty on a hit
  explicit operator bool() const { return payload.has_value(); }
};

/// The answer to "why was this a miss".
struct Explanation {
  Miss miss = Miss::absent;           ///< what get() would say now; none = it would hit
  std::string summary;                ///< one sentence
  std::string nearest;                ///< file of the entry that differs in the fewest parts; empty: none
  std::vector<Difference> different;  ///< from the nearest
};

enum class LogLevel : std::uint8_t { debug, info, warning };
/// Called from any thread, never with a lock of ours held.
using LogFunction = std::function<void(LogLevel, std::string_view)>;

}  // namespace wavejit::cache
