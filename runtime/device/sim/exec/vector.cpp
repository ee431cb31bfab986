// SPDX-License-Identifier: MIT
#include "runtime/device/sim/exec/valu.hpp"

namespace wavejit::sim::WAVEJIT_SIM_VARIANT {
namespace {

constexpr float omod_scales[4] = {1.0F, 2.0F, 4.0F, 0.5F};

/// Hardware ignores output modifiers in IEEE mode and where results keep denormals.
unsigned active_omod(const Wave& w, const Inst& inst, bool flushed) {
  return w.mode.ieee || !flushed ? 0 : inst.mods.omod & 3U;
}

}  // namespace

const u32* fetch_dpp(const Wave& w, const Inst& inst, const u32* p, Lanes& scratch) {
  const DppMap map = dpp_map(inst.mods.dpp, w.lanes, w.exec());
  Lanes moved;
  for (unsigned l = 0; l < w.lanes; ++l) moved.x[l] = map.source[l] < 0 ? 0 : p[map.source[l]];
  std::memcpy(scratch.x, moved.x, w.lanes * sizeof(u32));
  return scratch.x;
}

u64 dpp_write_mask(const Wave& w, const Inst& inst) {
  return w.exec() & dpp_map(inst.mods.dpp, w.lanes, w.exec()).enabled;
}

void store_masked(const Wave& w, u32* row, const u32* out, u64 mask) {
  for (unsigned base = 0; base < w.lanes; base += 32) {
    const auto bits = static_cast<u32>(mask >> base);
    u32* to = row + base;
    const u32* from = out + base;
#pragma GCC ivdep
    for (unsigned l = 0; l < 32; ++l) to[l] = (bits >> l & 1) != 0 ? from[l] : to[l];
  }
}

const u32* modify_f32(const Wave& w, const Source& s, const u32* p, Lanes& scratch) {
  const u32 keep = s.abs ? 0x7FFFFFFF : 0xFFFFFFFF;
  const u32 flip = s.neg ? 0x80000000 : 0;
  const bool flush = w.mode.flush_in32;
  each_lane(w.lanes, [&](unsigned l) {
    const u32 x = flush ? flush_f32(p[l]) : p[l];
    scratch.x[l] = (x & keep) ^ flip;
  });
  return scratch.x;
}

void modify_result_f32(const Wave& w, const Inst& inst, Lanes& out) {
  const unsigned omod = active_omod(w, inst, w.mode.flush_out32);
  for (unsigned l = 0; l < w.lanes; ++l) {
    u32 x = out.x[l];
    if (w.mode.flush_out32) x = flush_f32(x);
    if (omod != 0) x = flush_f32(bits_of(as_f32(x) * omod_scales[omod]));
    if (inst.mods.clamp) {
      if (is_nan(x)) {
        x = w.mode.dx10_clamp ? 0 : x;
      } else {
        x = !(as_f32(x) > 0) ? 0 : as_f32(x) > 1 ? 0x3F800000 : x;
      }
    }
    out.x[l] = x;
  }
}

void modify_result_f16(const Wave& w, const Inst& inst, Lanes& out) {
  const unsigned omod = active_omod(w, inst, w.mode.flush_out16);
  for (unsigned l = 0; l < w.lanes; ++l) {
    u32 h = out.x[l];
    if (w.mode.flush_out16) h = flush_f16(h);
    if (omod != 0) h = f32_to_f16_nearest(bits_of(as_f32(f16_to_f32(h)) * omod_scales[omod]));
    if (inst.mods.clamp) {
      const bool nan = (h & 0x7FFF) > 0x7C00;
      const bool negative = (h & 0x8000) != 0;
      h = nan ? (w.mode.dx10_clamp ? 0 : h) : negative ? 0 : h > 0x3C00 ? 0x3C00 : h;
    }
    out.x[l] = h;
  }
}

void narrow_f16(const Wave& w, Lanes& out) {
  for (unsigned l = 0; l < w.lanes; ++l) out.x[l] = f32_to_f16(out.x[l], static_cast<Round>(w.mode.round16));
}

void add_vector(Handlers& h) {
  add_integer(h);
  add_integer16(h);
  add_wide(h);
  add_moves(h);
  add_float(h);
  add_convert(h);
  add_half(h);
  add_dot(h);
  add_compare(h);
  add_special(h);
  add_matrix(h);
  add_packed_f32(h);
  add_cdna(h);
  add_mfma(h);
  add_wmma12(h);
}

}  // namespace wavejit::sim::WAVEJIT_SIM_VARIANT
