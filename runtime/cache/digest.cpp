// SPDX-License-Identifier: MIT
#include "runtime/cache/digest.hpp"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace wavejit::cache {

Digest digest(std::span<const std::uint8_t> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {.high = hash.high64, .low = hash.low64};
}

Digest digest(std::string_view text) {
  return digest(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

std::string to_hex(const Digest& d) { return fmt::format("{:016x}{:016x}", d.high, d.low); }

}  // namespace wavejit::cache
