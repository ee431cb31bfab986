// SPDX-License-Identifier: MIT
// Wait states of gfx942 and gfx950. The numbers are those of shared/hardware.md §2.5 and §5.3 (LLVM 22's
// recogniser, CDNA3 ISA manual). Each row is run with exactly as many slots between its two instructions,
// and with one fewer, which must be reported.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/runtime/sim/asm_kernel.hpp"

namespace wavejit::test {
namespace {

struct Row {
  const char* first;
  const char* second;
  unsigned gfx942, gfx950;
};

/// `slots` issue slots: s_nop N is N + 1.
std::string gap(unsigned slots) {
  std::string text;
  for (; slots > 16; slots -= 16) text += "s_nop 15\n";
  return slots == 0 ? text : text + fmt::format("s_nop {}\n", slots - 1);
}

std::size_t hazards(const char* target, const Row& row, unsigned slots) {
  const std::string body = fmt::format("{}\n{}{}\n", row.first, gap(slots), row.second);
  auto bench = make_bench({.body = body, .target = target, .vgprs = 128, .sgprs = 100, .lds_bytes = 4096});
  bench->probe->run();
  return count(bench->probe->faults(), sim::FaultKind::hazard);
}

void check_rows(const std::vector<Row>& rows, bool gfx942 = true, bool gfx950 = true) {
  for (const Row& row : rows) {
    for (const char* target : {"gfx942", "gfx950"}) {
      const bool old = std::string(target) == "gfx942";
      if (old ? !gfx942 : !gfx950) continue;
      const unsigned slots = old ? row.gfx942 : row.gfx950;
      INFO(target << ": " << row.first << "  ->  " << row.second << ", " << slots << " slots");
      CHECK(hazards(target, row, slots) == 0);
      if (slots > 0) CHECK(hazards(target, row, slots - 1) == 1);
    }
  }
}

constexpr const char* mfma4 = "v_mfma_f32_16x16x16_bf16 v[8:11], v[0:1], v[2:3], v[16:19]";
constexpr const char* mfma8 = "v_mfma_f32_32x32x8_bf16 a[0:15], v[0:1], v[2:3], a[16:31]";

TEST_CASE("a matrix instruction's result and C", "[sim][hazards]") {
  check_rows({
      // The same registers as C: nothing between.
      {mfma4, "v_mfma_f32_16x16x16_bf16 v[8:11], v[0:1], v[2:3], v[8:11]", 0, 0},
      {mfma8, "v_mfma_f32_32x32x8_bf16 a[0:15], v[0:1], v[2:3], a[0:15]", 0, 0},
      // The same first register, but another size.
      {mfma4, "v_mfma_f32_32x32x8_bf16 v[8:23], v[0:1], v[2:3], v[8:23]", 5, 6},
      {mfma8, "v_mfma_f32_16x16x16_bf16 a[0:3], v[0:1], v[2:3], a[0:3]", 9, 10},
      // C overlaps it in part.
      {mfma4, "v_mfma_f32_16x16x16_bf16 v[20:23], v[0:1], v[2:3], v[10:13]", 5, 6},
      {mfma8, "v_mfma_f32_16x16x16_bf16 a[32:35], v[0:1], v[2:3], a[4:7]", 9, 10},
      {mfma4, "v_mfma_f32_16x16x16_bf16 v[20:23], v[10:11], v[2:3], 0", 7, 8},
      {mfma8, "v_mfma_f32_16x16x16_bf16 v[20:23], v[0:1], a[2:3], 0", 11, 12},
      {mfma4, "v_add_f32 v30, v11, v11", 7, 8},
      {mfma8, "v_accvgpr_read_b32 v30, a15", 11, 12},
      {mfma4, "v_mov_b32 v9, 0", 7, 8},
      {mfma8, "v_accvgpr_write_b32 a3, 0", 11, 12},
      {mfma4, "global_store_dword v[40:41], v8, off", 7, 8},
      {mfma8, "ds_write_b32 v40, a7", 11, 12},
      {mfma4, "ds_read_b32 v10, v40", 7, 8},
      {mfma8, "global_load_dword a1, v[40:41], off", 11, 12},
      {mfma4, "v_mov_b32 v17, 0", 3, 3},
      {mfma8, "v_accvgpr_write_b32 a20, 0", 7, 7},
      {mfma4, "v_mov_b32 v0, 0", 0, 0},  // A and B may be overwritten at once
  });
}

TEST_CASE("vector writes before a matrix instruction", "[sim][hazards]") {
  check_rows({
      {"v_mov_b32 v1, 0", mfma4, 2, 2},
      {"v_mov_b32 v17, 0", mfma4, 2, 2},
      {"v_accvgpr_write_b32 a20, 0", mfma8, 2, 2},
      {"v_cmpx_eq_u32 vcc, v40, v40", mfma4, 4, 4},
  });
}

TEST_CASE("scalar registers that VALU writes", "[sim][hazards]") {
  check_rows({
      {"v_readfirstlane_b32 s20, v1", "v_add_u32 v2, s20, v3", 2, 2},
      {"v_cmp_eq_u32 vcc, v1, v2", "v_cndmask_b32 v3, v4, v5, vcc", 2, 2},
      {"v_add_co_u32 v1, vcc, v2, v3", "v_addc_co_u32 v4, vcc, v5, v6, vcc", 2, 2},
      {"v_readfirstlane_b32 s20, v1", "buffer_load_dword v2, v3, s[20:23], 0 offen", 5, 5},
      {"v_readfirstlane_b32 s20, v1", "buffer_load_dword v2, v3, s[8:11], s20 offen", 5, 5},
      {"v_readfirstlane_b32 s21, v1", "global_load_dword v2, v3, s[20:21]", 5, 5},
      {"v_readfirstlane_b32 s20, v1", "s_add_u32 s21, s20, s20", 0, 0},
      {"v_readfirstlane_b32 s20, v1", "v_readlane_b32 s21, v3, s20", 4, 4},
      {"v_readfirstlane_b32 s20, v1", "v_writelane_b32 v3, 1, s20", 4, 4},
      {"v_cmp_eq_u32 vcc, v1, v2", "v_div_fmas_f32 v3, v4, v5, v6", 4, 4},
      {"v_cmp_eq_u32 vcc, v1, v2", "v_mov_b32 v3, src_vccz", 5, 5},
      {"v_cmpx_eq_u32 vcc, v1, v2", "v_mov_b32 v3, src_execz", 5, 5},
      {"v_cmpx_eq_u32 s[20:21], v1, v2", "v_mov_b32 v3, exec_lo", 2, 2},
      {"v_cmpx_eq_u32 s[20:21], v1, v2", "v_mov_b32 v3, v4", 0, 0},
      {"v_cmpx_eq_u32 s[20:21], v1, v2", "v_readfirstlane_b32 s22, v3", 4, 4},
      {"v_cmpx_eq_u32 s[20:21], v1, v2",
       "v_mov_b32_dpp v3, v4 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf", 5, 5},
      {"s_mov_b32 s20, 0", "buffer_load_dword v2, v3, s[8:11], s20 offen", 0, 0},
  });
}

TEST_CASE("vector registers that VALU writes", "[sim][hazards]") {
  check_rows({
      {"v_mov_b32 v1, v2", "v_readlane_b32 s20, v1, 3", 1, 1},
      {"v_mov_b32 v1, v2", "v_readfirstlane_b32 s20, v1", 1, 1},
      {"v_mov_b32 v1, v2", "v_mov_b32_dpp v3, v1 row_shr:1 row_mask:0xf bank_mask:0xf", 2, 2},
      {"v_exp_f32 v1, v2", "v_add_f32 v3, v1, v1", 1, 1},
      {"v_exp_f32 v1, v2", "v_exp_f32 v3, v1", 0, 0},
      {"v_mov_b32 v1, v2", "v_add_f32 v3, v1, v1", 0, 0},
      {"v_or_b32_sdwa v1, v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD",
       "v_add_f32 v3, v1, v1", 1, 1},
      {"v_mad_u16 v1, v2, v3, v4 op_sel:[0,0,0,1]", "v_add_f32 v3, v1, v1", 1, 1},
      {"v_dot2_f32_f16 v1, v2, v3, v4", "v_dot2_f32_f16 v1, v2, v3, v1", 0, 0},
      {"v_dot2_f32_f16 v1, v2, v3, v4", "v_dot2_f32_f16 v5, v1, v3, v4", 3, 3},
      {"v_dot2_f32_f16 v1, v2, v3, v4", "v_add_f32 v5, v1, v3", 3, 3},
      {"v_dot2_f32_f16 v1, v2, v3, v4", "v_mov_b32 v1, 0", 3, 3},
  });
  check_rows({{"v_mov_b32 v1, v2", "v_permlane32_swap_b32 v3, v1", 0, 2},
              {"v_mov_b32 v1, v2", "v_permlane16_swap_b32 v1, v3", 0, 2}},
             false, true);
}

TEST_CASE("the data of wide stores, M0 and the mode register", "[sim][hazards]") {
  check_rows({
      {"global_store_dwordx4 v[40:41], v[4:7], off", "v_mov_b32 v6, 0", 2, 2},
      {"global_store_dwordx3 v[40:41], v[4:6], off", "ds_read_b32 v5, v30", 1, 1},
      {"global_store_dwordx2 v[40:41], v[4:5], off", "v_mov_b32 v5, 0", 0, 0},
      {"buffer_store_dwordx4 v[4:7], v40, s[8:11], 0 offen", "v_mov_b32 v6, 0", 2, 2},
      // An SGPR as soffset: measured on MI350X (LLVM pull request 197267); the ISA manual has none.
      {"buffer_store_dwordx4 v[4:7], v40, s[8:11], s3 offen", "v_mov_b32 v6, 0", 1, 1},
      {"buffer_store_dwordx3 v[4:6], v40, s[8:11], s3 offen", "v_pk_mul_f32 v[4:5], v[20:21], v[20:21]", 1,
       1},
      {"buffer_store_dwordx4 a[4:7], v40, s[8:11], s3 offen", "v_accvgpr_write_b32 a5, 0", 1, 1},
      {"buffer_store_dwordx4 v[4:7], v40, s[8:11], s3 offen", "ds_read_b32 v5, v30", 0, 0},
      {"buffer_store_dwordx2 v[4:5], v40, s[8:11], s3 offen", "v_mov_b32 v5, 0", 0, 0},
      {"ds_write_b128 v40, v[4:7]", "v_mov_b32 v6, 0", 0, 0},
      {"s_mov_b32 m0, 64", "buffer_load_dword v40, s[8:11], 0 offen lds", 1, 1},
      {"s_mov_b32 m0, 64", "global_load_lds_dword v[40:41], off", 1, 1},
      {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0", "s_getreg_b32 s20, hwreg(HW_REG_MODE, 0, 4)", 2, 2},
  });
}

TEST_CASE("a clause that XNACK may issue again", "[sim][hazards][xnack]") {
  // LLVM 22 puts an s_nop between those of one slot, and none between the others.
  check_rows({
      {"global_load_dword v5, v[0:1], off", "global_load_dword v0, v[2:3], off", 1, 1},
      {"global_load_dword v5, v[0:1], off\nglobal_load_dword v6, v[2:3], off",
       "global_load_dword v1, v[2:3], off", 1, 1},
      {"buffer_load_dword v5, v0, s[8:11], 0 offen", "buffer_load_dword v0, v2, s[8:11], 0 offen", 1, 1},
      {"s_load_dword s20, s[0:1], 0x0", "s_load_dword s0, s[6:7], 0x0", 1, 1},
      {"global_load_dword v0, v[0:1], off", "global_load_dword v6, v[2:3], off", 1, 1},
      {"global_load_dword v5, v[0:1], off", "global_store_dword v[2:3], v6, off", 1, 1},
      {"global_store_dword v[0:1], v4, off", "global_load_dword v4, v[2:3], off", 0, 0},
      {"s_load_dword s20, s[0:1], 0x0", "global_load_dword v0, v[2:3], off", 0, 0},
      {"ds_read_b32 v5, v0", "ds_read_b32 v0, v2", 0, 0},
  });
}

TEST_CASE("other instructions count as slots", "[sim][hazards]") {
  // Two v_mov between: enough for the two slots that v_cndmask needs.
  const std::string body =
      "v_cmp_eq_u32 vcc, v1, v2\nv_mov_b32 v10, 0\nv_mov_b32 v11, 0\nv_cndmask_b32 v3, v4, v5, vcc\n";
  auto bench = make_bench({.body = body, .target = "gfx942", .vgprs = 128, .sgprs = 100});
  bench->probe->run();
  CHECK(count(bench->probe->faults(), sim::FaultKind::hazard) == 0);
}

}  // namespace
}  // namespace wavejit::test
