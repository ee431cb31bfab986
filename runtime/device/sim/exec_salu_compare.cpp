// SPDX-License-Identifier: MIT
// SALU comparisons and scalar f32 arithmetic.
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

template <class T, auto F>
void compare(Wave& w, const Inst& i) {
  w.set_scc(F(static_cast<T>(w.scalar(i.src[0])), static_cast<T>(w.scalar(i.src[1]))));
}

constexpr auto eq = [](auto a, auto b) { return a == b; };
constexpr auto lg = [](auto a, auto b) { return a != b; };
constexpr auto gt = [](auto a, auto b) { return a > b; };
constexpr auto ge = [](auto a, auto b) { return a >= b; };
constexpr auto lt = [](auto a, auto b) { return a < b; };
constexpr auto le = [](auto a, auto b) { return a <= b; };

u32 flush_in(const Wave& w, u32 x) { return w.mode.flush_in32 ? flush_f32(x) : x; }
u32 flush_out(const Wave& w, u32 x) { return w.mode.flush_out32 ? flush_f32(x) : x; }

template <auto F>
void float1(Wave& w, const Inst& i) {
  w.set_scalar(i.dst, flush_out(w, bits_of(F(as_f32(flush_in(w, w.scalar(i.src[0])))))));
}

template <auto F>
void float2(Wave& w, const Inst& i) {
  const float a = as_f32(flush_in(w, w.scalar(i.src[0])));
  const float b = as_f32(flush_in(w, w.scalar(i.src[1])));
  w.set_scalar(i.dst, flush_out(w, bits_of(F(a, b))));
}

template <auto F>
void compare_f32(Wave& w, const Inst& i) {
  w.set_scc(F(as_f32(flush_in(w, w.scalar(i.src[0]))), as_f32(flush_in(w, w.scalar(i.src[1])))));
}
constexpr auto less_or_greater = [](float a, float b) { return (a < b) || (a > b); };
constexpr auto ordered = [](float a, float b) { return a == a && b == b; };
template <auto F>
constexpr auto negated = [](float a, float b) { return !F(a, b); };

/// s_fmaak: a * b + constant; s_fmamk: a * constant + b. Sources stand in the order of the sum.
void fma3(Wave& w, const Inst& i) {
  float x[3];
  for (unsigned n = 0; n < 3; ++n) x[n] = as_f32(flush_in(w, w.scalar(i.src[n])));
  w.set_scalar(i.dst, flush_out(w, bits_of(std::fma(x[0], x[1], x[2]))));
}

template <unsigned Shift>
void from_f16(Wave& w, const Inst& i) {
  const u32 half = w.scalar(i.src[0]) >> Shift & 0xFFFF;
  w.set_scalar(i.dst, f16_to_f32(w.mode.flush_in16 ? flush_f16(half) : half));
}

void to_f16(Wave& w, const Inst& i) {
  const u32 half = f32_to_f16(flush_in(w, w.scalar(i.src[0])), static_cast<Round>(w.mode.round16));
  w.set_scalar(i.dst, w.mode.flush_out16 ? flush_f16(half) : half);
}

void fmac(Wave& w, const Inst& i) {
  const float a = as_f32(flush_in(w, w.scalar(i.src[0])));
  const float b = as_f32(flush_in(w, w.scalar(i.src[1])));
  const float c = as_f32(flush_in(w, w.scalar(i.dst)));
  w.set_scalar(i.dst, flush_out(w, bits_of(std::fma(a, b, c))));
}

/// A number wins over a NaN; +0 > -0.
template <bool Maximum>
float extreme(float a, float b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == 0 && b == 0) return std::signbit(a) == Maximum ? b : a;
  return (Maximum ? a > b : a < b) ? a : b;
}

u32 to_signed(u32 bits) {
  const float x = as_f32(bits);
  if (std::isnan(x)) return 0;
  if (x >= 0x1p31F) return 0x7FFFFFFF;
  return x <= -0x1p31F ? 0x80000000 : static_cast<u32>(static_cast<i32>(x));
}

u32 to_unsigned(u32 bits) {
  const float x = as_f32(bits);
  if (!(x > 0)) return 0;
  return x >= 0x1p32F ? 0xFFFFFFFF : static_cast<u32>(x);
}

void add_float(Handlers& h) {
  constexpr auto f = detail::FloatClass::f32;
  h.set(
      Opcode::s_cvt_f32_i32,
      [](Wave& w, const Inst& i) {
        w.set_scalar(i.dst, bits_of(static_cast<float>(static_cast<i32>(w.scalar(i.src[0])))));
      },
      f);
  h.set(
      Opcode::s_cvt_f32_u32,
      [](Wave& w, const Inst& i) { w.set_scalar(i.dst, bits_of(static_cast<float>(w.scalar(i.src[0])))); },
      f);
  h.set(Opcode::s_cvt_i32_f32,
        [](Wave& w, const Inst& i) { w.set_scalar(i.dst, to_signed(w.scalar(i.src[0]))); });
  h.set(Opcode::s_cvt_u32_f32,
        [](Wave& w, const Inst& i) { w.set_scalar(i.dst, to_unsigned(w.scalar(i.src[0]))); });
  h.set(Opcode::s_add_f32, float2<[](float a, float b) { return a + b; }>, f);
  h.set(Opcode::s_sub_f32, float2<[](float a, float b) { return a - b; }>, f);
  h.set(Opcode::s_mul_f32, float2<[](float a, float b) { return a * b; }>, f);
  h.set(Opcode::s_min_f32, float2<[](float a, float b) { return extreme<false>(a, b); }>);
  h.set(Opcode::s_max_f32, float2<[](float a, float b) { return extreme<true>(a, b); }>);
  h.set(Opcode::s_fmac_f32, fmac, f);
  h.set(Opcode::s_fmaak_f32, fma3, f);
  h.set(Opcode::s_fmamk_f32, fma3, f);
  h.set(Opcode::s_cvt_f32_f16, from_f16<0>);
  h.set(Opcode::s_cvt_hi_f32_f16, from_f16<16>);
  h.set(Opcode::s_cvt_f16_f32, to_f16);
  h.set(Opcode::s_cmp_lt_f32, compare_f32<lt>);
  h.set(Opcode::s_cmp_eq_f32, compare_f32<eq>);
  h.set(Opcode::s_cmp_le_f32, compare_f32<le>);
  h.set(Opcode::s_cmp_gt_f32, compare_f32<gt>);
  h.set(Opcode::s_cmp_lg_f32, compare_f32<less_or_greater>);
  h.set(Opcode::s_cmp_ge_f32, compare_f32<ge>);
  h.set(Opcode::s_cmp_o_f32, compare_f32<ordered>);
  h.set(Opcode::s_cmp_u_f32, compare_f32<negated<ordered>>);
  h.set(Opcode::s_cmp_nge_f32, compare_f32<negated<ge>>);
  h.set(Opcode::s_cmp_nlg_f32, compare_f32<negated<less_or_greater>>);
  h.set(Opcode::s_cmp_ngt_f32, compare_f32<negated<gt>>);
  h.set(Opcode::s_cmp_nle_f32, compare_f32<negated<le>>);
  h.set(Opcode::s_cmp_neq_f32, compare_f32<negated<eq>>);
  h.set(Opcode::s_cmp_nlt_f32, compare_f32<negated<lt>>);
  h.set(Opcode::s_trunc_f32, float1<[](float a) { return std::trunc(a); }>);
  h.set(Opcode::s_floor_f32, float1<[](float a) { return std::floor(a); }>);
  h.set(Opcode::s_ceil_f32, float1<[](float a) { return std::ceil(a); }>);
  h.set(Opcode::s_rndne_f32, float1<[](float a) { return __builtin_roundevenf(a); }>);
}

}  // namespace

void add_scalar_compares(Handlers& h) {
#define WJ_COMPARE(name, f)                            \
  h.set(Opcode::s_cmp_##name##_i32, compare<i32, f>);  \
  h.set(Opcode::s_cmp_##name##_u32, compare<u32, f>);  \
  h.set(Opcode::s_cmpk_##name##_i32, compare<i32, f>); \
  h.set(Opcode::s_cmpk_##name##_u32, compare<u32, f>);
  WJ_COMPARE(eq, eq)
  WJ_COMPARE(lg, lg)
  WJ_COMPARE(gt, gt)
  WJ_COMPARE(ge, ge)
  WJ_COMPARE(lt, lt)
  WJ_COMPARE(le, le)
#undef WJ_COMPARE
  h.set(Opcode::s_cmp_eq_u64,
        [](Wave& w, const Inst& i) { w.set_scc(w.scalar64(i.src[0]) == w.scalar64(i.src[1])); });
  h.set(Opcode::s_cmp_lg_u64,
        [](Wave& w, const Inst& i) { w.set_scc(w.scalar64(i.src[0]) != w.scalar64(i.src[1])); });
  h.set(Opcode::s_bitcmp0_b32, [](Wave& w, const Inst& i) {
    w.set_scc((w.scalar(i.src[0]) >> (w.scalar(i.src[1]) & 31) & 1) == 0);
  });
  h.set(Opcode::s_bitcmp1_b32, [](Wave& w, const Inst& i) {
    w.set_scc((w.scalar(i.src[0]) >> (w.scalar(i.src[1]) & 31) & 1) != 0);
  });
  h.set(Opcode::s_bitcmp0_b64, [](Wave& w, const Inst& i) {
    w.set_scc((w.scalar64(i.src[0]) >> (w.scalar(i.src[1]) & 63) & 1) == 0);
  });
  h.set(Opcode::s_bitcmp1_b64, [](Wave& w, const Inst& i) {
    w.set_scc((w.scalar64(i.src[0]) >> (w.scalar(i.src[1]) & 63) & 1) != 0);
  });
  add_float(h);
}

}  // namespace wavejit::sim
