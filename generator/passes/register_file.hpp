// SPDX-License-Identifier: MIT
// Which registers are taken at which positions: one bit per register and position. 64 positions of a register
// are a word; the words of all registers for the same 64 positions lie together, and one more bit per
// register says whether its word has any bit set, because places for long lives are looked for most.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "generator/passes/live_ranges.hpp"

namespace wavejit::passes {

class RegisterFile {
 public:
  RegisterFile(std::uint32_t registers, std::uint32_t positions)
      : registers_(registers),
        groups_((registers + 63) / 64),
        bits_(std::size_t{registers} * words(positions), 0),
        any_(std::size_t{groups_} * words(positions), 0) {}

  [[nodiscard]] std::uint32_t size() const { return registers_; }

  /// Some positions of one word of 64.
  struct Mask {
    std::uint32_t word;
    std::uint64_t bits;
  };
  using Masks = std::vector<Mask>;
  /// Segments are asked for at many registers: this is done once.
  [[nodiscard]] static Masks masks(const Segments& segments) {
    Masks result;
    for (const Segment& s : segments)
      for (std::uint32_t w = s.begin / 64; w * 64 < s.end; ++w) {
        if (!result.empty() && result.back().word == w) {
          result.back().bits |= mask_of(w, s);
        } else {
          result.push_back({w, mask_of(w, s)});
        }
      }
    return result;
  }
  [[nodiscard]] bool is_free(std::uint32_t reg, const Masks& masks) const {
    return std::ranges::none_of(masks, [&](const Mask& m) { return (word(m.word, reg) & m.bits) != 0; });
  }

  /// The first register of the lowest run in which dword d of a tuple is free where `dwords[d]` says. Of
  /// every `period` registers, which divides 64, those whose bit is set in `starts` may be the first.
  [[nodiscard]] std::optional<std::uint32_t> first_free(std::span<const Masks> dwords, std::uint64_t starts,
                                                        unsigned period) const {
    for (unsigned filled = period; filled < 64; filled *= 2) starts |= starts << filled;
    const auto width = static_cast<std::uint32_t>(dwords.size());
    for (std::uint32_t group = 0; group * 64 + width <= registers_; ++group) {
      const std::uint32_t last = registers_ - width - group * 64;  // the last of the group that may be first
      std::uint64_t open = last >= 63 ? starts : starts & ((std::uint64_t{2} << last) - 1);
      for (unsigned d = 0; d < width && open != 0; ++d) open &= ~taken(group, d, open, dwords[d]);
      if (open != 0) return group * 64 + static_cast<std::uint32_t>(std::countr_zero(open));
    }
    return std::nullopt;
  }

  void take(std::uint32_t reg, const Segments& segments) {
    for (const Segment& s : segments)
      update(reg, s, [](std::uint64_t word, std::uint64_t mask) { return word | mask; });
  }
  void release(std::uint32_t reg, const Segments& segments) {
    for (const Segment& s : segments)
      update(reg, s, [](std::uint64_t word, std::uint64_t mask) { return word & ~mask; });
  }

 private:
  /// Bits of word `w` that lie in [begin, end).
  static std::uint64_t mask_of(std::uint32_t w, Segment s) {
    const std::uint32_t low = std::max(s.begin, w * 64) - w * 64;
    const std::uint32_t high = std::min(s.end, w * 64 + 64) - w * 64;
    const std::uint64_t below_high = high == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << high) - 1;
    return below_high & ~((std::uint64_t{1} << low) - 1);
  }

  static std::size_t words(std::uint32_t positions) { return (std::size_t{positions} + 63) / 64; }
  [[nodiscard]] std::uint64_t word(std::uint32_t w, std::uint32_t reg) const {
    return bits_[std::size_t{w} * registers_ + reg];
  }

  /// Of the registers 64 group + i + shift, i being the bits set in `asked`, those that are taken, as bits i.
  [[nodiscard]] std::uint64_t taken(std::uint32_t group, unsigned shift, std::uint64_t asked,
                                    const Masks& masks) const {
    std::uint64_t result = taken(group, asked << shift, masks) >> shift;
    const std::uint64_t beyond = shift == 0 ? 0 : asked >> (64 - shift);
    if (beyond != 0) result |= taken(group + 1, beyond, masks) << (64 - shift);
    return result;
  }
  [[nodiscard]] std::uint64_t taken(std::uint32_t group, std::uint64_t asked, const Masks& masks) const {
    std::uint64_t result = 0;
    for (const Mask& m : masks) {
      std::uint64_t in_doubt = asked & ~result & any_[std::size_t{m.word} * groups_ + group];
      if (m.bits == ~std::uint64_t{0}) {
        result |= in_doubt;
        continue;
      }
      for (; in_doubt != 0; in_doubt &= in_doubt - 1) {
        const auto reg = group * 64 + static_cast<std::uint32_t>(std::countr_zero(in_doubt));
        if ((word(m.word, reg) & m.bits) != 0) result |= in_doubt & -in_doubt;
      }
    }
    return result;
  }

  template <class Op>
  void update(std::uint32_t reg, Segment s, Op op) {
    for (std::uint32_t w = s.begin / 64; w * 64 < s.end; ++w) {
      std::uint64_t& bits = bits_[std::size_t{w} * registers_ + reg];
      bits = op(bits, mask_of(w, s));
      std::uint64_t& any = any_[std::size_t{w} * groups_ + reg / 64];
      const std::uint64_t bit = std::uint64_t{1} << (reg % 64);
      any = bits != 0 ? any | bit : any & ~bit;
    }
  }

  std::uint32_t registers_, groups_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint64_t> any_;  ///< of 64 positions and 64 registers
};

}  // namespace wavejit::passes
