// SPDX-License-Identifier: MIT
// What an engine has done so far, for dashboards and tests.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/cache/lookup.hpp"

namespace wavejit {

/// Where a kernel came from.
enum class Tier : std::uint8_t { memory, override_folder, bundle, disk, compiled, count_ };
constexpr std::string_view name(Tier tier) {
  constexpr std::array<std::string_view, 5> names{"memory", "override", "bundle", "disk", "compiled"};
  return tier < Tier::count_ ? names[static_cast<std::size_t>(tier)] : "unknown";
}

/// A snapshot; times are sums over threads.
struct Counters {
  std::uint64_t prepares = 0;   ///< calls
  std::uint64_t plan_hits = 0;  ///< prepares answered from memory as a whole
  std::uint64_t prepare_failures = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(Tier::count_)> kernels{};  ///< look-ups, by tier
  std::array<std::uint64_t, static_cast<std::size_t>(cache::Miss::count_)> disk_misses{};  ///< by cache::Miss
  std::uint64_t compiles = 0, compile_failures = 0, compile_nanoseconds = 0;
  std::uint64_t refused_overrides = 0;
  std::uint64_t gate_refusals = 0;  ///< generated kernels that the static checker refused
  std::uint64_t loads = 0, load_failures = 0, load_nanoseconds = 0, code_bytes_loaded = 0;
  std::uint64_t launches = 0, empty_launches = 0, launch_failures = 0;
  std::uint64_t disk_bytes_read = 0, disk_bytes_written = 0, disk_evicted = 0, disk_quarantined = 0;

  /// One "name value" line each, stable names.
  [[nodiscard]] std::string to_string() const;
};

namespace engine {

/// The live ones. Relaxed: each is a sum on its own.
struct LiveCounters {
  std::atomic<std::uint64_t> prepares{0}, plan_hits{0}, prepare_failures{0};
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Tier::count_)> kernels{};
  std::atomic<std::uint64_t> compiles{0}, compile_failures{0}, compile_nanoseconds{0};
  std::atomic<std::uint64_t> refused_overrides{0}, gate_refusals{0};
  std::atomic<std::uint64_t> loads{0}, load_failures{0}, load_nanoseconds{0}, code_bytes_loaded{0};
  std::atomic<std::uint64_t> launches{0}, empty_launches{0}, launch_failures{0};

  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t value = 1) {
    counter.fetch_add(value, std::memory_order_relaxed);
  }
};

}  // namespace engine
}  // namespace wavejit
