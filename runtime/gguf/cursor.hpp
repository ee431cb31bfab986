// SPDX-License-Identifier: MIT
// Reads a GGUF header's little-endian scalars and strings front to back, never past the end.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "runtime/gguf/header.hpp"

namespace wavejit::gguf {

static_assert(std::endian::native == std::endian::little);

/// What every error of one file begins with.
struct Place {
  std::string_view file;

  [[nodiscard]] std::unexpected<Error> bad(const std::string& what, std::string given, std::string allowed,
                                           ErrorCode code = ErrorCode::io) const {
    return fail_field(code, fmt::format("{}: {}", file, what), std::move(given), std::move(allowed));
  }
};

class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, Place place) : bytes_(bytes), place_(place) {}

  [[nodiscard]] std::uint64_t at() const { return at_; }
  [[nodiscard]] std::uint64_t left() const { return bytes_.size() - at_; }
  [[nodiscard]] const Place& place() const { return place_; }

  /// `what` names what is read.
  template <class T>
  Result<T> read(const std::string& what) {
    const auto raw = take(sizeof(T), what);
    if (!raw) return std::unexpected(raw.error());
    T value{};
    std::memcpy(&value, raw->data(), sizeof value);
    return value;
  }

  Result<std::span<const std::byte>> take(std::uint64_t count, const std::string& what) {
    if (count > left())
      return place_.bad(what, fmt::format("{} bytes at {}", count, at_),
                        fmt::format("inside the file, of which {} bytes are left", left()));
    const auto taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }

  Result<std::string_view> string(const std::string& what) {
    const auto length = read<std::uint64_t>(what + "'s length");
    if (!length) return std::unexpected(length.error());
    const auto raw = take(*length, what);
    if (!raw) return std::unexpected(raw.error());
    return std::string_view(reinterpret_cast<const char*>(raw->data()), raw->size());
  }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t at_ = 0;
  Place place_;
};

}  // namespace wavejit::gguf
