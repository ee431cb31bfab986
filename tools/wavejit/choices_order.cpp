// SPDX-License-Identifier: MIT
#include "tools/wavejit/choices_order.hpp"

#include <algorithm>
#include <cmath>

namespace wavejit::tools {

Agreement agreement(std::span<const double> times, std::span<const double> judge) {
  constexpr double tie = 1.01;
  Agreement a;
  double concordant = 0, discordant = 0, told = 0, told_by_judge = 0;
  for (std::size_t i = 0; i < judge.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const double x = times[i] - times[j], y = judge[i] - judge[j];
      told += x != 0 ? 1 : 0;
      told_by_judge += y != 0 ? 1 : 0;
      concordant += x * y > 0 ? 1 : 0;
      discordant += x * y < 0 ? 1 : 0;
      if (std::max(judge[i], judge[j]) < tie * std::min(judge[i], judge[j])) continue;
      ++a.pairs;
      a.right += x * y > 0 ? 1 : 0;
    }
  if (told * told_by_judge > 0) a.tau = (concordant - discordant) / std::sqrt(told * told_by_judge);
  if (!judge.empty()) {
    const auto chosen = std::ranges::min_element(times) - times.begin();
    a.regret = judge[static_cast<std::size_t>(chosen)] / *std::ranges::min_element(judge) - 1;
  }
  return a;
}

}  // namespace wavejit::tools
