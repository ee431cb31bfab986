// SPDX-License-Identifier: MIT
// Scalar instructions: results and SCC, derived by hand from the RDNA3 ISA manual's definitions.
#include <catch2/catch.hpp>
#include <optional>

#include "tests/runtime/sim/asm_kernel.hpp"

namespace wavejit::test {
namespace {

/// a in s[10:11], b in s[12:13], result in s[14:15]; `scc` unset = not written.
struct Case {
  const char* code;
  std::uint64_t a, b, result;
  std::optional<bool> scc = {};
  bool wide = false;
};

void check(const Case& c) {
  INFO(c.code << std::hex << " a=0x" << c.a << " b=0x" << c.b);
  auto bench = make_bench({.body = c.code});
  sim::Probe& p = *bench->probe;
  set_pair(p, 10, c.a);
  set_pair(p, 12, c.b);
  set_pair(p, 14, 0);
  p.set_scc(true);
  p.run();
  INFO(text(p.faults()));
  CHECK(p.faults().empty());
  CHECK(p.sgpr(14) == static_cast<std::uint32_t>(c.result));
  if (c.wide) CHECK(p.sgpr(15) == static_cast<std::uint32_t>(c.result >> 32));
  CHECK(p.scc() == c.scc.value_or(true));
}

TEST_CASE("Scalar arithmetic", "[sim][salu]") {
  const Case cases[] = {
      {"s_add_u32 s14, s10, s12", 0xFFFFFFFF, 1, 0, true},
      {"s_add_u32 s14, s10, s12", 0x7FFFFFFF, 1, 0x80000000, false},
      {"s_add_i32 s14, s10, s12", 0x7FFFFFFF, 1, 0x80000000, true},
      {"s_add_i32 s14, s10, s12", 0xFFFFFFFF, 1, 0, false},
      {"s_addc_u32 s14, s10, s12", 5, 6, 12, false},
      {"s_addc_u32 s14, s10, s12", 0xFFFFFFFF, 0, 0, true},
      {"s_sub_u32 s14, s10, s12", 1, 2, 0xFFFFFFFF, true},
      {"s_sub_u32 s14, s10, s12", 2, 2, 0, false},
      {"s_sub_i32 s14, s10, s12", 0x80000000, 1, 0x7FFFFFFF, true},
      {"s_subb_u32 s14, s10, s12", 5, 4, 0, false},
      {"s_subb_u32 s14, s10, s12", 4, 4, 0xFFFFFFFF, true},
      {"s_mul_i32 s14, s10, s12", 0xFFFFFFFF, 3, 0xFFFFFFFD},
      {"s_mul_hi_u32 s14, s10, s12", 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFE},
      {"s_mul_hi_i32 s14, s10, s12", 0xFFFFFFFF, 0xFFFFFFFF, 0},
      {"s_min_i32 s14, s10, s12", 0xFFFFFFFF, 1, 0xFFFFFFFF, true},
      {"s_min_u32 s14, s10, s12", 0xFFFFFFFF, 1, 1, false},
      {"s_max_i32 s14, s10, s12", 0xFFFFFFFF, 1, 1, false},
      {"s_max_u32 s14, s10, s12", 0xFFFFFFFF, 1, 0xFFFFFFFF, true},
      {"s_absdiff_i32 s14, s10, s12", 3, 10, 7, true},
      {"s_abs_i32 s14, s10", 0xFFFFFFF6, 0, 10, true},
      {"s_lshl1_add_u32 s14, s10, s12", 3, 4, 10, false},
      {"s_lshl3_add_u32 s14, s10, s12", 0x20000000, 0, 0, true},
      {"s_movk_i32 s14, -2", 0, 0, 0xFFFFFFFE},
      {"s_mov_b32 s14, s10\n s_addk_i32 s14, 0x7fff", 1, 0, 0x8000, false},
      {"s_mov_b32 s14, s10\n s_mulk_i32 s14, -3", 7, 0, 0xFFFFFFEB},
  };
  for (const Case& c : cases) check(c);
}

TEST_CASE("Scalar bits", "[sim][salu]") {
  const Case cases[] = {
      {"s_and_b32 s14, s10, s12", 0xF0F0, 0x0F0F, 0, false},
      {"s_or_b32 s14, s10, s12", 0xF0F0, 0x0F0F, 0xFFFF, true},
      {"s_and_not1_b32 s14, s10, s12", 0xFF, 0x0F, 0xF0, true},
      {"s_or_not1_b32 s14, s10, s12", 0, 0xFFFFFFFF, 0, false},
      {"s_xnor_b32 s14, s10, s12", 5, 5, 0xFFFFFFFF, true},
      {"s_nand_b32 s14, s10, s12", 0xFFFFFFFF, 0xFFFFFFFF, 0, false},
      {"s_not_b32 s14, s10", 0xFFFFFFFF, 0, 0, false},
      {"s_lshl_b32 s14, s10, s12", 1, 33, 2, true},
      {"s_lshr_b32 s14, s10, s12", 0x80000000, 31, 1, true},
      {"s_ashr_i32 s14, s10, s12", 0x80000000, 31, 0xFFFFFFFF, true},
      {"s_bfe_u32 s14, s10, s12", 0xABCD1234, 8 | 12 << 16, 0xD12, true},
      {"s_bfe_u32 s14, s10, s12", 0xABCD1234, 8, 0, false},
      {"s_bfe_i32 s14, s10, s12", 0xABCD1234, 16 | 8 << 16, 0xFFFFFFCD, true},
      {"s_bfm_b32 s14, s10, s12", 4, 8, 0xF00},
      {"s_brev_b32 s14, s10", 0x1, 0, 0x80000000},
      {"s_bcnt1_i32_b32 s14, s10", 0xF00F, 0, 8, true},
      {"s_ctz_i32_b32 s14, s10", 0x100, 0, 8},
      {"s_ctz_i32_b32 s14, s10", 0, 0, 0xFFFFFFFF},
      {"s_clz_i32_u32 s14, s10", 0x100, 0, 23},
      {"s_cls_i32 s14, s10", 0xFFFFFF00, 0, 24},
      {"s_sext_i32_i8 s14, s10", 0x80, 0, 0xFFFFFF80},
      {"s_sext_i32_i16 s14, s10", 0x18000, 0, 0xFFFF8000},
      {"s_pack_ll_b32_b16 s14, s10, s12", 0x11112222, 0x33334444, 0x44442222},
      {"s_pack_lh_b32_b16 s14, s10, s12", 0x11112222, 0x33334444, 0x33332222},
      {"s_pack_hh_b32_b16 s14, s10, s12", 0x11112222, 0x33334444, 0x33331111},
      {"s_mov_b32 s14, s10\n s_bitset1_b32 s14, 4", 0, 0, 16},
      {"s_mov_b32 s14, s10\n s_bitset0_b32 s14, 4", 0xFF, 0, 0xEF},
      {"s_cselect_b32 s14, s10, s12", 1, 2, 1},
      {"s_cmov_b32 s14, s10", 9, 0, 9},
  };
  for (const Case& c : cases) check(c);
}

TEST_CASE("64-bit scalars", "[sim][salu]") {
  const Case cases[] = {
      {"s_mov_b64 s[14:15], s[10:11]", 0x123456789ABCDEF0, 0, 0x123456789ABCDEF0, {}, true},
      {"s_mov_b64 s[14:15], -1", 0, 0, ~std::uint64_t{0}, {}, true},
      {"s_and_b64 s[14:15], s[10:11], s[12:13]", 0xFFFFFFFF00000000, 0x00000001FFFFFFFF, 0x100000000, true,
       true},
      {"s_and_not1_b64 s[14:15], s[10:11], s[12:13]", 0xFF, 0xFF, 0, false, true},
      {"s_lshl_b64 s[14:15], s[10:11], s12", 1, 40, std::uint64_t{1} << 40, true, true},
      {"s_lshr_b64 s[14:15], s[10:11], s12", std::uint64_t{1} << 40, 8, std::uint64_t{1} << 32, true, true},
      {"s_ashr_i64 s[14:15], s[10:11], s12", std::uint64_t{1} << 63, 63, ~std::uint64_t{0}, true, true},
      {"s_bfe_u64 s[14:15], s[10:11], s12", 0xABCDEF0123456789, 24 | 40 << 16, 0xABCDEF0123, true, true},
      {"s_bcnt1_i32_b64 s14, s[10:11]", 0xF0000000F, 0, 8, true},
      {"s_ctz_i32_b64 s14, s[10:11]", std::uint64_t{1} << 50, 0, 50},
      {"s_cselect_b64 s[14:15], s[10:11], s[12:13]", 5, 6, 5, {}, true},
  };
  for (const Case& c : cases) check(c);
}

TEST_CASE("Scalar comparisons", "[sim][salu]") {
  const auto scc = [](const char* code, std::uint64_t a, std::uint64_t b) {
    auto bench = make_bench({.body = code});
    set_pair(*bench->probe, 10, a);
    set_pair(*bench->probe, 12, b);
    bench->probe->run();
    CHECK(bench->probe->faults().empty());
    return bench->probe->scc();
  };
  CHECK(scc("s_cmp_lt_i32 s10, s12", 0xFFFFFFFF, 0));
  CHECK_FALSE(scc("s_cmp_lt_u32 s10, s12", 0xFFFFFFFF, 0));
  CHECK(scc("s_cmp_ge_u32 s10, s12", 0xFFFFFFFF, 0));
  CHECK(scc("s_cmp_eq_u64 s[10:11], s[12:13]", 0x100000001, 0x100000001));
  CHECK_FALSE(scc("s_cmp_eq_u64 s[10:11], s[12:13]", 0x100000001, 1));
  CHECK(scc("s_cmpk_lg_u32 s10, 0xffff", 0xFFFFFFFF, 0));  // zero-extended
  CHECK(scc("s_cmpk_eq_i32 s10, -1", 0xFFFFFFFF, 0));      // sign-extended
  CHECK(scc("s_bitcmp1_b32 s10, s12", 0x10, 4));
  CHECK_FALSE(scc("s_bitcmp0_b32 s10, s12", 0x10, 4));
  CHECK(scc("s_cmp_lt_f32 s10, s12", 0xBF800000, 0x3F800000));
  CHECK_FALSE(scc("s_cmp_nlt_f32 s10, s12", 0xBF800000, 0x3F800000));
  CHECK(scc("s_cmp_nlt_f32 s10, s12", 0x7FC00000, 0x3F800000));  // unordered
  CHECK_FALSE(scc("s_cmp_lg_f32 s10, s12", 0x7FC00000, 0x3F800000));
}

TEST_CASE("Scalar floating point", "[sim][salu]") {
  const Case cases[] = {
      {"s_add_f32 s14, s10, s12", 0x3F800000, 0x40000000, 0x40400000},
      {"s_mul_f32 s14, s10, s12", 0x40400000, 0x40000000, 0x40C00000},
      {"s_cvt_f32_u32 s14, s10", 0xFFFFFFFF, 0, 0x4F800000},
      {"s_cvt_f32_i32 s14, s10", 0xFFFFFFFF, 0, 0xBF800000},
      {"s_cvt_u32_f32 s14, s10", 0x4F800000, 0, 0xFFFFFFFF},  // saturates
      {"s_cvt_i32_f32 s14, s10", 0xC0200000, 0, 0xFFFFFFFE},  // -2.5 truncates
      {"s_rndne_f32 s14, s10", 0x40200000, 0, 0x40000000},    // 2.5 to even
      {"s_min_f32 s14, s10, s12", 0x7FC00000, 0x3F800000, 0x3F800000},
      {"s_mov_b32 s14, 1.0\n s_fmac_f32 s14, s10, s12", 0x40400000, 0x40000000, 0x40E00000},
      {"s_cvt_f16_f32 s14, s10", 0x3F800000, 0, 0x3C00},
      {"s_cvt_hi_f32_f16 s14, s10", 0xC0000000, 0, 0xC0000000},
  };
  for (const Case& c : cases) check(c);
}

TEST_CASE("EXEC saved and changed", "[sim][salu]") {
  auto bench = make_bench({.body = "s_and_saveexec_b32 s14, s10"});
  bench->probe->set_sgpr(10, 0x0000FFFF);
  bench->probe->run();
  CHECK(bench->probe->sgpr(14) == 0xFFFFFFFF);
  CHECK(bench->probe->sgpr(isa::sreg::exec_lo) == 0xFFFF);
  CHECK(bench->probe->scc());
  auto none = make_bench({.body = "s_and_not1_saveexec_b32 s14, -1"});
  none->probe->run();
  CHECK(none->probe->sgpr(isa::sreg::exec_lo) == 0);
  CHECK_FALSE(none->probe->scc());
}

TEST_CASE("null swallows and reads as zero", "[sim][salu]") {
  auto bench = make_bench({.body = "s_add_u32 null, s2, 5\n s_add_u32 s14, null, 3"});
  bench->probe->run();
  CHECK(bench->probe->faults().empty());
  CHECK(bench->probe->sgpr(14) == 3);
}

TEST_CASE("Branches", "[sim][salu]") {
  auto bench = make_bench({.body = "s_mov_b32 s14, 0\n s_mov_b32 s10, 5\n.Lloop:\n s_add_u32 s14, s14, s10\n"
                                   "s_sub_u32 s10, s10, 1\n s_cmp_lg_u32 s10, 0\n s_cbranch_scc1 .Lloop"});
  bench->probe->run();
  CHECK(bench->probe->faults().empty());
  CHECK(bench->probe->sgpr(14) == 15);
  auto exec = make_bench(
      {.body = "s_mov_b32 s14, 1\n s_mov_b32 exec_lo, 0\n s_cbranch_execz .Lend\n s_mov_b32 s14, 2\n.Lend:"});
  exec->probe->run();
  CHECK(exec->probe->sgpr(14) == 1);
}

}  // namespace
}  // namespace wavejit::test
