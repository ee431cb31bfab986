// SPDX-License-Identifier: MIT
// The engine: from a problem to a launched kernel, while a server serves.
//
//   auto engine = *Engine::create({});                          // the first GPU, default caches
//   auto plan   = *engine->prepare(problem, {1, 4096});         // compiles, finds, loads
//   allocate(plan.workspace_bytes(m));                          // the caller's memory
//   plan.launch(stream, arguments);                             // on the caller's stream
//
// Contract.
// - prepare() compiles or finds, and loads, all that launches with first <= M <= last need. It may take
//   milliseconds per kernel and must not run while a stream of the device is captured (capture_active).
//   Threads that ask for one kernel share one compilation; so do processes that share a cache folder. A
//   failure is not remembered.
// - Plan::launch() checks its arguments against the problem, then enqueues: one kernel or several. It never
//   compiles, allocates, synchronises, loads or unloads, and takes no lock that a compilation or a load
//   holds. Errors of arguments (their text is allocated) come before anything is enqueued.
// - A Plan is a reference: copies share it, and it keeps its modules loaded, also beyond the Engine. What
//   nobody refers to is unloaded later, by collect() or the next load, never during a capture.
// - Every function may be called from any thread.
// - Fork: in a child that was forked since the engine was made, every call on it and its plans fails with
// no_device
//   at once (counters() works, collect() does nothing, a future that was not ready never will be), and their
//   ends do nothing. The child makes an engine of its own; on HIP that works only where the parent has not
//   used HIP.
// - Wrong caches cost time and a log line, never an error and never a wrong kernel.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generator/support/error.hpp"
#include "runtime/cache/lookup.hpp"
#include "runtime/device/device.hpp"
#include "runtime/engine/arguments.hpp"
#include "runtime/engine/counters.hpp"
#include "templates/problem.hpp"

namespace wavejit {

using cache::LogFunction;
using cache::LogLevel;

/// Rows of activations, both ends included.
struct MRange {
  std::int64_t first = 1, last = 1;
  friend bool operator==(const MRange&, const MRange&) = default;
};

/// Environment variables (documented in docs/runtime.md) stand in for whatever is left at its default,
/// unless `environment` is false.
struct EngineOptions {
  /// As device::open takes them; empty = {"auto"}: the first GPU, and no_device without one. {"sim"}
  /// simulates.
  std::vector<std::string> devices;
  std::vector<std::shared_ptr<device::Device>> opened;  ///< used instead of `devices` when not empty
  device::OpenOptions open;
  std::optional<std::string> cache_folder;  ///< unset = the default one; "" = no disk cache
  std::uint64_t cache_bytes = 0;            ///< size limit; 0 = the default
  std::chrono::milliseconds cache_lock_timeout{30'000};
  std::vector<std::string> bundles;  ///< opened before any cache, in this order
  std::string override_folder;       ///< edited `.s` files; "" = none
  std::string tuning_database;       ///< made by `wavejit tune`; "" = none; unusable = a warning, and none
  std::string dump_folder;           ///< where compiled kernels are written; "" = nowhere
  unsigned threads = 0;              ///< that prepare in the background; 0 = as many as cores, at most 4
  bool generic = false;  ///< kernels for the family (gfx11-generic) where there is one, not for the one GPU
  bool check = true;     ///< the static checker judges every compiled kernel before it is loaded
  LogFunction log;       ///< called from any thread; must not call the engine
  LogLevel log_level = LogLevel::info;
  bool environment = true;
};

namespace engine {
struct PlanData;
class Impl;
}  // namespace engine

/// One of the kernels that a launch runs, one after another.
struct StageKernel {
  std::string kernel;  ///< symbol
  std::string key;     ///< digest, 32 hexadecimal digits: the name of an override file
  Tier from = Tier::compiled;
};

/// What a plan runs for a part of its range.
struct Variant {
  /// Rows that it serves. Where one launch of the kernels takes no more than some number of rows, more are
  /// served by several, and variants for what is left over may lie below the plan's range.
  MRange range;
  templates::Config config;
  std::vector<StageKernel> stages;
  std::string kernel, key;     ///< of the last stage, which writes the output
  Tier from = Tier::compiled;  ///< the same
  std::uint64_t workspace_bytes = 0;
};

class Plan {
 public:
  Plan() = default;  ///< holds nothing; launch says not_prepared
  explicit operator bool() const { return data_ != nullptr; }

  [[nodiscard]] const templates::Problem& problem() const;  ///< normalised
  [[nodiscard]] MRange range() const;
  [[nodiscard]] const device::Device& device() const;
  [[nodiscard]] std::vector<Variant> variants() const;

  /// Scratch memory for `m` rows, in bytes; 0 = none. Errors: not_prepared.
  [[nodiscard]] Result<std::uint64_t> workspace_bytes(std::int64_t m) const;
  /// Errors: not_prepared (M outside the range), invalid_argument, and those of Device::launch.
  Result<void> launch(device::Stream stream, const Arguments& arguments) const;

 private:
  friend class Engine;
  friend class engine::Impl;
  explicit Plan(std::shared_ptr<const engine::PlanData> data) : data_(std::move(data)) {}
  std::shared_ptr<const engine::PlanData> data_;
};

class Engine {
 public:
  /// Errors: no_device, unknown_target, invalid_argument, io (a bundle or override folder that cannot be
  /// used was asked for by name).
  static Result<std::shared_ptr<Engine>> create(const EngineOptions& options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Errors: no_device in a child that was forked since create().
  [[nodiscard]] Result<void> usable() const;
  [[nodiscard]] std::size_t devices() const;
  /// nullptr beyond devices().
  [[nodiscard]] std::shared_ptr<device::Device> device(std::size_t index = 0) const;

  /// Errors: invalid_problem, invalid_argument (range, device), unsupported, out_of_registers, out_of_lds,
  /// and those of Device::load.
  Result<Plan> prepare(const templates::Problem& problem, MRange range, std::size_t device = 0);
  /// The same on the engine's own threads. Destroying the engine completes what has begun; the rest gets
  /// shut_down.
  std::shared_future<Result<Plan>> prepare_async(const templates::Problem& problem, MRange range,
                                                 std::size_t device = 0);
  /// The plan that prepare() made for just these values, or none: never compiles, never loads.
  [[nodiscard]] Plan find(const templates::Problem& problem, MRange range, std::size_t device = 0) const;

  /// Lets go of every plan and kernel that only the engine still refers to and runs deferred unloads.
  /// Returns how many unloads are still deferred.
  std::size_t collect();
  [[nodiscard]] Counters counters() const;
  /// Why preparing this would not find its kernels in a cache: a sentence per kernel.
  Result<std::vector<std::string>> explain(const templates::Problem& problem, MRange range,
                                           std::size_t device = 0);

 private:
  explicit Engine(std::unique_ptr<engine::Impl> impl);
  std::unique_ptr<engine::Impl> impl_;
};

}  // namespace wavejit
