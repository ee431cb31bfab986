// SPDX-License-Identifier: MIT
// Private to the CDNA families: how scales and zero points lie. W4A16: by column, [N, K/group]; the other
// operations: by group, [K/group, N].
#pragma once

#include "templates/problem.hpp"

namespace wavejit::templates::cdna {

class ScaleLayout {
 public:
  explicit ScaleLayout(const Problem& problem) : problem_(problem) {}

  [[nodiscard]] bool by_column() const { return problem_.op == Operation::w4a16; }
  [[nodiscard]] bool has_zeros() const { return problem_.zero_points != ZeroPoints::symmetric; }
  [[nodiscard]] bool packed_zeros() const { return problem_.zero_points == ZeroPoints::packed; }
  [[nodiscard]] unsigned scale_bytes() const {
    return bytes(by_column() ? problem_.activation : problem_.scale_type);
  }
  /// Bytes from one group's scale (float zero) of a column to the next group's.
  [[nodiscard]] std::int64_t scale_distance() const {
    return by_column() ? scale_bytes() : problem_.scale_stride * scale_bytes();
  }

 private:
  const Problem& problem_;
};

}  // namespace wavejit::templates::cdna
