// SPDX-License-Identifier: MIT
#include "runtime/engine/modules.hpp"

#include <fmt/format.h>

#include <chrono>

namespace wavejit::engine {

Modules::Value Modules::find(const Id& id) const {
  const std::lock_guard lock(mutex_);
  const auto it = loaded_.find(id);
  return it == loaded_.end() ? nullptr : it->second.lock();
}

Result<Modules::Value> Modules::get(device::Device& device, const cache::Record& record) {
  const Id id{&device, cache::digest(std::span(record.code_object)), record.kernel};
  if (Value found = find(id)) return found;
  const std::string text = fmt::format("{} {} {}", static_cast<const void*>(&device),
                                       to_hex(std::get<cache::Digest>(id)), record.kernel);
  auto outcome = flights_.run(cache::key_of_text(text), [&]() -> Result<Value> {
    if (Value found = find(id)) return found;
    const auto start = std::chrono::steady_clock::now();
    auto module = device.load(std::as_bytes(std::span(record.code_object)), record.kernel);
    const auto spent = std::chrono::steady_clock::now() - start;
    LiveCounters::add(counters_->load_nanoseconds,
                      static_cast<std::uint64_t>(std::chrono::nanoseconds(spent).count()));
    if (!module) {
      LiveCounters::add(counters_->load_failures);
      return module;
    }
    LiveCounters::add(counters_->loads);
    LiveCounters::add(counters_->code_bytes_loaded, (*module)->code_bytes());
    const std::lock_guard lock(mutex_);
    loaded_[id] = *module;
    return module;
  });
  return std::move(outcome.result);
}

void Modules::forget_expired() {
  const std::lock_guard lock(mutex_);
  std::erase_if(loaded_, [](const auto& entry) { return entry.second.expired(); });
}

}  // namespace wavejit::engine
