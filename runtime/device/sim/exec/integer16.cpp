// SPDX-License-Identifier: MIT
// VALU: 16-bit integers, single and packed.
#include "runtime/device/sim/exec/valu.hpp"

namespace wavejit::sim::WAVEJIT_SIM_VARIANT {
namespace {

WJ_SIM_INLINE i32 sext16(u32 x) { return static_cast<std::int16_t>(x); }
WJ_SIM_INLINE u32 saturate_u16(u32 x) { return x > 0xFFFF ? 0xFFFF : x; }
WJ_SIM_INLINE u32 saturate_i16(i32 x) {
  return static_cast<u32>(x > 0x7FFF ? 0x7FFF : x < -0x8000 ? -0x8000 : x);
}

constexpr auto add = [](u32 a, u32 b) { return a + b; };
constexpr auto sub = [](u32 a, u32 b) { return a - b; };
constexpr auto mul = [](u32 a, u32 b) { return a * b; };
constexpr auto mad = [](u32 a, u32 b, u32 c) { return a * b + c; };
constexpr auto shift_left = [](u32 a, u32 b) { return b << (a & 15); };
constexpr auto shift_right = [](u32 a, u32 b) { return b >> (a & 15); };
constexpr auto shift_signed = [](u32 a, u32 b) { return static_cast<u32>(sext16(b) >> (a & 15)); };
constexpr auto add_saturating = [](u32 a, u32 b) { return saturate_u16(a + b); };
constexpr auto sub_saturating = [](u32 a, u32 b) { return a < b ? 0U : a - b; };
constexpr auto sub_signed_saturating = [](u32 a, u32 b) { return saturate_i16(sext16(a) - sext16(b)); };
constexpr auto mad_saturating = [](u32 a, u32 b, u32 c) {
  const u64 wide = u64{a} * b + c;
  return static_cast<u32>(wide > 0xFFFF ? 0xFFFF : wide);
};

constexpr auto add_signed_saturating = [](u32 a, u32 b) { return saturate_i16(sext16(a) + sext16(b)); };
constexpr auto mad_signed_saturating = [](u32 a, u32 b, u32 c) {
  const i64 wide = i64{sext16(a)} * sext16(b) + sext16(c);
  return static_cast<u32>(wide > 0x7FFF ? 0x7FFF : wide < -0x8000 ? -0x8000 : wide);
};
constexpr auto min_unsigned = [](u32 a, u32 b) { return a < b ? a : b; };
constexpr auto max_unsigned = [](u32 a, u32 b) { return a < b ? b : a; };
constexpr auto min_signed = [](u32 a, u32 b) { return sext16(a) < sext16(b) ? a : b; };
constexpr auto max_signed = [](u32 a, u32 b) { return sext16(a) < sext16(b) ? b : a; };

template <auto F>
constexpr auto three = [](u32 a, u32 b, u32 c) { return F(F(a, b), c); };
template <auto Min, auto Max>
constexpr auto median = [](u32 a, u32 b, u32 c) { return Max(Min(a, b), Min(Max(a, b), c)); };

/// 16-bit factors, 32-bit sum.
template <bool Signed>
void mad_wide(Wave& w, const Inst& inst) {
  Lanes sa, sb, sc, out;
  const u32* a = fetch_half(w, inst, 0, sa);
  const u32* b = fetch_half(w, inst, 1, sb);
  const u32* c = fetch(w, inst, 2, sc);
  each_lane(w.lanes, [&](unsigned l) {
    const u32 product = Signed ? static_cast<u32>(sext16(a[l]) * sext16(b[l])) : a[l] * b[l];
    out.x[l] = product + c[l];
  });
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

void add_min_max(Handlers& h) {
  h.set(Opcode::v_min_u16, int16<min_unsigned>);
  h.set(Opcode::v_max_u16, int16<max_unsigned>);
  h.set(Opcode::v_min_i16, int16<min_signed>);
  h.set(Opcode::v_max_i16, int16<max_signed>);
  h.set(Opcode::v_min3_u16, int16<three<min_unsigned>>);
  h.set(Opcode::v_max3_u16, int16<three<max_unsigned>>);
  h.set(Opcode::v_med3_u16, int16<median<min_unsigned, max_unsigned>>);
  h.set(Opcode::v_min3_i16, int16<three<min_signed>>);
  h.set(Opcode::v_max3_i16, int16<three<max_signed>>);
  h.set(Opcode::v_med3_i16, int16<median<min_signed, max_signed>>);
  h.set(Opcode::v_pk_min_u16, packed_int<min_unsigned>);
  h.set(Opcode::v_pk_max_u16, packed_int<max_unsigned>);
  h.set(Opcode::v_pk_min_i16, packed_int<min_signed>);
  h.set(Opcode::v_pk_max_i16, packed_int<max_signed>);
}

}  // namespace

void add_integer16(Handlers& h) {
  h.set(Opcode::v_add_nc_u16, int16_clamp<add, add_saturating>);
  h.set(Opcode::v_sub_nc_u16, int16_clamp<sub, sub_saturating>);
  h.set(Opcode::v_mul_lo_u16, int16<mul>);
  h.set(Opcode::v_mad_u16, int16_clamp<mad, mad_saturating>);
  h.set(Opcode::v_add_nc_i16, int16_clamp<add, add_signed_saturating>);
  h.set(Opcode::v_sub_nc_i16, int16_clamp<sub, sub_signed_saturating>);
  h.set(Opcode::v_mad_i16, int16_clamp<mad, mad_signed_saturating>);
  h.set(Opcode::v_mad_u32_u16, mad_wide<false>);
  h.set(Opcode::v_mad_i32_i16, mad_wide<true>);
  h.set(Opcode::v_pk_add_i16, packed_int_clamp<add, add_signed_saturating>);
  h.set(Opcode::v_pk_mad_i16, packed_int_clamp<mad, mad_signed_saturating>);
  add_min_max(h);
  h.set(Opcode::v_lshlrev_b16, int16<shift_left>);
  h.set(Opcode::v_lshrrev_b16, int16<shift_right>);
  h.set(Opcode::v_ashrrev_i16, int16<shift_signed>);
  h.set(Opcode::v_and_b16, int16<[](u32 a, u32 b) { return a & b; }>);
  h.set(Opcode::v_or_b16, int16<[](u32 a, u32 b) { return a | b; }>);
  h.set(Opcode::v_xor_b16, int16<[](u32 a, u32 b) { return a ^ b; }>);
  h.set(Opcode::v_not_b16, int16<[](u32 a) { return ~a; }>);

  h.set(Opcode::v_pk_add_u16, packed_int_clamp<add, add_saturating>);
  h.set(Opcode::v_pk_sub_u16, packed_int_clamp<sub, sub_saturating>);
  h.set(Opcode::v_pk_sub_i16, packed_int_clamp<sub, sub_signed_saturating>);
  h.set(Opcode::v_pk_mul_lo_u16, packed_int<mul>);
  h.set(Opcode::v_pk_mad_u16, packed_int_clamp<mad, mad_saturating>);
  h.set(Opcode::v_pk_lshlrev_b16, packed_int<shift_left>);
  h.set(Opcode::v_pk_lshrrev_b16, packed_int<shift_right>);
  h.set(Opcode::v_pk_ashrrev_i16, packed_int<shift_signed>);
}

}  // namespace wavejit::sim::WAVEJIT_SIM_VARIANT
