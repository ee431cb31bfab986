// SPDX-License-Identifier: MIT
// gfx11 and gfx11.5. Numbers: shared/hardware.md (§1 architecture table, §2.1 matrix instructions, §4
// counters, §5 hazards, §6 descriptors, §8 latencies, §9 code objects), which names the primary source
// of each. What tells the siblings apart (registers per SIMD, the two gfx11.0 hazards, e_flags) was read
// off llc and llvm-mc 22.1 for each; their numbers of compute units are vendor figures. gfx11-generic is the
// least of them: LLVM 22's generic processor has the smaller file and the hazards of all (AMDGPUUsage,
// "Generic Processor"); where one number must stand for the family's speed it is gfx1151's.
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
                        .vmem_mall_latency = 400,
                        .vmem_dram_latency = 700,
                        .barrier = 14,
                        .taken_branch = 20};

constexpr std::array shapes{
    MatrixShape{.m = 16,
                .n = 16,
                .k = 16,
                .a_dwords = 8,
                .b_dwords = 8,
                .c_dwords = 8,
                .cycles = 32,
                .replicated_halves = true},
    MatrixShape{.m = 16,
                .n = 16,
                .k = 16,
                .a_dwords = 4,
                .b_dwords = 4,
                .c_dwords = 8,
                .cycles = 32,
                .replicated_halves = true,
                .input = MatrixInput::i8},
    MatrixShape{.m = 16,
                .n = 16,
                .k = 16,
                .a_dwords = 2,
                .b_dwords = 2,
                .c_dwords = 8,
                .cycles = 16,
                .replicated_halves = true,
                .input = MatrixInput::i4},
};

constexpr Target base{
    .name = "",
    .marketing = "",
    .generation = Generation::gfx11,
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
    .waits = {.vmcnt = 63, .vscnt = 63, .lgkmcnt = 63, .kmcnt = 0, .expcnt = 7, .vmem_writes_in_order = true},
    .hazards = {.wmma_d_to_ab = true,
                .trans_use = false,
                .valu_read_sgpr = false,
                .vcmpx_permlane = true,
                .gfx9_wait_states = false,
                .nop_before_dealloc = true,
                .user_sgpr_init16 = false},
    .buffer_word3 = 0x31027000,
    .soffset_in_bounds = SoffsetInBounds::disputed,
    .straddle = StraddleRule::whole_access,
    .buffer_imm_max = 4095,
    .global_imm_min = -4096,
    .global_imm_max = 4095,
    .smem_imm_min = -(1 << 20),
    .smem_imm_max = (1 << 20) - 1,
    .valu_scalar_reads = 2,
    .vop3_literal = true,
    .dot2_bf16 = Dot2Bf16Rounding::toward_zero,
    .has_v_dot2_f32_bf16 = true,
    .has_cvt_pk_bf16_f32 = false,
    .has_delay_alu = true,
    .has_clause = true,
    .has_dealloc_vgprs = true,
    .has_vopd = true,
    .has_agprs = false,
    .workgroup_ids_in_ttmp = false,
    .max_user_sgprs = 16,
    .elf_flags = 0,
    .family = "gfx11-generic",
    .wmma16 = shapes[0],
    .matrix_shapes = shapes,
    .timing = timing};

/// What the timing model knows of a GPU's memory and clock.
struct MemoryTiming {
  double megahertz;
  std::uint16_t loaded_latency;  ///< clocks
  double l2_bytes_per_clock;     ///< per CU
  double dram_gigabytes;
};
/// Of a 7900: Origami's constants over 96 CUs at 2.5 GHz (hardware.md §1); latency between the lightly loaded
/// 442 to 694 clocks of its thread traces and gfx1151's fitted figure, hence unsure.
constexpr MemoryTiming discrete{2500, 800, 29.7, 732};
/// Fitted to published throughputs of gfx1151 (docs/model.md): three numbers from the six rows of the step
/// table. The clock was pinned at a value that was not published; bytes and latency agree in size with
/// Origami's 21.3 bytes and with thread traces (580 to 1126 clocks), no better evidence is known. DRAM
/// measured (published.md).
constexpr MemoryTiming strix_halo{1830, 1000, 25, 215};

struct Variant {
  std::string_view name, marketing;
  std::uint16_t compute_units;
  std::uint32_t elf_flags;
  bool large_file;   ///< 1536 registers per lane and SIMD, not 1024
  bool trans_use;    ///< gfx11.0
  bool user_init16;  ///< gfx1100 and gfx1102
  MemoryTiming memory = discrete;
};

Target make(const Variant& v) {
  Target t = base;
  t.name = v.name;
  t.marketing = v.marketing;
  t.compute_units = v.compute_units;
  t.elf_flags = v.elf_flags;
  if (!v.large_file) {
    t.vgprs_per_simd = 1024;
    t.vgpr_alloc_granule = 16;
  }
  t.timing.clock_megahertz = v.memory.megahertz;
  t.timing.vmem_loaded_latency = v.memory.loaded_latency;
  t.timing.l2_bytes_per_clock = v.memory.l2_bytes_per_clock;
  t.timing.dram_gigabytes = v.memory.dram_gigabytes;
  t.hazards.trans_use = v.trans_use;
  t.hazards.user_sgpr_init16 = v.user_init16;
  return t;
}

}  // namespace

Target make_gfx11_generic() {
  return make({"gfx11-generic", "any gfx11", 40, 0x1000054, false, true, true, strix_halo});
}
Target make_gfx1100() { return make({"gfx1100", "Radeon RX 7900 XTX", 96, 0x41, true, true, true}); }
Target make_gfx1101() { return make({"gfx1101", "Radeon RX 7800 XT", 60, 0x46, true, true, false}); }
Target make_gfx1102() { return make({"gfx1102", "Radeon RX 7600", 32, 0x47, false, true, true}); }
Target make_gfx1103() { return make({"gfx1103", "Radeon 780M", 12, 0x44, false, true, false}); }
Target make_gfx1150() { return make({"gfx1150", "Radeon 890M", 16, 0x43, false, false, false}); }
Target make_gfx1151() {
  return make({"gfx1151", "Radeon 8060S (Strix Halo)", 40, 0x4A, true, false, false, strix_halo});
}
Target make_gfx1152() { return make({"gfx1152", "Radeon 860M", 8, 0x55, false, false, false}); }
Target make_gfx1153() { return make({"gfx1153", "Radeon 840M", 4, 0x58, false, false, false}); }

}  // namespace wavejit::target
