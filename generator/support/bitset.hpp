// SPDX-License-Identifier: MIT
// A set of small numbers with a size fixed at run time, one bit each. Data-flow passes keep one per
// block, so the whole-set operations work on 64 members at once.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wavejit {

class BitSet {
 public:
  BitSet() = default;
  explicit BitSet(std::size_t size, bool value = false)
      : size_(size), words_((size + 63) / 64, value ? ~std::uint64_t{0} : 0) {
    trim();
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool test(std::size_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
  void set(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  void reset(std::size_t i) { words_[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }

  [[nodiscard]] bool any() const {
    for (const std::uint64_t w : words_)
      if (w != 0) return true;
    return false;
  }
  [[nodiscard]] std::size_t count() const {
    std::size_t n = 0;
    for (const std::uint64_t w : words_) n += static_cast<std::size_t>(std::popcount(w));
    return n;
  }

  /// Each of these returns whether this set changed. Both sets have one size.
  bool unite(const BitSet& other) {
    return combine(other, [](std::uint64_t a, std::uint64_t b) { return a | b; });
  }
  bool intersect(const BitSet& other) {
    return combine(other, [](std::uint64_t a, std::uint64_t b) { return a & b; });
  }
  bool subtract(const BitSet& other) {
    return combine(other, [](std::uint64_t a, std::uint64_t b) { return a & ~b; });
  }

  /// Calls f(member) in ascending order.
  template <class F>
  void for_each(F&& f) const {
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::uint64_t rest = words_[w]; rest != 0; rest &= rest - 1)
        f(w * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
  }

  friend bool operator==(const BitSet&, const BitSet&) = default;

 private:
  template <class Op>
  bool combine(const BitSet& other, Op op) {
    std::uint64_t changed = 0;
    for (std::size_t w = 0; w < words_.size(); ++w) {
      const std::uint64_t next = op(words_[w], other.words_[w]);
      changed |= next ^ words_[w];
      words_[w] = next;
    }
    return changed != 0;
  }
  void trim() {
    if (size_ % 64 != 0) words_.back() &= (std::uint64_t{1} << (size_ % 64)) - 1;
  }

  std::size_t size_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace wavejit
