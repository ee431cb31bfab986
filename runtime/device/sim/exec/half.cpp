// SPDX-License-Identifier: MIT
// VALU: f16 and packed f16. Sums and products of f16 in f32 with one more rounding to f16 are
// correctly rounded (24 >= 2*11 + 2 bits) to nearest; f16_sum_odd serves every mode.
#include <cmath>

#include "runtime/device/sim/exec/valu.hpp"

namespace wavejit::sim::WAVEJIT_SIM_VARIANT {
namespace {

constexpr auto add = [](float a, float b) { return f16_sum_odd(a, b); };
constexpr auto sub = [](float a, float b) { return f16_sum_odd(a, -b); };
constexpr auto mul = [](float a, float b) { return bits_of(a * b); };
constexpr auto fma3 = [](float a, float b, float c) { return f16_sum_odd(a * b, c); };

/// As for f32, on widened values. Signalling NaNs keep their quiet bit clear through widening.
template <bool Maximum>
WJ_SIM_INLINE u32 extreme(float x, float y) {
  const u32 a = bits_of(x);
  const u32 b = bits_of(y);
  const bool both_zero = ((a | b) & 0x7FFFFFFF) == 0;
  u32 r = (Maximum ? x > y : x < y) ? a : b;
  r = both_zero ? (Maximum ? a & b : a | b) : r;
  r = is_nan(b) ? a : r;
  r = is_nan(a) ? b : r;
  return r;
}
template <bool Maximum>
WJ_SIM_INLINE u32 extreme_ieee(float x, float y) {
  u32 r = extreme<Maximum>(x, y);
  r = is_signalling(bits_of(y)) ? bits_of(y) | 0x400000 : r;
  return is_signalling(bits_of(x)) ? bits_of(x) | 0x400000 : r;
}
constexpr auto max_plain = [](float a, float b) { return extreme<true>(a, b); };
constexpr auto min_plain = [](float a, float b) { return extreme<false>(a, b); };
constexpr auto max_ieee = [](float a, float b) { return extreme_ieee<true>(a, b); };
constexpr auto min_ieee = [](float a, float b) { return extreme_ieee<false>(a, b); };

template <auto Plain, auto Ieee, bool Packed>
void minmax(Wave& w, const Inst& inst) {
  if constexpr (Packed) {
    w.mode.ieee ? packed_f16<Ieee>(w, inst) : packed_f16<Plain>(w, inst);
  } else {
    w.mode.ieee ? f16<Ieee>(w, inst) : f16<Plain>(w, inst);
  }
}

/// Of the first two, then of that and the third: min3, max3, and minmax, maxmin where the two differ.
template <bool Inner, bool Outer = Inner>
void extreme3(Wave& w, const Inst& inst) {
  w.mode.ieee
      ? f16<[](float a, float b, float c) {
          return extreme_ieee<Outer>(as_f32(extreme_ieee<Inner>(a, b)), c);
        }>(w, inst)
      : f16<[](float a, float b, float c) { return extreme<Outer>(as_f32(extreme<Inner>(a, b)), c); }>(w,
                                                                                                       inst);
}

WJ_SIM_INLINE u32 median(float a, float b, float c) {
  const float low = as_f32(extreme<false>(as_f32(extreme<false>(a, b)), c));
  if (is_nan(bits_of(a)) || is_nan(bits_of(b)) || is_nan(bits_of(c))) return bits_of(low);
  const float high = as_f32(extreme<true>(as_f32(extreme<true>(a, b)), c));
  return high == a ? extreme<true>(b, c) : high == b ? extreme<true>(a, c) : extreme<true>(a, b);
}

WJ_SIM_INLINE u32 fract(float x) {
  const float f = x - __builtin_floorf(x);
  return f >= 1.0F ? 0x3F7FE000 : bits_of(f);  // the largest f16 below 1
}

/// The exponent is a 16-bit integer in the operand's half.
void ldexp(Wave& w, const Inst& inst) {
  Lanes sa, sb, out;
  const u32* a = fetch_f16(w, inst, 0, sa);
  const u32* b = fetch_half(w, inst, 1, sb);
  for (unsigned l = 0; l < w.lanes; ++l) {
    const int n = static_cast<std::int16_t>(b[l]);
    out.x[l] = bits_of(std::ldexp(as_f32(a[l]), n > 60 ? 60 : n < -60 ? -60 : n));
  }
  finish_f16(w, inst, out);
  store_half(w, inst, out, write_mask(w, inst));
}

template <double (*F)(double)>
void trans(Wave& w, const Inst& inst) {
  Lanes sa, out;
  const u32* a = fetch_f16(w, inst, 0, sa);
  for (unsigned l = 0; l < w.lanes; ++l) {
    out.x[l] = bits_of(static_cast<float>(F(static_cast<double>(as_f32(a[l])))));
  }
  finish_f16(w, inst, out);
  store_half(w, inst, out, write_mask(w, inst));
}
double rcp_unit(double x) { return 1.0 / x; }
double rsq_unit(double x) { return 1.0 / std::sqrt(x); }
double sqrt_unit(double x) { return std::sqrt(x); }
double exp2_unit(double x) { return std::exp2(x); }
double log2_unit(double x) { return std::log2(x); }

void fmac(Wave& w, const Inst& inst) {
  Lanes sa, sb, sc, out;
  const u32* a = fetch_f16(w, inst, 0, sa);
  const u32* b = fetch_f16(w, inst, 1, sb);
  const u32* old = w.row(inst.dst);
  const unsigned shift = inst.dst_high ? 16 : 0;
  const bool flush = w.mode.flush_in16;
  each_lane(w.lanes, [&](unsigned l) {
    const u32 c = old[l] >> shift & 0xFFFF;
    sc.x[l] = f16_to_f32(flush ? flush_f16(c) : c);
  });
  f16_lanes<fma3>(w, a, b, sc.x, out);
  finish_f16(w, inst, out);
  store_half(w, inst, out, write_mask(w, inst));
}

/// Copies two halves; sign modifiers apply, nothing rounds.
void pack(Wave& w, const Inst& inst) {
  Lanes sa, sb, out;
  const u32* a = fetch_half(w, inst, 0, sa);
  const u32* b = fetch_half(w, inst, 1, sb);
  const auto modify = [&](u32 x, const Source& s) {
    x = w.mode.flush_in16 ? flush_f16(x) : x;
    return (x & (s.abs ? 0x7FFFU : 0xFFFFU)) ^ (s.neg ? 0x8000U : 0U);
  };
  for (unsigned l = 0; l < w.lanes; ++l)
    out.x[l] = modify(a[l], inst.src[0]) | modify(b[l], inst.src[1]) << 16;
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

/// v_fma_mix: each source is an f32, or (op_sel_hi) the half of it that op_sel names. neg_lo negates,
/// neg_hi takes the absolute value.
WJ_SIM_INLINE const u32* mix_source(Wave& w, const Inst& inst, unsigned i, Lanes& scratch) {
  const u32* p = fetch(w, inst, i, scratch);
  const bool half = (inst.mods.op_sel_hi >> i & 1) != 0;
  const unsigned shift = (inst.mods.op_sel >> i & 1) != 0 ? 16 : 0;
  const bool negate = (inst.mods.neg_lo >> i & 1) != 0 || inst.src[i].neg;
  const bool absolute = (inst.mods.neg_hi >> i & 1) != 0 || inst.src[i].abs;
  for (unsigned l = 0; l < w.lanes; ++l) {
    u32 x = half ? f16_to_f32(p[l] >> shift & 0xFFFF) : p[l];
    if (half ? w.mode.flush_in16 : w.mode.flush_in32) x = flush_f32(x);
    if (absolute) x &= 0x7FFFFFFF;
    scratch.x[l] = negate ? x ^ 0x80000000 : x;
  }
  return scratch.x;
}

WJ_SIM_INLINE void mix_sum(Wave& w, const Inst& inst, Lanes& out) {
  Lanes sa, sb, sc;
  const u32* a = mix_source(w, inst, 0, sa);
  const u32* b = mix_source(w, inst, 1, sb);
  const u32* c = mix_source(w, inst, 2, sc);
  each_lane(w.lanes,
            [&](unsigned l) { out.x[l] = bits_of(fused(as_f32(a[l]), as_f32(b[l]), as_f32(c[l]))); });
}

void fma_mix(Wave& w, const Inst& inst) {
  Lanes out;
  mix_sum(w, inst, out);
  finish_f32(w, inst, out);
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

void fma_mix_f16(Wave& w, const Inst& inst) {
  Lanes out;
  mix_sum(w, inst, out);
  finish_f16(w, inst, out);
  store_half(w, inst, out, write_mask(w, inst));
}

}  // namespace

void add_half(Handlers& h) {
  constexpr auto f = FloatClass::f16;
  h.set(Opcode::v_add_f16, f16<add>, f);
  h.set(Opcode::v_sub_f16, f16<sub>, f);
  h.set(Opcode::v_mul_f16, f16<mul>, f);
  h.set(Opcode::v_fma_f16, f16<fma3>, f);
  h.set(Opcode::v_fmac_f16, fmac, f);
  h.set(Opcode::v_max_f16, minmax<max_plain, max_ieee, false>);
  h.set(Opcode::v_min_f16, minmax<min_plain, min_ieee, false>);
  h.set(Opcode::v_subrev_f16, f16<[](float a, float b) { return f16_sum_odd(b, -a); }>, f);
  h.set(Opcode::v_fmaak_f16, f16<fma3>, f);
  h.set(Opcode::v_fmamk_f16, f16<fma3>, f);
  h.set(Opcode::v_min3_f16, extreme3<false>);
  h.set(Opcode::v_max3_f16, extreme3<true>);
  h.set(Opcode::v_minmax_f16, extreme3<false, true>);
  h.set(Opcode::v_maxmin_f16, extreme3<true, false>);
  h.set(Opcode::v_med3_f16, f16<[](float a, float b, float c) { return median(a, b, c); }>);
  h.set(Opcode::v_rndne_f16, f16<[](float a) { return bits_of(__builtin_roundevenf(a)); }>);
  h.set(Opcode::v_trunc_f16, f16<[](float a) { return bits_of(__builtin_truncf(a)); }>);
  h.set(Opcode::v_floor_f16, f16<[](float a) { return bits_of(__builtin_floorf(a)); }>);
  h.set(Opcode::v_ceil_f16, f16<[](float a) { return bits_of(__builtin_ceilf(a)); }>);
  h.set(Opcode::v_fract_f16, f16<[](float a) { return fract(a); }>);
  h.set(Opcode::v_ldexp_f16, ldexp, f);
  h.set(Opcode::v_rcp_f16, trans<rcp_unit>);
  h.set(Opcode::v_rsq_f16, trans<rsq_unit>);
  h.set(Opcode::v_sqrt_f16, trans<sqrt_unit>);
  h.set(Opcode::v_exp_f16, trans<exp2_unit>);
  h.set(Opcode::v_log_f16, trans<log2_unit>);
  h.set(Opcode::v_pack_b32_f16, pack);
  h.set(Opcode::v_pk_add_f16, packed_f16<add>, f);
  h.set(Opcode::v_pk_mul_f16, packed_f16<mul>, f);
  h.set(Opcode::v_pk_fma_f16, packed_f16<fma3>, f);
  h.set(Opcode::v_pk_max_f16, minmax<max_plain, max_ieee, true>);
  h.set(Opcode::v_pk_min_f16, minmax<min_plain, min_ieee, true>);
  h.set(Opcode::v_fma_mix_f32, fma_mix, FloatClass::f32);
  h.set(Opcode::v_fma_mixlo_f16, fma_mix_f16, FloatClass::f32);
  h.set(Opcode::v_fma_mixhi_f16, fma_mix_f16, FloatClass::f32);
}

}  // namespace wavejit::sim::WAVEJIT_SIM_VARIANT
