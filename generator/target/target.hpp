// SPDX-License-Identifier: MIT
// One table per GPU architecture. Whatever differs between GPUs is data here; code asks the table
// and never compares an architecture's name. Sources of the numbers are in target.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace wavejit::target {

/// Instruction-set generation: decides spelling, encodings, wait counters and barrier form.
enum class Generation : std::uint8_t { gfx9, gfx10, gfx11, gfx12 };

/// How v_dot2_bf16_bf16 rounds its result to bf16.
enum class Dot2Bf16Rounding : std::uint8_t { absent, toward_zero, nearest_even };

/// Whether SGPR offset (soffset) takes part in a raw buffer's bounds check.
/// Sources disagree for RDNA (hardware.md §6), so kernels must be right under both.
enum class SoffsetInBounds : std::uint8_t { excluded, included, disputed };

/// What happens to a wide raw buffer access that straddles num_records.
enum class StraddleRule : std::uint8_t { whole_access, per_dword };

struct WaitCounterLimits {
  std::uint8_t vmcnt;    ///< vector loads (and stores where vscnt is 0)
  std::uint8_t vscnt;    ///< vector stores; 0 = stores count in vmcnt
  std::uint8_t lgkmcnt;  ///< LDS, scalar loads, messages; on gfx12 this is dscnt
  std::uint8_t kmcnt;    ///< gfx12 scalar loads; 0 = they count in lgkmcnt
  std::uint8_t expcnt;
  /// Vector loads write their registers in issue order, so a second load to one needs no wait.
  bool vmem_writes_in_order;
};

/// Software-visible hazards (hardware.md §5). A flag says that the pattern needs a fix.
struct Hazards {
  bool wmma_d_to_ab;               ///< WMMA D read as the next WMMA's A/B: one VALU between
  bool trans_use;                  ///< transcendental result used by VALU too early: va_vdst(0)
  bool valu_read_sgpr;             ///< gfx12 VALUReadSGPR
  bool vcmpx_permlane;             ///< v_cmpx then v_permlane16
  bool gfx9_wait_states;           ///< the s_nop table of gfx940/950
  bool nop_before_dealloc;         ///< s_nop 0 before s_sendmsg dealloc_vgprs
  bool user_sgpr_init16;           ///< wave32: user plus system SGPRs initialised must reach 16
  bool mfma_results_late = false;  ///< MFMA results need a slot more than on gfx942 (gfx950)
  /// XNACK may be on: memory instructions directly behind one another (a soft clause) may be issued again, so
  /// none of them overwrites what another one reads.
  bool xnack_replay = false;
};

/// What a matrix instruction multiplies. Floats go to f32 accumulators, integers to i32.
enum class MatrixInput : std::uint8_t { f16_bf16, i8, i4 };

/// A matrix instruction of 16x16 or 32x32 shape with 32-bit accumulators.
struct MatrixShape {
  std::uint8_t m, n, k;  ///< D is m x n, reduction over k
  std::uint8_t a_dwords, b_dwords, c_dwords;
  std::uint8_t cycles;             ///< clocks that it holds its SIMD's matrix pipe
  bool replicated_halves = false;  ///< lanes 16..31 must copy lanes 0..15 in A and B
  MatrixInput input = MatrixInput::f16_bf16;
};

/// Cycle costs that the model starts from (hardware.md §8, §10).
struct Timing {
  std::uint16_t valu_dependent;  ///< issue to dependent issue, clocks
  std::uint16_t valu_issue;      ///< clocks of the VALU pipe per instruction
  std::uint16_t trans_issue;
  std::uint16_t trans_dependent;  ///< transcendental issue to dependent issue
  std::uint16_t salu_dependent;
  std::uint16_t lds_latency;          ///< ds_load issue to data
  std::uint16_t lds_bytes_per_clock;  ///< per CU
  std::uint16_t vmem_l0_latency, vmem_l2_latency, vmem_mall_latency, vmem_dram_latency;
  std::uint16_t barrier;  ///< last arrival to resume
  std::uint16_t taken_branch;
  // The fields below are read by model/cycles; defaults are RDNA's, measured on gfx1100, gfx1151 and
  // gfx1200 from thread traces (shared/calibration/summary.md) unless said otherwise.
  std::uint16_t valu_queue = 8;    ///< VALU instructions issued ahead of execution; 0 = none: the wave waits
  std::uint16_t valu_start = 8;    ///< issue to execution on an idle SIMD (6..9; 11 before a WMMA)
  std::uint16_t memory_after = 8;  ///< end of the producing VALU to issue of a memory instruction (gap 17)
  std::uint16_t scalar_after = 8;  ///< … of a scalar instruction that reads its SGPR (not measured)
  std::uint16_t valu_after_salu = 7;  ///< scalar issue to dependent VALU issue
  std::uint16_t matrix_chain = 2;     ///< clocks that D -> C of the same registers adds (34 where 32 are due)
  std::uint16_t compare_branch = 10;  ///< s_cmp to s_cbranch
  std::uint16_t branch_taken = 10;    ///< branch issue to next issue (9..11)
  std::uint16_t branch_passed = 3;
  std::uint16_t wide_shift = 2, wide_multiply = 4, double_issue = 32;  ///< 64-bit shift, mad_u64, f64
  /// Memory instructions wait until every earlier VALU instruction of their wave has executed, read or
  /// not: of 8,500 gaps from a VALU that a memory instruction does not read, none is under 15 clocks.
  bool memory_waits_for_valu = true;
  /// Matrix instructions hold the VALU for their whole time (measured on gfx1201; assumed for gfx11).
  bool matrix_holds_valu = true;
  std::uint16_t scalar_load_latency = 60;   ///< warm scalar cache (28..96)
  std::uint16_t vmem_issue_bytes = 64;      ///< bytes per clock that a CU's vector cache serves
  std::uint16_t vmem_loaded_latency = 600;  ///< global load to data in a running GEMM; fitted, see model
  std::uint16_t workgroup_start = 200;      ///< dispatch of a workgroup to its first instruction (assumed)
  std::uint16_t scalar_cold_latency = 300;  ///< first kernel-argument load of a workgroup (216..355 warm)
  double l2_bytes_per_clock = 21.0;         ///< per CU (Origami's constant over CUs and boost clock)
  double dram_gigabytes = 215;              ///< GB/s that DRAM delivers
  double clock_megahertz = 2500;            ///< at which times are stated
};

struct Target {
  std::string_view name;       ///< "gfx1151"
  std::string_view marketing;  ///< one example product
  Generation generation;
  std::uint8_t wave_size;
  std::uint16_t compute_units;
  /// Dies with an L2 each, to which workgroups are dealt in turn (the whole device; in another partition
  /// there are fewer, and an order of tiles for this many is merely another order).
  std::uint8_t xcds = 1;
  std::uint8_t simds_per_wgp;  ///< SIMDs that one workgroup can be spread over
  std::uint8_t max_waves_per_simd;
  std::uint16_t vgprs_per_simd;       ///< registers per lane and SIMD
  std::uint16_t vgpr_alloc_granule;   ///< hardware allocation granule
  std::uint16_t vgpr_encode_granule;  ///< granule in COMPUTE_PGM_RSRC1
  std::uint16_t addressable_vgprs;    ///< that an operand can name: v0 up to this
  std::uint16_t addressable_sgprs;    ///< without VCC
  std::uint8_t vgpr_banks;            ///< 0 = no published bank rule
  std::uint8_t vgpr_tuple_align;      ///< alignment of tuples of 64 bits and more
  std::uint32_t lds_per_wgp;          ///< bytes that share one WGP (or CU on CDNA)
  std::uint32_t lds_per_workgroup;    ///< most one workgroup may ask for
  std::uint16_t lds_granule;
  std::uint8_t lds_banks;
  std::uint16_t max_workgroup_size;
  WaitCounterLimits waits;
  Hazards hazards;
  std::uint32_t buffer_word3;  ///< raw descriptor: type, format, OOB_SELECT
  SoffsetInBounds soffset_in_bounds;
  StraddleRule straddle;
  std::uint32_t buffer_imm_max;  ///< largest immediate offset of a buffer access
  std::int32_t global_imm_min = -4096, global_imm_max = 4095;            ///< immediate offset of global_*
  std::int32_t smem_imm_min = -(1 << 20), smem_imm_max = (1 << 20) - 1;  ///< immediate offset of s_load_*
  std::uint8_t valu_scalar_reads = 2;  ///< distinct SGPRs and literals that one VALU instruction may read
  bool vop3_literal = true;            ///< VOP3 and VOP3P encodings take a 32-bit literal
  Dot2Bf16Rounding dot2_bf16;
  bool has_v_dot2_f32_bf16;
  bool has_cvt_pk_bf16_f32;
  bool has_delay_alu;
  bool has_clause;
  bool has_dealloc_vgprs;  ///< s_sendmsg MSG_DEALLOC_VGPRS before s_endpgm
  bool has_vopd;
  bool has_agprs;
  /// Most VGPRs of one wave. Where AGPRs exist, they are the same file: a0 is the register accum_offset,
  /// a multiple of accum_offset_granule, and both kinds together are allocated.
  std::uint16_t allocatable_vgprs = 256;
  std::uint8_t accum_offset_granule = 0;  ///< 0 = no AGPRs
  /// Vector loads that write LDS themselves: bit n-1 set = n dwords a lane. The place in LDS is M0 plus
  /// the immediate offset plus lane times size.
  std::uint8_t lds_dma_dwords = 0;
  bool has_split_barrier = false;        ///< s_barrier_signal and s_barrier_wait in place of s_barrier
  bool architected_flat_scratch = true;  ///< hardware sets scratch up, not SGPRs that the descriptor asks for
  bool packed_workitem_ids = true;       ///< x, y and z in 10 bits each of v0, not in v0, v1 and v2
  bool workgroup_ids_in_ttmp;            ///< gfx12: x in ttmp9, y and z in the halves of ttmp7
  std::uint8_t max_user_sgprs;
  /// Where a buffer access has no scalar offset: a constant 0, or (gfx12) the register that holds 0, "null",
  /// since soffset is an SGPR there.
  bool soffset_is_register = false;
  std::uint32_t elf_flags;  ///< EF_AMDGPU_MACH with features; bits 31..24: version of a generic target
  /// The generic target whose code objects this GPU runs too; a generic target names itself. Empty = none.
  std::string_view family = {};
  MatrixShape wmma16;  ///< the f16/bf16 shape that GEMM families use
  std::span<const MatrixShape> matrix_shapes = {};
  Timing timing;

  /// Each counter has a wait of its own (s_wait_loadcnt, …) in place of s_waitcnt.
  [[nodiscard]] constexpr bool has_split_counters() const { return waits.kmcnt != 0; }
  /// Version of the generic target that this is, 0 for a single GPU. Generic code objects run on every member
  /// of their family (LLVM AMDGPUUsage, "Generic Processor"), and need code object version 6.
  [[nodiscard]] constexpr unsigned generic_version() const { return elf_flags >> 24; }
};

/// All tables, in the order of their names.
std::span<const Target> all();

/// Targets that the simulator runs code of and nothing is generated for; not in all().
std::span<const Target> simulator_only();

/// As find(), among all() and simulator_only().
const Target* find_simulated(std::string_view name);

/// nullptr when there is no table. Feature suffixes ("gfx942:sramecc+") are cut off first.
const Target* find(std::string_view name);

/// Registers that a wave of `vgprs` VGPRs and `agprs` AGPRs asks of the file: AGPRs, where there are any,
/// start at a multiple of accum_offset_granule.
unsigned unified_vgprs(const Target& target, unsigned vgprs, unsigned agprs);

/// Waves per SIMD that `vgprs` registers per lane allow (before LDS): the granule rounds up,
/// then floor(file / allocation), capped. gfx1151: 120 -> 12, 128 -> 10 (LLVM's own rule). With AGPRs,
/// `vgprs` is what unified_vgprs() says.
unsigned waves_by_vgprs(const Target& target, unsigned vgprs);

/// Largest VGPR count (with AGPRs: of both kinds) that still gives `waves` waves per SIMD; 0 if none does.
unsigned vgpr_budget(const Target& target, unsigned waves);

/// What limits a workgroup's residency.
struct Occupancy {
  unsigned waves_by_vgprs;  ///< per SIMD
  unsigned workgroups;      ///< resident per WGP (CU on CDNA), whole workgroups
  double waves_per_simd;    ///< workgroups * waves / SIMDs
};

/// Occupancy by registers, LDS bytes and whole workgroups of `waves_per_workgroup` waves.
Occupancy occupancy(const Target& target, unsigned vgprs, unsigned lds_bytes, unsigned waves_per_workgroup);

}  // namespace wavejit::target
