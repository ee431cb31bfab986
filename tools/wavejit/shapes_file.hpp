// SPDX-License-Identifier: MIT
// A list of problems in a file, for `wavejit bundle`:
//
//   [{"shape": "gate_up", "m": [1, 2048]},
//    {"n": 6144, "k": 2560, "group": 32, "m": 16, "rounding": "nearest", "tile": [64, 64, 32]}]
//
// The fields of an item are the flags of `wavejit emit` that describe problem and config, with their values:
// numbers, texts, true for a flag without a value, lists for a flag that takes several; "_" may stand for
// "-". `m` is a number of rows or the first and the last of a range. `target` comes from --arch. {"shapes":
// [...]} is the same as the list.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/wavejit/options.hpp"

namespace wavejit::tools {

struct ShapeItem {
  ProblemOptions options;            ///< m and target are to be filled in
  std::int64_t first = 0, last = 0;  ///< rows
  std::string place;                 ///< "shapes.json, item 3"
};

/// Errors: io; invalid_argument, with the item and the field that is wrong.
Result<std::vector<ShapeItem>> read_shapes(const std::filesystem::path& path);

}  // namespace wavejit::tools
