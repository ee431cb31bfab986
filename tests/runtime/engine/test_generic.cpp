// SPDX-License-Identifier: MIT
// An engine that is told to ask for a family's kernels: devices of one family share them, those of another
// have their own, and a device without a family keeps to itself. Results are judged by the oracle.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/harness/device_tensors.hpp"
#include "tests/runtime/engine/engine_bench.hpp"

namespace wavejit::test {
namespace {

using harness::DeviceTensors;

std::set<std::string> keys(const Plan& plan) {
  std::set<std::string> all;
  for (const Variant& v : plan.variants()) all.insert(v.key);
  return all;
}

TEST_CASE("Devices of a family share generic kernels, and each computes right", "[engine][generic]") {
  EngineOptions options = quiet_options();
  options.devices = {"sim:gfx1151", "sim:gfx1100", "sim:gfx1201"};
  options.generic = true;
  const auto created = Engine::create(options);
  REQUIRE(created);
  Engine& engine = **created;
  std::set<std::string> of[3];
  for (std::size_t d = 0; d < 3; ++d) {
    const auto plan = engine.prepare({.n = 72, .k = 96, .group = 32}, {1, 64}, d);
    INFO((plan ? std::string() : plan.error().message));
    REQUIRE(plan);
    of[d] = keys(*plan);
    const auto t = DeviceTensors::create(engine.device(d), plan->problem(), 50, oracle::random_values(d));
    REQUIRE(t);
    REQUIRE(plan->launch(nullptr, t->arguments()));
    REQUIRE(engine.device(d)->synchronise(nullptr));
    const auto verdict = t->judge(oracle::WeightRounding::toward_zero);
    REQUIRE(verdict);
    INFO(verdict->reason);
    CHECK(verdict->ok);
  }
  CHECK(of[0] == of[1]);
  CHECK(of[0] != of[2]);
  CHECK(engine.counters().compiles == of[0].size() + of[2].size());
}

TEST_CASE("A cache of generic kernels that one GPU filled serves another", "[engine][generic]") {
  const Folder folder;
  EngineOptions options = quiet_options();
  options.cache_folder = folder.path("cache");
  options.generic = true;
  std::string key;
  {
    const auto engine = Engine::create(options);
    REQUIRE(engine);
    const auto plan = (*engine)->prepare(small_problem(), {1, 16});
    REQUIRE(plan);
    key = plan->variants().front().key;
  }
  options.devices = {"sim:gfx1103"};
  const auto engine = Engine::create(options);
  REQUIRE(engine);
  const auto plan = (*engine)->prepare(small_problem(), {1, 16});
  REQUIRE(plan);
  CHECK(plan->variants().front().key == key);
  CHECK(plan->variants().front().from == Tier::disk);
  // The GPU's own kernels are others.
  options.generic = false;
  const auto own = Engine::create(options);
  REQUIRE(own);
  const auto of_its_own = (*own)->prepare(small_problem(), {1, 16});
  REQUIRE(of_its_own);
  CHECK(of_its_own->variants().front().key != key);
  CHECK(of_its_own->variants().front().from == Tier::compiled);
}

}  // namespace
}  // namespace wavejit::test
