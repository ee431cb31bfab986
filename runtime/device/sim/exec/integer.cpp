// SPDX-License-Identifier: MIT
// VALU: 32-bit integers and bit operations.
#include <algorithm>
#include <bit>

#include "runtime/device/sim/exec/valu.hpp"

namespace wavejit::sim::WAVEJIT_SIM_VARIANT {
namespace {

WJ_SIM_INLINE i32 s(u32 x) { return static_cast<i32>(x); }
WJ_SIM_INLINE u32 u(i32 x) { return static_cast<u32>(x); }
WJ_SIM_INLINE u32 low32(i64 x) { return static_cast<u32>(x); }

WJ_SIM_INLINE u32 saturate_i32(i64 x) {
  return low32(x > 0x7FFFFFFF ? 0x7FFFFFFF : x < -i64{0x80000000} ? -i64{0x80000000} : x);
}
WJ_SIM_INLINE i32 sext24(u32 x) { return s(x << 8) >> 8; }
WJ_SIM_INLINE u32 field_mask(u32 width) { return (1U << (width & 31)) - 1; }

WJ_SIM_INLINE u32 bfe_unsigned(u32 x, u32 offset, u32 width) {
  return x >> (offset & 31) & field_mask(width);
}

/// A field that reaches beyond the register goes on with copies of its sign.
WJ_SIM_INLINE u32 bfe_signed(u32 x, u32 offset, u32 width) {
  const u32 field = u(s(x) >> (offset & 31)) & field_mask(width);
  const u32 n = width & 31;
  const u32 sign = n == 0 ? 0 : field >> (n - 1) & 1;
  return field | (sign != 0 ? ~field_mask(width) : 0);
}

/// Byte `select` of the pool {high, low}: 0..3 low, 4..7 high, 8..11 sign of a 16-bit half, 12 zero,
/// above it ones.
WJ_SIM_INLINE u32 perm_byte(u64 pool, u32 select) {
  const u32 byte = static_cast<u32>(pool >> (8 * (select & 7))) & 0xFF;
  const u32 sign = (pool >> (16 * (select & 3) + 15) & 1) != 0 ? 0xFF : 0;
  return select < 8 ? byte : select < 12 ? sign : select == 12 ? 0 : 0xFF;
}

WJ_SIM_INLINE u32 perm(u32 a, u32 b, u32 select) {
  const u64 pool = static_cast<u64>(a) << 32 | b;
  u32 result = 0;
  for (unsigned i = 0; i < 4; ++i) result |= perm_byte(pool, select >> (8 * i) & 0xFF) << (8 * i);
  return result;
}

WJ_SIM_INLINE u32 reverse_bits(u32 x) {
  x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
  x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
  x = (x >> 4 & 0x0F0F0F0F) | (x & 0x0F0F0F0F) << 4;
  x = (x >> 8 & 0x00FF00FF) | (x & 0x00FF00FF) << 8;
  return x >> 16 | x << 16;
}

/// Position of the first bit that differs from the sign; -1 when none does.
WJ_SIM_INLINE u32 leading_signs(u32 a) {
  const u32 differing = a ^ u(s(a) >> 31);
  return differing == 0 ? ~0U : static_cast<u32>(std::countl_zero(differing));
}

WJ_SIM_INLINE u32 median(i64 a, i64 b, i64 c) {
  return low32(std::max(std::min(a, b), std::min(std::max(a, b), c)));
}

/// Sum of absolute differences of the parts of `Bits` bits; masked: parts where `b` is 0 do not count.
template <unsigned Bits, bool Masked = false>
WJ_SIM_INLINE u32 differences(u32 a, u32 b) {
  constexpr u32 part = Bits == 32 ? ~0U : (1U << Bits % 32) - 1;
  u32 sum = 0;
  for (unsigned i = 0; i < 32; i += Bits) {
    const u32 x = a >> i & part;
    const u32 y = b >> i & part;
    if (!Masked || y != 0) sum += x > y ? x - y : y - x;
  }
  return sum;
}

/// Uniform constant selectors of v_perm are the rule; then each result byte is one shift.
void perm_b32(Wave& w, const Inst& inst) {
  Lanes sa, sb, sc, out;
  const u32* a = fetch(w, inst, 0, sa);
  const u32* b = fetch(w, inst, 1, sb);
  if (inst.src[2].kind == Source::Kind::vgpr) {
    const u32* c = fetch(w, inst, 2, sc);
    for (unsigned l = 0; l < w.lanes; ++l) out.x[l] = perm(a[l], b[l], c[l]);
  } else {
    const u32 select = w.scalar(inst.src[2]);
    each_lane(w.lanes, [&](unsigned l) { out.x[l] = 0; });
    for (unsigned i = 0; i < 4; ++i) {
      const u32 byte = select >> (8 * i) & 0xFF;
      if (byte < 8) {
        const u32* from = byte < 4 ? b : a;
        const unsigned shift = 8 * (byte & 3);
        each_lane(w.lanes, [&](unsigned l) { out.x[l] |= (from[l] >> shift & 0xFF) << (8 * i); });
      } else {
        each_lane(w.lanes,
                  [&](unsigned l) { out.x[l] |= perm(a[l], b[l], byte) << (8 * i) & 0xFFU << (8 * i); });
      }
    }
  }
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

/// Bits of the mask source below this lane, plus source 1.
template <bool High>
void mbcnt(Wave& w, const Inst& inst) {
  Lanes sa, sb, out;
  const u32* a = fetch(w, inst, 0, sa);
  const u32* b = fetch(w, inst, 1, sb);
  for (unsigned l = 0; l < w.lanes; ++l) {
    const u64 below = (u64{1} << l) - 1;
    const u32 part = static_cast<u32>(High ? below >> 32 : below);
    out.x[l] = b[l] + static_cast<u32>(std::popcount(a[l] & part));
  }
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

void add_arithmetic(Handlers& h) {
  h.set(Opcode::v_add_nc_u32, int32_clamp<[](u32 a, u32 b) { return a + b; },
                                          [](u32 a, u32 b) { return a + b < a ? 0xFFFFFFFFU : a + b; }>);
  h.set(Opcode::v_sub_nc_u32,
        int32_clamp<[](u32 a, u32 b) { return a - b; }, [](u32 a, u32 b) { return a < b ? 0U : a - b; }>);
  h.set(Opcode::v_subrev_nc_u32,
        int32_clamp<[](u32 a, u32 b) { return b - a; }, [](u32 a, u32 b) { return b < a ? 0U : b - a; }>);
  h.set(Opcode::v_add_nc_i32, int32_clamp<[](u32 a, u32 b) { return a + b; },
                                          [](u32 a, u32 b) { return saturate_i32(i64{s(a)} + s(b)); }>);
  h.set(Opcode::v_sub_nc_i32, int32_clamp<[](u32 a, u32 b) { return a - b; },
                                          [](u32 a, u32 b) { return saturate_i32(i64{s(a)} - s(b)); }>);
  h.set(Opcode::v_add3_u32, int32<[](u32 a, u32 b, u32 c) { return a + b + c; }>);
  h.set(Opcode::v_add_lshl_u32, int32<[](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }>);
  h.set(Opcode::v_lshl_add_u32, int32<[](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }>);
  h.set(Opcode::v_xad_u32, int32<[](u32 a, u32 b, u32 c) { return (a ^ b) + c; }>);
  h.set(Opcode::v_mul_lo_u32, int32<[](u32 a, u32 b) { return a * b; }>);
  h.set(Opcode::v_mul_hi_u32, int32<[](u32 a, u32 b) { return (static_cast<u32>(u64{a} * b >> 32)); }>);
  h.set(Opcode::v_mul_hi_i32, int32<[](u32 a, u32 b) { return (low32((i64{s(a)} * s(b)) >> 32)); }>);
  h.set(Opcode::v_mul_u32_u24, int32<[](u32 a, u32 b) { return (a & 0xFFFFFF) * (b & 0xFFFFFF); }>);
  h.set(Opcode::v_mul_i32_i24, int32<[](u32 a, u32 b) { return u(sext24(a)) * u(sext24(b)); }>);
  h.set(Opcode::v_mad_u32_u24,
        int32<[](u32 a, u32 b, u32 c) { return (a & 0xFFFFFF) * (b & 0xFFFFFF) + c; }>);
  h.set(Opcode::v_mad_i32_i24, int32<[](u32 a, u32 b, u32 c) { return u(sext24(a)) * u(sext24(b)) + c; }>);
  h.set(Opcode::v_min_u32, int32<[](u32 a, u32 b) { return a < b ? a : b; }>);
  h.set(Opcode::v_max_u32, int32<[](u32 a, u32 b) { return (a > b ? a : b); }>);
  h.set(Opcode::v_min_i32, int32<[](u32 a, u32 b) { return s(a) < s(b) ? a : b; }>);
  h.set(Opcode::v_max_i32, int32<[](u32 a, u32 b) { return (s(a) > s(b) ? a : b); }>);
  h.set(Opcode::v_med3_i32, int32<[](u32 a, u32 b, u32 c) { return median(s(a), s(b), s(c)); }>);
  h.set(Opcode::v_med3_u32, int32<[](u32 a, u32 b, u32 c) { return median(a, b, c); }>);
  h.set(Opcode::v_mul_hi_u32_u24,
        int32<[](u32 a, u32 b) { return static_cast<u32>((u64{a & 0xFFFFFF} * (b & 0xFFFFFF)) >> 32); }>);
  h.set(Opcode::v_mul_hi_i32_i24,
        int32<[](u32 a, u32 b) { return low32((i64{sext24(a)} * sext24(b)) >> 32); }>);
  h.set(Opcode::v_min3_u32, int32<[](u32 a, u32 b, u32 c) { return std::min(std::min(a, b), c); }>);
  h.set(Opcode::v_max3_u32, int32<[](u32 a, u32 b, u32 c) { return std::max(std::max(a, b), c); }>);
  h.set(Opcode::v_min3_i32,
        int32<[](u32 a, u32 b, u32 c) { return u(std::min(std::min(s(a), s(b)), s(c))); }>);
  h.set(Opcode::v_max3_i32,
        int32<[](u32 a, u32 b, u32 c) { return u(std::max(std::max(s(a), s(b)), s(c))); }>);
  // minmax: the lesser of the first two against the third; maxmin the other way round.
  h.set(Opcode::v_minmax_u32, int32<[](u32 a, u32 b, u32 c) { return std::max(std::min(a, b), c); }>);
  h.set(Opcode::v_maxmin_u32, int32<[](u32 a, u32 b, u32 c) { return std::min(std::max(a, b), c); }>);
  h.set(Opcode::v_minmax_i32,
        int32<[](u32 a, u32 b, u32 c) { return u(std::max(std::min(s(a), s(b)), s(c))); }>);
  h.set(Opcode::v_maxmin_i32,
        int32<[](u32 a, u32 b, u32 c) { return u(std::min(std::max(s(a), s(b)), s(c))); }>);
  h.set(Opcode::v_sad_u8, int32<[](u32 a, u32 b, u32 c) { return differences<8>(a, b) + c; }>);
  h.set(Opcode::v_sad_hi_u8, int32<[](u32 a, u32 b, u32 c) { return (differences<8>(a, b) << 16) + c; }>);
  h.set(Opcode::v_sad_u16, int32<[](u32 a, u32 b, u32 c) { return differences<16>(a, b) + c; }>);
  h.set(Opcode::v_sad_u32, int32<[](u32 a, u32 b, u32 c) { return differences<32>(a, b) + c; }>);
  h.set(Opcode::v_msad_u8, int32<[](u32 a, u32 b, u32 c) { return differences<8, true>(a, b) + c; }>);
}

void add_bits(Handlers& h) {
  h.set(Opcode::v_and_b32, int32<[](u32 a, u32 b) { return a & b; }>);
  h.set(Opcode::v_or_b32, int32<[](u32 a, u32 b) { return a | b; }>);
  h.set(Opcode::v_xor_b32, int32<[](u32 a, u32 b) { return a ^ b; }>);
  h.set(Opcode::v_xnor_b32, int32<[](u32 a, u32 b) { return ~(a ^ b); }>);
  h.set(Opcode::v_not_b32, int32<[](u32 a) { return ~a; }>);
  h.set(Opcode::v_and_or_b32, int32<[](u32 a, u32 b, u32 c) { return (a & b) | c; }>);
  h.set(Opcode::v_or3_b32, int32<[](u32 a, u32 b, u32 c) { return a | b | c; }>);
  h.set(Opcode::v_xor3_b32, int32<[](u32 a, u32 b, u32 c) { return a ^ b ^ c; }>);
  h.set(Opcode::v_lshl_or_b32, int32<[](u32 a, u32 b, u32 c) { return a << (b & 31) | c; }>);
  h.set(Opcode::v_lshlrev_b32, int32<[](u32 a, u32 b) { return b << (a & 31); }>);
  h.set(Opcode::v_lshrrev_b32, int32<[](u32 a, u32 b) { return (b >> (a & 31)); }>);
  h.set(Opcode::v_ashrrev_i32, int32<[](u32 a, u32 b) { return (u(s(b) >> (a & 31))); }>);
  h.set(Opcode::v_bfe_u32, int32<[](u32 a, u32 b, u32 c) { return bfe_unsigned(a, b, c); }>);
  h.set(Opcode::v_bfe_i32, int32<[](u32 a, u32 b, u32 c) { return bfe_signed(a, b, c); }>);
  h.set(Opcode::v_bfi_b32, int32<[](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }>);
  h.set(Opcode::v_bfm_b32, int32<[](u32 a, u32 b) { return field_mask(a) << (b & 31); }>);
  h.set(Opcode::v_bfrev_b32, int32<[](u32 a) { return reverse_bits(a); }>);
  h.set(Opcode::v_bcnt_u32_b32, int32<[](u32 a, u32 b) { return static_cast<u32>(std::popcount(a)) + b; }>);
  h.set(Opcode::v_clz_i32_u32,
        int32<[](u32 a) { return a == 0 ? ~0U : static_cast<u32>(std::countl_zero(a)); }>);
  h.set(Opcode::v_ctz_i32_b32,
        int32<[](u32 a) { return a == 0 ? ~0U : static_cast<u32>(std::countr_zero(a)); }>);
  h.set(Opcode::v_cls_i32, int32<[](u32 a) { return leading_signs(a); }>);
  h.set(Opcode::v_mbcnt_lo_u32_b32, mbcnt<false>);
  h.set(Opcode::v_mbcnt_hi_u32_b32, mbcnt<true>);
  h.set(Opcode::v_alignbit_b32,
        int32<[](u32 a, u32 b, u32 c) { return (static_cast<u32>((u64{a} << 32 | b) >> (c & 31))); }>);
  h.set(Opcode::v_alignbyte_b32,
        int32<[](u32 a, u32 b, u32 c) { return (static_cast<u32>((u64{a} << 32 | b) >> (8 * (c & 3)))); }>);
  h.set(Opcode::v_perm_b32, perm_b32);
}

}  // namespace

void add_integer(Handlers& h) {
  add_arithmetic(h);
  add_bits(h);
}

}  // namespace wavejit::sim::WAVEJIT_SIM_VARIANT
