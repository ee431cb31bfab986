// SPDX-License-Identifier: MIT
// VALU: moves, selects and everything that crosses lanes.
#include <bit>

#include "runtime/device/sim/exec/valu.hpp"

namespace wavejit::sim::WAVEJIT_SIM_VARIANT {
namespace {

u64 mask_source(const Wave& w, const Source& s) { return w.lanes == 64 ? w.scalar64(s) : w.scalar(s); }

/// v_cndmask_b32 is an integer select, but its sources take float sign modifiers.
WJ_SIM_INLINE const u32* signed_source(Wave& w, const Inst& inst, unsigned i, u32 sign, Lanes& scratch) {
  const u32* p = fetch(w, inst, i, scratch);
  const Source& s = inst.src[i];
  if (!s.neg && !s.abs) return p;
  const u32 keep = s.abs ? ~sign : ~0U;
  const u32 flip = s.neg ? sign : 0;
  each_lane(w.lanes, [&](unsigned l) { scratch.x[l] = (p[l] & keep) ^ flip; });
  return scratch.x;
}

void cndmask_b32(Wave& w, const Inst& inst) {
  Lanes sa, sb, out;
  const u32* a = signed_source(w, inst, 0, 0x80000000, sa);
  const u32* b = signed_source(w, inst, 1, 0x80000000, sb);
  const u64 mask = mask_source(w, inst.src[2]);
  for (unsigned base = 0; base < w.lanes; base += 32) {
    const auto bits = static_cast<u32>(mask >> base);
#pragma GCC ivdep
    for (unsigned l = 0; l < 32; ++l) out.x[base + l] = (bits >> l & 1) != 0 ? b[base + l] : a[base + l];
  }
  store_row(w, inst.dst, out.x, write_mask(w, inst));
}

void cndmask_b16(Wave& w, const Inst& inst) {
  Lanes sa, sb, out;
  const u32* a = fetch_half(w, inst, 0, sa);
  const u32* b = fetch_half(w, inst, 1, sb);
  const u64 mask = mask_source(w, inst.src[2]);
  const auto modify = [&](u32 x, const Source& s) {
    return (x & (s.abs ? 0x7FFFU : 0xFFFFU)) ^ (s.neg ? 0x8000U : 0U);
  };
  for (unsigned l = 0; l < w.lanes; ++l) {
    out.x[l] = (mask >> l & 1) != 0 ? modify(b[l], inst.src[1]) : modify(a[l], inst.src[0]);
  }
  store_half(w, inst, out, write_mask(w, inst));
}

void nop(Wave& /*w*/, const Inst& /*inst*/) {}

void readfirstlane(Wave& w, const Inst& inst) {
  Lanes scratch;
  const u32* a = plain(w, inst.src[0], scratch);
  const u64 exec = w.exec();
  w.set_scalar(inst.dst, a[exec == 0 ? 0 : std::countr_zero(exec)]);
}

void readlane(Wave& w, const Inst& inst) {
  Lanes scratch;
  const u32* a = plain(w, inst.src[0], scratch);
  w.set_scalar(inst.dst, a[w.scalar(inst.src[1]) & (w.lanes - 1)]);
}

void writelane(Wave& w, const Inst& inst) {
  w.row(inst.dst)[w.scalar(inst.src[1]) & (w.lanes - 1)] = w.scalar(inst.src[0]);
}

/// v_permlane16 picks within a row of 16, v_permlanex16 from the other row of the pair. op_sel[0] =
/// fetch inactive lanes, op_sel[1] = bound control (unreadable lanes give 0, else keep dst).
template <bool Cross>
void permlane(Wave& w, const Inst& inst) {
  Lanes scratch, out;
  const u32* a = plain(w, inst.src[0], scratch);
  const u64 selectors = w.scalar(inst.src[1]) | u64{w.scalar(inst.src[2])} << 32;
  const u64 exec = w.exec();
  const bool fetch_inactive = (inst.mods.op_sel & 1) != 0;
  const bool bound = (inst.mods.op_sel & 2) != 0;
  const u32* old = w.row(inst.dst);
  for (unsigned l = 0; l < w.lanes; ++l) {
    const unsigned base = (l & ~15U) ^ (Cross ? 16U : 0U);
    const unsigned from = base + (selectors >> (4 * (l % 16)) & 15);
    const bool readable = fetch_inactive || (exec >> from & 1) != 0;
    out.x[l] = readable ? a[from] : bound ? 0 : old[l];
  }
  store_row(w, inst.dst, out.x, exec);
}

/// Swaps the halves of a wave64; in wave32 it does nothing.
void permlane64(Wave& w, const Inst& inst) {
  if (w.lanes != 64) return;
  Lanes scratch, out;
  const u32* a = plain(w, inst.src[0], scratch);
  for (unsigned l = 0; l < w.lanes; ++l) out.x[l] = a[l ^ 32U];
  store_row(w, inst.dst, out.x, w.exec());
}

void swap(Wave& w, const Inst& inst) {
  Lanes a, b;
  std::memcpy(a.x, w.row(inst.src[0].reg), w.lanes * sizeof(u32));
  std::memcpy(b.x, w.row(inst.dst), w.lanes * sizeof(u32));
  store_row(w, inst.dst, a.x, w.exec());
  store_row(w, inst.src[0].reg, b.x, w.exec());
}

/// Exchanges the halves that the two operands name.
void swap16(Wave& w, const Inst& inst) {
  const u64 exec = w.exec();
  const unsigned da = inst.src[0].high ? 16 : 0;
  const unsigned db = inst.dst_high ? 16 : 0;
  for (unsigned l = 0; l < w.lanes; ++l) {
    if ((exec >> l & 1) == 0) continue;
    u32& x = w.row(inst.src[0].reg)[l];
    const u32 a = x >> da & 0xFFFF;
    u32& y = w.row(inst.dst)[l];
    const u32 b = y >> db & 0xFFFF;
    y = (y & ~(0xFFFFU << db)) | a << db;
    x = (x & ~(0xFFFFU << da)) | b << da;
  }
}

}  // namespace

void add_moves(Handlers& h) {
  h.set(Opcode::v_mov_b32, int32<[](u32 a) { return a; }>);
  h.set(Opcode::v_mov_b16, int16<[](u32 a) { return a; }>);
  h.set(Opcode::v_cndmask_b32, cndmask_b32);
  h.set(Opcode::v_cndmask_b16, cndmask_b16);
  h.set(Opcode::v_nop, nop);
  h.set(Opcode::v_readfirstlane_b32, readfirstlane);
  h.set(Opcode::v_readlane_b32, readlane);
  h.set(Opcode::v_writelane_b32, writelane);
  h.set(Opcode::v_permlane16_b32, permlane<false>);
  h.set(Opcode::v_permlanex16_b32, permlane<true>);
  h.set(Opcode::v_permlane64_b32, permlane64);
  h.set(Opcode::v_swap_b32, swap);
  h.set(Opcode::v_swap_b16, swap16);
}

}  // namespace wavejit::sim::WAVEJIT_SIM_VARIANT
