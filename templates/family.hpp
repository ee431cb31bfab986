// SPDX-License-Identifier: MIT
// Private to templates/: what a kernel family provides. The doors of problem.hpp and kernel.hpp check what
// all families have in common and go through this table; a new family is one more entry of it.
#pragma once

#include <limits>
#include <vector>

#include "templates/kernel.hpp"

namespace wavejit::templates {

/// Problems and Configs that these functions take are normalised, but for the two that normalise.
struct Family {
  std::int64_t most_rows = std::numeric_limits<std::int64_t>::max();  ///< of one launch
  /// Of a problem that check_fields() lets pass.
  Result<Problem> (*normalise)(const Problem& problem, const target::Target& target) = nullptr;
  Result<Config> (*normalise_config)(const Config& config, const Problem& problem,
                                     const target::Target& target) = nullptr;
  /// For first <= M <= last, both at least 1 and in order.
  Result<std::vector<Selection>> (*select)(const Problem& problem, const target::Target& target,
                                           std::int64_t first, std::int64_t last) = nullptr;
  unsigned (*stages)(const Problem& problem, const Config& config) = nullptr;
  /// The kernel after its last pass; settles what `config` leaves open (occupancy).
  Result<ir::Kernel> (*compile)(const Problem& problem, Config& config, unsigned stage,
                                const target::Target& target, const passes::Observer& observer) = nullptr;
  Result<Launch> (*launch)(const Problem& problem, const Config& config, unsigned stage,
                           const target::Target& target, std::int64_t m) = nullptr;
};

const Family& family(Operation op);

/// Errors: invalid_argument when the Config has no such stage.
Result<void> check_stage(const Problem& problem, const Config& config, unsigned stage);

}  // namespace wavejit::templates
