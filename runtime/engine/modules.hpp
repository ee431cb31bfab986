// SPDX-License-Identifier: MIT
// Internal: loaded modules per device and content digest. Two keys with equal code share a module; the map
// itself keeps none alive.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "runtime/cache/digest.hpp"
#include "runtime/cache/record.hpp"
#include "runtime/cache/single_flight.hpp"
#include "runtime/device/device.hpp"
#include "runtime/engine/counters.hpp"

namespace wavejit::engine {

class Modules {
 public:
  using Value = std::shared_ptr<const device::Module>;
  explicit Modules(std::shared_ptr<LiveCounters> counters) : counters_(std::move(counters)) {}

  /// Loads unless it is loaded. Errors: those of Device::load.
  Result<Value> get(device::Device& device, const cache::Record& record);
  void forget_expired();

 private:
  /// The device's address is its identity: plans keep devices alive as long as their modules.
  using Id = std::tuple<const device::Device*, cache::Digest, std::string>;
  [[nodiscard]] Value find(const Id& id) const;

  std::shared_ptr<LiveCounters> counters_;
  mutable std::mutex mutex_;
  std::map<Id, std::weak_ptr<const device::Module>> loaded_;
  cache::SingleFlight<Value> flights_;
};

}  // namespace wavejit::engine
