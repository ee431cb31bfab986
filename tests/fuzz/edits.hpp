// SPDX-License-Identifier: MIT
// Random edits for the loops of seeded mutations, in the place of libFuzzer's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <vector>

namespace wavejit::test {

/// One to four edits: a bit, a byte, a count or length that readers stumble over, a copied run, a cut.
inline std::vector<std::uint8_t> edited(std::vector<std::uint8_t> bytes, std::mt19937_64& random) {
  constexpr std::uint64_t numbers[] = {0,          1,          3,          5,          13,
                                       31,         1ULL << 31, 1ULL << 32, 1ULL << 40, 1ULL << 61,
                                       1ULL << 62, 1ULL << 63, ~0ULL,      ~0ULL - 31};
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (std::size_t edits = 1 + below(4); edits > 0 && bytes.size() > 16; --edits) {
    const std::size_t at = below(bytes.size() - 8);
    switch (below(5)) {
      case 0:
        bytes[at] ^= static_cast<std::uint8_t>(1U << below(8));
        break;
      case 1:
        bytes[at] = static_cast<std::uint8_t>(random());
        break;
      case 2: {
        const std::uint64_t number = numbers[below(std::size(numbers))];
        std::memcpy(bytes.data() + at, &number, std::size_t{1} << below(4));
        break;
      }
      case 3:
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size() - 8)), 8,
                    bytes.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      default:
        bytes.resize(random() % 8 == 0 ? at : bytes.size());
        break;
    }
  }
  return bytes;
}

}  // namespace wavejit::test
