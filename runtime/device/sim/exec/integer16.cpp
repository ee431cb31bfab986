// SPDX-License-Identifier: MIT
// VALU: 16-bit integers, single and packed.
#include "runtime/device/sim/exec/valu.hpp"

namespace wavejit::sim::WAVEJIT_SIM_VARIANT {
namespace {

WJ_SIM_INLINE i32 sext16(u32 x) { return static_cast<std::int16_t>(x); }
WJ_SIM_INLINE u32 saturate_u16(u32 x) { return x > 0xFFFF ? 0xFFFF : x; }
WJ_SIM_INLINE u32 saturate_i16(i32 x) { return static_cast<u32>(x > 0x7FFF ? 0x7FFF : x < -0x8000 ? -0x8000 : x); }

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

}  // namespace

void add_integer16(Handlers& h) {
  h.set(Opcode::v_add_nc_u16, int16_clamp<add, add_saturating>);
  h.set(Opcode::v_sub_nc_u16, int16_clamp<sub, sub_saturating>);
  h.set(Opcode::v_mul_lo_u16, int16<mul>);
  h.set(Opcode::v_mad_u16, int16_clamp<mad, mad_saturating>);
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
