// SPDX-License-Identifier: MIT
// The reference: exactly dequantised weights, products and sums in double by Eigen, for a block of
// rows and columns. A double holds (q - z) * s and x * w exactly (q * s + z of f32 numbers to 2^-53); what is
// left is the sum's error of about K * 2^-53, far below any 16-bit output.
#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "tests/oracle/problem.hpp"

namespace wavejit::oracle {

/// A half-open rectangle of the output, and the set of weights that makes it.
struct Block {
  std::int64_t row_begin = 0, row_end = 0;
  std::int64_t column_begin = 0, column_end = 0;
  std::int64_t set = 0;

  [[nodiscard]] std::int64_t rows() const { return row_end - row_begin; }
  [[nodiscard]] std::int64_t columns() const { return column_end - column_begin; }
  friend bool operator==(const Block&, const Block&) = default;
};

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Rows [begin, end) of x, as the format holds them.
Matrix activations(const Shape& shape, const Values& values, std::int64_t begin, std::int64_t end);

/// Rows [begin, end) of the dequantised weights, exact.
Matrix dequantised(const Shape& shape, const Values& values, std::int64_t begin, std::int64_t end);

/// The product for `block`, rows x columns. NaN and infinity go through as IEEE 754 has them.
Matrix product(const Shape& shape, const Values& values, const Block& block);

/// With what errors are measured by: a rounding of each weight by a share u of itself moves an output by
/// about u * size, however small the output happens to be.
struct Reference {
  Matrix value;
  Matrix size;              ///< sqrt(sum (x w)^2), w at least the format's least normal; in f32
  std::int64_t groups = 1;  ///< along K
};
Reference reference(const Shape& shape, const Values& values, const Block& block);

}  // namespace wavejit::oracle
