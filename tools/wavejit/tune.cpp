// SPDX-License-Identifier: MIT
// wavejit tune: times the Configs that selection ranks first for some M and keeps the times in a database
// that an engine reads. On hip by events, in interleaved rounds, medians; on sim by the timing model, the
// number that `wavejit explain` says (model_kernel.hpp).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include "runtime/cache/key.hpp"
#include "runtime/device/device.hpp"
#include "runtime/engine/tuning.hpp"
#include "templates/cdna/family.hpp"
#include "templates/cdna/ranking.hpp"
#include "templates/select.hpp"
#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/explain_choice.hpp"
#include "tools/wavejit/files.hpp"
#include "tools/wavejit/model_kernel.hpp"
#include "tools/wavejit/options.hpp"
#include "tools/wavejit/progress.hpp"
#include "tools/wavejit/tune_measure.hpp"

namespace wavejit::tools {
namespace {

using engine::TuningDatabase;
using engine::TuningEntry;

struct Options {
  ProblemOptions problem;
  std::string device = "sim", database = "wavejit-tuning.json";
  std::vector<std::int64_t> rows;
  std::vector<std::string> merge;
  unsigned top = 8, rounds = 15;
  bool again = false, dry = false;
};

using Configs = std::vector<templates::Config>;
using Times = Result<std::vector<engine::TunedTime>>;

void add(Configs& to, const templates::Config& config) {
  const std::string text = templates::canonical(config);
  if (std::ranges::find(to, text, [](const templates::Config& c) { return templates::canonical(c); }) ==
      to.end())
    to.push_back(config);
}

/// Which Configs are worth timing for some rows of a problem.
class Finalists {
 public:
  explicit Finalists(const Job& job) : job_(job) {
    if (!templates::cdna::serves(*job.target)) portfolio_.emplace(job.problem, *job.target);
  }

  /// Selection's choice for `m` in front, then what else it chooses for rows of the bucket, the first of each
  /// kind of kernel that serves `m`, and then the ranking's first, `top` in all if that many are needed.
  /// Errors: those of selection.
  [[nodiscard]] Result<Configs> first(std::int64_t m, std::size_t top) const {
    const auto choice = templates::select_config(job_.problem, *job_.target, m);
    if (!choice) return std::unexpected(choice.error());
    const MRange bucket = engine::tuning_bucket(m);
    const auto all = templates::select_configs(job_.problem, *job_.target, bucket.first, bucket.last);
    if (!all) return std::unexpected(all.error());
    Configs configs{*choice};
    for (const templates::Selection& s : *all) add(configs, s.config);
    const Configs ranked = portfolio_ ? ranked_rdna(m, bucket.last) : ranked_cdna(m);
    for (const templates::Config& c : ranked)
      if (std::ranges::find(configs, c.path, &templates::Config::path) == configs.end()) add(configs, c);
    for (const templates::Config& c : ranked)
      if (configs.size() < top) add(configs, c);
    return configs;
  }

 private:
  [[nodiscard]] Configs ranked_rdna(std::int64_t m, std::int64_t last) const {
    Configs configs;
    if (const auto few = templates::skinny::choose(job_.problem, *job_.target, last))
      configs.push_back(few->config);
    for (const templates::RankedConfig& r : portfolio_->ranking(m)) configs.push_back(r.candidate->config);
    return configs;
  }

  [[nodiscard]] Configs ranked_cdna(std::int64_t m) const {
    Configs configs;
    constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
    for (const templates::cdna::Ranked& r : templates::cdna::ranking(job_.problem, *job_.target, m, all))
      configs.push_back(r.config);
    return configs;
  }

  const Job& job_;
  std::optional<templates::Portfolio> portfolio_;  ///< of targets other than CDNA's
};

/// Configs that need more registers than there are are left out.
Times model_configs(const Job& job, std::int64_t m, const Configs& configs, ProgressBar& bar) {
  std::vector<engine::TunedTime> result;
  for (const templates::Config& c : configs) {
    const auto us = modelled_us(job.problem, c, *job.target, m);
    if (us) result.push_back({templates::canonical(c), *us});
    if (!us && us.error().code != ErrorCode::out_of_registers) return std::unexpected(us.error());
    bar.update(result.size(), configs.size());
  }
  return result;
}

Result<TuningDatabase> open_database(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return TuningDatabase();
  return TuningDatabase::read(path);
}

Result<void> save(const TuningDatabase& database, const std::string& path) {
  Outputs files;
  files.add(path, database.text());
  return files.commit();
}

void print_entry(const TuningEntry& e, const std::string& choice) {
  fmt::print("m {} (rows {} to {}), by {}:\n", e.m, e.rows.first, e.rows.last, e.by);
  for (const engine::TunedTime& t : e.times)
    fmt::print("  {:9.1f} us  {}{}\n", t.us, t.config, t.config == choice ? "  (selection's choice)" : "");
}

/// Refuses what has no Configs to choose among, or nothing to compute.
Result<void> check(const Job& job) {
  using templates::Operation;
  constexpr std::array tuned{Operation::w4a16, Operation::int4_gemm, Operation::int4_grouped};
  const Operation op = job.problem.op;
  if (std::ranges::find(tuned, op) == tuned.end())
    return fail_field(ErrorCode::unsupported, "op", std::string(templates::name(op)),
                      "w4a16, int4_gemm or int4_grouped for this command; K-quants keep selection's choice");
  if (op == Operation::int4_grouped && job.problem.groups == 0)
    return fail_field(ErrorCode::invalid_argument, "groups", "0",
                      "at least 1: without there is nothing to time");
  if (job.problem.k == 0)
    return fail_field(ErrorCode::invalid_argument, "k", "0", "at least 1: without there is nothing to time");
  return {};
}

/// What identifies an entry, without its times.
Result<TuningEntry> entry_for(const Options& o, const Job& job, const device::Info& info, std::int64_t m) {
  if (m < 1) return fail_field(ErrorCode::invalid_argument, "rows", std::to_string(m), "at least 1");
  const auto id = cache::canonical_target_id(info.target_id);
  if (!id) return std::unexpected(id.error());
  const bool hip = info.kind == device::Kind::hip;
  return TuningEntry{.target_id = *id,
                     .build = std::string(cache::generator_build_id()),
                     .problem = templates::canonical(job.problem),
                     .rows = engine::tuning_bucket(m),
                     .m = m,
                     .by = hip ? "hip" : "model",
                     .machine = hip ? info.name + " " + info.unique : "",
                     .rounds = hip ? o.rounds : 1,
                     .times = {}};
}

Times time_all(const Options& o, const Job& job, device::Device& device, std::int64_t m,
               const Configs& configs) {
  const bool hip = device.info().kind == device::Kind::hip;
  ProgressBar bar(hip ? "launches" : "Configs");
  auto times = hip ? measure_configs(device, job.problem, *job.target, m, configs, o.rounds,
                                     [&](std::uint64_t done, std::uint64_t of) { bar.update(done, of); })
                   : model_configs(job, m, configs, bar);
  if (times && times->empty())
    return fail_field(ErrorCode::out_of_registers, "config", templates::canonical(configs.front()),
                      "one that has registers enough; neither has any of the others");
  return times;
}

/// Microseconds of a Config among `times`; nothing when it was left out.
std::optional<double> time_of(const std::vector<engine::TunedTime>& times, const templates::Config& config) {
  const auto at = std::ranges::find(times, templates::canonical(config), &engine::TunedTime::config);
  return at == times.end() ? std::nullopt : std::optional(at->us);
}

/// An entry stands for all rows of its bucket: what is quicker than selection's choice at `m` alone, and
/// slower than the choice for the bucket's first or last rows, is taken out of `times`. Returns that, in
/// words.
Result<std::string> hold_in_bucket(const Options& o, const Job& job, device::Device& device, std::int64_t m,
                                   const Configs& configs, std::vector<engine::TunedTime>& times) {
  const MRange bucket = engine::tuning_bucket(m);
  std::string out;
  for (const std::int64_t end : {bucket.first, bucket.last}) {
    const auto at_m = time_of(times, configs.front());
    const auto choice = templates::select_config(job.problem, *job.target, end);
    if (!choice) return std::unexpected(choice.error());
    Configs again{*choice};
    for (const templates::Config& c : configs)
      if (const auto us = time_of(times, c); us && at_m && *us < *at_m) add(again, c);
    if (end == m || again.size() == 1) continue;
    const auto there = time_all(o, job, device, end, again);
    if (!there) return std::unexpected(there.error());
    const auto own = time_of(*there, *choice);
    std::erase_if(times, [&](const engine::TunedTime& t) {
      const auto at = std::ranges::find(*there, t.config, &engine::TunedTime::config);
      if (!own || at == there->end() || at->us <= *own) return false;
      out += fmt::format("  {:9.1f} us  {}  (not kept: {:.1f} us at m {}, the choice {:.1f})\n", t.us,
                         t.config, at->us, end, *own);
      return true;
    });
  }
  return out;
}

Result<void> tune_all(const Options& o, const Job& job, device::Device& device, TuningDatabase& database) {
  if (auto ok = check(job); !ok) return ok;
  const Finalists finalists(job);
  for (const std::int64_t m : o.rows.empty() ? std::vector{job.m} : o.rows) {
    auto entry = entry_for(o, job, device.info(), m);
    if (!entry) return std::unexpected(entry.error());
    const auto configs = finalists.first(m, o.top);
    if (!configs) return std::unexpected(configs.error());
    const std::string choice = templates::canonical(configs->front());
    if (const TuningEntry* known = database.find(*entry); known != nullptr && !o.again) {
      fmt::print("known: ");
      print_entry(*known, choice);
      continue;
    }
    auto times = time_all(o, job, device, m, *configs);
    if (!times) return std::unexpected(times.error());
    const auto out = hold_in_bucket(o, job, device, m, *configs, *times);
    if (!out) return std::unexpected(out.error());
    entry->times = *std::move(times);
    database.add(*entry);
    // Saved after every M: whoever stops here goes on from here.
    if (auto ok = save(database, o.database); !ok) return ok;
    print_entry(*database.find(*entry), choice);
    fmt::print("{}", *out);
  }
  return {};
}

Result<void> tune(const Options& o) {
  auto database = open_database(o.database);
  if (!database) return std::unexpected(database.error());
  if (!o.merge.empty()) {
    for (const std::string& path : o.merge) {
      const auto other = TuningDatabase::read(path);
      if (!other) return std::unexpected(other.error());
      database->merge(*other);
    }
    fmt::print("{}: {} entries\n", o.database, database->entries().size());
    return save(*database, o.database);
  }
  ProblemOptions problem = o.problem;
  if (o.device == "sim") {
    const auto device = device::open("sim:" + problem.target);
    if (!device) return std::unexpected(device.error());
    const auto job = resolve(problem);
    if (!job) return std::unexpected(job.error());
    if (o.dry) {
      print_choice(stdout, *job);
      return {};
    }
    return tune_all(o, *job, **device, *database);
  }
  const auto device = device::open(o.device);
  if (!device) return std::unexpected(device.error());
  problem.target = (*device)->info().target;
  const auto job = resolve(problem);
  if (!job) return std::unexpected(job.error());
  if (o.dry) {
    print_choice(stdout, *job);
    return {};
  }
  return tune_all(o, *job, **device, *database);
}

}  // namespace

Action add_tune(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  add_problem_options(app, o->problem);
  app.add_option("--device", o->device, "hip, hip:N (events) or sim (the timing model, for --target)")
      ->capture_default_str();
  app.add_option("--rows", o->rows, "Numbers of rows, each for its bucket; default: --m")->delimiter(',');
  app.add_option("--database", o->database, "JSON file that is read, added to and written")
      ->capture_default_str();
  app.add_option("--top", o->top,
                 "Configs that are timed; selection's choice and one of each kind of kernel always")
      ->capture_default_str();
  app.add_option("--rounds", o->rounds, "On hip: timed rounds over all Configs")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_flag("--again", o->again, "Also what the database has");
  app.add_flag("--dry", o->dry, "Only say what would be timed and how the quick estimate ranks it");
  app.add_option("--merge", o->merge, "Add these databases' entries to --database and end");
  return [o] {
    const auto ok = tune(*o);
    return ok ? exit_ok : refuse(ok.error(), false);
  };
}

}  // namespace wavejit::tools
