// SPDX-License-Identifier: MIT
// Modelled time of a whole call: every kernel that a Config runs (split-K adds its slices in a second one),
// one after the other.
//
// A stage takes the larger of
//   computing   what the compute unit (WGP) with most workgroups takes from their dispatch to their last
//               instruction: recorded streams (streams.hpp) behind Timing::workgroup_start;
//   DRAM        each tensor of the stage once, at Timing::dram_gigabytes; split-K's partial sums, written
//   just
//               before, at the MALL's rate where half of it holds them.
// That supposes that DRAM is busy from the first clock to the last. The strict sum does not: DRAM + ramp +
// tail, with ramp = from dispatch until the first load of weights (second stage: of partial sums) returns in
// a workgroup that is alone, tail = from its last load's return until its last store has arrived, which takes
// as long as a load. What neither has: the launch itself.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "tools/wavejit/weight_counts.hpp"

namespace wavejit::tools {

/// One workgroup alone on the GPU, microseconds.
struct AloneTimes {
  double ramp_us = 0, tail_us = 0;
};

struct StageModel {
  unsigned stage = 0;
  model::KernelFacts facts;
  model::Occupancy occupancy;
  std::uint64_t workgroups = 0;        ///< that have work
  unsigned played = 0, resident = 0;   ///< of the fullest unit: in all, at once
  std::optional<WeightCounts> counts;  ///< of the stage that reads weights
  double computing_us = 0, dram_us = 0;
  double dram_bytes = 0;
  model::Busy busy;        ///< of the fullest unit while it computes
  std::string_view binds;  ///< "DRAM", or as model::binding
  AloneTimes alone;
  std::optional<double> estimate_us;  ///< computing by model::estimate, where asked for and a loop multiplies

  [[nodiscard]] double time_us() const { return std::max(computing_us, dram_us); }
  [[nodiscard]] double strict_sum_us() const { return dram_us + alone.ramp_us + alone.tail_us; }
  /// The larger of both.
  [[nodiscard]] double strict_us() const { return std::max(time_us(), strict_sum_us()); }
};

struct CallModel {
  templates::Problem problem;  ///< normalised
  templates::Config config;    ///< normalised
  std::int64_t m = 0;          ///< as launch() takes it
  std::vector<StageModel> stages;
  double weight_bytes = 0;  ///< N K / 2 of each batch or group
  double flop = 0;          ///< 2 M N K of all batches or groups

  [[nodiscard]] double time_us() const;
  [[nodiscard]] double strict_sum_us() const;
  [[nodiscard]] double strict_us() const;
  /// With a pause before each kernel: what starting it costs.
  [[nodiscard]] double time_us(double launch_gap_us) const {
    return time_us() + launch_gap_us * static_cast<double>(stages.size());
  }
};

struct CallOptions {
  std::vector<std::int64_t> group_rows;  ///< of a grouped problem
  bool estimate = true;                  ///< StageModel::estimate_us too
};

/// Clocks of a workgroup alone, from its first instruction: until the first load of a tensor returns, and
/// from the last return of any load until the later of `end` (its last instruction) and its last store's
/// arrival.
struct AloneClocks {
  model::Clock ramp = 0, tail = 0;
};

/// `trace`: all of its instructions. `tensors`: which tensor each instruction of the code accesses.
AloneClocks alone_clocks(std::span<const model::IssueEvent> trace, model::Clock end,
                         std::span<const int> tensors, int tensor);

/// Errors: those of generate(), the simulator and the model.
Result<CallModel> model_call(const templates::Problem& problem, const templates::Config& config,
                             const target::Target& target, std::int64_t m, const CallOptions& options = {});

/// Dense bf16 peak at the model's clock.
double peak_tflops(const target::Target& target);

}  // namespace wavejit::tools
