// SPDX-License-Identifier: MIT
#include <chrono>

#include "generator/lower/lower.hpp"
#include "templates/family.hpp"

namespace wavejit::templates {
namespace {

using Clock = std::chrono::steady_clock;
double milliseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace

unsigned stages(const Problem& problem, const Config& config) {
  return family(problem.op).stages(problem, config);
}

unsigned product_stage(const Problem& problem, const Config& config) {
  return config.path == Path::mfma ? 0 : stages(problem, config) - 1;
}

Result<GeneratedKernel> generate(const Problem& problem, const Config& config, const target::Target& target,
                                 const GenerateOptions& options) {
  const Clock::time_point start = Clock::now();
  auto p = normalise(problem, target);
  if (!p) return std::unexpected(p.error());
  auto c = normalise(config, *p, target);
  if (!c) return std::unexpected(c.error());
  if (auto ok = check_stage(*p, *c, options.stage); !ok) return std::unexpected(ok.error());
  auto kernel =
      family(p->op).compile(*p, *c, options.stage, target,
                            options.verify && !options.observer ? passes::verifying() : options.observer);
  if (!kernel) return std::unexpected(kernel.error());
  kernel->header.insert(kernel->header.begin(), {canonical(*p), canonical(*c)});

  GeneratedKernel result;
  result.name = kernel->name;
  result.target = &target;
  result.problem = *p;
  result.config = *c;
  result.stage = options.stage;
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
