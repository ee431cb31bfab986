// SPDX-License-Identifier: MIT
// Little-endian numbers and length-prefixed texts, written and read with every length checked. Private to
// this folder.
#pragma once

#include <concepts>
#include <span>
#include <string>
#include <string_view>

#include "runtime/cache/lookup.hpp"

namespace wavejit::cache::wire {

class Writer {
 public:
  template <std::unsigned_integral T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) out_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  void bytes(std::span<const std::uint8_t> b) { out_.insert(out_.end(), b.begin(), b.end()); }
  void text(std::string_view t) { out_.insert(out_.end(), t.begin(), t.end()); }
  /// Canonical form: most significant byte first.
  void digest(const Digest& d) {
    for (const std::uint64_t half : {d.high, d.low})
      for (int shift = 56; shift >= 0; shift -= 8) out_.push_back(static_cast<std::uint8_t>(half >> shift));
  }
  void reserve(std::size_t size) { out_.reserve(size); }
  [[nodiscard]] std::span<const std::uint8_t> so_far() const { return out_; }
  Bytes take() { return std::move(out_); }

 private:
  Bytes out_;
};

/// After a read past the end, ok() is false and every value is zero or empty.
class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> in) : in_(in) {}
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t left() const { return ok_ ? in_.size() - at_ : 0; }
  [[nodiscard]] std::size_t position() const { return at_; }

  std::span<const std::uint8_t> bytes(std::uint64_t size) {
    if (!ok_ || size > in_.size() - at_) {
      ok_ = false;
      return {};
    }
    const auto part = in_.subspan(at_, static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
    return part;
  }
  std::string_view text(std::uint64_t size) {
    const auto part = bytes(size);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  template <std::unsigned_integral T>
  T number() {
    std::uint64_t value = 0;
    const auto part = bytes(sizeof(T));
    for (std::size_t i = 0; i < part.size(); ++i) value |= std::uint64_t{part[i]} << (8 * i);
    return static_cast<T>(value);
  }
  Digest digest() {
    Digest d;
    for (std::uint64_t* half : {&d.high, &d.low})
      for (const std::uint8_t byte : bytes(8)) *half = *half << 8 | byte;
    return d;
  }

 private:
  std::span<const std::uint8_t> in_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace wavejit::cache::wire
