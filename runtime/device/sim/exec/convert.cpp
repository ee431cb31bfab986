// SPDX-License-Identifier: MIT
// VALU: conversions. Float to integer truncates and saturates; NaN gives 0.
#include "runtime/device/sim/exec/valu.hpp"

namespace wavejit::sim::WAVEJIT_SIM_VARIANT {
namespace {

WJ_SIM_INLINE u32 f32_to_i32(float x) {
  const float low = x < -0x1p31F ? -0x1p31F : x;
  const bool high = x >= 0x1p31F;
  const i32 value = static_cast<i32>(high || !(x == x) ? 0.0F : low);
  return high ? 0x7FFFFFFF : static_cast<u32>(value);
}

WJ_SIM_INLINE u32 f32_to_u32(float x) {
  const float low = x > 0 ? x : 0.0F;  // NaN and negatives
  const bool high = low >= 0x1p32F;
  const u32 value = static_cast<u32>(static_cast<i64>(high ? 0.0F : low));
  return high ? 0xFFFFFFFF : value;
}

/// Float source, integer result: no omod, no clamp.
template <auto F>
void from_f32(Wave& w, const Inst& inst) {
  Lanes sa, out;
  const u32* a = fetch_f32(w, inst, 0, sa);
  each_lane(w.lanes, [&](unsigned l) { out.x[l] = F(as_f32(a[l])); });
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

/// Integer source, float result.
template <auto F>
void to_f32(Wave& w, const Inst& inst) {
  Lanes sa, out;
  const u32* a = fetch(w, inst, 0, sa);
  each_lane(w.lanes, [&](unsigned l) { out.x[l] = bits_of(F(a[l])); });
  finish_f32(w, inst, out);
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

void f16_from_f32(Wave& w, const Inst& inst) {
  Lanes sa, out;
  const u32* a = fetch_f32(w, inst, 0, sa);
  each_lane(w.lanes, [&](unsigned l) { out.x[l] = a[l]; });
  finish_f16(w, inst, out);
  store_half(w, inst, out, write_mask(w, inst));
}

void f32_from_f16(Wave& w, const Inst& inst) {
  Lanes sa, out;
  const u32* a = fetch_f16(w, inst, 0, sa);
  each_lane(w.lanes, [&](unsigned l) { out.x[l] = is_nan(a[l]) ? a[l] | 0x400000 : a[l]; });
  finish_f32(w, inst, out);
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

/// 16-bit integers to f16. The f32 in between is exact.
template <auto F>
void f16_from_int16(Wave& w, const Inst& inst) {
  Lanes sa, out;
  const u32* a = fetch_half(w, inst, 0, sa);
  each_lane(w.lanes, [&](unsigned l) { out.x[l] = bits_of(F(a[l])); });
  finish_f16(w, inst, out);
  store_half(w, inst, out, write_mask(w, inst));
}

template <auto F>
void int16_from_f16(Wave& w, const Inst& inst) {
  Lanes sa, out;
  const u32* a = fetch_f16(w, inst, 0, sa);
  for (unsigned l = 0; l < w.lanes; ++l) out.x[l] = F(as_f32(a[l]));
  store_half(w, inst, out, write_mask(w, inst));
}

WJ_SIM_INLINE u32 f32_to_u16(float x) {
  const u32 v = f32_to_u32(x);
  return v > 0xFFFF ? 0xFFFF : v;
}
WJ_SIM_INLINE u32 f32_to_i16(float x) {
  const i32 v = static_cast<i32>(f32_to_i32(x));
  return static_cast<u32>(v > 0x7FFF ? 0x7FFF : v < -0x8000 ? -0x8000 : v) & 0xFFFF;
}

/// Two f32 to a pair of 16-bit floats.
template <auto F>
void pack_from_f32(Wave& w, const Inst& inst) {
  Lanes sa, sb, out;
  const u32* a = fetch_f32(w, inst, 0, sa);
  const u32* b = fetch_f32(w, inst, 1, sb);
  for (unsigned l = 0; l < w.lanes; ++l) out.x[l] = F(a[l]) | F(b[l]) << 16;
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

/// Replaces byte S2[1:0] of S2 by S0 rounded to an unsigned byte.
void cvt_pk_u8(Wave& w, const Inst& inst) {
  Lanes sa, sb, sc, out;
  const u32* a = fetch_f32(w, inst, 0, sa);
  const u32* b = fetch(w, inst, 1, sb);
  const u32* c = fetch(w, inst, 2, sc);
  for (unsigned l = 0; l < w.lanes; ++l) {
    const float x = __builtin_roundevenf(as_f32(a[l]));
    const u32 byte = !(x > 0) ? 0 : x > 255 ? 255 : static_cast<u32>(x);
    const unsigned shift = 8 * (b[l] & 3);
    out.x[l] = (c[l] & ~(0xFFU << shift)) | byte << shift;
  }
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

/// [-1, 1] or [0, 1] to all of a 16-bit integer, to nearest.
WJ_SIM_INLINE u32 f32_to_snorm16(float x) {
  const float low = x > -1.0F ? x : -1.0F;
  const float clamped = x == x ? (low < 1.0F ? low : 1.0F) : 0.0F;
  return static_cast<u32>(static_cast<i32>(__builtin_roundevenf(clamped * 32767.0F))) & 0xFFFF;
}
WJ_SIM_INLINE u32 f32_to_unorm16(float x) {
  const float low = x > 0.0F ? x : 0.0F;
  return static_cast<u32>(static_cast<i32>(__builtin_roundevenf((low < 1.0F ? low : 1.0F) * 65535.0F)));
}

/// Two 32-bit integers, saturated to 16.
template <bool Signed>
void pack_from_i32(Wave& w, const Inst& inst) {
  Lanes sa, sb, out;
  const u32* a = fetch(w, inst, 0, sa);
  const u32* b = fetch(w, inst, 1, sb);
  const auto narrow = [](u32 x) {
    const i32 v = static_cast<i32>(x);
    if (!Signed) return x > 0xFFFF ? 0xFFFFU : x;
    return static_cast<u32>(v > 0x7FFF ? 0x7FFF : v < -0x8000 ? -0x8000 : v) & 0xFFFF;
  };
  for (unsigned l = 0; l < w.lanes; ++l) out.x[l] = narrow(a[l]) | narrow(b[l]) << 16;
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

void cvt_widen16(Wave& w, const Inst& inst) {
  const bool is_signed = inst.op == Opcode::v_cvt_i32_i16;
  Lanes sa, out;
  const u32* a = fetch_half(w, inst, 0, sa);
  each_lane(w.lanes, [&](unsigned l) {
    out.x[l] = is_signed ? static_cast<u32>(static_cast<i32>(a[l] << 16) >> 16) : a[l];
  });
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

}  // namespace

void add_convert(Handlers& h) {
  constexpr auto f = FloatClass::f32;
  h.set(Opcode::v_cvt_f32_i32, to_f32<[](u32 a) { return static_cast<float>(static_cast<i32>(a)); }>, f);
  h.set(Opcode::v_cvt_f32_u32, to_f32<[](u32 a) { return static_cast<float>(a); }>, f);
  h.set(Opcode::v_cvt_i32_f32, from_f32<[](float a) { return f32_to_i32(a); }>);
  h.set(Opcode::v_cvt_u32_f32, from_f32<[](float a) { return f32_to_u32(a); }>);
  h.set(Opcode::v_cvt_f32_ubyte0, to_f32<[](u32 a) { return static_cast<float>(a & 0xFF); }>);
  h.set(Opcode::v_cvt_f32_ubyte1, to_f32<[](u32 a) { return (static_cast<float>(a >> 8 & 0xFF)); }>);
  h.set(Opcode::v_cvt_f32_ubyte2, to_f32<[](u32 a) { return (static_cast<float>(a >> 16 & 0xFF)); }>);
  h.set(Opcode::v_cvt_f32_ubyte3, to_f32<[](u32 a) { return (static_cast<float>(a >> 24)); }>);
  h.set(Opcode::v_cvt_off_f32_i4,
        to_f32<[](u32 a) { return (static_cast<float>(static_cast<i32>(a << 28) >> 28) * 0.0625F); }>);
  h.set(Opcode::v_cvt_f16_f32, f16_from_f32);
  h.set(Opcode::v_cvt_f32_f16, f32_from_f16);
  h.set(Opcode::v_cvt_f16_u16, f16_from_int16<[](u32 a) { return static_cast<float>(a); }>);
  h.set(Opcode::v_cvt_f16_i16,
        f16_from_int16<[](u32 a) { return static_cast<float>(static_cast<std::int16_t>(a)); }>);
  h.set(Opcode::v_cvt_u16_f16, int16_from_f16<[](float a) { return f32_to_u16(a); }>);
  h.set(Opcode::v_cvt_i16_f16, int16_from_f16<[](float a) { return f32_to_i16(a); }>);
  h.set(Opcode::v_cvt_norm_i16_f16, int16_from_f16<[](float a) { return f32_to_snorm16(a); }>);
  h.set(Opcode::v_cvt_norm_u16_f16, int16_from_f16<[](float a) { return f32_to_unorm16(a); }>);
  h.set(Opcode::v_cvt_pk_rtz_f16_f32, pack_from_f32<[](u32 a) { return f32_to_f16(a, Round::zero); }>);
  h.set(Opcode::v_cvt_pk_bf16_f32, pack_from_f32<[](u32 a) { return f32_to_bf16_nearest(a); }>);
  h.set(Opcode::v_cvt_pk_i16_f32, pack_from_f32<[](u32 a) { return f32_to_i16(as_f32(a)); }>);
  h.set(Opcode::v_cvt_pk_u16_f32, pack_from_f32<[](u32 a) { return f32_to_u16(as_f32(a)); }>);
  h.set(Opcode::v_cvt_pk_norm_i16_f32, pack_from_f32<[](u32 a) { return f32_to_snorm16(as_f32(a)); }>);
  h.set(Opcode::v_cvt_pk_norm_u16_f32, pack_from_f32<[](u32 a) { return f32_to_unorm16(as_f32(a)); }>);
  h.set(Opcode::v_cvt_pk_u16_u32, pack_from_i32<false>);
  h.set(Opcode::v_cvt_pk_i16_i32, pack_from_i32<true>);
  h.set(Opcode::v_cvt_nearest_i32_f32,
        from_f32<[](float a) { return f32_to_i32(__builtin_floorf(a + 0.5F)); }>);
  h.set(Opcode::v_cvt_floor_i32_f32, from_f32<[](float a) { return f32_to_i32(__builtin_floorf(a)); }>);
  h.set(Opcode::v_cvt_pk_u8_f32, cvt_pk_u8);
  h.set(Opcode::v_cvt_i32_i16, cvt_widen16);
  h.set(Opcode::v_cvt_u32_u16, cvt_widen16);
}

}  // namespace wavejit::sim::WAVEJIT_SIM_VARIANT
