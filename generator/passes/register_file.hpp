// SPDX-License-Identifier: MIT
// Which registers are taken at which positions: one bit per register and position.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "generator/passes/live_ranges.hpp"

namespace wavejit::passes {

class RegisterFile {
 public:
  RegisterFile(std::uint32_t registers, std::uint32_t positions)
      : registers_(registers), words_((positions + 63) / 64), bits_(std::size_t{registers} * words_, 0) {}

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
    const std::uint64_t* row = &bits_[std::size_t{reg} * words_];
    return std::ranges::none_of(masks, [row](const Mask& m) { return (row[m.word] & m.bits) != 0; });
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

  template <class Op>
  void update(std::uint32_t reg, Segment s, Op op) {
    std::uint64_t* row = &bits_[std::size_t{reg} * words_];
    for (std::uint32_t w = s.begin / 64; w * 64 < s.end; ++w) row[w] = op(row[w], mask_of(w, s));
  }

  std::uint32_t registers_;
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace wavejit::passes
