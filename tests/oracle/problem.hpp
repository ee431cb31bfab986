// SPDX-License-Identifier: MIT
// The oracle's own description of a quantised product and of the values in its tensors:
//   out[m, n] = bias[n] + sum over k of x[m, k] * (q[n, k] - z[n, k / group]) * s[n, k / group]
// with x [M, K], s [N, K/group] and bias [N] in a 16-bit float format, q [N, K] unsigned nibbles and
// z [N, K/group] nibbles, constant 8 when the problem is symmetric; without a bias that term is 0.
//
// With signed weights (shared/domain.md §1.9) q is the nibble in two's complement and z a float that is
// added after scaling:
//   out[m, n] = sum over k of x[m, k] * (q[n, k] * s[n, k / group] + z[n, k / group])
// Several sets of weights (batches, groups of rows) lie one after another: column n of set i is row
// i * N + n of q, s and z.
//
// Values come row by row from functions of the row's index alone, so a tensor of many GiB needs
// only the rows that somebody looks at, and every look sees the same numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "tests/oracle/format.hpp"

namespace wavejit::oracle {

/// The format of scales and of zeros that are added: the activations', or the one named.
enum class ScaleFormat : std::uint8_t { of_activations, bf16, f16, f32 };

struct Shape {
  Format format = Format::bf16;
  std::int64_t n = 0, k = 0;
  std::int64_t group = 0;  ///< divides k
  bool has_zero_points = false;
  bool has_bias = false;
  bool signed_weights = false;  ///< has_zero_points then means floats, values.zeros
  ScaleFormat scale_format = ScaleFormat::of_activations;

  [[nodiscard]] std::int64_t groups() const { return k / group; }
};

/// Fills a row: `out` has K entries for activations and nibbles, K/group for scales and zero points.
using FloatRow = std::function<void(std::int64_t row, std::span<double> out)>;
using NibbleRow = std::function<void(std::int64_t row, std::span<std::uint8_t> out)>;

struct Values {
  FloatRow activations;   ///< rounded to the format before anybody uses them
  NibbleRow nibbles;      ///< 0..15
  FloatRow scales;        ///< rounded to the format before anybody uses them
  NibbleRow zero_points;  ///< 0..15; not called for a symmetric problem
  /// Of column n, rounded to the format before anybody uses it; not called for a problem without.
  std::function<double(std::int64_t n)> bias;
  FloatRow zeros;  ///< of signed weights, rounded like scales; not called for a problem without
};

/// Activations ~ N(0, 1), nibbles uniform, scales in [0.75, 1.25) * 2^-7 with either sign, zero
/// points uniform, biases ~ N(0, 1), zeros uniform in (-2^-4, 2^-4), as large as scaled weights. Each row is
/// drawn from std::mt19937_64 seeded with (seed, tensor, row).
Values random_values(std::uint64_t seed);

/// The same number everywhere and no bias; `q` is the signed value of a weight, so its nibble is q + 8.
Values constant_values(double x, int q, double s);
/// The same for signed weights, `z` added to each.
Values constant_signed_values(double x, int q, double s, double z = 0);

/// Rows from a function of one element each, for hand-made cases.
FloatRow each(std::function<double(std::int64_t row, std::int64_t column)> f);
NibbleRow each_nibble(std::function<int(std::int64_t row, std::int64_t column)> f);

}  // namespace wavejit::oracle
