// SPDX-License-Identifier: MIT
// Writes small GGUF files, right and wrong ones, byte by byte after ggml's docs/gguf.md. Sizes of types come
// from the caller: the writer knows none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wavejit::gguf::test {

template <class T>
std::string raw(T value) {
  std::string bytes(sizeof value, '\0');
  __builtin_memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
inline std::string u32(std::uint64_t value) { return raw(static_cast<std::uint32_t>(value)); }
inline std::string u64(std::uint64_t value) { return raw(value); }
inline std::string text(std::string_view s) { return u64(s.size()) + std::string(s); }

/// Key, type number, value.
inline std::string entry(std::string_view key, std::uint32_t type, const std::string& value) {
  return text(key) + u32(type) + value;
}
inline std::string array(std::uint32_t element, std::uint64_t count, const std::string& values) {
  return u32(element) + u64(count) + values;
}
inline std::string tensor(std::string_view name, const std::vector<std::uint64_t>& dimensions,
                          std::uint32_t type, std::uint64_t offset) {
  std::string bytes = text(name) + u32(dimensions.size());
  for (const std::uint64_t d : dimensions) bytes += u64(d);
  return bytes + u32(type) + u64(offset);
}

struct Pieces {
  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::vector<std::string> entries, tensors;
  std::string data;
  std::uint64_t alignment = 32;

  [[nodiscard]] std::string bytes() const {
    std::string all = magic + u32(version) + u64(tensors.size()) + u64(entries.size());
    for (const std::string& e : entries) all += e;
    for (const std::string& t : tensors) all += t;
    if (!data.empty()) all.resize((all.size() + alignment - 1) / alignment * alignment);
    return all + data;
  }
};

/// A file with a value of every type, arrays of strings and of arrays, and tensors of four types:
/// norm f32 [4], up q4_k [256, 2], down q6_k [512, 3] and experts q8_0 [32, 2, 3].
inline Pieces good_pieces() {
  Pieces p;
  p.entries = {entry("general.architecture", 8, text("tiny")),
               entry("a.u8", 0, raw(std::uint8_t{200})),
               entry("a.i8", 1, raw(std::int8_t{-3})),
               entry("a.u16", 2, raw(std::uint16_t{60000})),
               entry("a.i16", 3, raw(std::int16_t{-300})),
               entry("a.u32", 4, u32(4000000000)),
               entry("a.i32", 5, raw(std::int32_t{7})),
               entry("a.f32", 6, raw(1.5F)),
               entry("a.bool", 7, std::string(1, '\1')),
               entry("a.u64", 10, u64(1ULL << 40)),
               entry("a.i64", 11, raw(std::int64_t{-1})),
               entry("a.f64", 12, raw(2.5)),
               entry("tokens", 9, array(8, 3, text("a") + text("") + text("bcd"))),
               entry("nested", 9, array(9, 2, array(4, 2, u32(1) + u32(2)) + array(8, 1, text("x"))))};
  p.tensors = {tensor("norm", {4}, 0, 0), tensor("up", {256, 2}, 12, 32),
               tensor("down", {512, 3}, 14, 32 + 288), tensor("experts", {32, 2, 3}, 8, 32 + 288 + 1280)};
  p.data = std::string(32 + 288 + 1280 + 204, '\x11');  // 16 + pad, 2 * 144, 3 * 420 + pad, 6 * 34
  return p;
}

}  // namespace wavejit::gguf::test
