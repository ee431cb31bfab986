// SPDX-License-Identifier: MIT
// Words of eight nibbles: the bit tricks of repacking, and access to words in byte buffers.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wavejit::repack {

static_assert(std::endian::native == std::endian::little, "layouts are defined in little-endian words");

/// K offset that nibble i of a shuffled word holds; AWQ interleaves its columns in the same order.
inline constexpr std::array<unsigned, 8> shuffled_order{0, 2, 4, 6, 1, 3, 5, 7};

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

/// Nibbles 0..7 -> 0,2,4,6,1,3,5,7: the middle nibbles of each half change places, then the middle bytes.
constexpr std::uint32_t shuffle(std::uint32_t word) {
  std::uint32_t t = (word ^ (word >> 4)) & 0x00F000F0U;
  word ^= t ^ (t << 4);
  t = (word ^ (word >> 8)) & 0x0000FF00U;
  return word ^ t ^ (t << 8);
}

/// The inverse of shuffle(): an AWQ word -> its columns in order.
constexpr std::uint32_t unshuffle(std::uint32_t word) {
  std::uint32_t t = (word ^ (word >> 8)) & 0x0000FF00U;
  word ^= t ^ (t << 8);
  t = (word ^ (word >> 4)) & 0x00F000F0U;
  return word ^ t ^ (t << 4);
}

/// Nibble i of word j <-> nibble j of word i, by blocks of 4, 2 and 1.
inline void transpose(std::array<std::uint32_t, 8>& words) {
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint32_t t = ((words[i] >> 16) ^ words[i + 4]) & 0x0000FFFFU;
    words[i + 4] ^= t;
    words[i] ^= t << 16;
  }
  for (const unsigned i : {0U, 1U, 4U, 5U}) {
    const std::uint32_t t = ((words[i] >> 8) ^ words[i + 2]) & 0x00FF00FFU;
    words[i + 2] ^= t;
    words[i] ^= t << 8;
  }
  for (const unsigned i : {0U, 2U, 4U, 6U}) {
    const std::uint32_t t = ((words[i] >> 4) ^ words[i + 1]) & 0x0F0F0F0FU;
    words[i + 1] ^= t;
    words[i] ^= t << 4;
  }
}

/// The low `count` (0..8) nibbles.
constexpr std::uint32_t low_nibbles(std::int64_t count) { return count >= 8 ? ~0U : (1U << (4 * count)) - 1; }

}  // namespace wavejit::repack
