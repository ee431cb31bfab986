// SPDX-License-Identifier: MIT
// SALU arithmetic, bit operations, moves and EXEC manipulation.
#include <bit>
#include <cmath>

#include "runtime/device/sim/handlers.hpp"
#include "runtime/device/sim/numerics.hpp"
#include "runtime/device/sim/wave.hpp"

namespace wavejit::sim {
namespace {

using detail::Inst;
using isa::Opcode;
using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

constexpr i32 s(u32 x) { return static_cast<i32>(x); }
constexpr u32 u(i64 x) { return static_cast<u32>(x); }

void set64(Wave& w, unsigned reg, u64 value) {
  w.set_scalar(reg, static_cast<u32>(value));
  if (reg != isa::sreg::null) w.set_scalar(reg + 1, static_cast<u32>(value >> 32));
}

/// F(a[, b][, scc]) -> result; SCC untouched.
template <auto F>
void plain32(Wave& w, const Inst& i) {
  using T = decltype(F);
  if constexpr (std::is_invocable_v<T, u32>) {
    w.set_scalar(i.dst, F(w.scalar(i.src[0])));
  } else {
    w.set_scalar(i.dst, F(w.scalar(i.src[0]), w.scalar(i.src[1])));
  }
}

struct WithScc {
  u32 value;
  bool scc;
};

/// F gives the result and SCC.
template <auto F>
void scc32(Wave& w, const Inst& i) {
  const WithScc r = F(w.scalar(i.src[0]), w.scalar(i.src[1]), w.scc());
  w.set_scalar(i.dst, r.value);
  w.set_scc(r.scc);
}

/// SCC = result is not zero.
template <auto F>
void logic32(Wave& w, const Inst& i) {
  using T = decltype(F);
  u32 r = 0;
  if constexpr (std::is_invocable_v<T, u32>) {
    r = F(w.scalar(i.src[0]));
  } else {
    r = F(w.scalar(i.src[0]), w.scalar(i.src[1]));
  }
  w.set_scalar(i.dst, r);
  w.set_scc(r != 0);
}

template <auto F>
void logic64(Wave& w, const Inst& i) {
  using T = decltype(F);
  u64 r = 0;
  if constexpr (std::is_invocable_v<T, u64>) {
    r = F(w.scalar64(i.src[0]));
  } else {
    r = F(w.scalar64(i.src[0]), w.scalar64(i.src[1]));
  }
  set64(w, i.dst, r);
  w.set_scc(r != 0);
}

template <auto F>
void shift64(Wave& w, const Inst& i) {
  const u64 r = F(w.scalar64(i.src[0]), w.scalar(i.src[1]) & 63);
  set64(w, i.dst, r);
  w.set_scc(r != 0);
}

/// dst = EXEC; EXEC = F(source, EXEC); SCC = EXEC not zero.
template <bool Wide, auto F>
void saveexec(Wave& w, const Inst& i) {
  const u64 old =
      Wide ? w.s[isa::sreg::exec_lo] | u64{w.s[isa::sreg::exec_hi]} << 32 : w.s[isa::sreg::exec_lo];
  const u64 source = Wide ? w.scalar64(i.src[0]) : w.scalar(i.src[0]);
  const u64 result = F(source, old);
  if (Wide) {
    set64(w, i.dst, old);
    set64(w, isa::sreg::exec_lo, result);
  } else {
    w.set_scalar(i.dst, static_cast<u32>(old));
    w.set_scalar(isa::sreg::exec_lo, static_cast<u32>(result));
  }
  w.set_scc((Wide ? result : static_cast<u32>(result)) != 0);
}

template <unsigned Shift>
WithScc shift_add(u32 a, u32 b, bool /*scc*/) {
  const u64 wide = (u64{a} << Shift) + b;
  return {static_cast<u32>(wide), wide >> 32 != 0};
}

u32 field(u32 x, u32 control) {
  const u32 width = control >> 16 & 0x7F;
  const u32 shifted = x >> (control & 31);
  return width >= 32 ? shifted : shifted & ((1U << width) - 1);
}

u64 field64(u64 x, u32 control) {
  const u32 width = control >> 16 & 0x7F;
  const u64 shifted = x >> (control & 63);
  return width >= 64 ? shifted : shifted & ((u64{1} << width) - 1);
}

/// A field that reaches beyond the register goes on with copies of its sign.
i64 signed_field64(i64 x, u32 control) {
  const u32 width = control >> 16 & 0x7F;
  const i64 shifted = x >> (control & 63);
  if (width == 0 || width >= 64) return width == 0 ? 0 : shifted;
  return static_cast<i64>(static_cast<u64>(shifted) << (64 - width)) >> (64 - width);
}
u32 signed_field(u32 x, u32 control) { return u(signed_field64(s(x), control & ~32U)); }

void mov64(Wave& w, const Inst& i) { set64(w, i.dst, w.scalar64(i.src[0])); }
void cmov(Wave& w, const Inst& i) {
  if (w.scc()) w.set_scalar(i.dst, w.scalar(i.src[0]));
}
void cselect32(Wave& w, const Inst& i) { w.set_scalar(i.dst, w.scalar(i.src[w.scc() ? 0 : 1])); }
void cselect64(Wave& w, const Inst& i) { set64(w, i.dst, w.scalar64(i.src[w.scc() ? 0 : 1])); }

void getpc(Wave& w, const Inst& i) {
  // The address of the next instruction, where the code object would lie as linked.
  const std::size_t next = std::min<std::size_t>(i.index + std::size_t{1}, w.code->texts.size() - 1);
  set64(w, i.dst, w.code->texts[next].address);
}

void bitset(Wave& w, const Inst& i) {
  const u32 bit = 1U << (w.scalar(i.src[0]) & 31);
  const u32 old = w.scalar(i.dst);
  w.set_scalar(i.dst, i.op == Opcode::s_bitset1_b32 ? old | bit : old & ~bit);
}

void bitset64(Wave& w, const Inst& i) {
  const u64 bit = u64{1} << (w.scalar(i.src[0]) & 63);
  const u64 old = w.scalar(i.dst) | u64{w.scalar(i.dst + 1U)} << 32;
  set64(w, i.dst, i.op == Opcode::s_bitset1_b64 ? old | bit : old & ~bit);
}

/// s_addk, s_mulk: the immediate is sign-extended.
void addk(Wave& w, const Inst& i) {
  const i64 wide = i64{s(w.scalar(i.dst))} + s(w.scalar(i.src[0]));
  w.set_scalar(i.dst, u(wide));
  w.set_scc(wide != s(u(wide)));
}
void mulk(Wave& w, const Inst& i) { w.set_scalar(i.dst, w.scalar(i.dst) * w.scalar(i.src[0])); }

void add_moves_and_bits(Handlers& h) {
  h.set(Opcode::s_mov_b32, plain32<[](u32 a) { return a; }>);
  h.set(Opcode::s_movk_i32, plain32<[](u32 a) { return a; }>);
  h.set(Opcode::s_mov_b64, mov64);
  h.set(Opcode::s_cmov_b32, cmov);
  h.set(Opcode::s_cmovk_i32, cmov);
  h.set(Opcode::s_cselect_b32, cselect32);
  h.set(Opcode::s_cselect_b64, cselect64);
  h.set(Opcode::s_getpc_b64, getpc);
  h.set(Opcode::s_not_b32, logic32<[](u32 a) { return ~a; }>);
  h.set(Opcode::s_not_b64, logic64<[](u64 a) { return ~a; }>);
  h.set(Opcode::s_brev_b32, plain32<[](u32 a) {
          u32 r = 0;
          for (unsigned n = 0; n < 32; ++n) r |= ((a >> n) & 1) << (31 - n);
          return r;
        }>);
  h.set(Opcode::s_bcnt1_i32_b32, logic32<[](u32 a) { return static_cast<u32>(std::popcount(a)); }>);
  h.set(Opcode::s_bcnt1_i32_b64, [](Wave& w, const Inst& i) {
    const auto r = static_cast<u32>(std::popcount(w.scalar64(i.src[0])));
    w.set_scalar(i.dst, r);
    w.set_scc(r != 0);
  });
  h.set(Opcode::s_ctz_i32_b32,
        plain32<[](u32 a) { return a == 0 ? ~0U : static_cast<u32>(std::countr_zero(a)); }>);
  h.set(Opcode::s_clz_i32_u32,
        plain32<[](u32 a) { return a == 0 ? ~0U : static_cast<u32>(std::countl_zero(a)); }>);
  h.set(Opcode::s_ctz_i32_b64, [](Wave& w, const Inst& i) {
    const u64 a = w.scalar64(i.src[0]);
    w.set_scalar(i.dst, a == 0 ? ~0U : static_cast<u32>(std::countr_zero(a)));
  });
  h.set(Opcode::s_clz_i32_u64, [](Wave& w, const Inst& i) {
    const u64 a = w.scalar64(i.src[0]);
    w.set_scalar(i.dst, a == 0 ? ~0U : static_cast<u32>(std::countl_zero(a)));
  });
  h.set(Opcode::s_cls_i32, plain32<[](u32 a) {
          const u32 differing = a ^ u(s(a) >> 31);
          return differing == 0 ? ~0U : static_cast<u32>(std::countl_zero(differing));
        }>);
  h.set(Opcode::s_bcnt0_i32_b32, logic32<[](u32 a) { return static_cast<u32>(std::popcount(~a)); }>);
  h.set(Opcode::s_sext_i32_i8, plain32<[](u32 a) { return u(static_cast<std::int8_t>(a)); }>);
  h.set(Opcode::s_sext_i32_i16, plain32<[](u32 a) { return u(static_cast<std::int16_t>(a)); }>);
  h.set(Opcode::s_abs_i32, logic32<[](u32 a) { return s(a) < 0 ? 0 - a : a; }>);
  h.set(Opcode::s_and_b32, logic32<[](u32 a, u32 b) { return a & b; }>);
  h.set(Opcode::s_or_b32, logic32<[](u32 a, u32 b) { return a | b; }>);
  h.set(Opcode::s_xor_b32, logic32<[](u32 a, u32 b) { return a ^ b; }>);
  h.set(Opcode::s_and_not1_b32, logic32<[](u32 a, u32 b) { return a & ~b; }>);
  h.set(Opcode::s_or_not1_b32, logic32<[](u32 a, u32 b) { return a | ~b; }>);
  h.set(Opcode::s_nand_b32, logic32<[](u32 a, u32 b) { return ~(a & b); }>);
  h.set(Opcode::s_nor_b32, logic32<[](u32 a, u32 b) { return ~(a | b); }>);
  h.set(Opcode::s_xnor_b32, logic32<[](u32 a, u32 b) { return ~(a ^ b); }>);
  h.set(Opcode::s_and_b64, logic64<[](u64 a, u64 b) { return a & b; }>);
  h.set(Opcode::s_or_b64, logic64<[](u64 a, u64 b) { return a | b; }>);
  h.set(Opcode::s_xor_b64, logic64<[](u64 a, u64 b) { return a ^ b; }>);
  h.set(Opcode::s_and_not1_b64, logic64<[](u64 a, u64 b) { return a & ~b; }>);
  h.set(Opcode::s_or_not1_b64, logic64<[](u64 a, u64 b) { return a | ~b; }>);
  h.set(Opcode::s_nand_b64, logic64<[](u64 a, u64 b) { return ~(a & b); }>);
  h.set(Opcode::s_nor_b64, logic64<[](u64 a, u64 b) { return ~(a | b); }>);
  h.set(Opcode::s_xnor_b64, logic64<[](u64 a, u64 b) { return ~(a ^ b); }>);
  h.set(Opcode::s_lshl_b32, logic32<[](u32 a, u32 b) { return a << (b & 31); }>);
  h.set(Opcode::s_lshr_b32, logic32<[](u32 a, u32 b) { return (a >> (b & 31)); }>);
  h.set(Opcode::s_ashr_i32, logic32<[](u32 a, u32 b) { return (u(s(a) >> (b & 31))); }>);
  h.set(Opcode::s_lshl_b64, shift64<[](u64 a, u32 n) { return a << n; }>);
  h.set(Opcode::s_lshr_b64, shift64<[](u64 a, u32 n) { return (a >> n); }>);
  h.set(Opcode::s_ashr_i64,
        shift64<[](u64 a, u32 n) { return (static_cast<u64>(static_cast<i64>(a) >> n)); }>);
  h.set(Opcode::s_bfe_u32, logic32<[](u32 a, u32 b) { return field(a, b); }>);
  h.set(Opcode::s_bfe_i32, logic32<[](u32 a, u32 b) { return signed_field(a, b); }>);
  h.set(Opcode::s_bfe_u64, [](Wave& w, const Inst& i) {
    const u64 r = field64(w.scalar64(i.src[0]), w.scalar(i.src[1]));
    set64(w, i.dst, r);
    w.set_scc(r != 0);
  });
  h.set(Opcode::s_bfe_i64, [](Wave& w, const Inst& i) {
    const i64 r = signed_field64(static_cast<i64>(w.scalar64(i.src[0])), w.scalar(i.src[1]));
    set64(w, i.dst, static_cast<u64>(r));
    w.set_scc(r != 0);
  });
  h.set(Opcode::s_bfm_b64, [](Wave& w, const Inst& i) {
    const u64 ones = (u64{1} << (w.scalar(i.src[0]) & 63)) - 1;
    set64(w, i.dst, ones << (w.scalar(i.src[1]) & 63));
  });
  h.set(Opcode::s_bfm_b32, plain32<[](u32 a, u32 b) { return ((1U << (a & 31)) - 1) << (b & 31); }>);
  h.set(Opcode::s_bitset0_b32, bitset);
  h.set(Opcode::s_bitset1_b32, bitset);
  h.set(Opcode::s_bitset0_b64, bitset64);
  h.set(Opcode::s_bitset1_b64, bitset64);
  h.set(Opcode::s_pack_hl_b32_b16, plain32<[](u32 a, u32 b) { return (a >> 16 | b << 16); }>);
  h.set(Opcode::s_pack_ll_b32_b16, plain32<[](u32 a, u32 b) { return (a & 0xFFFF) | b << 16; }>);
  h.set(Opcode::s_pack_lh_b32_b16, plain32<[](u32 a, u32 b) { return (a & 0xFFFF) | (b & 0xFFFF0000); }>);
  h.set(Opcode::s_pack_hh_b32_b16, plain32<[](u32 a, u32 b) { return (a >> 16 | (b & 0xFFFF0000)); }>);
}

void add_arithmetic(Handlers& h) {
  h.set(Opcode::s_add_u32, scc32<[](u32 a, u32 b, bool) { return WithScc{a + b, a + b < a}; }>);
  h.set(Opcode::s_sub_u32, scc32<[](u32 a, u32 b, bool) { return WithScc{a - b, a < b}; }>);
  h.set(Opcode::s_add_i32, scc32<[](u32 a, u32 b, bool) {
          const u32 r = a + b;
          return WithScc{r, (((a ^ r) & (b ^ r)) >> 31 != 0)};
        }>);
  h.set(Opcode::s_sub_i32, scc32<[](u32 a, u32 b, bool) {
          const u32 r = a - b;
          return WithScc{r, (((a ^ b) & (a ^ r)) >> 31 != 0)};
        }>);
  h.set(Opcode::s_addc_u32, scc32<[](u32 a, u32 b, bool c) {
          const u64 r = u64{a} + b + (c ? 1 : 0);
          return WithScc{static_cast<u32>(r), (r >> 32 != 0)};
        }>);
  h.set(Opcode::s_subb_u32, scc32<[](u32 a, u32 b, bool c) {
          const u64 r = u64{a} - b - (c ? 1 : 0);
          return WithScc{static_cast<u32>(r), (r >> 32 != 0)};
        }>);
  h.set(Opcode::s_addk_i32, addk);
  h.set(Opcode::s_mulk_i32, mulk);
  h.set(Opcode::s_mul_i32, plain32<[](u32 a, u32 b) { return a * b; }>);
  h.set(Opcode::s_add_nc_u64,
        [](Wave& w, const Inst& i) { set64(w, i.dst, w.scalar64(i.src[0]) + w.scalar64(i.src[1])); });
  h.set(Opcode::s_sub_nc_u64,
        [](Wave& w, const Inst& i) { set64(w, i.dst, w.scalar64(i.src[0]) - w.scalar64(i.src[1])); });
  h.set(Opcode::s_mul_u64,
        [](Wave& w, const Inst& i) { set64(w, i.dst, w.scalar64(i.src[0]) * w.scalar64(i.src[1])); });
  h.set(Opcode::s_mul_hi_u32, plain32<[](u32 a, u32 b) { return (static_cast<u32>(u64{a} * b >> 32)); }>);
  h.set(Opcode::s_mul_hi_i32, plain32<[](u32 a, u32 b) { return (u(i64{s(a)} * s(b) >> 32)); }>);
  // SCC = the first source was taken.
  h.set(Opcode::s_min_i32, scc32<[](u32 a, u32 b, bool) {
          return WithScc{s(a) < s(b) ? a : b, s(a) < s(b)};
        }>);
  h.set(Opcode::s_min_u32, scc32<[](u32 a, u32 b, bool) { return WithScc{a < b ? a : b, a < b}; }>);
  h.set(Opcode::s_max_i32, scc32<[](u32 a, u32 b, bool) {
          return WithScc{(s(a) >= s(b) ? a : b), (s(a) >= s(b))};
        }>);
  h.set(Opcode::s_max_u32, scc32<[](u32 a, u32 b, bool) { return WithScc{(a >= b ? a : b), (a >= b)}; }>);
  h.set(Opcode::s_absdiff_i32, logic32<[](u32 a, u32 b) { return s(a - b) < 0 ? b - a : a - b; }>);
  h.set(Opcode::s_lshl1_add_u32, scc32<[](u32 a, u32 b, bool c) { return shift_add<1>(a, b, c); }>);
  h.set(Opcode::s_lshl2_add_u32, scc32<[](u32 a, u32 b, bool c) { return shift_add<2>(a, b, c); }>);
  h.set(Opcode::s_lshl3_add_u32, scc32<[](u32 a, u32 b, bool c) { return shift_add<3>(a, b, c); }>);
  h.set(Opcode::s_lshl4_add_u32, scc32<[](u32 a, u32 b, bool c) { return shift_add<4>(a, b, c); }>);
}

void add_exec(Handlers& h) {
  constexpr auto f_and = [](u64 a, u64 exec) { return a & exec; };
  constexpr auto f_or = [](u64 a, u64 exec) { return a | exec; };
  constexpr auto f_and_not1 = [](u64 a, u64 exec) { return a & ~exec; };
  constexpr auto f_xor = [](u64 a, u64 exec) { return a ^ exec; };
  constexpr auto f_or_not1 = [](u64 a, u64 exec) { return a | ~exec; };
  h.set(Opcode::s_xor_saveexec_b32, saveexec<false, f_xor>);
  h.set(Opcode::s_xor_saveexec_b64, saveexec<true, f_xor>);
  h.set(Opcode::s_or_not1_saveexec_b32, saveexec<false, f_or_not1>);
  h.set(Opcode::s_or_not1_saveexec_b64, saveexec<true, f_or_not1>);
  h.set(Opcode::s_and_saveexec_b32, saveexec<false, f_and>);
  h.set(Opcode::s_and_saveexec_b64, saveexec<true, f_and>);
  h.set(Opcode::s_or_saveexec_b32, saveexec<false, f_or>);
  h.set(Opcode::s_or_saveexec_b64, saveexec<true, f_or>);
  h.set(Opcode::s_and_not1_saveexec_b32, saveexec<false, f_and_not1>);
  h.set(Opcode::s_and_not1_saveexec_b64, saveexec<true, f_and_not1>);
}

}  // namespace

void add_scalar(Handlers& h) {
  add_moves_and_bits(h);
  add_arithmetic(h);
  add_exec(h);
}

}  // namespace wavejit::sim
