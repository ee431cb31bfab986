// SPDX-License-Identifier: MIT
// A generated kernel through the timing model, with the costs of its accesses from a simulated workgroup.
#pragma once

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

/// Errors: those of generate(), the simulator and the model.
Result<ModelledKernel> model_generated(const templates::Problem& problem, const templates::Config& config,
                                       const target::Target& target, std::int64_t m,
                                       const model::RunOptions& options = {});

}  // namespace wavejit::tools
