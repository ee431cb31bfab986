// SPDX-License-Identifier: MIT
#include <algorithm>

#include "templates/fit.hpp"
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
  const unsigned asked = config.waves_per_simd;
  options.measure_register_need = asked != 0;
  // A workgroup has the SIMDs of one CU to itself at most.
  const unsigned simds = std::max(target.simds_per_wgp / 2U, 1U);
  const unsigned fewest = (config.waves + simds - 1) / simds;
  if (asked != 0 && asked < fewest)
    return fail_field(ErrorCode::invalid_config, "waves_per_simd", std::to_string(asked),
                      "at least " + std::to_string(fewest) + ": a workgroup's waves share one CU");
  const std::vector<unsigned> tries = asked != 0
                                          ? std::vector<unsigned>{asked}
                                          : falling_occupancies(target.max_waves_per_simd, fewest, target);
  return compile_fitting(tries, config.waves_per_simd, options, observer,
                         [&] { return build(problem, config, target); });
}

}  // namespace wavejit::templates::skinny
