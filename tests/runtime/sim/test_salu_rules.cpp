// SPDX-License-Identifier: MIT
// Each scalar ALU opcode that the simulator runs, its result and SCC, against its definition in the RDNA3 and
// RDNA4 ISA manuals written out anew with wide integers and plain loops.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>

#include "tests/runtime/sim/asm_kernel.hpp"

namespace wavejit::test {
namespace {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

struct Result {
  u64 value = 0;
  std::optional<bool> scc = {};  ///< unset: as it was
};
struct Op {
  std::string text;  ///< of {0} = result, {1} {2} = operands
  bool wide_result = false, wide_operands = false;
  std::function<Result(u64 a, u64 b, bool scc)> is;
};

constexpr unsigned copies = 10;

u64 operand(std::mt19937_64& random, bool wide) {
  static constexpr u64 edges[] = {
      0,        1,       2,        31,       32,         33,         63,         64,         0x7F,
      0x80,     0xFF,    0x7FFF,   0x8000,   0xFFFF,     0x10000,    0x100000,   0x80010,    0x1F001F,
      0x200000, 0x70005, 0x400000, 0x3F0001, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF};
  const u64 low = random() % 3 != 0 ? edges[random() % std::size(edges)] : random() & 0xFFFFFFFF;
  if (!wide) return low;
  const u64 high = random() % 3 != 0 ? edges[random() % std::size(edges)] : random();
  return high << 32 | low;
}

void check(const std::vector<Op>& ops, std::string_view target = "gfx1151") {
  const auto reg = [](unsigned first, bool wide) {
    return wide ? fmt::format("s[{}:{}]", first, first + 1) : fmt::format("s{}", first);
  };
  unsigned seed = 0;
  for (const Op& op : ops) {
    CAPTURE(op.text, target);
    for (unsigned round = 0; round < 3; ++round) {
      std::string body;
      for (unsigned i = 0; i < copies; ++i) {
        body += fmt::format("s_cmp_eq_u32 0, {}\n", i % 2);  // SCC is set for the even ones
        body += fmt::format(fmt::runtime(op.text), reg(48 + 2 * i, op.wide_result),
                            reg(8 + 4 * i, op.wide_operands), reg(10 + 4 * i, op.wide_operands),
                            reg(10 + 4 * i, false)) +
                fmt::format("\ns_cselect_b32 s{}, 1, 0\n", 70 + i);
      }
      auto bench = make_bench({.body = body, .target = target, .sgprs = 100});
      sim::Probe& p = *bench->probe;
      std::mt19937_64 random(++seed);
      std::array<std::array<u64, 2>, copies> in{};
      for (unsigned i = 0; i < copies; ++i) {
        for (unsigned k = 0; k < 2; ++k) {
          in[i][k] = operand(random, op.wide_operands);
          set_pair(p, 8 + 4 * i + 2 * k, in[i][k]);
        }
        set_pair(p, 48 + 2 * i, 0x5555AAAA12345678);
      }
      p.run();
      INFO(text(p.faults()));
      CHECK(p.faults().empty());
      for (unsigned i = 0; i < copies; ++i) {
        const bool before = i % 2 == 0;
        const Result expected = op.is(in[i][0], in[i][1], before);
        const u64 kept = op.wide_result ? 0 : 0x5555AAAA00000000;
        const u64 found = p.sgpr(48 + 2 * i) | u64{p.sgpr(49 + 2 * i)} << 32;
        const u64 wanted = op.wide_result ? expected.value : kept | (expected.value & 0xFFFFFFFF);
        CAPTURE(in[i][0], in[i][1], before);
        CHECK(found == wanted);
        CHECK((p.sgpr(70 + i) != 0) == expected.scc.value_or(before));
      }
    }
  }
}

i64 sx(u64 x) { return static_cast<i32>(x); }
Result plain(u64 value) { return {value, {}}; }
/// SCC: the result is not zero.
Result logic(u32 value) { return {value, value != 0}; }
Result logic64(u64 value) { return {value, value != 0}; }
Result overflow(i64 value) { return {static_cast<u32>(value), value != sx(static_cast<u64>(value))}; }

template <class F>
Op op32(std::string name, F&& f) {
  return {name + " {0}, {1}, {2}", false, false, [f](u64 a, u64 b, bool scc) -> Result {
            if constexpr (std::is_invocable_v<F, u32, u32, bool>)
              return f(static_cast<u32>(a), static_cast<u32>(b), scc);
            else
              return f(static_cast<u32>(a), static_cast<u32>(b));
          }};
}
template <class F>
Op one32(std::string name, F&& f) {
  return {name + " {0}, {1}", false, false,
          [f](u64 a, u64, bool) -> Result { return f(static_cast<u32>(a)); }};
}
template <class F>
Op op64(std::string name, F&& f) {
  return {name + " {0}, {1}, {2}", true, true, [f](u64 a, u64 b, bool) -> Result { return f(a, b); }};
}
/// The second operand has one dword.
template <class F>
Op shift64(std::string name, F&& f) {
  return {name + " {0}, {1}, {3}", true, true,
          [f](u64 a, u64 b, bool) -> Result { return f(a, static_cast<u32>(b)); }};
}

unsigned count(u64 x) {
  unsigned n = 0;
  for (; x != 0; x >>= 1) n += x & 1;
  return n;
}
/// Index of the first bit that is `value`, from the top of `bits` or from the bottom; -1 for none.
u32 first(u64 x, unsigned bits, bool from_top, bool value = true) {
  for (unsigned i = 0; i < bits; ++i)
    if (((x >> (from_top ? bits - 1 - i : i) & 1) != 0) == value) return i;
  return ~u32{0};
}
/// S1: offset in [5:0] (32 bits: [4:0]), width in [22:16]. Bits shifted in from above are copies of the sign
/// where it is signed.
u64 field(u64 x, u32 control, unsigned bits, bool is_signed) {
  const unsigned offset = control & (bits - 1), width = control >> 16 & 127;
  const auto bit = [&](unsigned i) { return i < bits ? x >> i & 1 : is_signed ? x >> (bits - 1) & 1 : 0; };
  u64 r = 0;
  for (unsigned i = 0; i < bits; ++i)
    if (width > 0) r |= (i < width ? bit(offset + i) : is_signed ? bit(offset + width - 1) : 0) << i;
  return r;
}

}  // namespace

TEST_CASE("Scalar arithmetic by definition", "[sim][salu][rules]") {
  check({
      op32("s_add_u32",
           [](u32 a, u32 b) {
             return Result{u64{a} + b, u64{a} + b > UINT32_MAX};
           }),
      op32("s_sub_u32",
           [](u32 a, u32 b) {
             return Result{u64{a} - b, a < b};
           }),
      op32("s_add_i32", [](u32 a, u32 b) { return overflow(sx(a) + sx(b)); }),
      op32("s_sub_i32", [](u32 a, u32 b) { return overflow(sx(a) - sx(b)); }),
      op32("s_addc_u32",
           [](u32 a, u32 b, bool c) {
             return Result{u64{a} + b + (c ? 1 : 0), u64{a} + b + (c ? 1 : 0) > UINT32_MAX};
           }),
      op32("s_subb_u32",
           [](u32 a, u32 b, bool c) {
             return Result{u64{a} - b - (c ? 1 : 0), i64{a} - b - (c ? 1 : 0) < 0};
           }),
      op32("s_mul_i32", [](u32 a, u32 b) { return plain(u64{a} * b); }),
      op32("s_mul_hi_u32", [](u32 a, u32 b) { return plain(u64{a} * b >> 32); }),
      op32("s_mul_hi_i32", [](u32 a, u32 b) { return plain(static_cast<u64>(sx(a) * sx(b) >> 32)); }),
      op32("s_min_i32",
           [](u32 a, u32 b) {
             return Result{sx(a) < sx(b) ? a : b, sx(a) < sx(b)};
           }),
      op32("s_min_u32",
           [](u32 a, u32 b) {
             return Result{a < b ? a : b, a < b};
           }),
      op32("s_max_i32",
           [](u32 a, u32 b) {
             return Result{sx(a) >= sx(b) ? a : b, sx(a) >= sx(b)};
           }),
      op32("s_max_u32",
           [](u32 a, u32 b) {
             return Result{a >= b ? a : b, a >= b};
           }),
      op32("s_absdiff_i32", [](u32 a, u32 b) { return logic(sx(a - b) < 0 ? b - a : a - b); }),
      one32("s_abs_i32", [](u32 a) { return logic(static_cast<u32>(std::abs(sx(a)))); }),
      op32("s_lshl1_add_u32",
           [](u32 a, u32 b) {
             return Result{2 * u64{a} + b, 2 * u64{a} + b > UINT32_MAX};
           }),
      op32("s_lshl2_add_u32",
           [](u32 a, u32 b) {
             return Result{4 * u64{a} + b, 4 * u64{a} + b > UINT32_MAX};
           }),
      op32("s_lshl3_add_u32",
           [](u32 a, u32 b) {
             return Result{8 * u64{a} + b, 8 * u64{a} + b > UINT32_MAX};
           }),
      op32("s_lshl4_add_u32",
           [](u32 a, u32 b) {
             return Result{16 * u64{a} + b, 16 * u64{a} + b > UINT32_MAX};
           }),
      {"s_mov_b32 {0}, {1}\ns_addk_i32 {0}, -77", false, false,
       [](u64 a, u64, bool) { return overflow(sx(a) - 77); }},
      {"s_mov_b32 {0}, {1}\ns_mulk_i32 {0}, -77", false, false,
       [](u64 a, u64, bool) { return plain(static_cast<u64>(sx(a) * -77)); }},
      {"s_movk_i32 {0}, -77", false, false, [](u64, u64, bool) { return plain(static_cast<u64>(i64{-77})); }},
  });
  check({op64("s_add_nc_u64", [](u64 a, u64 b) { return plain(a + b); }),
         op64("s_sub_nc_u64", [](u64 a, u64 b) { return plain(a - b); }),
         op64("s_mul_u64", [](u64 a, u64 b) { return plain(a * b); })},
        "gfx1201");
}

TEST_CASE("Scalar bits by definition", "[sim][salu][rules]") {
  check({
      op32("s_and_b32", [](u32 a, u32 b) { return logic(a & b); }),
      op32("s_or_b32", [](u32 a, u32 b) { return logic(a | b); }),
      op32("s_xor_b32", [](u32 a, u32 b) { return logic(a ^ b); }),
      op32("s_and_not1_b32", [](u32 a, u32 b) { return logic(a & ~b); }),
      op32("s_or_not1_b32", [](u32 a, u32 b) { return logic(a | ~b); }),
      op32("s_nand_b32", [](u32 a, u32 b) { return logic(~(a & b)); }),
      op32("s_nor_b32", [](u32 a, u32 b) { return logic(~(a | b)); }),
      op32("s_xnor_b32", [](u32 a, u32 b) { return logic(~(a ^ b)); }),
      op64("s_and_b64", [](u64 a, u64 b) { return logic64(a & b); }),
      op64("s_or_b64", [](u64 a, u64 b) { return logic64(a | b); }),
      op64("s_xor_b64", [](u64 a, u64 b) { return logic64(a ^ b); }),
      op64("s_and_not1_b64", [](u64 a, u64 b) { return logic64(a & ~b); }),
      op64("s_or_not1_b64", [](u64 a, u64 b) { return logic64(a | ~b); }),
      op64("s_nand_b64", [](u64 a, u64 b) { return logic64(~(a & b)); }),
      op64("s_nor_b64", [](u64 a, u64 b) { return logic64(~(a | b)); }),
      op64("s_xnor_b64", [](u64 a, u64 b) { return logic64(~(a ^ b)); }),
      one32("s_not_b32", [](u32 a) { return logic(~a); }),
      {"s_not_b64 {0}, {1}", true, true, [](u64 a, u64, bool) { return logic64(~a); }},
      {"s_mov_b64 {0}, {1}", true, true, [](u64 a, u64, bool) { return plain(a); }},
      op32("s_lshl_b32", [](u32 a, u32 b) { return logic(a << (b % 32)); }),
      op32("s_lshr_b32", [](u32 a, u32 b) { return logic(a >> (b % 32)); }),
      op32("s_ashr_i32", [](u32 a, u32 b) { return logic(static_cast<u32>(sx(a) >> (b % 32))); }),
      shift64("s_lshl_b64", [](u64 a, u32 n) { return logic64(a << (n % 64)); }),
      shift64("s_lshr_b64", [](u64 a, u32 n) { return logic64(a >> (n % 64)); }),
      shift64("s_ashr_i64",
              [](u64 a, u32 n) { return logic64(static_cast<u64>(static_cast<i64>(a) >> (n % 64))); }),
      op32("s_bfe_u32", [](u32 a, u32 b) { return logic(static_cast<u32>(field(a, b, 32, false))); }),
      op32("s_bfe_i32", [](u32 a, u32 b) { return logic(static_cast<u32>(field(a, b, 32, true))); }),
      shift64("s_bfe_u64", [](u64 a, u32 n) { return logic64(field(a, n, 64, false)); }),
      shift64("s_bfe_i64", [](u64 a, u32 n) { return logic64(field(a, n, 64, true)); }),
      op32("s_bfm_b32", [](u32 a, u32 b) { return plain(((u64{1} << (a % 32)) - 1) << (b % 32)); }),
      {"s_bfm_b64 {0}, {1}, {2}", true, false,
       [](u64 a, u64 b, bool) { return plain(((u64{1} << (a % 64)) - 1) << (b % 64)); }},
      one32("s_brev_b32",
            [](u32 a) {
              u32 r = 0;
              for (unsigned i = 0; i < 32; ++i) r = r << 1 | (a >> i & 1);
              return plain(r);
            }),
      one32("s_bcnt0_i32_b32", [](u32 a) { return logic(32 - count(a)); }),
      one32("s_bcnt1_i32_b32", [](u32 a) { return logic(count(a)); }),
      {"s_bcnt1_i32_b64 {0}, {1}", false, true, [](u64 a, u64, bool) { return logic(count(a)); }},
      one32("s_ctz_i32_b32", [](u32 a) { return plain(first(a, 32, false)); }),
      one32("s_clz_i32_u32", [](u32 a) { return plain(first(a, 32, true)); }),
      {"s_ctz_i32_b64 {0}, {1}", false, true, [](u64 a, u64, bool) { return plain(first(a, 64, false)); }},
      {"s_clz_i32_u64 {0}, {1}", false, true, [](u64 a, u64, bool) { return plain(first(a, 64, true)); }},
      one32("s_cls_i32", [](u32 a) { return plain(first(a, 32, true, a >> 31 == 0)); }),
      one32("s_sext_i32_i8", [](u32 a) { return plain(static_cast<u64>(i64{static_cast<std::int8_t>(a)})); }),
      one32("s_sext_i32_i16",
            [](u32 a) { return plain(static_cast<u64>(i64{static_cast<std::int16_t>(a)})); }),
      {"s_mov_b32 {0}, {1}\ns_bitset0_b32 {0}, {2}", false, false,
       [](u64 a, u64 b, bool) { return plain(a & ~(u64{1} << (b % 32))); }},
      {"s_mov_b32 {0}, {1}\ns_bitset1_b32 {0}, {2}", false, false,
       [](u64 a, u64 b, bool) { return plain(a | u64{1} << (b % 32)); }},
      {"s_mov_b64 {0}, {1}\ns_bitset0_b64 {0}, {3}", true, true,
       [](u64 a, u64 b, bool) { return plain(a & ~(u64{1} << (b % 64))); }},
      {"s_mov_b64 {0}, {1}\ns_bitset1_b64 {0}, {3}", true, true,
       [](u64 a, u64 b, bool) { return plain(a | u64{1} << (b % 64)); }},
      op32("s_pack_ll_b32_b16", [](u32 a, u32 b) { return plain((a & 0xFFFF) | b << 16); }),
      op32("s_pack_lh_b32_b16", [](u32 a, u32 b) { return plain((a & 0xFFFF) | (b & 0xFFFF0000)); }),
      op32("s_pack_hh_b32_b16", [](u32 a, u32 b) { return plain(a >> 16 | (b & 0xFFFF0000)); }),
      op32("s_pack_hl_b32_b16", [](u32 a, u32 b) { return plain(a >> 16 | b << 16); }),
      op32("s_cselect_b32", [](u32 a, u32 b, bool scc) { return plain(scc ? a : b); }),
      {"s_cselect_b64 {0}, {1}, {2}", true, true, [](u64 a, u64 b, bool scc) { return plain(scc ? a : b); }},
      {"s_cmov_b32 {0}, {1}", false, false, [](u64 a, u64, bool scc) { return plain(scc ? a : 0x12345678); }},
      {"s_cmovk_i32 {0}, -3", false, false,
       [](u64, u64, bool scc) { return plain(scc ? static_cast<u64>(i64{-3}) : 0x12345678); }},
  });
}

TEST_CASE("Scalar comparisons by definition", "[sim][salu][rules]") {
  std::vector<Op> ops;
  const auto add = [&](const char* name, auto test) {
    ops.push_back({fmt::format("s_mov_b32 {{0}}, 0\ns_cmp_{}_i32 {{1}}, {{2}}", name), false, false,
                   [=](u64 a, u64 b, bool) {
                     return Result{0, test(sx(a), sx(b))};
                   }});
    ops.push_back({fmt::format("s_mov_b32 {{0}}, 0\ns_cmp_{}_u32 {{1}}, {{2}}", name), false, false,
                   [=](u64 a, u64 b, bool) {
                     return Result{0, test(static_cast<u32>(a), static_cast<u32>(b))};
                   }});
  };
  add("eq", [](auto a, auto b) { return a == b; });
  add("lg", [](auto a, auto b) { return a != b; });
  add("gt", [](auto a, auto b) { return a > b; });
  add("ge", [](auto a, auto b) { return a >= b; });
  add("lt", [](auto a, auto b) { return a < b; });
  add("le", [](auto a, auto b) { return a <= b; });
  ops.push_back({"s_mov_b64 {0}, 0\ns_cmp_eq_u64 {1}, {2}", true, true, [](u64 a, u64 b, bool) {
                   return Result{0, a == b};
                 }});
  ops.push_back({"s_mov_b64 {0}, 0\ns_cmp_lg_u64 {1}, {2}", true, true, [](u64 a, u64 b, bool) {
                   return Result{0, a != b};
                 }});
  for (const bool set : {false, true})
    ops.push_back({fmt::format("s_mov_b32 {{0}}, 0\ns_bitcmp{}_b32 {{1}}, {{2}}", set ? 1 : 0), false, false,
                   [=](u64 a, u64 b, bool) {
                     return Result{0, ((a >> (b % 32) & 1) != 0) == set};
                   }});
  check(ops);
}

}  // namespace wavejit::test
