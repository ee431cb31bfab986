// SPDX-License-Identifier: MIT
// output[m, n] = sum over slices of partial[slice, m, n], slices ascending, in f32, rounded once.
//
// Definitions
//   WAVEJIT_BF16  1: the output is bf16; 0: f16
//
// Kernel wavejit_splitk_reduce: workgroups of 256 x 1 x 1; grid ceil(n / 256), m, 1.
//   offset  argument       elements
//        0  partial        f32 [slices, m, n] dense
//        8  output         16-bit [m, n], rows output_stride apart
//       16  output_stride  64-bit integer, elements
//       24  m, n, slices   three 32-bit integers
//       36  end
#include "numbers.h"

typedef unsigned long long Size;

extern "C" __global__ void __launch_bounds__(256)
wavejit_splitk_reduce(const float* partial, Bits16* output, Size output_stride, unsigned m, unsigned n,
                      unsigned slices) {
  const unsigned column = blockIdx.x * 256 + threadIdx.x;
  const unsigned row = blockIdx.y;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (unsigned slice = 0; slice < slices; ++slice) sum += partial[((Size)slice * m + row) * n + column];
  output[row * output_stride + column] = to_bits(sum);
}
