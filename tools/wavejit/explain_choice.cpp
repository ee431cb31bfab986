// SPDX-License-Identifier: MIT
#include "tools/wavejit/explain_choice.hpp"

#include <fmt/format.h>

#include <ctime>

#include "templates/select.hpp"

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

/// Which path serves the rows, and by how much.
void print_path(std::FILE* to, const Job& job, const templates::Decision& d) {
  if (!d.skinny_choice) {
    fmt::print(to, "path: tile; skinny kernels serve up to {} rows\n", templates::skinny::max_m);
    return;
  }
  const templates::skinny::Choice& s = *d.skinny_choice;
  fmt::print(to, "path: {} for m {} to {}\n  skinny: {:>9.1f} us by counts (templates/skinny/choose.hpp), bound by {}, {}\n",
             d.skinny ? "skinny" : "tile", d.first, d.last, s.cost.time_us, s.cost.binds,
             templates::canonical(s.config));
  if (d.member) {
    fmt::print(to, "  tile:   {:>9.1f} us by the quick estimate, for up to 16 rows\n", d.tile_us);
  } else {
    fmt::print(to, "  tile:   no Config suits {}\n", templates::canonical(job.problem));
  }
}

}  // namespace

void print_choice(std::FILE* to, const Job& job) {
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
  print_path(to, job, decision);
  const std::string choice = templates::canonical(
      decision.skinny ? decision.skinny_choice->config : portfolio.config(*decision.member));
  const auto ranking = portfolio.ranking(job.m);
  fmt::print(to, "tiles by the quick estimate (templates/quick_cost.hpp), of {} for this m:\n", ranking.size());
  constexpr std::size_t shown = 8;
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    const bool chosen = templates::canonical(ranking[i].candidate->config) == choice;
    if (i < shown || chosen) print_rank(to, i, ranking[i], chosen ? "  <- chosen" : "");
  }
  if (templates::canonical(job.config) != choice)
    fmt::print(to, "the command line asks for {}\n", templates::canonical(job.config));
}

}  // namespace wavejit::tools
