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

Result<void> check_occupancy(unsigned asked, unsigned fewest) {
  if (asked == 0 || asked >= fewest) return {};
  return fail_field(ErrorCode::invalid_config, "waves_per_simd", std::to_string(asked),
                    "at least " + std::to_string(fewest) + ": so many of a workgroup's waves share a SIMD");
}

Result<ir::Kernel> compile_fitting(const std::vector<unsigned>& tries, unsigned& waves_per_simd,
                                   passes::Options options, const passes::Observer& observer,
                                   const std::function<ir::Kernel()>& build, Margins margins) {
  ir::Kernel prepared = build();
  if (auto ok = passes::prepare(prepared, options, observer); !ok) return std::unexpected(ok.error());
  options.measure_register_need = false;
  const passes::Scheduler scheduler(prepared, options.scheduling.ordered_refills);
  for (const unsigned waves : tries) {
    waves_per_simd = waves;
    prepared.vgpr_budget =
        std::min<unsigned>(prepared.target->addressable_vgprs, target::vgpr_budget(*prepared.target, waves));
    for (const int margin : margins) {
      const auto order = scheduler.order(static_cast<int>(prepared.vgpr_budget) - margin);
      if (order.live > prepared.vgpr_budget) continue;
      ir::Kernel kernel = prepared;
      auto ok = passes::finish(kernel, options, observer, &order);
      if (ok) return kernel;
      if (ok.error().code != ErrorCode::out_of_registers) return std::unexpected(ok.error());
    }
  }
  return compile_sparing(prepared, options, observer);
}

Result<ir::Kernel> compile_sparing(const ir::Kernel& prepared, passes::Options options,
                                   const passes::Observer& observer) {
  for (const int margin : {40, 80, 120}) {
    options.scheduling.margin = margin;
    ir::Kernel kernel = prepared;
    auto ok = passes::finish(kernel, options, observer);
    if (ok) return kernel;
    if (ok.error().code != ErrorCode::out_of_registers) return std::unexpected(ok.error());
  }
  options.schedule = false;
  options.measure_register_need = true;
  ir::Kernel kernel = prepared;
  if (auto ok = passes::finish(kernel, options, observer); !ok) return std::unexpected(ok.error());
  return kernel;
}

}  // namespace wavejit::templates
