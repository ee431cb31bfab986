// SPDX-License-Identifier: MIT
// Internal: how a VALU handler is made from a function of one lane. The folder is compiled once per
// vector extension, each time into its own namespace; loops run over 32 lanes at a time so that
// the compiler vectorises them.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "runtime/device/sim/dpp.hpp"
#include "runtime/device/sim/handlers.hpp"
#include "runtime/device/sim/numerics.hpp"
#include "runtime/device/sim/wave.hpp"

#ifndef WAVEJIT_SIM_VARIANT
#error "exec/ is compiled with WAVEJIT_SIM_VARIANT set to the namespace of the variant"
#endif

namespace wavejit::sim::WAVEJIT_SIM_VARIANT {

using detail::FloatClass;
using detail::Inst;
using detail::Source;
using isa::Opcode;
using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

/// One dword per lane.
struct Lanes {
  alignas(64) u32 x[detail::max_lanes];
};

template <class F>
WJ_SIM_INLINE void each_lane(unsigned lanes, F f) {
  // Two loops of known length: of a sum of two counters the compiler cannot tell that it never wraps, and
  // would not vectorise.
#pragma GCC ivdep
  for (unsigned l = 0; l < 32; ++l) f(l);
  if (lanes == 32) return;
#pragma GCC ivdep
  for (unsigned l = 32; l < 64; ++l) f(l);
}

/// Dword `dword` of a source, DPP not applied. Points into the register file or to `scratch`.
WJ_SIM_INLINE const u32* plain(Wave& w, const Source& s, Lanes& scratch, unsigned dword = 0) {
  if (s.kind == Source::Kind::vgpr) return w.row(static_cast<unsigned>(s.reg) + dword);
  const u32 value = w.scalar(s, dword);
  each_lane(w.lanes, [&](unsigned l) { scratch.x[l] = value; });
  return scratch.x;
}

// The rare paths of what follows are out of line (vector.cpp), to keep the handlers small.

/// Moves `p` as the instruction's DPP asks.
const u32* fetch_dpp(const Wave& w, const Inst& inst, const u32* p, Lanes& scratch);
u64 dpp_write_mask(const Wave& w, const Inst& inst);
void store_masked(const Wave& w, u32* row, const u32* out, u64 mask);
/// Sign modifiers and flush of f32 inputs; omod, clamp and flush of f32 and f16 results.
const u32* modify_f32(const Wave& w, const Source& s, const u32* p, Lanes& scratch);
void modify_result_f32(const Wave& w, const Inst& inst, Lanes& out);
void modify_result_f16(const Wave& w, const Inst& inst, Lanes& out);
/// f32 bits to f16 in a rounding mode other than nearest even.
void narrow_f16(const Wave& w, Lanes& out);

/// A source as the lanes see it, with DPP on source 0.
WJ_SIM_INLINE const u32* fetch(Wave& w, const Inst& inst, unsigned i, Lanes& scratch, unsigned dword = 0) {
  const u32* p = plain(w, inst.src[i], scratch, dword);
  if (i != 0 || inst.mods.dpp.kind == isa::Dpp::Kind::none) [[likely]]
    return p;
  return fetch_dpp(w, inst, p, scratch);
}

/// Lanes that a VALU instruction writes.
WJ_SIM_INLINE u64 write_mask(const Wave& w, const Inst& inst) {
  if (inst.mods.dpp.kind == isa::Dpp::Kind::none) [[likely]]
    return w.exec();
  return dpp_write_mask(w, inst);
}

WJ_SIM_INLINE void store_row(Wave& w, unsigned reg, const u32* out, u64 mask) {
  u32* d = w.row(reg);
  if (mask == w.all_lanes()) [[likely]] {
    if (w.lanes == 32) {  // constant sizes need no call
      std::memcpy(d, out, 32 * sizeof(u32));
    } else {
      std::memcpy(d, out, detail::max_lanes * sizeof(u32));
    }
  } else {
    store_masked(w, d, out, mask);
  }
}

/// Where a lane's result may go as soon as it is made: into the destination itself if every lane is written,
/// since a lane reads no other lane's registers (DPP has been applied to a copy).
WJ_SIM_INLINE u32* result_row(Wave& w, const Inst& inst, u64 mask, Lanes& out) {
  return mask == w.all_lanes() ? w.row(inst.dst) : out.x;
}

WJ_SIM_INLINE void finish_row(Wave& w, const Inst& inst, u64 mask, const u32* result) {
  if (mask != w.all_lanes()) [[unlikely]]
    store_masked(w, w.row(inst.dst), result, mask);
}

/// Writes the low 16 bits of `out` to the half of dst that the instruction names.
WJ_SIM_INLINE void store_half(Wave& w, const Inst& inst, Lanes& out, u64 mask) {
  const u32* old = w.row(inst.dst);
  if (inst.clears_high) {
    each_lane(w.lanes, [&](unsigned l) { out.x[l] &= 0xFFFF; });
    store_row(w, inst.dst, out.x, mask);
    return;
  }
  if (inst.dst_high) {
    each_lane(w.lanes, [&](unsigned l) { out.x[l] = (old[l] & 0xFFFF) | out.x[l] << 16; });
  } else {
    each_lane(w.lanes, [&](unsigned l) { out.x[l] = (old[l] & 0xFFFF0000) | (out.x[l] & 0xFFFF); });
  }
  store_row(w, inst.dst, out.x, mask);
}

/// Bit per lane from rows of 0 and 1.
WJ_SIM_INLINE u64 pack_bits(const Lanes& flags, unsigned lanes) {
  u64 bits = 0;
#if defined(__AVX2__)
  for (unsigned l = 0; l < lanes; l += 8) {
    const __m256i v = _mm256_load_si256(reinterpret_cast<const __m256i*>(flags.x + l));
    const int m = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_slli_epi32(v, 31)));
    bits |= static_cast<u64>(static_cast<unsigned>(m)) << l;
  }
#else
  for (unsigned l = 0; l < lanes; ++l) bits |= static_cast<u64>(flags.x[l] & 1) << l;
#endif
  return bits;
}

// ---- 32-bit integers and bits

template <auto F>
void int32(Wave& w, const Inst& inst) {
  using T = decltype(F);
  Lanes sa, sb, sc, out;
  const u64 mask = write_mask(w, inst);
  u32* d = result_row(w, inst, mask, out);
  const u32* a = fetch(w, inst, 0, sa);
  if constexpr (std::is_invocable_v<T, u32>) {
    each_lane(w.lanes, [&](unsigned l) { d[l] = F(a[l]); });
  } else if constexpr (std::is_invocable_v<T, u32, u32>) {
    const u32* b = fetch(w, inst, 1, sb);
    each_lane(w.lanes, [&](unsigned l) { d[l] = F(a[l], b[l]); });
  } else {
    const u32* b = fetch(w, inst, 1, sb);
    const u32* c = fetch(w, inst, 2, sc);
    each_lane(w.lanes, [&](unsigned l) { d[l] = F(a[l], b[l], c[l]); });
  }
  finish_row(w, inst, mask, d);
}

/// With a saturating form for the clamp bit.
template <auto F, auto Saturating>
void int32_clamp(Wave& w, const Inst& inst) {
  inst.mods.clamp ? int32<Saturating>(w, inst) : int32<F>(w, inst);
}

// ---- 16-bit integers: the halves that the operands name

WJ_SIM_INLINE const u32* fetch_half(Wave& w, const Inst& inst, unsigned i, Lanes& scratch) {
  const u32* p = fetch(w, inst, i, scratch);
  const unsigned shift = inst.src[i].high ? 16 : 0;
  each_lane(w.lanes, [&](unsigned l) { scratch.x[l] = p[l] >> shift & 0xFFFF; });
  return scratch.x;
}

template <auto F>
void int16(Wave& w, const Inst& inst) {
  using T = decltype(F);
  Lanes sa, sb, sc, out;
  const u32* a = fetch_half(w, inst, 0, sa);
  if constexpr (std::is_invocable_v<T, u32>) {
    each_lane(w.lanes, [&](unsigned l) { out.x[l] = F(a[l]); });
  } else if constexpr (std::is_invocable_v<T, u32, u32>) {
    const u32* b = fetch_half(w, inst, 1, sb);
    each_lane(w.lanes, [&](unsigned l) { out.x[l] = F(a[l], b[l]); });
  } else {
    const u32* b = fetch_half(w, inst, 1, sb);
    const u32* c = fetch_half(w, inst, 2, sc);
    each_lane(w.lanes, [&](unsigned l) { out.x[l] = F(a[l], b[l], c[l]); });
  }
  store_half(w, inst, out, write_mask(w, inst));
}

template <auto F, auto Saturating>
void int16_clamp(Wave& w, const Inst& inst) {
  inst.mods.clamp ? int16<Saturating>(w, inst) : int16<F>(w, inst);
}

// ---- f32

/// Source modifiers and MODE's flush of inputs.
WJ_SIM_INLINE const u32* fetch_f32(Wave& w, const Inst& inst, unsigned i, Lanes& scratch) {
  const u32* p = fetch(w, inst, i, scratch);
  const Source& s = inst.src[i];
  if (!s.neg && !s.abs && !w.mode.flush_in32) [[likely]]
    return p;
  return modify_f32(w, s, p, scratch);
}

/// omod, clamp and MODE's flush of results.
WJ_SIM_INLINE void finish_f32(const Wave& w, const Inst& inst, Lanes& out) {
  if (inst.mods.clamp || w.mode.flush_out32) [[unlikely]]
    modify_result_f32(w, inst, out);
}

template <auto F>
void f32(Wave& w, const Inst& inst) {
  using T = decltype(F);
  Lanes sa, sb, sc, out;
  const u32* a = fetch_f32(w, inst, 0, sa);
  if constexpr (std::is_invocable_v<T, float>) {
    each_lane(w.lanes, [&](unsigned l) { out.x[l] = bits_of(F(as_f32(a[l]))); });
  } else if constexpr (std::is_invocable_v<T, float, float>) {
    const u32* b = fetch_f32(w, inst, 1, sb);
    each_lane(w.lanes, [&](unsigned l) { out.x[l] = bits_of(F(as_f32(a[l]), as_f32(b[l]))); });
  } else {
    const u32* b = fetch_f32(w, inst, 1, sb);
    const u32* c = fetch_f32(w, inst, 2, sc);
    each_lane(w.lanes, [&](unsigned l) { out.x[l] = bits_of(F(as_f32(a[l]), as_f32(b[l]), as_f32(c[l]))); });
  }
  finish_f32(w, inst, out);
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

// ---- f16

/// The half that the operand names, modifiers applied, widened to f32 bits.
WJ_SIM_INLINE const u32* fetch_f16(Wave& w, const Inst& inst, unsigned i, Lanes& scratch) {
  const u32* p = fetch(w, inst, i, scratch);
  const Source& s = inst.src[i];
  const unsigned shift = s.high ? 16 : 0;
  const u32 keep = s.abs ? 0x7FFF : 0xFFFF;
  const u32 flip = s.neg ? 0x8000 : 0;
  const bool flush = w.mode.flush_in16;
  each_lane(w.lanes, [&](unsigned l) {
    u32 h = p[l] >> shift & 0xFFFF;
    h = flush ? flush_f16(h) : h;
    scratch.x[l] = f16_to_f32((h & keep) ^ flip);
  });
  return scratch.x;
}

/// f32 bits that round right -> f16, by MODE; clamp, omod and flush.
WJ_SIM_INLINE void finish_f16(const Wave& w, const Inst& inst, Lanes& out) {
  if (w.mode.round16 == 0) [[likely]] {
    each_lane(w.lanes, [&](unsigned l) { out.x[l] = f32_to_f16_nearest(out.x[l]); });
  } else {
    narrow_f16(w, out);
  }
  if (inst.mods.clamp || w.mode.flush_out16) [[unlikely]]
    modify_result_f16(w, inst, out);
}

/// F gives f32 bits that round to the right f16.
template <auto F>
WJ_SIM_INLINE void f16_lanes(Wave& w, const u32* a, const u32* b, const u32* c, Lanes& out) {
  using T = decltype(F);
  if constexpr (std::is_invocable_v<T, float>) {
    each_lane(w.lanes, [&](unsigned l) { out.x[l] = F(as_f32(a[l])); });
  } else if constexpr (std::is_invocable_v<T, float, float>) {
    each_lane(w.lanes, [&](unsigned l) { out.x[l] = F(as_f32(a[l]), as_f32(b[l])); });
  } else {
    each_lane(w.lanes, [&](unsigned l) { out.x[l] = F(as_f32(a[l]), as_f32(b[l]), as_f32(c[l])); });
  }
}

template <auto F>
void f16(Wave& w, const Inst& inst) {
  using T = decltype(F);
  Lanes sa, sb, sc, out;
  const u32* a = fetch_f16(w, inst, 0, sa);
  const u32* b = a;
  const u32* c = a;
  if constexpr (!std::is_invocable_v<T, float>) b = fetch_f16(w, inst, 1, sb);
  if constexpr (std::is_invocable_v<T, float, float, float>) c = fetch_f16(w, inst, 2, sc);
  f16_lanes<F>(w, a, b, c, out);
  finish_f16(w, inst, out);
  store_half(w, inst, out, write_mask(w, inst));
}

// ---- packed 16-bit

/// One half of a packed source: `high` picks the half of the result that it feeds.
WJ_SIM_INLINE const u32* packed_half(Wave& w, const Inst& inst, unsigned i, bool high, u32 sign,
                                     Lanes& scratch) {
  const u32* p = fetch(w, inst, i, scratch);
  const isa::Modifiers& m = inst.mods;
  const bool from_high = ((high ? m.op_sel_hi : m.op_sel) >> i & 1) != 0;
  const bool negate = ((high ? m.neg_hi : m.neg_lo) >> i & 1) != 0;
  const unsigned shift = from_high ? 16 : 0;
  const u32 flip = negate ? sign : 0;
  each_lane(w.lanes, [&](unsigned l) { scratch.x[l] = (p[l] >> shift & 0xFFFF) ^ flip; });
  return scratch.x;
}

template <auto F>
void packed_int(Wave& w, const Inst& inst) {
  using T = decltype(F);
  Lanes half[2];
  for (unsigned h = 0; h < 2; ++h) {
    Lanes sa, sb, sc;
    const u32* a = packed_half(w, inst, 0, h == 1, 0, sa);
    const u32* b = packed_half(w, inst, 1, h == 1, 0, sb);
    u32* out = half[h].x;
    if constexpr (std::is_invocable_v<T, u32, u32>) {
      each_lane(w.lanes, [&](unsigned l) { out[l] = F(a[l], b[l]) & 0xFFFF; });
    } else {
      const u32* c = packed_half(w, inst, 2, h == 1, 0, sc);
      each_lane(w.lanes, [&](unsigned l) { out[l] = F(a[l], b[l], c[l]) & 0xFFFF; });
    }
  }
  each_lane(w.lanes, [&](unsigned l) { half[0].x[l] |= half[1].x[l] << 16; });
  store_row(w, inst.dst, half[0].x, write_mask(w, inst));
}

template <auto F, auto Saturating>
void packed_int_clamp(Wave& w, const Inst& inst) {
  inst.mods.clamp ? packed_int<Saturating>(w, inst) : packed_int<F>(w, inst);
}

template <auto F>
void packed_f16(Wave& w, const Inst& inst) {
  using T = decltype(F);
  constexpr unsigned sources = std::is_invocable_v<T, float, float> ? 2 : 3;
  Lanes half[2];
  const bool flush = w.mode.flush_in16;
  for (unsigned h = 0; h < 2; ++h) {
    Lanes in[3];
    const u32* p[3] = {in[0].x, in[0].x, in[0].x};
    for (unsigned i = 0; i < sources; ++i) {
      p[i] = packed_half(w, inst, i, h == 1, 0x8000, in[i]);
      u32* x = in[i].x;
      each_lane(w.lanes, [&](unsigned l) { x[l] = f16_to_f32(flush ? flush_f16(x[l]) : x[l]); });
    }
    f16_lanes<F>(w, p[0], p[1], p[2], half[h]);
    finish_f16(w, inst, half[h]);
  }
  each_lane(w.lanes, [&](unsigned l) { half[0].x[l] |= half[1].x[l] << 16; });
  store_row(w, inst.dst, half[0].x, write_mask(w, inst));
}

// ---- groups of opcodes, one per file

void add_integer(Handlers& h);
void add_integer16(Handlers& h);
void add_wide(Handlers& h);
void add_moves(Handlers& h);
void add_float(Handlers& h);
void add_convert(Handlers& h);
void add_half(Handlers& h);
void add_dot(Handlers& h);
void add_compare(Handlers& h);
void add_special(Handlers& h);
void add_matrix(Handlers& h);
void add_packed_f32(Handlers& h);
void add_cdna(Handlers& h);
void add_mfma(Handlers& h);
void add_wmma12(Handlers& h);

}  // namespace wavejit::sim::WAVEJIT_SIM_VARIANT
