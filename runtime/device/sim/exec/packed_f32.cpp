// SPDX-License-Identifier: MIT
// CDNA: two f32 in a register pair. op_sel names the register of each source that feeds the low result,
// op_sel_hi the one that feeds the high result; neg_lo and neg_hi change their signs. Scalar sources are
// pairs as well.
#include "runtime/device/sim/exec/valu.hpp"

namespace wavejit::sim::WAVEJIT_SIM_VARIANT {
namespace {

/// Source `i` as it feeds one of the two results.
const u32* pair_source(Wave& w, const Inst& inst, unsigned i, bool high, Lanes& scratch) {
  const isa::Modifiers& m = inst.mods;
  const unsigned dword = (high ? m.op_sel_hi : m.op_sel) >> i & 1;
  const u32 flip = ((high ? m.neg_hi : m.neg_lo) >> i & 1) != 0 ? 0x80000000 : 0;
  const bool flush = w.mode.flush_in32;
  const u32* p = plain(w, inst.src[i], scratch, dword);
  if (flip == 0 && !flush) return p;
  each_lane(w.lanes, [&](unsigned l) { scratch.x[l] = (flush ? flush_f32(p[l]) : p[l]) ^ flip; });
  return scratch.x;
}

template <auto F>
void packed_f32(Wave& w, const Inst& inst) {
  using T = decltype(F);
  Lanes result[2];
  for (unsigned h = 0; h < 2; ++h) {
    Lanes sa, sb, sc;
    const u32* a = pair_source(w, inst, 0, h == 1, sa);
    const u32* b = pair_source(w, inst, 1, h == 1, sb);
    u32* out = result[h].x;
    if constexpr (std::is_invocable_v<T, float, float>) {
      each_lane(w.lanes, [&](unsigned l) { out[l] = bits_of(F(as_f32(a[l]), as_f32(b[l]))); });
    } else {
      const u32* c = pair_source(w, inst, 2, h == 1, sc);
      each_lane(w.lanes, [&](unsigned l) { out[l] = bits_of(F(as_f32(a[l]), as_f32(b[l]), as_f32(c[l]))); });
    }
    finish_f32(w, inst, result[h]);
  }
  const u64 mask = write_mask(w, inst);
  store_row(w, inst.dst, result[0].x, mask);
  store_row(w, inst.dst + 1U, result[1].x, mask);
}

void store_pair(Wave& w, const Inst& inst, const u32* low, const u32* high) {
  Lanes a, b;
  std::memcpy(a.x, low, w.lanes * sizeof(u32));
  std::memcpy(b.x, high, w.lanes * sizeof(u32));
  const u64 mask = write_mask(w, inst);
  store_row(w, inst.dst, a.x, mask);
  store_row(w, inst.dst + 1U, b.x, mask);
}

/// The low result from source 0, the high one from source 1.
void packed_move(Wave& w, const Inst& inst) {
  Lanes sa, sb;
  const u32* low = plain(w, inst.src[0], sa, inst.mods.op_sel & 1);
  const u32* high = plain(w, inst.src[1], sb, inst.mods.op_sel >> 1 & 1);
  store_pair(w, inst, low, high);
}

void move64(Wave& w, const Inst& inst) {
  Lanes sa, sb;
  const u32* low = fetch(w, inst, 0, sa, 0);
  const u32* high = fetch(w, inst, 0, sb, 1);
  store_pair(w, inst, low, high);
}

/// (S0 << S1[2:0]) + S2 in 64 bits.
void shift_add64(Wave& w, const Inst& inst) {
  Lanes s[5], low, high;
  const u32* a0 = fetch(w, inst, 0, s[0], 0);
  const u32* a1 = fetch(w, inst, 0, s[1], 1);
  const u32* amount = fetch(w, inst, 1, s[2]);
  const u32* c0 = fetch(w, inst, 2, s[3], 0);
  const u32* c1 = fetch(w, inst, 2, s[4], 1);
  for (unsigned l = 0; l < w.lanes; ++l) {
    const u64 sum = ((u64{a1[l]} << 32 | a0[l]) << (amount[l] & 7)) + (u64{c1[l]} << 32 | c0[l]);
    low.x[l] = static_cast<u32>(sum);
    high.x[l] = static_cast<u32>(sum >> 32);
  }
  store_pair(w, inst, low.x, high.x);
}

}  // namespace

void add_packed_f32(Handlers& h) {
  constexpr auto f = FloatClass::f32;
  h.set(Opcode::v_pk_add_f32, packed_f32<[](float a, float b) { return a + b; }>, f);
  h.set(Opcode::v_pk_mul_f32, packed_f32<[](float a, float b) { return a * b; }>, f);
  h.set(Opcode::v_pk_fma_f32, packed_f32<[](float a, float b, float c) { return fused(a, b, c); }>, f);
  h.set(Opcode::v_pk_mov_b32, packed_move);
  h.set(Opcode::v_mov_b64, move64);
  h.set(Opcode::v_lshl_add_u64, shift_add64);
}

}  // namespace wavejit::sim::WAVEJIT_SIM_VARIANT
