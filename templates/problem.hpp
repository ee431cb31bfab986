// SPDX-License-Identifier: MIT
// Problem = what is computed. Config = how. N, K, strides and group are constants of the generated
// code; M is a kernel argument.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "generator/support/error.hpp"
#include "generator/target/target.hpp"

namespace wavejit::templates {

enum class DataType : std::uint8_t {
  bf16,
  f16,
  f32,
  i32,
  u8,  ///< bytes of a format of its own: GGUF weights
  i64,
};
std::string_view name(DataType type);
unsigned bytes(DataType type);

enum class Operation : std::uint8_t {
  w4a16,      ///< output[M,N] = activations[M,K] * dequantised(weights[N,K])^T
  kquant,     ///< the same with GGUF weights as the file has them; output f32, activations quantised to int8
  int4_gemm,  ///< the same with row-major signed weights, `batch` times side by side (domain.md §1.9)
  int4_grouped,  ///< one product per group of rows, row counts known on the device only
};
/// Operations that have a family, in the order of the enumeration.
inline constexpr std::size_t operations = 4;
std::string_view name(Operation op);

enum class ZeroPoints : std::uint8_t {
  symmetric,  ///< constant 8, no tensor
  packed,     ///< int32 [ceil(N/8), K/G], row n in nibble n%8 of word row n/8
  additive,   ///< float z [K/G, N] of `scale_type`, added after scaling: w = q * s + z
};

enum class WeightLayout : std::uint8_t {
  exllama,           ///< int32 [N, K/8]; nibbles low to high hold K offsets 0,2,4,6,1,3,5,7 (domain.md §1.4)
  row_major_signed,  ///< int8 [N, K/2], seen as int32 [N, K/8]: low nibble even K, two's complement (§1.9)
};

/// Formats of GGUF weights. A row is dense: K / 256 superblocks of 144 (Q4_K), 176 (Q5_K) or 210 (Q6_K)
/// bytes, K / 32 blocks of 34 (Q8_0) or 18 (Q4_0).
enum class GgufType : std::uint8_t { q4_k, q5_k, q6_k, q8_0, q4_0 };
std::string_view name(GgufType type);

/// How a dequantised weight is rounded to the activation type. f16 weights are always rounded to nearest
/// even: there the cheapest instruction does so.
enum class WeightRounding : std::uint8_t {
  fastest,  ///< what the cheapest instruction does; on RDNA bf16 that truncates (gain about -0.11 %)
  nearest,  ///< round to nearest even, at more VALU per bf16 weight
};

/// Shapes in elements. Strides in elements of the tensor's type (weights: int32 words); 0 = dense.
/// A field that means nothing to the operation keeps its default; templates/fields.cpp has the table of which
/// means something to which, and every field that does is in the canonical text.
/// Tensors of kquant are dense: a stride of one may say so, but nothing else.
struct Problem {
  Operation op = Operation::w4a16;
  DataType activation = DataType::bf16;  ///< bf16 or f16; of kquant f32, too
  std::int64_t n = 0;                    ///< >= 1
  std::int64_t k = 0;                    ///< a multiple of `group`; of kquant, of its weights' blocks
  /// Not of kquant: weights that share a scale along K, a multiple of 32 (int4_*: of 64), or -1 = all of K.
  std::int64_t group = 128;
  ZeroPoints zero_points = ZeroPoints::symmetric;     ///< w4a16: or packed; int4_*: or additive
  WeightLayout layout = WeightLayout::exllama;        ///< w4a16: exllama; int4_*: row_major_signed
  GgufType weight_type = GgufType::q4_k;              ///< of kquant
  WeightRounding rounding = WeightRounding::fastest;  ///< not of kquant
  bool bias =
      false;  ///< of w4a16: a tensor [N] of the activation's type, added in f32 before the one rounding
  std::int64_t activation_stride = 0;  ///< >= K, a multiple of 8
  std::int64_t weight_stride = 0;      ///< >= K/8; a multiple of 4 on CDNA
  std::int64_t scale_stride = 0;       ///< w4a16: >= K/group; int4_*: >= N, of scales and additive zeros
  std::int64_t zero_point_stride = 0;  ///< of w4a16 with packed zero points: int32 words, >= K/group
  std::int64_t output_stride = 0;      ///< >= N
  std::int64_t batch = 1;              ///< of int4_gemm: products that one launch computes, >= 1
  std::int64_t groups = 0;             ///< of int4_grouped: sets of weights, >= 0
  /// Of int4_*: bf16, f16 or f32, for scales and additive zeros. Scales of w4a16 have the activation's type.
  DataType scale_type = DataType::bf16;
};

/// Which way of computing an operation a Config describes; each has fields of its own and a text of its own.
enum class Path : std::uint8_t {
  tile,    ///< workgroups of waves compute bm x bn tiles with matrix instructions
  gemv,    ///< a wave computes `rows` rows of weights for `tokens` rows of activations (kquant)
  skinny,  ///< few rows of activations: dot products along K, templates/skinny/skinny.hpp
  mfma,    ///< the same as tile on CDNA: wave64, MFMA, split-K (templates/cdna)
  decode,  ///< few rows of activations on CDNA: waves split K, templates/cdna/decode/decode.hpp
};
/// As the enumerator, which is also the first word of a Config's canonical text.
std::string_view name(Path path);

/// The five techniques of design.md, each switchable alone.
struct Techniques {
  bool magic_dequant = true;      ///< off: mask, subtract, convert, multiply, round, pack
  bool pipelined_loads = true;    ///< off: depth 0
  bool exact_descriptors = true;  ///< off: whole-tensor descriptors, loads guarded by compare and select
  bool bank_assignment = true;    ///< off: first-fit registers
  bool scalar_offsets = true;     ///< off: addresses advance in VGPRs
};

struct Config {
  Path path = Path::tile;
  unsigned bm = 128, bn = 64, bk = 32;  ///< workgroup tile; multiples of 16, bk divides the group
  unsigned waves = 8;                   ///< waves per workgroup
  unsigned waves_m = 0, waves_n = 0;    ///< split of the tile over waves; 0 = chosen
  unsigned pipeline_depth = 1;          ///< iterations that global loads run ahead: 0, 1, 2
  unsigned unroll = 1;                  ///< steps of bk per loop body
  unsigned lds_buffers = 2;             ///< 1 = two barriers per step, 2 = one
  unsigned waves_per_simd = 0;          ///< occupancy wanted; sets the VGPR budget; 0 = chosen
  bool wgp_mode = true;
  Techniques techniques;
  // Path::gemv, besides pipeline_depth and waves_per_simd:
  unsigned tokens = 1;  ///< M, a constant of the code
  unsigned rows = 0;    ///< rows of weights per wave: 1, 2 or 4; 0 = chosen
  // Path::mfma, besides bm, bn, bk, waves and pipeline_depth:
  unsigned split_k = 1;  ///< slices of K, added in order by a second kernel; 1 = none
  bool lds_dma = false;  ///< activations go from memory to LDS without registers; needs two LDS buffers
};

/// The five names as `--without` takes them: dequant, pipeline, descriptors, banks, scalar-offsets.
std::span<const std::string_view> technique_names();
/// nullptr for an unknown name.
bool* technique(Techniques& techniques, std::string_view name);

/// Fills in strides and group, and checks every field. Errors name field, value and what is allowed.
Result<Problem> normalise(const Problem& problem, const target::Target& target);

/// "w4a16 bf16 symmetric n19456 k2560 g32 …": equal exactly for equal normalised problems.
std::string canonical(const Problem& problem);

/// Word rows of packed zero points: ceil(N / 8).
constexpr std::int64_t zero_point_rows(const Problem& problem) { return (problem.n + 7) / 8; }

std::string canonical(const Config& config);
/// The Config that canonical() says so. Errors: invalid_config for any other text.
Result<Config> parse_config(std::string_view canonical_text);

/// Rows that one launch takes at most; more are several launches, one after another, of that many rows and
/// then of what is left. The largest std::int64_t where there is no limit.
std::int64_t most_rows(const Problem& problem);

/// A first choice of Config for a bucket of M by simple rules.
Result<Config> select_config(const Problem& problem, const target::Target& target, std::int64_t m);

/// What serves `first` <= M <= `last`.
struct Selection {
  std::int64_t first = 1, last = 1;
  Config config;  ///< normalised
};
/// select_config for every M of a range, neighbours with one Config joined; few different Configs, each
/// possibly in several pieces. Where `last` is beyond most_rows, they begin with M = 1, as any number of rows
/// may be left over, and the last one stands for everything from most_rows on.
Result<std::vector<Selection>> select_configs(const Problem& problem, const target::Target& target,
                                              std::int64_t first, std::int64_t last);

/// Fills in the fields left to choice and checks the Config against the problem and the target
/// (tile multiples, bk | group, LDS in budget, waves divide the tile…).
Result<Config> normalise(const Config& config, const Problem& problem, const target::Target& target);

}  // namespace wavejit::templates
