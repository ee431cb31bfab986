// SPDX-License-Identifier: MIT
// A generated kernel through the timing model, with the costs of its accesses from a simulated workgroup.
#pragma once

#include "generator/lower/lower.hpp"
#include "generator/model/estimate.hpp"
#include "templates/kernel.hpp"

namespace wavejit::tools {

struct ModelledKernel {
  templates::GeneratedKernel kernel;
  std::vector<isa::Instruction> code;
  model::KernelFacts facts;
  model::LaunchShape shape;
  std::vector<model::AccessNote> notes;
  model::Estimate estimate;
};

/// Costs of the accesses of workgroup 0 of `launch`, over constant data. Errors: those of the simulator.
Result<std::vector<model::AccessNote>> notes_of(const lower::DecodedKernel& kernel,
                                                const target::Target& target,
                                                const templates::Launch& launch);

/// Workgroups, iterations of the hot loop and work of `launch` for `m` rows.
model::LaunchShape shape_of(const templates::Problem& problem, const templates::Config& config,
                            const templates::Launch& launch, std::int64_t m);

/// Errors: those of generate(), the simulator and the model.
Result<ModelledKernel> model_generated(const templates::Problem& problem, const templates::Config& config,
                                       const target::Target& target, std::int64_t m,
                                       const model::RunOptions& options = {});

}  // namespace wavejit::tools
