// SPDX-License-Identifier: MIT
// A generated kernel (of a Config that runs several, the one that reads the weights) through the timing
// model, with the costs of its accesses from a simulated workgroup.
#pragma once

#include "generator/lower/lower.hpp"
#include "generator/model/estimate.hpp"
#include "runtime/device/sim/memory.hpp"
#include "templates/kernel.hpp"

namespace wavejit::tools {

/// A kernel made ready for the model.
struct PreparedKernel {
  templates::GeneratedKernel kernel;
  std::vector<isa::Instruction> code;
  model::KernelFacts facts;
  std::vector<model::AccessNote> notes;
  templates::Launch launch;
  /// Of the hot loop, counted by the simulated workgroup: pipelining peels steps off, which the prologue and
  /// the epilogue do.
  std::uint64_t iterations = 0;

  /// Its hot loop and what lies around it. Errors: invalid_argument when it has no loop.
  [[nodiscard]] Result<model::Prepared> stretches() const;
};

/// Errors: those of generate() and the simulator. `m` rows: how many there are decides what a tile loads.
Result<PreparedKernel> prepare_generated(const templates::Problem& problem, const templates::Config& config,
                                         const target::Target& target, std::int64_t m);

struct ModelledKernel : PreparedKernel {
  model::LaunchShape shape;
  model::Estimate estimate;
};

/// `m` rows shared among `groups` as evenly as can be, the first ones taking one more.
std::vector<std::int64_t> even_groups(std::int64_t m, std::int64_t groups);

/// The launch's tensors over constant data (a grouped product's rows shared evenly), and the kernel arguments
/// that say where. Errors: those of the simulator's memory.
Result<std::vector<std::byte>> place_tensors(const templates::Launch& launch, sim::Memory& memory);

/// Costs of the accesses of workgroup 0 of `launch`, over constant data. Errors: those of the simulator.
Result<std::vector<model::AccessNote>> notes_of(const lower::DecodedKernel& kernel,
                                                const target::Target& target, const templates::Launch& launch,
                                                std::vector<std::uint64_t>* executed = nullptr);

/// Work of `launch` for `m` rows whose workgroups run the hot loop `iterations` times.
model::LaunchShape shape_of(const templates::Problem& problem, const templates::Config& config,
                            const templates::Launch& launch, std::int64_t m, std::uint64_t iterations);

/// How often one wave ran the hot loop of `code`, from the executions of each instruction by a workgroup of
/// `waves`; at least 1.
std::uint64_t iterations_in(std::span<const isa::Instruction> code, unsigned waves,
                            std::span<const std::uint64_t> executed);

/// Errors: those of generate(), the simulator and the model.
Result<ModelledKernel> model_generated(const templates::Problem& problem, const templates::Config& config,
                                       const target::Target& target, std::int64_t m,
                                       const model::RunOptions& options = {});

}  // namespace wavejit::tools
