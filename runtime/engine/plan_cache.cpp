// SPDX-License-Identifier: MIT
#include "runtime/engine/plan_cache.hpp"

#include <span>

#include "runtime/cache/digest.hpp"
#include "runtime/engine/plan.hpp"

namespace wavejit::engine {

std::size_t PlanKeyHash::operator()(const PlanKey& key) const noexcept {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(key.words.data());
  return cache::digest(std::span(bytes, sizeof key.words)).low;
}

PlanKey plan_key(const templates::Problem& p, MRange range, std::size_t device) {
  PlanKey key;
  std::size_t next = 0;
  const auto put = [&](auto value) { key.words[next++] = static_cast<std::int64_t>(value); };
  // A field that is missing here would give one plan to two problems: whoever adds a field to Problem meets
  // this binding, which names them all.
  const auto& [op, activation, n, k, group, zero_points, layout, rounding, bias, activation_stride,
               weight_stride, scale_stride, zero_point_stride, output_stride, batch, groups, scale_type] = p;
  put(op), put(activation), put(n), put(k), put(group), put(zero_points), put(layout), put(rounding),
      put(bias);
  put(activation_stride), put(weight_stride), put(scale_stride), put(zero_point_stride), put(output_stride);
  put(batch), put(groups), put(scale_type);
  put(range.first), put(range.last), put(device);
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
