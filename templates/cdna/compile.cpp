// SPDX-License-Identifier: MIT
#include <algorithm>

#include "templates/cdna/decode/decode.hpp"
#include "templates/cdna/emitter.hpp"
#include "templates/cdna/family.hpp"
#include "templates/cdna/reduce.hpp"
#include "templates/fit.hpp"

namespace wavejit::templates::cdna {
namespace {

passes::Options pass_options(const Config& c) {
  passes::Options o;
  o.scalar_offsets = c.techniques.scalar_offsets;
  o.pipeline = {c.pipeline_depth, c.unroll};
  o.bank_aware = c.techniques.bank_assignment;
  o.scheduling.ordered_refills = true;
  return o;
}

/// Registers that are live at the loop's end whatever the schedule: accumulators and loads in flight.
unsigned fewest_registers(const Config& c, const Tile& t) {
  const unsigned loads = 4 * t.blocks * ((c.lds_dma ? 0 : t.passes) + 2 * t.tiles_n);
  return t.accumulators * t.tiles_m * t.tiles_n + (c.pipeline_depth == 0 ? 0 : loads) + 8;
}

/// Waves per SIMD to try, falling: of those that hold equally many workgroups only the widest budget. Two is
/// the last: a budget for one would have no more registers that an instruction can name.
std::vector<unsigned> occupancies(const Problem& p, const Config& c, const target::Target& target) {
  if (c.waves_per_simd != 0) return {c.waves_per_simd};
  const Tile t(c, p, target);
  const auto held = [&](unsigned waves) {
    return std::min(waves * target.simds_per_wgp / c.waves, target.lds_per_wgp / t.lds_bytes);
  };
  const unsigned fewest = std::max(2U, fewest_waves(c.waves, target.simds_per_wgp));
  std::vector<unsigned> list;
  for (unsigned waves = target.max_waves_per_simd; waves >= fewest; --waves) {
    if (target::vgpr_budget(target, waves) < fewest_registers(c, t) && waves > fewest) continue;
    if (!list.empty() && held(list.back()) == held(waves)) list.pop_back();
    list.push_back(waves);
  }
  return list;
}

}  // namespace

Result<ir::Kernel> compile(const Problem& problem, Config& config, unsigned stage,
                           const target::Target& target, const passes::Observer& observer) {
  if (config.path == Path::decode) return decode::compile(problem, config, target, observer);
  if (stage == 1) return compile_reduce(problem, config, target, observer);
  const unsigned fewest = fewest_waves(config.waves, target.simds_per_wgp);
  if (auto ok = check_occupancy(config.waves_per_simd, fewest); !ok) return std::unexpected(ok.error());
  return compile_fitting(occupancies(problem, config, target), config.waves_per_simd, pass_options(config),
                         observer, [&] { return build(problem, config, target); }, {4, 8, 12, 16});
}

}  // namespace wavejit::templates::cdna
