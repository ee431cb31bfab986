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

std::vector<double> scales_of(const Shape& shape, const Values& values, std::int64_t n) {
  std::vector<double> scales(static_cast<std::size_t>(shape.groups()));
  if (shape.signed_weights) {
    values.scales(n, scales);
    for (double& s : scales) s = as_scale(shape, s);
  } else {
    std::ranges::transform(scale_row(shape, values, n), scales.begin(),
                           [&](std::uint16_t bits) { return decode(bits, shape.format); });
  }
  return scales;
}

Matrix dequantised_signed(const Shape& shape, const Values& values, std::int64_t begin, std::int64_t end) {
  Matrix w(end - begin, shape.k);
  std::vector<std::uint8_t> nibbles(static_cast<std::size_t>(shape.k));
  std::vector<double> zeros(static_cast<std::size_t>(shape.groups()));
  for (std::int64_t n = begin; n < end; ++n) {
    values.nibbles(n, nibbles);
    const std::vector<double> scales = scales_of(shape, values, n);
    if (shape.has_zero_points) values.zeros(n, zeros);
    for (std::int64_t k = 0; k < shape.k; ++k) {
      const auto g = static_cast<std::size_t>(k / shape.group);
      w(n - begin, k) =
          signed_value(nibbles[static_cast<std::size_t>(k)]) * scales[g] + as_scale(shape, zeros[g]);
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
    const std::vector<double> scales = scales_of(shape, values, n);
    for (std::int64_t k = 0; k < shape.k; ++k) {
      const auto g = static_cast<std::size_t>(k / shape.group);
      const int q = nibbles[static_cast<std::size_t>(k)] - zeros[g];
      w(n - begin, k) = q * scales[g];
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

/// What the rounding of each weight is a share of. A kernel may add (136 + q) x over a group in f32 and take
/// 136 times the sum of x away again: rounding those sums of G terms is worth up to 136 2^-24 sqrt(G) of a
/// scale a weight where even the weight is zero; over 0.003, the smallest bar, as a size.
void to_magnitudes(const Shape& shape, const std::vector<double>& scales, Eigen::Ref<Eigen::RowVectorXd> w) {
  const double smallest = shape.format == Format::f16 ? 0x1p-14 : 0x1p-126;
  const double share = 136 * 0x1p-24 / 0.003 * std::sqrt(static_cast<double>(shape.group));
  for (std::int64_t k = 0; k < shape.k; ++k) {
    const double sums = share * std::fabs(scales[static_cast<std::size_t>(k / shape.group)]);
    w[k] = std::max({std::fabs(w[k]), w[k] == 0 ? 0 : smallest, sums});
  }
}

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
    for (std::int64_t n = begin; n < end; ++n)
      to_magnitudes(shape, scales_of(shape, values, block.set * shape.n + n), w.row(n - begin));
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
