// SPDX-License-Identifier: MIT
// However many threads ask for one key at the same time, one of them does the work and all get its result.
// Nothing is remembered: whoever asks after that starts anew, so a failure is delivered to those who were
// waiting and not kept. A value is kept by the MemoryCache, into which the function must put it before it
// returns; and the function must look there first, since another flight may have landed between the caller's
// own look and run().
//
//   auto kernel = memory.find(key);
//   if (!kernel) kernel = flights.run(key, [&] { if (auto k = memory.find(key)) return k; …; return
//   memory.insert(…); });
//
// No lock is held while the function runs. A function that throws gives its callers ErrorCode::internal (out
// of host memory: out_of_memory). A function that asks for its own key again on the same thread gets
// ErrorCode::internal instead of a deadlock.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include "generator/support/error.hpp"
#include "runtime/cache/key.hpp"
#include "runtime/support/guarded.hpp"

namespace wavejit::cache {

template <class T>
class SingleFlight {
 public:
  struct Outcome {
    Result<T> result;
    bool led = false;  ///< this call ran the function
  };

  /// `function`: () -> Result<T>. T is copied to each caller.
  template <class Function>
  Outcome run(const Key& key, Function&& function) {
    std::unique_lock lock(mutex_);
    auto& slot = flights_[key.text];
    if (slot) {
      const std::shared_ptr<Flight> flight = slot;
      if (flight->leader == std::this_thread::get_id())
        return {fail(ErrorCode::internal, "a kernel's preparation asked for the same kernel again"), false};
      flight->landed.wait(lock, [&] { return flight->result.has_value(); });
      return {*flight->result, false};  // NOLINT(bugprone-unchecked-optional-access): just waited for
    }
    const auto flight = slot = std::make_shared<Flight>();
    flight->leader = std::this_thread::get_id();
    lock.unlock();
    Result<T> result = guarded(std::forward<Function>(function));
    lock.lock();
    flight->result.emplace(std::move(result));
    flights_.erase(key.text);
    lock.unlock();
    flight->landed.notify_all();
    return {*flight->result, true};
  }

  /// Keys being worked on now.
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return flights_.size();
  }

 private:
  struct Flight {
    std::thread::id leader;
    std::condition_variable landed;
    std::optional<Result<T>> result;
  };

  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Flight>> flights_;
};

}  // namespace wavejit::cache
