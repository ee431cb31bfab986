// SPDX-License-Identifier: MIT
// A GGUF file, or all parts of one that was split (NAME-00001-of-00003.gguf: split.no, split.count,
// split.tensors.count in their metadata), mapped into memory: tensors are read where they lie. A file that
// somebody truncates while it is mapped ends the process that reads it, as with every mapping.
#pragma once

#include <filesystem>
#include <memory>

#include "runtime/gguf/header.hpp"

namespace wavejit::gguf {

class Mapping {
 public:
  Mapping(const std::byte* data, std::size_t size) : data_(data), size_(size) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_;
  std::size_t size_;
};

/// One file. Its header's values point into the mapping.
struct Part {
  std::filesystem::path path;
  std::unique_ptr<const Mapping> mapping;
  Header header;
};

/// A tensor and the part that holds it.
struct Located {
  const Part* part = nullptr;
  const Tensor* tensor = nullptr;

  /// Fewer bytes than the tensor has where the file was opened without its data.
  [[nodiscard]] std::span<const std::byte> bytes() const;
};

class File {
 public:
  /// `path`: a whole file or any part of a split one, whose other parts lie beside it. Errors: io (a file
  /// cannot be read or is malformed, a part is missing or belongs to another model), unsupported.
  static Result<File> open(const std::filesystem::path& path, Data data = Data::present);

  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  [[nodiscard]] const std::vector<Located>& tensors() const { return tensors_; }
  /// The first part's metadata are the model's.
  [[nodiscard]] const Header& header() const { return parts_.front().header; }
  [[nodiscard]] std::optional<Located> find(std::string_view tensor) const;

 private:
  std::vector<Part> parts_;  // never grows after open(): tensors_ points into it
  std::vector<Located> tensors_;
};

}  // namespace wavejit::gguf
