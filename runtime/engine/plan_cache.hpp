// SPDX-License-Identifier: MIT
// Internal: plans by exactly what was asked for, so that preparing again costs a hash and a comparison.
// Readers share a shard's lock for the length of a look-up; a compilation holds none.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/engine/engine.hpp"
#include "templates/fields.hpp"

namespace wavejit::engine {

struct PlanKey {
  /// Every field of Problem, the range and the device, in order.
  std::array<std::int64_t, templates::problem_fields + 3> words{};
  friend bool operator==(const PlanKey&, const PlanKey&) = default;
};

struct PlanKeyHash {
  std::size_t operator()(const PlanKey& key) const noexcept;
};

PlanKey plan_key(const templates::Problem& problem, MRange range, std::size_t device);
/// For single flight, which takes texts.
cache::Key flight_key(const PlanKey& key);

class PlanCache {
 public:
  using Value = std::shared_ptr<const PlanData>;

  [[nodiscard]] Value find(const PlanKey& key) const {
    const Shard& shard = shards_[PlanKeyHash{}(key) % shards_.size()];
    const std::shared_lock lock(shard.mutex);
    const auto it = shard.plans.find(key);
    return it == shard.plans.end() ? nullptr : it->second;
  }
  /// The first wins.
  Value insert(const PlanKey& key, Value plan) {
    Shard& shard = shards_[PlanKeyHash{}(key) % shards_.size()];
    const std::unique_lock lock(shard.mutex);
    return shard.plans.emplace(key, std::move(plan)).first->second;
  }
  /// Takes out those that nobody else refers to; they die when the caller lets go of them.
  std::vector<Value> take_unused();

 private:
  struct alignas(64) Shard {
    mutable std::shared_mutex mutex;
    std::unordered_map<PlanKey, Value, PlanKeyHash> plans;
  };
  std::array<Shard, 16> shards_;
};

}  // namespace wavejit::engine
