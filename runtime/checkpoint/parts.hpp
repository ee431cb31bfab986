// SPDX-License-Identifier: MIT
// The tensors of one layer, by name.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/inventory.hpp"

namespace wavejit::checkpoint {

inline constexpr std::array<const char*, 12> part_names{
    "qweight",           "scales",       "qzeros",       "g_idx",  "weight_packed", "weight_scale",
    "weight_zero_point", "weight_shape", "weight_g_idx", "weight", "zero_points",   "bias"};

/// Names that LAYER's part may have.
std::vector<std::string> part_candidates(std::string_view layer, std::string_view part);

class Parts {
 public:
  Parts(const Inventory& folder, std::string_view layer);

  /// The layer's name without "[index]", where it is a layer of several in one tensor.
  [[nodiscard]] const std::string& base() const { return base_; }
  [[nodiscard]] std::optional<std::int64_t> index() const { return index_; }
  /// Null where there is none.
  [[nodiscard]] const PlacedTensor* find(std::string_view part) const;
  /// qweight, weight_packed or weight; null where there is none.
  [[nodiscard]] const PlacedTensor* weights() const;
  /// Why a tensor that the folder names cannot be read, if so.
  [[nodiscard]] const Error* unreadable() const;

 private:
  [[nodiscard]] bool has_weights(const std::string& base) const;

  const Inventory& folder_;
  std::string base_;
  std::optional<std::int64_t> index_;
};

/// Of integers, as packed weights are.
inline bool of_integers(const TensorEntry& e) {
  return e.dtype == "I32" || e.dtype == "U8" || e.dtype == "I8";
}

}  // namespace wavejit::checkpoint
