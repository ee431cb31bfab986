// SPDX-License-Identifier: MIT
// What a decode kernel is judged by (issue 7). Counted in the simulator by harness/weight_traffic from
// addresses and EXEC: lanes idle over a wave's run, weight bytes fetched for those needed, whole runs per
// read; needed bytes are the format's, K / 2 a row.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <span>

#include "generator/lower/lower.hpp"
#include "runtime/device/sim/simulator.hpp"
#include "templates/kernel.hpp"
#include "tests/harness/tensors.hpp"
#include "tests/harness/weight_traffic.hpp"
#include "tests/templates/skinny/skinny.hpp"

using namespace wavejit;

namespace {

harness::WeightTraffic traffic_of(templates::Problem problem, const templates::Config& config,
                                  std::int64_t m) {
  const target::Target& target = *target::find("gfx1151");
  const auto kernel = templates::generate(problem, config, target);
  REQUIRE(kernel);
  const auto launch = templates::launch(kernel->problem, kernel->config, target, m);
  REQUIRE(launch);
  const auto object = lower::decode(kernel->code_object);
  REQUIRE(object);
  const harness::TileGrid grid(kernel->problem, kernel->config, *kernel->target, *launch, m);
  auto tensors = harness::Tensors::create(kernel->problem, std::span(&*launch, 1), {grid.tile({})},
                                          oracle::random_values(1), {});
  REQUIRE(tensors);
  const auto program = sim::Program::create(object->kernels.at(0), target);
  REQUIRE(program);
  const sim::LaunchParams params{.grid = launch->grid,
                                 .block = launch->block,
                                 .kernarg = tensors->kernarg(0),
                                 .dynamic_lds_bytes = 0,
                                 .workgroups = {0},
                                 .options = {}};
  const auto bytes = static_cast<std::uint64_t>(launch->arguments.at(1).bytes);
  REQUIRE(launch->arguments.at(1).name == "weights");
  auto traffic = harness::weight_traffic(object->kernels.at(0), *program, tensors->memory(), params,
                                         tensors->addresses(0).at(1), bytes);
  REQUIRE(traffic);
  return *std::move(traffic);
}

}  // namespace

TEST_CASE("skinny: few idle lanes, no byte fetched in vain", "[skinny][counters]") {
  fmt::print("{:>6} {:>2} {:>5} {:>8} {:>10} {:>9} {:>8}\n", "k", "m", "rows", "idle", "idle loads",
             "fetched/", "fetches");
  fmt::print("{:>6} {:>2} {:>5} {:>8} {:>10} {:>9} {:>8}\n", "", "", "", "lanes", "", "needed", "per byte");
  struct Row {
    std::int64_t k;
    unsigned m, rows;
    double idle;
  };
  // The last three end in a pass with idle lanes: 32, 96 and 224 weights of 256.
  for (const Row& s : {Row{2560, 1, 1, 0.02},
                       {2560, 1, 2, 0.02},
                       {4096, 1, 2, 0.02},
                       {5120, 1, 2, 0.02},
                       {9728, 1, 1, 0.02},
                       {17408, 1, 2, 0.02},
                       {5120, 4, 2, 0.02},
                       {5120, 8, 4, 0.02},
                       {5152, 1, 2, 0.06},
                       {8544, 1, 2, 0.05},
                       {5344, 1, 1, 0.06}}) {
    CAPTURE(s.k, s.m, s.rows);
    templates::Problem p;
    p.n = 64;
    p.k = s.k;
    p.group = 32;
    const harness::WeightTraffic t = traffic_of(p, test::skinny(s.m, s.rows), s.m);
    const auto needed = static_cast<std::uint64_t>(s.k / 2 * s.rows);
    const double fetched = static_cast<double>(t.segments * 64) / static_cast<double>(needed);
    fmt::print("{:>6} {:>2} {:>5} {:>7.3f}% {:>9.3f}% {:>9.4f} {:>8}\n", s.k, s.m, s.rows, 100 * t.idle(),
               100 * t.idle_loads(), fetched, t.most_fetches);
    CHECK(t.bytes == needed);
    CHECK(t.most_fetches == 1);
    CHECK(fetched <= 1.05);
    CHECK(t.idle() <= s.idle);
    if (s.k % 256 == 0) CHECK(t.idle_loads() == 0);
    for (const harness::TensorLoad& load : t.loads) CHECK(load.gaps.empty());
    // 512 neighbouring bytes a read but for what is left of a row.
    std::uint64_t wide = 0;
    for (const harness::TensorLoad& load : t.loads) wide += load.bytes == 512 ? load.bytes : 0;
    CHECK(wide == static_cast<std::uint64_t>(s.k / 1024 * 512) * s.rows);
  }
}

TEST_CASE("skinny: weights are read non-temporally and nothing else is", "[skinny][counters]") {
  for (const char* name : {"gfx1151", "gfx1100", "gfx1201"}) {
    CAPTURE(name);
    const target::Target& target = *target::find(name);
    templates::Problem p;
    p.n = 64;
    p.k = 2592;
    p.group = 32;
    p.zero_points = templates::ZeroPoints::packed;
    const auto kernel = templates::generate(p, test::skinny(1, 2), target);
    REQUIRE(kernel);
    const auto object = lower::decode(kernel->code_object);
    REQUIRE(object);
    const bool gfx12 = target.generation == target::Generation::gfx12;
    unsigned streamed = 0, others = 0;
    for (const lower::DecodedInstruction& i : object->kernels.at(0).instructions) {
      if (i.inst.pipe() != isa::Pipe::vmem || !i.inst.has(isa::flag::load)) continue;
      const bool hint = gfx12 ? i.inst.mods.th == 1 : i.inst.mods.slc && i.inst.mods.dlc;
      (hint ? streamed : others) += 1;
      CHECK(i.inst.mods.scope == 0);
      CHECK_FALSE(i.inst.mods.glc);
    }
    CHECK(streamed >= 2 * 2 * 3);  // two rows; prologue or loop, two tails; fast and exact
    CHECK(others > 0);
    CHECK(kernel->assembly.find(gfx12 ? "th:TH_LOAD_NT" : "slc dlc") != std::string::npos);
    CHECK(object->kernels.at(0).private_segment_size == 0);
  }
}
