// SPDX-License-Identifier: MIT
// wavejit tune: times the Configs that selection ranks first for some M and keeps the times in a database
// that an engine reads. On hip by events, in interleaved rounds, medians; on sim by the timing model.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>

#include "runtime/cache/key.hpp"
#include "runtime/device/device.hpp"
#include "runtime/engine/tuning.hpp"
#include "templates/select.hpp"
#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/explain_choice.hpp"
#include "tools/wavejit/files.hpp"
#include "tools/wavejit/model_table.hpp"
#include "tools/wavejit/options.hpp"
#include "tools/wavejit/progress.hpp"

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

/// A launch of one Config, ready to be repeated. Memory is the device's until the process ends.
struct Loaded {
  std::shared_ptr<const device::Module> module;
  device::Geometry geometry;
  std::vector<std::byte> kernarg;
};

/// One problem's tensors on a device: random bits, which draw the power that real weights do. Shared by all
/// Configs of one M.
class Buffers {
 public:
  explicit Buffers(device::Device& device) : device_(device) {}
  ~Buffers() {
    for (const auto& [name, address] : addresses_) static_cast<void>(device_.release(address));
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  Result<device::Address> get(const templates::Argument& a) {
    for (const auto& [name, address] : addresses_)
      if (name == a.name) return address;
    const auto address = device_.allocate(static_cast<std::uint64_t>(a.bytes));
    if (!address) return address;
    addresses_.emplace_back(a.name, *address);
    std::vector<std::byte> bits(1 << 20);
    std::mt19937_64 random(1);
    // The exponent's upper bits stay small: no NaN, no overflow.
    for (std::size_t i = 0; i < bits.size(); ++i)
      bits[i] = static_cast<std::byte>(random() & (i % 2 == 0 ? 0xFF : 0x3F));
    for (std::int64_t at = 0; at < a.bytes; at += static_cast<std::int64_t>(bits.size())) {
      const auto size = std::min<std::size_t>(bits.size(), static_cast<std::size_t>(a.bytes - at));
      auto ok = device_.copy_in(*address + static_cast<std::uint64_t>(at), std::span(bits).first(size));
      if (!ok) return std::unexpected(ok.error());
    }
    return address;
  }

 private:
  device::Device& device_;
  std::vector<std::pair<std::string, device::Address>> addresses_;
};

Result<Loaded> load(device::Device& device, Buffers& buffers, const Job& job, const templates::Config& config,
                    std::int64_t m) {
  const auto kernel = templates::generate(job.problem, config, *job.target);
  if (!kernel) return std::unexpected(kernel.error());
  const auto launch = templates::launch(job.problem, kernel->config, *job.target, m);
  if (!launch) return std::unexpected(launch.error());
  auto module = device.load(std::as_bytes(std::span(kernel->code_object)), kernel->name);
  if (!module) return std::unexpected(module.error());
  Loaded l{std::move(*module), {launch->grid, launch->block, launch->dynamic_lds_bytes}, {}};
  l.kernarg.resize(launch->kernarg_size);
  for (const templates::Argument& a : launch->arguments) {
    auto value = static_cast<std::uint64_t>(a.value);
    if (a.kind == ir::ArgKind::buffer) {
      const auto address = buffers.get(a);
      if (!address) return std::unexpected(address.error());
      value = *address;
    }
    std::memcpy(l.kernarg.data() + a.offset, &value, std::min<std::size_t>(a.size, sizeof value));
  }
  return l;
}

Result<double> time_once(device::Device& device, const Loaded& l, device::Event start, device::Event stop) {
  auto ok = device.record(start, nullptr);
  if (ok) ok = device.launch(*l.module, l.geometry, l.kernarg, nullptr);
  if (ok) ok = device.record(stop, nullptr);
  if (ok) ok = device.synchronise(nullptr);
  if (!ok) return std::unexpected(ok.error());
  return device.milliseconds_between(start, stop);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Every round times each Config once, so that clocks that drift drift for all.
Result<std::vector<engine::TunedTime>> measure(device::Device& device, const Job& job, std::int64_t m,
                                               const std::vector<templates::Config>& configs, unsigned rounds,
                                               ProgressBar& bar) {
  Buffers buffers(device);
  std::vector<std::string> names;
  std::vector<Loaded> loaded;
  for (const templates::Config& c : configs) {
    auto l = load(device, buffers, job, c, m);
    if (!l && l.error().code == ErrorCode::out_of_registers) continue;
    if (!l) return std::unexpected(l.error());
    names.push_back(templates::canonical(c));
    loaded.push_back(std::move(*l));
  }
  const auto start = device.create_event(), stop = device.create_event();
  if (!start) return std::unexpected(start.error());
  if (!stop) return std::unexpected(stop.error());
  std::vector<std::vector<double>> times(loaded.size());
  for (unsigned round = 0; round <= rounds; ++round)
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      const auto ms = time_once(device, loaded[i], *start, *stop);
      if (!ms) return std::unexpected(ms.error());
      if (round > 0) times[i].push_back(*ms * 1e3);  // the first round warms up
      bar.update(round * loaded.size() + i + 1, (rounds + 1) * loaded.size());
    }
  static_cast<void>(device.destroy_event(*start));
  static_cast<void>(device.destroy_event(*stop));
  std::vector<engine::TunedTime> result;
  for (std::size_t i = 0; i < names.size(); ++i) result.push_back({names[i], median(times[i])});
  return result;
}

Result<std::vector<engine::TunedTime>> model(ModelTable& table, const Job& job, std::int64_t m,
                                             const std::vector<templates::Config>& configs,
                                             ProgressBar& bar) {
  std::vector<engine::TunedTime> result;
  for (const templates::Config& c : configs) {
    const auto us = table.time_us(job.problem, c, m);
    if (us) result.push_back({templates::canonical(c), *us});
    if (!us && us.error().code != ErrorCode::out_of_registers) return std::unexpected(us.error());
    bar.update(result.size(), configs.size());
  }
  return result;
}

std::vector<templates::Config> contenders(const templates::Portfolio& portfolio, std::int64_t m,
                                          unsigned top) {
  std::vector<templates::Config> configs{portfolio.config(portfolio.choose(m))};
  const std::string choice = templates::canonical(configs.front());
  for (const templates::RankedConfig& r : portfolio.ranking(m)) {
    if (configs.size() >= std::max(top, 1U)) break;
    if (templates::canonical(r.candidate->config) != choice) configs.push_back(r.candidate->config);
  }
  return configs;
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

Result<void> tune_all(const Options& o, const Job& job, device::Device& device, TuningDatabase& database) {
  if (auto ok = require(job, templates::Operation::w4a16); !ok) return ok;
  const device::Info& info = device.info();
  const auto id = cache::canonical_target_id(info.target_id);
  if (!id) return std::unexpected(id.error());
  const templates::Portfolio portfolio(job.problem, *job.target);
  if (portfolio.size() == 0)
    return fail_field(
        ErrorCode::unsupported, "target", std::string(job.target->name),
        "one whose selection keeps a portfolio of tiles, which is what is timed: gfx11 or gfx12");
  ModelTable table(*job.target);
  const bool hip = info.kind == device::Kind::hip;
  for (const std::int64_t m : o.rows.empty() ? std::vector{job.m} : o.rows) {
    if (m < 1) return fail_field(ErrorCode::invalid_argument, "rows", std::to_string(m), "at least 1");
    TuningEntry entry{.target_id = *id,
                      .build = std::string(cache::generator_build_id()),
                      .problem = templates::canonical(job.problem),
                      .rows = engine::tuning_bucket(m),
                      .m = m,
                      .by = hip ? "hip" : "model",
                      .machine = hip ? info.name + " " + info.unique : "",
                      .rounds = hip ? o.rounds : 1,
                      .times = {}};
    const auto configs = contenders(portfolio, m, o.top);
    const std::string choice = templates::canonical(configs.front());
    if (const TuningEntry* known = database.find(entry); known != nullptr && !o.again) {
      fmt::print("known: ");
      print_entry(*known, choice);
      continue;
    }
    ProgressBar bar(hip ? "launches" : "Configs");
    auto times = hip ? measure(device, job, m, configs, o.rounds, bar) : model(table, job, m, configs, bar);
    if (!times) return std::unexpected(times.error());
    bar.finish();
    entry.times = *std::move(times);
    database.add(entry);
    // Saved after every M: whoever stops here goes on from here.
    if (auto ok = save(database, o.database); !ok) return ok;
    print_entry(*database.find(entry), choice);
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
