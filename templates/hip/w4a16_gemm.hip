// SPDX-License-Identifier: MIT
// output[m, n] = (bias[n] +) sum over k of activations[m, k] * (q[n, k] - z[n, k / group]) * scales[n, k / group]
//
// One work-item makes one element, k ascending, each step a fused multiply-add in f32. Weights are not
// rounded to 16 bits. Any m, n, k and group: k need not be a multiple of anything, the last group may be
// short; groups = ceil(k / group). Weights: int32 words of eight nibbles along K whose nibbles, low to high, hold K offsets
// 0, 2, 4, 6, 1, 3, 5, 7. Zero points: int32 [ceil(n / 8), groups], row n in nibble n % 8 of word n / 8.
//
// Definitions
//   WAVEJIT_BF16         1: activations, scales and output are bf16; 0: f16
//   WAVEJIT_ZERO_POINTS  1: packed zero points; 0: z = 8 everywhere, the argument is not read
//   WAVEJIT_BIAS         1: bias[n] is added in f32 before the one rounding; not with WAVEJIT_PARTIAL
//   WAVEJIT_PARTIAL      1: for split-K. Grid z is the number of slices; slice i sums groups i * share to
//                        (i + 1) * share - 1 and stores f32 to `partial` [slices, m, n]; splitk_reduce.hip
//                        finishes. 0: all groups, to `output`
//
// Kernel wavejit_w4a16_gemm: workgroups of 16 x 16 x 1; grid ceil(n / 16), ceil(m / 16), slices or 1. Divisions
// are the host's work: groups and share come as arguments.
//   offset  argument            elements
//        0  activations         16-bit [m, k], rows activation_stride apart
//        8  weights             32-bit [n, ceil(k / 8)], rows weight_stride apart
//       16  scales              16-bit [n, groups], rows scale_stride apart
//       24  zero_points         32-bit [ceil(n / 8), groups], rows zero_point_stride apart
//       32  output              16-bit [m, n], rows output_stride apart
//       40  partial             f32 [slices, m, n] dense
//       48  m, n, k, group, groups, share   six 32-bit integers
//       72  activation_stride, weight_stride, scale_stride, zero_point_stride, output_stride
//           five 64-bit integers, in elements
//      112  bias                16-bit [n]; not read unless WAVEJIT_BIAS
//      120  end
#include "numbers.h"

typedef unsigned long long Size;

__device__ inline unsigned weight(const unsigned* words, unsigned k) {
  const unsigned nibble = k % 2 * 4 + k % 8 / 2;
  return words[k / 8] >> (4 * nibble) & 15u;
}

extern "C" __global__ void __launch_bounds__(256)
wavejit_w4a16_gemm(const Bits16* activations, const unsigned* weights, const Bits16* scales,
                   const unsigned* zero_points, Bits16* output, float* partial, unsigned m, unsigned n,
                   unsigned k, unsigned group, unsigned groups, unsigned share, Size activation_stride,
                   Size weight_stride, Size scale_stride, Size zero_point_stride, Size output_stride,
                   const Bits16* bias) {
  const unsigned column = blockIdx.x * 16 + threadIdx.x;
  const unsigned row = blockIdx.y * 16 + threadIdx.y;
  if (row >= m || column >= n) return;

  unsigned first = 0, last = groups;
#if WAVEJIT_PARTIAL
  first = blockIdx.z * share;
  if (first + share < groups) last = first + share;
#endif
  const Bits16* x = activations + row * activation_stride;
  const unsigned* q = weights + column * weight_stride;
  float sum = 0;
  for (unsigned g = first; g < last; ++g) {
    const float scale = to_float(scales[column * scale_stride + g]);
    float zero = 8;
#if WAVEJIT_ZERO_POINTS
    zero = (float)(zero_points[column / 8 * zero_point_stride + g] >> (4 * (column % 8)) & 15u);
#endif
    const unsigned end = (g + 1) * group < k ? (g + 1) * group : k;
    for (unsigned i = g * group; i < end; ++i)
      sum = __builtin_fmaf(to_float(x[i]), ((float)weight(q, i) - zero) * scale, sum);
  }
#if WAVEJIT_PARTIAL
  partial[((Size)blockIdx.z * m + row) * n + column] = sum;
#else
#if WAVEJIT_BIAS
  sum += to_float(bias[column]);
#endif
  output[row * output_stride + column] = to_bits(sum);
#endif
}
