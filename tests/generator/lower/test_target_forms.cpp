// SPDX-License-Identifier: MIT
// Instruction forms that only some targets have, as LLVM's assembler takes them (the lines were each
// tried with llvm-mc 22): assembled by LLVM, decoded, printed by us and assembled again, they must be
// the same bytes.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "generator/lower/disassemble.hpp"
#include "generator/lower/elf.hpp"
#include "tests/generator/lower/text_kernel.hpp"

namespace wavejit {
namespace {

std::vector<std::uint8_t> text_section(const std::string& text, const target::Target& target) {
  const auto object = test::assembled(text, target);
  const auto file = lower::elf::parse(object);
  REQUIRE(file);
  const lower::elf::Section* code = file->find(".text");
  REQUIRE(code != nullptr);
  return {code->contents.begin(), code->contents.end()};
}

void check_forms(const std::vector<const char*>& names, const std::string& lines) {
  for (const char* name : names) {
    const target::Target& target = test::table(name);
    std::istringstream stream(lines);
    for (std::string line; std::getline(stream, line);) {
      if (line.empty()) continue;
      INFO(name << ": " << line);
      const auto bytes = text_section(line + "\n", target);
      const auto decoded = lower::disassemble(bytes, 0, target, "k");
      INFO((decoded ? std::string() : decoded.error().message));
      REQUIRE(decoded);
      REQUIRE(decoded->size() == 1);
      const std::string printed = isa::to_text(decoded->front().inst, target);
      INFO(printed);
      CHECK(text_section(printed + "\n", target) == bytes);
    }
  }
}

const std::string cdna3 = R"(
v_mfma_f32_32x32x8_bf16 a[0:15], v[0:1], v[2:3], a[0:15]
v_mfma_f32_32x32x8_bf16 v[0:15], a[0:1], v[2:3], 0
v_mfma_f32_32x32x8_f16 a[16:31], a[2:3], a[4:5], a[16:31]
v_mfma_f32_16x16x16_bf16 v[4:7], v[0:1], v[2:3], v[4:7]
v_mfma_f32_16x16x16_f16 a[4:7], v[0:1], a[2:3], 1.0 cbsz:2 abid:1 blgp:3
v_mfma_i32_32x32x16_i8 v[0:15], v[16:17], v[18:19], v[0:15]
v_mfma_i32_16x16x32_i8 a[0:3], v[16:17], v[18:19], a[0:3]
v_accvgpr_read_b32 v5, a7
v_accvgpr_write_b32 a7, v5
v_accvgpr_write_b32 a255, 1.0
v_accvgpr_mov_b32 a2, a3
v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]
v_pk_fma_f32 v[0:1], v[2:3], s[4:5], v[6:7] op_sel:[1,0,0] op_sel_hi:[0,1,1] neg_lo:[0,1,0] neg_hi:[1,0,0]
v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel_hi:[1,0]
v_pk_add_f32 v[0:1], v[2:3], 1.0 op_sel_hi:[1,0]
v_pk_mov_b32 v[0:1], v[2:3], v[4:5] op_sel:[1,0]
v_mov_b64_e32 v[2:3], v[4:5]
v_mov_b64_e32 v[2:3], s[4:5]
v_lshl_add_u64 v[0:1], v[2:3], 4, v[4:5]
v_lshl_add_u64 v[0:1], s[2:3], v6, v[4:5]
v_cvt_pk_fp8_f32 v0, v1, v2 op_sel:[0,0,1]
v_cvt_pk_bf8_f32 v0, v1, v2
v_cvt_f32_i32_sdwa v0, sext(v1) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2
v_or_b32_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0 src1_sel:DWORD
v_add_co_u32_sdwa v0, vcc, v13, v0 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:WORD_1
v_lshlrev_b32_sdwa v0, v1, sext(v2) dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:DWORD src1_sel:WORD_0
v_cmp_lt_f32_sdwa vcc, v1, |v2| src0_sel:WORD_1 src1_sel:DWORD
v_add_f32_dpp v0, v1, v2 row_bcast:15 row_mask:0xa bank_mask:0xf
v_add_f32_dpp v0, v1, v2 row_bcast:31 row_mask:0xc bank_mask:0xf
v_max_f32_dpp v0, v1, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:0
v_add_u32_dpp v0, v1, v2 wave_shr:1 row_mask:0xf bank_mask:0xf
v_mov_b32_dpp v0, v1 row_newbcast:3 row_mask:0xf bank_mask:0xf
v_mov_b32_dpp v0, v1 row_ror:8 row_mask:0xf bank_mask:0xf
v_cmpx_gt_u32_e32 vcc, v1, v2
v_cmp_gt_i64_e64 s[10:11], v[2:3], s[4:5]
v_cndmask_b32_e64 v0, v1, v2, s[10:11]
v_mad_u64_u32 v[0:1], s[4:5], v2, v3, v[4:5]
v_dot4_i32_i8 v0, v1, v2, v3 clamp
v_dot4c_i32_i8_e32 v0, v1, v2
v_dot2c_f32_f16_e32 v0, v1, v2
v_mad_legacy_u16 v0, v1, v2, v3
v_readlane_b32 s0, v1, 63
buffer_load_dword v1, s[4:7], 0 offen lds
buffer_load_dword off, s[4:7], s3 offset:4095 lds
buffer_load_dwordx4 a[0:3], v1, s[4:7], 0 offen offset:16
buffer_load_dwordx4 v[0:3], v1, s[4:7], s9 offen sc0 nt sc1
buffer_store_dwordx4 a[4:7], v1, s[4:7], 0 offen
buffer_atomic_add_f32 v0, v1, s[4:7], 0 offen sc0
global_load_lds_dword v[2:3], off
global_load_lds_dword v2, s[4:5] offset:-4096
global_load_dwordx4 a[0:3], v4, s[2:3] nt
global_store_dwordx2 v[2:3], a[4:5], off offset:4095
global_atomic_add_f32 v4, v5, s[2:3]
global_atomic_add_f32 v1, v4, v5, s[2:3] sc0
global_atomic_pk_add_bf16 v4, v5, s[2:3]
global_atomic_pk_add_f16 v4, v5, s[2:3] sc1
global_atomic_add_x2 v[0:1], v4, v[6:7], s[2:3] sc0
global_atomic_cmpswap v4, v[6:7], s[2:3] sc1
ds_read_b128 a[0:3], v4 offset:512
ds_read_b64 v[0:1], v4 offset:65528
ds_read2_b64 a[0:3], v4 offset0:1 offset1:255
ds_write_b128 v4, a[0:3]
ds_write_b64 v4, v[6:7] offset:8
ds_bpermute_b32 v0, v1, v2
ds_swizzle_b32 v0, v1 offset:swizzle(QUAD_PERM,0,1,2,3)
s_waitcnt vmcnt(17) lgkmcnt(3)
s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
s_nop 15
s_setprio 3
s_barrier
s_sleep 2
buffer_inv sc1
buffer_wbl2 sc0 sc1
s_load_dwordx8 s[8:15], s[2:3], 0x10
s_load_dwordx4 s[8:11], s[2:3], s5 offset:0x20
s_andn2_b64 s[2:3], exec, vcc
s_and_saveexec_b64 s[4:5], vcc
s_getreg_b32 s0, hwreg(HW_REG_MODE, 0, 8)
)";

const std::string cdna4 = R"(
v_mfma_f32_32x32x16_bf16 a[0:15], v[0:3], v[4:7], a[0:15]
v_mfma_f32_32x32x16_f16 v[0:15], v[16:19], a[4:7], v[0:15]
v_mfma_f32_16x16x32_bf16 v[8:11], v[0:3], v[4:7], 0
v_mfma_f32_16x16x32_f16 a[0:3], v[0:3], v[4:7], a[0:3]
v_mfma_i32_32x32x32_i8 a[0:15], v[0:3], v[4:7], a[0:15]
v_mfma_i32_16x16x64_i8 v[8:11], v[0:3], v[4:7], v[8:11]
v_cvt_pk_bf16_f32 v0, v1, v2
v_cvt_f32_bf16_e32 v0, v1
v_cvt_f32_bf16_sdwa v0, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1
v_bitop3_b32 v0, v1, v2, v3 bitop3:0xde
v_bitop3_b16 v0, v1, v2, v3 bitop3:0x36
v_permlane16_swap_b32 v0, v1
v_permlane32_swap_b32 v0, v1
buffer_atomic_pk_add_bf16 v0, v1, s[4:7], 0 offen
v_dot2_f32_bf16 v0, v1, v2, v3
v_dot2c_f32_bf16_e32 v0, v1, v2
ds_read_b64_tr_b16 v[0:1], v2 offset:128
ds_read_b64_tr_b16 a[0:1], v2
ds_read_b64_tr_b8 v[0:1], v2
ds_read_b64_tr_b4 v[0:1], v2
ds_read_b96_tr_b6 v[0:2], v4
buffer_load_dwordx3 v1, s[4:7], 0 offen lds
buffer_load_dwordx4 v1, s[4:7], s8 offen offset:64 lds
global_load_lds_dwordx3 v[2:3], off
global_load_lds_dwordx4 v2, s[4:5] offset:16
)";

const std::string rdna4 = R"(
v_wmma_f32_16x16x16_bf16 v[8:15], v[0:3], v[4:7], v[8:15]
v_wmma_f32_16x16x16_f16 v[8:15], v[0:3], v[4:7], 0 neg_lo:[1,0,0]
v_wmma_i32_16x16x16_iu8 v[8:15], v[0:1], v[4:5], v[8:15] neg_lo:[1,1,0] clamp
v_wmma_i32_16x16x16_iu4 v[8:15], v0, v4, v[8:15] neg_lo:[1,0,0]
v_wmma_i32_16x16x32_iu4 v[8:15], v[0:1], v[4:5], v[8:15]
v_wmma_f16_16x16x16_f16 v[8:11], v[0:3], v[4:7], v[8:11]
v_wmma_bf16_16x16x16_bf16 v[8:11], v[0:3], v[4:7], v[8:11]
s_wait_loadcnt 0x3f
s_wait_storecnt 0x0
s_wait_dscnt 0x7
s_wait_kmcnt 0x0
s_wait_loadcnt_dscnt 0x302
s_wait_storecnt_dscnt 0x0
s_wait_alu depctr_va_vcc(0)
s_wait_alu depctr_sa_sdst(0) depctr_va_sdst(0)
s_wait_idle
s_barrier_signal -1
s_barrier_signal m0
s_barrier_signal_isfirst -1
s_barrier_wait -1
s_barrier_wait 0xffff
global_load_tr_b128 v[0:3], v4, s[2:3] offset:64
global_load_tr_b64 v[0:1], v[4:5], off
buffer_load_b128 v[0:3], v4, s[4:7], null offen offset:8388607
buffer_load_b128 v[0:3], v4, s[4:7], s3 offen th:TH_LOAD_NT scope:SCOPE_DEV
buffer_load_b32 v0, off, s[4:7], null scope:SCOPE_SYS
buffer_store_b64 v[0:1], v4, s[4:7], null offen th:TH_STORE_RT_NT scope:SCOPE_SE
buffer_atomic_add_f32 v0, v4, s[4:7], null offen th:TH_ATOMIC_RETURN scope:SCOPE_DEV
buffer_atomic_pk_add_bf16 v0, v4, s[4:7], null offen
global_load_b128 v[0:3], v4, s[2:3] offset:-8388608 th:TH_LOAD_HT
global_store_b128 v4, v[0:3], s[2:3] th:TH_STORE_NT_HT
global_atomic_add_f32 v4, v5, s[2:3] scope:SCOPE_DEV
global_atomic_add_f32 v1, v4, v5, s[2:3] th:TH_ATOMIC_RETURN
global_atomic_pk_add_bf16 v4, v5, s[2:3]
global_atomic_pk_add_f16 v4, v5, s[2:3]
global_inv scope:SCOPE_SE
global_wb scope:SCOPE_DEV
s_load_b96 s[4:6], s[2:3], 0x10
s_load_u16 s4, s[2:3], 0x2
s_buffer_load_b128 s[4:7], s[8:11], 0x7fffff
s_add_co_u32 s0, s1, s2
s_add_co_ci_u32 s0, s1, s2
s_sub_co_i32 s0, s1, 5
s_addk_co_i32 s0, 0x100
s_add_nc_u64 s[0:1], s[2:3], s[4:5]
s_sub_nc_u64 s[0:1], s[2:3], 4
s_mul_u64 s[0:1], s[2:3], s[4:5]
v_max_num_f32_e32 v0, v1, v2
v_pk_max_num_f16 v0, v1, v2
v_fma_f32_e64_dpp v0, v1, v2, v3 row_shr:1 row_mask:0xf bank_mask:0xf
v_mov_b32_e32 v0, ttmp9
s_and_b32 s0, ttmp7, 0xffff
v_permlane16_var_b32 v0, v1, v2 op_sel:[1,0]
v_permlanex16_var_b32 v0, v1, v2 op_sel:[1,1]
v_s_rcp_f32 s0, s1
v_s_exp_f32 s0, s1
v_cvt_pk_fp8_f32 v0, v1, v2 op_sel:[0,0,1]
s_setprio 2
s_nop 1
s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(SALU_CYCLE_1)
)";

TEST_CASE("forms of CDNA keep their bytes", "[isa][lower]") {
  check_forms({"gfx942", "gfx950"}, cdna3);
  check_forms({"gfx950"}, cdna4);
}

TEST_CASE("forms of RDNA4 keep their bytes", "[isa][lower]") { check_forms({"gfx1200", "gfx1201"}, rdna4); }

TEST_CASE("an instruction that ends before its literal is refused", "[lower][disassemble]") {
  // s_mov_b32 s25, 0xf000f0 of gfx1151; found by the fuzzer as a crash inside LLVM.
  const std::array<std::uint8_t, 8> whole{0xff, 0x00, 0x99, 0xbe, 0xf0, 0x00, 0xf0, 0x00};
  const target::Target& target = *target::find("gfx1151");
  REQUIRE(lower::disassemble(whole, 0, target, "k"));
  const auto cut = lower::disassemble(std::span(whole).first(4), 0, target, "k");
  REQUIRE_FALSE(cut);
  CHECK(cut.error().code == ErrorCode::unknown_instruction);
}

}  // namespace
}  // namespace wavejit
