// SPDX-License-Identifier: MIT
#include "runtime/engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "runtime/device/common/fork.hpp"
#include "runtime/engine/compiler.hpp"
#include "runtime/engine/environment.hpp"
#include "runtime/engine/fallback.hpp"
#include "runtime/engine/modules.hpp"
#include "runtime/engine/plan.hpp"
#include "runtime/engine/plan_cache.hpp"
#include "runtime/engine/pool.hpp"
#include "runtime/engine/tuning.hpp"
#include "runtime/support/guarded.hpp"

namespace wavejit {
namespace engine {
namespace {

/// Beyond this many rows a range is prepared by its ends' choices alone: nobody has such a batch.
constexpr std::int64_t most_rows = 1 << 20;

LogFunction filtered(const EngineOptions& options) {
  if (!options.log) return {};
  return [log = options.log, least = options.log_level](LogLevel level, std::string_view text) {
    if (level >= least) log(level, text);
  };
}

Result<std::vector<std::shared_ptr<device::Device>>> open_devices(const EngineOptions& options) {
  if (!options.opened.empty()) {
    if (std::ranges::find(options.opened, nullptr) != options.opened.end())
      return fail_field(ErrorCode::invalid_argument, "opened", "a null device", "an open device");
    return options.opened;
  }
  std::vector<std::shared_ptr<device::Device>> devices;
  const std::vector<std::string> names =
      options.devices.empty() ? std::vector<std::string>{"auto"} : options.devices;
  device::OpenOptions open = options.open;
  open.environment = open.environment && options.environment;
  for (const std::string& name : names) {
    auto opened = device::open(name, open);
    if (!opened) return std::unexpected(opened.error());
    devices.push_back(std::move(*opened));
  }
  return devices;
}

void say_drivers(const std::vector<std::shared_ptr<device::Device>>& devices, const LogFunction& log) {
  for (const auto& device : devices) {
    const device::Info& info = device->info();
    if (!log || info.driver.empty()) continue;
    log(LogLevel::info,
        fmt::format("HIP device {} ({}) through {}", info.ordinal, info.target_id, info.driver));
    if (!info.driver_warning.empty()) log(LogLevel::warning, info.driver_warning);
  }
}

/// None where none is asked for or the file is of no use.
TuningDatabase open_tuning(const EngineOptions& options, const LogFunction& log) {
  if (options.tuning_database.empty()) return {};
  auto database = TuningDatabase::read(options.tuning_database);
  if (database) return std::move(*database);
  if (log) log(LogLevel::warning, "no tuning database: " + database.error().message);
  return {};
}

}  // namespace

class Impl {
 public:
  static Result<std::unique_ptr<Impl>> create(EngineOptions options) {
    if (options.environment) apply_environment(options);
    auto devices = open_devices(options);
    if (!devices) return std::unexpected(devices.error());
    say_drivers(*devices, filtered(options));
    auto counters = std::make_shared<LiveCounters>();
    auto compiler = Compiler::create(options, filtered(options), counters);
    if (!compiler) return std::unexpected(compiler.error());
    const unsigned threads =
        options.threads != 0 ? options.threads : std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
    return std::unique_ptr<Impl>(new Impl(std::move(*devices), std::move(*compiler), std::move(counters),
                                          filtered(options), open_tuning(options, filtered(options)), threads,
                                          options.generic));
  }

  Result<Plan> prepare(const templates::Problem& problem, MRange range, std::size_t device) {
    if (auto ok = usable(); !ok) return std::unexpected(std::move(ok.error()));
    LiveCounters::add(counters_->prepares);
    const PlanKey key = plan_key(problem, range, device);
    if (auto found = plans_.find(key)) {
      LiveCounters::add(counters_->plan_hits);
      return Plan(std::move(found));
    }
    auto outcome = flights_.run(flight_key(key), [&]() -> Result<PlanCache::Value> {
      if (auto found = plans_.find(key)) return found;
      auto made = make(problem, range, device);
      if (!made) return std::unexpected(made.error());
      return plans_.insert(key, std::move(*made));
    });
    if (outcome.result) return Plan(std::move(*outcome.result));
    LiveCounters::add(counters_->prepare_failures);
    return std::unexpected(std::move(outcome.result.error()));
  }

  std::shared_future<Result<Plan>> prepare_async(const templates::Problem& problem, MRange range,
                                                 std::size_t device) {
    auto promise = std::make_shared<std::promise<Result<Plan>>>();
    auto future = promise->get_future().share();
    if (auto ok = usable(); !ok) {
      promise->set_value(std::unexpected(std::move(ok.error())));
      return future;
    }
    pool_.submit([=, this](bool run) {
      promise->set_value(guarded([&]() -> Result<Plan> {
        if (run) return prepare(problem, range, device);
        return fail(ErrorCode::shut_down, "the engine was destroyed before this was prepared");
      }));
    });
    return future;
  }

  Plan find(const templates::Problem& problem, MRange range, std::size_t device) const {
    if (made_.crossed()) return {};
    return Plan(plans_.find(plan_key(problem, range, device)));
  }

  std::size_t collect() {
    if (made_.crossed()) return 0;
    plans_.take_unused();  // what it returns dies here, under no lock
    compiler_->clear_memory();
    std::size_t left = 0;
    for (const auto& device : devices_) left += device->collect();
    modules_.forget_expired();
    return left;
  }

  Counters counters() const;
  Result<std::vector<std::string>> explain(const templates::Problem& problem, MRange range,
                                           std::size_t device);

  [[nodiscard]] const std::vector<std::shared_ptr<device::Device>>& devices() const { return devices_; }
  [[nodiscard]] const device::ForkMark& made_in() const { return made_; }
  [[nodiscard]] Result<void> usable() const { return made_.check("the engine"); }

 private:
  Impl(std::vector<std::shared_ptr<device::Device>> devices, std::unique_ptr<Compiler> compiler,
       std::shared_ptr<LiveCounters> counters, LogFunction log, TuningDatabase tuning, unsigned threads,
       bool generic)
      : devices_(std::move(devices)),
        counters_(std::move(counters)),
        log_(std::move(log)),
        tuning_(std::move(tuning)),
        compiler_(std::move(compiler)),
        generic_(generic),
        modules_(counters_),
        pool_(threads) {}

  /// What prepare and explain both begin with.
  struct Asked {
    templates::Problem problem;
    const target::Target* target = nullptr;
    std::string target_id;  ///< that code is made for: the device's, or its family's
    std::shared_ptr<device::Device> device;
    std::vector<templates::Selection> selections;  ///< empty: no family serves this, the fallback is asked
    std::vector<templates::Selection> untuned;  ///< what they are without the tuning database, if different
    Error refusal;                              ///< the families' reason then
  };
  Result<Asked> ask(const templates::Problem& problem, MRange range, std::size_t device) const;
  Result<PlanCache::Value> make(const templates::Problem& problem, MRange range, std::size_t device);
  Result<void> choose_all(const Asked& asked, PlanData& plan);
  Result<Stage> load(const Asked& asked, const Compiler::Value& code, const Layout& layout);
  Result<Choice> choose(const Asked& asked, const templates::Selection& selection);
  static Error unserved(const Asked& asked, const Error& plain);
  Result<Choice> choose_fallback(const Asked& asked);

  device::ForkMark made_;
  std::vector<std::shared_ptr<device::Device>> devices_;
  std::shared_ptr<LiveCounters> counters_;
  LogFunction log_;
  TuningDatabase tuning_;
  std::unique_ptr<Compiler> compiler_;
  bool generic_;
  Modules modules_;
  PlanCache plans_;
  cache::SingleFlight<PlanCache::Value> flights_;
  Pool pool_;  // last: its threads use all of the above
};

Result<Impl::Asked> Impl::ask(const templates::Problem& problem, MRange range, std::size_t device) const {
  if (device >= devices_.size())
    return fail_field(ErrorCode::invalid_argument, "device", std::to_string(device),
                      fmt::format("below {}, the number of devices", devices_.size()));
  if (range.first < 1 || range.last < range.first || range.last > most_rows)
    return fail_field(ErrorCode::invalid_argument, "range", fmt::format("{} to {}", range.first, range.last),
                      fmt::format("1 <= first <= last <= {}", most_rows));
  Asked asked;
  asked.device = devices_[device];
  asked.target = target::find(asked.device->info().target);
  asked.target_id = asked.device->info().target_id;
  if (generic_ && asked.target != nullptr && !asked.target->family.empty()) {
    asked.target = target::find(asked.target->family);
    asked.target_id = asked.target->name;
  }
  Result<templates::Problem> normalised =
      asked.target != nullptr ? templates::normalise(problem, *asked.target)
                              : fail_field(ErrorCode::unsupported, "device", asked.device->info().target_id,
                                           "of a target that a kernel family knows");
  if (!normalised) {
    // What is wrong for every kernel stays wrong; what a family merely does not do, the plain kernel may.
    asked.refusal = normalised.error();
    if (problem.op != templates::Operation::w4a16) return std::unexpected(asked.refusal);
    if (asked.refusal.code != ErrorCode::unsupported && problem.k != 0) return std::unexpected(asked.refusal);
    auto plain = fallback::normalise(problem);
    if (!plain) return std::unexpected(plain.error());
    if (range.last > fallback::most_rows)
      return fail_field(ErrorCode::invalid_argument, "range", std::to_string(range.last),
                        fmt::format("at most {} for the plain kernel", fallback::most_rows));
    asked.problem = *plain;
    return asked;
  }
  asked.problem = *normalised;
  auto selections = templates::select_configs(asked.problem, *asked.target, range.first, range.last);
  if (!selections) return std::unexpected(selections.error());
  asked.selections = std::move(*selections);
  auto tuned = tuning_.apply(asked.problem, *asked.target, asked.target_id, asked.selections, log_);
  if (tuned) {
    asked.untuned = std::move(asked.selections);
    asked.selections = std::move(*tuned);
  }
  return asked;
}

Result<Stage> Impl::load(const Asked& asked, const Compiler::Value& code, const Layout& layout) {
  auto module = modules_.get(*asked.device, code->record);
  if (!module) return std::unexpected(module.error());
  return Stage{.code = code, .module = std::move(*module), .layout = layout, .geometry = {}, .row_grid = {}};
}

Result<Choice> Impl::choose(const Asked& asked, const templates::Selection& selection) {
  // The most rows decide about workspace; fewer never need more.
  const std::int64_t rows = std::min(selection.last, templates::most_rows(asked.problem));
  Choice choice;
  choice.config = selection.config;
  for (unsigned i = 0; i < templates::stages(asked.problem, selection.config); ++i) {
    const auto launch = templates::launch(asked.problem, selection.config, *asked.target, rows, i);
    if (!launch) return std::unexpected(launch.error());
    const auto layout = make_layout(*launch, asked.problem.batch);
    if (!layout) return std::unexpected(layout.error());
    const auto code =
        compiler_->get(asked.problem, selection.config, i, *asked.target, asked.target_id, *launch);
    if (!code) return std::unexpected(code.error());
    auto stage = load(asked, *code, *layout);
    if (!stage) return std::unexpected(stage.error());
    stage->geometry = {launch->grid, launch->block, launch->dynamic_lds_bytes};
    stage->row_grid = launch->row_grid;
    const auto fewest =
        templates::launch(asked.problem, selection.config, *asked.target, std::min(selection.first, rows), i);
    if (!fewest) return std::unexpected(fewest.error());
    if (stage->geometry_for(std::min(selection.first, rows)).grid != fewest->grid)
      return fail(ErrorCode::internal, (*code)->record.kernel + ": its grid does not follow M as it says");
    choice.workspace_bytes = std::max(choice.workspace_bytes, layout->workspace_bytes);
    choice.stages.push_back(std::move(*stage));
  }
  return choice;
}

/// Why neither a family nor the plain kernel serves.
Error Impl::unserved(const Asked& asked, const Error& plain) {
  Error error = asked.refusal;
  error.message += "; nor can the plain kernel be made: " + plain.message;
  return error;
}

Result<Choice> Impl::choose_fallback(const Asked& asked) {
  const auto code = compiler_->get_fallback(asked.problem, asked.device->info());
  if (!code) return std::unexpected(unserved(asked, code.error()));
  auto stage = load(asked, *code, fallback::layout(asked.problem));
  if (!stage) return std::unexpected(stage.error());
  stage->geometry.block = {fallback::tile, fallback::tile, 1};
  stage->geometry.grid[0] =
      static_cast<std::uint32_t>((asked.problem.n + fallback::tile - 1) / fallback::tile);
  stage->row_grid = {.axis = 1, .rows = fallback::tile, .factor = 1};
  Choice choice;
  choice.stages.push_back(std::move(*stage));
  return choice;
}

Result<PlanCache::Value> Impl::make(const templates::Problem& problem, MRange range, std::size_t device) {
  auto asked = ask(problem, range, device);
  if (!asked) return std::unexpected(asked.error());
  auto plan = std::make_shared<PlanData>();
  plan->problem = asked->problem;
  plan->range = range;
  plan->device = asked->device;
  plan->counters = counters_;
  plan->most_rows = asked->selections.empty() ? range.last : templates::most_rows(asked->problem);
  if (asked->selections.empty()) {
    auto choice = choose_fallback(*asked);
    if (!choice) return std::unexpected(choice.error());
    plan->choices.push_back(std::move(*choice));
    plan->intervals.push_back({range.first, range.last, 0});
    return plan;
  }
  auto ok = choose_all(*asked, *plan);
  if (!ok && !asked->untuned.empty()) {
    if (log_) log_(LogLevel::warning, "the tuning database's Configs are not used: " + ok.error().message);
    asked->selections = std::move(asked->untuned);
    plan->choices.clear();
    plan->intervals.clear();
    ok = choose_all(*asked, *plan);
  }
  if (!ok) return std::unexpected(ok.error());
  return plan;
}

/// Ranges alternate between few Configs: each is compiled once, for the largest of its ranges.
Result<void> Impl::choose_all(const Asked& asked, PlanData& plan) {
  for (const templates::Selection& s : asked.selections) {
    const std::string text = templates::canonical(s.config);
    std::size_t index = 0;
    while (index < plan.choices.size() && templates::canonical(plan.choices[index].config) != text) ++index;
    if (index == plan.choices.size()) {
      templates::Selection widest = s;
      for (const templates::Selection& other : asked.selections)
        if (templates::canonical(other.config) == text) widest.last = std::max(widest.last, other.last);
      auto choice = choose(asked, widest);
      if (!choice) return std::unexpected(choice.error());
      plan.choices.push_back(std::move(*choice));
    }
    plan.intervals.push_back({s.first, s.last, static_cast<std::uint32_t>(index)});
  }
  return {};
}

Counters Impl::counters() const {
  Counters c;
  const LiveCounters& live = *counters_;
  c.prepares = live.prepares;
  c.plan_hits = live.plan_hits;
  c.prepare_failures = live.prepare_failures;
  for (std::size_t i = 0; i < c.kernels.size(); ++i) c.kernels[i] = live.kernels[i];
  c.compiles = live.compiles;
  c.compile_failures = live.compile_failures;
  c.compile_nanoseconds = live.compile_nanoseconds;
  c.refused_overrides = live.refused_overrides;
  c.gate_refusals = live.gate_refusals;
  c.loads = live.loads;
  c.load_failures = live.load_failures;
  c.load_nanoseconds = live.load_nanoseconds;
  c.code_bytes_loaded = live.code_bytes_loaded;
  c.launches = live.launches;
  c.empty_launches = live.empty_launches;
  c.launch_failures = live.launch_failures;
  compiler_->add_to(c);
  return c;
}

Result<std::vector<std::string>> Impl::explain(const templates::Problem& problem, MRange range,
                                               std::size_t device) {
  if (auto ok = usable(); !ok) return std::unexpected(std::move(ok.error()));
  auto asked = ask(problem, range, device);
  if (!asked) return std::unexpected(asked.error());
  std::vector<std::string> lines;
  if (asked->selections.empty()) {
    auto line = compiler_->explain_fallback(asked->problem, asked->device->info());
    if (!line) return std::unexpected(unserved(*asked, line.error()));
    lines.push_back(std::move(*line));
  }
  for (const templates::Selection& s : asked->selections) {
    for (unsigned i = 0; i < templates::stages(asked->problem, s.config); ++i) {
      auto line = compiler_->explain(asked->problem, s.config, i, *asked->target, asked->target_id);
      if (!line) return std::unexpected(line.error());
      if (std::ranges::find(lines, *line) == lines.end()) lines.push_back(std::move(*line));
    }
  }
  return lines;
}

}  // namespace engine

Result<std::shared_ptr<Engine>> Engine::create(const EngineOptions& options) {
  return guarded([&]() -> Result<std::shared_ptr<Engine>> {
    auto impl = engine::Impl::create(options);
    if (!impl) return std::unexpected(impl.error());
    return std::shared_ptr<Engine>(new Engine(std::move(*impl)));
  });
}

Engine::Engine(std::unique_ptr<engine::Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() { device::DestroyWhereMade{}(impl_.release()); }

Result<void> Engine::usable() const { return impl_->usable(); }
std::size_t Engine::devices() const { return impl_->devices().size(); }

std::shared_ptr<device::Device> Engine::device(std::size_t index) const {
  return index < impl_->devices().size() ? impl_->devices()[index] : nullptr;
}

Result<Plan> Engine::prepare(const templates::Problem& problem, MRange range, std::size_t device) {
  return guarded([&] { return impl_->prepare(problem, range, device); });
}

std::shared_future<Result<Plan>> Engine::prepare_async(const templates::Problem& problem, MRange range,
                                                       std::size_t device) {
  return impl_->prepare_async(problem, range, device);
}

Plan Engine::find(const templates::Problem& problem, MRange range, std::size_t device) const {
  return impl_->find(problem, range, device);
}

std::size_t Engine::collect() { return impl_->collect(); }

Counters Engine::counters() const { return impl_->counters(); }

Result<std::vector<std::string>> Engine::explain(const templates::Problem& problem, MRange range,
                                                 std::size_t device) {
  return guarded([&] { return impl_->explain(problem, range, device); });
}

}  // namespace wavejit
