// SPDX-License-Identifier: MIT
// VALU: dot products. Sums run S2, low product, high product; each f32 step is one fused
// multiply-add (the products of 16-bit floats are exact in f32).
#include <algorithm>

#include "runtime/device/sim/exec/valu.hpp"

namespace wavejit::sim::WAVEJIT_SIM_VARIANT {
namespace {

enum class Format : std::uint8_t { f16, bf16 };

template <Format T>
WJ_SIM_INLINE u32 widen(u32 half) {
  return T == Format::f16 ? f16_to_f32(half) : half << 16;
}

/// Both halves of a pair as f32 bits. VOP3P picks and negates halves; plain VOP3 has them in place.
template <Format T>
WJ_SIM_INLINE void pair(Wave& w, const Inst& inst, unsigned i, bool vop3p, Lanes& low, Lanes& high) {
  if (vop3p) {
    packed_half(w, inst, i, false, 0x8000, low);
    packed_half(w, inst, i, true, 0x8000, high);
    // packed_half may return the register row itself only when it copies, which it always does.
  } else {
    Lanes scratch;
    const u32* p = fetch(w, inst, i, scratch);
    const u32 flip = inst.src[i].neg ? 0x80008000 : 0;
    const u32 keep = inst.src[i].abs ? 0x7FFF7FFF : 0xFFFFFFFF;
    each_lane(w.lanes, [&](unsigned l) {
      const u32 x = (p[l] & keep) ^ flip;
      low.x[l] = x & 0xFFFF;
      high.x[l] = x >> 16;
    });
  }
  const bool flush = T == Format::bf16 && w.worker->flush_bf16;
  each_lane(w.lanes, [&](unsigned l) {
    const u32 a = widen<T>(low.x[l]);
    const u32 b = widen<T>(high.x[l]);
    low.x[l] = flush ? flush_f32(a) : a;
    high.x[l] = flush ? flush_f32(b) : b;
  });
}

/// out = c + low*low + high*high as f32 bits.
template <Format T>
WJ_SIM_INLINE void dot2(Wave& w, const Inst& inst, bool vop3p, const u32* c, Lanes& out) {
  Lanes al, ah, bl, bh;
  pair<T>(w, inst, 0, vop3p, al, ah);
  pair<T>(w, inst, 1, vop3p, bl, bh);
  each_lane(w.lanes, [&](unsigned l) {
    const float first = fused(as_f32(al.x[l]), as_f32(bl.x[l]), as_f32(c[l]));
    out.x[l] = bits_of(fused(as_f32(ah.x[l]), as_f32(bh.x[l]), first));
  });
}

/// v_dot2_f32_*: f32 accumulator in source 2.
template <Format T>
void dot2_f32(Wave& w, const Inst& inst) {
  Lanes sc, out;
  const u32* p = fetch(w, inst, 2, sc);
  const bool negate = (inst.mods.neg_lo >> 2 & 1) != 0 || inst.src[2].neg;
  const u32 keep = (inst.mods.neg_hi >> 2 & 1) != 0 || inst.src[2].abs ? 0x7FFFFFFF : 0xFFFFFFFF;
  Lanes c;
  each_lane(w.lanes, [&](unsigned l) { c.x[l] = (p[l] & keep) ^ (negate ? 0x80000000 : 0); });
  dot2<T>(w, inst, true, c.x, out);
  finish_f32(w, inst, out);
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

/// v_dot2acc_f32_*: accumulates into the destination.
template <Format T>
void dot2acc_f32(Wave& w, const Inst& inst) {
  Lanes out;
  dot2<T>(w, inst, false, w.row(inst.dst), out);
  finish_f32(w, inst, out);
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

/// The third source of the 16-bit forms: one half.
template <Format T>
WJ_SIM_INLINE void third_half(Wave& w, const Inst& inst, Lanes& c) {
  const u32* p = fetch_half(w, inst, 2, c);
  const Source& s = inst.src[2];
  const u32 keep = s.abs ? 0x7FFF : 0xFFFF;
  const u32 flip = s.neg ? 0x8000 : 0;
  const bool flush = T == Format::bf16 && w.worker->flush_bf16;
  each_lane(w.lanes, [&](unsigned l) {
    const u32 x = widen<T>((p[l] & keep) ^ flip);
    c.x[l] = flush ? flush_f32(x) : x;
  });
}

/// dot2_bf16 where denormals are kept: all of it in one sweep.
template <bool Nearest>
void dot2_bf16_kept(Wave& w, const Inst& inst) {
  Lanes sa, sb, sc, out;
  const u32* a = fetch(w, inst, 0, sa);
  const u32* b = fetch(w, inst, 1, sb);
  const u32* c = fetch(w, inst, 2, sc);
  const Source* s = &inst.src[0];
  const u32 keep_a = s[0].abs ? 0x7FFF7FFF : ~0U, flip_a = s[0].neg ? 0x80008000 : 0;
  const u32 keep_b = s[1].abs ? 0x7FFF7FFF : ~0U, flip_b = s[1].neg ? 0x80008000 : 0;
  const u32 keep_c = s[2].abs ? 0x7FFF0000 : 0xFFFF0000, flip_c = s[2].neg ? 0x80000000 : 0;
  const unsigned up = s[2].high ? 0 : 16;
  constexpr u32 high = 0xFFFF0000;
  each_lane(w.lanes, [&](unsigned l) {
    const u32 x = (a[l] & keep_a) ^ flip_a;
    const u32 y = (b[l] & keep_b) ^ flip_b;
    const u32 z = (c[l] << up & keep_c) ^ flip_c;
    const float first = fused(as_f32(x << 16), as_f32(y << 16), as_f32(z));
    const u32 sum = bits_of(fused(as_f32(x & high), as_f32(y & high), first));
    out.x[l] = Nearest ? f32_to_bf16_nearest(sum) : f32_to_bf16_zero(sum);
  });
  store_half(w, inst, out, write_mask(w, inst));
}

/// f32 inside, one rounding at the end: toward zero as measured on RDNA, or as the run asks.
void dot2_bf16(Wave& w, const Inst& inst) {
  if (!w.worker->flush_bf16) {
    return w.worker->dot2_bf16 == target::Dot2Bf16Rounding::nearest_even ? dot2_bf16_kept<true>(w, inst)
                                                                         : dot2_bf16_kept<false>(w, inst);
  }
  Lanes c, out;
  third_half<Format::bf16>(w, inst, c);
  dot2<Format::bf16>(w, inst, false, c.x, out);
  const bool nearest = w.worker->dot2_bf16 == target::Dot2Bf16Rounding::nearest_even;
  const bool flush = w.worker->flush_bf16;
  each_lane(w.lanes, [&](unsigned l) {
    const u32 r = nearest ? f32_to_bf16_nearest(out.x[l]) : f32_to_bf16_zero(out.x[l]);
    out.x[l] = flush && (r & 0x7F80) == 0 ? r & 0x8000 : r;
  });
  store_half(w, inst, out, write_mask(w, inst));
}

void dot2_f16(Wave& w, const Inst& inst) {
  Lanes c, out;
  third_half<Format::f16>(w, inst, c);
  dot2<Format::f16>(w, inst, false, c.x, out);
  finish_f16(w, inst, out);
  store_half(w, inst, out, write_mask(w, inst));
}

/// v_dot4 and v_dot8: `Bits` per element; neg_lo[i] makes source i signed where `Signedness`.
template <unsigned Bits, bool Signedness>
void dot_int(Wave& w, const Inst& inst) {
  Lanes sa, sb, sc, out;
  const u32* a = fetch(w, inst, 0, sa);
  const u32* b = fetch(w, inst, 1, sb);
  const u32* c = fetch(w, inst, 2, sc);
  const bool signed_a = Signedness && (inst.mods.neg_lo & 1) != 0;
  const bool signed_b = Signedness && (inst.mods.neg_lo & 2) != 0;
  const auto element = [](u32 x, unsigned n, bool is_signed) {
    const u32 top = x << (32 - Bits * (n + 1));
    return is_signed ? i64{static_cast<i32>(top) >> (32 - Bits)} : i64{top >> (32 - Bits)};
  };
  for (unsigned l = 0; l < w.lanes; ++l) {
    i64 sum = Signedness ? i64{static_cast<i32>(c[l])} : i64{c[l]};
    for (unsigned n = 0; n < 32 / Bits; ++n) sum += element(a[l], n, signed_a) * element(b[l], n, signed_b);
    if (inst.mods.clamp) {
      sum = Signedness ? std::clamp<i64>(sum, -i64{0x80000000}, 0x7FFFFFFF)
                       : std::clamp<i64>(sum, 0, 0xFFFFFFFF);
    }
    out.x[l] = static_cast<u32>(sum);
  }
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

}  // namespace

void add_dot(Handlers& h) {
  h.set(Opcode::v_dot2_f32_f16, dot2_f32<Format::f16>);
  h.set(Opcode::v_dot2_f32_bf16, dot2_f32<Format::bf16>);
  h.set(Opcode::v_dot2acc_f32_f16, dot2acc_f32<Format::f16>);
  h.set(Opcode::v_dot2acc_f32_bf16, dot2acc_f32<Format::bf16>);
  h.set(Opcode::v_dot2_bf16_bf16, dot2_bf16);
  h.set(Opcode::v_dot2_f16_f16, dot2_f16);
  h.set(Opcode::v_dot4_i32_iu8, dot_int<8, true>);
  h.set(Opcode::v_dot4_u32_u8, dot_int<8, false>);
  h.set(Opcode::v_dot8_i32_iu4, dot_int<4, true>);
  h.set(Opcode::v_dot8_u32_u4, dot_int<4, false>);
}

}  // namespace wavejit::sim::WAVEJIT_SIM_VARIANT
