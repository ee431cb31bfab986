// SPDX-License-Identifier: MIT
#include "tools/wavejit/explain_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "templates/cdna/candidates.hpp"
#include "templates/cdna/family.hpp"
#include "templates/cdna/ranking.hpp"
#include "templates/select.hpp"
#include "tools/wavejit/model_kernel.hpp"

namespace wavejit::tools {
namespace {

void print_rank(std::FILE* to, std::size_t place, const templates::RankedConfig& r, std::string_view mark) {
  const templates::Config& c = r.candidate->config;
  fmt::print(
      to,
      "  {:>4}. {:>9.1f} us  {:>4}x{}x{} waves {}x{} depth {} lds {}  {} workgroups a WGP, {:.0f} clocks a "
      "step, {}{}{}\n",
      place + 1, r.launch.time_us, c.bm, c.bn, c.bk, c.waves_m, c.waves_n, c.pipeline_depth, c.lds_buffers,
      r.launch.resident, r.launch.per_step, r.launch.binds, r.member ? ", of the portfolio" : "", mark);
}

/// The same time that `wavejit explain` says.
void print_modelled(std::FILE* to, const Job& job, const templates::Config& config) {
  const std::int64_t m = std::min(job.m, templates::most_rows(job.problem));
  const auto us = tools::modelled_us(job.problem, config, *job.target, m);
  if (us) return fmt::print(to, "modelled: {:.1f} us by the event model, as explain says\n", *us);
  fmt::print(to, "not modelled: {}\n", us.error().message);
}

/// What the command line asks for, where that is not the choice.
void print_asked(std::FILE* to, const Job& job, const std::string& chosen) {
  if (templates::canonical(job.config) == chosen) return;
  fmt::print(to, "the command line asks for {}\n", templates::canonical(job.config));
  print_modelled(to, job, job.config);
}

/// A Config of kquant and what the timing model says of it.
struct Modelled {
  templates::Config config;
  double time_us = 0;
  std::string says;
};

Modelled modelled(const Job& job, const templates::Config& config) {
  Modelled result{.config = config, .time_us = 0, .says = {}};
  const auto kernel = model_generated(job.problem, config, *job.target, config.tokens);
  if (!kernel) {
    result.says = kernel.error().message;
    return result;
  }
  const auto& k = kernel->kernel;
  const auto others = other_kernels_us(k.problem, k.config, *job.target, config.tokens, k.stage);
  const model::Estimate& e = kernel->estimate;
  result.time_us = e.time_us + others.value_or(0);
  result.says = fmt::format("{} binds, loop's VALU {:.0f} %, {:g} waves per SIMD", e.binds,
                            100 * e.loop.busy.valu, e.occupancy.waves_per_simd);
  return result;
}

void print_kquant_choice(std::FILE* to, const Job& job) {
  const auto choice = templates::select_config(job.problem, *job.target, job.m);
  if (!choice) return fmt::print(to, "no choice: {}\n", choice.error().message);
  fmt::print(to, "{} on {}, m {}\n", templates::canonical(job.problem), job.target->name, job.m);
  if (const std::int64_t most = templates::most_rows(job.problem); job.m > most)
    fmt::print(to, "{} launches, of {} rows each but for the last; this is the choice for {}:\n",
               (job.m + most - 1) / most, most, most);
  std::vector<Modelled> all;
  for (const unsigned rows : {1U, 2U, 4U})
    for (const unsigned depth : {0U, 1U, 2U}) {
      templates::Config c = *choice;
      c.rows = rows;
      c.pipeline_depth = depth;
      all.push_back(modelled(job, c));
    }
  std::ranges::stable_sort(all, {}, [](const Modelled& m) { return std::pair(m.time_us == 0, m.time_us); });
  fmt::print(to, "by the timing model, both kernels:\n");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool chosen = templates::canonical(all[i].config) == templates::canonical(*choice);
    const std::string time = all[i].time_us == 0 ? "-" : fmt::format("{:.1f}", all[i].time_us);
    fmt::print(to, "  {:>4}. {:>9} us  rows {} depth {}  {}{}\n", i + 1, time, all[i].config.rows,
               all[i].config.pipeline_depth, all[i].says, chosen ? "  <- chosen" : "");
  }
  fmt::print(to,
             "the rule: two rows a wave for up to 2 rows of activations, where N is large enough to fill the "
             "machine with waves all the same, else one; loads one pass ahead\n");
  print_modelled(to, job, *choice);
  print_asked(to, job, templates::canonical(*choice));
}

/// Which path serves the rows, and by how much.
void print_path(std::FILE* to, const Job& job, const templates::Decision& d) {
  if (!d.skinny_choice) {
    fmt::print(to, "path: tile; skinny kernels serve up to {} rows\n", templates::skinny::max_m);
    return;
  }
  const templates::skinny::Choice& s = *d.skinny_choice;
  fmt::print(to,
             "path: {} for m {} to {}\n  skinny: {:>9.1f} us estimated by counts "
             "(templates/skinny/choose.hpp), bound "
             "by {}, {}\n",
             d.skinny ? "skinny" : "tile", d.first, d.last, s.cost.time_us, s.cost.binds,
             templates::canonical(s.config));
  if (d.member) {
    fmt::print(to, "  tile:   {:>9.1f} us by the quick estimate, for up to 16 rows\n", d.tile_us);
  } else {
    fmt::print(to, "  tile:   no Config suits {}\n", templates::canonical(job.problem));
  }
}

void print_cdna_choice(std::FILE* to, const Job& job) {
  const auto choice = templates::select_config(job.problem, *job.target, job.m);
  if (!choice) return fmt::print(to, "no choice: {}\n", choice.error().message);
  const std::string chosen = templates::canonical(*choice);
  const std::int64_t end = templates::cdna::bucket_end(job.m);
  const templates::cdna::Candidates all = templates::cdna::candidates(job.problem, *job.target, end);
  fmt::print(to, "{} on {}, m {}\n{} tiles considered, {} legal\n", templates::canonical(job.problem),
             job.target->name, job.m, all.considered, all.legal.size());
  for (const templates::cdna::Pruned& p : all.pruned)
    fmt::print(to, "  {:>5} taken out: not so that {}\n", p.count, p.rule);
  fmt::print(to, "choice: {}\n", chosen);
  fmt::print(to,
             "tiles and decode kernels by counts (templates/cdna/ranking.hpp) at {} rows, where this m's "
             "bucket ends:\n",
             end);
  constexpr std::size_t shown = 8;
  const auto ranked = templates::cdna::ranking(job.problem, *job.target, job.m, shown);
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const templates::cdna::Ranked& r = ranked[i];
    fmt::print(to, "  {:>4}. {:>9.1f} us  {}{}{}\n", i + 1, r.time_us, templates::canonical(r.config),
               r.workgroups == 0 ? "" : fmt::format("  {} workgroups a compute unit", r.workgroups),
               i == 0 ? "  <- chosen" : "");
  }
  print_modelled(to, job, *choice);
  print_asked(to, job, chosen);
}

}  // namespace

void print_choice(std::FILE* to, const Job& job) {
  if (job.problem.op == templates::Operation::kquant) return print_kquant_choice(to, job);
  if (templates::cdna::serves(*job.target)) return print_cdna_choice(to, job);
  const std::clock_t start = std::clock();
  const templates::Portfolio portfolio(job.problem, *job.target);
  const templates::Decision decision = templates::decide(portfolio, job.problem, *job.target, job.m);
  const double ms = 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const templates::Candidates& all = portfolio.candidates();
  fmt::print(to,
             "{} on {}, m {}\n{} Configs considered, {} legal, {} in the portfolio, {:.1f} ms of CPU time\n",
             templates::canonical(job.problem), job.target->name, job.m, all.considered, all.legal.size(),
             portfolio.size(), ms);
  for (const templates::Pruned& p : all.pruned)
    fmt::print(to, "  {:>5} taken out: not so that {}\n", p.count, p.rule);
  if (!decision.skinny && !decision.member) {
    fmt::print(to, "no Config suits it\n");
    return;
  }
  print_path(to, job, decision);
  const std::string choice = templates::canonical(decision.skinny ? decision.skinny_choice->config
                                                                  : portfolio.config(*decision.member));
  const auto ranking = portfolio.ranking(job.m);
  fmt::print(to, "tiles by the quick estimate (templates/quick_cost.hpp), of {} for this m:\n",
             ranking.size());
  constexpr std::size_t shown = 8;
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    const bool chosen = templates::canonical(ranking[i].candidate->config) == choice;
    if (i < shown || chosen) print_rank(to, i, ranking[i], chosen ? "  <- chosen" : "");
  }
  print_modelled(to, job,
                 decision.skinny ? decision.skinny_choice->config : portfolio.config(*decision.member));
  print_asked(to, job, choice);
}

}  // namespace wavejit::tools
