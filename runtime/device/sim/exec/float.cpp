// SPDX-License-Identifier: MIT
// VALU: f32 arithmetic and transcendentals.
#include <cmath>

#include "runtime/device/sim/exec/valu.hpp"

namespace wavejit::sim::WAVEJIT_SIM_VARIANT {
namespace {

WJ_SIM_INLINE float quiet(u32 nan) { return as_f32(nan | 0x400000); }

/// Under IEEE_MODE a signalling NaN wins, made quiet; otherwise a number wins over a NaN. +0 > -0.
template <bool Maximum, bool Ieee>
WJ_SIM_INLINE float extreme(float x, float y) {
  const u32 a = bits_of(x);
  const u32 b = bits_of(y);
  const bool a_nan = is_nan(a);
  const bool b_nan = is_nan(b);
  const bool both_zero = ((a | b) & 0x7FFFFFFF) == 0;
  u32 r = (Maximum ? x > y : x < y) ? a : b;
  r = both_zero ? (Maximum ? a & b : a | b) : r;
  r = b_nan ? a : r;
  r = a_nan ? (b_nan ? a | 0x400000 : b) : r;
  if (Ieee) {
    r = is_signalling(b) ? b | 0x400000 : r;
    r = is_signalling(a) ? a | 0x400000 : r;
  }
  return as_f32(r);
}

template <bool Maximum>
void minmax(Wave& w, const Inst& inst) {
  w.mode.ieee ? f32<[](float a, float b) { return extreme<Maximum, true>(a, b); }>(w, inst)
              : f32<[](float a, float b) { return extreme<Maximum, false>(a, b); }>(w, inst);
}

template <bool Maximum>
void minmax3(Wave& w, const Inst& inst) {
  w.mode.ieee ? f32<[](float a, float b, float c) {
    return extreme<Maximum, true>(extreme<Maximum, true>(a, b), c);
  }>(w, inst)
              : f32<[](float a, float b, float c) {
                  return extreme<Maximum, false>(extreme<Maximum, false>(a, b), c);
                }>(w, inst);
}

/// v_minmax: max(min(a, b), c); v_maxmin: min(max(a, b), c).
template <bool Inner>
void mixed3(Wave& w, const Inst& inst) {
  w.mode.ieee
      ? f32<[](float a, float b, float c) { return extreme<!Inner, true>(extreme<Inner, true>(a, b), c); }>(
            w, inst)
      : f32<[](float a, float b, float c) { return extreme<!Inner, false>(extreme<Inner, false>(a, b), c); }>(
            w, inst);
}

template <bool Ieee>
WJ_SIM_INLINE float median(float a, float b, float c) {
  const float low = extreme<false, Ieee>(extreme<false, Ieee>(a, b), c);
  if (is_nan(bits_of(a)) || is_nan(bits_of(b)) || is_nan(bits_of(c))) return low;
  const float high = extreme<true, Ieee>(extreme<true, Ieee>(a, b), c);
  if (high == a) return extreme<true, Ieee>(b, c);
  if (high == b) return extreme<true, Ieee>(a, c);
  return extreme<true, Ieee>(a, b);
}

void med3(Wave& w, const Inst& inst) {
  w.mode.ieee ? f32<[](float a, float b, float c) { return median<true>(a, b, c); }>(w, inst)
              : f32<[](float a, float b, float c) { return median<false>(a, b, c); }>(w, inst);
}

void fmac(Wave& w, const Inst& inst) {
  Lanes sa, sb, sc, out;
  const u32* a = fetch_f32(w, inst, 0, sa);
  const u32* b = fetch_f32(w, inst, 1, sb);
  const u32* c = w.row(inst.dst);
  if (w.mode.flush_in32) {
    for (unsigned l = 0; l < w.lanes; ++l) sc.x[l] = flush_f32(c[l]);
    c = sc.x;
  }
  each_lane(w.lanes,
            [&](unsigned l) { out.x[l] = bits_of(fused(as_f32(a[l]), as_f32(b[l]), as_f32(c[l]))); });
  finish_f32(w, inst, out);
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

void ldexp(Wave& w, const Inst& inst) {
  Lanes sa, sb, out;
  const u32* a = fetch_f32(w, inst, 0, sa);
  const u32* b = fetch(w, inst, 1, sb);
  for (unsigned l = 0; l < w.lanes; ++l) {
    const i32 n = static_cast<i32>(b[l]);
    // Exact in f64 for |n| <= 300, beyond which the result is 0 or infinite anyway.
    const int clamped = n > 300 ? 300 : n < -300 ? -300 : n;
    out.x[l] = bits_of(static_cast<float>(std::ldexp(static_cast<double>(as_f32(a[l])), clamped)));
  }
  finish_f32(w, inst, out);
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

/// The largest f32 below 1 is the greatest result.
WJ_SIM_INLINE float fract(float x) {
  const float f = x - __builtin_floorf(x);
  return f >= 1.0F ? as_f32(0x3F7FFFFF) : f;
}

/// The transcendental unit neither takes nor gives f32 denormals, whatever MODE says, except in
/// v_log (input) and v_sqrt.
float exp2_unit(float x) { return static_cast<float>(std::exp2(static_cast<double>(x))); }
float log2_unit(float x) { return static_cast<float>(std::log2(static_cast<double>(x))); }
float rcp_unit(float x) { return 1.0F / x; }
float rsq_unit(float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); }
float sqrt_unit(float x) { return std::sqrt(x); }

template <float (*F)(float)>
void trans(Wave& w, const Inst& inst) {
  Lanes sa, out;
  const u32* a = fetch_f32(w, inst, 0, sa);
  const u64 exec = w.exec();
  for (unsigned l = 0; l < w.lanes; ++l) out.x[l] = (exec >> l & 1) != 0 ? bits_of(F(as_f32(a[l]))) : 0;
  finish_f32(w, inst, out);
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

/// A multiplication for lighting: -max where the exponent or the control says that there is no light.
WJ_SIM_INLINE float mullit(float a, float b, float c) {
  const bool dark = is_nan(bits_of(b)) || bits_of(b) >= 0xFF7FFFFF || !(c > 0.0F);
  return dark ? as_f32(0xFF7FFFFF) : a * b;
}

}  // namespace

void add_float(Handlers& h) {
  constexpr auto f = FloatClass::f32;
  constexpr auto fma3 = [](float a, float b, float c) { return fused(a, b, c); };
  h.set(Opcode::v_add_f32, f32<[](float a, float b) { return a + b; }>, f);
  h.set(Opcode::v_sub_f32, f32<[](float a, float b) { return a - b; }>, f);
  h.set(Opcode::v_subrev_f32, f32<[](float a, float b) { return b - a; }>, f);
  h.set(Opcode::v_mul_f32, f32<[](float a, float b) { return a * b; }>, f);
  h.set(Opcode::v_fma_f32, f32<fma3>, f);
  h.set(Opcode::v_mullit_f32, f32<[](float a, float b, float c) { return mullit(a, b, c); }>, f);
  h.set(Opcode::v_fmaak_f32, f32<fma3>, f);
  h.set(Opcode::v_fmamk_f32, f32<fma3>, f);
  h.set(Opcode::v_fmac_f32, fmac, f);
  h.set(Opcode::v_min_f32, minmax<false>);
  h.set(Opcode::v_max_f32, minmax<true>);
  h.set(Opcode::v_min3_f32, minmax3<false>);
  h.set(Opcode::v_max3_f32, minmax3<true>);
  h.set(Opcode::v_minmax_f32, mixed3<false>);
  h.set(Opcode::v_maxmin_f32, mixed3<true>);
  h.set(Opcode::v_med3_f32, med3);
  h.set(Opcode::v_rndne_f32, f32<[](float a) { return __builtin_roundevenf(a); }>);
  h.set(Opcode::v_trunc_f32, f32<[](float a) { return __builtin_truncf(a); }>);
  h.set(Opcode::v_floor_f32, f32<[](float a) { return __builtin_floorf(a); }>);
  h.set(Opcode::v_ceil_f32, f32<[](float a) { return __builtin_ceilf(a); }>);
  h.set(Opcode::v_fract_f32, f32<[](float a) { return fract(a); }>);
  h.set(Opcode::v_ldexp_f32, ldexp, f);
  h.set(Opcode::v_rcp_f32, trans<rcp_unit>);
  h.set(Opcode::v_rcp_iflag_f32, trans<rcp_unit>);
  h.set(Opcode::v_rsq_f32, trans<rsq_unit>);
  h.set(Opcode::v_sqrt_f32, trans<sqrt_unit>);
  h.set(Opcode::v_exp_f32, trans<exp2_unit>);
  h.set(Opcode::v_log_f32, trans<log2_unit>);
}

}  // namespace wavejit::sim::WAVEJIT_SIM_VARIANT
