// SPDX-License-Identifier: MIT
// What `wavejit choices` is asked about, and its comparison with recorded streams.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/support/error.hpp"
#include "generator/target/target.hpp"
#include "templates/problem.hpp"

namespace wavejit::tools {

struct ChoiceCase {
  std::string shape, kind;  ///< "gate_up"; "bf16+zp"
  templates::Problem problem;
  std::int64_t m = 0;
};

/// A Config that selection weighs, and what it goes by.
struct Weighed {
  templates::Config config;
  double time_us = 0;
};

/// What selection weighs for a case: on RDNA the tiles of the portfolio's ranking and the skinny kernel,
/// where one serves the rows; on CDNA all tiles and decode kernels.
struct Weighing {
  std::vector<Weighed> ranked;  ///< quickest first, never empty
  templates::Config chosen;     ///< one of them
  std::size_t considered = 0, legal = 0;
};
/// Errors: none of them suits the problem and the target.
Result<Weighing> weigh(const templates::Problem& problem, const target::Target& target, std::int64_t m);

/// For each case the choice and `count` more Configs (half of them the
/// quickest by the ranking) are timed three ways: by the
/// quick estimate that selection uses, by model::estimate (steady state, trip counts, mean access costs), and
/// by the streams that the simulator recorded (streams.hpp); the last two of the kernel that reads the
/// weights. Prints how the first two agree with the last. Errors: those of generate(), the simulator and the
/// model.
Result<void> compare_streams(const std::vector<ChoiceCase>& cases, unsigned count, unsigned threads,
                             const target::Target& target, bool json);

}  // namespace wavejit::tools
