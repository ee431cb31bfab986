// SPDX-License-Identifier: MIT
#include <algorithm>

#include "templates/skinny/skinny.hpp"

namespace wavejit::templates::skinny {

/// A decode kernel lives from the bytes that all its waves together have in flight: as many waves as the
/// registers allow.
Result<ir::Kernel> compile(const Problem& problem, Config& config, const target::Target& target,
                           const passes::Observer& observer) {
  passes::Options options;
  options.scalar_offsets = config.techniques.scalar_offsets;
  options.pipeline = {config.techniques.pipelined_loads ? config.pipeline_depth : 0, config.unroll};
  options.bank_aware = config.techniques.bank_assignment;
  const bool chosen = config.waves_per_simd != 0;
  options.measure_register_need = chosen;
  // A workgroup has the SIMDs of one CU to itself at most.
  const unsigned simds = std::max(target.simds_per_wgp / 2U, 1U);
  const unsigned fewest = (config.waves + simds - 1) / simds;
  Error last;
  unsigned previous_budget = 0;
  const unsigned first = chosen ? config.waves_per_simd : target.max_waves_per_simd;
  for (unsigned waves = first; waves >= fewest; --waves) {
    const unsigned budget = target::vgpr_budget(target, waves);
    if (budget == previous_budget) continue;
    previous_budget = budget;
    config.waves_per_simd = waves;
    // A schedule that fills the budget to the brim may not pack into tuples: one more try with room.
    for (const int margin : {4, 16}) {
      options.schedule_margin = margin;
      ir::Kernel kernel = build(problem, config, target);
      auto ok = passes::run(kernel, options, observer);
      if (ok) return kernel;
      last = ok.error();
      if (last.code != ErrorCode::out_of_registers) return std::unexpected(last);
    }
    if (chosen) break;
  }
  if (previous_budget == 0)
    return fail_field(ErrorCode::invalid_config, "waves_per_simd", std::to_string(config.waves_per_simd),
                      "at least " + std::to_string(fewest) + ": a workgroup's waves share one CU");
  return std::unexpected(last);
}

}  // namespace wavejit::templates::skinny
