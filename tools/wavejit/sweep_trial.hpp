// SPDX-License-Identifier: MIT
// One problem on one target, as `wavejit sweep` tries it: chosen and generated, or prepared by an engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/engine/engine.hpp"
#include "tools/wavejit/json.hpp"
#include "tools/wavejit/sweep_kernels.hpp"
#include "tools/wavejit/sweep_problems.hpp"

namespace wavejit::tools {

struct TrialFailure {
  std::vector<std::int64_t> m;  ///< rows that have no kernel
  std::string config;           ///< canonical; empty when none was chosen
  unsigned stage = 0;
  Error error;
};

struct TrialResult {
  std::string problem;  ///< canonical
  templates::Operation op{};
  const target::Target* target = nullptr;
  std::vector<std::int64_t> m;
  std::size_t configs = 0, kernels = 0, shared = 0;  ///< chosen; compiled here; compiled before for another
  double cpu_ms = 0;
  std::vector<TrialFailure> failures;
};

/// One line of a sweep's JSON lines.
Json to_json(const TrialResult& result);

/// Chooses for all rows up to the largest of `rows`, and generates what serves `rows` (of kquant those up to
/// most_rows()). Each Config must launch with these rows and keep a tile's step along K within one group.
TrialResult choose_and_generate(const templates::Problem& problem, const target::Target& target,
                                const std::vector<std::int64_t>& rows, SweptKernels& kernels);

/// Engine::prepare for 1 to `last` rows, on a simulated device of `target`; cpu_ms is the process's.
TrialResult prepare_all(Engine& engine, const templates::Problem& problem, const target::Target& target,
                        std::int64_t last);

}  // namespace wavejit::tools
