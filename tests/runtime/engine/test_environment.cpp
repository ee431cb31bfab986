// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "runtime/engine/environment.hpp"
#include "tests/runtime/engine/engine_bench.hpp"

namespace wavejit::test {
namespace {

/// Sets a variable for the length of a test.
class Set {
 public:
  Set(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Set() { ::unsetenv(name_); }
  Set(const Set&) = delete;
  Set& operator=(const Set&) = delete;

 private:
  const char* name_;
};

TEST_CASE("docs/runtime.md lists every variable, in its words", "[engine][environment]") {
  std::ifstream file(WAVEJIT_TEST_DATA "/../../docs/runtime.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const engine::Variable& v : engine::variables()) {
    const std::string row = "| `" + std::string(v.name) + "` | " + std::string(v.meaning) + " |";
    INFO(row);
    CHECK(text.str().find(row) != std::string::npos);
  }
}

TEST_CASE("Variables stand in for what the program left at its default", "[engine][environment]") {
  const Set device("WAVEJIT_DEVICE", "sim:gfx1100,sim");
  const Set cache("WAVEJIT_CACHE_DIR", "off");
  const Set bytes("WAVEJIT_CACHE_BYTES", "4096");
  const Set bundles("WAVEJIT_BUNDLES", "a.wjb:b.wjb");
  const Set overrides("WAVEJIT_OVERRIDE_DIR", "/o");
  const Set tuning("WAVEJIT_TUNING_DB", "/t.json");
  const Set dump("WAVEJIT_DUMP_DIR", "/d");
  const Set generic("WAVEJIT_GENERIC", "1");
  const Set threads("WAVEJIT_THREADS", "3");
  EngineOptions options;
  engine::apply_environment(options);
  CHECK(options.devices == std::vector<std::string>{"sim:gfx1100", "sim"});
  CHECK(options.cache_folder == "");
  CHECK(options.cache_bytes == 4096);
  CHECK(options.bundles == std::vector<std::string>{"a.wjb", "b.wjb"});
  CHECK(options.override_folder == "/o");
  CHECK(options.tuning_database == "/t.json");
  CHECK(options.dump_folder == "/d");
  CHECK(options.generic);
  CHECK(options.threads == 3);
  EngineOptions mine;
  mine.devices = {"sim"};
  mine.cache_folder = "/mine";
  mine.cache_bytes = 1;
  mine.bundles = {"c.wjb"};
  engine::apply_environment(mine);
  CHECK(mine.devices == std::vector<std::string>{"sim"});
  CHECK(mine.cache_folder == "/mine");
  CHECK(mine.cache_bytes == 1);
  CHECK(mine.bundles == std::vector<std::string>{"c.wjb"});
}

TEST_CASE("A variable that makes no sense is said and left out; levels filter", "[engine][environment]") {
  Log log;
  EngineOptions options;
  options.log = log.function();
  {
    const Set bytes("WAVEJIT_CACHE_BYTES", "many");
    const Set level("WAVEJIT_LOG", "warning");
    engine::apply_environment(options);
  }
  CHECK(options.cache_bytes == 0);
  CHECK(options.log_level == LogLevel::warning);
  CHECK(log.contains("WAVEJIT_CACHE_BYTES is many"));
  // The level is the program's now, and wins.
  const Set off("WAVEJIT_LOG", "off");
  engine::apply_environment(options);
  CHECK(options.log);
  EngineOptions left;
  left.log = log.function();
  engine::apply_environment(left);
  CHECK_FALSE(left.log);
  left.log = log.function();
  const Set wrong("WAVEJIT_LOG", "loud");
  engine::apply_environment(left);
  CHECK(log.contains("WAVEJIT_LOG is loud"));
}

TEST_CASE("Where the program turns the environment off, not even the driver's name is read",
          "[engine][environment]") {
  const Set library("WAVEJIT_HIP_LIBRARY", "/nowhere/of/the/environment.so");
  EngineOptions options = quiet_options();
  options.devices = {"hip"};
  const auto refused = [&] {
    const auto engine = Engine::create(options);  // with whatever driver this process has mapped, if any
    return !engine && engine.error().message.find("/nowhere/of/the/environment.so") != std::string::npos;
  };
  CHECK_FALSE(refused());
  options.environment = true;
  CHECK(refused());
}

}  // namespace
}  // namespace wavejit::test
