// SPDX-License-Identifier: MIT
// The memory cache and single flight, alone and under threads.
#include <atomic>
#include <barrier>
#include <catch2/catch.hpp>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/cache/memory_cache.hpp"
#include "runtime/cache/single_flight.hpp"
#include "tests/runtime/cache/scratch.hpp"

using namespace wavejit;
using test::some_key;

namespace {

/// Many threads ask for one key while the leader's work lasts.
template <class Function>
std::vector<cache::SingleFlight<int>::Outcome> ask_at_once(cache::SingleFlight<int>& flights, int count,
                                                           const Function& work) {
  std::vector<cache::SingleFlight<int>::Outcome> outcomes(static_cast<std::size_t>(count), {0, false});
  std::barrier start(count);
  std::atomic<int> asked = 0;
  std::vector<std::jthread> threads;
  for (auto& outcome : outcomes)
    threads.emplace_back([&] {
      start.arrive_and_wait();
      ++asked;
      outcome = flights.run(some_key(), [&] {
        // Give the others time to come and wait; who is late would lead a flight of its own.
        while (asked < count) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        return work();
      });
    });
  threads.clear();
  return outcomes;
}

}  // namespace

TEST_CASE("the memory cache finds by digest and whole text", "[cache]") {
  cache::MemoryCache<int> memory;
  const cache::Key a = some_key(1), b = some_key(2);
  CHECK(memory.find(a) == nullptr);
  CHECK(*memory.insert(a, std::make_shared<int>(10)) == 10);
  CHECK(*memory.insert(a, std::make_shared<int>(11)) == 10);  // the first stays
  CHECK(*memory.find(a) == 10);
  CHECK(memory.find(b) == nullptr);
  // A collision: another text under the same digest is another key.
  const cache::Key twin{.text = "other", .digest = a.digest};
  CHECK(memory.find(twin) == nullptr);
  memory.insert(twin, std::make_shared<int>(12));
  CHECK(*memory.find(a) == 10);
  CHECK(*memory.find(twin) == 12);
  CHECK(memory.size() == 2);
  CHECK(*memory.erase(a) == 10);
  CHECK(memory.erase(a) == nullptr);
  CHECK(memory.find(a) == nullptr);
  CHECK(*memory.find(twin) == 12);
  CHECK(memory.clear().size() == 1);
  CHECK(memory.size() == 0);
}

TEST_CASE("a value lives as long as somebody holds it", "[cache]") {
  cache::MemoryCache<int> memory;
  std::weak_ptr<const int> watch;
  auto held = memory.insert(some_key(), std::make_shared<int>(1));
  watch = held;
  memory.clear();
  CHECK_FALSE(watch.expired());
  held.reset();
  CHECK(watch.expired());
}

TEST_CASE("the memory cache holds under threads that insert, find and erase", "[cache]") {
  cache::MemoryCache<int> memory;
  constexpr int key_count = 40, thread_count = 8, steps = 3000;
  std::vector<cache::Key> keys;
  for (int i = 0; i < key_count; ++i) keys.push_back(some_key(i));
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < thread_count; ++t)
    threads.emplace_back([&, t] {
      unsigned state = static_cast<unsigned>(t) + 1;
      for (int i = 0; i < steps; ++i) {
        state = state * 1664525 + 1013904223;
        const int k = static_cast<int>(state >> 16) % key_count;
        const cache::Key& key = keys[static_cast<std::size_t>(k)];
        std::shared_ptr<const int> value;
        if (state % 16 == 0) {
          value = memory.erase(key);
        } else {
          value = memory.find(key);
          if (!value) value = memory.insert(key, std::make_shared<int>(k));
        }
        if (value && *value != k) ++wrong;
      }
    });
  threads.clear();
  CHECK(wrong == 0);
  CHECK(memory.size() <= key_count);
}

TEST_CASE("one flight serves all who ask at once", "[cache]") {
  cache::SingleFlight<int> flights;
  std::atomic<int> ran = 0;
  const auto outcomes = ask_at_once(flights, 16, [&]() -> Result<int> { return ++ran * 100; });
  CHECK(ran == 1);
  int led = 0;
  for (const auto& o : outcomes) {
    REQUIRE(o.result);
    CHECK(*o.result == 100);
    led += o.led ? 1 : 0;
  }
  CHECK(led == 1);
  CHECK(flights.size() == 0);
}

TEST_CASE("a failure goes to all who waited and is not remembered", "[cache]") {
  cache::SingleFlight<int> flights;
  std::atomic<int> ran = 0;
  const auto outcomes = ask_at_once(flights, 8, [&]() -> Result<int> {
    ++ran;
    return fail(ErrorCode::assembler, "no");
  });
  CHECK(ran == 1);
  for (const auto& o : outcomes) {
    REQUIRE_FALSE(o.result);
    CHECK(o.result.error().message == "no");
  }
  CHECK(*flights.run(some_key(), []() -> Result<int> { return 5; }).result == 5);
}

TEST_CASE("an exception is a failure like another", "[cache]") {
  cache::SingleFlight<int> flights;
  const auto throwing = ask_at_once(flights, 4, []() -> Result<int> { throw std::runtime_error("bang"); });
  for (const auto& o : throwing) {
    REQUIRE_FALSE(o.result);
    CHECK(o.result.error().code == ErrorCode::internal);
    CHECK(o.result.error().message.find("bang") != std::string::npos);
  }
  const auto full = flights.run(some_key(), []() -> Result<int> { throw std::bad_alloc(); });
  CHECK(full.result.error().code == ErrorCode::out_of_memory);
  CHECK(flights.run(some_key(), []() -> Result<int> { throw 7; }).result.error().code == ErrorCode::internal);
  CHECK(*flights.run(some_key(), []() -> Result<int> { return 1; }).result == 1);
}

TEST_CASE("asking for the key that one is making is an error, not a deadlock", "[cache]") {
  cache::SingleFlight<int> flights;
  const auto outer = flights.run(some_key(1), [&]() -> Result<int> {
    CHECK(*flights.run(some_key(2), []() -> Result<int> { return 2; }).result == 2);
    return flights.run(some_key(1), []() -> Result<int> { return 1; }).result;
  });
  REQUIRE_FALSE(outer.result);
  CHECK(outer.result.error().code == ErrorCode::internal);
}

TEST_CASE("different keys fly at the same time", "[cache]") {
  cache::SingleFlight<int> flights;
  std::barrier both(2);  // passes only when both functions run at once
  std::vector<std::jthread> threads;
  for (const int i : {1, 2})
    threads.emplace_back([&, i] {
      flights.run(some_key(i), [&]() -> Result<int> {
        both.arrive_and_wait();
        return i;
      });
    });
  threads.clear();
  CHECK(flights.size() == 0);
}
