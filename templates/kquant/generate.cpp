// SPDX-License-Identifier: MIT
#include <algorithm>

#include "generator/lower/lower.hpp"
#include "templates/kquant/gemv.hpp"

namespace wavejit::templates::kquant {
namespace {

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

}  // namespace

Result<GeneratedKernel> generate(const Problem& problem, const Config& config, const target::Target& target,
                                 const passes::Observer& observer) {
  const auto p = normalise(problem, target);
  if (!p) return std::unexpected(p.error());
  auto c = normalise(config, *p, target);
  if (!c) return std::unexpected(c.error());
  auto kernel = compile(*p, *c, target, observer);
  if (!kernel) return std::unexpected(kernel.error());

  GeneratedKernel result;
  result.name = kernel->name;
  result.target = &target;
  result.problem = *p;
  result.config = *c;
  result.assembly = lower::print_assembly(*kernel);
  result.ir = std::move(*kernel);
  auto object = lower::assemble(result.assembly, target);
  if (!object) return std::unexpected(object.error());
  auto linked = lower::link(*object);
  if (!linked) return std::unexpected(linked.error());
  result.code_object = std::move(*linked);
  return result;
}

}  // namespace wavejit::templates::kquant
