// SPDX-License-Identifier: MIT
#include "runtime/cache/lookup.hpp"

namespace wavejit::cache {

std::string_view name(Miss miss) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(Miss::count_)> names{
      "none",      "absent",          "foreign-format", "truncated",  "checksum",
      "wrong-key", "invalid-payload", "untrusted",      "unreadable", "off"};
  return miss < Miss::count_ ? names[static_cast<std::size_t>(miss)] : "unknown";
}

}  // namespace wavejit::cache
