// SPDX-License-Identifier: MIT
// wavejit mutate: can the judges be trusted? Breaks correct kernels one line at a time and counts what
// the static checker, the simulator and the oracle catch.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "templates/kernel.hpp"
#include "tests/harness/mutation.hpp"
#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/json.hpp"
#include "tools/wavejit/options.hpp"
#include "tools/wavejit/progress.hpp"

namespace wavejit::tools {
namespace {

/// The bar of the project: below it the command fails.
constexpr double required_score = 0.99;

struct MutateOptions {
  ProblemOptions problem;
  std::size_t every = 1;
  std::string shard = "1/1";
  bool json = false;
};

/// What was counted, in all and by kind of kernel.
struct Table {
  harness::MutationScore all;
  std::map<std::string, harness::MutationScore> by_kernel;
  double seconds = 0;
};

std::size_t explained(const harness::MutationScore& s) {
  return static_cast<std::size_t>(
      std::ranges::count_if(s.survivors, [](const auto& v) { return !v.explanation.empty(); }));
}

Json counts(const harness::MutationScore& s) {
  return {{"mutants", s.total},
          {"caught", s.total - s.survivors.size()},
          {"explained", explained(s)},
          {"not_explained", s.survivors.size() - explained(s)},
          {"score", s.score()}};
}

Json to_json(const Table& t) {
  Json j = counts(t.all);
  j["seconds"] = t.seconds;
  for (const auto& [catcher, count] : t.all.caught) j["caught_by"][std::string(name(catcher))] = count;
  for (const auto& [kind, score] : t.by_kernel) {
    Json row = counts(score);
    row["kernel"] = kind;
    j["kernels"].push_back(std::move(row));
  }
  for (const auto& [kind, numbers] : t.all.by_kind)
    j["kinds"].push_back({{"kind", name(kind)}, {"caught", numbers.first}, {"total", numbers.second}});
  j["survivors"] = Json::array();
  for (const harness::Survivor& v : t.all.survivors)
    j["survivors"].push_back({{"kernel", v.kind},
                              {"config", v.config},
                              {"kind", name(v.mutant.kind)},
                              {"line", v.mutant.line},
                              {"before", v.mutant.before},
                              {"after", v.mutant.after},
                              {"explanation", v.explanation}});
  return j;
}

void print_row(std::string_view what, const harness::MutationScore& s) {
  fmt::print("{:<24} {:>8} {:>8} {:>10} {:>14} {:>8.2f} %\n", what, s.total, s.total - s.survivors.size(),
             explained(s), s.survivors.size() - explained(s), 100 * s.score());
}

void print_text(const Table& t) {
  fmt::print("{:<24} {:>8} {:>8} {:>10} {:>14} {:>10}\n", "kernel", "mutants", "caught", "explained",
             "not explained", "score");
  for (const auto& [kind, score] : t.by_kernel) print_row(kind, score);
  print_row("all", t.all);
  fmt::print("\nscore: caught, of those that are not explained; required {:.0f} %; {:.0f} s\n",
             100 * required_score, t.seconds);
  fmt::print("\n{:<20} {:>8} {:>8}\n", "fault", "caught", "mutants");
  for (const auto& [kind, numbers] : t.all.by_kind)
    fmt::print("{:<20} {:>8} {:>8}\n", name(kind), numbers.first, numbers.second);
  fmt::print("\n{:<20} {:>8}\n", "caught by", "mutants");
  for (const auto& [catcher, count] : t.all.caught) fmt::print("{:<20} {:>8}\n", name(catcher), count);
  if (t.all.survivors.empty()) return;
  fmt::print("\nsurvivors:\n");
  for (const harness::Survivor& v : t.all.survivors)
    fmt::print("  {} (line {}; {}: {})\n    {}\n    -> {}\n    {}\n", name(v.mutant.kind), v.mutant.line,
               v.kind, v.config, v.mutant.before, v.mutant.after.empty() ? "(removed)" : v.mutant.after,
               v.explanation.empty() ? "NOT EXPLAINED" : v.explanation);
}

/// The kernels of the problem that was asked for, or of the list.
Result<std::vector<harness::Subject>> chosen_subjects(const ProblemOptions& asked) {
  std::vector<harness::Request> requests;
  if (asked.n || !asked.shape.empty()) {
    const auto job = resolve(asked);
    if (!job) return std::unexpected(job.error());
    harness::Request r;
    r.problem = job->problem;
    r.config = job->config;
    r.m = job->m;
    r.target = asked.target;
    for (std::int64_t i = 0; i < r.problem.groups; ++i)
      r.group_rows.push_back(r.m * (i + 1) / r.problem.groups - r.m * i / r.problem.groups);
    requests.push_back(std::move(r));
  } else {
    requests = harness::standard_problems();
  }
  std::vector<harness::Subject> list;
  for (const harness::Request& r : requests) {
    auto some = harness::subjects(r);
    if (!some) return std::unexpected(some.error());
    std::ranges::move(*some, std::back_inserter(list));
  }
  return list;
}

Result<bool> mutate(const MutateOptions& options) {
  if (options.every == 0) return fail_field(ErrorCode::invalid_argument, "every", "0", "at least 1");
  const auto shard = parse_shard(options.shard, 1000);
  if (!shard) return std::unexpected(shard.error());
  const auto subjects = chosen_subjects(options.problem);
  if (!subjects) return std::unexpected(subjects.error());
  const auto start = std::chrono::steady_clock::now();
  Table table;
  for (std::size_t i = 0; i < subjects->size(); ++i) {
    const harness::Subject& subject = (*subjects)[i];
    ProgressBar bar(fmt::format("{} of {}: {}", i + 1, subjects->size(), subject.kind));
    const auto one =
        harness::mutation_score(subject, (shard->index - 1) * options.every, shard->count * options.every,
                                [&bar](std::size_t done, std::size_t all) { bar.update(done, all); });
    bar.finish();
    if (!one) return std::unexpected(one.error());
    table.all.add(*one);
    table.by_kernel[subject.kind].add(*one);
  }
  table.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (options.json) {
    fmt::print("{}\n", to_json(table).dump(2));
  } else {
    print_text(table);
  }
  return table.all.score() >= required_score;
}

}  // namespace

Action add_mutate(CLI::App& app) {
  const auto options = std::make_shared<MutateOptions>();
  add_problem_options(app, options->problem);
  app.add_option("--every", options->every, "Take each EVERY-th mutant only")->capture_default_str();
  add_shard_option(app, options->shard);
  app.add_flag("--json", options->json, "Report as JSON on stdout");
  app.footer(
      "Without a problem: a fixed list of small kernels with tails, of every kind and family of targets.");
  return [options] {
    const auto right = mutate(*options);
    if (!right) return refuse(right.error(), options->json);
    return *right ? exit_ok : exit_wrong;
  };
}

}  // namespace wavejit::tools
