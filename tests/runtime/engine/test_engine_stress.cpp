// SPDX-License-Identifier: MIT
// Many threads on one engine. Run under thread sanitizer by tools/check --sanitize.
#include <catch2/catch.hpp>
#include <random>
#include <thread>

#include "tests/harness/device_tensors.hpp"
#include "tests/runtime/engine/engine_bench.hpp"

namespace wavejit::test {
namespace {

TEST_CASE("64 threads, 200 problems, prepare and launch mixed: each key compiled once", "[engine][stress]") {
  const Folder folder;
  EngineOptions options = quiet_options();
  options.cache_folder = folder.path("cache");
  options.threads = 4;
  auto made = Engine::create(options);
  REQUIRE(made);
  Engine& engine = **made;
  constexpr int problems = 200, threads = 64;
  // One set of tensors, large enough for each; launches differ in the problem alone and all write the same
  // outputs, so what they compute is judged elsewhere. Four problems are launched, the rest prepared.
  std::vector<harness::DeviceTensors> tensors;
  std::vector<Plan> launched;
  for (int i = 0; i < 4; ++i) {
    auto plan = engine.prepare(small_problem(i), {17, 32});
    REQUIRE(plan);
    launched.push_back(*plan);
    tensors.push_back(*harness::DeviceTensors::create(engine.device(), plan->problem(), 17,
                                                      oracle::constant_values(1, 1, 1)));
  }
  std::atomic<int> failures{0};
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t) {
    team.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::vector<int> order(problems);
      for (int i = 0; i < problems; ++i) order[static_cast<std::size_t>(i)] = i;
      std::shuffle(order.begin(), order.end(), random);
      for (const int i : order) {
        const templates::Problem problem = small_problem(i);
        if (random() % 8 == 0) {
          if (!engine.prepare_async(problem, {17, 32}).get()) ++failures;
        } else if (!engine.prepare(problem, {17, 32})) {
          ++failures;
        }
        const auto j = static_cast<std::size_t>(random() % launched.size());
        if (random() % 64 == 0 && !launched[j].launch(nullptr, tensors[j].arguments())) ++failures;
        if (random() % 256 == 0) static_cast<void>(engine.counters());
      }
    });
  }
  for (std::thread& thread : team) thread.join();
  REQUIRE(engine.device()->synchronise(nullptr));
  CHECK(failures == 0);
  const Counters c = engine.counters();
  CHECK(c.compiles == problems);
  CHECK(c.loads == problems);
  CHECK(c.prepares == 4U + problems * threads);
  CHECK(c.plan_hits + problems <= c.prepares);
  // Every output element of constants: k * 1 * 1 * 1, exact.
  for (const harness::DeviceTensors& t : tensors) {
    const auto bits = t.output();
    REQUIRE(bits);
    for (const std::uint16_t b : *bits) CHECK(b == 0x4200);  // 32
  }
}

}  // namespace
}  // namespace wavejit::test
