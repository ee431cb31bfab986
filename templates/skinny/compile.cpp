// SPDX-License-Identifier: MIT
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
  const unsigned fewest = fewest_waves(config.waves, cu_simds(target));
  if (auto ok = check_occupancy(asked, fewest); !ok) return std::unexpected(ok.error());
  const std::vector<unsigned> tries = asked != 0
                                          ? std::vector<unsigned>{asked}
                                          : falling_occupancies(target.max_waves_per_simd, fewest, target);
  return compile_fitting(tries, config.waves_per_simd, options, observer,
                         [&] { return build(problem, config, target); });
}

}  // namespace wavejit::templates::skinny
