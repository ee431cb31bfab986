// SPDX-License-Identifier: MIT
// A bounded reader of MessagePack, enough for the AMDGPU metadata note: a cursor that returns one
// value at a time and can skip a whole value. Lengths are never believed beyond the bytes that are
// there, and nesting is counted, not recursed. Private to this floor. Format: msgpack.org spec.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace wavejit::lower::msgpack {

struct Value {
  enum class Kind : std::uint8_t { nil, boolean, integer, real, string, binary, array, map };
  Kind kind = Kind::nil;
  std::uint64_t integer = 0;  ///< also the element count of an array or map; negative numbers wrap
  std::string_view text;      ///< of a string
};

class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  /// The next value; for an array or map only its head. nullopt when the bytes end or are wrong.
  std::optional<Value> next();
  /// Steps over one whole value; false when the bytes end or are wrong.
  bool skip();

  /// The element count of the next value when it is a map (array); nullopt otherwise.
  std::optional<std::uint64_t> enter_map();
  std::optional<std::uint64_t> enter_array();
  std::optional<std::string_view> string();
  std::optional<std::uint64_t> unsigned_integer();

 private:
  std::optional<std::uint64_t> big_endian(unsigned size);
  std::optional<Value> sized(Value::Kind kind, std::optional<std::uint64_t> size);

  std::span<const std::uint8_t> bytes_;
};

}  // namespace wavejit::lower::msgpack
