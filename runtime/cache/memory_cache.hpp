// SPDX-License-Identifier: MIT
// Values of this process by key. Shards are chosen by digest; a hit takes a shard's lock shared, for the time
// of a hash-table look-up and one reference count, and no function of the caller ever runs under any of these
// locks. The key's digest is computed once by make_key, so a hit hashes nothing; the whole text is compared.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/cache/key.hpp"

namespace wavejit::cache {

template <class T>
class MemoryCache {
 public:
  using Value = std::shared_ptr<const T>;

  /// nullptr on a miss.
  [[nodiscard]] Value find(const Key& key) const {
    const Shard& shard = shard_of(key);
    const std::shared_lock lock(shard.mutex);
    const auto [begin, end] = shard.slots.equal_range(key.digest);
    for (auto it = begin; it != end; ++it)
      if (it->second.text == key.text) return it->second.value;
    return nullptr;
  }

  /// The first to insert wins: returns what the cache now holds for the key.
  Value insert(const Key& key, Value value) {
    Shard& shard = shard_of(key);
    const std::unique_lock lock(shard.mutex);
    const auto [begin, end] = shard.slots.equal_range(key.digest);
    for (auto it = begin; it != end; ++it)
      if (it->second.text == key.text) return it->second.value;
    return shard.slots.emplace(key.digest, Slot{key.text, std::move(value)})->second.value;
  }

  /// The value that was taken out (destroyed, if by nobody else, by the caller and under no lock), or
  /// nullptr.
  Value erase(const Key& key) {
    Shard& shard = shard_of(key);
    const std::unique_lock lock(shard.mutex);
    const auto [begin, end] = shard.slots.equal_range(key.digest);
    for (auto it = begin; it != end; ++it) {
      if (it->second.text != key.text) continue;
      Value out = std::move(it->second.value);
      shard.slots.erase(it);
      return out;
    }
    return nullptr;
  }

  /// Takes everything out.
  std::vector<Value> clear() {
    std::vector<Value> out;
    for (Shard& shard : shards_) {
      const std::unique_lock lock(shard.mutex);
      for (auto& [digest, slot] : shard.slots) out.push_back(std::move(slot.value));
      shard.slots.clear();
    }
    return out;
  }

  [[nodiscard]] std::size_t size() const {
    std::size_t sum = 0;
    for (const Shard& shard : shards_) {
      const std::shared_lock lock(shard.mutex);
      sum += shard.slots.size();
    }
    return sum;
  }

 private:
  struct Slot {
    std::string text;
    Value value;
  };
  static constexpr std::size_t shard_count = 64;
  struct alignas(64) Shard {
    mutable std::shared_mutex mutex;
    std::unordered_multimap<Digest, Slot> slots;
  };
  // The table hashes by the low half, so shards go by the high one.
  [[nodiscard]] const Shard& shard_of(const Key& key) const { return shards_[key.digest.high % shard_count]; }
  [[nodiscard]] Shard& shard_of(const Key& key) { return shards_[key.digest.high % shard_count]; }

  std::array<Shard, shard_count> shards_;
};

}  // namespace wavejit::cache
