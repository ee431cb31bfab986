// SPDX-License-Identifier: MIT
#include "generator/target/target.hpp"

#include <algorithm>
#include <array>

#include "generator/target/tables.hpp"

namespace wavejit::target {
namespace {

unsigned round_up(unsigned value, unsigned granule) { return (value + granule - 1) / granule * granule; }

const Target* find_in(std::span<const Target> tables, std::string_view name) {
  const std::string_view base = name.substr(0, name.find(':'));
  const auto it = std::ranges::find(tables, base, &Target::name);
  return it == tables.end() ? nullptr : &*it;
}

}  // namespace

std::span<const Target> all() {
  static const std::array tables{make_gfx11_generic(), make_gfx1100(),       make_gfx1101(), make_gfx1102(),
                                 make_gfx1103(),       make_gfx1150(),       make_gfx1151(), make_gfx1152(),
                                 make_gfx1153(),       make_gfx12_generic(), make_gfx1200(), make_gfx1201(),
                                 make_gfx942(),        make_gfx950()};
  return tables;
}

std::span<const Target> simulator_only() {
  static const std::array tables{make_gfx1030(), make_gfx90a()};
  return tables;
}

const Target* find(std::string_view name) { return find_in(all(), name); }

const Target* find_simulated(std::string_view name) {
  const Target* target = find(name);
  return target != nullptr ? target : find_in(simulator_only(), name);
}

unsigned unified_vgprs(const Target& target, unsigned vgprs, unsigned agprs) {
  return agprs == 0 || !target.has_agprs ? vgprs : round_up(vgprs, target.accum_offset_granule) + agprs;
}

unsigned waves_by_vgprs(const Target& target, unsigned vgprs) {
  const unsigned allocation = round_up(std::max(vgprs, 1U), target.vgpr_alloc_granule);
  return std::min<unsigned>(target.vgprs_per_simd / allocation, target.max_waves_per_simd);
}

unsigned vgpr_budget(const Target& target, unsigned waves) {
  if (waves == 0 || waves > target.max_waves_per_simd) return 0;
  const unsigned share =
      target.vgprs_per_simd / waves / target.vgpr_alloc_granule * target.vgpr_alloc_granule;
  return std::min<unsigned>(share, target.allocatable_vgprs);
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
