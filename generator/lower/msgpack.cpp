// SPDX-License-Identifier: MIT
#include "generator/lower/msgpack.hpp"

namespace wavejit::lower::msgpack {

std::optional<std::uint64_t> Reader::big_endian(unsigned size) {
  if (bytes_.size() < size) return std::nullopt;
  std::uint64_t value = 0;
  for (unsigned i = 0; i < size; ++i) value = value << 8 | bytes_[i];
  bytes_ = bytes_.subspan(size);
  return value;
}

/// A string, blob, array or map of `size` elements. Each element takes at least one byte, so a
/// count beyond the bytes that are left is a lie.
std::optional<Value> Reader::sized(Value::Kind kind, std::optional<std::uint64_t> size) {
  if (!size || *size > bytes_.size()) return std::nullopt;
  Value value{.kind = kind, .integer = *size, .text = {}};
  if (kind == Value::Kind::string || kind == Value::Kind::binary) {
    value.text = {reinterpret_cast<const char*>(bytes_.data()), static_cast<std::size_t>(*size)};
    bytes_ = bytes_.subspan(*size);
  }
  return value;
}

std::optional<Value> Reader::next() {
  using Kind = Value::Kind;
  const auto head = big_endian(1);
  if (!head) return std::nullopt;
  const auto tag = static_cast<unsigned>(*head);
  const auto number = [](Kind kind, std::optional<std::uint64_t> value) -> std::optional<Value> {
    if (!value) return std::nullopt;
    return Value{.kind = kind, .integer = *value, .text = {}};
  };
  const auto signed_number = [&](unsigned size) -> std::optional<Value> {
    const auto raw = big_endian(size);
    if (!raw) return std::nullopt;
    const unsigned shift = 64 - 8 * size;
    return number(Kind::integer,
                  static_cast<std::uint64_t>(static_cast<std::int64_t>(*raw << shift) >> shift));
  };
  if (tag < 0x80) return number(Kind::integer, tag);
  if (tag >= 0xE0) return number(Kind::integer, static_cast<std::uint64_t>(static_cast<std::int8_t>(tag)));
  if (tag < 0x90) return sized(Kind::map, tag & 15);
  if (tag < 0xA0) return sized(Kind::array, tag & 15);
  if (tag < 0xC0) return sized(Kind::string, tag & 31);
  switch (tag) {
    case 0xC0:
      return Value{};
    case 0xC2:
    case 0xC3:
      return number(Kind::boolean, tag & 1);
    case 0xC4:
    case 0xC5:
    case 0xC6:
      return sized(Kind::binary, big_endian(1U << (tag - 0xC4)));
    case 0xCA:
    case 0xCB:
      return number(Kind::real, big_endian(4U << (tag - 0xCA)));
    case 0xCC:
    case 0xCD:
    case 0xCE:
    case 0xCF:
      return number(Kind::integer, big_endian(1U << (tag - 0xCC)));
    case 0xD0:
    case 0xD1:
    case 0xD2:
    case 0xD3:
      return signed_number(1U << (tag - 0xD0));
    case 0xD9:
    case 0xDA:
    case 0xDB:
      return sized(Kind::string, big_endian(1U << (tag - 0xD9)));
    case 0xDC:
    case 0xDD:
      return sized(Kind::array, big_endian(2U << (tag - 0xDC)));
    case 0xDE:
    case 0xDF:
      return sized(Kind::map, big_endian(2U << (tag - 0xDE)));
    default:
      return std::nullopt;  // extension types do not occur in code objects
  }
}

bool Reader::skip() {
  std::uint64_t pending = 1;
  while (pending > 0) {
    const auto value = next();
    if (!value) return false;
    --pending;
    if (value->kind == Value::Kind::array) pending += value->integer;
    if (value->kind == Value::Kind::map) pending += 2 * value->integer;
    if (pending > 2 * bytes_.size()) return false;
  }
  return true;
}

std::optional<std::uint64_t> Reader::enter_map() {
  const auto value = next();
  if (!value || value->kind != Value::Kind::map) return std::nullopt;
  return value->integer;
}

std::optional<std::uint64_t> Reader::enter_array() {
  const auto value = next();
  if (!value || value->kind != Value::Kind::array) return std::nullopt;
  return value->integer;
}

std::optional<std::string_view> Reader::string() {
  const auto value = next();
  if (!value || value->kind != Value::Kind::string) return std::nullopt;
  return value->text;
}

std::optional<std::uint64_t> Reader::unsigned_integer() {
  const auto value = next();
  if (!value || value->kind != Value::Kind::integer) return std::nullopt;
  return value->integer;
}

}  // namespace wavejit::lower::msgpack
