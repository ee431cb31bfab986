// SPDX-License-Identifier: MIT
#include "generator/passes/passes.hpp"

namespace wavejit::passes {

Result<void> run(ir::Kernel& kernel, const Options& options, const Observer& observer) {
  struct Step {
    std::string_view name;
    bool on;
    std::function<Result<void>(ir::Kernel&)> pass;
  };
  const Step steps[] = {
      {"scalar_offsets", options.scalar_offsets, scalar_offsets},
      {"pipeline", true, [&](ir::Kernel& k) { return pipeline(k, options.pipeline); }},
      {"lower_loops", true, lower_loops},
      {"merge_blocks", options.merge_blocks, merge_blocks},
      {"schedule", options.schedule, [&](ir::Kernel& k) { return schedule(k, options.scheduling); }},
      {"assign_registers", true,
       [&](ir::Kernel& k) {
         return assign_registers(k, {options.bank_aware, options.measure_register_need});
       }},
      {"insert_waits", true, [](ir::Kernel& k) { return insert_waits(k); }},
      {"dealloc_vgprs", options.dealloc_vgprs, dealloc_vgprs},
      {"resolve_hazards", true, resolve_hazards},
      {"form_clauses", options.clauses, form_clauses},
      {"insert_delay_alu", options.delay_alu, insert_delay_alu},
  };
  const auto check = [&](std::string_view after) -> Result<void> {
    if (observer) observer(after, kernel);
    auto ok = ir::verify(kernel);
    if (!ok) ok.error().message = "after " + std::string(after) + ": " + ok.error().message;
    return ok;
  };
  if (auto ok = check("build"); !ok) return ok;
  for (const Step& step : steps) {
    if (!step.on) continue;
    if (auto ok = step.pass(kernel); !ok) return ok;
    if (auto ok = check(step.name); !ok) return ok;
  }
  return {};
}

}  // namespace wavejit::passes
