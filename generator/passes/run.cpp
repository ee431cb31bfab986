// SPDX-License-Identifier: MIT
#include <span>

#include "generator/passes/passes.hpp"

namespace wavejit::passes {
namespace {

struct Step {
  std::string_view name;
  bool on;
  std::function<Result<void>(ir::Kernel&)> pass;
};

/// Who watches also wants to know which pass broke a rule of the IR. Otherwise the verifier, which costs as
/// much as several passes, has had its say in the tests; what comes out is checked as machine code
/// (runtime/check).
Result<void> check(const ir::Kernel& kernel, std::string_view after, const Observer& observer) {
  if (!observer) return {};
  observer(after, kernel);
  auto ok = ir::verify(kernel);
  if (!ok) ok.error().message = "after " + std::string(after) + ": " + ok.error().message;
  return ok;
}

Result<void> run_steps(ir::Kernel& kernel, std::span<const Step> steps, const Observer& observer) {
  for (const Step& step : steps) {
    if (!step.on) continue;
    if (auto ok = step.pass(kernel); !ok) return ok;
    if (auto ok = check(kernel, step.name, observer); !ok) return ok;
  }
  return {};
}

}  // namespace

const Observer& verifying() {
  static const Observer nothing_else = [](std::string_view, const ir::Kernel&) {};
  return nothing_else;
}

Result<void> prepare(ir::Kernel& kernel, const Options& options, const Observer& observer) {
  const Step steps[] = {
      {"scalar_offsets", options.scalar_offsets, scalar_offsets},
      {"pipeline", true, [&](ir::Kernel& k) { return pipeline(k, options.pipeline); }},
      {"lower_loops", true, lower_loops},
      {"merge_blocks", options.merge_blocks, merge_blocks},
  };
  if (auto ok = check(kernel, "build", observer); !ok) return ok;
  return run_steps(kernel, steps, observer);
}

Result<void> finish(ir::Kernel& kernel, const Options& options, const Observer& observer,
                    const Scheduler::Order* order) {
  const auto in_order = [&](ir::Kernel& k) -> Result<void> {
    if (order == nullptr) return schedule(k, options.scheduling);
    reorder(k, *order);
    return {};
  };
  const Step steps[] = {
      {"schedule", options.schedule, in_order},
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
  return run_steps(kernel, steps, observer);
}

Result<void> run(ir::Kernel& kernel, const Options& options, const Observer& observer) {
  if (auto ok = prepare(kernel, options, observer); !ok) return ok;
  return finish(kernel, options, observer);
}

}  // namespace wavejit::passes
