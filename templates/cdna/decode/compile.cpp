// SPDX-License-Identifier: MIT
#include <algorithm>

#include "templates/cdna/decode/decode.hpp"
#include "templates/fit.hpp"

namespace wavejit::templates::cdna::decode {

Result<ir::Kernel> compile(const Problem& problem, Config& config, const target::Target& target,
                           const passes::Observer& observer) {
  passes::Options options;
  options.scalar_offsets = config.techniques.scalar_offsets;
  options.pipeline = {config.pipeline_depth, config.unroll};
  options.bank_aware = config.techniques.bank_assignment;
  options.merge_blocks = true;
  const unsigned asked = config.waves_per_simd;
  options.measure_register_need = asked != 0;
  const unsigned simds = target.simds_per_wgp, fewest = (config.waves + simds - 1) / simds;
  if (asked != 0 && asked < fewest)
    return fail_field(ErrorCode::invalid_config, "waves_per_simd", std::to_string(asked),
                      "at least " + std::to_string(fewest) + ": a workgroup's waves share one compute unit");
  const std::vector<unsigned> tries =
      asked != 0 ? std::vector<unsigned>{asked} : falling_occupancies(4, std::max(fewest, 2U), target);
  auto kernel = compile_fitting(tries, config.waves_per_simd, options, observer,
                                [&] { return build(problem, config, target); });
  if (kernel || kernel.error().code != ErrorCode::out_of_registers || asked != 0) return kernel;
  // The order of emission needs fewer registers than any schedule.
  options.schedule = false;
  return compile_fitting({tries.back()}, config.waves_per_simd, options, observer,
                         [&] { return build(problem, config, target); });
}

}  // namespace wavejit::templates::cdna::decode
