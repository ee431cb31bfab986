// SPDX-License-Identifier: MIT
// A 128-bit digest by XXH3 (xxhash.com). It finds things and notices accidents; it is not proof against
// somebody who wants a collision. That is why a key's whole text is compared wherever its digest was used to
// find it, and why cache folders must belong to the user.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace wavejit::cache {

struct Digest {
  std::uint64_t high = 0, low = 0;
  friend auto operator<=>(const Digest&, const Digest&) = default;
};

Digest digest(std::span<const std::uint8_t> bytes);
Digest digest(std::string_view text);
/// 32 lower-case hexadecimal digits, high half first: XXH3's canonical form.
std::string to_hex(const Digest& digest);

}  // namespace wavejit::cache

template <>
struct std::hash<wavejit::cache::Digest> {
  std::size_t operator()(const wavejit::cache::Digest& d) const noexcept { return d.low; }
};
