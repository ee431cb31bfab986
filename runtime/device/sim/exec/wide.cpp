// SPDX-License-Identifier: MIT
// VALU: 64-bit shifts, carries, 64-bit multiply-add.
#include "runtime/device/sim/exec/valu.hpp"

namespace wavejit::sim::WAVEJIT_SIM_VARIANT {
namespace {

WJ_SIM_INLINE u64 join(u32 low, u32 high) { return u64{high} << 32 | low; }

void store_wide(Wave& w, const Inst& inst, const Lanes& low, const Lanes& high) {
  const u64 mask = write_mask(w, inst);
  store_row(w, inst.dst, low.x, mask);
  store_row(w, inst.dst + 1U, high.x, mask);
}

template <auto F>
void shift64(Wave& w, const Inst& inst) {
  Lanes sa, sl, sh, low, high;
  const u32* amount = fetch(w, inst, 0, sa);
  const u32* l0 = fetch(w, inst, 1, sl, 0);
  const u32* l1 = fetch(w, inst, 1, sh, 1);
  for (unsigned l = 0; l < w.lanes; ++l) {
    const u64 result = F(join(l0[l], l1[l]), amount[l] & 63);
    low.x[l] = static_cast<u32>(result);
    high.x[l] = static_cast<u32>(result >> 32);
  }
  store_wide(w, inst, low, high);
}

/// a + b + carry, or a - b - borrow. Carries go to dst2 for active lanes, 0 for the others.
template <bool Subtract, bool CarryIn, bool Reverse = false>
void carry(Wave& w, const Inst& inst) {
  Lanes sa, sb, out, flags;
  const u32* a = fetch(w, inst, 0, sa);
  const u32* b = fetch(w, inst, 1, sb);
  if (Reverse) std::swap(a, b);
  const u64 in = CarryIn ? (w.lanes == 64 ? w.scalar64(inst.src[2]) : w.scalar(inst.src[2])) : 0;
  for (unsigned l = 0; l < w.lanes; ++l) {
    const u64 c = in >> l & 1;
    const u64 wide = Subtract ? u64{a[l]} - b[l] - c : u64{a[l]} + b[l] + c;
    out.x[l] = static_cast<u32>(wide);
    flags.x[l] = static_cast<u32>(wide >> 32 & 1);
    if (inst.mods.clamp && flags.x[l] != 0) out.x[l] = Subtract ? 0 : ~0U;
  }
  const u64 mask = write_mask(w, inst);
  store_row(w, inst.dst, out.x, mask);
  w.set_mask(inst.dst2, pack_bits(flags, w.lanes) & mask);
}

template <bool Signed>
void mad64(Wave& w, const Inst& inst) {
  Lanes sa, sb, sl, sh, low, high, flags;
  const u32* a = fetch(w, inst, 0, sa);
  const u32* b = fetch(w, inst, 1, sb);
  const u32* c0 = fetch(w, inst, 2, sl, 0);
  const u32* c1 = fetch(w, inst, 2, sh, 1);
  for (unsigned l = 0; l < w.lanes; ++l) {
    const u64 product =
        Signed ? static_cast<u64>(i64{static_cast<i32>(a[l])} * static_cast<i32>(b[l])) : u64{a[l]} * b[l];
    const u64 c = join(c0[l], c1[l]);
    const u64 sum = product + c;
    low.x[l] = static_cast<u32>(sum);
    high.x[l] = static_cast<u32>(sum >> 32);
    const bool unsigned_carry = sum < c;
    const bool signed_carry = ((product ^ sum) & (c ^ sum)) >> 63 != 0;
    flags.x[l] = (Signed ? signed_carry : unsigned_carry) ? 1 : 0;
  }
  store_wide(w, inst, low, high);
  w.set_mask(inst.dst2, pack_bits(flags, w.lanes) & write_mask(w, inst));
}

}  // namespace

void add_wide(Handlers& h) {
  h.set(Opcode::v_lshlrev_b64, shift64<[](u64 x, u32 n) { return x << n; }>);
  h.set(Opcode::v_lshrrev_b64, shift64<[](u64 x, u32 n) { return (x >> n); }>);
  h.set(Opcode::v_ashrrev_i64,
        shift64<[](u64 x, u32 n) { return (static_cast<u64>(static_cast<i64>(x) >> n)); }>);
  h.set(Opcode::v_add_co_u32, carry<false, false>);
  h.set(Opcode::v_sub_co_u32, carry<true, false>);
  h.set(Opcode::v_add_co_ci_u32, carry<false, true>);
  h.set(Opcode::v_sub_co_ci_u32, carry<true, true>);
  h.set(Opcode::v_subrev_co_u32, carry<true, false, true>);
  h.set(Opcode::v_subrev_co_ci_u32, carry<true, true, true>);
  h.set(Opcode::v_mad_u64_u32, mad64<false>);
  h.set(Opcode::v_mad_i64_i32, mad64<true>);
}

}  // namespace wavejit::sim::WAVEJIT_SIM_VARIANT
