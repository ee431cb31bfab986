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
#include <memory>
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

/// A file, mapped into memory: nothing but its header is read until somebody looks at a tensor. A file that
/// somebody truncates while it is mapped ends the process that reads it, as with every mapping.
class File {
 public:
  /// Errors: io for a file that cannot be read or is malformed, or is a Git LFS pointer.
  static Result<std::shared_ptr<const File>> open(const std::filesystem::path& path);
  File(std::string name, std::span<const std::byte> mapped, std::vector<TensorEntry> tensors)
      : name_(std::move(name)), mapped_(mapped), tensors_(std::move(tensors)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<TensorEntry>& tensors() const { return tensors_; }
  /// Of an entry of this file; aligned as the file has it.
  [[nodiscard]] std::span<const std::byte> bytes(const TensorEntry& tensor) const {
    return mapped_.subspan(tensor.begin, tensor.end - tensor.begin);
  }

 private:
  std::string name_;
  std::span<const std::byte> mapped_;
  std::vector<TensorEntry> tensors_;
};

/// git-lfs, docs/spec.md: the first line of a pointer, and the length below which all of them are.
inline bool is_lfs_pointer(std::string_view text) {
  return text.size() < 1024 && text.starts_with("version https://git-lfs.github.com/spec/v1");
}
inline constexpr const char* lfs_pointer = "a Git LFS pointer, without the file's own bytes";
inline constexpr const char* lfs_advice = "the file itself, as git lfs pull fetches it";

/// Bytes of an element; 0 for a dtype that is not known here or has none of its own (sub-byte types).
std::uint64_t element_bytes(std::string_view dtype);

}  // namespace wavejit::checkpoint
