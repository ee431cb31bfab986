// SPDX-License-Identifier: MIT
// Weight repacking on load: the int4 weights, scales and zero points of a checkpoint -> the layouts that
// the W4A16 kernels read (shared/domain.md §1.4 and §1.5; source formats §1.1 to §1.3 and §1.9).
//
// plan() looks at everything that can be wrong, the data included, and says how large each output is.
// run() then writes the outputs, on several threads, with the same bytes for any number of them. Neither
// touches an output when anything is wrong. Both work on host memory, little-endian.
//
// Written, for N rows (output columns of the product) of K weights in groups of G along K:
//   weights      int32 [N, ceil(K/8)]; the nibbles of a word, low to high, hold K offsets 0,2,4,6,1,3,5,7.
//                Nibbles at or beyond K are 0.
//   scales       bf16 or f16 [N, K/G]
//   zero points  int32 [ceil(N/8), K/G]; row n is nibble n % 8 of word n / 8. Nibbles at or beyond N are 0.
//   weight(n, k) = (nibble - zero point) * scale, zero point 8 where there is no such tensor.
// Bytes between rows (strides above the dense ones) are left as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/support/error.hpp"

namespace wavejit::repack {

/// Shapes of the tensors of a Source; `ceil` is only met where it differs.
enum class Format : std::uint8_t {
  /// weights int32 [K, N/8], zero points int32 [K/G, N/8], both with nibble i = column 8j +
  /// [0,2,4,6,1,3,5,7][i];
  /// scales [K/G, N]. N must be a multiple of 8.
  awq,
  /// weights int32 [K/8, N], nibble i = K 8r + i; zero points int32 [K/G, N/8], nibble i = column 8j + i,
  /// stored as z - 1; scales [K/G, N]; optional g_idx int32 [K]. K, and N with zero points, must be multiples
  /// of 8.
  /// A stored 15 is refused: z = 16 does not fit a nibble, and some writers meant z = 0 by it.
  gptq_v1,
  /// The same with zero points stored as z.
  gptq_v2,
  /// compressed-tensors "pack-quantized": weights int32 [N, ceil(K/8)], nibble i = K 8r + i; scales [N, K/G];
  /// zero points int32 [ceil(N/8), K/G], nibble i = row 8j + i; optional weight_shape int64 [2] = {N, K}.
  compressed_tensors,
  /// Unsigned nibbles in K order: weights int32 [N, ceil(K/8)] or u8/i8 [N, ceil(K/2)] (low nibble = even K);
  /// scales [N, K/G]; zero points int32 [ceil(N/8), K/G] as above or u8 [N, K/G].
  row_major,
  /// torchao/MSLK: weights i8/u8 [N, K/2], two's complement nibbles, low nibble = even K; scales [K/G, N] and
  /// zero points [K/G, N], both floats (bf16 or f32), weight = q * s + z. K must be even. Served where each z
  /// is
  /// an exact multiple of its s, in -7 .. 8 times; otherwise no integer zero point says the same, and the
  /// bf16 x int4 kernels, which read this layout as it is, are the ones to use.
  mslk,
};
std::string_view name(Format format);

enum class Dtype : std::uint8_t { u8, i8, i32, i64, f16, bf16, f32 };
std::string_view name(Dtype type);
std::int64_t bytes(Dtype type);

/// A tensor in host memory. `data` begins at element 0 and is aligned to the dtype's size.
struct Tensor {
  std::span<const std::byte> data;
  Dtype dtype = Dtype::i32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< bytes, one per dimension; empty = dense. The last must be dense
};

enum class ZeroPoints : std::uint8_t {
  symmetric,   ///< 8 everywhere (MSLK: 0.0)
  asymmetric,  ///< a tensor says
};

struct Source {
  Format format = Format::awq;
  /// What the checkpoint declares, and it binds: a symmetric one may carry a redundant zero-point tensor,
  /// which is ignored when it says 8 everywhere and refused when not; an asymmetric one must carry the
  /// tensor.
  ZeroPoints zero_points_declared = ZeroPoints::symmetric;
  Tensor weights;
  Tensor scales;  ///< f16, bf16 or f32
  std::optional<Tensor> zero_points;
  std::optional<Tensor> g_idx;         ///< GPTQ only
  std::optional<Tensor> weight_shape;  ///< compressed-tensors only
};

/// What the kernel wants. Strides in elements of the output (words for weights and zero points); 0 = dense.
struct Destination {
  std::int64_t n = 0;          ///< 1 .. 2^31 - 1
  std::int64_t k = 0;          ///< 1 .. 2^31 - 1, a multiple of `group`
  std::int64_t group = 128;    ///< weights that share a scale; -1 = all of K
  Dtype scales = Dtype::bf16;  ///< the activation type: bf16 or f16
  /// asymmetric: a zero-point tensor is written, filled with 8 for a symmetric source. symmetric: none is,
  /// and a source with another zero point than 8 is refused.
  ZeroPoints zero_points = ZeroPoints::symmetric;
  std::int64_t weight_stride = 0;      ///< >= ceil(K/8)
  std::int64_t scale_stride = 0;       ///< >= K/G
  std::int64_t zero_point_stride = 0;  ///< >= K/G
  /// The caller promises to feed activations[:, permutation[k]] as column k whenever Plan::permutation is not
  /// empty. Without the promise a g_idx that needs it is refused.
  bool gathers_activations = false;
};

/// One tensor that run() writes; all zero when it writes none.
struct Output {
  std::int64_t rows = 0;
  std::int64_t row_bytes = 0;     ///< written per row
  std::int64_t stride_bytes = 0;  ///< between rows
  std::int64_t bytes = 0;         ///< first to last byte: (rows - 1) * stride_bytes + row_bytes
  std::int64_t alignment = 1;     ///< that the base must have, bytes
  /// The source tensor's own memory may be given as the output: same base, then the same `bytes`.
  bool in_place = false;
  std::string not_in_place_because;  ///< a clause; empty when in_place
};

/// Scales go to the destination's type by round to nearest even. A finite scale that would become infinite
/// is refused by plan(); infinities and NaNs of the source stay what they are.
struct ScaleConversion {
  bool exact = true;          ///< every scale kept its value
  std::int64_t rounded = 0;   ///< scales that changed value, `vanished` included
  std::int64_t vanished = 0;  ///< nonzero scales that became zero
};

/// Holds views of the source's memory, which must stay and not change until run() has returned.
struct Plan {
  Source source;
  Destination destination;  ///< group and strides filled in
  Output weights, scales, zero_points;
  std::int64_t scratch_bytes =
      0;  ///< beyond the outputs; always 0, tiles of 16 KiB live on the threads' stacks
  ScaleConversion scale_conversion;
  /// Act-order: column k of the repacked weights is column permutation[k] of the checkpoint (a stable sort by
  /// g_idx). Empty: columns are in order.
  std::vector<std::int32_t> permutation;
};

/// Checks dtypes, shapes, strides, sizes, alignment, zero points, scales, g_idx. Error codes:
/// invalid_argument (something contradicts the format) or unsupported (right in itself, but these layouts
/// cannot say it); `field` is e.g. "weights.shape", "zero_points[group 2, column 8]".
///
/// g_idx: plain grouping (k / G) is dropped; any order in which each group 0 .. K/G - 1 has exactly G columns
/// is sorted; everything else (a row shard, whose groups start above 0 or are not whole) is unsupported.
Result<Plan> plan(const Source& source, const Destination& destination);

/// Empty for a tensor that the plan does not write. Larger than needed is allowed.
struct Outputs {
  std::span<std::byte> weights, scales, zero_points;
};

/// Writes the outputs on `threads` threads (0 = as many as the machine runs at once), the caller's among
/// them. Checks sizes, alignment and overlap first; an output may overlap its own source tensor only as
/// `in_place` allows, and nothing else of the source or of the outputs.
Result<void> run(const Plan& plan, const Outputs& outputs, unsigned threads = 0);

/// Padding of rows against cache-set and channel conflicts (domain.md §1.5, gfx1151).
enum class PaddingRule : std::uint8_t {
  none,
  /// vLLM upstream: weights +128 B when row bytes % 1024 == 0, activations +128 B when % 2048 == 0; scales
  /// dense.
  upstream,
  /// The AMD fork. Weights by r = row bytes % 512: 0 -> +256 B, other multiples of 128 stay, the rest up to
  /// the next multiple of 128 that is none of 512. Scales +128 B when % 512 == 0. Activations as upstream.
  fork,
};
enum class PaddedTensor : std::uint8_t { weights, scales, activations };

/// Bytes from row to row for rows of `row_bytes` (K/2, 2*K/G or 2*K) bytes.
std::int64_t recommended_stride(PaddingRule rule, PaddedTensor tensor, std::int64_t row_bytes);

}  // namespace wavejit::repack
