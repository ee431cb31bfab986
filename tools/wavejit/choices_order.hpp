// SPDX-License-Identifier: MIT
// How far two ways to time the same Configs agree on which is quicker.
#pragma once

#include <cstddef>
#include <span>

namespace wavejit::tools {

struct Agreement {
  std::size_t pairs = 0;  ///< that the judge tells apart by more than 1 %
  std::size_t right = 0;  ///< of those, put in the same order
  double tau = 1;         ///< Kendall's tau-b over all pairs
  double regret = 0;      ///< judge's time of the quickest by `times`, over the judge's best, less 1

  [[nodiscard]] double share() const {
    return pairs == 0 ? 1 : static_cast<double>(right) / static_cast<double>(pairs);
  }
};

/// Both of the same Configs in the same order. Kendall's tau-b: concordant less discordant pairs over the
/// geometric mean of the pairs that each side does not tie.
Agreement agreement(std::span<const double> times, std::span<const double> judge);

}  // namespace wavejit::tools
