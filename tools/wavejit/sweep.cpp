// SPDX-License-Identifier: MIT
// wavejit sweep: whether every problem finds its kernels. Over the layers of public models, each operation,
// each target and options pairwise, what selection returns for the rows asked for must generate, assemble,
// link and launch; with --prepare an engine prepares each layer for all rows. One failure fails the sweep.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/json.hpp"
#include "tools/wavejit/options.hpp"
#include "tools/wavejit/progress.hpp"
#include "tools/wavejit/sweep_problems.hpp"
#include "tools/wavejit/sweep_trial.hpp"

namespace wavejit::tools {
namespace {

constexpr std::int64_t prepared_rows = 8192;

struct Options {
  std::vector<std::string> targets, operations;
  /// Both sides of what tiles, decode kernels and their buckets change at; kquant takes those up to 8.
  std::vector<std::int64_t> rows{1,  2,  3,  4,  5,   6,   7,   8,   9,    16,  17,
                                 33, 48, 64, 65, 128, 256, 257, 512, 1024, 4096};
  std::string shard = "1/1", jsonl;
  unsigned threads = 2;
  bool prepare = false, json = false;
};

Result<Scope> scope_of(const Options& o) {
  Scope scope;
  for (std::size_t i = 0; i < templates::operations; ++i) {
    const auto op = static_cast<templates::Operation>(i);
    if (o.operations.empty() || std::ranges::find(o.operations, templates::name(op)) != o.operations.end())
      scope.operations.push_back(op);
  }
  const std::vector<std::string> five{"gfx1151", "gfx1100", "gfx1201", "gfx942", "gfx950"};
  for (const std::string& name : o.targets.empty() && o.prepare ? five : o.targets) {
    const target::Target* target = target::find(name);
    if (target == nullptr)
      return fail_field(ErrorCode::unknown_target, "target", name, "one of " + target_names());
    scope.targets.push_back(target);
  }
  if (scope.targets.empty())
    for (const target::Target& t : target::all()) scope.targets.push_back(&t);
  if (o.prepare) {
    scope.ways = {1};
    scope.all_options = false;
  }
  return scope;
}

/// Sums of the trials of one operation on one target.
struct Sum {
  std::size_t problems = 0, configs = 0, kernels = 0, shared = 0, failures = 0;
  double cpu_ms = 0;
};

/// Takes results in, writes their lines, sums them up.
class Report {
 public:
  /// Errors: io.
  static Result<std::unique_ptr<Report>> open(const std::string& path) {
    auto report = std::make_unique<Report>();
    if (path.empty()) return report;
    report->lines_ = path == "-" ? stdout : std::fopen(path.c_str(), "w");
    if (report->lines_ == nullptr)
      return fail(ErrorCode::io, fmt::format("{}: {}", path, std::strerror(errno)));
    return report;
  }
  Report() = default;
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  ~Report() {
    if (lines_ != nullptr && lines_ != stdout) std::fclose(lines_);
  }

  void add(TrialResult&& r) {
    line(to_json(r));
    Sum& sum = sums_[{r.op, r.target->name}];
    ++sum.problems;
    sum.configs += r.configs;
    sum.kernels += r.kernels;
    sum.shared += r.shared;
    sum.cpu_ms += r.cpu_ms;
    if (r.failures.empty()) return;
    ++sum.failures;
    failed_.push_back(std::move(r));
  }
  /// False: the file could not be written whole.
  bool line(const Json& json) {
    if (lines_ == nullptr) return true;
    // Whole lines at once: who reads a sweep that was cut short finds no half of one.
    const std::string text = json.dump() + "\n";
    good_ =
        std::fwrite(text.data(), 1, text.size(), lines_) == text.size() && std::fflush(lines_) == 0 && good_;
    return good_;
  }
  [[nodiscard]] Sum total() const {
    Sum all;
    for (const auto& [key, s] : sums_) {
      all.problems += s.problems;
      all.configs += s.configs;
      all.kernels += s.kernels;
      all.shared += s.shared;
      all.failures += s.failures;
      all.cpu_ms += s.cpu_ms;
    }
    return all;
  }
  using Key = std::pair<templates::Operation, std::string_view>;
  [[nodiscard]] const std::map<Key, Sum>& sums() const { return sums_; }
  [[nodiscard]] const std::vector<TrialResult>& failed() const { return failed_; }

 private:
  std::FILE* lines_ = nullptr;
  bool good_ = true;
  std::map<Key, Sum> sums_;
  std::vector<TrialResult> failed_;
};

using Engines = std::map<const target::Target*, std::shared_ptr<Engine>>;

Result<Engines> open_engines(const Scope& scope) {
  Engines engines;
  for (const target::Target* t : scope.targets) {
    EngineOptions options;
    options.devices = {fmt::format("sim:{}", t->name)};
    options.cache_folder = "";  // what is tried is this build, not what an earlier one left
    options.environment = false;
    const auto engine = Engine::create(options);
    if (!engine) return std::unexpected(engine.error());
    engines[t] = *engine;
  }
  return engines;
}

void run(const Options& o, const std::vector<const Cell*>& cells, const Engines& engines, Report& report) {
  SweptKernels kernels;
  std::atomic<std::size_t> next = 0;
  std::size_t done = 0;
  std::mutex mutex;
  ProgressBar bar("cells");
  std::vector<std::jthread> pool;
  // An engine counts its compilations for all threads together: one thread, so that lines can tell theirs.
  for (unsigned thread = 0; thread < (o.prepare ? 1 : o.threads); ++thread)
    pool.emplace_back([&] {
      for (std::size_t i; (i = next++) < cells.size();) {
        for (const Trial& trial : cells[i]->trials)
          for (const target::Target* t : trial.targets) {
            TrialResult result = o.prepare ? prepare_all(*engines.at(t), trial.problem, *t, prepared_rows)
                                           : choose_and_generate(trial.problem, *t, o.rows, kernels);
            const std::lock_guard lock(mutex);
            report.add(std::move(result));
          }
        const std::lock_guard lock(mutex);
        bar.update(++done, cells.size());
      }
    });
}

Json to_json(const Sum& s) {
  return {{"problems", s.problems}, {"configs", s.configs},   {"kernels", s.kernels},
          {"shared", s.shared},     {"failures", s.failures}, {"cpu_ms", s.cpu_ms}};
}

Json summary(const Options& o, const Grid& grid, const Report& report, double seconds, double whole) {
  Json by = Json::array();
  for (const auto& [key, sum] : report.sums()) {
    Json entry = {{"op", templates::name(key.first)}, {"target", key.second}};
    entry.update(to_json(sum));
    by.push_back(std::move(entry));
  }
  Json json = {{"shard", o.shard},
               {"models", harness::public_models().size()},
               {"layers", grid.layers},
               {"all_problems", grid.trials},
               {"illegal", grid.illegal}};
  json.update(to_json(report.total()));
  json.update(Json{{"seconds", seconds}, {"whole_cpu_seconds", whole}, {"by", std::move(by)}});
  return {{"summary", std::move(json)}};
}

void print(const Grid& grid, const Report& report, double seconds, double whole) {
  fmt::print("{} layers of {} models, {} problems by target; {} illegal combinations left out\n\n",
             grid.layers, harness::public_models().size(), grid.trials, grid.illegal);
  fmt::print("{:13} {:13} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "op", "target", "problems", "Configs",
             "kernels", "shared", "failures", "CPU s");
  const auto row = [](std::string_view op, std::string_view target, const Sum& s) {
    fmt::print("{:13} {:13} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8.1f}\n", op, target, s.problems, s.configs,
               s.kernels, s.shared, s.failures, s.cpu_ms / 1e3);
  };
  for (const auto& [key, sum] : report.sums()) row(templates::name(key.first), key.second, sum);
  row("all", "", report.total());
  fmt::print("\n{:.0f} seconds; the whole takes about {:.0f} seconds of CPU\n", seconds, whole);
  for (const TrialResult& r : report.failed())
    for (const TrialFailure& f : r.failures)
      fmt::print("FAILED {}: {}: M {}: {}: {}\n", r.target->name, r.problem, fmt::join(f.m, ","),
                 f.config.empty() ? "no Config" : f.config, f.error.message);
}

Result<int> sweep(const Options& o) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const auto scope = scope_of(o);
  if (!scope) return std::unexpected(scope.error());
  const Grid grid = make_grid(*scope);
  if (grid.cells.empty())
    return fail_field(ErrorCode::unsupported, "target", fmt::format("{}", fmt::join(o.targets, ",")),
                      "one that serves one of the operations");
  const auto share = parse_shard(o.shard, grid.cells.size());
  if (!share) return std::unexpected(share.error());
  const std::vector<const Cell*> cells = shard(grid, share->index, share->count);
  const auto engines = o.prepare ? open_engines(*scope) : Result<Engines>(Engines{});
  if (!engines) return std::unexpected(engines.error());
  const auto report = Report::open(o.jsonl);
  if (!report) return std::unexpected(report.error());
  run(o, cells, *engines, **report);

  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const double whole = (*report)->total().cpu_ms / 1e3 * static_cast<double>(grid.cells.size()) /
                       static_cast<double>(cells.size());
  const Json sums = summary(o, grid, **report, seconds, whole);
  const bool written = (*report)->line(sums);
  if (o.json && o.jsonl != "-") {
    Json all = sums;
    all["failed"] = Json::array();
    for (const TrialResult& r : (*report)->failed()) all["failed"].push_back(to_json(r));
    fmt::print("{}\n", all.dump(2));
  } else if (o.jsonl != "-") {
    print(grid, **report, seconds, whole);
  }
  if (!written) return fail(ErrorCode::io, fmt::format("{}: cannot write all lines", o.jsonl));
  return (*report)->failed().empty() ? exit_ok : exit_wrong;
}

}  // namespace

Action add_sweep(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  app.add_option("--target", o->targets,
                 "GPU architectures, with commas; all by default, with --prepare five of them")
      ->delimiter(',');
  app.add_option("--op", o->operations, "Operations, with commas; all by default")
      ->delimiter(',')
      ->check(CLI::IsMember({"w4a16", "kquant", "int4_gemm", "int4_grouped"}));
  auto* rows = app.add_option("--rows", o->rows, "M whose kernels are generated for each problem")
                   ->delimiter(',')
                   ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
                   ->capture_default_str();
  add_shard_option(app, o->shard);
  app.add_flag("--prepare", o->prepare,
               "Instead: an engine prepares each uncut layer, with usual options, for M from 1 to 8192")
      ->excludes(rows);
  app.add_option("-j,--threads", o->threads, "Problems at once; --prepare does one after another")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  app.add_option("--jsonl", o->jsonl,
                 "A JSON line per problem and target, and one with the sums, to this file; -: to "
                 "the standard output");
  app.add_flag("--json", o->json, "Print sums and failures as JSON, unless lines go there");
  return [o] {
    const auto code = sweep(*o);
    return code ? *code : refuse(code.error(), o->json);
  };
}

}  // namespace wavejit::tools
