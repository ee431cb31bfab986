// SPDX-License-Identifier: MIT
#include "runtime/check/checker.hpp"

#include "runtime/check/analyses.hpp"

namespace wavejit::check {

Report check(const lower::DecodedKernel& kernel, const target::Target& target, const Options& options) {
  Reporter reporter(kernel, options);
  const Program program = make_program(kernel, target);
  check_descriptor(program, reporter);
  check_operands(program, reporter);
  const bool too_large = !kernel.instructions.empty() && program.steps.empty();
  if (too_large) return std::move(reporter).take();
  check_flow(program, reporter);
  check_waits(program, reporter);
  check_lds_flow(program, reporter);
  check_hazards(program, reporter);
  check_replayed_clauses(program, reporter);
  check_sgpr_hazards(program, reporter);
  check_definedness(program, reporter);
  check_constants(program, reporter);
  return std::move(reporter).take();
}

std::vector<Report> check(const lower::CodeObject& object, const Options& options) {
  std::vector<Report> reports;
  if (object.target == nullptr) return reports;
  reports.reserve(object.kernels.size());
  for (const lower::DecodedKernel& kernel : object.kernels)
    reports.push_back(check(kernel, *object.target, options));
  return reports;
}

}  // namespace wavejit::check
