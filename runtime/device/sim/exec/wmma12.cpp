// SPDX-License-Identifier: MIT
// Matrix instructions of gfx12, wave32, 16x16 tiles (hardware.md §2.2). A: row i in lanes i and i+16; of
// each group of eight k, the lower four lie in the lower lane and the upper four in the other, packed in
// order: f16 k = 8*(g/2) + 4*(lane/16) + 2*(g%2) + half. B the same with columns. C and D: row
// 8*(lane/16) + register, column lane%16; f16 and bf16 results pack two rows in a register.
#include "runtime/device/sim/exec/valu.hpp"

namespace wavejit::sim::WAVEJIT_SIM_VARIANT {
namespace {

constexpr unsigned n = 16;

template <unsigned K>
struct Fragment {
  alignas(64) u32 x[K][n];
};
struct Tile {
  alignas(64) u32 x[n][n];
};

enum class Format : std::uint8_t { f16, bf16 };

template <Format T>
WJ_SIM_INLINE u32 widen(u32 half) {
  return T == Format::f16 ? f16_to_f32(half) : half << 16;
}

/// Where element k of a row is: which lane half, and which element of that lane.
struct Place {
  unsigned half, element;
};
constexpr Place place(unsigned k) { return {k / 4 % 2, k / 8 * 4 + k % 4}; }

template <Format T>
void load_floats(Wave& w, const Inst& inst, unsigned operand, Fragment<n>& f) {
  const u32 negate_low = (inst.mods.neg_lo >> operand & 1) != 0 ? 0x8000 : 0;
  const u32 negate_high = (inst.mods.neg_hi >> operand & 1) != 0 ? 0x8000 : 0;
  for (unsigned k = 0; k < n; ++k) {
    const Place p = place(k);
    const u32* row = w.row(inst.src[operand].reg + p.element / 2) + n * p.half;
    const bool high = p.element % 2 != 0;
    for (unsigned i = 0; i < n; ++i)
      f.x[k][i] = widen<T>(high ? row[i] >> 16 ^ negate_high : (row[i] & 0xFFFF) ^ negate_low);
  }
}

/// neg_lo says signed.
template <unsigned Bits, unsigned K>
void load_integers(Wave& w, const Inst& inst, unsigned operand, Fragment<K>& f) {
  constexpr unsigned per_dword = 32 / Bits;
  const bool is_signed = (inst.mods.neg_lo >> operand & 1) != 0;
  for (unsigned k = 0; k < K; ++k) {
    const Place p = place(k);
    const u32* row = w.row(inst.src[operand].reg + p.element / per_dword) + n * p.half;
    const unsigned up = 32 - Bits * (p.element % per_dword + 1);
    for (unsigned i = 0; i < n; ++i) {
      const u32 top = row[i] << up;
      f.x[k][i] = is_signed ? static_cast<u32>(static_cast<i32>(top) >> (32 - Bits)) : top >> (32 - Bits);
    }
  }
}

/// C as 32-bit elements; its modifiers are negation (neg_lo) and absolute value (neg_hi).
void load_c(Wave& w, const Inst& inst, Tile& c, bool floats) {
  const Source& s = inst.src[2];
  const u32 keep = floats && (inst.mods.neg_hi >> 2 & 1) != 0 ? 0x7FFFFFFF : ~0U;
  const u32 flip = floats && (inst.mods.neg_lo >> 2 & 1) != 0 ? 0x80000000 : 0;
  for (unsigned i = 0; i < n; ++i) {
    for (unsigned j = 0; j < n; ++j) {
      const u32 x = s.kind == Source::Kind::vgpr ? w.row(s.reg + i % 8)[n * (i / 8) + j] : w.scalar(s);
      c.x[i][j] = (x & keep) ^ flip;
    }
  }
}

void store_d(Wave& w, const Inst& inst, const Tile& d) {
  for (unsigned i = 0; i < n; ++i) std::memcpy(w.row(inst.dst + i % 8) + n * (i / 8), d.x[i], sizeof d.x[i]);
}

template <Format T>
void load_half_c(Wave& w, const Inst& inst, Tile& c) {
  const Source& s = inst.src[2];
  for (unsigned i = 0; i < n; ++i) {
    for (unsigned j = 0; j < n; ++j) {
      const u32 pair = s.kind == Source::Kind::vgpr ? w.row(s.reg + i % 8 / 2)[n * (i / 8) + j]
                                                    : (w.scalar(s) & 0xFFFF) * 0x10001;
      u32 half = i % 2 != 0 ? pair >> 16 : pair & 0xFFFF;
      if ((inst.mods.neg_hi >> 2 & 1) != 0) half &= 0x7FFF;
      if ((inst.mods.neg_lo >> 2 & 1) != 0) half ^= 0x8000;
      c.x[i][j] = widen<T>(half);
    }
  }
}

template <Format T>
void store_half_d(Wave& w, const Inst& inst, const Tile& d) {
  const auto narrow = [](u32 x) { return T == Format::f16 ? f32_to_f16_nearest(x) : f32_to_bf16_nearest(x); };
  for (unsigned i = 0; i < n; i += 2) {
    u32* row = w.row(inst.dst + i % 8 / 2) + n * (i / 8);
    for (unsigned j = 0; j < n; ++j) row[j] = narrow(d.x[i][j]) | narrow(d.x[i + 1][j]) << 16;
  }
}

void multiply(const Fragment<n>& a, const Fragment<n>& b, Tile& c) {
  for (unsigned i = 0; i < n; ++i) {
    alignas(64) u32 sum[n];
    std::memcpy(sum, c.x[i], sizeof sum);
    for (unsigned k = 0; k < n; ++k) {
      const float factor = as_f32(a.x[k][i]);
      for (unsigned j = 0; j < n; ++j) sum[j] = bits_of(fused(factor, as_f32(b.x[k][j]), as_f32(sum[j])));
    }
    std::memcpy(c.x[i], sum, sizeof sum);
  }
}

void check_exec(Wave& w, const Inst& inst) {
  if (w.exec() != w.all_lanes()) report_partial_exec(w, inst);
}

template <Format T, bool HalfResult>
void wmma_float(Wave& w, const Inst& inst) {
  check_exec(w, inst);
  Fragment<n> a, b;
  Tile c;
  load_floats<T>(w, inst, 0, a);
  load_floats<T>(w, inst, 1, b);
  if constexpr (HalfResult) {
    load_half_c<T>(w, inst, c);
    multiply(a, b, c);
    store_half_d<T>(w, inst, c);
  } else {
    load_c(w, inst, c, true);
    multiply(a, b, c);
    store_d(w, inst, c);
  }
}

template <unsigned Bits, unsigned K>
void wmma_int(Wave& w, const Inst& inst) {
  check_exec(w, inst);
  Fragment<K> a, b;
  Tile c;
  load_integers<Bits>(w, inst, 0, a);
  load_integers<Bits>(w, inst, 1, b);
  load_c(w, inst, c, false);
  for (unsigned i = 0; i < n; ++i) {
    for (unsigned j = 0; j < n; ++j) {
      i64 sum = static_cast<i32>(c.x[i][j]);
      for (unsigned k = 0; k < K; ++k) sum += i64{static_cast<i32>(a.x[k][i])} * static_cast<i32>(b.x[k][j]);
      if (inst.mods.clamp)
        sum = sum > 0x7FFFFFFF ? 0x7FFFFFFF : sum < -i64{0x80000000} ? -i64{0x80000000} : sum;
      c.x[i][j] = static_cast<u32>(sum);
    }
  }
  store_d(w, inst, c);
}

}  // namespace

void add_wmma12(Handlers& h) {
  constexpr auto g = target::Generation::gfx12;
  h.set(g, Opcode::v_wmma_f32_16x16x16_f16, wmma_float<Format::f16, false>);
  h.set(g, Opcode::v_wmma_f32_16x16x16_bf16, wmma_float<Format::bf16, false>);
  h.set(g, Opcode::v_wmma_f16_16x16x16_f16, wmma_float<Format::f16, true>);
  h.set(g, Opcode::v_wmma_bf16_16x16x16_bf16, wmma_float<Format::bf16, true>);
  h.set(g, Opcode::v_wmma_i32_16x16x16_iu8, wmma_int<8, 16>);
  h.set(g, Opcode::v_wmma_i32_16x16x16_iu4, wmma_int<4, 16>);
  h.set(g, Opcode::v_wmma_i32_16x16x32_iu4, wmma_int<4, 32>);
}

}  // namespace wavejit::sim::WAVEJIT_SIM_VARIANT
