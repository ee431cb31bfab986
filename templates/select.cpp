// SPDX-License-Identifier: MIT
// Selection: all Configs that suit a problem are weighed by quick_cost; few of them, the problem's portfolio,
// serve all M.
#include "templates/select.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "templates/cdna/family.hpp"
#include "templates/w4a16/family.hpp"

namespace wavejit::templates {
namespace {

/// Kernels that one problem may need: each costs its compilation in prepare().
constexpr std::size_t most_kernels = 12;
/// Every choice changes at multiples of 16 rows only, which all heights are.
constexpr std::int64_t row_step = 16;

/// M at which the portfolio is judged: 1 and multiples of 16, denser where launches are short.
std::vector<std::int64_t> sample_rows() {
  std::vector<std::int64_t> rows{1};
  for (std::int64_t m = row_step; m <= 4096; m += std::max(row_step, m / 8 / row_step * row_step))
    rows.push_back(m);
  // The published measurements' rows: one is not better than another, but these are quoted.
  for (const std::int64_t m : {1322, 2858}) rows.push_back(m);
  return rows;
}

/// A tile of more than twice the rows computes mostly nothing, whatever its other merits.
bool worth_a_look(const Config& c, std::int64_t m) { return c.bm < 2 * std::max<std::int64_t>(m, row_step); }

/// Time at each sampled M, by candidate.
class Table {
 public:
  Table(const std::vector<Candidate>& all, const Problem& p, const target::Target& target,
        std::vector<std::int64_t> rows)
      : rows_(std::move(rows)), best_(rows_.size(), std::numeric_limits<double>::infinity()) {
    times_.reserve(all.size());
    for (const Candidate& c : all) {
      const QuickCost full(c, p, target, c.footprint.rows);
      std::vector<double>& times = times_.emplace_back(rows_.size(), std::numeric_limits<double>::infinity());
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (!worth_a_look(c.config, rows_[i])) continue;
        const unsigned loaded = rows_loaded(c, rows_[i]);
        times[i] = loaded == c.footprint.rows ? full.time_us(rows_[i])
                                              : QuickCost(c, p, target, loaded).time_us(rows_[i]);
        best_[i] = std::min(best_[i], times[i]);
      }
    }
  }

  /// The candidate that, added to what `served` holds, takes most off the mean of log(time / best).
  [[nodiscard]] std::size_t next(const std::vector<double>& served, double& gain) const {
    std::size_t best = 0;
    gain = 0;
    for (std::size_t c = 0; c < times_.size(); ++c) {
      double sum = 0;
      for (std::size_t i = 0; i < rows_.size(); ++i)
        if (times_[c][i] < served[i]) sum += loss(served[i], i) - loss(times_[c][i], i);
      if (sum > gain) {
        gain = sum;
        best = c;
      }
    }
    return best;
  }
  void serve(std::size_t c, std::vector<double>& served) const {
    for (std::size_t i = 0; i < rows_.size(); ++i) served[i] = std::min(served[i], times_[c][i]);
  }
  [[nodiscard]] std::size_t size() const { return rows_.size(); }

 private:
  /// Excess over the best, at most what an unserved M counts.
  [[nodiscard]] double loss(double time, std::size_t i) const {
    constexpr double unserved = 10;
    return std::isinf(time) ? unserved : std::min(time / best_[i] - 1, unserved);
  }
  std::vector<std::int64_t> rows_;
  std::vector<double> best_;
  std::vector<std::vector<double>> times_;
};

}  // namespace

Portfolio::Portfolio(const Problem& problem, const target::Target& target)
    : problem_(problem), target_(target), candidates_(templates::candidates(problem, target)) {
  const Table table(candidates_.legal, problem, target, sample_rows());
  std::vector<double> served(table.size(), std::numeric_limits<double>::infinity());
  while (members_.size() < most_kernels) {
    double gain = 0;
    const std::size_t c = table.next(served, gain);
    constexpr double worth_a_kernel = 0.0005;  // of the mean excess
    if (gain <= worth_a_kernel * static_cast<double>(table.size())) break;
    table.serve(c, served);
    members_.push_back(c);
  }
  for (const std::size_t c : members_)
    costs_.emplace_back(candidates_.legal[c], problem, target, candidates_.legal[c].footprint.rows);
}

double Portfolio::time_us(std::size_t member, std::int64_t m) const {
  const Candidate& c = candidates_.legal[members_[member]];
  const unsigned loaded = rows_loaded(c, m);
  return loaded == c.footprint.rows ? costs_[member].time_us(m)
                                    : QuickCost(c, problem_, target_, loaded).time_us(m);
}

std::size_t Portfolio::choose(std::int64_t m) const {
  const std::int64_t rows = (m + row_step - 1) / row_step * row_step;
  std::size_t best = 0;
  double best_time = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    // A tile much taller than M was judged for others: here it has to be clearly better.
    constexpr double doubt = 1.1;
    const double time = time_us(i, rows) * (worth_a_look(config(i), rows) ? 1 : doubt);
    if (time < best_time) {
      best = i;
      best_time = time;
    }
  }
  return best;
}

std::vector<RankedConfig> Portfolio::ranking(std::int64_t m) const {
  std::vector<RankedConfig> all;
  for (std::size_t i = 0; i < candidates_.legal.size(); ++i) {
    const Candidate& c = candidates_.legal[i];
    const bool member = std::ranges::find(members_, i) != members_.end();
    if (!member && !worth_a_look(c.config, m)) continue;
    all.push_back({&c, QuickCost(c, problem_, target_, rows_loaded(c, m)).launch(m), member});
  }
  std::ranges::stable_sort(all, {}, [](const RankedConfig& r) { return r.launch.time_us; });
  return all;
}

double Portfolio::chosen_time_us(std::int64_t m) const {
  return time_us(choose(m), (m + row_step - 1) / row_step * row_step);
}

namespace {

RowRange step_of(std::int64_t m, std::int64_t width) {
  const std::int64_t before = (m - 1) / width * width;
  return {before + 1, before + width};
}
std::int64_t below(std::int64_t m) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(m - 1)));
}

}  // namespace

RowRange choice_step(std::int64_t m) {
  if (m == 1) return {1, 1};
  // Above 2^16 rows, 2048 steps an octave: a range up to 2^31 is gone through in a moment.
  return step_of(m, m <= skinny::max_m ? below(m) : std::max(row_step, below(m) / 2048));
}

RowRange tuning_step(std::int64_t m) {
  if (m <= 128) return choice_step(m);
  return step_of(m, m <= 1024 ? 64 : m <= 8192 ? 256 : below(m));
}

Decision decide(const Portfolio& portfolio, const Problem& problem, const target::Target& target,
                std::int64_t m) {
  Decision d;
  const RowRange step = choice_step(m);
  d.first = step.first;
  d.last = step.last;
  d.skinny_choice = skinny::choose(problem, target, d.last);
  if (portfolio.size() > 0) {
    d.member = portfolio.choose(d.last);
    d.tile_us = portfolio.chosen_time_us(d.last);
  }
  d.skinny = d.skinny_choice && (!d.member || d.skinny_choice->cost.time_us <= d.tile_us);
  return d;
}

Result<std::vector<Selection>> w4a16::select(const Problem& problem, const target::Target& target,
                                             std::int64_t first, std::int64_t last) {
  if (cdna::serves(target)) return cdna::select(problem, target, first, last);
  const Portfolio portfolio(problem, target);
  if (portfolio.size() == 0 && !(last <= skinny::max_m && skinny::choose(problem, target, last))) {
    // No Config is legal: the plainest one says why.
    Config plain;
    plain.bm = plain.bk = 16;
    plain.waves = 4;
    const auto fitted = w4a16::normalise(plain, problem, target);
    if (!fitted) return std::unexpected(fitted.error());
    return fail_field(ErrorCode::invalid_argument, "grid.y", std::to_string((problem.n + 255) / 256),
                      "at most 65535 tiles of 256 columns; fewer output columns would do");
  }
  std::vector<Selection> selections;
  std::string before;
  for (std::int64_t m = first; m <= last;) {
    const Decision d = decide(portfolio, problem, target, m);
    const Config& config = d.skinny ? d.skinny_choice->config : portfolio.config(*d.member);
    const std::int64_t end = std::min(last, d.last);
    std::string text = templates::canonical(config);
    if (text == before) {
      selections.back().last = end;
    } else {
      selections.push_back({m, end, config});
      before = std::move(text);
    }
    m = end + 1;
  }
  return selections;
}

}  // namespace wavejit::templates
