// SPDX-License-Identifier: MIT
// VALU of gfx940, gfx950 and gfx12 that gfx11 has not: AGPR moves, functions of three bits, row exchanges,
// 8-bit floats, signed integer dot products, scalar transcendentals.
#include <algorithm>
#include <cmath>

#include "runtime/device/sim/exec/valu.hpp"

namespace wavejit::sim::WAVEJIT_SIM_VARIANT {
namespace {

/// Bit of the result by the truth table: entry (a << 2 | b << 1 | c).
template <class F>
void each_minterm(unsigned table, F&& f) {
  for (unsigned n = 0; n < 8; ++n)
    if ((table >> n & 1) != 0) f((n & 4) != 0 ? 0 : ~0U, (n & 2) != 0 ? 0 : ~0U, (n & 1) != 0 ? 0 : ~0U);
}

void bitop3(Wave& w, const Inst& inst, const u32* a, const u32* b, const u32* c, Lanes& out) {
  each_lane(w.lanes, [&](unsigned l) { out.x[l] = 0; });
  each_minterm(inst.mods.bitop3, [&](u32 not_a, u32 not_b, u32 not_c) {
    each_lane(w.lanes, [&](unsigned l) { out.x[l] |= (a[l] ^ not_a) & (b[l] ^ not_b) & (c[l] ^ not_c); });
  });
}

void bitop3_b32(Wave& w, const Inst& inst) {
  Lanes sa, sb, sc, out;
  bitop3(w, inst, fetch(w, inst, 0, sa), fetch(w, inst, 1, sb), fetch(w, inst, 2, sc), out);
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

void bitop3_b16(Wave& w, const Inst& inst) {
  Lanes sa, sb, sc, out;
  bitop3(w, inst, fetch_half(w, inst, 0, sa), fetch_half(w, inst, 1, sb), fetch_half(w, inst, 2, sc), out);
  store_half(w, inst, out, write_mask(w, inst));
}

/// Exchanges the odd rows of `Row` lanes of the destination with the even rows of the source, whatever
/// EXEC says.
template <unsigned Row>
void swap_rows(Wave& w, const Inst& inst) {
  u32* dst = w.row(inst.dst);
  u32* src = w.row(inst.src[0].reg);
  for (unsigned base = 0; base < w.lanes; base += 2 * Row)
    for (unsigned l = 0; l < Row; ++l) std::swap(src[base + l], dst[base + Row + l]);
}

/// v_permlane16_var: lane l reads the lane of its own row (or of the other row of the pair) that S1[3:0]
/// names. op_sel as for v_permlane16: fetch inactive lanes, bound control.
template <bool Cross>
void permlane_var(Wave& w, const Inst& inst) {
  Lanes sa, sb, out;
  const u32* a = plain(w, inst.src[0], sa);
  const u32* select = plain(w, inst.src[1], sb);
  const u64 exec = w.exec();
  const bool fetch_inactive = (inst.mods.op_sel & 1) != 0;
  const bool bound = (inst.mods.op_sel & 2) != 0;
  const u32* old = w.row(inst.dst);
  for (unsigned l = 0; l < w.lanes; ++l) {
    const unsigned from = ((l & ~15U) ^ (Cross ? 16U : 0U)) + (select[l] & 15);
    const bool readable = fetch_inactive || (exec >> from & 1) != 0;
    out.x[l] = readable ? a[from] : bound ? 0 : old[l];
  }
  store_row(w, inst.dst, out.x, exec);
}

void f32_from_bf16(Wave& w, const Inst& inst) {
  Lanes sa, out;
  const u32* a = fetch_half(w, inst, 0, sa);
  const Source& s = inst.src[0];
  const u32 keep = s.abs ? 0x7FFF : 0xFFFF;
  const u32 flip = s.neg ? 0x8000 : 0;
  each_lane(w.lanes, [&](unsigned l) { out.x[l] = ((a[l] & keep) ^ flip) << 16; });
  finish_f32(w, inst, out);
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

/// An 8-bit float: OCP (gfx950, gfx12) or the older form of gfx940, in which -0 is the only NaN and the
/// exponent's bias is one more.
struct Small {
  int mantissa, bias, top;  ///< bits; exponent bias; code of the largest finite number
  bool infinities;
};

u32 narrow(u32 bits, const Small& f, bool old_form, bool saturate) {
  const u32 sign = bits >> 24 & 0x80;
  const u32 nan = old_form ? 0x80 : sign | 0x7F;
  if (is_nan(bits)) return nan;
  const double x = std::fabs(static_cast<double>(as_f32(bits)));
  // Codes count up with the value: exponent field e >= 1 stands for 2^(e - bias), below that steps are even.
  int exponent = 0;
  if (x > 0 && x < HUGE_VAL) (void)std::frexp(x, &exponent);
  const int field = std::max(exponent - 1 + f.bias, 1);
  const double step = std::ldexp(1.0, field - f.bias - f.mantissa);
  const double units = x == HUGE_VAL ? 1e9 : __builtin_roundeven(x / step);
  const double code = units + static_cast<double>((field - 1) << f.mantissa);
  if (code > f.top) {
    if (saturate) return sign | static_cast<u32>(f.top);
    return old_form ? nan : sign | (f.infinities ? 0x7C : 0x7F);
  }
  const auto magnitude = static_cast<u32>(code);
  return old_form && magnitude == 0 ? 0 : sign | magnitude;
}

/// v_cvt_pk_{fp8,bf8}_f32: two results into one half of the destination, nearest even.
template <bool WideExponent>
void pack_small(Wave& w, const Inst& inst) {
  const bool old_form =
      w.code->target->generation == target::Generation::gfx9 && !w.code->target->has_cvt_pk_bf16_f32;
  const Small fp8{3, old_form ? 8 : 7, old_form ? 0x7F : 0x7E, false};
  const Small bf8{2, old_form ? 16 : 15, old_form ? 0x7F : 0x7B, !old_form};
  constexpr u32 fp16_ovfl = 1U << 23;
  const bool saturate = (w.mode.bits & fp16_ovfl) != 0;
  Lanes sa, sb, out;
  const u32* a = fetch_f32(w, inst, 0, sa);
  const u32* b = fetch_f32(w, inst, 1, sb);
  for (unsigned l = 0; l < w.lanes; ++l) {
    const Small& f = WideExponent ? bf8 : fp8;
    out.x[l] = narrow(a[l], f, old_form, saturate) | narrow(b[l], f, old_form, saturate) << 8;
  }
  store_half(w, inst, out, write_mask(w, inst));
}

/// v_dot4_i32_i8, v_dot8_i32_i4 and the forms that accumulate into their destination.
template <unsigned Bits, bool Accumulate>
void dot_signed(Wave& w, const Inst& inst) {
  Lanes sa, sb, sc, out;
  const u32* a = fetch(w, inst, 0, sa);
  const u32* b = fetch(w, inst, 1, sb);
  const u32* c = w.row(inst.dst);
  if constexpr (!Accumulate) c = fetch(w, inst, 2, sc);
  const auto element = [](u32 x, unsigned n) {
    return i64{static_cast<i32>(x << (32 - Bits * (n + 1))) >> (32 - Bits)};
  };
  for (unsigned l = 0; l < w.lanes; ++l) {
    i64 sum = i64{static_cast<i32>(c[l])};
    for (unsigned n = 0; n < 32 / Bits; ++n) sum += element(a[l], n) * element(b[l], n);
    if (inst.mods.clamp)
      sum = sum > 0x7FFFFFFF ? 0x7FFFFFFF : sum < -i64{0x80000000} ? -i64{0x80000000} : sum;
    out.x[l] = static_cast<u32>(sum);
  }
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

/// gfx12: a transcendental function of one scalar.
template <auto F>
void scalar_f32(Wave& w, const Inst& inst) {
  const Source& s = inst.src[0];
  u32 x = w.scalar(s);
  x = w.mode.flush_in32 ? flush_f32(x) : x;
  x = (s.abs ? x & 0x7FFFFFFF : x) ^ (s.neg ? 0x80000000 : 0);
  const u32 r = bits_of(static_cast<float>(F(static_cast<double>(as_f32(x)))));
  w.set_scalar(inst.dst, w.mode.flush_out32 ? flush_f32(r) : r);
}

}  // namespace

void add_cdna(Handlers& h) {
  for (const Opcode op :
       {Opcode::v_accvgpr_read_b32, Opcode::v_accvgpr_write_b32, Opcode::v_accvgpr_mov_b32}) {
    h.set(op, int32<[](u32 a) { return a; }>);
  }
  h.set(Opcode::v_bitop3_b32, bitop3_b32);
  h.set(Opcode::v_bitop3_b16, bitop3_b16);
  h.set(Opcode::v_permlane16_swap_b32, swap_rows<16>);
  h.set(Opcode::v_permlane32_swap_b32, swap_rows<32>);
  h.set(Opcode::v_permlane16_var_b32, permlane_var<false>);
  h.set(Opcode::v_permlanex16_var_b32, permlane_var<true>);
  h.set(Opcode::v_mad_legacy_u16, int16<[](u32 a, u32 b, u32 c) { return a * b + c; }>);
  h.set(Opcode::v_mad_legacy_i16, int16<[](u32 a, u32 b, u32 c) { return a * b + c; }>);
  h.set(Opcode::v_cvt_f32_bf16, f32_from_bf16);
  h.set(Opcode::v_cvt_pk_fp8_f32, pack_small<false>);
  h.set(Opcode::v_cvt_pk_bf8_f32, pack_small<true>);
  h.set(Opcode::v_dot4_i32_i8, dot_signed<8, false>);
  h.set(Opcode::v_dot8_i32_i4, dot_signed<4, false>);
  h.set(Opcode::v_dot4c_i32_i8, dot_signed<8, true>);
  h.set(Opcode::v_dot8c_i32_i4, dot_signed<4, true>);
  h.set(Opcode::v_s_rcp_f32, scalar_f32<[](double x) { return 1.0 / x; }>);
  h.set(Opcode::v_s_rsq_f32, scalar_f32<[](double x) { return 1.0 / __builtin_sqrt(x); }>);
  h.set(Opcode::v_s_sqrt_f32, scalar_f32<[](double x) { return __builtin_sqrt(x); }>);
  h.set(Opcode::v_s_exp_f32, scalar_f32<[](double x) { return __builtin_exp2(x); }>);
  h.set(Opcode::v_s_log_f32, scalar_f32<[](double x) { return __builtin_log2(x); }>);
}

}  // namespace wavejit::sim::WAVEJIT_SIM_VARIANT
