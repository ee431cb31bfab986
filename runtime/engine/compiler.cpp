// SPDX-License-Identifier: MIT
#include "runtime/engine/compiler.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "runtime/check/checker.hpp"
#include "runtime/device/common/code_object_target.hpp"
#include "runtime/engine/dump.hpp"
#include "runtime/engine/fallback.hpp"
#include "runtime/hiprtc/hiprtc.hpp"

namespace wavejit::engine {

/// One kernel to find or make. It is used on the stack of the call that asked for it.
struct Compiler::Job {
  Job(std::vector<cache::Key> k, std::string_view id) : keys(std::move(k)), target_id(id) {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  virtual ~Job() = default;
  /// A serialised Record.
  virtual Result<cache::Bytes> make(Compiler& compiler) const = 0;
  /// Whether a record is what this job would make.
  virtual Result<void> agrees(const cache::Record& record) const = 0;
  /// nullopt: this kernel cannot be edited.
  virtual std::optional<Result<cache::OverrideKernel>> load(const cache::OverrideText& text,
                                                            std::string_view kernel) const = 0;
  /// The one under which it is made and stored, and by which an override is named.
  [[nodiscard]] const cache::Key& key() const { return keys.back(); }
  /// Devices that state different features may be given different objects, so they share nothing in memory.
  [[nodiscard]] const cache::Key& memory_key() const { return keys.front(); }

  const std::vector<cache::Key> keys;  ///< under which others may offer it, the most specific first
  const std::string_view target_id;    ///< the device's
};

/// A kernel of templates/.
struct Compiler::FamilyJob final : Job {
  FamilyJob(std::vector<cache::Key> k, std::string_view id, const templates::Problem& p,
            const templates::Config& c, unsigned s, const target::Target& t, const templates::Launch& l)
      : Job(std::move(k), id), problem(p), config(c), stage(s), target(t), launch(l) {}
  Result<cache::Bytes> make(Compiler& compiler) const override { return compiler.generate(*this); }
  Result<void> agrees(const cache::Record& record) const override {
    if (auto ok = cache::agrees(record, launch, target); !ok) return ok;
    return device::check_target(std::as_bytes(std::span(record.code_object)), target_id);
  }
  std::optional<Result<cache::OverrideKernel>> load(const cache::OverrideText& text,
                                                    std::string_view kernel) const override {
    auto loaded = cache::load_override(text, target, launch, kernel);
    if (!loaded) return loaded;
    const auto& object = loaded->record.code_object;
    if (auto ok = device::check_target(std::as_bytes(std::span(object)), target_id); !ok) {
      ok.error().message = text.path.string() + ": " + ok.error().message;
      return std::unexpected(std::move(ok.error()));
    }
    return loaded;
  }
  const templates::Problem& problem;
  const templates::Config& config;
  const unsigned stage;
  const target::Target& target;
  const templates::Launch& launch;  ///< what a record must agree with
};

struct Compiler::FallbackJob final : Job {
  FallbackJob(cache::Key k, const templates::Problem& p, const device::Info& d)
      : Job({std::move(k)}, d.target_id), problem(p), device(d) {}
  Result<cache::Bytes> make(Compiler&) const override { return fallback::compile(problem, device); }
  Result<void> agrees(const cache::Record& record) const override { return fallback::agrees(record, device); }
  std::optional<Result<cache::OverrideKernel>> load(const cache::OverrideText&,
                                                    std::string_view) const override {
    return std::nullopt;
  }
  const templates::Problem& problem;
  const device::Info& device;
};

namespace {

/// Whether the IR is verified after each pass: what comes out of the last one is judged as machine code in
/// any case.
#ifdef NDEBUG
constexpr bool verify_passes = false;
#else
constexpr bool verify_passes = true;
#endif

using Clock = std::chrono::steady_clock;

std::uint64_t nanoseconds_since(Clock::time_point start) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

std::unique_ptr<cache::DiskCache> open_disk(const EngineOptions& options, const LogFunction& log) {
  if (options.cache_folder && options.cache_folder->empty()) return nullptr;
  cache::DiskOptions disk;
  if (options.cache_folder) disk.folder = *options.cache_folder;
  if (options.cache_bytes != 0) disk.max_bytes = options.cache_bytes;
  disk.lock_timeout = options.cache_lock_timeout;
  disk.log = log;
  return std::make_unique<cache::DiskCache>(std::move(disk));
}

/// The gate that a kernel passes before it may be loaded.
Result<void> judge(const templates::GeneratedKernel& kernel) {
  const auto object = lower::decode(kernel.code_object);
  if (!object) return std::unexpected(object.error());
  for (const check::Report& report : check::check(*object))
    if (!report.ok())
      return fail(
          ErrorCode::invalid_code_object,
          fmt::format("the static checker refuses the generated kernel {}, which is a bug of wavejit; "
                      "please report it:\n{}",
                      kernel.name, check::to_string(report)));
  return {};
}

}  // namespace

Compiler::Compiler(const EngineOptions& options, LogFunction log, std::shared_ptr<LiveCounters> counters)
    : log_(std::move(log)),
      counters_(std::move(counters)),
      check_(options.check),
      dump_folder_(options.dump_folder) {}

Result<std::unique_ptr<Compiler>> Compiler::create(const EngineOptions& options, LogFunction log,
                                                   std::shared_ptr<LiveCounters> counters) {
  std::unique_ptr<Compiler> c(new Compiler(options, std::move(log), std::move(counters)));
  for (const std::string& path : options.bundles) {
    auto bundle = cache::Bundle::open(path);
    if (!bundle) return std::unexpected(bundle.error());
    std::set<std::string> target_ids;
    for (std::size_t i = 0; i < bundle->size(); ++i)
      if (auto parts = cache::parse_key(bundle->key_text(i))) target_ids.insert(std::move(parts->target_id));
    c->bundles_.push_back({std::move(*bundle), std::move(target_ids), {}});
  }
  if (!options.override_folder.empty()) {
    auto overrides = cache::Overrides::open(options.override_folder);
    if (!overrides) return std::unexpected(overrides.error());
    c->overrides_ = std::move(*overrides);
  }
  c->disk_ = open_disk(options, c->log_);
  return c;
}

Result<Compiler::Value> Compiler::get(const templates::Problem& problem, const templates::Config& config,
                                      unsigned stage, const target::Target& target,
                                      std::string_view target_id, const templates::Launch& launch) {
  auto keys = cache::device_keys(problem, config, target, target_id, stage);
  if (!keys) return std::unexpected(keys.error());
  return get(FamilyJob(std::move(*keys), target_id, problem, config, stage, target, launch));
}

Result<Compiler::Value> Compiler::get_fallback(const templates::Problem& problem,
                                               const device::Info& device) {
  auto key = fallback::key(problem, device);
  if (!key) return std::unexpected(key.error());
  return get(FallbackJob(std::move(*key), problem, device));
}

Result<Compiler::Value> Compiler::get(const Job& job) {
  auto outcome = flights_.run(job.memory_key(), [&]() -> Result<Value> {
    if (Value found = memory_.find(job.memory_key())) {
      LiveCounters::add(counters_->kernels[static_cast<std::size_t>(Tier::memory)]);
      return found;
    }
    auto made = find_or_make(job);
    if (!made) return made;
    LiveCounters::add(counters_->kernels[static_cast<std::size_t>((*made)->from)]);
    return memory_.insert(job.memory_key(), std::move(*made));
  });
  if (!outcome.led && outcome.result)
    LiveCounters::add(counters_->kernels[static_cast<std::size_t>(Tier::memory)]);
  return std::move(outcome.result);
}

Result<Compiler::Value> Compiler::find_or_make(const Job& job) {
  const auto edited = from_override(job, {});
  if (edited && *edited) return *edited;
  Value found = from_bundle(job);
  if (!found) {
    auto made = from_disk_or_compile(job);
    if (!made) return made;
    found = std::move(*made);
  }
  // Only now is the kernel's name known, by which an override may be named, too.
  if (edited) return found;
  const auto named = from_override(job, found->record.kernel);
  return named && *named ? *named : found;
}

std::optional<Compiler::Value> Compiler::from_override(const Job& job, std::string_view kernel) {
  if (!overrides_) return std::nullopt;
  auto text = overrides_->find(job.key().digest, kernel);
  if (!text) {
    LiveCounters::add(counters_->refused_overrides);
    note(LogLevel::warning, "override refused: " + text.error().message);
    return nullptr;
  }
  if (!*text) return std::nullopt;
  auto attempt = job.load(**text, kernel);
  if (!attempt) return std::nullopt;
  Result<cache::OverrideKernel>& loaded = *attempt;
  if (!loaded) {
    LiveCounters::add(counters_->refused_overrides);
    note(LogLevel::warning, "override refused, the generated kernel is used: " + loaded.error().message);
    return nullptr;
  }
  for (const std::string& warning : loaded->warnings) note(LogLevel::warning, warning);
  note(LogLevel::info, fmt::format("{} replaces kernel {}", (*text)->path.string(), loaded->record.kernel));
  return std::make_shared<const Code>(Code{job.key(), std::move(loaded->record), Tier::override_folder});
}

std::optional<cache::Record> Compiler::usable(const Job& job, const cache::Bytes& payload,
                                              std::string& why) const {
  auto record = cache::parse_record(payload);
  if (!record) {
    why = record.error().message;
    return std::nullopt;
  }
  if (auto ok = job.agrees(*record); !ok) {
    why = ok.error().message;
    return std::nullopt;
  }
  return std::move(*record);
}

Compiler::Value Compiler::from_bundle(const Job& job) {
  for (OpenBundle& open : bundles_) {
    bool said = false;
    for (const cache::Key& key : job.keys) {
      const cache::Lookup found = open.bundle.get(key);
      std::string why = found.detail;
      if (found.payload)
        if (auto record = usable(job, *found.payload, why))
          return std::make_shared<const Code>(Code{job.key(), std::move(*record), Tier::bundle});
      if (found.miss == cache::Miss::absent) continue;
      note(LogLevel::warning,
           fmt::format("bundle {}: an entry is of no use: {}", open.bundle.path().string(), why));
      said = true;
    }
    if (!said) say_missed(open, job);
  }
  return nullptr;
}

/// Once for each bundle and target ID: whoever names a bundle expects it to be used.
void Compiler::say_missed(OpenBundle& open, const Job& job) {
  {
    const std::lock_guard lock(said_mutex_);
    if (!open.said.emplace(job.target_id).second) return;
  }
  const std::string head = fmt::format(
      "bundle {} has no kernel for {} of this problem: ", open.bundle.path().string(), job.target_id);
  const std::string processor(job.target_id.substr(0, job.target_id.find(':')));
  const auto has = [&open](std::string_view name) {
    return std::ranges::any_of(open.target_ids,
                               [name](std::string_view id) { return id.substr(0, id.find(':')) == name; });
  };
  const target::Target* target = target::find(processor);
  if (has(processor)) {
    note(LogLevel::warning, head + open.bundle.explain(job.key()).summary);
  } else if (target != nullptr && has(target->family)) {
    note(LogLevel::warning,
         fmt::format("{}it has those of {}, which WAVEJIT_GENERIC=1 or the option `generic` asks "
                     "for",
                     head, target->family));
  } else {
    note(LogLevel::info, fmt::format("{}it has {}", head, fmt::join(open.target_ids, ", ")));
  }
}

Result<Compiler::Value> Compiler::from_disk_or_compile(const Job& job) {
  Tier tier = Tier::compiled;
  cache::Bytes payload;
  if (disk_) {
    const auto accept = [&](const cache::Bytes& read) {
      std::string why;
      return usable(job, read, why).has_value();
    };
    auto made = disk_->get_or_make(
        job.key(), [&] { return compile(job); }, accept);
    if (!made) return std::unexpected(made.error());
    payload = std::move(made->payload);
    if (made->from_disk) tier = Tier::disk;
  } else {
    auto made = compile(job);
    if (!made) return std::unexpected(made.error());
    payload = std::move(*made);
  }
  std::string why;
  auto record = usable(job, payload, why);
  if (!record) return fail(ErrorCode::internal, "a kernel just compiled does not fit its own launch: " + why);
  return std::make_shared<const Code>(Code{job.key(), std::move(*record), tier});
}

Result<cache::Bytes> Compiler::compile(const Job& job) {
  const Clock::time_point start = Clock::now();
  auto made = job.make(*this);
  LiveCounters::add(counters_->compile_nanoseconds, nanoseconds_since(start));
  LiveCounters::add(made ? counters_->compiles : counters_->compile_failures);
  return made;
}

Result<cache::Bytes> Compiler::generate(const FamilyJob& job) {
  auto kernel =
      templates::generate(job.problem, job.config, job.target, {.stage = job.stage, .verify = verify_passes});
  if (!kernel) return std::unexpected(kernel.error());
  if (check_) {
    if (auto ok = judge(*kernel); !ok) {
      LiveCounters::add(counters_->gate_refusals);
      return std::unexpected(ok.error());
    }
  }
  note(LogLevel::debug,
       fmt::format("compiled {} in {:.1f} ms", kernel->name,
                   kernel->times.generate_ms + kernel->times.assemble_ms + kernel->times.link_ms));
  if (!dump_folder_.empty())
    if (auto ok = dump_kernel(dump_folder_, to_hex(job.key().digest), job.key().text, *kernel); !ok)
      note(LogLevel::warning, ok.error().message);
  return cache::serialise(cache::make_record(*kernel));
}

Result<std::string> Compiler::explain(const templates::Problem& problem, const templates::Config& config,
                                      unsigned stage, const target::Target& target,
                                      std::string_view target_id) {
  const auto keys = cache::device_keys(problem, config, target, target_id, stage);
  if (!keys) return std::unexpected(keys.error());
  return explain(*keys).line;
}

Result<std::string> Compiler::explain_fallback(const templates::Problem& problem,
                                               const device::Info& device) {
  const auto key = fallback::key(problem, device);
  if (!key) return std::unexpected(key.error());
  Explained told = explain(std::vector{*key});
  if (!told.found)
    if (auto ok = hiprtc::check_target(device.target_id); !ok) return std::unexpected(ok.error());
  return std::move(told.line);
}

Compiler::Explained Compiler::explain(const std::vector<cache::Key>& keys) {
  const cache::Key& own = keys.back();
  const std::string head = to_hex(own.digest) + ": ";
  if (memory_.find(keys.front())) return {head + "in memory", true};
  std::string text;
  for (const OpenBundle& open : bundles_) {
    const std::string path = open.bundle.path().string();
    for (const cache::Key& key : keys)
      if (open.bundle.get(key)) return {head + "in bundle " + path, true};
    text += fmt::format("bundle {}: {}; ", path, open.bundle.explain(own).summary);
  }
  if (!disk_) return {head + text + "no disk cache", false};
  const cache::Explanation e = disk_->explain(own);
  const bool found = e.miss == cache::Miss::none;
  return {head + text + (found ? "in the disk cache" : "disk: " + e.summary), found};
}

void Compiler::add_to(Counters& counters) const {
  if (!disk_) return;
  const cache::DiskStats stats = disk_->stats();
  counters.disk_misses = stats.misses;
  counters.disk_bytes_read = stats.bytes_read;
  counters.disk_bytes_written = stats.bytes_written;
  counters.disk_evicted = stats.evicted;
  counters.disk_quarantined = stats.quarantined;
}

}  // namespace wavejit::engine
