// SPDX-License-Identifier: MIT
// A generated kernel (of a Config that runs several, the one that reads the weights) through the timing
// model, with the costs of its accesses from a simulated workgroup.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "generator/lower/lower.hpp"
#include "generator/model/estimate.hpp"
#include "runtime/device/sim/memory.hpp"
#include "templates/kernel.hpp"

namespace wavejit::tools {

/// Bytes of a tensor that must not be arbitrary: row counts of groups.
struct TensorBytes {
  std::string name;
  std::vector<std::byte> bytes;  ///< from the tensor's first on
};

/// group_rows of a grouped problem.
TensorBytes group_rows(std::span<const std::int64_t> rows);

/// A kernel made ready for the model.
struct PreparedKernel {
  templates::GeneratedKernel kernel;
  std::vector<isa::Instruction> code;
  model::KernelFacts facts;
  std::vector<model::AccessNote> notes;
  templates::Launch launch;
  std::vector<TensorBytes> contents;    ///< of tensors that are not filled with a constant
  std::vector<std::uint64_t> executed;  ///< each instruction, by all waves of the simulated workgroup
  /// Of the hot loop, counted by the simulated workgroup: pipelining peels steps off, which the prologue and
  /// the epilogue do.
  std::uint64_t iterations = 0;

  /// Its hot loop and what lies around it (model::hot_stretches).
  [[nodiscard]] model::Prepared stretches() const;
};

struct PrepareOptions {
  std::optional<unsigned> stage;      ///< of a Config that runs several kernels; without: the last
  std::vector<TensorBytes> contents;  ///< a grouped problem's group_rows
  bool simulate = true;               ///< else measure_accesses is left to the caller
};

/// Errors: those of generate() and the simulator. `m` rows: how many there are decides what a tile loads.
Result<PreparedKernel> prepare_generated(const templates::Problem& problem, const templates::Config& config,
                                         const target::Target& target, std::int64_t m,
                                         const PrepareOptions& options = {});

/// Simulates workgroup 0: notes, executed, iterations. Errors: those of the simulator.
Result<void> measure_accesses(PreparedKernel& kernel);

struct ModelledKernel : PreparedKernel {
  model::LaunchShape shape;
  model::Estimate estimate;
};

/// `m` rows shared among `groups` as evenly as can be, the first ones taking one more.
std::vector<std::int64_t> even_groups(std::int64_t m, std::int64_t groups);

/// The launch's tensors over constant data and `contents` (a grouped product's rows shared evenly where they
/// are not among these), and the kernel arguments that say where. Errors: those of the simulator's memory.
Result<std::vector<std::byte>> place_tensors(const templates::Launch& launch, sim::Memory& memory,
                                             std::span<const TensorBytes> contents = {});

/// Workgroups that the fullest unit holds at once: as many as fit and as there are. 0 when none fits.
unsigned resident_workgroups(const model::KernelFacts& facts, const target::Target& target,
                             const std::array<std::uint32_t, 3>& grid);

/// Costs of the accesses of workgroup 0 of `launch`, over the same data; `facts` say how many workgroups
/// share a level-1 cache. Errors: those of the simulator.
Result<std::vector<model::AccessNote>> notes_of(const lower::DecodedKernel& kernel,
                                                const model::KernelFacts& facts, const target::Target& target,
                                                const templates::Launch& launch,
                                                std::vector<std::uint64_t>* executed = nullptr,
                                                std::span<const TensorBytes> contents = {});

/// Work of `launch` for `m` rows (of each batch; grouped: of all groups) whose workgroups run the hot loop
/// `iterations` times.
model::LaunchShape shape_of(const templates::Problem& problem, const templates::Config& config,
                            const templates::Launch& launch, std::int64_t m, std::uint64_t iterations);

/// How often one wave ran the hot loop of `code`, from the executions of each instruction by a workgroup of
/// `waves`; at least 1.
std::uint64_t iterations_in(std::span<const isa::Instruction> code, unsigned waves,
                            std::span<const std::uint64_t> executed);

/// Long enough that kernels which wait for memory settle: what every command's modelled time comes from.
inline constexpr model::RunOptions settled{.warm_iterations = 10, .iterations = 40};

/// One kernel of a launch; without `stage` the one that reads the weights. Errors: those of generate(), the
/// simulator and the model.
Result<ModelledKernel> model_generated(const templates::Problem& problem, const templates::Config& config,
                                       const target::Target& target, std::int64_t m,
                                       const model::RunOptions& options = settled,
                                       std::optional<unsigned> stage = {});

/// Microseconds of the launch's kernels without that of `stage`. `config` must be normalised for `problem`.
Result<double> other_kernels_us(const templates::Problem& problem, const templates::Config& config,
                                const target::Target& target, std::int64_t m, unsigned stage);

/// Microseconds of a launch, the sum over its kernels: the modelled time that `explain`, `--explain-choice`,
/// `choices`, `model` and `tune --device sim` say, so that they agree. Errors: those of model_generated().
Result<double> modelled_us(const templates::Problem& problem, const templates::Config& config,
                           const target::Target& target, std::int64_t m);

}  // namespace wavejit::tools
