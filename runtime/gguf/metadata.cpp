// SPDX-License-Identifier: MIT
#include "runtime/gguf/metadata.hpp"

#include <array>

namespace wavejit::gguf {
namespace {

constexpr std::array<std::string_view, 13> names{"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                                 "bool", "string", "array", "u64", "i64", "f64"};
constexpr unsigned deepest = 4;

/// 0 for a string or an array.
constexpr std::uint64_t size_of(ValueType type) {
  constexpr std::array<std::uint64_t, 13> sizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return sizes[static_cast<std::size_t>(type)];
}

Result<ValueType> read_type(Cursor& cursor, const std::string& what) {
  const auto type = cursor.read<std::uint32_t>(what + "'s type");
  if (!type) return std::unexpected(type.error());
  if (*type >= names.size())
    return cursor.place().bad(what + "'s type", std::to_string(*type), "0 to 12, a type of the format");
  return static_cast<ValueType>(*type);
}

/// Fewest bytes of an element: what a count is checked against before anything is read.
constexpr std::uint64_t least_bytes(ValueType type) {
  constexpr std::uint64_t string_length = 8, array_type_and_count = 12;
  if (type == ValueType::string) return string_length;
  return type == ValueType::array ? array_type_and_count : size_of(type);
}

Result<void> skip_array(Cursor& cursor, Value& value, const std::string& what, unsigned depth);

Result<void> skip_element(Cursor& cursor, ValueType type, const std::string& what, unsigned depth) {
  if (type == ValueType::string) {
    const auto text = cursor.string(what + "'s string");
    return text ? Result<void>{} : std::unexpected(text.error());
  }
  Value inner;
  return skip_array(cursor, inner, what, depth + 1);
}

Result<void> skip_array(Cursor& cursor, Value& value, const std::string& what, unsigned depth) {
  if (depth > deepest)
    return cursor.place().bad(what, "an array nested deeper", fmt::format("{} deep at most", deepest));
  const auto element = read_type(cursor, what + "'s elements");
  if (!element) return std::unexpected(element.error());
  const auto count = cursor.read<std::uint64_t>(what + "'s count");
  if (!count) return std::unexpected(count.error());
  const std::uint64_t most = cursor.left() / least_bytes(*element);
  if (*count > most)
    return cursor.place().bad(what + "'s count", std::to_string(*count),
                              fmt::format("at most {}, which the file's rest could hold", most));
  value.element = *element;
  value.count = *count;
  if (const std::uint64_t size = size_of(*element); size != 0) {
    const auto raw = cursor.take(*count * size, what);
    return raw ? Result<void>{} : std::unexpected(raw.error());
  }
  for (std::uint64_t i = 0; i < *count; ++i)
    if (auto ok = skip_element(cursor, *element, what, depth); !ok) return ok;
  return {};
}

Result<Value> read_value(Cursor& cursor, ValueType type, const std::string& what) {
  Value value;
  value.type = type;
  if (type == ValueType::string) {
    const auto text = cursor.string(what);
    if (!text) return std::unexpected(text.error());
    value.bytes = std::as_bytes(std::span(*text));
    return value;
  }
  if (type == ValueType::array) {
    constexpr std::uint64_t type_and_count = 12;
    Cursor rest = cursor;
    if (auto ok = skip_array(rest, value, what, 1); !ok) return std::unexpected(ok.error());
    const auto all = cursor.take(rest.at() - cursor.at(), what);
    value.bytes = all->subspan(type_and_count);
    return value;
  }
  const auto raw = cursor.take(size_of(type), what);
  if (!raw) return std::unexpected(raw.error());
  value.bytes = *raw;
  if (type == ValueType::boolean && std::to_integer<unsigned>(raw->front()) > 1)
    return cursor.place().bad(what, fmt::format("the bool {}", std::to_integer<unsigned>(raw->front())),
                              "0 or 1");
  return value;
}

template <class T>
std::optional<std::uint64_t> nonnegative(std::span<const std::byte> bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  if (value < T{0}) return {};
  return static_cast<std::uint64_t>(value);
}

}  // namespace

std::string_view name(ValueType type) { return names[static_cast<std::size_t>(type)]; }

std::optional<std::uint64_t> Value::unsigned_integer() const {
  switch (type) {
    case ValueType::u8:
      return nonnegative<std::uint8_t>(bytes);
    case ValueType::i8:
      return nonnegative<std::int8_t>(bytes);
    case ValueType::u16:
      return nonnegative<std::uint16_t>(bytes);
    case ValueType::i16:
      return nonnegative<std::int16_t>(bytes);
    case ValueType::u32:
      return nonnegative<std::uint32_t>(bytes);
    case ValueType::i32:
      return nonnegative<std::int32_t>(bytes);
    case ValueType::u64:
      return nonnegative<std::uint64_t>(bytes);
    case ValueType::i64:
      return nonnegative<std::int64_t>(bytes);
    default:
      return {};
  }
}

std::optional<std::string_view> Value::text() const {
  if (type != ValueType::string) return {};
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<std::pair<std::string_view, Value>> read_entry(Cursor& cursor, std::uint64_t index) {
  constexpr std::uint64_t longest_key = 65535;  // docs/gguf.md
  const std::string nameless = fmt::format("metadata key {}", index);
  const auto key = cursor.string(nameless);
  if (!key) return std::unexpected(key.error());
  if (key->empty() || key->size() > longest_key)
    return cursor.place().bad(nameless + "'s length", fmt::format("{} bytes", key->size()),
                              fmt::format("1 to {}", longest_key));
  const std::string what = "metadata " + name_text(*key);
  const auto type = read_type(cursor, what);
  if (!type) return std::unexpected(type.error());
  auto value = read_value(cursor, *type, what);
  if (!value) return std::unexpected(std::move(value.error()));
  return std::pair(*key, *value);
}

}  // namespace wavejit::gguf
