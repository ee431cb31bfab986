// SPDX-License-Identifier: MIT
// Internal: from a problem and a Config to code, through the tiers: memory, override folder, bundles, disk,
// compiler. Knows targets and their IDs, no devices.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "runtime/cache/bundle.hpp"
#include "runtime/cache/disk_cache.hpp"
#include "runtime/cache/memory_cache.hpp"
#include "runtime/cache/overrides.hpp"
#include "runtime/cache/single_flight.hpp"
#include "runtime/engine/plan.hpp"

namespace wavejit::engine {

class Compiler {
 public:
  using Value = std::shared_ptr<const Code>;

  /// Errors: io or invalid_argument for bundles and override folders that cannot be used.
  static Result<std::unique_ptr<Compiler>> create(const EngineOptions& options, LogFunction log,
                                                  std::shared_ptr<LiveCounters> counters);

  /// A stage of a Config. `problem` and `config` are normalised; `target_id` is the device's; `launch` is the
  /// stage's, for any M.
  Result<Value> get(const templates::Problem& problem, const templates::Config& config, unsigned stage,
                    const target::Target& target, std::string_view target_id,
                    const templates::Launch& launch);
  /// The plain kernel by hiprtc (fallback.hpp). `problem` is normalised for it.
  Result<Value> get_fallback(const templates::Problem& problem, const device::Info& device);
  /// Errors: as get_fallback, but for sources that hiprtc refuses.
  Result<std::string> explain_fallback(const templates::Problem& problem, const device::Info& device);
  Result<std::string> explain(const templates::Problem& problem, const templates::Config& config,
                              unsigned stage, const target::Target& target, std::string_view target_id);
  void clear_memory() { memory_.clear(); }
  /// Adds what the disk cache knows.
  void add_to(Counters& counters) const;

 private:
  struct Job;
  struct FamilyJob;
  struct FallbackJob;
  Compiler(const EngineOptions& options, LogFunction log, std::shared_ptr<LiveCounters> counters);
  Result<Value> get(const Job& job);
  Result<Value> find_or_make(const Job& job);
  struct Explained {
    std::string line;
    bool found = false;  ///< nothing need be compiled
  };
  /// Under the keys of a Job.
  Explained explain(const std::vector<cache::Key>& keys);
  /// nullopt: there is no such file; nullptr: there is one, and it was refused.
  std::optional<Value> from_override(const Job& job, std::string_view kernel);
  struct OpenBundle {
    cache::Bundle bundle;
    std::set<std::string> target_ids;         ///< of its keys
    std::set<std::string, std::less<>> said;  ///< target IDs for which it was said that it has no kernel
  };
  Value from_bundle(const Job& job);
  void say_missed(OpenBundle& open, const Job& job);
  Result<Value> from_disk_or_compile(const Job& job);
  Result<cache::Bytes> compile(const Job& job);
  Result<cache::Bytes> generate(const FamilyJob& job);
  [[nodiscard]] std::optional<cache::Record> usable(const Job& job, const cache::Bytes& payload,
                                                    std::string& why) const;
  void note(LogLevel level, std::string_view text) const {
    if (log_) log_(level, text);
  }

  LogFunction log_;
  std::shared_ptr<LiveCounters> counters_;
  bool check_;
  std::string dump_folder_;
  std::vector<OpenBundle> bundles_;
  std::mutex said_mutex_;  ///< of OpenBundle::said
  std::optional<cache::Overrides> overrides_;
  std::unique_ptr<cache::DiskCache> disk_;
  cache::MemoryCache<Code> memory_;
  cache::SingleFlight<Value> flights_;
};

}  // namespace wavejit::engine
