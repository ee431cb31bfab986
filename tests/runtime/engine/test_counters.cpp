// SPDX-License-Identifier: MIT
// Counters as text, each by its name, and what plans that hold nothing say.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "runtime/engine/counters.hpp"
#include "runtime/engine/engine.hpp"

namespace wavejit::test {

TEST_CASE("Every counter is in the text, under its own name", "[engine][counters]") {
  struct Row {
    const char* name;
    std::uint64_t Counters::*value;
  };
  const Row rows[] = {{"prepares", &Counters::prepares},
                      {"plan_hits", &Counters::plan_hits},
                      {"prepare_failures", &Counters::prepare_failures},
                      {"compiles", &Counters::compiles},
                      {"compile_failures", &Counters::compile_failures},
                      {"compile_nanoseconds", &Counters::compile_nanoseconds},
                      {"refused_overrides", &Counters::refused_overrides},
                      {"gate_refusals", &Counters::gate_refusals},
                      {"loads", &Counters::loads},
                      {"load_failures", &Counters::load_failures},
                      {"load_nanoseconds", &Counters::load_nanoseconds},
                      {"code_bytes_loaded", &Counters::code_bytes_loaded},
                      {"launches", &Counters::launches},
                      {"empty_launches", &Counters::empty_launches},
                      {"launch_failures", &Counters::launch_failures},
                      {"disk_bytes_read", &Counters::disk_bytes_read},
                      {"disk_bytes_written", &Counters::disk_bytes_written},
                      {"disk_evicted", &Counters::disk_evicted},
                      {"disk_quarantined", &Counters::disk_quarantined}};
  std::size_t numbers = 0;
  for (const Row& row : rows) {
    Counters c;
    c.*row.value = 4711;
    const std::string text = "\n" + c.to_string();
    CHECK(text.find(fmt::format("\n{} 4711\n", row.name)) != std::string::npos);
    CHECK(text.find("4711") == text.rfind("4711"));
    ++numbers;
  }
  Counters c;
  for (std::size_t i = 0; i < c.kernels.size(); ++i) c.kernels[i] = 100 + i;
  for (std::size_t i = 0; i < c.disk_misses.size(); ++i) c.disk_misses[i] = 200 + i;
  const std::string text = c.to_string();
  for (std::size_t i = 0; i < c.kernels.size(); ++i)
    CHECK(text.find(fmt::format("kernels_{} {}\n", name(static_cast<Tier>(i)), 100 + i)) !=
          std::string::npos);
  // The first miss is none at all.
  for (std::size_t i = 1; i < c.disk_misses.size(); ++i)
    CHECK(text.find(fmt::format("disk_miss_{} {}\n", cache::name(static_cast<cache::Miss>(i)), 200 + i)) !=
          std::string::npos);
  CHECK(static_cast<std::size_t>(std::ranges::count(text, '\n')) ==
        numbers + c.kernels.size() + c.disk_misses.size() - 1);
  CHECK(sizeof c == 8 * (numbers + c.kernels.size() + c.disk_misses.size()));  // a new one belongs here, too
}

TEST_CASE("A plan that holds nothing has no variants", "[engine]") {
  const Plan none;
  CHECK_FALSE(none);
  CHECK(none.variants().empty());
  CHECK(none.workspace_bytes(1).error().code == ErrorCode::not_prepared);
}

}  // namespace wavejit::test
