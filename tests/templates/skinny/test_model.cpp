// SPDX-License-Identifier: MIT
// What the timing model says of W4A16 decode on gfx1151: memory is what binds, with room, for the shapes of
// shared/published.md and issue 7. The model takes DRAM to deliver 215 GB/s (published copies: 212-215 of
// 256; docs/model.md has its error). To the larger of computing and DRAM time the test adds what a workgroup
// takes alone from dispatch to its last store, as ramp and tail of the launch; and it counts by Little's law
// whether the resident waves have bytes enough in flight to draw that bandwidth at the latency of a loaded
// DRAM, three times the idle one (hardware.md §8.2 of another GPU). Not shown: pages that miss the TLB,
// refreshes, clocks that drop.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>

#include "generator/lower/lower.hpp"
#include "generator/model/estimate.hpp"
#include "generator/model/loops.hpp"
#include "templates/kernel.hpp"
#include "templates/select.hpp"
#include "tests/templates/skinny/skinny.hpp"

using namespace wavejit;

namespace {

struct Modelled {
  model::Estimate estimate;
  double bytes = 0, reached = 0, in_flight = 0, needed_in_flight = 0;
};

Modelled model_of(const templates::Problem& problem, const templates::Config& config, std::int64_t m) {
  const target::Target& target = *target::find("gfx1151");
  const auto kernel = templates::generate(problem, config, target);
  REQUIRE(kernel);
  const templates::Problem& p = kernel->problem;
  const templates::Config& c = kernel->config;
  const auto launch = templates::launch(p, c, target, m);
  REQUIRE(launch);
  const auto object = lower::decode(kernel->code_object);
  REQUIRE(object);
  std::vector<isa::Instruction> code;
  for (const lower::DecodedInstruction& i : object->kernels.at(0).instructions) code.push_back(i.inst);
  // What lies behind the kernel's end runs for infinite activations only.
  const auto end = std::ranges::find(code, isa::Opcode::s_endpgm, &isa::Instruction::op);
  REQUIRE(end != code.end());
  code.erase(end + 1, code.end());
  for (isa::Instruction& inst : code)
    if (inst.src[0].kind == isa::Operand::Kind::label)
      inst.src[0].index = std::min(inst.src[0].index, static_cast<std::uint32_t>(code.size() - 1));
  // A short K has no loop left: then the whole kernel is what repeats, once a workgroup.
  const auto loop = model::hot_loop(code);
  std::vector<std::size_t> body;
  std::uint64_t trips = 1;
  if (loop) {
    body = loop->own;
    for (const ir::Block& block : kernel->ir.blocks)
      if (block.is_loop_body && block.label == "k_loop") trips = static_cast<std::uint64_t>(block.trip_count);
    REQUIRE(trips >= 2);
  } else {
    for (std::size_t i = 0; i < code.size(); ++i) body.push_back(i);
  }
  model::KernelFacts facts;
  facts.vgprs = kernel->ir.vgprs_used;
  facts.lds_bytes = kernel->ir.lds_bytes();
  facts.waves = c.waves;
  facts.wgp_mode = c.wgp_mode;
  Modelled r;
  for (const templates::Argument& a : launch->arguments) r.bytes += static_cast<double>(a.bytes);
  const std::uint64_t workgroups = std::uint64_t{launch->grid[0]} * launch->grid[1];
  model::Stretches stretches{.prologue = {}, .body = body, .epilogue = {}};
  if (loop) stretches = model::split(code, body);
  model::Estimator estimator(model::prepare(code, stretches, {}, target), facts, target);
  const auto estimate = estimator.estimate(
      {.workgroups = workgroups, .iterations = trips, .useful_flop = 0, .dram_bytes = r.bytes});
  INFO((estimate ? std::string() : estimate.error().message));
  REQUIRE(estimate);
  r.estimate = *estimate;
  const target::Timing& t = target.timing;
  const double alone = estimate->overhead_cycles + (loop ? 0 : estimator.loop(1).cycles);
  const double us = (estimate->launch_cycles + alone) / t.clock_megahertz;
  r.reached = r.bytes / us * 1e-3 / t.dram_gigabytes;
  const double simds = target.compute_units * target.simds_per_wgp / 2.0;
  const double waves =
      std::min(estimate->occupancy.waves_per_simd * simds, static_cast<double>(workgroups) * c.waves);
  r.in_flight = waves * c.bn * 512.0 * std::max(c.pipeline_depth, 1U);
  constexpr double loaded = 3;
  r.needed_in_flight = loaded * t.vmem_dram_latency / (t.clock_megahertz * 1e6) * t.dram_gigabytes * 1e9;
  return r;
}

struct Shape {
  std::int64_t n, k;
};
constexpr Shape shapes[] = {{19456, 2560},  {6144, 2560},  {4096, 2560},  {2560, 9728}, {6144, 5120},
                            {248320, 4096}, {12288, 4096}, {17408, 5120}, {5120, 17408}};

}  // namespace

TEST_CASE("skinny decode is bound by memory and nothing else", "[skinny][model]") {
  const target::Target& target = *target::find("gfx1151");
  for (const Shape s : shapes)
    for (const auto type : {templates::DataType::bf16, templates::DataType::f16}) {
      templates::Problem p;
      p.n = s.n;
      p.k = s.k;
      p.group = 32;
      p.activation = type;
      if (type == templates::DataType::f16) p.zero_points = templates::ZeroPoints::packed;
      // The types' loops differ, not what a shape does to them: the second for two shapes only.
      if (type == templates::DataType::f16 && s.n != 19456 && s.n != 2560) continue;
      const auto config = templates::select_config(p, target, 1);
      REQUIRE(config);
      REQUIRE(config->path == templates::Path::skinny);
      const Modelled r = model_of(p, *config, 1);
      fmt::print(
          "{} {:>6} x {:>5} rows {} waves {}: {:>6.1f} us of DRAM, {:.1f} % of its bandwidth with ramp "
          "and tail, loop's VALU {:.0f} %, {} waves per SIMD, in flight {:.0f} of {:.0f} KB\n",
          name(type), s.n, s.k, config->bn, config->waves, r.estimate.time_us, 100 * r.reached,
          100 * r.estimate.loop.busy.valu, r.estimate.occupancy.waves_per_simd, r.in_flight / 1000,
          r.needed_in_flight / 1000);
      CHECK(r.estimate.binds == "DRAM");
      // Ramp and tail are a fixed few microseconds, by an upper bound: a workgroup's whole life alone.
      CHECK(r.reached >= (r.estimate.time_us > 50 ? 0.95 : 0.92));
      CHECK(r.estimate.loop.busy.valu < 0.6);
      CHECK(r.in_flight >= r.needed_in_flight);
      CHECK(r.estimate.occupancy.waves_per_simd >= 12);
    }
}

TEST_CASE("few rows take skinny kernels, few of them, and say why", "[skinny][select]") {
  const target::Target& target = *target::find("gfx1151");
  for (const Shape s : shapes) {
    templates::Problem p;
    p.n = s.n;
    p.k = s.k;
    p.group = 32;
    const auto normal = templates::normalise(p, target);
    REQUIRE(normal);
    const templates::Portfolio portfolio(*normal, target);
    std::set<std::string> kernels;
    for (std::int64_t m = 1; m <= 17; ++m) {
      CAPTURE(s.n, s.k, m);
      const templates::Decision d = templates::decide(portfolio, *normal, target, m);
      CHECK(d.first <= m);
      CHECK(m <= d.last);
      // From there on the timing model, too, has tiles quicker for some shapes: level 2 binds skinny kernels.
      if (m <= 4) CHECK(d.skinny);
      if (m > 16) CHECK_FALSE(d.skinny);
      if (d.skinny) {
        kernels.insert(templates::canonical(d.skinny_choice->config));
        CHECK(d.skinny_choice->cost.time_us <= d.tile_us);
        CHECK(2 * d.skinny_choice->config.bm >= m);
      }
    }
    CHECK(kernels.size() <= 5);
  }
}

TEST_CASE("the number of waves that split K does not depend on M", "[skinny][select]") {
  for (const char* name : {"gfx1151", "gfx1100", "gfx1201"})
    for (const Shape s : {Shape{4, 5120}, {64, 8192}, {512, 4096}, {1024, 2048}, {2560, 9728}}) {
      CAPTURE(name, s.n, s.k);
      templates::Problem p;
      p.n = s.n;
      p.k = s.k;
      p.group = 32;
      const target::Target& target = *target::find(name);
      const auto normal = templates::normalise(p, target);
      REQUIRE(normal);
      const auto one = templates::skinny::choose(*normal, target, 1);
      REQUIRE(one);
      // Each wave has a full pass of its own, or K is too short for one.
      CHECK((one->config.waves == 1 || one->config.waves * 1024 <= p.k));
      for (const std::int64_t m : {2, 3, 5, 9, 16}) {
        const auto more = templates::skinny::choose(*normal, target, m);
        REQUIRE(more);
        CHECK(more->config.waves == one->config.waves);
      }
    }
}
