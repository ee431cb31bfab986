// SPDX-License-Identifier: MIT
// gfx12's VALUReadSGPR hazard. Each sequence was given to LLVM 22's pass amdgpu-wait-sgpr-hazards as MIR for
// gfx1200: where it puts an s_wait_alu, the sequence without it must be reported and the one with it not.
#include <catch2/catch.hpp>

#include "tests/runtime/sim/asm_kernel.hpp"

namespace wavejit::test {
namespace {

std::size_t hazards(const std::string& body) {
  auto bench = make_bench({.body = body, .target = "gfx1200", .vgprs = 128, .sgprs = 100});
  bench->probe->run();
  return count(bench->probe->faults(), sim::FaultKind::hazard);
}

constexpr const char* read0 = "v_add_nc_u32 v0, s0, v1\n";
constexpr const char* sa = "s_wait_alu depctr_sa_sdst(0)\n";
constexpr const char* va = "s_wait_alu depctr_va_sdst(0)\n";
constexpr const char* vcc = "s_wait_alu depctr_va_vcc(0)\n";

void check(const std::string& before, const std::string& wait, const std::string& after) {
  INFO(before << "[" << wait << "]\n" << after);
  CHECK(hazards(before + wait + after) == 0);
  if (!wait.empty()) CHECK(hazards(before + after) == 1);
}

TEST_CASE("SGPRs that VALU has read and that are written again", "[sim][hazards]") {
  const std::string r = read0;
  const std::string salu_write = "s_add_co_u32 s0, s2, 1\n";
  const std::string valu_write = "v_readfirstlane_b32 s0, v5\n";
  const std::string scalar_load = "s_load_b32 s8, s[10:11], 0x0\n";
  const std::string vector_load = "global_load_b32 v9, v[2:3], off\n";
  check(r + salu_write, sa, r);
  check(r + salu_write, sa, "s_add_co_u32 s4, s0, 1\n");
  check(r + salu_write, sa, "s_cmp_eq_u32 s0, 0\n");
  check(r + scalar_load + salu_write, sa, r);
  check(r + salu_write + scalar_load, "", r);
  check(r + vector_load + salu_write, sa, r);
  check(r + salu_write + vector_load, sa, r);
  check(r + valu_write, va, r);
  check(r + valu_write + "s_add_co_u32 s4, s0, 1\n", "", r);
  // By aligned pairs: s1 is concerned when s0 was read, s2 is not.
  check(r + "s_add_co_u32 s1, s2, 1\n", sa, "v_add_nc_u32 v0, s1, v1\n");
  check(r + "s_add_co_u32 s2, s3, 1\n", "", "v_add_nc_u32 v0, s2, v1\n");
  check(salu_write, "", r);  // nobody had read it
  check(r + salu_write, "", "global_load_b32 v9, v2, s[0:1]\n");
  check("v_add_nc_u32 v0, m0, v1\ns_mov_b32 m0, 1\n", "", "v_add_nc_u32 v0, m0, v1\n");
}

TEST_CASE("VCC and masks that VALU has read and writes again", "[sim][hazards]") {
  const std::string select = "v_cndmask_b32 v0, v1, v2, vcc_lo\n";
  check(select + "v_cmp_eq_u32 vcc_lo, v1, v2\n", vcc, select);
  check(select + "s_mov_b32 vcc_lo, 0\n", sa, select);
  check("v_cndmask_b32 v0, v1, v2, s0\nv_cmp_eq_u32 s0, v1, v2\n", va, "v_cndmask_b32 v0, v1, v2, s0\n");
  check("v_cmp_eq_u32 vcc_lo, v1, v2\n", "", select);
}

TEST_CASE("the wait must be the right one", "[sim][hazards]") {
  const std::string r = read0;
  CHECK(hazards(r + "s_add_co_u32 s0, s2, 1\n" + va + r) == 1);
  CHECK(hazards(r + "v_readfirstlane_b32 s0, v5\n" + sa + r) == 1);
  CHECK(hazards(r + "v_readfirstlane_b32 s0, v5\n" + vcc + r) == 1);
}

TEST_CASE("matrix results as the next operand need an instruction between on gfx12 as well",
          "[sim][hazards]") {
  const std::string first = "v_wmma_f32_16x16x16_bf16 v[8:15], v[0:3], v[4:7], v[8:15]\n";
  const std::string second = "v_wmma_f32_16x16x16_bf16 v[16:23], v[8:11], v[4:7], v[16:23]\n";
  CHECK(hazards(first + second) == 1);
  CHECK(hazards(first + "v_nop\n" + second) == 0);
}

}  // namespace
}  // namespace wavejit::test
