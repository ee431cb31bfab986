// SPDX-License-Identifier: MIT
// The kernels that selection takes for the published bf16 x int4 products, and what counts and model say of
// them.
#pragma once

#include <optional>

#include "tools/wavejit/call_model.hpp"
#include "tools/wavejit/published_rows.hpp"

namespace wavejit::tools {

struct PublishedOptions {
  std::int64_t group = 128;  ///< weights that share a scale
  templates::DataType scale_type = templates::DataType::bf16;
  double launch_gap_us = 0;                 ///< before each kernel, beside the modelled time
  std::optional<templates::Config> config;  ///< in place of the selected one
};

struct PublishedResult {
  PublishedRow row;
  const target::Target* target = nullptr;
  CallModel call;
  double launch_gap_us = 0;

  /// With launch gaps.
  [[nodiscard]] double call_us() const { return call.time_us(launch_gap_us); }
  /// GB/s of the weights' bytes alone, at a time of the call.
  [[nodiscard]] double gigabytes(double us) const { return call.weight_bytes / us * 1e-3; }
  [[nodiscard]] double tflops() const { return call.flop / call.time_us() * 1e-6; }
  /// Of what the model takes DRAM to deliver.
  [[nodiscard]] double dram_share(double us) const { return gigabytes(us) / target->timing.dram_gigabytes; }
  [[nodiscard]] double peak_share() const { return tflops() / peak_tflops(*target); }
  [[nodiscard]] bool comparable() const { return target->name == published_gpu; }
  /// Published time over ours, whole calls, launch gaps in ours; unset on another GPU than the published one.
  [[nodiscard]] std::optional<double> speedup(double us) const;
  /// What ties the call down: of its longest stage.
  [[nodiscard]] const StageModel& longest() const;
};

/// The row's problem, with additive zero points.
templates::Problem problem_of(const PublishedRow& row, const PublishedOptions& options);

/// Errors: those of selection and model_call.
Result<PublishedResult> model_row(const PublishedRow& row, const target::Target& target,
                                  const PublishedOptions& options);

}  // namespace wavejit::tools
