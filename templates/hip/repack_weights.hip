// SPDX-License-Identifier: MIT
// Weights of other people's checkpoints -> the layout of the W4A16 kernels: int32 [n, ceil(k / 8)], nibbles
// low to high hold K offsets 0, 2, 4, 6, 1, 3, 5, 7. Nibbles beyond k become 0. One work-item makes one word.
// Layouts by shared/domain.md §1.
//
// Definitions
//   WAVEJIT_FROM  0: int32 [n, ceil(k / 8)], nibbles in K order (compressed-tensors)
//                 1: AWQ, int32 [k, n / 8]; nibble i of word j is column 8 j + {0, 2, 4, 6, 1, 3, 5, 7}[i]
//                 2: GPTQ, int32 [ceil(k / 8), n]; nibble i of word r is row 8 r + i
//                 3: torchao, bytes [n, k / 2], low nibble = even k, two's complement (stored + 8 here)
//
// Kernel wavejit_repack_weights: workgroups of 256 x 1 x 1; grid ceil(ceil(k / 8) / 256), n, 1.
//   offset  argument      elements
//        0  from          as above, rows from_stride apart
//        8  to            32-bit [n, ceil(k / 8)], rows to_stride apart; must not overlap `from`
//       16  from_stride, to_stride   two 64-bit integers, in words (WAVEJIT_FROM 3: from_stride in bytes)
//       32  n, k          two 32-bit integers
//       40  end

typedef unsigned long long Size;

__device__ inline unsigned source_nibble(const void* from, unsigned row, unsigned k, Size stride) {
#if WAVEJIT_FROM == 0
  return ((const unsigned*)from)[row * stride + k / 8] >> (4 * (k % 8)) & 15u;
#elif WAVEJIT_FROM == 1
  const unsigned nibble = row % 2 * 4 + row % 8 / 2;
  return ((const unsigned*)from)[k * stride + row / 8] >> (4 * nibble) & 15u;
#elif WAVEJIT_FROM == 2
  return ((const unsigned*)from)[k / 8 * stride + row] >> (4 * (k % 8)) & 15u;
#else
  return (((const unsigned char*)from)[row * stride + k / 2] >> (4 * (k % 2)) & 15u) ^ 8u;
#endif
}

extern "C" __global__ void __launch_bounds__(256)
wavejit_repack_weights(const void* from, unsigned* to, Size from_stride, Size to_stride, unsigned n,
                       unsigned k) {
  const unsigned word = blockIdx.x * 256 + threadIdx.x;
  const unsigned row = blockIdx.y;
  if (row >= n || word >= (k + 7) / 8) return;
  const unsigned end = word * 8 + 8 < k ? word * 8 + 8 : k;
  unsigned packed = 0;
  for (unsigned at = word * 8; at < end; ++at)
    packed |= source_nibble(from, row, at, from_stride) << (4 * (at % 2 * 4 + at % 8 / 2));
  to[row * to_stride + word] = packed;
}
