// SPDX-License-Identifier: MIT
// Internal: conversions between the number formats, on bit patterns, branch-free where they are in
// the hot loops so that the compiler vectorises them. f16 is IEEE binary16, bf16 the upper half of
// binary32. The f16 forms assume the host rounds to nearest even with denormals on.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/device/sim/code.hpp"

namespace wavejit::sim {

enum class Round : std::uint8_t { nearest = 0, up = 1, down = 2, zero = 3 };

WJ_SIM_INLINE float as_f32(std::uint32_t bits) { return std::bit_cast<float>(bits); }
WJ_SIM_INLINE std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

WJ_SIM_INLINE std::uint32_t f16_to_f32(std::uint32_t half) {
  const std::uint32_t magnitude = (half & 0x7FFF) << 13;
  std::uint32_t bits = bits_of(as_f32(magnitude) * 0x1p112F);
  bits = magnitude >= 0x0F800000 ? magnitude | 0x7F800000 : bits;
  return bits | (half & 0x8000) << 16;
}

WJ_SIM_INLINE std::uint32_t f32_to_f16_nearest(std::uint32_t x) {
  const std::uint32_t sign = x >> 16 & 0x8000;
  const std::uint32_t a = x & 0x7FFFFFFF;
  const std::uint32_t normal = (a - 0x38000000 + 0xFFF + (a >> 13 & 1)) >> 13;
  const std::uint32_t denormal = bits_of(as_f32(a) + 0.5F) - 0x3F000000;
  std::uint32_t result = a < 0x38800000 ? denormal : normal;
  result = a >= 0x47800000 ? 0x7C00 : result;
  result = a > 0x7F800000 ? 0x7E00 | (a >> 13 & 0x1FF) : result;
  return result | sign;
}

/// Any rounding mode; `x` is a finite or special f32.
WJ_SIM_INLINE std::uint32_t f32_to_f16(std::uint32_t x, Round round) {
  if (round == Round::nearest) return f32_to_f16_nearest(x);
  const std::uint32_t sign = x >> 16 & 0x8000;
  const std::uint32_t a = x & 0x7FFFFFFF;
  if (a > 0x7F800000) return sign | 0x7E00 | (a >> 13 & 0x1FF);
  if (a == 0x7F800000) return sign | 0x7C00;
  const bool away = (round == Round::up && sign == 0) || (round == Round::down && sign != 0);
  if (a >= 0x47800000) return sign | (away ? 0x7C00 : 0x7BFF);
  std::uint32_t kept = 0;
  bool inexact = false;
  if (a >= 0x38800000) {
    kept = (a - 0x38000000) >> 13;
    inexact = (a & 0x1FFF) != 0;
  } else {
    const unsigned exponent = a >> 23;  // value = mantissa * 2^(exponent - 150), unit 2^-24
    const std::uint32_t mantissa = (a & 0x7FFFFF) | (exponent != 0 ? 0x800000 : 0);
    const unsigned shift = 126 - (exponent != 0 ? exponent : 1);
    kept = shift < 32 ? mantissa >> shift : 0;
    inexact = shift < 32 ? (kept << shift) != mantissa : mantissa != 0;
  }
  return sign | (kept + (inexact && away ? 1 : 0));
}

WJ_SIM_INLINE std::uint32_t f32_to_bf16_nearest(std::uint32_t x) {
  const std::uint32_t rounded = (x + 0x7FFF + (x >> 16 & 1)) >> 16;
  return (x & 0x7FFFFFFF) > 0x7F800000 ? x >> 16 | 0x40 : rounded;
}

WJ_SIM_INLINE std::uint32_t f32_to_bf16_zero(std::uint32_t x) {
  return (x & 0x7FFFFFFF) > 0x7F800000 ? x >> 16 | 0x40 : x >> 16;
}

/// Denormals to zero of the same sign.
WJ_SIM_INLINE std::uint32_t flush_f32(std::uint32_t x) { return (x & 0x7F800000) == 0 ? x & 0x80000000 : x; }
WJ_SIM_INLINE std::uint32_t flush_f16(std::uint32_t x) { return (x & 0x7C00) == 0 ? x & 0x8000 : x; }

WJ_SIM_INLINE float fused(float a, float b, float c) {
#ifdef __FMA__
  return __builtin_fmaf(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

/// The sum a*b + c of f16 values, as an f32 that rounds to f16 in any mode as the exact sum would:
/// a*b is exact, and the f32 sum is made odd when inexact ("round to odd"), 24 >= 11 + 2 bits.
WJ_SIM_INLINE std::uint32_t f16_sum_odd(float product, float c) {
  const float sum = product + c;
  const float c_part = sum - product;
  const float error = (product - (sum - c_part)) + (c - c_part);
  const std::uint32_t bits = bits_of(sum);
  const bool adjust = (bits & 1) == 0 && error != 0 && (bits & 0x7F800000) != 0x7F800000;
  const bool up = (error > 0) == (sum > 0);
  const std::uint32_t step = up ? 1U : ~0U;
  return adjust ? bits + step : bits;
}

WJ_SIM_INLINE bool is_nan(std::uint32_t f32) { return (f32 & 0x7FFFFFFF) > 0x7F800000; }
WJ_SIM_INLINE bool is_signalling(std::uint32_t f32) { return is_nan(f32) && (f32 & 0x400000) == 0; }

}  // namespace wavejit::sim
