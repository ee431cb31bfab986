// SPDX-License-Identifier: MIT
#include "templates/fit.hpp"
#include "templates/kquant/gemv.hpp"

namespace wavejit::templates::kquant {

/// The kernel after all passes. With no occupancy asked for, the highest at which the registers fit: a
/// decode kernel lives from the bytes that all its waves together have in flight.
Result<ir::Kernel> compile(const Problem& problem, Config& config, const target::Target& target,
                           const passes::Observer& observer) {
  passes::Options options;
  options.pipeline = {config.pipeline_depth, 1};
  const unsigned asked = config.waves_per_simd;
  const std::vector<unsigned> tries =
      asked != 0 ? std::vector<unsigned>{asked} : falling_occupancies(target.max_waves_per_simd, 1, target);
  return compile_fitting(tries, config.waves_per_simd, options, observer,
                         [&] { return build(problem, config, target); });
}

}  // namespace wavejit::templates::kquant
