// SPDX-License-Identifier: MIT
// The element types of GGUF tensors: a row is whole blocks of `block_elements` values in `block_bytes` bytes.
// Numbers and sizes: ggml.h (enum ggml_type) and ggml-common.h; tests/scripts/check_gguf.py compares them
// with the `gguf` Python package.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace wavejit::gguf {

struct TypeInfo {
  std::uint32_t number = 0;
  std::string_view name;                              ///< "q4_k"
  std::uint64_t block_elements = 0, block_bytes = 0;  ///< 0 = retired: the number is kept, no file may use it
};

/// nullptr for a number that never was a type. All types, retired ones too, by number.
const TypeInfo* find_type(std::uint32_t number);
std::span<const TypeInfo> all_types();

}  // namespace wavejit::gguf
