// SPDX-License-Identifier: MIT
// VALU: what division, range reduction and classification are made of.
#include <cmath>

#include "runtime/device/sim/exec/valu.hpp"

namespace wavejit::sim::WAVEJIT_SIM_VARIANT {
namespace {

WJ_SIM_INLINE int exponent(u32 bits) { return static_cast<int>(bits >> 23 & 0xFF); }
WJ_SIM_INLINE bool is_zero(u32 bits) { return (bits & 0x7FFFFFFF) == 0; }
WJ_SIM_INLINE bool is_infinite(u32 bits) { return (bits & 0x7FFFFFFF) == 0x7F800000; }
WJ_SIM_INLINE bool is_denormal(u32 bits) { return exponent(bits) == 0 && (bits & 0x7FFFFF) != 0; }

u32 scale(u32 x, int power) { return bits_of(std::ldexp(as_f32(x), power)); }

struct Scaled {
  u32 value;
  bool flag;
};

/// Brings numerator (c) and denominator (b) of a quotient into range; a is the one to scale.
Scaled div_scale(u32 a, u32 b, u32 c) {
  if (is_zero(c) || is_zero(b)) return {0x7FC00000, false};
  if (exponent(c) - exponent(b) >= 96) return {a == b ? scale(a, 64) : a, true};
  if (is_denormal(b)) return {scale(a, 64), false};
  const bool tiny_reciprocal = is_denormal(bits_of(1.0F / as_f32(b)));
  const bool tiny_quotient = is_denormal(bits_of(as_f32(c) / as_f32(b)));
  if (tiny_reciprocal && tiny_quotient) return {a == b ? scale(a, 64) : a, true};
  if (tiny_reciprocal) return {scale(a, -64), false};
  if (tiny_quotient) return {a == c ? scale(a, 64) : a, true};
  if (exponent(c) <= 23) return {scale(a, 64), false};
  return {a, false};
}

void div_scale_f32(Wave& w, const Inst& inst) {
  Lanes s[3], out, flags;
  const u32* p[3];
  for (unsigned i = 0; i < 3; ++i) p[i] = fetch_f32(w, inst, i, s[i]);
  for (unsigned l = 0; l < w.lanes; ++l) {
    const Scaled r = div_scale(p[0][l], p[1][l], p[2][l]);
    out.x[l] = r.value;
    flags.x[l] = r.flag ? 1 : 0;
  }
  const u64 mask = write_mask(w, inst);
  store_row(w, inst.dst, out.x, mask);
  w.set_mask(inst.dst2, pack_bits(flags, w.lanes) & mask);
}

/// The last multiply-add of a quotient, scaled back where VCC says so: up where the addend is large, else
/// down.
void div_fmas_f32(Wave& w, const Inst& inst) {
  Lanes s[3], out;
  const u32* p[3];
  for (unsigned i = 0; i < 3; ++i) p[i] = fetch_f32(w, inst, i, s[i]);
  const u64 vcc = w.mask(isa::sreg::vcc_lo);
  for (unsigned l = 0; l < w.lanes; ++l) {
    const float r = fused(as_f32(p[0][l]), as_f32(p[1][l]), as_f32(p[2][l]));
    const float back = exponent(p[2][l]) > 127 ? 0x1p64F : 0x1p-64F;
    out.x[l] = bits_of((vcc >> l & 1) != 0 ? r * back : r);
  }
  finish_f32(w, inst, out);
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

/// Special cases of numerator (c) over denominator (b); else the quotient (a) with the right sign.
u32 div_fixup(u32 a, u32 b, u32 c) {
  const u32 sign = (b ^ c) & 0x80000000;
  if (is_nan(c)) return c | 0x400000;
  if (is_nan(b)) return b | 0x400000;
  if ((is_zero(b) && is_zero(c)) || (is_infinite(b) && is_infinite(c))) return 0xFFC00000;
  if (is_zero(b) || is_infinite(c)) return sign | 0x7F800000;
  if (is_infinite(b) || is_zero(c)) return sign;
  if (exponent(c) - exponent(b) < -150) return sign;
  if (is_nan(a)) return sign | 0x7F800000;  // the estimate overflowed
  return sign | (a & 0x7FFFFFFF);
}

void div_fixup_f32(Wave& w, const Inst& inst) {
  Lanes s[3], out;
  const u32* p[3];
  for (unsigned i = 0; i < 3; ++i) p[i] = fetch_f32(w, inst, i, s[i]);
  for (unsigned l = 0; l < w.lanes; ++l) out.x[l] = div_fixup(p[0][l], p[1][l], p[2][l]);
  finish_f32(w, inst, out);
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

void div_fixup_f16(Wave& w, const Inst& inst) {
  Lanes s[3], out;
  const u32* p[3];
  for (unsigned i = 0; i < 3; ++i) p[i] = fetch_f16(w, inst, i, s[i]);
  for (unsigned l = 0; l < w.lanes; ++l) out.x[l] = div_fixup(p[0][l], p[1][l], p[2][l]);
  finish_f16(w, inst, out);
  store_half(w, inst, out, write_mask(w, inst));
}

void frexp_exp(Wave& w, const Inst& inst) {
  Lanes s, out;
  const u32* a = fetch_f32(w, inst, 0, s);
  for (unsigned l = 0; l < w.lanes; ++l) {
    int e = 0;
    if (exponent(a[l]) != 255) (void)std::frexp(as_f32(a[l]), &e);
    out.x[l] = static_cast<u32>(e);
  }
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

void frexp_mant(Wave& w, const Inst& inst) {
  Lanes s, out;
  const u32* a = fetch_f32(w, inst, 0, s);
  for (unsigned l = 0; l < w.lanes; ++l) {
    int e = 0;
    out.x[l] = exponent(a[l]) == 255 ? a[l] : bits_of(std::frexp(as_f32(a[l]), &e));
  }
  finish_f32(w, inst, out);
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

/// Bit of v_cmp_class: signalling NaN, quiet NaN, then -inf, -normal, -denormal, -0, +0, … +inf.
u32 class_bit(bool negative, u32 magnitude, u32 infinity, u32 smallest_normal, u32 quiet) {
  if (magnitude > infinity) return (magnitude & quiet) != 0 ? 2 : 1;
  const unsigned kind = magnitude == infinity ? 0 : magnitude >= smallest_normal ? 1 : magnitude != 0 ? 2 : 3;
  return negative ? 4U << kind : 0x200U >> kind;
}

template <bool Half>
void cmp_class(Wave& w, const Inst& inst) {
  Lanes sa, sb, flags;
  const u32* a = Half ? fetch_half(w, inst, 0, sa) : fetch(w, inst, 0, sa);
  const u32* b = Half ? fetch_half(w, inst, 1, sb) : fetch(w, inst, 1, sb);
  const Source& s = inst.src[0];
  const u32 sign = Half ? 0x8000 : 0x80000000;
  for (unsigned l = 0; l < w.lanes; ++l) {
    u32 x = s.abs ? a[l] & ~sign : a[l];
    x = s.neg ? x ^ sign : x;
    const u32 bit = Half ? class_bit((x & sign) != 0, x & 0x7FFF, 0x7C00, 0x400, 0x200)
                         : class_bit((x & sign) != 0, x & 0x7FFFFFFF, 0x7F800000, 0x800000, 0x400000);
    flags.x[l] = (b[l] & bit) != 0 ? 1 : 0;
  }
  const u64 bits = pack_bits(flags, w.lanes) & write_mask(w, inst);
  w.set_mask(inst.dst, bits);
}

/// sin and cos of an angle in revolutions, with exact zeros.
double sin_turns(double x) {
  constexpr double pi = 3.1415926535897932384626433832795;
  const double t = 2 * (x - std::floor(x));
  return t == 0 || t == 1 ? 0.0 : std::sin(pi * t);
}
double cos_turns(double x) {
  constexpr double pi = 3.1415926535897932384626433832795;
  const double t = 2 * (x - std::floor(x));
  return t == 0.5 || t == 1.5 ? 0.0 : std::cos(pi * t);
}

template <double (*F)(double)>
void turns(Wave& w, const Inst& inst) {
  Lanes s, out;
  const u32* a = fetch_f32(w, inst, 0, s);
  for (unsigned l = 0; l < w.lanes; ++l) {
    out.x[l] = bits_of(static_cast<float>(F(static_cast<double>(as_f32(a[l])))));
  }
  finish_f32(w, inst, out);
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

}  // namespace

void add_special(Handlers& h) {
  h.set(Opcode::v_div_scale_f32, div_scale_f32);
  h.set(Opcode::v_div_fmas_f32, div_fmas_f32, FloatClass::f32);
  h.set(Opcode::v_div_fixup_f32, div_fixup_f32);
  h.set(Opcode::v_div_fixup_f16, div_fixup_f16);
  h.set(Opcode::v_frexp_exp_i32_f32, frexp_exp);
  h.set(Opcode::v_frexp_mant_f32, frexp_mant);
  h.set(Opcode::v_cmp_class_f32, cmp_class<false>);
  h.set(Opcode::v_cmp_class_f16, cmp_class<true>);
  h.set(Opcode::v_sin_f32, turns<sin_turns>);
  h.set(Opcode::v_cos_f32, turns<cos_turns>);
}

}  // namespace wavejit::sim::WAVEJIT_SIM_VARIANT
