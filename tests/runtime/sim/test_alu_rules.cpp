// SPDX-License-Identifier: MIT
// Integer and comparing VALU opcodes that the simulator runs, also those that hardware vectors leave thin,
// against the definitions in the RDNA3, RDNA4 and CDNA3 ISA manuals.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>

#include "tests/runtime/sim/alu_rules.hpp"

namespace wavejit::test::rules {
namespace {

template <unsigned Bits>
i64 dot(u32 a, u32 b, bool signed_a, bool signed_b) {
  const auto element = [](u32 x, unsigned n, bool is_signed) {
    const i64 e = x >> (Bits * n) & ((u32{1} << Bits) - 1);
    return is_signed && e >> (Bits - 1) != 0 ? e - (i64{1} << Bits) : e;
  };
  i64 sum = 0;
  for (unsigned n = 0; n < 32 / Bits; ++n) sum += element(a, n, signed_a) * element(b, n, signed_b);
  return sum;
}

}  // namespace

TEST_CASE("Integer VALU by definition", "[sim][valu][rules]") {
  const auto count = [](u32 x) {
    u32 n = 0;
    for (; x != 0; x >>= 1) n += x & 1;
    return n;
  };
  const auto sad = [](u32 a, u32 b, unsigned width, bool masked) {
    i64 sum = 0;
    for (unsigned at = 0; at < 32; at += width) {
      const u64 mask = (u64{1} << width) - 1;
      const auto x = static_cast<i64>(u64{a} >> at & mask), y = static_cast<i64>(u64{b} >> at & mask);
      if (!masked || y != 0) sum += std::abs(x - y);
    }
    return sum;
  };
  check({
      {"v_add_nc_i32 {0}, {1}, {2}", [](u32 a, u32 b, u32) { return a + b; }},
      {"v_add_nc_i32 {0}, {1}, {2} clamp",
       [](u32 a, u32 b, u32) { return low(clamp(sx(a) + sx(b), INT32_MIN, INT32_MAX)); }},
      {"v_sub_nc_i32 {0}, {1}, {2} clamp",
       [](u32 a, u32 b, u32) { return low(clamp(sx(a) - sx(b), INT32_MIN, INT32_MAX)); }},
      {"v_add_nc_u32 {0}, {1}, {2} clamp",
       [](u32 a, u32 b, u32) { return low(clamp(i64{a} + b, 0, UINT32_MAX)); }},
      {"v_sub_nc_u32 {0}, {1}, {2} clamp",
       [](u32 a, u32 b, u32) { return low(clamp(i64{a} - b, 0, UINT32_MAX)); }},
      {"v_subrev_nc_u32 {0}, {1}, {2} clamp",
       [](u32 a, u32 b, u32) { return low(clamp(i64{b} - a, 0, UINT32_MAX)); }},
      {"v_add3_u32 {0}, {1}, {2}, {3}", [](u32 a, u32 b, u32 c) { return a + b + c; }},
      {"v_add_lshl_u32 {0}, {1}, {2}, {3}", [](u32 a, u32 b, u32 c) { return (a + b) << (c % 32); }},
      {"v_lshl_add_u32 {0}, {1}, {2}, {3}", [](u32 a, u32 b, u32 c) { return (a << (b % 32)) + c; }},
      {"v_xad_u32 {0}, {1}, {2}, {3}", [](u32 a, u32 b, u32 c) { return (a ^ b) + c; }},
      {"v_mul_i32_i24 {0}, {1}, {2}", [](u32 a, u32 b, u32) { return low(sx24(a) * sx24(b)); }},
      {"v_mul_hi_i32_i24 {0}, {1}, {2}", [](u32 a, u32 b, u32) { return low(sx24(a) * sx24(b) >> 32); }},
      {"v_mul_hi_u32_u24 {0}, {1}, {2}",
       [](u32 a, u32 b, u32) { return low(i64{a % (1 << 24)} * (b % (1 << 24)) >> 32); }},
      {"v_mul_hi_i32 {0}, {1}, {2}", [](u32 a, u32 b, u32) { return low(sx(a) * sx(b) >> 32); }},
      {"v_mul_hi_u32 {0}, {1}, {2}", [](u32 a, u32 b, u32) { return static_cast<u32>(u64{a} * b >> 32); }},
      {"v_mad_u32_u24 {0}, {1}, {2}, {3}",
       [](u32 a, u32 b, u32 c) { return low(i64{a % (1 << 24)} * (b % (1 << 24)) + c); }},
      {"v_mad_i32_i24 {0}, {1}, {2}, {3}", [](u32 a, u32 b, u32 c) { return low(sx24(a) * sx24(b) + c); }},
      {"v_mad_u32_u16 {0}, {1}.l, {2}.l, {3}",
       [](u32 a, u32 b, u32 c) { return low(i64{a & 0xFFFF} * (b & 0xFFFF) + c); }},
      {"v_mad_i32_i16 {0}, {1}.l, {2}.l, {3}",
       [](u32 a, u32 b, u32 c) { return low(sx16(a) * sx16(b) + c); }},
      {"v_min_i32 {0}, {1}, {2}", [](u32 a, u32 b, u32) { return low(std::min(sx(a), sx(b))); }},
      {"v_min_u32 {0}, {1}, {2}", [](u32 a, u32 b, u32) { return std::min(a, b); }},
      {"v_min3_i32 {0}, {1}, {2}, {3}",
       [](u32 a, u32 b, u32 c) {
         return low(std::min({sx(a), sx(b), sx(c)}));
       }},
      {"v_max3_i32 {0}, {1}, {2}, {3}",
       [](u32 a, u32 b, u32 c) {
         return low(std::max({sx(a), sx(b), sx(c)}));
       }},
      {"v_max3_u32 {0}, {1}, {2}, {3}",
       [](u32 a, u32 b, u32 c) {
         return std::max({a, b, c});
       }},
      {"v_med3_i32 {0}, {1}, {2}, {3}", [](u32 a, u32 b, u32 c) { return low(middle(sx(a), sx(b), sx(c))); }},
      {"v_med3_u32 {0}, {1}, {2}, {3}", [](u32 a, u32 b, u32 c) { return low(middle(a, b, c)); }},
      {"v_minmax_i32 {0}, {1}, {2}, {3}",
       [](u32 a, u32 b, u32 c) { return low(std::max(std::min(sx(a), sx(b)), sx(c))); }},
      {"v_minmax_u32 {0}, {1}, {2}, {3}", [](u32 a, u32 b, u32 c) { return std::max(std::min(a, b), c); }},
      {"v_maxmin_i32 {0}, {1}, {2}, {3}",
       [](u32 a, u32 b, u32 c) { return low(std::min(std::max(sx(a), sx(b)), sx(c))); }},
      {"v_maxmin_u32 {0}, {1}, {2}, {3}", [](u32 a, u32 b, u32 c) { return std::min(std::max(a, b), c); }},
      {"v_sad_u8 {0}, {1}, {2}, {3}", [&](u32 a, u32 b, u32 c) { return low(sad(a, b, 8, false) + c); }},
      {"v_sad_hi_u8 {0}, {1}, {2}, {3}",
       [&](u32 a, u32 b, u32 c) { return low((sad(a, b, 8, false) << 16) + c); }},
      {"v_sad_u16 {0}, {1}, {2}, {3}", [&](u32 a, u32 b, u32 c) { return low(sad(a, b, 16, false) + c); }},
      {"v_sad_u32 {0}, {1}, {2}, {3}", [&](u32 a, u32 b, u32 c) { return low(sad(a, b, 32, false) + c); }},
      {"v_msad_u8 {0}, {1}, {2}, {3}", [&](u32 a, u32 b, u32 c) { return low(sad(a, b, 8, true) + c); }},
      {"v_xnor_b32 {0}, {1}, {2}", [](u32 a, u32 b, u32) { return ~(a ^ b); }},
      {"v_not_b32 {0}, {1}", [](u32 a, u32, u32) { return ~a; }},
      {"v_xor3_b32 {0}, {1}, {2}, {3}", [](u32 a, u32 b, u32 c) { return a ^ b ^ c; }},
      {"v_or3_b32 {0}, {1}, {2}, {3}", [](u32 a, u32 b, u32 c) { return a | b | c; }},
      {"v_and_or_b32 {0}, {1}, {2}, {3}", [](u32 a, u32 b, u32 c) { return (a & b) | c; }},
      {"v_lshl_or_b32 {0}, {1}, {2}, {3}", [](u32 a, u32 b, u32 c) { return a << (b % 32) | c; }},
      {"v_ashrrev_i32 {0}, {1}, {2}", [](u32 a, u32 b, u32) { return low(sx(b) >> (a % 32)); }},
      {"v_lshrrev_b32 {0}, {1}, {2}", [](u32 a, u32 b, u32) { return b >> (a % 32); }},
      {"v_bfe_u32 {0}, {1}, {2}, {3}",
       [](u32 a, u32 b, u32 c) { return low(a >> (b % 32) & ((i64{1} << (c % 32)) - 1)); }},
      {"v_bfe_i32 {0}, {1}, {2}, {3}",
       [](u32 a, u32 b, u32 c) {
         const unsigned n = c % 32;
         if (n == 0) return u32{0};
         const i64 field = sx(a) >> (b % 32) & ((i64{1} << n) - 1);
         return low(field >> (n - 1) != 0 ? field - (i64{1} << n) : field);
       }},
      {"v_bfi_b32 {0}, {1}, {2}, {3}", [](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }},
      {"v_bfm_b32 {0}, {1}, {2}",
       [](u32 a, u32 b, u32) { return low((i64{1} << (a % 32)) - 1) << (b % 32); }},
      {"v_bfrev_b32 {0}, {1}",
       [](u32 a, u32, u32) {
         u32 r = 0;
         for (unsigned i = 0; i < 32; ++i) r = r << 1 | (a >> i & 1);
         return r;
       }},
      {"v_bcnt_u32_b32 {0}, {1}, {2}", [&](u32 a, u32 b, u32) { return count(a) + b; }},
      {"v_clz_i32_u32 {0}, {1}",
       [](u32 a, u32, u32) {
         for (u32 i = 0; i < 32; ++i)
           if ((a >> (31 - i) & 1) != 0) return i;
         return ~u32{0};
       }},
      {"v_ctz_i32_b32 {0}, {1}",
       [](u32 a, u32, u32) {
         for (u32 i = 0; i < 32; ++i)
           if ((a >> i & 1) != 0) return i;
         return ~u32{0};
       }},
      {"v_cls_i32 {0}, {1}",
       [](u32 a, u32, u32) {
         for (u32 i = 1; i < 32; ++i)
           if ((a >> (31 - i) & 1) != a >> 31) return i;
         return ~u32{0};
       }},
      {"v_alignbit_b32 {0}, {1}, {2}, {3}",
       [](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> (c % 32)); }},
      {"v_alignbyte_b32 {0}, {1}, {2}, {3}",
       [](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> (8 * (c % 4))); }},
      {"v_dot4_i32_iu8 {0}, {1}, {2}, {3} neg_lo:[1,0,0]",
       [](u32 a, u32 b, u32 c) { return low(dot<8>(a, b, true, false) + sx(c)); }},
      {"v_dot4_i32_iu8 {0}, {1}, {2}, {3} neg_lo:[0,1,0] clamp",
       [](u32 a, u32 b, u32 c) {
         return low(clamp(dot<8>(a, b, false, true) + sx(c), INT32_MIN, INT32_MAX));
       }},
      {"v_dot4_u32_u8 {0}, {1}, {2}, {3} clamp",
       [](u32 a, u32 b, u32 c) { return low(clamp(dot<8>(a, b, false, false) + c, 0, UINT32_MAX)); }},
      {"v_dot8_i32_iu4 {0}, {1}, {2}, {3} neg_lo:[1,1,0]",
       [](u32 a, u32 b, u32 c) { return low(dot<4>(a, b, true, true) + sx(c)); }},
      {"v_dot8_u32_u4 {0}, {1}, {2}, {3} clamp",
       [](u32 a, u32 b, u32 c) { return low(clamp(dot<4>(a, b, false, false) + c, 0, UINT32_MAX)); }},
      {"v_cvt_pk_i16_i32 {0}, {1}, {2}",
       [](u32 a, u32 b, u32) { return clamp16(sx(a)) | clamp16(sx(b)) << 16; }},
      {"v_cvt_pk_u16_u32 {0}, {1}, {2}", [](u32 a, u32 b, u32) { return clampu16(a) | clampu16(b) << 16; }},
      {"v_cvt_i32_i16 {0}, {1}.h", [](u32 a, u32, u32) { return low(sx16(a >> 16)); }},
      {"v_cvt_u32_u16 {0}, {1}.h", [](u32 a, u32, u32) { return a >> 16; }},
      {"v_cvt_f32_ubyte0 {0}, {1}", [](u32 a, u32, u32) { return bits(static_cast<float>(a & 255)); }},
      {"v_cvt_f32_ubyte1 {0}, {1}", [](u32 a, u32, u32) { return bits(static_cast<float>(a >> 8 & 255)); }},
      {"v_cvt_f32_ubyte2 {0}, {1}", [](u32 a, u32, u32) { return bits(static_cast<float>(a >> 16 & 255)); }},
      {"v_cvt_f32_ubyte3 {0}, {1}", [](u32 a, u32, u32) { return bits(static_cast<float>(a >> 24)); }},
      {"v_cvt_off_f32_i4 {0}, {1}",
       [](u32 a, u32, u32) {
         const int n = static_cast<int>(a & 15);
         return bits(static_cast<float>(n < 8 ? n : n - 16) / 16);
       }},
  });
}

TEST_CASE("Integer VALU of CDNA by definition", "[sim][valu][rules]") {
  const auto minterm = [](unsigned table) {
    return [table](u32 a, u32 b, u32 c) {
      u32 r = 0;
      for (unsigned i = 0; i < 32; ++i)
        r |= (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i;
      return r;
    };
  };
  check({{"v_dot4_i32_i8 {0}, {1}, {2}, {3}",
          [](u32 a, u32 b, u32 c) { return low(dot<8>(a, b, true, true) + sx(c)); }},
         {"v_dot8_i32_i4 {0}, {1}, {2}, {3} clamp",
          [](u32 a, u32 b, u32 c) {
            return low(clamp(dot<4>(a, b, true, true) + sx(c), INT32_MIN, INT32_MAX));
          }},
         {"v_mov_b32 {0}, {3}\ns_nop 2\nv_dot4c_i32_i8 {0}, {1}, {2}",
          [](u32 a, u32 b, u32 c) { return low(dot<8>(a, b, true, true) + sx(c)); }},
         {"v_mov_b32 {0}, {3}\ns_nop 2\nv_dot8c_i32_i4 {0}, {1}, {2}",
          [](u32 a, u32 b, u32 c) { return low(dot<4>(a, b, true, true) + sx(c)); }},
         {"v_bitop3_b32 {0}, {1}, {2}, {3} bitop3:0xd8", minterm(0xD8)},
         {"v_bitop3_b32 {0}, {1}, {2}, {3} bitop3:0x35", minterm(0x35)}},
        "gfx950");
}

TEST_CASE("16-bit integer VALU by definition", "[sim][valu][rules]") {
  const auto half = [](auto each) { return [each](u32 a, u32 b, u32 c) { return low_half(each(a, b, c)); }; };
  const auto packed = [](auto each) { return [each](u32 a, u32 b, u32 c) { return halves(a, b, c, each); }; };
  const auto un = [](u32 x) { return i64{x & 0xFFFF}; };
  const std::string two = " {0}.l, {1}.l, {2}.l", three = two + ", {3}.l", p2 = " {0}, {1}, {2}",
                    p3 = p2 + ", {3}";
  check({
      {"v_add_nc_u16" + two + " clamp", half([&](u32 a, u32 b, u32) { return clampu16(un(a) + un(b)); })},
      {"v_sub_nc_u16" + two + " clamp", half([&](u32 a, u32 b, u32) { return clampu16(un(a) - un(b)); })},
      {"v_sub_nc_u16" + two, half([](u32 a, u32 b, u32) { return a - b; })},
      {"v_add_nc_i16" + two + " clamp", half([](u32 a, u32 b, u32) { return clamp16(sx16(a) + sx16(b)); })},
      {"v_sub_nc_i16" + two + " clamp", half([](u32 a, u32 b, u32) { return clamp16(sx16(a) - sx16(b)); })},
      {"v_mul_lo_u16" + two, half([](u32 a, u32 b, u32) { return a * b; })},
      {"v_mad_u16" + three + " clamp",
       half([&](u32 a, u32 b, u32 c) { return clampu16(un(a) * un(b) + un(c)); })},
      {"v_mad_i16" + three + " clamp",
       half([](u32 a, u32 b, u32 c) { return clamp16(sx16(a) * sx16(b) + sx16(c)); })},
      {"v_mad_i16" + three, half([](u32 a, u32 b, u32 c) { return a * b + c; })},
      {"v_min_u16" + two, half([&](u32 a, u32 b, u32) { return low16(std::min(un(a), un(b))); })},
      {"v_max_u16" + two, half([&](u32 a, u32 b, u32) { return low16(std::max(un(a), un(b))); })},
      {"v_min_i16" + two, half([](u32 a, u32 b, u32) { return low16(std::min(sx16(a), sx16(b))); })},
      {"v_max_i16" + two, half([](u32 a, u32 b, u32) { return low16(std::max(sx16(a), sx16(b))); })},
      {"v_min3_u16" + three, half([&](u32 a, u32 b, u32 c) {
         return low16(std::min({un(a), un(b), un(c)}));
       })},
      {"v_max3_u16" + three, half([&](u32 a, u32 b, u32 c) {
         return low16(std::max({un(a), un(b), un(c)}));
       })},
      {"v_med3_u16" + three, half([&](u32 a, u32 b, u32 c) { return low16(middle(un(a), un(b), un(c))); })},
      {"v_min3_i16" + three, half([](u32 a, u32 b, u32 c) {
         return low16(std::min({sx16(a), sx16(b), sx16(c)}));
       })},
      {"v_max3_i16" + three, half([](u32 a, u32 b, u32 c) {
         return low16(std::max({sx16(a), sx16(b), sx16(c)}));
       })},
      {"v_med3_i16" + three,
       half([](u32 a, u32 b, u32 c) { return low16(middle(sx16(a), sx16(b), sx16(c))); })},
      {"v_lshlrev_b16" + two, half([](u32 a, u32 b, u32) { return b << (a % 16); })},
      {"v_lshrrev_b16" + two, half([&](u32 a, u32 b, u32) { return low(un(b) >> (a % 16)); })},
      {"v_ashrrev_i16" + two, half([](u32 a, u32 b, u32) { return low(sx16(b) >> (a % 16)); })},
      {"v_and_b16" + two, half([](u32 a, u32 b, u32) { return a & b; })},
      {"v_or_b16" + two, half([](u32 a, u32 b, u32) { return a | b; })},
      {"v_xor_b16" + two, half([](u32 a, u32 b, u32) { return a ^ b; })},
      {"v_not_b16 {0}.l, {1}.l", half([](u32 a, u32, u32) { return ~a; })},
      {"v_pk_add_i16" + p2 + " clamp", packed([](u32 a, u32 b, u32) { return clamp16(sx16(a) + sx16(b)); })},
      {"v_pk_sub_i16" + p2 + " clamp", packed([](u32 a, u32 b, u32) { return clamp16(sx16(a) - sx16(b)); })},
      {"v_pk_sub_i16" + p2, packed([](u32 a, u32 b, u32) { return a - b; })},
      {"v_pk_add_u16" + p2 + " clamp", packed([](u32 a, u32 b, u32) { return clampu16(i64{a} + b); })},
      {"v_pk_sub_u16" + p2 + " clamp", packed([](u32 a, u32 b, u32) { return clampu16(i64{a} - b); })},
      {"v_pk_mad_u16" + p3 + " clamp", packed([](u32 a, u32 b, u32 c) { return clampu16(i64{a} * b + c); })},
      {"v_pk_mad_i16" + p3 + " clamp",
       packed([](u32 a, u32 b, u32 c) { return clamp16(sx16(a) * sx16(b) + sx16(c)); })},
      {"v_pk_mad_i16" + p3, packed([](u32 a, u32 b, u32 c) { return a * b + c; })},
      {"v_pk_min_u16" + p2, packed([](u32 a, u32 b, u32) { return std::min(a, b); })},
      {"v_pk_max_u16" + p2, packed([](u32 a, u32 b, u32) { return std::max(a, b); })},
      {"v_pk_min_i16" + p2, packed([](u32 a, u32 b, u32) { return low16(std::min(sx16(a), sx16(b))); })},
      {"v_pk_max_i16" + p2, packed([](u32 a, u32 b, u32) { return low16(std::max(sx16(a), sx16(b))); })},
      {"v_pk_lshrrev_b16" + p2, packed([](u32 a, u32 b, u32) { return b >> (a % 16); })},
      {"v_pk_ashrrev_i16" + p2, packed([](u32 a, u32 b, u32) { return low(sx16(b) >> (a % 16)); })},
  });
}

TEST_CASE("Comparisons by definition", "[sim][valu][rules]") {
  std::vector<Op> integers, reals, halves16;
  const auto flag = [](const std::string& compare) { return compare + "\nv_cndmask_b32 {0}, 0, 1, vcc_lo"; };
  const auto add_all = [&](const std::string& type, const std::string& half, auto&& convert) {
    const std::string operands = " vcc_lo, {1}" + half + ", {2}" + half;
    const auto add = [&](const char* name, auto test) {
      integers.push_back({flag(fmt::format("v_cmp_{}_{}", name, type) + operands),
                          [=](u32 a, u32 b, u32) { return test(convert(a), convert(b)) ? 1U : 0U; }});
    };
    add("lt", [](auto a, auto b) { return a < b; });
    add("eq", [](auto a, auto b) { return a == b; });
    add("le", [](auto a, auto b) { return a <= b; });
    add("gt", [](auto a, auto b) { return a > b; });
    add("ne", [](auto a, auto b) { return a != b; });
    add("ge", [](auto a, auto b) { return a >= b; });
  };
  add_all("u32", "", [](u32 x) { return x; });
  add_all("i32", "", sx);
  add_all("u16", ".l", [](u32 x) { return x & 0xFFFF; });
  add_all("i16", ".l", sx16);
  check(integers);
  const auto add_real = [&](const char* name, auto test) {
    reals.push_back({flag(fmt::format("v_cmp_{}_f32 vcc_lo, {{1}}, {{2}}", name)),
                     [=](u32 a, u32 b, u32) { return test(f(a), f(b)) ? 1U : 0U; }});
    halves16.push_back({flag(fmt::format("v_cmp_{}_f16 vcc_lo, {{1}}.l, {{2}}.l", name)),
                        [=](u32 a, u32 b, u32) { return test(h(a), h(b)) ? 1U : 0U; }});
  };
  const auto all = [&] {
    add_real("lt", [](auto a, auto b) { return a < b; });
    add_real("eq", [](auto a, auto b) { return a == b; });
    add_real("le", [](auto a, auto b) { return a <= b; });
    add_real("gt", [](auto a, auto b) { return a > b; });
    add_real("lg", [](auto a, auto b) { return a < b || a > b; });
    add_real("ge", [](auto a, auto b) { return a >= b; });
    add_real("o", [](auto a, auto b) { return !std::isnan(a) && !std::isnan(b); });
    add_real("u", [](auto a, auto b) { return std::isnan(a) || std::isnan(b); });
    add_real("nge", [](auto a, auto b) { return !(a >= b); });
    add_real("nlg", [](auto a, auto b) { return !(a < b || a > b); });
    add_real("ngt", [](auto a, auto b) { return !(a > b); });
    add_real("nle", [](auto a, auto b) { return !(a <= b); });
    add_real("neq", [](auto a, auto b) { return !(a == b); });
    add_real("nlt", [](auto a, auto b) { return !(a < b); });
  };
  all();
  check(reals, "gfx1151", Kind::real);
  check(halves16, "gfx1151", Kind::half);
  check(reals);  // integers as bits: NaN, infinities, denormals among them
  check(halves16);
}

}  // namespace wavejit::test::rules
