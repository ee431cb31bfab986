// SPDX-License-Identifier: MIT
// How selection arrives at its choices; what callers need of it is in problem.hpp.
//
// A portfolio holds the few Configs that serve every M of a problem: the legal candidates are timed by
// quick_cost at some sixty M between 1 and 4096, and greedily the one that takes most off the mean excess
// over the best is added, twelve at most. Each M then takes the member that is quickest for it.
#pragma once

#include "templates/quick_cost.hpp"

namespace wavejit::templates {

struct RankedConfig {
  const Candidate* candidate = nullptr;
  QuickCost::Launch launch;
  bool member = false;  ///< of the portfolio
};

class Portfolio {
 public:
  /// `problem` must be normalised.
  Portfolio(const Problem& problem, const target::Target& target);

  [[nodiscard]] std::size_t size() const { return members_.size(); }
  [[nodiscard]] const Config& config(std::size_t member) const {
    return candidates_.legal[members_[member]].config;
  }
  /// The member that serves `m` rows.
  [[nodiscard]] std::size_t choose(std::int64_t m) const;
  [[nodiscard]] const Candidates& candidates() const { return candidates_; }
  /// Members, and candidates whose tile is not much taller than `m`, quickest first. Pointers last as long
  /// as the portfolio.
  [[nodiscard]] std::vector<RankedConfig> ranking(std::int64_t m) const;

 private:
  [[nodiscard]] double time_us(std::size_t member, std::int64_t m) const;

  Problem problem_;
  const target::Target& target_;
  Candidates candidates_;
  std::vector<std::size_t> members_;
  std::vector<QuickCost> costs_;
};

}  // namespace wavejit::templates
