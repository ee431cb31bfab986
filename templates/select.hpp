// SPDX-License-Identifier: MIT
// How selection arrives at its choices; what callers need of it is in problem.hpp.
//
// A portfolio holds the few Configs that serve every M of a problem: the legal candidates are timed by
// quick_cost at some sixty M between 1 and 4096, and greedily the one that takes most off the mean excess
// over the best is added, twelve at most. Each M then takes the member that is quickest for it; up to 16 rows
// the skinny kernel of templates/skinny/choose.hpp where that is no slower.
#pragma once

#include <optional>

#include "templates/quick_cost.hpp"
#include "templates/skinny/choose.hpp"

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
  /// What quick_cost says of that.
  [[nodiscard]] double chosen_time_us(std::int64_t m) const;
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

/// Rows from `first` to `last` for which one choice holds: a power of two's up to 16, where decode kernels
/// change, then 16, as all tiles' heights are multiples of it, and beyond 65536 a 2048th of an octave.
struct RowRange {
  std::int64_t first = 1, last = 1;
};
RowRange choice_step(std::int64_t m);
/// The rows that one timing stands for: choice_step up to 128, then 64 rows up to 1024, 256 up to 8192, then
/// octaves. No choice of selection, CDNA's included, changes inside of one up to 128 rows.
RowRange tuning_step(std::int64_t m);

/// What serves `m` rows, and why. One of the two times decides: the smaller; the skinny kernel's of equals.
struct Decision {
  bool skinny = false;
  std::int64_t first = 1, last = 1;             ///< around m, for which it is the same
  std::optional<skinny::Choice> skinny_choice;  ///< where there is one, of the most rows it serves
  std::optional<std::size_t> member;            ///< of the portfolio, where that is not empty
  double tile_us = 0;
};
Decision decide(const Portfolio& portfolio, const Problem& problem, const target::Target& target,
                std::int64_t m);

}  // namespace wavejit::templates
