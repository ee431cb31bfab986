// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdlib>
#include <optional>

#include "generator/model/loops.hpp"
#include "generator/model/mix.hpp"
#include "templates/cdna/family.hpp"
#include "templates/fit.hpp"
#include "templates/skinny/skinny.hpp"
#include "templates/w4a16/build.hpp"
#include "templates/w4a16/family.hpp"
#include "templates/w4a16/tile.hpp"

namespace wavejit::templates::w4a16 {
namespace {

passes::Options pass_options(const Config& c) {
  passes::Options o;
  o.scalar_offsets = c.techniques.scalar_offsets;
  o.pipeline = {c.techniques.pipelined_loads ? c.pipeline_depth : 0, c.unroll};
  o.bank_aware = c.techniques.bank_assignment;
  return o;
}

/// Waves per SIMD to try when none are asked for. More than 12 hide nothing more in a GEMM loop, but
/// leave too few registers for two steps of fragments; below 4 a tile is too large anyway.
constexpr unsigned most_waves = 12;

/// Workgroups that a WGP (in CU mode a CU) holds with `waves` waves on each SIMD.
unsigned workgroups(unsigned waves, const Config& c, const Tile& tile, const target::Target& target) {
  const unsigned units = c.wgp_mode ? 1 : 2;
  const unsigned by_lds = target.lds_per_wgp / units / std::max(tile.lds_bytes, 1U);
  return std::min(waves * target.simds_per_wgp / units / c.waves, by_lds);
}

/// Waves per SIMD of one workgroup alone: in CU mode it has the SIMDs of one CU.
unsigned fewest(const Config& c, const target::Target& target) {
  return fewest_waves(c.waves, target.simds_per_wgp / (c.wgp_mode ? 1U : 2U));
}

/// VGPRs that are live at the loop's end whatever the schedule: accumulators, addresses, loads in flight.
unsigned fewest_registers(const Config& c, const Problem& p, const Tile& tile) {
  const unsigned words = p.zero_points == ZeroPoints::packed ? 3 : 2;
  const unsigned loads = 4 * tile.passes_a + words * tile.passes_b;
  return 8 * tile.tiles_m * tile.tiles_n + (c.pipeline_depth == 0 ? 0 : loads);
}

/// The register budgets worth a try, by falling waves per SIMD: those that the kernel's certain registers do
/// not exceed, and of several that hold equally many whole workgroups only the widest.
std::vector<unsigned> occupancies(const Problem& p, const Config& c, const target::Target& target) {
  if (c.waves_per_simd != 0) return {c.waves_per_simd};
  const Tile tile(c, p, target.wave_size);
  const unsigned least = fewest_registers(c, p, tile);
  const unsigned last = fewest(c, target);
  std::vector<unsigned> list;
  for (unsigned waves = std::max(most_waves, last); waves >= last; --waves) {
    const unsigned budget = target::vgpr_budget(target, waves);
    if (budget < least && waves > last) continue;
    if (!list.empty() && target::vgpr_budget(target, list.back()) == budget) continue;
    const unsigned held = workgroups(waves, c, tile, target);
    if (!list.empty() && workgroups(list.back(), c, tile, target) == held) list.pop_back();
    list.push_back(waves);
  }
  return list;
}

/// What an out_of_registers error says is needed.
unsigned needed(const Error& error) {
  return static_cast<unsigned>(std::strtoul(error.given.c_str(), nullptr, 10));
}

/// Matrix instructions whose sources share a register bank.
unsigned bank_conflicts(const ir::Kernel& kernel, const target::Target& target) {
  return model::bank_conflicts(model::flatten(kernel), target).matrix;
}

}  // namespace

/// The kernel after all passes. With no occupancy asked for, the highest at which the registers fit; where
/// fragments could not be kept in banks of their own there, one step lower is tried, too.
Result<ir::Kernel> compile(const Problem& problem, Config& config, unsigned stage,
                           const target::Target& target, const passes::Observer& observer) {
  if (config.path == Path::mfma || config.path == Path::decode)
    return cdna::compile(problem, config, stage, target, observer);
  if (config.path == Path::skinny) return skinny::compile(problem, config, target, observer);
  if (auto ok = check_occupancy(config.waves_per_simd, fewest(config, target)); !ok)
    return std::unexpected(ok.error());
  passes::Options options = pass_options(config);
  options.measure_register_need = false;
  std::optional<ir::Kernel> conflicting;  // fits, but not all fragments found a bank of their own
  unsigned conflicting_waves = 0;
  unsigned at_least = 0, live = 0;
  const std::vector<unsigned> tries = occupancies(problem, config, target);
  ir::Kernel prepared = build(problem, config, target);
  if (auto ok = passes::prepare(prepared, options, observer); !ok) return std::unexpected(ok.error());
  const passes::Scheduler scheduler(prepared, options.scheduling.ordered_refills);
  for (const unsigned waves : tries) {
    const unsigned budget = target::vgpr_budget(target, waves);
    // A schedule under a tighter budget, where registers go before speed, had more than this alive.
    if (budget < at_least && waves != tries.back()) continue;
    config.waves_per_simd = waves;
    // A schedule that fills the budget to the brim may not pack into tuples: one more try with room.
    for (const int margin : {4, 16}) {
      const auto order = scheduler.order(static_cast<int>(budget) - margin);
      live = order.live;
      if (live > budget) continue;
      ir::Kernel kernel = prepared;
      kernel.vgpr_budget = budget;
      auto ok = passes::finish(kernel, options, observer, &order);
      // The occupancy asked for stays in the Config, though the registers may allow more: with that one
      // given, the same code comes out again.
      if (ok) {
        if (!options.bank_aware || bank_conflicts(kernel, target) == 0) return kernel;
        if (conflicting) continue;
        conflicting = std::move(kernel);
        conflicting_waves = waves;
        continue;
      }
      if (ok.error().code != ErrorCode::out_of_registers) return std::unexpected(ok.error());
      live = needed(ok.error());
    }
    if (conflicting && waves != conflicting_waves) break;
    if (!conflicting) at_least = live;
  }
  if (!conflicting) {
    prepared.vgpr_budget = target::vgpr_budget(target, tries.back());
    return compile_sparing(prepared, options, observer);
  }
  config.waves_per_simd = conflicting_waves;
  return std::move(*conflicting);
}

}  // namespace wavejit::templates::w4a16
