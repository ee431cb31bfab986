// SPDX-License-Identifier: MIT
// GGUF K-quants by their definition (shared/domain.md §2.1, from ggml-common.h and gguf-py quants.py): the
// value of each element of a superblock, and the two quantisations of activations, Q8_1 (32 elements share
// a scale) and Q8_K (256 elements). Written element by element, for reading; the kernels share no code with
// it. tests/scripts/check_gguf.py compares it with the `gguf` Python package.
//
// A row of K elements is K / 256 superblocks without padding. Byte order is little-endian. Q8_0 and Q4_0 have
// blocks of 32 elements; eight of those are taken as a superblock here, and the last may have fewer.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace wavejit::oracle::kquant {

enum class Type : std::uint8_t { q4_k, q5_k, q6_k, q8_0, q4_0 };

inline constexpr std::int64_t elements = 256;  ///< of a superblock

/// Bytes of a superblock: 144, 176, 210, 272, 144.
std::int64_t block_bytes(Type type);

/// Exact value of element `e` (0..255) of a superblock: products and differences of an f16 and small
/// integers, which a double holds.
double element(Type type, std::span<const std::uint8_t> block, std::int64_t e);

/// All K elements of a row of superblocks.
std::vector<double> dequantise(Type type, std::span<const std::uint8_t> row);

/// A row of K elements with every bit of quants and scales random and d, dmin of either sign in
/// [2^-9, 2^-6): drawn from std::mt19937_64 seeded with (seed, row).
std::vector<std::uint8_t> random_row(Type type, std::int64_t k, std::uint64_t seed, std::int64_t row);

/// 32 activations. Scale and sum are kept in f32: in f16 they overflow (llama.cpp#21652, #22571).
struct Q8_1 {
  float d = 0;     ///< max |x| / 127
  double sum = 0;  ///< of the original x
  std::array<std::int8_t, 32> q{};
};
/// q = x / d rounded half away from zero; d = 0 and all q zero where max |x| is below 2^-100, d NaN where an
/// x is not finite (templates/kquant/quantise.hpp).
Q8_1 quantise_q8_1(std::span<const float> x);
/// A whole row, K / 32 blocks.
std::vector<Q8_1> quantise_row_q8_1(std::span<const float> x);

/// 256 activations.
struct Q8_K {
  float d = 0;  ///< -(x of largest magnitude, with its sign) / 127
  std::array<std::int8_t, 256> q{};
  std::array<std::int16_t, 16> sums{};  ///< of 16 q each
};
Q8_K quantise_q8_k(std::span<const float> x);

/// sum of w * x over a row, in double: weights exact, activations as they are.
double dot(Type type, std::span<const std::uint8_t> row, std::span<const float> x);

/// The same with quantised activations: the scaled part of a weight meets d * q, the subtracted minimum
/// of Q4_K and Q5_K meets the sum of the originals. In double, from exact integers.
double dot(Type type, std::span<const std::uint8_t> row, std::span<const Q8_1> x);
/// With Q8_K the minimum meets d * sums.
double dot(Type type, std::span<const std::uint8_t> row, std::span<const Q8_K> x);

/// What a product must be, and how far from it arithmetic in f32 may end: hard bounds from the roundings of
/// templates/kquant, by docs/numerics.md.
struct Reference {
  double exact = 0;        ///< activations as they are
  double model = 0;        ///< activations as quantised
  double exact_bound = 0;  ///< of |output - exact|
  double model_bound = 0;  ///< of |output - model|
  /// What is added to model_bound where `used` was not read back from the quantiser, which may round a
  /// quotient next to a half to the other side and sums in f32.
  double quantiser_slack = 0;
};
Reference reference(Type type, std::span<const std::uint8_t> row, std::span<const float> x,
                    std::span<const Q8_1> used);
/// |got - reference| / bound: right up to 1. What is not finite in the reference must not be finite in `got`;
/// beyond f32 an infinity is right.
double of_bound(float got, double reference, double bound);
/// Why `got` is no quantisation of `x` by f32 arithmetic; empty if it is one.
std::string wrong(const Q8_1& got, std::span<const float> x);

/// sum (got - reference)^2 / sum reference^2.
double nmse(std::span<const float> got, std::span<const double> reference);

}  // namespace wavejit::oracle::kquant
