// SPDX-License-Identifier: MIT
// Vector instructions: values derived by hand from the RDNA3 ISA manual's definitions. The recorded
// vectors (test_hw_vectors.cpp) cover many more; here are EXEC, DPP, halves, pairs, modes and what they lack.
#include <catch2/catch.hpp>

#include "tests/runtime/sim/asm_kernel.hpp"

namespace wavejit::test {
namespace {

/// v1 = a, v2 = b, v3 = c in all lanes; the result of lane 5 is v4.
struct Case {
  const char* code;
  std::uint32_t a, b, c, result;
};

std::unique_ptr<Bench> run_case(const Case& c) {
  auto bench = make_bench({.body = c.code});
  sim::Probe& p = *bench->probe;
  for (unsigned l = 0; l < 32; ++l) {
    p.set_vgpr(1, l, c.a);
    p.set_vgpr(2, l, c.b);
    p.set_vgpr(3, l, c.c);
    p.set_vgpr(4, l, 0);
    p.set_vgpr(5, l, 0);
  }
  p.run();
  return bench;
}

template <std::size_t N>
void check_all(const Case (&cases)[N]) {
  for (const Case& c : cases) {
    const auto bench = run_case(c);
    INFO(c.code << std::hex << " a=0x" << c.a << " b=0x" << c.b << " c=0x" << c.c);
    INFO(text(bench->probe->faults()));
    CHECK(bench->probe->faults().empty());
    CHECK(bench->probe->vgpr(4, 5) == c.result);
  }
}

TEST_CASE("Integer VALU", "[sim][valu]") {
  const Case cases[] = {
      {"v_add_nc_u32 v4, v1, v2", 0xFFFFFFFF, 2, 0, 1},
      {"v_add_nc_u32 v4, v1, v2 clamp", 0xFFFFFFFF, 2, 0, 0xFFFFFFFF},
      {"v_sub_nc_u32 v4, v1, v2", 1, 2, 0, 0xFFFFFFFF},
      {"v_subrev_nc_u32 v4, v1, v2", 1, 3, 0, 2},
      {"v_add3_u32 v4, v1, v2, v3", 1, 2, 3, 6},
      {"v_add_lshl_u32 v4, v1, v2, v3", 1, 2, 4, 48},
      {"v_lshl_add_u32 v4, v1, v2, v3", 1, 4, 3, 19},
      {"v_lshl_or_b32 v4, v1, v2, v3", 1, 4, 3, 19},
      {"v_and_or_b32 v4, v1, v2, v3", 0xFF, 0x0F, 0x4300, 0x430F},
      {"v_or3_b32 v4, v1, v2, v3", 1, 2, 4, 7},
      {"v_xad_u32 v4, v1, v2, v3", 6, 3, 10, 15},
      {"v_mul_lo_u32 v4, v1, v2", 0x10001, 0x10001, 0, 0x20001},
      {"v_mul_hi_u32 v4, v1, v2", 0x80000000, 4, 0, 2},
      {"v_mul_hi_i32 v4, v1, v2", 0xFFFFFFFF, 4, 0, 0xFFFFFFFF},
      {"v_mul_u32_u24 v4, v1, v2", 0xFF000003, 5, 0, 15},
      {"v_mad_i32_i24 v4, v1, v2, v3", 0x00FFFFFF, 5, 7, 2},
      {"v_bfe_u32 v4, v1, v2, v3", 0xABCD1234, 8, 8, 0x12},
      {"v_bfe_i32 v4, v1, v2, v3", 0xABCD1234, 16, 8, 0xFFFFFFCD},
      {"v_bfi_b32 v4, v1, v2, v3", 0xFF00, 0x1234, 0xABCD, 0x12CD},
      {"v_bfm_b32 v4, v1, v2", 4, 8, 0, 0xF00},
      {"v_bcnt_u32_b32 v4, v1, v2", 0xFF, 3, 0, 11},
      {"v_mbcnt_lo_u32_b32 v4, v1, v2", 0xFFFFFFFF, 10, 0, 15},  // lane 5
      {"v_alignbit_b32 v4, v1, v2, v3", 0x11112222, 0x33334444, 16, 0x22223333},
      {"v_alignbyte_b32 v4, v1, v2, v3", 0x11112222, 0x33334444, 1, 0x22333344},
      {"v_perm_b32 v4, v1, v2, v3", 0x77665544, 0x33221100, 0x070500FF, 0x775500FF},
      {"v_perm_b32 v4, v1, v2, v3", 0x80665544, 0x33228100, 0x0B080C0D, 0xFFFF00FF},
      {"v_perm_b32 v4, v1, v2, 0x05040100", 0x77665544, 0x33221100, 0, 0x55441100},
      {"v_lshlrev_b32 v4, v1, v2", 33, 5, 0, 10},
      {"v_ashrrev_i32 v4, v1, v2", 4, 0x80000000, 0, 0xF8000000},
      {"v_med3_i32 v4, v1, v2, v3", 5, 0xFFFFFFFF, 3, 3},
      {"v_max_i32 v4, v1, v2", 0xFFFFFFFF, 1, 0, 1},
      {"v_max_u32 v4, v1, v2", 0xFFFFFFFF, 1, 0, 0xFFFFFFFF},
      {"v_sad_u8 v4, v1, v2, v3", 0x01020304, 0x04030201, 10, 18},
      {"v_cvt_i32_i16 v4, v1.l", 0x0000FFFE, 0, 0, 0xFFFFFFFE},
      {"v_cvt_u32_u16 v4, v1.l", 0x1234FFFE, 0, 0, 0xFFFE},
  };
  check_all(cases);
}

TEST_CASE("16-bit VALU", "[sim][valu]") {
  const Case cases[] = {
      {"v_add_nc_u16 v4.l, v1.l, v2.h", 0x00000005, 0x00070001, 0, 0x0000000C},
      {"v_mov_b32 v4, 0xabcd1234\n v_add_nc_u16 v4.h, v1.l, v2.h", 5, 0x00070001, 0, 0x000C1234},
      {"v_mad_u16 v4.l, v1.l, v2.l, v3.l", 300, 300, 1, 0x5F91},
      {"v_lshrrev_b16 v4.l, v1.l, v2.l", 4, 0xFFFF8000, 0, 0x0800},
      {"v_ashrrev_i16 v4.l, v1.l, v2.l", 4, 0x8000, 0, 0xF800},
      {"v_pk_add_u16 v4, v1, v2", 0xFFFF0001, 0x00020003, 0, 0x00010004},
      {"v_pk_add_u16 v4, v1, v2 op_sel:[1,0] op_sel_hi:[0,1]", 0x00100001, 0x00020003, 0, 0x00030013},
      {"v_pk_mul_lo_u16 v4, v1, v2", 0x00030002, 0x00050007, 0, 0x000F000E},
      {"v_pk_lshlrev_b16 v4, v1, v2", 0x00040008, 0x00010001, 0, 0x00100100},
      {"v_pk_ashrrev_i16 v4, v1, v2", 0x00040004, 0x80007000, 0, 0xF8000700},
      {"v_pack_b32_f16 v4, v1.l, v2.h", 0xAAAA3C00, 0x4000BBBB, 0, 0x40003C00},
  };
  check_all(cases);
}

TEST_CASE("Floating-point VALU", "[sim][valu]") {
  const Case cases[] = {
      {"v_add_f32 v4, v1, v2", 0x3F800000, 0x40000000, 0, 0x40400000},
      {"v_sub_f32 v4, v1, v2", 0x3F800000, 0x40000000, 0, 0xBF800000},
      {"v_add_f32_e64 v4, -v1, |v2|", 0x3F800000, 0xC0000000, 0, 0x3F800000},
      {"v_fma_f32 v4, v1, v2, v3", 0x3F800001, 0x3F800001, 0xBF800002, 0x28800000},  // 2^-46: one rounding
      {"v_mov_b32 v4, 1.0\n v_fmac_f32 v4, v1, v2", 0x40000000, 0x40400000, 0, 0x40E00000},
      {"v_max_f32 v4, v1, v2", 0x80000000, 0, 0, 0},
      {"v_min_f32 v4, v1, v2", 0x7FC00000, 0x3F800000, 0, 0x3F800000},
      {"v_med3_f32 v4, v1, v2, v3", 0x40400000, 0x3F800000, 0x40000000, 0x40000000},
      {"v_rndne_f32 v4, v1", 0x40200000, 0, 0, 0x40000000},
      {"v_ldexp_f32 v4, v1, v2", 0x3F800000, 3, 0, 0x41000000},
      {"v_ldexp_f32 v4, v1, v2", 0x3F800000, 0xFFFFFF6C, 0, 0x00000002},  // 2^-148, a denormal
      {"v_add_f32_e64 v4, v1, v2 clamp", 0x40000000, 0x3F800000, 0, 0x3F800000},
      {"v_cvt_f32_i32 v4, v1", 0xFFFFFFFF, 0, 0, 0xBF800000},
      {"v_cvt_f32_u32 v4, v1", 0x01000001, 0, 0, 0x4B800000},  // ties to even
      {"v_cvt_i32_f32 v4, v1", 0xCF800000, 0, 0, 0x80000000},
      {"v_cvt_u32_f32 v4, v1", 0xBF800000, 0, 0, 0},
      {"v_cvt_f32_ubyte2 v4, v1", 0x00AB0000, 0, 0, 0x432B0000},
      {"v_cvt_off_f32_i4 v4, v1", 0x8, 0, 0, 0xBF000000},
      {"v_cvt_f16_f32 v4.l, v1", 0x477FF000, 0, 0, 0x7C00},  // 65520 rounds to infinity
      {"v_cvt_f16_f32 v4.l, v1", 0x477FEFFF, 0, 0, 0x7BFF},
      {"v_cvt_pk_rtz_f16_f32 v4, v1, v2", 0x477FF000, 0x3F801FFF, 0, 0x3C007BFF},
      {"v_cvt_f32_f16 v4, v1.h", 0x00010000, 0, 0, 0x33800000},  // smallest denormal, 2^-24
      {"v_pk_fma_f16 v4, v1, v2, v3", 0x3C013C00, 0x3C014000, 0xBC023C00, 0x00104200},
      {"v_pk_mul_f16 v4, v1, v2 neg_lo:[1,0]", 0x40004000, 0x42004200, 0, 0x4600C600},
      {"v_fma_mix_f32 v4, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,0,0]", 0x40000000, 0x40400000, 0x3F800000,
       0x40E00000},
      {"v_fma_mixhi_f16 v4, v1, v2, v3", 0x40000000, 0x40400000, 0x3F800000, 0x47000000},
  };
  check_all(cases);
}

// cases.md 3: what fits f32 and not f16 becomes infinite, not NaN.
TEST_CASE("An f32 sum beyond f16 converts to infinity", "[sim][valu][cases]") {
  CHECK(run_case({"v_cvt_f16_f32 v4.l, v1", 0x48E00000, 0, 0, 0})->probe->vgpr(4, 5) == 0x7C00);  // 458752
  CHECK(run_case({"v_cvt_f16_f32 v4.l, v1", 0xC8E00000, 0, 0, 0})->probe->vgpr(4, 5) == 0xFC00);
}

TEST_CASE("bf16 rounding by integer arithmetic, as kernels without the instruction do it", "[sim][valu]") {
  // domain.md §3.2: u += 0x7FFF + bit 16; take the high half.
  const char* code = "v_bfe_u32 v5, v1, 16, 1\n v_add3_u32 v5, v1, v5, 0x7fff\n v_lshrrev_b32 v4, 16, v5";
  CHECK(run_case({code, 0x40E1C000, 0, 0, 0})->probe->vgpr(4, 5) == 0x40E2);
  CHECK(run_case({code, 0x3F808000, 0, 0, 0})->probe->vgpr(4, 5) == 0x3F80);
  CHECK(run_case({code, 0x7F800000, 0, 0, 0})->probe->vgpr(4, 5) == 0x7F80);
}

TEST_CASE("Carries, wide shifts and products", "[sim][valu]") {
  auto b = run_case(
      {"v_add_co_u32 v4, vcc_lo, v1, v2\n v_add_co_ci_u32 v5, vcc_lo, v1, v3, vcc_lo", 0xFFFFFFFF, 1, 5, 0});
  CHECK(b->probe->vgpr(4, 5) == 0);
  CHECK(b->probe->vgpr(5, 5) == 5);
  CHECK(b->probe->sgpr(isa::sreg::vcc_lo) == 0xFFFFFFFF);
  b = run_case({"v_sub_co_u32 v4, s10, v1, v2\n v_sub_co_ci_u32 v5, s11, v3, v1, s10", 1, 2, 5, 0});
  CHECK(b->probe->vgpr(4, 5) == 0xFFFFFFFF);
  CHECK(b->probe->vgpr(5, 5) == 3);
  CHECK(b->probe->sgpr(11) == 0);
  b = run_case({"v_mad_u64_u32 v[4:5], s10, v1, v2, v[2:3]", 0xFFFFFFFF, 0xFFFFFFFF, 7, 0});
  CHECK(b->probe->vgpr(4, 5) == 0);  // (2^32-1)^2 + (2^32-1) + 7 * 2^32 = 2^32 (2^32 + 6)
  CHECK(b->probe->vgpr(5, 5) == 6);
  CHECK(b->probe->sgpr(10) == 0xFFFFFFFF);
  b = run_case({"v_lshlrev_b64 v[4:5], v1, v[2:3]", 36, 1, 0, 0});
  CHECK(b->probe->vgpr(5, 5) == 16);
}

TEST_CASE("Inactive lanes keep their values and compare false", "[sim][valu]") {
  auto b = make_bench(
      {.body = "v_mov_b32 v1, 7\n s_mov_b32 exec_lo, 0xf0\n v_mov_b32 v1, 9\n v_cmp_eq_u32 vcc_lo, 9, v1\n"
               "v_cmpx_lt_u32 v0, 6\n"});
  b->probe->run();
  for (unsigned l = 0; l < 32; ++l) CHECK(b->probe->vgpr(1, l) == (l >= 4 && l < 8 ? 9 : 7));
  CHECK(b->probe->sgpr(isa::sreg::vcc_lo) == 0xF0);
  CHECK(b->probe->sgpr(isa::sreg::exec_lo) == 0x30);
}

// CDNA3 ISA manual, V_CMPX_*: "EXEC.u64[laneId] = D0.u64[laneId] = ...": on gfx9 the mask goes to VCC or an
// SGPR pair too; inactive lanes get 0 in both.
TEST_CASE("On gfx9 v_cmpx writes EXEC and the mask that it names", "[sim][valu]") {
  const struct {
    const char* body;
    unsigned mask;
  } cases[] = {{"v_cmpx_gt_u32_e32 vcc, 40, v1", isa::sreg::vcc_lo},
               {"v_cmpx_gt_u32_e64 s[20:21], 40, v1", 20},
               {"v_cmpx_gt_f32_e64 s[20:21], v2, v3", 20}};
  for (const char* target : {"gfx942", "gfx950"}) {
    for (const auto& c : cases) {
      INFO(target << ": " << c.body);
      auto bench = make_bench({.body = c.body, .target = target});
      sim::Probe& p = *bench->probe;
      for (unsigned l = 0; l < 64; ++l) {
        p.set_vgpr(1, l, l);
        p.set_vgpr(2, l, l < 40 ? 0x40000000 : 0x3F800000);  // 2.0 below lane 40, else 1.0
        p.set_vgpr(3, l, 0x3FC00000);                        // 1.5
      }
      p.set_sgpr(isa::sreg::exec_lo, 0xFFFFFFFE);
      p.run();
      CHECK(text(p.faults()).empty());
      CHECK(p.sgpr(isa::sreg::exec_lo) == 0xFFFFFFFE);
      CHECK(p.sgpr(isa::sreg::exec_hi) == 0xFF);
      CHECK(p.sgpr(c.mask) == 0xFFFFFFFE);
      CHECK(p.sgpr(c.mask + 1) == 0xFF);
      CHECK(p.sgpr_defined(c.mask));
    }
  }
}

TEST_CASE("Lanes read and written by name", "[sim][valu]") {
  auto b = make_bench(
      {.body = "s_mov_b32 exec_lo, 0xffffff00\n v_readfirstlane_b32 s10, v0\n v_readlane_b32 s11, v0, 3\n"
               "s_mov_b32 exec_lo, -1\n v_mov_b32 v1, 0\n v_writelane_b32 v1, s10, 20\n"
               "v_mov_b32 v2, v0\n v_swap_b32 v1, v2"});
  b->probe->run();
  INFO(text(b->probe->faults()));
  CHECK(b->probe->faults().empty());
  CHECK(b->probe->sgpr(10) == 8);
  CHECK(b->probe->sgpr(11) == 3);
  CHECK(b->probe->vgpr(2, 20) == 8);
  CHECK(b->probe->vgpr(1, 20) == 20);
}

TEST_CASE("DPP", "[sim][valu]") {
  const auto lane = [](const char* code, unsigned l) {
    auto b = make_bench({.body = code});
    for (unsigned i = 0; i < 32; ++i) b->probe->set_vgpr(4, i, 99);
    b->probe->run();
    return b->probe->vgpr(4, l);
  };
  CHECK(lane("v_mov_b32_dpp v4, v0 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf", 5) == 6);
  CHECK(lane("v_mov_b32_dpp v4, v0 row_shr:1 row_mask:0xf bank_mask:0xf", 5) == 4);
  CHECK(lane("v_mov_b32_dpp v4, v0 row_shr:1 row_mask:0xf bank_mask:0xf", 16) == 99);  // no source: kept
  CHECK(lane("v_mov_b32_dpp v4, v0 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1", 16) == 0);
  CHECK(lane("v_mov_b32_dpp v4, v0 row_shl:2 row_mask:0xf bank_mask:0xf", 5) == 7);
  CHECK(lane("v_mov_b32_dpp v4, v0 row_ror:3 row_mask:0xf bank_mask:0xf", 1) == 14);
  CHECK(lane("v_mov_b32_dpp v4, v0 row_mirror row_mask:0xf bank_mask:0xf", 17) == 30);
  CHECK(lane("v_mov_b32_dpp v4, v0 row_half_mirror row_mask:0xf bank_mask:0xf", 1) == 6);
  CHECK(lane("v_mov_b32_dpp v4, v0 row_share:3 row_mask:0xf bank_mask:0xf", 25) == 19);
  CHECK(lane("v_mov_b32_dpp v4, v0 row_xmask:5 row_mask:0xf bank_mask:0xf", 2) == 7);
  CHECK(lane("v_mov_b32_dpp v4, v0 row_share:3 row_mask:0x1 bank_mask:0xf", 25) == 99);
  CHECK(lane("v_mov_b32_dpp v4, v0 row_share:3 row_mask:0xf bank_mask:0x1", 5) == 99);
  CHECK(lane("v_add_nc_u32_dpp v4, v0, v0 row_shr:1 row_mask:0xf bank_mask:0xf", 5) == 9);
  CHECK(lane("v_mov_b32_dpp v4, v0 dpp8:[7,6,5,4,3,2,1,0]", 9) == 14);
  CHECK(lane("v_permlanex16_b32 v4, v0, -1, -1", 3) == 31);
}

TEST_CASE("Both halves of a pair read before either writes", "[sim][valu]") {
  auto b = run_case({"v_dual_mov_b32 v1, v2 :: v_dual_mov_b32 v2, v1", 11, 22, 0, 0});
  INFO(text(b->probe->faults()));
  CHECK(b->probe->faults().empty());
  CHECK(b->probe->vgpr(1, 5) == 22);
  CHECK(b->probe->vgpr(2, 5) == 11);
  b = run_case({"v_dual_add_f32 v4, v1, v2 :: v_dual_lshlrev_b32 v5, 4, v3", 0x3F800000, 0x40000000, 3, 0});
  CHECK(b->probe->vgpr(4, 5) == 0x40400000);
  CHECK(b->probe->vgpr(5, 5) == 48);
}

isa::Instruction make(isa::Opcode op, std::initializer_list<isa::Operand> dst,
                      std::initializer_list<isa::Operand> src) {
  isa::Instruction i;
  i.op = op;
  for (const isa::Operand& o : dst) i.dst[i.dst_count++] = o;
  for (const isa::Operand& o : src) i.src[i.src_count++] = o;
  return i;
}

// Built by hand: the assembler here makes wave32 code for these targets.
TEST_CASE("Wave64 runs all 64 lanes", "[sim][valu]") {
  using isa::Opcode;
  lower::DecodedKernel kernel;
  kernel.name = "wave64";
  kernel.descriptor.rsrc1 = 0x000F0003;  // 16 VGPRs in wave64, denormals kept
  const isa::Operand vcc = isa::vcc(64);
  for (const isa::Instruction& i :
       {make(Opcode::v_add_nc_u32, {isa::vgpr(1)}, {isa::vgpr(0), isa::vgpr(0)}),
        make(Opcode::v_cmp_lt_u32, {vcc}, {isa::imm(40), isa::vgpr(0)}),
        make(Opcode::v_cndmask_b32, {isa::vgpr(2)}, {isa::imm(0), isa::imm(1), vcc}),
        make(Opcode::s_bcnt1_i32_b64, {isa::sgpr(10)}, {vcc}),
        make(Opcode::v_readlane_b32, {isa::sgpr(11)}, {isa::vgpr(1), isa::imm(63)}),
        make(Opcode::s_endpgm, {}, {})}) {
    kernel.instructions.push_back(
        {.inst = i, .address = 4 * kernel.instructions.size(), .size = 4, .text = "x"});
  }
  const auto program = sim::Program::create(kernel, *target::find("gfx1151"));
  INFO((program ? std::string() : program.error().message));
  REQUIRE(program);
  sim::Memory memory;
  sim::LaunchParams launch;
  launch.block = {64, 1, 1};
  auto probe = sim::Probe::start(*program, memory, launch);
  REQUIRE(probe);
  probe->run();
  INFO(text(probe->faults()));
  CHECK(probe->faults().empty());
  CHECK(probe->vgpr(1, 63) == 126);
  CHECK(probe->sgpr(10) == 23);
  CHECK(probe->sgpr(11) == 126);
  CHECK(probe->vgpr(2, 41) == 1);
  CHECK(probe->vgpr(2, 40) == 0);
}

TEST_CASE("MODE: rounding and denormals", "[sim][valu][mode]") {
  const auto add = [](const char* setup, const char* code, std::uint32_t a, std::uint32_t b) {
    const std::string all = std::string(setup) + "\n" + code;
    return run_case({all.c_str(), a, b, 0, 0})->probe->vgpr(4, 5);
  };
  const char* f32 = "v_add_f32 v4, v1, v2";
  constexpr std::uint32_t one = 0x3F800000, tiny = 0x33000000;  // 1 + 2^-25
  CHECK(add("", f32, one, tiny) == one);
  CHECK(add("s_round_mode 0x5", f32, one, tiny) == one + 1);            // up, both fields
  CHECK(add("s_round_mode 0xa", f32, one, tiny) == one);                // down
  CHECK(add("s_round_mode 0xf", f32, 0xBF800000, tiny) == 0xBF7FFFFF);  // toward zero
  CHECK(add("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1", f32, one, tiny) == one + 1);
  // The f16 field is [3:2].
  const char* f16 = "v_add_f16 v4.l, v1.l, v2.l";
  CHECK(add("", f16, 0x3C00, 0x1000) == 0x3C00);  // 1 + 2^-11: tie to even
  CHECK(add("s_round_mode 0x4", f16, 0x3C00, 0x1000) == 0x3C01);
  CHECK(add("s_round_mode 0x1", f16, 0x3C00, 0x1000) == 0x3C00);
  // Denormals: kept by default; both flushed; inputs only; results only.
  CHECK(add("", f32, 1, 1) == 2);
  CHECK(add("s_denorm_mode 0xc", f32, 1, 1) == 0);
  CHECK(add("s_denorm_mode 0xe", f32, 0x00800000, 0x807FFFFF) == 0x00800000);  // the denormal input became 0
  CHECK(add("s_denorm_mode 0xd", f32, 0x00800000, 0x807FFFFF) == 0);           // the result 2^-149 became 0
  CHECK(add("s_denorm_mode 0x3", f16, 0x0001, 0x0001) == 0);
  CHECK(add("s_denorm_mode 0x3", f32, 1, 1) == 2);
}

TEST_CASE("MODE comes from the kernel descriptor", "[sim][valu][mode]") {
  const auto run_with = [](std::string descriptor) {
    auto b = make_bench({.body = "v_add_f32 v4, v1, v2\n s_getreg_b32 s10, hwreg(HW_REG_MODE, 0, 10)",
                         .descriptor = std::move(descriptor)});
    for (unsigned l = 0; l < 32; ++l) {
      b->probe->set_vgpr(1, l, 1);
      b->probe->set_vgpr(2, l, 1);
    }
    b->probe->run();
    return std::pair(b->probe->vgpr(4, 0), b->probe->sgpr(10));
  };
  CHECK(run_with("\t\t.amdhsa_float_denorm_mode_32 3\n").first == 2);
  CHECK(run_with("\t\t.amdhsa_float_denorm_mode_32 0\n").first == 0);
  CHECK((run_with("\t\t.amdhsa_float_round_mode_32 3\n").second & 3) == 3);
  CHECK((run_with("\t\t.amdhsa_ieee_mode 0\n").second >> 9 & 1) == 0);
}

TEST_CASE("A clamped NaN is zero with DX10_CLAMP only", "[sim][valu][mode]") {
  const auto clamp = [](const char* setup) {
    const std::string all = std::string(setup) + "\n v_add_f32_e64 v4, v1, v2 clamp";
    return run_case({all.c_str(), 0x7FC00000, 0, 0, 0})->probe->vgpr(4, 5);
  };
  CHECK(clamp("") == 0);
  CHECK((clamp("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 8, 1), 0") & 0x7FC00000) == 0x7FC00000);
}

}  // namespace
}  // namespace wavejit::test
