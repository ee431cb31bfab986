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
  const unsigned fewest = fewest_waves(config.waves, target.simds_per_wgp);
  if (auto ok = check_occupancy(asked, fewest); !ok) return std::unexpected(ok.error());
  const std::vector<unsigned> tries =
      asked != 0 ? std::vector<unsigned>{asked} : falling_occupancies(4, std::max(fewest, 2U), target);
  return compile_fitting(tries, config.waves_per_simd, options, observer,
                         [&] { return build(problem, config, target); });
}

}  // namespace wavejit::templates::cdna::decode
