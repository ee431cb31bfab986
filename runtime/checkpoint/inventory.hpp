// SPDX-License-Identifier: MIT
// What a checkpoint folder holds: its configuration and the tensors of its *.safetensors files. Files whose
// names begin with "._" (AppleDouble) are no part of it. Where there is a *.safetensors.index.json its
// weight_map says which file a tensor is in, and files that it does not name are left out. What cannot be
// read blocks only the tensors that it holds.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/checkpoint/config.hpp"
#include "runtime/checkpoint/safetensors.hpp"

namespace wavejit::checkpoint {

struct PlacedTensor {
  std::shared_ptr<const File> file;
  TensorEntry entry;
};

struct Inventory {
  QuantConfig config;
  std::map<std::string, PlacedTensor, std::less<>> tensors;
  /// Tensors that are named and cannot be read: their file is missing or broken, or several have them.
  std::map<std::string, Error, std::less<>> unreadable;
  /// Without an index: files that others' names count (-00001-of-00003) and that are not there. What they
  /// hold nobody says.
  std::vector<std::string> missing;
  std::vector<std::string> notes;  ///< clauses: files that were left out or could not be read
};

/// Reads headers only. Errors: io, invalid_argument (no folder, no file, none that can be read).
Result<Inventory> read_inventory(const std::filesystem::path& folder);

}  // namespace wavejit::checkpoint
