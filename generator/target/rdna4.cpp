// SPDX-License-Identifier: MIT
// gfx12. Numbers: shared/hardware.md (§1 architecture table, §2.2 matrix instructions, §4 counters, §5.2
// hazards, §6 descriptors, §8 and §10 latencies, §9 code objects), which names the primary source of
// each. Immediate ranges and e_flags: llvm-mc 22.1. gfx12-generic is what the two have in common, all that
// this table says but the number of compute units; it has the larger one's, so that tiles are small enough.
#include <array>

#include "generator/target/tables.hpp"

namespace wavejit::target {
namespace {

constexpr Timing timing{.valu_dependent = 5,
                        .valu_issue = 1,
                        .trans_issue = 4,
                        .trans_dependent = 10,
                        .salu_dependent = 2,
                        .lds_latency = 33,
                        .lds_bytes_per_clock = 128,
                        .vmem_l0_latency = 93,
                        .vmem_l2_latency = 275,
                        .vmem_mall_latency = 375,
                        .vmem_dram_latency = 600,
                        .barrier = 14,
                        .taken_branch = 20,
                        // Loads in a running GEMM: 846 to 1040 clocks (thread traces of gfx1200).
                        .vmem_loaded_latency = 1000,
                        // Origami's constants over 64 CUs at 2.97 GHz (hardware.md §1); vendor's boost clock.
                        .l2_bytes_per_clock = 30.2,
                        .dram_gigabytes = 464,
                        .clock_megahertz = 2970};

constexpr std::array shapes{
    MatrixShape{.m = 16, .n = 16, .k = 16, .a_dwords = 4, .b_dwords = 4, .c_dwords = 8, .cycles = 16},
    MatrixShape{.m = 16,
                .n = 16,
                .k = 16,
                .a_dwords = 2,
                .b_dwords = 2,
                .c_dwords = 8,
                .cycles = 8,
                .input = MatrixInput::i8},
    // The rate of the 4-bit forms is not in our sources; that of the 8-bit form is the safe side.
    MatrixShape{.m = 16,
                .n = 16,
                .k = 16,
                .a_dwords = 1,
                .b_dwords = 1,
                .c_dwords = 8,
                .cycles = 8,
                .input = MatrixInput::i4},
    MatrixShape{.m = 16,
                .n = 16,
                .k = 32,
                .a_dwords = 2,
                .b_dwords = 2,
                .c_dwords = 8,
                .cycles = 8,
                .input = MatrixInput::i4},
};

constexpr Target base{
    .name = "",
    .marketing = "",
    .generation = Generation::gfx12,
    .wave_size = 32,
    .compute_units = 0,
    .simds_per_wgp = 4,
    .max_waves_per_simd = 16,
    .vgprs_per_simd = 1536,
    .vgpr_alloc_granule = 24,
    .vgpr_encode_granule = 8,
    .addressable_vgprs = 256,
    .addressable_sgprs = 106,
    .vgpr_banks = 4,
    .vgpr_tuple_align = 1,
    .lds_per_wgp = 131072,
    .lds_per_workgroup = 65536,
    .lds_granule = 1024,
    .lds_banks = 32,
    .max_workgroup_size = 1024,
    // loadcnt, storecnt, dscnt, kmcnt. RDNA4 does not keep the order between waves, but does within one.
    .waits =
        {.vmcnt = 63, .vscnt = 63, .lgkmcnt = 63, .kmcnt = 31, .expcnt = 7, .vmem_writes_in_order = true},
    .hazards = {.wmma_d_to_ab = true,
                .trans_use = false,
                .valu_read_sgpr = true,
                .vcmpx_permlane = true,
                .gfx9_wait_states = false,
                .nop_before_dealloc = true,
                .user_sgpr_init16 = false},
    .buffer_word3 = 0x31027000,
    .soffset_in_bounds = SoffsetInBounds::disputed,
    .straddle = StraddleRule::whole_access,
    .buffer_imm_max = (1 << 23) - 1,
    .global_imm_min = -(1 << 23),
    .global_imm_max = (1 << 23) - 1,
    .smem_imm_min = -(1 << 23),
    .smem_imm_max = (1 << 23) - 1,
    .valu_scalar_reads = 2,
    .vop3_literal = true,
    .dot2_bf16 = Dot2Bf16Rounding::toward_zero,  // as gfx11; not stated for gfx12 in our sources
    .has_v_dot2_f32_bf16 = true,
    .has_cvt_pk_bf16_f32 = false,
    .has_delay_alu = true,
    .has_clause = true,
    .has_dealloc_vgprs = true,
    .has_vopd = true,
    .has_agprs = false,
    .has_split_barrier = true,
    .workgroup_ids_in_ttmp = true,
    .max_user_sgprs = 16,
    .soffset_is_register = true,
    .elf_flags = 0,
    .family = "gfx12-generic",
    .wmma16 = shapes[0],
    .matrix_shapes = shapes,
    .timing = timing};

Target make(std::string_view name, std::string_view marketing, std::uint16_t compute_units,
            std::uint32_t elf_flags) {
  Target t = base;
  t.name = name;
  t.marketing = marketing;
  t.compute_units = compute_units;
  t.elf_flags = elf_flags;
  return t;
}

}  // namespace

Target make_gfx12_generic() { return make("gfx12-generic", "any gfx12", 64, 0x1000059); }
Target make_gfx1200() { return make("gfx1200", "Radeon RX 9060 XT", 32, 0x48); }
Target make_gfx1201() { return make("gfx1201", "Radeon RX 9070 XT", 64, 0x4E); }

}  // namespace wavejit::target
