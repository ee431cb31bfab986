// SPDX-License-Identifier: MIT
// The header of a GGUF file: metadata and which tensors it holds where. The format (ggml-org/ggml,
// docs/gguf.md), little-endian: "GGUF", u32 version, u64 number of tensors, u64 number of metadata values;
// per value a string (u64 length, bytes) as key, u32 type, the value, of arrays u32 type and u64 count
// first; per tensor a string as name, u32 number of dimensions, u64 each, the innermost (K) first, u32 type,
// u64 offset from the data's beginning, which is the header's end rounded up to general.alignment (32 where
// it is not said). Versions 2 and 3 are read; they differ in byte order only.
//
// Nobody vouches for a file: every count and length is checked against the bytes that are there before it is
// used, memory is taken in proportion to the file's true size only, and an error (ErrorCode::io; unsupported
// for versions that exist but are not read) names the file, the part, what it says and what would be right.
// Tensors whose size is known lie inside the file, aligned and apart; gaps are taken. A tensor of a type that
// we do not know, or of a shape that the format does not have, is listed as unusable and takes nothing from
// the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/support/error.hpp"
#include "runtime/gguf/types.hpp"

namespace wavejit::gguf {

enum class ValueType : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64
};
std::string_view name(ValueType type);

/// A metadata value, as the file has it: nothing is copied, so it lives as long as the header's bytes.
struct Value {
  ValueType type = ValueType::u8;
  ValueType element = ValueType::u8;  ///< of an array
  std::uint64_t count = 1;            ///< elements of an array
  std::span<const std::byte> bytes;   ///< of a string without its length, of an array without type and count

  /// Nothing where the value is another kind, negative or beyond the result.
  [[nodiscard]] std::optional<std::uint64_t> unsigned_integer() const;
  [[nodiscard]] std::optional<std::string_view> text() const;
};

struct Tensor {
  std::string name;
  std::uint32_t type_number = 0;
  const TypeInfo* type = nullptr;        ///< nullptr where nobody told us of the number
  std::vector<std::int64_t> dimensions;  ///< 1 to 4, unless unusable; the first is a row's length
  /// Bytes of the file; of an unusable tensor, whose size is not known, up to what follows it at most.
  std::uint64_t begin = 0, end = 0;
  std::string unusable;  ///< why its values cannot be read, a clause; the next three are of usable tensors

  /// "q4_k", or "type 137".
  [[nodiscard]] std::string type_name() const;
  [[nodiscard]] std::int64_t row_elements() const { return dimensions.front(); }
  [[nodiscard]] std::uint64_t row_bytes() const {
    return static_cast<std::uint64_t>(row_elements()) / type->block_elements * type->block_bytes;
  }
  /// All dimensions but the first.
  [[nodiscard]] std::int64_t rows() const;
};

struct Header {
  std::uint32_t version = 0;
  std::uint64_t alignment = 32, data_begin = 0;
  std::map<std::string, Value, std::less<>> metadata;
  std::vector<Tensor> tensors;  ///< in the file's order

  [[nodiscard]] const Value* find(std::string_view key) const;
  [[nodiscard]] const Tensor* tensor(std::string_view name) const;
};

/// Whether the tensors' bytes must be in the file, or it may end with its header.
enum class Data : std::uint8_t { present, may_be_absent };

/// `head`: the file's first bytes, whole header at least; `file_bytes`: the whole file; `file` names it.
Result<Header> parse_header(std::span<const std::byte> head, std::uint64_t file_bytes, std::string_view file,
                            Data data = Data::present);

/// In quotes, without control characters, cut where it is long: names and texts of files for messages.
std::string name_text(std::string_view name);

}  // namespace wavejit::gguf
