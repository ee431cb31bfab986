// SPDX-License-Identifier: MIT
// VALU: comparisons. v_cmp writes a mask with 0 in inactive lanes; v_cmpx writes EXEC (gfx9: and
// the mask that it names).
#include "runtime/device/sim/exec/valu.hpp"

namespace wavejit::sim::WAVEJIT_SIM_VARIANT {
namespace {

void finish(Wave& w, const Inst& inst, const Lanes& flags) {
  const u64 bits = pack_bits(flags, w.lanes) & write_mask(w, inst);
  if (inst.has_dst) w.set_mask(inst.dst, bits);
  if (inst.swrite.test(isa::sreg::exec_lo)) w.set_exec(bits);
}

template <class T, auto F>
void compare32(Wave& w, const Inst& inst) {
  Lanes sa, sb, flags;
  const u32* a = fetch(w, inst, 0, sa);
  const u32* b = fetch(w, inst, 1, sb);
  each_lane(w.lanes, [&](unsigned l) { flags.x[l] = F(static_cast<T>(a[l]), static_cast<T>(b[l])) ? 1 : 0; });
  finish(w, inst, flags);
}

template <class T, auto F>
void compare16(Wave& w, const Inst& inst) {
  // The named half, or the low one where 16-bit operands are plain registers.
  Lanes sa, sb, flags;
  const u32* a = fetch_half(w, inst, 0, sa);
  const u32* b = fetch_half(w, inst, 1, sb);
  each_lane(w.lanes, [&](unsigned l) { flags.x[l] = F(static_cast<T>(a[l]), static_cast<T>(b[l])) ? 1 : 0; });
  finish(w, inst, flags);
}

template <class T, auto F>
void compare64(Wave& w, const Inst& inst) {
  Lanes sal, sah, sbl, sbh, flags;
  const u32* al = fetch(w, inst, 0, sal, 0);
  const u32* ah = fetch(w, inst, 0, sah, 1);
  const u32* bl = fetch(w, inst, 1, sbl, 0);
  const u32* bh = fetch(w, inst, 1, sbh, 1);
  for (unsigned l = 0; l < w.lanes; ++l) {
    const T a = static_cast<T>(u64{ah[l]} << 32 | al[l]);
    const T b = static_cast<T>(u64{bh[l]} << 32 | bl[l]);
    flags.x[l] = F(a, b) ? 1 : 0;
  }
  finish(w, inst, flags);
}

template <auto F>
void compare_f32(Wave& w, const Inst& inst) {
  Lanes sa, sb, flags;
  const u32* a = fetch_f32(w, inst, 0, sa);
  const u32* b = fetch_f32(w, inst, 1, sb);
  each_lane(w.lanes, [&](unsigned l) { flags.x[l] = F(as_f32(a[l]), as_f32(b[l])) ? 1 : 0; });
  finish(w, inst, flags);
}

template <auto F>
void compare_f16(Wave& w, const Inst& inst) {
  Lanes sa, sb, flags;
  const u32* a = fetch_f16(w, inst, 0, sa);
  const u32* b = fetch_f16(w, inst, 1, sb);
  each_lane(w.lanes, [&](unsigned l) { flags.x[l] = F(as_f32(a[l]), as_f32(b[l])) ? 1 : 0; });
  finish(w, inst, flags);
}

constexpr auto lt = [](auto a, auto b) { return a < b; };
constexpr auto eq = [](auto a, auto b) { return a == b; };
constexpr auto le = [](auto a, auto b) { return a <= b; };
constexpr auto gt = [](auto a, auto b) { return a > b; };
constexpr auto ne = [](auto a, auto b) { return a != b; };
constexpr auto ge = [](auto a, auto b) { return a >= b; };
// Less or greater: false on NaN.
constexpr auto less_or_greater = [](float a, float b) { return (a < b) || (a > b); };
constexpr auto ordered = [](float a, float b) { return a == a && b == b; };
template <auto F>
constexpr auto negated = [](float a, float b) { return !F(a, b); };

}  // namespace

void add_compare(Handlers& h) {
#define WJ_COMPARES(type, shape, cpp)              \
  h.set(Opcode::v_cmp_lt_##type, shape<cpp, lt>);  \
  h.set(Opcode::v_cmp_eq_##type, shape<cpp, eq>);  \
  h.set(Opcode::v_cmp_le_##type, shape<cpp, le>);  \
  h.set(Opcode::v_cmp_gt_##type, shape<cpp, gt>);  \
  h.set(Opcode::v_cmp_ne_##type, shape<cpp, ne>);  \
  h.set(Opcode::v_cmp_ge_##type, shape<cpp, ge>);  \
  h.set(Opcode::v_cmpx_lt_##type, shape<cpp, lt>); \
  h.set(Opcode::v_cmpx_eq_##type, shape<cpp, eq>); \
  h.set(Opcode::v_cmpx_le_##type, shape<cpp, le>); \
  h.set(Opcode::v_cmpx_gt_##type, shape<cpp, gt>); \
  h.set(Opcode::v_cmpx_ne_##type, shape<cpp, ne>); \
  h.set(Opcode::v_cmpx_ge_##type, shape<cpp, ge>);
  WJ_COMPARES(u32, compare32, u32)
  WJ_COMPARES(i32, compare32, i32)
  WJ_COMPARES(u64, compare64, u64)
  WJ_COMPARES(i64, compare64, i64)
  WJ_COMPARES(u16, compare16, std::uint16_t)
  WJ_COMPARES(i16, compare16, std::int16_t)
#undef WJ_COMPARES

  // The n-forms negate, so they are true on NaN.
#define WJ_FLOAT_COMPARE(name, ...)                             \
  h.set(Opcode::v_cmp_##name##_f32, compare_f32<__VA_ARGS__>);  \
  h.set(Opcode::v_cmpx_##name##_f32, compare_f32<__VA_ARGS__>); \
  h.set(Opcode::v_cmp_##name##_f16, compare_f16<__VA_ARGS__>);
  WJ_FLOAT_COMPARE(lt, lt)
  WJ_FLOAT_COMPARE(eq, eq)
  WJ_FLOAT_COMPARE(le, le)
  WJ_FLOAT_COMPARE(gt, gt)
  WJ_FLOAT_COMPARE(lg, less_or_greater)
  WJ_FLOAT_COMPARE(ge, ge)
  WJ_FLOAT_COMPARE(o, ordered)
  WJ_FLOAT_COMPARE(u, negated<ordered>)
  WJ_FLOAT_COMPARE(nge, negated<ge>)
  WJ_FLOAT_COMPARE(nlg, negated<less_or_greater>)
  WJ_FLOAT_COMPARE(ngt, negated<gt>)
  WJ_FLOAT_COMPARE(nle, negated<le>)
  WJ_FLOAT_COMPARE(neq, negated<eq>)
  WJ_FLOAT_COMPARE(nlt, negated<lt>)
#undef WJ_FLOAT_COMPARE
}

}  // namespace wavejit::sim::WAVEJIT_SIM_VARIANT
