// SPDX-License-Identifier: MIT
#include "templates/fit.hpp"

#include <algorithm>

namespace wavejit::templates {

std::vector<unsigned> falling_occupancies(unsigned most, unsigned fewest, const target::Target& target) {
  std::vector<unsigned> list;
  unsigned previous = 0;
  for (unsigned waves = most; waves >= fewest && waves >= 1; --waves) {
    const unsigned budget = target::vgpr_budget(target, waves);
    if (budget != previous) list.push_back(waves);
    previous = budget;
  }
  return list;
}

Result<ir::Kernel> compile_fitting(const std::vector<unsigned>& tries, unsigned& waves_per_simd,
                                   passes::Options options, const passes::Observer& observer,
                                   const std::function<ir::Kernel()>& build, Margins margins) {
  ir::Kernel prepared = build();
  if (auto ok = passes::prepare(prepared, options, observer); !ok) return std::unexpected(ok.error());
  Error last;
  for (const unsigned waves : tries) {
    waves_per_simd = waves;
    prepared.vgpr_budget =
        std::min<unsigned>(prepared.target->addressable_vgprs, target::vgpr_budget(*prepared.target, waves));
    for (const int margin : margins) {
      options.scheduling.margin = margin;
      ir::Kernel kernel = prepared;
      auto ok = passes::finish(kernel, options, observer);
      if (ok) return kernel;
      last = ok.error();
      if (last.code != ErrorCode::out_of_registers) return std::unexpected(last);
    }
  }
  return std::unexpected(last);
}

}  // namespace wavejit::templates
