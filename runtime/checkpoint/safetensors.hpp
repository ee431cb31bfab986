// SPDX-License-Identifier: MIT
// The header of a safetensors file: which tensors it holds and where. The format (huggingface/safetensors,
// README "Format"): u64 little-endian length of the header, the header as one JSON object
// {"NAME": {"dtype": "F16", "shape": [2, 3], "data_offsets": [begin, end]}, ..., "__metadata__": {...}},
// possibly padded with spaces, then the data; offsets count from the data's beginning and the tensors cover
// it without holes or overlaps.
//
// Nobody vouches for a file: every length is checked against the bytes that are there before it is used,
// memory is taken in proportion to the file's true size only, and an error names the file, the part, what it
// says and what would be right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/support/error.hpp"

namespace wavejit::checkpoint {

struct TensorEntry {
  std::string name;
  std::string dtype;                 ///< as written: "I32", "F16", "BF16", ...
  std::vector<std::int64_t> shape;   ///< none = a scalar
  std::uint64_t begin = 0, end = 0;  ///< bytes of the file
};

/// Longest header that the format's own library takes, bytes.
inline constexpr std::uint64_t max_header_bytes = 100'000'000;

/// The tensors of a file of `file_bytes` bytes that begins with `head`, which must hold at least the length
/// and the header, in the order of their data. `file` names it in errors (ErrorCode::io).
Result<std::vector<TensorEntry>> parse_header(std::span<const std::byte> head, std::uint64_t file_bytes,
                                              std::string_view file);

/// Reads no more than the header.
Result<std::vector<TensorEntry>> read_header(const std::filesystem::path& path);

/// The tensor's bytes, in memory aligned to 8 bytes; the vector's last word may be padded with zeros.
Result<std::vector<std::uint64_t>> read_data(const std::filesystem::path& path, const TensorEntry& tensor);

/// Bytes of an element; 0 for a dtype that is not known here or has none of its own (sub-byte types).
std::uint64_t element_bytes(std::string_view dtype);

}  // namespace wavejit::checkpoint
