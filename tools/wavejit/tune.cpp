// SPDX-License-Identifier: MIT
// wavejit tune: times the Configs that selection ranks first for some M and keeps the times in a database
// that an engine reads. On hip by events, in interleaved rounds, medians; on sim by the timing model: tiles
// of RDNA by model::Estimator, calls of CDNA by their played streams (call_model.hpp).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>

#include "runtime/cache/key.hpp"
#include "runtime/device/device.hpp"
#include "runtime/engine/tuning.hpp"
#include "templates/cdna/family.hpp"
#include "templates/cdna/ranking.hpp"
#include "templates/select.hpp"
#include "tools/wavejit/call_model.hpp"
#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/explain_choice.hpp"
#include "tools/wavejit/files.hpp"
#include "tools/wavejit/model_table.hpp"
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

/// Which Configs are worth timing for some rows of a problem, and what the model says of one.
class Finalists {
 public:
  /// Errors: unsupported for a problem whose selection ranks nothing.
  static Result<std::unique_ptr<Finalists>> create(const Job& job) {
    std::unique_ptr<Finalists> all(new Finalists(job));
    if (all->portfolio_ && all->portfolio_->size() == 0)
      return fail_field(ErrorCode::unsupported, "target", std::string(job.target->name),
                        "one whose selection ranks several Configs, which are what is timed: gfx11, gfx12, "
                        "gfx942 or gfx950");
    return all;
  }

  /// The `top` first, selection's choice in front. Errors: those of selection.
  [[nodiscard]] Result<Configs> first(std::int64_t m, std::size_t top) const {
    return portfolio_ ? tiles(m, top) : ranked(m, top);
  }

  /// Microseconds. Errors: those of generate(), the simulator and the model.
  Result<double> model(const templates::Config& config, std::int64_t m) {
    if (portfolio_) return table_.time_us(job_.problem, config, m);
    CallOptions options{.group_rows = {}, .estimate = false};
    if (job_.problem.op == templates::Operation::int4_grouped)
      options.group_rows = even_groups(m, job_.problem.groups);
    const auto call = model_call(job_.problem, config, *job_.target, m, options);
    if (!call) return std::unexpected(call.error());
    return call->time_us();
  }

 private:
  explicit Finalists(const Job& job) : job_(job), table_(*job.target) {
    if (!templates::cdna::serves(*job.target)) portfolio_.emplace(job.problem, *job.target);
  }

  [[nodiscard]] Configs tiles(std::int64_t m, std::size_t top) const {
    Configs configs{portfolio_->config(portfolio_->choose(m))};
    const std::string choice = templates::canonical(configs.front());
    for (const templates::RankedConfig& r : portfolio_->ranking(m)) {
      if (configs.size() >= top) break;
      if (templates::canonical(r.candidate->config) != choice) configs.push_back(r.candidate->config);
    }
    return configs;
  }

  [[nodiscard]] Result<Configs> ranked(std::int64_t m, std::size_t top) const {
    Configs configs;
    for (const templates::cdna::Ranked& r : templates::cdna::ranking(job_.problem, *job_.target, m, top))
      configs.push_back(r.config);
    if (!configs.empty()) return configs;
    const auto plain = templates::select_config(job_.problem, *job_.target, m);
    if (!plain) return std::unexpected(plain.error());
    return Configs{*plain};
  }

  const Job& job_;
  ModelTable table_;
  std::optional<templates::Portfolio> portfolio_;  ///< of targets other than CDNA's
};

Times model_configs(Finalists& finalists, std::int64_t m, const Configs& configs, ProgressBar& bar) {
  std::vector<engine::TunedTime> result;
  for (const templates::Config& c : configs) {
    const auto us = finalists.model(c, m);
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
                      "w4a16, int4_gemm or int4_grouped for this command");
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

Times time_all(const Options& o, const Job& job, device::Device& device, Finalists& finalists, std::int64_t m,
               const Configs& configs) {
  const bool hip = device.info().kind == device::Kind::hip;
  ProgressBar bar(hip ? "launches" : "Configs");
  auto times = hip ? measure_configs(device, job.problem, *job.target, m, configs, o.rounds,
                                     [&](std::uint64_t done, std::uint64_t of) { bar.update(done, of); })
                   : model_configs(finalists, m, configs, bar);
  if (times && times->empty())
    return fail_field(ErrorCode::out_of_registers, "config", templates::canonical(configs.front()),
                      "one that has registers enough; neither has any of the others");
  return times;
}

Result<void> tune_all(const Options& o, const Job& job, device::Device& device, TuningDatabase& database) {
  if (auto ok = check(job); !ok) return ok;
  const auto finalists = Finalists::create(job);
  if (!finalists) return std::unexpected(finalists.error());
  for (const std::int64_t m : o.rows.empty() ? std::vector{job.m} : o.rows) {
    auto entry = entry_for(o, job, device.info(), m);
    if (!entry) return std::unexpected(entry.error());
    const auto configs = (*finalists)->first(m, std::max(o.top, 1U));
    if (!configs) return std::unexpected(configs.error());
    const std::string choice = templates::canonical(configs->front());
    if (const TuningEntry* known = database.find(*entry); known != nullptr && !o.again) {
      fmt::print("known: ");
      print_entry(*known, choice);
      continue;
    }
    auto times = time_all(o, job, device, **finalists, m, *configs);
    if (!times) return std::unexpected(times.error());
    entry->times = *std::move(times);
    database.add(*entry);
    // Saved after every M: whoever stops here goes on from here.
    if (auto ok = save(database, o.database); !ok) return ok;
    print_entry(*database.find(*entry), choice);
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
  app.add_option("--top", o->top, "Configs that are timed, selection's choice among them")
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
