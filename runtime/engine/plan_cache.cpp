// SPDX-License-Identifier: MIT
#include "runtime/engine/plan_cache.hpp"

#include <algorithm>
#include <span>

#include "runtime/cache/digest.hpp"
#include "runtime/engine/plan.hpp"

namespace wavejit::engine {

std::size_t PlanKeyHash::operator()(const PlanKey& key) const noexcept {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(key.words.data());
  return cache::digest(std::span(bytes, sizeof key.words)).low;
}

PlanKey plan_key(const templates::Problem& p, MRange range, std::size_t device) {
  const templates::Words problem = templates::words(p);
  PlanKey key;
  auto* next = std::ranges::copy(problem, key.words.begin()).out;
  *next++ = range.first;
  *next++ = range.last;
  *next = static_cast<std::int64_t>(device);
  return key;
}

cache::Key flight_key(const PlanKey& key) {
  return cache::key_of_text({reinterpret_cast<const char*>(key.words.data()), sizeof key.words});
}

std::vector<PlanCache::Value> PlanCache::take_unused() {
  std::vector<Value> taken;
  for (Shard& shard : shards_) {
    const std::unique_lock lock(shard.mutex);
    for (auto it = shard.plans.begin(); it != shard.plans.end();) {
      if (it->second.use_count() == 1) {
        taken.push_back(std::move(it->second));
        it = shard.plans.erase(it);
      } else {
        ++it;
      }
    }
  }
  return taken;
}

}  // namespace wavejit::engine
