// SPDX-License-Identifier: MIT
// Numbers: shared/hardware.md (§1 architecture table, §4 counters, §5 hazards, §6 descriptors,
// §8 latencies, §9 code objects), which names the primary source of each.
#include "generator/target/target.hpp"

#include <algorithm>
#include <array>

namespace wavejit::target {
namespace {

constexpr Timing rdna3_timing{.valu_dependent = 5,
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

constexpr Target gfx11_base{
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
    .wmma16 = {.m = 16,
               .n = 16,
               .k = 16,
               .a_dwords = 8,
               .b_dwords = 8,
               .c_dwords = 8,
               .cycles = 32,
               .replicated_halves = true},
    .timing = rdna3_timing};

constexpr Target make_gfx1100() {
  Target t = gfx11_base;
  t.name = "gfx1100";
  t.marketing = "Radeon RX 7900 XTX";
  t.compute_units = 96;
  t.hazards.trans_use = true;
  t.hazards.user_sgpr_init16 = true;
  t.elf_flags = 0x41;
  return t;
}

constexpr Target make_gfx1151() {
  Target t = gfx11_base;
  t.name = "gfx1151";
  t.marketing = "Radeon 8060S (Strix Halo)";
  t.compute_units = 40;
  t.elf_flags = 0x4A;
  return t;
}

constexpr std::array<Target, 2> tables{make_gfx1100(), make_gfx1151()};

unsigned round_up(unsigned value, unsigned granule) { return (value + granule - 1) / granule * granule; }

}  // namespace

std::span<const Target> all() { return tables; }

const Target* find(std::string_view name) {
  const std::string_view base = name.substr(0, name.find(':'));
  const auto* it = std::ranges::find(tables, base, &Target::name);
  return it == tables.end() ? nullptr : &*it;
}

unsigned waves_by_vgprs(const Target& target, unsigned vgprs) {
  const unsigned allocation = round_up(std::max(vgprs, 1U), target.vgpr_alloc_granule);
  return std::min<unsigned>(target.vgprs_per_simd / allocation, target.max_waves_per_simd);
}

unsigned vgpr_budget(const Target& target, unsigned waves) {
  if (waves == 0 || waves > target.max_waves_per_simd) return 0;
  const unsigned share =
      target.vgprs_per_simd / waves / target.vgpr_alloc_granule * target.vgpr_alloc_granule;
  return std::min<unsigned>(share, target.addressable_vgprs);
}

Occupancy occupancy(const Target& target, unsigned vgprs, unsigned lds_bytes, unsigned waves_per_workgroup) {
  Occupancy result{};
  result.waves_by_vgprs = waves_by_vgprs(target, vgprs);
  const unsigned slots = result.waves_by_vgprs * target.simds_per_wgp;
  result.workgroups = slots / std::max(waves_per_workgroup, 1U);
  if (lds_bytes > 0) {
    const unsigned allocation = round_up(lds_bytes, target.lds_granule);
    result.workgroups = std::min(result.workgroups, target.lds_per_wgp / allocation);
  }
  result.waves_per_simd = static_cast<double>(result.workgroups * waves_per_workgroup) / target.simds_per_wgp;
  return result;
}

}  // namespace wavejit::target
