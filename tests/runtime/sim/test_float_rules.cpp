// SPDX-License-Identifier: MIT
// Floating-point and converting VALU opcodes that the simulator runs, also those that hardware vectors leave
// thin, against the definitions in the RDNA3, RDNA4 and CDNA3 ISA manuals.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/runtime/sim/alu_rules.hpp"
#include "tests/runtime/sim/asm_kernel.hpp"

namespace wavejit::test::rules {

TEST_CASE("f32 to integers and back by definition", "[sim][valu][rules]") {
  const auto whole = [](double x, double least, double most) {
    return low(static_cast<i64>(std::clamp(std::trunc(x), least, most)));
  };
  const auto near = [](double x) { return static_cast<i64>(std::nearbyint(x)); };
  check(
      {
          {"v_cvt_i32_f32 {0}, {1}", [&](u32 a, u32, u32) { return whole(f(a), -0x1p31, 0x1p31 - 1); }},
          {"v_cvt_u32_f32 {0}, {1}", [&](u32 a, u32, u32) { return whole(f(a), 0, 0x1p32 - 1); }},
          {"v_cvt_floor_i32_f32 {0}, {1}",
           [&](u32 a, u32, u32) { return whole(std::floor(f(a)), -0x1p31, 0x1p31 - 1); }},
          {"v_cvt_pk_i16_f32 {0}, {1}, {2}",
           [&](u32 a, u32 b, u32) {
             return (whole(f(a), -32768, 32767) & 0xFFFF) | whole(f(b), -32768, 32767) << 16;
           }},
          {"v_cvt_pk_u16_f32 {0}, {1}, {2}",
           [&](u32 a, u32 b, u32) { return whole(f(a), 0, 65535) | whole(f(b), 0, 65535) << 16; }},
          {"v_cvt_pk_norm_i16_f32 {0}, {1}, {2}",
           [&](u32 a, u32 b, u32) {
             const auto one = [&](u32 x) { return low16(near(std::clamp<float>(f(x), -1, 1) * 32767.0F)); };
             return one(a) | one(b) << 16;
           }},
          {"v_cvt_pk_norm_u16_f32 {0}, {1}, {2}",
           [&](u32 a, u32 b, u32) {
             const auto one = [&](u32 x) { return low16(near(std::clamp<float>(f(x), 0, 1) * 65535.0F)); };
             return one(a) | one(b) << 16;
           }},
          {"v_mov_b32 v1, 5\nv_cvt_pk_u8_f32 {0}, {1}, v1, {3}",  // byte 1 of the third
           [&](u32 a, u32, u32 c) {
             return (c & 0xFFFF00FF) | low(near(std::clamp<double>(f(a), 0, 255))) << 8;
           }},
          {"v_cvt_f32_i32 {0}, {1}",
           [](u32 a, u32, u32) { return bits(static_cast<float>(static_cast<i32>(a))); }},
          {"v_cvt_f32_u32 {0}, {1}", [](u32 a, u32, u32) { return bits(static_cast<float>(a)); }},
          {"v_trunc_f32 {0}, {1}", [](u32 a, u32, u32) { return bits(std::trunc(f(a))); }},
          {"v_floor_f32 {0}, {1}", [](u32 a, u32, u32) { return bits(std::floor(f(a))); }},
          {"v_ceil_f32 {0}, {1}", [](u32 a, u32, u32) { return bits(std::ceil(f(a))); }},
          {"v_rndne_f32 {0}, {1}", [](u32 a, u32, u32) { return bits(std::nearbyint(f(a))); }},
          {"v_subrev_f32 {0}, {1}, {2}", [](u32 a, u32 b, u32) { return bits(f(b) - f(a)); }},
          {"v_fma_f32 {0}, {1}, {2}, {3}",
           [](u32 a, u32 b, u32 c) { return bits(std::fma(f(a), f(b), f(c))); }},
          {"v_fmaak_f32 {0}, {1}, {2}, 0x40400000",
           [](u32 a, u32 b, u32) { return bits(std::fma(f(a), f(b), 3.0F)); }},
          {"v_fmamk_f32 {0}, {1}, 0x40400000, {3}",
           [](u32 a, u32, u32 c) { return bits(std::fma(f(a), 3.0F, f(c))); }},
      },
      "gfx1151", Kind::real);
}

TEST_CASE("Extremes and medians of f32 by definition", "[sim][valu][rules]") {
  // No zeros of different sign among them: those have a case of their own in test_valu.cpp.
  const auto same = [](u32 a) { return f(a) == 0 ? 1.0F : f(a); };
  const std::string prepare =
      "v_cmp_eq_f32 vcc_lo, 0, {1}\nv_cndmask_b32 {1}, {1}, 1.0, vcc_lo\nv_cmp_eq_f32 vcc_lo, 0, "
      "{2}\nv_cndmask_b32 "
      "{2}, {2}, 1.0, vcc_lo\nv_cmp_eq_f32 vcc_lo, 0, {3}\nv_cndmask_b32 {3}, {3}, 1.0, vcc_lo\n";
  const auto op = [&](const char* name, auto each) {
    return Op{prepare + name + " {0}, {1}, {2}, {3}",
              [=](u32 a, u32 b, u32 c) { return bits(each(same(a), same(b), same(c))); }};
  };
  check({op("v_min3_f32",
            [](float a, float b, float c) {
              return std::min({a, b, c});
            }),
         op("v_max3_f32",
            [](float a, float b, float c) {
              return std::max({a, b, c});
            }),
         op("v_minmax_f32", [](float a, float b, float c) { return std::max(std::min(a, b), c); }),
         op("v_maxmin_f32", [](float a, float b, float c) { return std::min(std::max(a, b), c); }),
         op("v_med3_f32",
            [](float a, float b, float c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); })},
        "gfx1151", Kind::real);
}

TEST_CASE("f16 VALU by definition", "[sim][valu][rules]") {
  const auto half = [](auto each) {
    return [each](u32 a, u32 b, u32 c) { return low_half(to_half(each(h(a), h(b), h(c)))); };
  };
  const auto high = [](auto each) {
    return [each](u32 a, u32 b, u32 c) { return to_half(each(h(a), h(b), h(c))) << 16 | 0x5555; };
  };
  const auto packed = [](auto each) {
    return [each](u32 a, u32 b, u32 c) {
      return halves(a, b, c, [&](u32 x, u32 y, u32 z) { return to_half(each(h(x), h(y), h(z))); });
    };
  };
  const auto sum = [](double a, double b, double) { return a + b; };
  const auto difference = [](double a, double b, double) { return a - b; };
  const auto product = [](double a, double b, double) { return a * b; };
  const auto fused = [](double a, double b, double c) { return a * b + c; };
  const std::string two = " {0}.l, {1}.l, {2}.l", three = two + ", {3}.l";
  check(
      {
          {"v_add_f16" + two, half(sum)},
          {"v_sub_f16" + two, half(difference)},
          {"v_subrev_f16" + two, half([](double a, double b, double) { return b - a; })},
          {"v_mul_f16" + two, half(product)},
          {"v_fma_f16" + three, half(fused)},
          {"v_mov_b16 {0}.l, {3}.l\nv_fmac_f16 {0}.l, {1}.l, {2}.l", half(fused)},
          {"v_mov_b16 {0}.h, {3}.l\nv_fmac_f16 {0}.h, {1}.l, {2}.l", high(fused)},
          {"v_fmaak_f16 {0}.l, {1}.l, {2}.l, 0x4200",
           half([](double a, double b, double) { return a * b + 3; })},
          {"v_fmamk_f16 {0}.l, {1}.l, 0x4200, {3}.l",
           half([](double a, double, double c) { return a * 3 + c; })},
          {"v_trunc_f16 {0}.l, {1}.l", half([](double a, double, double) { return std::trunc(a); })},
          {"v_floor_f16 {0}.l, {1}.l", half([](double a, double, double) { return std::floor(a); })},
          {"v_ceil_f16 {0}.l, {1}.l", half([](double a, double, double) { return std::ceil(a); })},
          {"v_rndne_f16 {0}.l, {1}.l", half([](double a, double, double) { return std::nearbyint(a); })},
          {"v_ldexp_f16 {0}.l, {1}.l, 3", half([](double a, double, double) { return a * 8; })},
          {"v_ldexp_f16 {0}.l, {1}.l, -15",
           half([](double a, double, double) { return std::ldexp(a, -15); })},
          {"v_sqrt_f16 {0}.l, |{1}.l|",
           half([](double a, double, double) { return std::sqrt(std::fabs(a)); })},
          {"v_pk_add_f16 {0}, {1}, {2}", packed(sum)},
          {"v_pk_add_f16 {0}, {1}, {2} neg_lo:[0,1] neg_hi:[0,1]", packed(difference)},
          {"v_pk_mul_f16 {0}, {1}, {2}", packed(product)},
          {"v_pk_fma_f16 {0}, {1}, {2}, {3}", packed(fused)},
          {"v_fma_mix_f32 {0}, {1}, {2}, {3} op_sel:[1,0,1] op_sel_hi:[1,1,1]",
           [](u32 a, u32 b, u32 c) { return bits(static_cast<float>(h(a >> 16) * h(b) + h(c >> 16))); }},
          {"v_fma_mixlo_f16 {0}, {1}, {2}, {3} op_sel:[0,1,0] op_sel_hi:[1,1,1]",
           [](u32 a, u32 b, u32 c) { return low_half(to_half(h(a) * h(b >> 16) + h(c))); }},
          {"v_fma_mixhi_f16 {0}, {1}, {2}, {3} op_sel:[0,0,1] op_sel_hi:[1,1,1]",
           [](u32 a, u32 b, u32 c) { return to_half(h(a) * h(b) + h(c >> 16)) << 16 | 0x5555; }},
          {"v_pack_b32_f16 {0}, -{1}.h, |{2}.l|",
           [](u32 a, u32 b, u32) { return ((a >> 16) ^ 0x8000) | (b & 0x7FFF) << 16; }},
          {"v_cvt_f32_f16 {0}, {1}.h", [](u32 a, u32, u32) { return bits(static_cast<float>(h(a >> 16))); }},
          {"v_cvt_i16_f16 {0}.l, {1}.l",
           [](u32 a, u32, u32) { return low_half(clamp16(static_cast<i64>(std::trunc(h(a))))); }},
          {"v_cvt_u16_f16 {0}.l, {1}.l",
           [](u32 a, u32, u32) { return low_half(clampu16(static_cast<i64>(std::trunc(h(a))))); }},
      },
      "gfx1151", Kind::half);
  check({{"v_cvt_f16_i16 {0}.l, {1}.l",
          [](u32 a, u32, u32) { return low_half(to_half(static_cast<double>(sx16(a)))); }},
         {"v_cvt_f16_u16 {0}.l, {1}.l",
          [](u32 a, u32, u32) { return low_half(to_half(static_cast<double>(a & 0xFFFF))); }}});
}

TEST_CASE("Scalar transcendentals of gfx12 by definition", "[sim][salu][rules]") {
  struct Row {
    const char* name;
    double (*is)(double);
  };
  for (const Row& row : {Row{"v_s_rcp_f32", [](double x) { return 1 / x; }},
                         {"v_s_rsq_f32", [](double x) { return 1 / std::sqrt(x); }},
                         {"v_s_sqrt_f32", [](double x) { return std::sqrt(x); }},
                         {"v_s_exp_f32", [](double x) { return std::exp2(x); }},
                         {"v_s_log_f32", [](double x) { return std::log2(x); }}})
    for (const float x : {0.25F, 1.0F, 3.0F, 10.5F}) {
      CAPTURE(row.name, x);
      auto bench = make_bench(
          {.body = std::string(row.name) + " s20, s21\n" + row.name + " s22, |s23|", .target = "gfx1201"});
      bench->probe->set_sgpr(21, bits(x));
      bench->probe->set_sgpr(23, bits(-x));
      bench->probe->run();
      CHECK(bench->probe->faults().empty());
      CHECK(f(bench->probe->sgpr(20)) == Approx(row.is(x)).epsilon(1e-6));
      CHECK(bench->probe->sgpr(22) == bench->probe->sgpr(20));
    }
}

}  // namespace wavejit::test::rules
