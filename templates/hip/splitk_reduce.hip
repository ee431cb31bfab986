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
//       16  m, n, slices, output_stride   four 64-bit integers
//       48  end
#include "numbers.h"

typedef long long Size;

extern "C" __global__ void __launch_bounds__(256)
wavejit_splitk_reduce(const float* partial, Bits16* output, Size m, Size n, Size slices, Size output_stride) {
  const Size column = (Size)blockIdx.x * 256 + threadIdx.x;
  const Size row = blockIdx.y;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (Size slice = 0; slice < slices; ++slice) sum += partial[(slice * m + row) * n + column];
  output[row * output_stride + column] = to_bits(sum);
}
