// SPDX-License-Identifier: MIT
#include "tests/oracle/product.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "tests/oracle/pack.hpp"

namespace wavejit::oracle {

Matrix activations(const Shape& shape, const Values& values, std::int64_t begin, std::int64_t end) {
  Matrix x(end - begin, shape.k);
  for (std::int64_t m = begin; m < end; ++m) {
    const std::vector<std::uint16_t> row = activation_row(shape, values, m);
    for (std::int64_t k = 0; k < shape.k; ++k)
      x(m - begin, k) = decode(row[static_cast<std::size_t>(k)], shape.format);
  }
  return x;
}

namespace {

int signed_value(unsigned nibble) {
  return nibble < 8 ? static_cast<int>(nibble) : static_cast<int>(nibble) - 16;
}

Matrix dequantised_signed(const Shape& shape, const Values& values, std::int64_t begin, std::int64_t end) {
  Matrix w(end - begin, shape.k);
  std::vector<std::uint8_t> nibbles(static_cast<std::size_t>(shape.k));
  std::vector<double> scales(static_cast<std::size_t>(shape.groups())), zeros(scales.size());
  for (std::int64_t n = begin; n < end; ++n) {
    values.nibbles(n, nibbles);
    values.scales(n, scales);
    if (shape.has_zero_points) values.zeros(n, zeros);
    for (std::int64_t k = 0; k < shape.k; ++k) {
      const auto g = static_cast<std::size_t>(k / shape.group);
      w(n - begin, k) = signed_value(nibbles[static_cast<std::size_t>(k)]) * as_scale(shape, scales[g]) +
                        as_scale(shape, zeros[g]);
    }
  }
  return w;
}

}  // namespace

Matrix dequantised(const Shape& shape, const Values& values, std::int64_t begin, std::int64_t end) {
  if (shape.signed_weights) return dequantised_signed(shape, values, begin, end);
  Matrix w(end - begin, shape.k);
  std::vector<std::uint8_t> nibbles(static_cast<std::size_t>(shape.k));
  std::vector<std::uint8_t> zeros(static_cast<std::size_t>(shape.groups()), std::uint8_t{8});
  for (std::int64_t n = begin; n < end; ++n) {
    values.nibbles(n, nibbles);
    if (shape.has_zero_points) values.zero_points(n, zeros);
    const std::vector<std::uint16_t> scales = scale_row(shape, values, n);
    for (std::int64_t k = 0; k < shape.k; ++k) {
      const auto g = static_cast<std::size_t>(k / shape.group);
      const int q = nibbles[static_cast<std::size_t>(k)] - zeros[g];
      w(n - begin, k) = q * decode(scales[g], shape.format);
    }
  }
  return w;
}

namespace {

using Single = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Finite magnitudes, at most 1, and what they were divided by: their squares neither overflow nor, as far as
/// they matter, underflow.
struct Scaled {
  Single squares;
  double unit = 1;

  explicit Scaled(const Matrix& values) {
    const auto finite = [](double v) { return std::isfinite(v) ? std::fabs(v) : 0.0; };
    unit = std::max(values.unaryExpr(finite).maxCoeff(), std::numeric_limits<double>::min());
    squares = values.unaryExpr([&](double v) { return finite(v) / unit; }).cwiseAbs2().cast<float>();
  }
};

/// Columns in panels, so that the dequantised weights of a wide block never stand in memory whole.
Matrix multiply(const Shape& shape, const Values& values, const Block& block, Matrix* size) {
  constexpr std::int64_t panel = 256;
  const Matrix x = activations(shape, values, block.row_begin, block.row_end);
  std::optional<Scaled> x_squares;
  if (size != nullptr) x_squares.emplace(x);
  Matrix out(block.rows(), block.columns());
  for (std::int64_t begin = block.column_begin; begin < block.column_end; begin += panel) {
    const std::int64_t end = std::min(begin + panel, block.column_end), at = begin - block.column_begin;
    Matrix w = dequantised(shape, values, block.set * shape.n + begin, block.set * shape.n + end);
    out.middleCols(at, end - begin).noalias() = x * w.transpose();
    if (shape.has_bias)
      for (std::int64_t n = begin; n < end; ++n)
        out.col(n - block.column_begin).array() += decode(bias_element(shape, values, n), shape.format);
    if (size == nullptr) continue;
    const double least = shape.format == Format::f16 ? 0x1p-14 : 0x1p-126;
    w = w.unaryExpr([&](double v) { return v == 0 ? 0 : std::max(std::fabs(v), least); });
    const Scaled w_squares(w);
    size->middleCols(at, end - begin) =
        ((x_squares->squares * w_squares.squares.transpose()).cwiseSqrt()).template cast<double>() *
        (x_squares->unit * w_squares.unit);
  }
  return out;
}

}  // namespace

Matrix product(const Shape& shape, const Values& values, const Block& block) {
  return multiply(shape, values, block, nullptr);
}

Reference reference(const Shape& shape, const Values& values, const Block& block) {
  Reference r;
  r.size.resize(block.rows(), block.columns());
  r.value = multiply(shape, values, block, &r.size);
  r.groups = shape.groups();
  return r;
}

}  // namespace wavejit::oracle
