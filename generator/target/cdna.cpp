// SPDX-License-Identifier: MIT
// CDNA3 and CDNA4. Numbers: shared/hardware.md (§1 architecture table, §2.4 matrix instructions, §4
// counters, §5.3 wait states, §6 descriptors and LDS-DMA, §7 LDS, §8 and §10 latencies, §9 code
// objects), which names the primary source of each. A compute unit here stands where RDNA has a WGP.
// e_flags carry the bits "xnack any, sramecc any" (0x500), as llvm-mc 22.1 writes for a plain target.
#include <array>

#include "generator/target/tables.hpp"

namespace wavejit::target {
namespace {

constexpr Timing timing{.valu_dependent = 4,
                        .valu_issue = 4,
                        .trans_issue = 16,
                        .trans_dependent = 16,
                        .salu_dependent = 4,
                        .lds_latency = 51,
                        .lds_bytes_per_clock = 128,
                        .vmem_l0_latency = 116,
                        .vmem_l2_latency = 288,
                        .vmem_mall_latency = 490,
                        .vmem_dram_latency = 880,
                        .barrier = 16,
                        .taken_branch = 18,
                        // No queue in front of the VALU: a wave waits at issue (hardware.md §8.3). Matrix
                        // instructions take one issue slot and run beside the VALU (§2.4).
                        .valu_queue = 0,
                        .valu_start = 0,
                        .memory_after = 8,  // VALU to dependent LDS or memory issue: 12 (traces of gfx950)
                        .scalar_after = 4,
                        .valu_after_salu = 4,
                        .matrix_chain = 4,
                        .compare_branch = 8,
                        .branch_taken = 20,
                        .branch_passed = 4,
                        .wide_shift = 1,
                        .double_issue = 1,
                        .memory_waits_for_valu = false,
                        .matrix_holds_valu = false,
                        .scalar_load_latency = 100,
                        .vmem_issue_bytes = 64,
                        .vmem_loaded_latency = 900,  // 656 to 1704, median 916 (traces of gfx950, light load)
                        .l2_bytes_per_clock = 24,    // measured 15.4 TB/s on MI300X (mt4g)
                        .dram_gigabytes = 4000,
                        .clock_megahertz = 2100};

constexpr MatrixShape f16_16x16x16{
    .m = 16, .n = 16, .k = 16, .a_dwords = 2, .b_dwords = 2, .c_dwords = 4, .cycles = 16};
constexpr MatrixShape f16_32x32x8{
    .m = 32, .n = 32, .k = 8, .a_dwords = 2, .b_dwords = 2, .c_dwords = 16, .cycles = 32};
constexpr MatrixShape i8_16x16x32{.m = 16,
                                  .n = 16,
                                  .k = 32,
                                  .a_dwords = 2,
                                  .b_dwords = 2,
                                  .c_dwords = 4,
                                  .cycles = 16,
                                  .input = MatrixInput::i8};
constexpr MatrixShape i8_32x32x16{.m = 32,
                                  .n = 32,
                                  .k = 16,
                                  .a_dwords = 2,
                                  .b_dwords = 2,
                                  .c_dwords = 16,
                                  .cycles = 32,
                                  .input = MatrixInput::i8};
// gfx950: twice the k in the same time; the older shapes keep theirs.
constexpr MatrixShape f16_16x16x32{
    .m = 16, .n = 16, .k = 32, .a_dwords = 4, .b_dwords = 4, .c_dwords = 4, .cycles = 16};
constexpr MatrixShape f16_32x32x16{
    .m = 32, .n = 32, .k = 16, .a_dwords = 4, .b_dwords = 4, .c_dwords = 16, .cycles = 32};
constexpr MatrixShape i8_16x16x64{.m = 16,
                                  .n = 16,
                                  .k = 64,
                                  .a_dwords = 4,
                                  .b_dwords = 4,
                                  .c_dwords = 4,
                                  .cycles = 16,
                                  .input = MatrixInput::i8};
constexpr MatrixShape i8_32x32x32{.m = 32,
                                  .n = 32,
                                  .k = 32,
                                  .a_dwords = 4,
                                  .b_dwords = 4,
                                  .c_dwords = 16,
                                  .cycles = 32,
                                  .input = MatrixInput::i8};

constexpr std::array cdna3_shapes{f16_16x16x16, f16_32x32x8, i8_16x16x32, i8_32x32x16};
constexpr std::array cdna4_shapes{f16_16x16x32, f16_32x32x16, i8_16x16x64, i8_32x32x32,
                                  f16_16x16x16, f16_32x32x8,  i8_16x16x32, i8_32x32x16};

constexpr Target base{
    .name = "",
    .marketing = "",
    .generation = Generation::gfx9,
    .wave_size = 64,
    .compute_units = 0,
    .xcds = 8,
    .simds_per_wgp = 4,
    .max_waves_per_simd = 8,
    .vgprs_per_simd = 512,
    .vgpr_alloc_granule = 8,
    .vgpr_encode_granule = 8,
    .addressable_vgprs = 256,
    .addressable_sgprs = 102,
    .vgpr_banks = 0,
    .vgpr_tuple_align = 2,
    .lds_per_wgp = 65536,
    .lds_per_workgroup = 65536,
    .lds_granule = 512,
    .lds_banks = 32,
    .max_workgroup_size = 1024,
    // Stores count in vmcnt and retire in order with the loads.
    .waits = {.vmcnt = 63, .vscnt = 0, .lgkmcnt = 15, .kmcnt = 0, .expcnt = 7, .vmem_writes_in_order = true},
    .hazards = {.wmma_d_to_ab = false,
                .trans_use = false,
                .valu_read_sgpr = false,
                .vcmpx_permlane = false,
                .gfx9_wait_states = true,
                .nop_before_dealloc = false,
                .user_sgpr_init16 = false,
                // Kernels must be right whether XNACK is on or off: their objects leave it open.
                .xnack_replay = true},
    .buffer_word3 = 0x00027000,
    // The GCN manuals count soffset, LLVM's intrinsics say that it is left out (hardware.md §6).
    .soffset_in_bounds = SoffsetInBounds::disputed,
    .straddle = StraddleRule::per_dword,
    .buffer_imm_max = 4095,
    .global_imm_min = -4096,
    .global_imm_max = 4095,
    .smem_imm_min = -(1 << 20),
    .smem_imm_max = (1 << 20) - 1,
    .valu_scalar_reads = 1,
    .vop3_literal = false,
    .dot2_bf16 = Dot2Bf16Rounding::absent,
    .has_v_dot2_f32_bf16 = false,
    .has_cvt_pk_bf16_f32 = false,
    .has_delay_alu = false,
    .has_clause = false,
    .has_dealloc_vgprs = false,
    .has_vopd = false,
    .has_agprs = true,
    .allocatable_vgprs = 512,
    .accum_offset_granule = 4,
    .lds_dma_dwords = 0b0001,
    .workgroup_ids_in_ttmp = false,
    .max_user_sgprs = 16,
    .elf_flags = 0,
    .wmma16 = f16_16x16x16,
    .matrix_shapes = cdna3_shapes,
    .timing = timing};

}  // namespace

Target make_gfx942() {
  Target t = base;
  t.name = "gfx942";
  t.marketing = "Instinct MI300X";
  t.compute_units = 304;
  t.elf_flags = 0x54C;
  return t;
}

Target make_gfx950() {
  Target t = base;
  t.name = "gfx950";
  t.marketing = "Instinct MI355X";
  t.compute_units = 256;
  t.lds_per_wgp = 163840;
  t.lds_per_workgroup = 163840;
  t.lds_granule = 1280;
  t.lds_banks = 64;  // for reads of 8 and 16 bytes a lane; 32 for the others
  t.hazards.mfma_results_late = true;
  t.has_v_dot2_f32_bf16 = true;
  t.has_cvt_pk_bf16_f32 = true;
  t.lds_dma_dwords = 0b1101;
  t.elf_flags = 0x54F;
  t.wmma16 = f16_16x16x32;
  t.matrix_shapes = cdna4_shapes;
  t.timing.lds_latency = 48;
  t.timing.lds_bytes_per_clock = 256;
  t.timing.vmem_l0_latency = 112;
  t.timing.vmem_l2_latency = 256;
  t.timing.vmem_mall_latency = 444;
  t.timing.vmem_dram_latency = 740;
  t.timing.l2_bytes_per_clock = 48;  // measured 13.4 TB/s on 128 CUs of an MI350P (mt4g)
  t.timing.dram_gigabytes = 6000;    // Origami's constant
  // Fitted to one published row (docs/model.md): 0.62 of the boost clock. It stands for the clock under load
  // and for whatever the model lacks on CDNA; trust ratios only.
  t.timing.clock_megahertz = 1360;
  return t;
}

}  // namespace wavejit::target
