// SPDX-License-Identifier: MIT
// Writes small checkpoint folders: safetensors files by the format's own description
// (huggingface/safetensors, README "Format"), and config.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/harness/checkpoint.hpp"

namespace wavejit::checkpoint::test {

struct NamedTensor {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};

/// The matrix without its gaps; with `vector`, its only row.
NamedTensor named(const std::string& name, const repack::test::Matrix& matrix, bool vector = false);

/// Length, header and data, in the order given.
std::string safetensors(const std::vector<NamedTensor>& tensors);

/// Length and this header, then the data.
std::string with_header(const std::string& header, const std::string& data = {});

/// The tensors of a checkpoint under the names that its format uses, LAYER.qweight and so on.
std::vector<NamedTensor> tensors_of(const repack::test::Checkpoint& c, const std::string& layer);

/// A fresh folder, removed at the end.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void write(const std::string& file, const std::string& bytes) const;
  void write_config(const nlohmann::json& quantization) const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace wavejit::checkpoint::test
