// SPDX-License-Identifier: MIT
#include <algorithm>

#include "templates/kquant/gemv.hpp"

namespace wavejit::templates::kquant {

/// The kernel after all passes. With no occupancy asked for, the highest at which the registers fit: a
/// decode kernel lives from the bytes that all its waves together have in flight.
Result<ir::Kernel> compile(const Problem& problem, Config& config, const target::Target& target,
                           const passes::Observer& observer) {
  passes::Options options;
  options.pipeline = {config.pipeline_depth, 1};
  const bool chosen = config.waves_per_simd != 0;
  options.measure_register_need = chosen;
  Error last;
  unsigned previous_budget = 0;
  const unsigned first = chosen ? config.waves_per_simd : target.max_waves_per_simd;
  for (unsigned waves = first; waves >= 1; --waves) {
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
  return std::unexpected(last);
}

}  // namespace wavejit::templates::kquant
