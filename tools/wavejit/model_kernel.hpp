// SPDX-License-Identifier: MIT
// A generated kernel (of a Config that runs several, the last one) through the timing model, with the costs
// of its accesses from a simulated workgroup.
#pragma once

#include "generator/lower/lower.hpp"
#include "generator/model/estimate.hpp"
#include "templates/kernel.hpp"

namespace wavejit::tools {

/// A kernel made ready for the model.
struct PreparedKernel {
  templates::GeneratedKernel kernel;
  std::vector<isa::Instruction> code;
  model::KernelFacts facts;
  std::vector<model::AccessNote> notes;
  std::uint64_t iterations = 0;  ///< of the hot loop, counted by the simulated workgroup

  /// Its hot loop and what lies around it. Errors: invalid_argument when it has no loop.
  [[nodiscard]] Result<model::Prepared> stretches() const;
};

/// Errors: those of generate() and the simulator. `m` rows: how many there are decides what a tile loads.
Result<PreparedKernel> prepare_generated(const templates::Problem& problem, const templates::Config& config,
                                         const target::Target& target, std::int64_t m);

/// What the model wants to know of a launch of `m` rows.
Result<model::LaunchShape> launch_shape(const templates::Problem& problem, const templates::Config& config,
                                        const target::Target& target, std::int64_t m);

struct ModelledKernel : PreparedKernel {
  model::LaunchShape shape;
  model::Estimate estimate;
};

/// Costs of the accesses of workgroup 0 of `launch`, over constant data. Errors: those of the simulator.
Result<std::vector<model::AccessNote>> notes_of(const lower::DecodedKernel& kernel,
                                                const target::Target& target, const templates::Launch& launch,
                                                std::vector<std::uint64_t>* executed = nullptr);

/// Workgroups, iterations of the hot loop and work of `launch` for `m` rows.
model::LaunchShape shape_of(const templates::Problem& problem, const templates::Config& config,
                            const templates::Launch& launch, std::int64_t m);

/// Errors: those of generate(), the simulator and the model.
Result<ModelledKernel> model_generated(const templates::Problem& problem, const templates::Config& config,
                                       const target::Target& target, std::int64_t m,
                                       const model::RunOptions& options = {});

}  // namespace wavejit::tools
