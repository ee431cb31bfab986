// SPDX-License-Identifier: MIT
#include <array>
#include <catch2/catch.hpp>
#include <fstream>

#include "runtime/cache/key.hpp"
#include "runtime/engine/tuning.hpp"
#include "tests/runtime/engine/engine_bench.hpp"

namespace wavejit::test {
namespace {

using engine::TuningDatabase;
using engine::TuningEntry;

const target::Target& gfx1151() { return *target::find("gfx1151"); }

templates::Problem problem() { return *templates::normalise({.n = 72, .k = 96, .group = 32}, gfx1151()); }

/// A Config that selection does not choose for 16 rows.
std::string tuned_config() {
  templates::Config c;
  c.bm = 64;
  c.bn = 64;
  c.bk = 16;
  c.waves = 4;
  return templates::canonical(*templates::normalise(c, problem(), gfx1151()));
}

std::string own_config() { return templates::canonical(*templates::select_config(problem(), gfx1151(), 16)); }

TuningEntry entry(const std::string& machine, std::vector<engine::TunedTime> times,
                  const std::string& by = "hip") {
  return {.target_id = "gfx1151",
          .build = std::string(cache::generator_build_id()),
          .problem = templates::canonical(problem()),
          .rows = engine::tuning_bucket(16),
          .m = 16,
          .by = by,
          .machine = machine,
          .rounds = 5,
          .times = std::move(times)};
}

Plan plan_with(const TuningDatabase& database, Log& log, const std::string& file) {
  std::ofstream(file) << database.text();
  EngineOptions options = quiet_options();
  options.tuning_database = file;
  options.log = log.function();
  const auto engine = Engine::create(options);
  REQUIRE(engine);
  auto plan = (*engine)->prepare(problem(), {1, 40});
  INFO((plan ? std::string() : plan.error().message));
  REQUIRE(plan);
  return *plan;
}

TEST_CASE("Every M lies in one tuning bucket", "[engine][tuning]") {
  std::int64_t next = 1;
  while (next < (1 << 20)) {
    const MRange bucket = engine::tuning_bucket(next);
    REQUIRE(bucket.first == next);
    REQUIRE(engine::tuning_bucket(bucket.last) == bucket);
    next = bucket.last + 1;
  }
}

TEST_CASE("A tuning database survives its text and merges machines", "[engine][tuning]") {
  TuningDatabase a, b;
  a.add(entry("one", {{"slow", 20}, {"quick", 10}}));
  b.add(entry("two", {{"quick", 30}, {"slow", 29}}));
  b.add(entry("", {{"modelled", 1}}, "model"));
  a.merge(b);
  const auto back = TuningDatabase::parse(a.text());
  REQUIRE(back);
  CHECK(back->text() == a.text());
  CHECK(back->entries().size() == 3);
  // "quick" is 3 % behind on one machine, "slow" 100 % on the other; the model has no say beside
  // measurements.
  const TuningEntry e = entry("", {});
  CHECK(back->best(e.target_id, e.build, e.problem, e.rows) == "quick");
  CHECK_FALSE(back->best(e.target_id, "another build", e.problem, e.rows));
  CHECK_FALSE(back->best("gfx1100", e.build, e.problem, e.rows));
}

TEST_CASE("What is no tuning database is refused with its place", "[engine][tuning]") {
  for (const char* text : {"", "[]", "{}", R"({"wavejit_tuning": 3, "entries": []})"})
    CHECK_FALSE(TuningDatabase::parse(text));
  const std::string deep = std::string(60000, '[') + std::string(60000, ']');
  const auto nested = TuningDatabase::parse(R"({"wavejit_tuning": 2, "entries": [], "a": )" + deep + "}");
  REQUIRE_FALSE(nested);
  CHECK(nested.error().given == "nested deeper than 64");
  const auto bad = TuningDatabase::parse(R"({"wavejit_tuning": 2, "entries": [{"target_id": 1}]})");
  REQUIRE_FALSE(bad);
  CHECK(bad.error().message.find("entries[0]") != std::string::npos);
}

TEST_CASE("The engine takes the tuned Config for its bucket and no other", "[engine][tuning]") {
  const Folder folder;
  Log log;
  TuningDatabase database;
  database.add(entry("one", {{tuned_config(), 1}, {own_config(), 2}}));
  const Plan plan = plan_with(database, log, folder.path("db.json"));
  for (const Variant& v : plan.variants()) {
    const bool tuned = templates::canonical(v.config) == tuned_config();
    CHECK(tuned == (v.range.first == 9));
    if (tuned) CHECK(v.range.last == 16);
  }
  CHECK(log.warnings() == 0);
}

TEST_CASE("A tuned Config that does not suit costs a warning", "[engine][tuning]") {
  const Folder folder;
  Log log;
  TuningDatabase database;
  templates::Config c;
  c.bk = 64;  // the group is 32
  c.waves_m = 4;
  c.waves_n = 2;
  database.add(entry("one", {{templates::canonical(c), 1}, {own_config(), 2}}));
  const Plan plan = plan_with(database, log, folder.path("db.json"));
  CHECK_FALSE(plan.variants().empty());
  CHECK(log.contains("tuning database"));
}

TEST_CASE("Tuning buckets are the ranges of decode kernels and of tiles' heights", "[engine][tuning]") {
  // Decode kernels serve 1, 2, 4, 8 and 16 rows; a tile's height is a multiple of 16.
  for (const auto& [m, first, last] :
       {std::array{1, 1, 1}, std::array{2, 2, 2}, std::array{3, 3, 4}, std::array{8, 5, 8},
        std::array{9, 9, 16}, std::array{17, 17, 32}, std::array{128, 113, 128}, std::array{129, 129, 192}})
    CHECK(engine::tuning_bucket(m) == MRange{first, last});
}

TEST_CASE("What was not timed against selection's choice, or is slower, does not replace it",
          "[engine][tuning]") {
  const bool timed = GENERATE(false, true);
  const Folder folder;
  Log log;
  TuningDatabase database;
  std::vector<engine::TunedTime> times{{tuned_config(), 2}};
  if (timed) times.push_back({own_config(), 1});
  database.add(entry("one", times));
  const Plan plan = plan_with(database, log, folder.path("db.json"));
  for (const Variant& v : plan.variants()) CHECK(templates::canonical(v.config) != tuned_config());
  CHECK(log.warnings() == (timed ? 0 : 1));
  CHECK(log.contains("run `wavejit tune` again") == !timed);
}

TEST_CASE("A tuning database of an older form costs one warning that says what to do", "[engine][tuning]") {
  const Folder folder;
  Log log;
  std::ofstream(folder.path("db.json")) << R"({"wavejit_tuning": 1, "entries": []})";
  EngineOptions options = quiet_options();
  options.tuning_database = folder.path("db.json");
  options.log = log.function();
  const auto engine = Engine::create(options);
  REQUIRE(engine);
  REQUIRE((*engine)->prepare(problem(), {1, 40}));
  CHECK(log.warnings() == 1);
  CHECK(log.contains("run `wavejit tune` again"));
}

TEST_CASE("A tuning database that cannot be read costs a warning", "[engine][tuning]") {
  const Folder folder;
  Log log;
  EngineOptions options = quiet_options();
  options.tuning_database = folder.path("absent.json");
  options.log = log.function();
  REQUIRE(Engine::create(options));
  CHECK(log.warnings() == 1);
}

}  // namespace
}  // namespace wavejit::test
