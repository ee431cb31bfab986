// SPDX-License-Identifier: MIT
// Decode with GGUF K-quant weights: output[m, n] = sum over k of dequantised(weights[n, k]) * x[m, k] for 1
// to 8 rows of activations, f32 output. Weights stay as the file has them: a row is K / 256 superblocks of
// 144 (Q4_K), 176 (Q5_K) or 210 (Q6_K) bytes, without padding; of Q8_0 and Q4_0, whose blocks have 32
// elements, eight blocks in a row are such a superblock, 272 or 144 bytes, and the last may have fewer.
// Activations are quantised beforehand, 320 bytes for every 256 elements: int8 q[256], then for each 32
// elements f32 d * 2^-16 and f32 s * 2^-16, x being about d * q and s the sum of the 32 originals (Q8_1, with
// d and s in f32 so that they do not overflow as f16 would, and so much smaller that products and sums of
// finite activations do not overflow before the output does). A row whose K is no multiple of 256 ends with
// blocks of zeros. quantise.hpp makes them.
//
// One wave computes `rows` rows. The lanes of a load share superblocks: with 16 bytes a lane, 32 lanes read
// the quants of four neighbouring superblocks; what is left of a row after the fours is read with 8 or 4
// bytes a lane, two superblocks or one, so that every lane has work for any number of superblocks. Waves of
// 64 take twice as many superblocks at a time; only of an odd number half of one pass's lanes have none. Dot
// products are exact integers (v_dot4_i32_iu8, on gfx9 v_dot4_i32_i8), scaled and summed in f32 in an order
// that depends on neither `rows` nor the other activations: a row's result has the same bits for any m.
#pragma once

#include <cstdint>
#include <string>

#include "templates/kernel.hpp"

namespace wavejit::templates::kquant {

using Type = GgufType;

inline constexpr std::int64_t superblock = 256;              ///< elements
inline constexpr std::int64_t activation_block_bytes = 320;  ///< of a superblock of activations
inline constexpr unsigned max_m = 8;
inline constexpr int activation_scale = -16;  ///< log2 of what d and s are multiplied by

/// Elements that K is a multiple of: 256, of Q8_0 and Q4_0 32.
std::int64_t block_elements(Type type);
/// Bytes of a superblock of weights.
std::int64_t block_bytes(Type type);
/// Of a row of `k` elements, the last one whole or not.
inline std::int64_t superblocks(std::int64_t k) { return (k + superblock - 1) / superblock; }

struct Problem {
  Type type = Type::q4_k;
  std::int64_t n = 0;  ///< rows of weights, 1 up to 2^31 - 1
  std::int64_t k =
      0;  ///< a multiple of block_elements(type); a row of weights or activations stays below 2^30 bytes
  unsigned m = 1;  ///< rows of activations, 1 to 8: a constant of the code
};

/// Bytes of a row of weights.
std::int64_t row_bytes(const Problem& problem);
/// Bytes of a row of quantised activations.
std::int64_t activation_row_bytes(const Problem& problem);

struct Config {
  unsigned rows = 0;            ///< rows of weights per wave, 1, 2 or 4; 0 = chosen
  unsigned pipeline_depth = 1;  ///< passes that loads run ahead of the arithmetic: 0, 1, 2
  unsigned waves_per_simd = 0;  ///< occupancy wanted; 0 = the highest at which the registers fit
};

/// Checks every field. Errors name field, value and what is allowed.
Result<Problem> normalise(const Problem& problem, const target::Target& target);
Result<Config> normalise(const Config& config, const Problem& problem, const target::Target& target);

/// The same product as the doors of problem.hpp and kernel.hpp say it, of activations of that type.
templates::Problem common_problem(const Problem& problem, DataType activation = DataType::bf16);
templates::Config common_config(const Problem& problem, const Config& config);

/// Grid, block and arguments (workspace, weights, output) of normalised problem and Config.
Launch launch(const Problem& problem, const Config& config, const target::Target& target);

/// The kernel after its last pass; settles the occupancy.
Result<ir::Kernel> compile(const Problem& problem, Config& config, const target::Target& target,
                           const passes::Observer& observer);

}  // namespace wavejit::templates::kquant
