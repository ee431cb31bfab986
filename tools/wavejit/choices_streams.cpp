// SPDX-License-Identifier: MIT
// wavejit choices --streams: the estimates against what waves really execute.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "runtime/support/guarded.hpp"
#include "tools/wavejit/choices_cases.hpp"
#include "tools/wavejit/choices_order.hpp"
#include "tools/wavejit/json.hpp"
#include "tools/wavejit/model_kernel.hpp"
#include "tools/wavejit/options.hpp"
#include "tools/wavejit/streams.hpp"

namespace wavejit::tools {
namespace {

/// One Config, its launch in clocks by each of the three.
struct Timed {
  templates::Config config;
  bool chosen = false;
  double quick = 0, model = 0, stream = 0;
  unsigned played = 0, kinds = 0;
};

struct CaseTimes {
  std::vector<Timed> timed;
  Agreement quick, model;
  double chosen_over_best = 0;  ///< by streams
};

std::vector<double> column(const std::vector<Timed>& timed, double Timed::*field) {
  std::vector<double> values;
  for (const Timed& t : timed) values.push_back(t.*field);
  return values;
}

/// The choice, the quickest half of `count` by the quick estimate (those are hard to tell apart), and others
/// evenly from there to three times the quickest's time (slower ones are easy to tell).
std::vector<Weighed> sample(std::vector<Weighed> ranking, const std::string& chosen, unsigned count) {
  const auto is_choice = [&](const Weighed& r) { return templates::canonical(r.config) == chosen; };
  constexpr double far = 3;
  std::erase_if(ranking, [&, most = far * ranking.front().time_us](const Weighed& r) {
    return r.time_us > most && !is_choice(r);
  });
  const std::size_t first = std::min<std::size_t>((count + 1) / 2, ranking.size());
  const std::size_t others = count - first, rest = ranking.size() - first;
  std::vector<Weighed> some;
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    const std::size_t at = i - std::min(i, first);
    const bool drawn = i < first || at * others / rest != (at + 1) * others / rest;
    if (drawn || is_choice(ranking[i])) some.push_back(ranking[i]);
  }
  return some;
}

Result<CaseTimes> time_case(const ChoiceCase& c, unsigned count, const target::Target& target) {
  auto problem = templates::normalise(c.problem, target);
  if (!problem) return std::unexpected(problem.error());
  const auto weighing = weigh(*problem, target, c.m);
  if (!weighing) return std::unexpected(weighing.error());
  const std::string chosen = templates::canonical(weighing->chosen);
  CaseTimes result;
  for (const Weighed& r : sample(weighing->ranked, chosen, count)) {
    const templates::Config& config = r.config;
    Timed t{.config = config,
            .chosen = templates::canonical(config) == chosen,
            .quick = r.time_us * target.timing.clock_megahertz};
    const auto kernel = model_generated(*problem, config, target, c.m);
    if (!kernel) return std::unexpected(kernel.error());
    t.model = kernel->estimate.launch_cycles;
    const auto stream = play_streams(*kernel, target, c.m);
    if (!stream) return std::unexpected(stream.error());
    t.stream = stream->clocks;
    t.played = stream->played;
    t.kinds = stream->kinds;
    result.timed.push_back(t);
  }
  const auto judge = column(result.timed, &Timed::stream);
  result.quick = agreement(column(result.timed, &Timed::quick), judge);
  result.model = agreement(column(result.timed, &Timed::model), judge);
  for (const Timed& t : result.timed)
    if (t.chosen) result.chosen_over_best = t.stream / *std::ranges::min_element(judge);
  return result;
}

Json to_json(const Agreement& a) {
  return {{"pairs", a.pairs}, {"right", a.right}, {"tau", a.tau}, {"regret", a.regret}};
}

Json to_json(const ChoiceCase& c, const CaseTimes& times) {
  Json configs = Json::array();
  for (const Timed& t : times.timed)
    configs.push_back({{"config", brief(t.config)},
                       {"chosen", t.chosen},
                       {"quick", t.quick},
                       {"model", t.model},
                       {"streams", t.stream},
                       {"workgroups_played", t.played},
                       {"workgroups_recorded", t.kinds}});
  return {{"shape", c.shape},
          {"kind", c.kind},
          {"m", c.m},
          {"configs", configs},
          {"quick", to_json(times.quick)},
          {"model", to_json(times.model)},
          {"chosen_over_best", times.chosen_over_best}};
}

void print_case(const ChoiceCase& c, const CaseTimes& times) {
  fmt::print(
      "\n{} {} m{}: quick {}/{} pairs, tau {:.3f}; model {}/{} pairs, tau {:.3f}; the choice takes {:.3f} "
      "of the best\n",
      c.kind, c.shape, c.m, times.quick.right, times.quick.pairs, times.quick.tau, times.model.right,
      times.model.pairs, times.model.tau, times.chosen_over_best);
  std::vector<Timed> sorted = times.timed;
  std::ranges::sort(sorted, {}, &Timed::stream);
  for (const Timed& t : sorted)
    fmt::print("  {:40} streams {:>10.0f}  model {:>10.0f} {:>+6.1f} %  quick {:>10.0f} {:>+6.1f} %{}\n",
               brief(t.config), t.stream, t.model, 100 * (t.model / t.stream - 1), t.quick,
               100 * (t.quick / t.stream - 1), t.chosen ? "  <- chosen" : "");
}

/// Sums over the cases.
struct Summary {
  std::size_t cases = 0, configs = 0, best = 0;
  Agreement quick, model;
  double quick_tau = 0, model_tau = 0, worst_choice = 1, mean_choice = 0;
  double quick_regret = 0, model_regret = 0;

  void add(const CaseTimes& t) {
    ++cases;
    configs += t.timed.size();
    best += t.chosen_over_best < 1.02 ? 1 : 0;
    quick.pairs += t.quick.pairs;
    quick.right += t.quick.right;
    model.pairs += t.model.pairs;
    model.right += t.model.right;
    quick_tau += t.quick.tau;
    model_tau += t.model.tau;
    quick_regret = std::max(quick_regret, t.quick.regret);
    model_regret = std::max(model_regret, t.model.regret);
    worst_choice = std::max(worst_choice, t.chosen_over_best);
    mean_choice += t.chosen_over_best;
  }
};

void print(const Summary& s) {
  const auto n = static_cast<double>(std::max<std::size_t>(s.cases, 1));
  fmt::print("\n{} cases, {} Configs; pairs that recorded streams tell apart by more than 1 %:\n", s.cases,
             s.configs);
  fmt::print(
      "  quick estimate: {} of {} in the same order ({:.1f} %), mean tau {:.3f}, worst regret {:.1f} %\n",
      s.quick.right, s.quick.pairs, 100 * s.quick.share(), s.quick_tau / n, 100 * s.quick_regret);
  fmt::print(
      "  event model:    {} of {} in the same order ({:.1f} %), mean tau {:.3f}, worst regret {:.1f} %\n",
      s.model.right, s.model.pairs, 100 * s.model.share(), s.model_tau / n, 100 * s.model_regret);
  fmt::print(
      "  the choice is within 2 % of the sample's best in {} of {} cases; mean {:+.2f} %, worst {:+.2f} %\n",
      s.best, s.cases, 100 * (s.mean_choice / n - 1), 100 * (s.worst_choice - 1));
}

}  // namespace

Result<void> compare_streams(const std::vector<ChoiceCase>& cases, unsigned count, unsigned threads,
                             const target::Target& target, bool json) {
  std::vector<Result<CaseTimes>> all(cases.size());
  std::atomic<std::size_t> next = 0;
  {
    std::vector<std::jthread> pool;
    for (unsigned t = 0; t < std::max(threads, 1U); ++t)
      pool.emplace_back([&] {
        for (std::size_t i; (i = next++) < cases.size();)
          all[i] = guarded([&] { return time_case(cases[i], count, target); });
      });
  }
  Summary summary;
  Json list = Json::array();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!all[i]) return std::unexpected(all[i].error());
    summary.add(*all[i]);
    if (json) {
      list.push_back(to_json(cases[i], *all[i]));
    } else {
      print_case(cases[i], *all[i]);
    }
  }
  if (json) {
    fmt::print("{}\n", Json{{"cases", list}}.dump(2));
  } else {
    print(summary);
  }
  return {};
}

}  // namespace wavejit::tools
