// SPDX-License-Identifier: MIT
// 16-bit floats as bits, for any hiprtc: WAVEJIT_BF16 = 1 is bfloat16, 0 is IEEE half.
#pragma once

typedef unsigned short Bits16;

__device__ inline float to_float(Bits16 bits) {
#if WAVEJIT_BF16
  unsigned wide = (unsigned)bits << 16;
  float value;
  __builtin_memcpy(&value, &wide, 4);
  return value;
#else
  _Float16 half;
  __builtin_memcpy(&half, &bits, 2);
  return (float)half;
#endif
}

// Rounds to nearest, ties to even; a NaN stays one.
__device__ inline Bits16 to_bits(float value) {
#if WAVEJIT_BF16
  unsigned wide;
  __builtin_memcpy(&wide, &value, 4);
  if ((wide & 0x7fffffffu) > 0x7f800000u) return (Bits16)(wide >> 16 | 0x40u);
  wide += 0x7fffu + (wide >> 16 & 1u);
  return (Bits16)(wide >> 16);
#else
  _Float16 half = (_Float16)value;
  Bits16 bits;
  __builtin_memcpy(&bits, &half, 2);
  return bits;
#endif
}
