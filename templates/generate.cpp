// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>

#include "generator/lower/lower.hpp"
#include "templates/kernel.hpp"
#include "templates/w4a16/build.hpp"

namespace wavejit::templates {
namespace {

using Clock = std::chrono::steady_clock;
double milliseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

passes::Options pass_options(const Config& c) {
  passes::Options o;
  o.scalar_offsets = c.techniques.scalar_offsets;
  o.pipeline = {c.techniques.pipelined_loads ? c.pipeline_depth : 0, c.unroll};
  o.bank_aware = c.techniques.bank_assignment;
  return o;
}

/// Waves per SIMD to try when none are asked for. More than 12 hide nothing more in a GEMM loop, but
/// leave too few registers for two steps of fragments; below 4 a tile is too large anyway.
constexpr unsigned most_waves = 12;

/// The kernel after all passes. With no occupancy asked for, the highest at which the registers fit.
Result<ir::Kernel> compile(const Problem& problem, Config& config, const target::Target& target,
                           const passes::Observer& observer) {
  passes::Options options = pass_options(config);
  const bool chosen = config.waves_per_simd != 0;
  options.measure_register_need = chosen;
  Error last;
  unsigned previous_budget = 0;
  const unsigned first =
      chosen ? config.waves_per_simd : std::min<unsigned>(most_waves, target.max_waves_per_simd);
  for (unsigned waves = first; waves >= 1; --waves) {
    const unsigned budget = target::vgpr_budget(target, waves);
    if (budget == previous_budget) continue;
    previous_budget = budget;
    config.waves_per_simd = waves;
    // A schedule that fills the budget to the brim may not pack into tuples: one more try with room.
    for (const int margin : {4, 16}) {
      options.schedule_margin = margin;
      ir::Kernel kernel = w4a16::build(problem, config, target);
      auto ok = passes::run(kernel, options, observer);
      // The occupancy asked for stays in the Config, though the registers may allow more: with that one
      // given, the same code comes out again.
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
                                 const GenerateOptions& options) {
  const Clock::time_point start = Clock::now();
  auto p = normalise(problem, target);
  if (!p) return std::unexpected(p.error());
  auto c = normalise(config, *p, target);
  if (!c) return std::unexpected(c.error());
  auto kernel = compile(*p, *c, target, options.observer);
  if (!kernel) return std::unexpected(kernel.error());

  GeneratedKernel result;
  result.name = kernel->name;
  result.target = &target;
  result.problem = *p;
  result.config = *c;
  result.assembly = lower::print_assembly(*kernel);
  result.ir = std::move(*kernel);
  const Clock::time_point generated = Clock::now();
  result.times.generate_ms = milliseconds(start, generated);
  if (!options.assemble) return result;

  auto object = lower::assemble(result.assembly, target);
  if (!object) return std::unexpected(object.error());
  const Clock::time_point assembled = Clock::now();
  auto linked = lower::link(*object);
  if (!linked) return std::unexpected(linked.error());
  result.code_object = std::move(*linked);
  result.times.assemble_ms = milliseconds(generated, assembled);
  result.times.link_ms = milliseconds(assembled, Clock::now());
  return result;
}

}  // namespace wavejit::templates
