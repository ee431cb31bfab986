// SPDX-License-Identifier: MIT
// wavejit choices: what selection chooses for the published shapes, and how well its quick estimate agrees
// with the modelled time that `explain` prints: order over pairs of Configs, regret of each choice.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <ctime>
#include <limits>
#include <memory>
#include <thread>

#include "runtime/support/guarded.hpp"
#include "templates/cdna/candidates.hpp"
#include "templates/cdna/family.hpp"
#include "templates/cdna/ranking.hpp"
#include "templates/select.hpp"
#include "tools/wavejit/choices_cases.hpp"
#include "tools/wavejit/choices_order.hpp"
#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/json.hpp"
#include "tools/wavejit/model_kernel.hpp"
#include "tools/wavejit/options.hpp"
#include "tools/wavejit/progress.hpp"
#include "tools/wavejit/shapes.hpp"

namespace wavejit::tools {
namespace {

struct Options {
  std::string target = "gfx1151";
  std::vector<std::int64_t> rows{1, 16, 64, 128, 333, 1322, 2858};
  std::vector<std::string> kinds{"bf16", "bf16+zp", "f16", "f16+zp"};
  std::vector<std::string> shapes;
  std::vector<std::int64_t> size;  ///< N, K, group of one more shape
  unsigned top = 0, every = 8, streams = 0, threads = 0;
  bool model = false, held_out = false, json = false;
};

using Case = ChoiceCase;

/// One Config of a case, by both estimates.
struct Judged {
  double quick = 0, modelled = 0;
};

struct Answer {
  std::size_t considered = 0, legal = 0;
  double choose_ms = 0;  ///< CPU time of the choice from nothing
  templates::Config config;
  double quick_us = 0, modelled_us = 0, best_us = 0;
  std::string best;
  std::size_t judged = 0, failed = 0;
  double agreement = 0;  ///< of pairs of Configs that the model tells apart by more than 1 %, the same order
  [[nodiscard]] double regret() const { return modelled_us / best_us - 1; }
};

std::vector<NamedShape> shapes_of(const Options& o) {
  if (o.size.size() == 3) return {{"given", o.size[0], o.size[1], o.size[2]}};
  const auto all = o.held_out ? held_out_shapes() : named_shapes();
  std::vector<NamedShape> some;
  for (const NamedShape& s : all)
    if (o.shapes.empty() || std::ranges::find(o.shapes, s.name) != o.shapes.end()) some.push_back(s);
  return some;
}

std::vector<Case> cases_of(const Options& o) {
  std::vector<Case> all;
  for (const std::string& kind : o.kinds)
    for (const NamedShape& s : shapes_of(o))
      for (const std::int64_t m : o.rows) {
        templates::Problem p;
        p.n = s.n;
        p.k = s.k;
        p.group = s.group;
        if (kind.starts_with("f16")) p.activation = templates::DataType::f16;
        if (kind.ends_with("+zp")) p.zero_points = templates::ZeroPoints::packed;
        all.push_back({std::string(s.name), kind, p, m});
      }
  return all;
}

double order_of_quick(const std::vector<Judged>& all) {
  std::vector<double> quick, modelled;
  for (const Judged& j : all) {
    quick.push_back(j.quick);
    modelled.push_back(j.modelled);
  }
  return agreement(quick, modelled).share();
}

double cpu_milliseconds() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

Result<Answer> answer(const Case& c, const Options& o, const target::Target& target) {
  auto problem = templates::normalise(c.problem, target);
  if (!problem) return std::unexpected(problem.error());
  Answer a;
  const double start = cpu_milliseconds();
  const auto weighing = weigh(*problem, target, c.m);
  if (!weighing) return std::unexpected(weighing.error());
  a.choose_ms = cpu_milliseconds() - start;
  a.config = weighing->chosen;
  a.considered = weighing->considered;
  a.legal = weighing->legal;
  const std::vector<Weighed>& ranking = weighing->ranked;
  const std::string chosen = templates::canonical(a.config);
  std::vector<Judged> judged;
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    const templates::Config& config = ranking[i].config;
    const bool is_choice = templates::canonical(config) == chosen;
    if (is_choice) a.quick_us = ranking[i].time_us;
    if (!o.model || !(is_choice || i < o.top || (o.every > 0 && i % o.every == 0))) continue;
    const auto us = modelled_us(*problem, config, target, c.m);
    if (!us) {
      ++a.failed;
      if (is_choice) return std::unexpected(us.error());
      continue;
    }
    judged.push_back({ranking[i].time_us, *us});
    if (is_choice) a.modelled_us = *us;
    if (a.best_us == 0 || *us < a.best_us) {
      a.best_us = *us;
      a.best = brief(config);
    }
  }
  a.judged = judged.size();
  a.agreement = order_of_quick(judged);
  return a;
}

void print_summary(const std::vector<Answer>& all) {
  double regret = 0, worst = 0, agree = 0, least = 1, slowest = 0;
  for (const Answer& a : all) {
    regret += a.regret();
    worst = std::max(worst, a.regret());
    agree += a.agreement;
    least = std::min(least, a.agreement);
    slowest = std::max(slowest, a.choose_ms);
  }
  const auto n = static_cast<double>(all.size());
  fmt::print("\n{} choices, the slowest in {:.1f} ms of CPU time\n", all.size(), slowest);
  if (all.empty() || all.front().best_us == 0) return;
  fmt::print("regret: mean {:.2f} %, worst {:.2f} %\norder of pairs: mean {:.1f} % right, worst {:.1f} %\n",
             100 * regret / n, 100 * worst, 100 * agree / n, 100 * least);
}

void print_table(const std::vector<Case>& cases, const std::vector<Answer>& answers, bool model) {
  std::size_t width = std::string_view("choice").size();
  for (const Answer& a : answers) width = std::max(width, brief(a.config).size());
  fmt::print("{:8} {:9} {:>5}  {:{}} {:>9}", "kind", "shape", "M", "choice", width, "quick us");
  if (model)
    fmt::print(" {:>9} {:>9} {:>7} {:>6} {:>6}  {}", "model us", "best us", "regret", "order", "of",
               "best by the model");
  fmt::print("\n");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Answer& a = answers[i];
    fmt::print("{:8} {:9} {:>5}  {:{}} {:>9.1f}", cases[i].kind, cases[i].shape, cases[i].m, brief(a.config),
               width, a.quick_us);
    if (model)
      fmt::print(" {:>9.1f} {:>9.1f} {:>6.1f}% {:>5.1f}% {:>6}  {}{}", a.modelled_us, a.best_us,
                 100 * a.regret(), 100 * a.agreement, a.judged, a.best,
                 a.failed == 0 ? "" : fmt::format(" ({} failed)", a.failed));
    fmt::print("\n");
  }
}

void print_json(const std::vector<Case>& cases, const std::vector<Answer>& answers) {
  Json list = Json::array();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Answer& a = answers[i];
    Json j{{"shape", cases[i].shape},
           {"kind", cases[i].kind},
           {"m", cases[i].m},
           {"config", templates::canonical(a.config)},
           {"quick_us", a.quick_us}};
    if (a.judged > 0)
      j.update({{"time_us", a.modelled_us},
                {"best_us", a.best_us},
                {"best", a.best},
                {"judged", a.judged},
                {"failed", a.failed},
                {"order", a.agreement}});
    list.push_back(std::move(j));
  }
  fmt::print("{}\n", Json{{"cases", list}}.dump(2));
}

Result<void> choices(const Options& o) {
  const target::Target* target = target::find(o.target);
  if (target == nullptr)
    return fail_field(ErrorCode::unknown_target, "target", o.target, "one of " + target_names());
  const std::vector<Case> cases = cases_of(o);
  if (o.streams > 0) return compare_streams(cases, o.streams, o.threads, *target, o.json);
  std::vector<Result<Answer>> answers(cases.size());
  std::atomic<std::size_t> next = 0, done = 0;
  {
    std::vector<std::jthread> pool;
    const unsigned threads = o.model ? std::max(o.threads, 1U) : 1;
    for (unsigned t = 0; t < threads; ++t)
      pool.emplace_back([&] {
        for (std::size_t i; (i = next++) < cases.size(); ++done)
          answers[i] = guarded([&] { return answer(cases[i], o, *target); });
      });
  }
  std::vector<Answer> good;
  for (const Result<Answer>& a : answers) {
    if (!a) return std::unexpected(a.error());
    good.push_back(*a);
  }
  if (o.json) {
    print_json(cases, good);
  } else {
    print_table(cases, good, o.model);
    print_summary(good);
  }
  return {};
}

}  // namespace

Result<Weighing> weigh(const templates::Problem& problem, const target::Target& target, std::int64_t m) {
  Weighing w;
  if (templates::cdna::serves(target)) {
    const auto tiles = templates::cdna::candidates(problem, target, templates::cdna::bucket_end(m));
    w.considered = tiles.considered;
    for (const templates::cdna::Ranked& r :
         templates::cdna::ranking(problem, target, m, std::numeric_limits<std::size_t>::max()))
      w.ranked.push_back({r.config, r.time_us});
    w.legal = w.ranked.size();
    if (!w.ranked.empty()) w.chosen = w.ranked.front().config;
  } else {
    const templates::Portfolio portfolio(problem, target);
    const templates::Decision d = templates::decide(portfolio, problem, target, m);
    w.considered = portfolio.candidates().considered;
    w.legal = portfolio.candidates().legal.size();
    for (const templates::RankedConfig& r : portfolio.ranking(m))
      w.ranked.push_back({r.candidate->config, r.launch.time_us});
    if (d.skinny_choice) w.ranked.push_back({d.skinny_choice->config, d.skinny_choice->cost.time_us});
    std::ranges::stable_sort(w.ranked, {}, &Weighed::time_us);
    if (d.skinny)
      w.chosen = d.skinny_choice->config;
    else if (d.member)
      w.chosen = portfolio.config(*d.member);
  }
  if (w.ranked.empty())
    return fail_field(ErrorCode::invalid_argument, "size", templates::canonical(problem),
                      fmt::format("one that a kernel on {} suits", target.name));
  return w;
}

Action add_choices(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  app.add_option("--target", o->target, "GPU architecture: " + target_names())->capture_default_str();
  app.add_option("--rows", o->rows, "Numbers of rows")
      ->check(CLI::PositiveNumber)
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--shapes", o->shapes, "Named shapes; all without")->delimiter(',');
  app.add_option("--size", o->size, "N,K,GROUP of a shape, in place of named ones")
      ->delimiter(',')
      ->expected(3);
  app.add_flag("--held-out", o->held_out, "The shapes that no number of selection was fitted to");
  app.add_option("--kinds", o->kinds, "bf16, bf16+zp, f16, f16+zp")->delimiter(',');
  app.add_flag("--model", o->model,
               "Also the modelled time that explain prints, of candidates, too (minutes)");
  app.add_option("--top", o->top, "With --model: at least this many of each ranking's first");
  app.add_option("--every", o->every, "With --model: and every n-th of the rest, 0 = none")
      ->capture_default_str();
  app.add_option(
      "--streams", o->streams,
      "Instead: time the choice and so many Configs by the streams that their simulated waves execute");
  app.add_flag("--json", o->json, "JSON on stdout");
  app.add_option("-j,--threads", o->threads, "Cases at once");
  return [o] {
    const auto ok = choices(*o);
    return ok ? exit_ok : refuse(ok.error(), o->json);
  };
}

}  // namespace wavejit::tools
