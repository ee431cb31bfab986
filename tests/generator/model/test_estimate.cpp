// SPDX-License-Identifier: MIT
// From a loop's clocks to a launch's time: the formulas that generator/model/estimate.hpp states, computed
// anew from the same parts; occupancy and shares by hand from the sizes in shared/hardware.md §1.
#include <catch2/catch.hpp>
#include <cmath>

#include "generator/model/estimate.hpp"
#include "generator/model/loops.hpp"
#include "generator/target/caches.hpp"
#include "tests/generator/model/text_code.hpp"

using namespace wavejit;

namespace {

struct Kernel {
  const target::Target& target;
  std::vector<isa::Instruction> code;
  model::KernelFacts facts{.vgprs = 200, .agprs = 0, .lds_bytes = 0, .waves = 4, .wgp_mode = true};

  explicit Kernel(const char* name)
      : target(test::table(name)),
        code(
            test::code_of("ds_load_b128 v[0:3], v8\ns_waitcnt lgkmcnt(0)\nv_wmma_f32_16x16x16_bf16 v[16:23], "
                          "v[0:7], v[8:15], v[16:23]\nv_mov_b32 v24, v25\ns_cbranch_scc1 .Lbody",
                          target)) {}
  [[nodiscard]] model::Estimator estimator() const {
    return {model::prepare(code, model::hot_stretches(code), {}, target), facts, target};
  }
};

}  // namespace

TEST_CASE("what binds is the first pipe that is busy nine tenths of the time", "[model][estimate]") {
  const target::Target &rdna = test::table("gfx1151"), &cdna = test::table("gfx942");
  using Busy = model::Busy;
  const double over = 0.901, under = 0.9;
  const auto both = [&](const Busy& busy, std::string_view on_rdna, std::string_view on_cdna) {
    CHECK(model::binding(busy, rdna) == on_rdna);
    CHECK(model::binding(busy, cdna) == on_cdna);
  };
  both({}, "latency", "latency");
  both({.matrix = over}, "matrix", "matrix");
  both({.matrix = under}, "latency", "latency");
  both({.valu = over}, "matrix + VALU", "VALU");
  both({.valu = under}, "latency", "latency");
  both({.matrix = 0.5, .valu = 0.5}, "matrix + VALU", "latency");  // beside each other on CDNA
  both({.lds = over}, "LDS", "LDS");
  both({.lds = under, .vmem = under, .l2 = under}, "latency", "latency");
  both({.vmem = over}, "memory", "memory");
  both({.l2 = over}, "memory", "memory");
  both({.salu = over}, "latency", "latency");
  both({.matrix = over, .valu = over, .lds = over, .vmem = over}, "matrix", "matrix");
  both({.valu = over, .lds = over}, "matrix + VALU", "VALU");
  both({.lds = over, .vmem = over}, "LDS", "LDS");
}

TEST_CASE("occupancy: the scarcest of registers, waves and LDS", "[model][estimate]") {
  struct Row {
    const char* target;
    model::KernelFacts facts;
    unsigned workgroups;
    double waves;
    const char* limit;
  };
  const Row rows[] = {
      // A WGP of gfx1151: 4 SIMDs of 16 waves; 128 KiB of LDS, 64 of them each CU's.
      {"gfx1151", {96, 0, 0, 8, true}, 8, 16, "waves"},
      {"gfx1151", {97, 0, 0, 8, true}, 6, 12, "registers"},  // 12 waves of 120 registers
      {"gfx1151", {128, 0, 0, 8, true}, 5, 10, "registers"},
      {"gfx1151", {128, 0, 0, 8, false}, 4, 8, "registers"},  // 20 waves of each CU hold two
      {"gfx1151", {96, 0, 16384, 8, true}, 8, 16, "waves"},   // exactly 8
      {"gfx1151", {96, 0, 16385, 8, true}, 7, 14, "LDS"},
      {"gfx1151", {96, 0, 65536, 8, true}, 2, 4, "LDS"},
      {"gfx1151", {96, 0, 65536, 8, false}, 2, 4, "LDS"},
      {"gfx1151", {96, 0, 40000, 8, false}, 2, 4, "LDS"},
      {"gfx1151", {96, 0, 40000, 8, true}, 3, 6, "LDS"},
      {"gfx1151", {96, 0, 0, 0, true}, 64, 16, "waves"},
      // A CU of gfx942: 4 SIMDs of 8 waves, 512 registers, AGPRs behind VGPRs in eights; 64 KiB of LDS.
      {"gfx942", {64, 0, 0, 4, true}, 8, 8, "waves"},
      {"gfx942", {65, 0, 0, 4, true}, 7, 7, "registers"},
      {"gfx942", {60, 64, 0, 4, true}, 4, 4, "registers"},  // 64 + 64
      {"gfx942", {60, 60, 0, 4, false}, 4, 4, "registers"},
      {"gfx942", {64, 0, 16384, 4, true}, 4, 4, "LDS"},
      {"gfx942", {64, 0, 65536, 4, true}, 1, 1, "LDS"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.target, row.facts.vgprs, row.facts.agprs, row.facts.lds_bytes, row.facts.waves,
            row.facts.wgp_mode);
    const model::Occupancy o = model::occupancy(row.facts, test::table(row.target));
    CHECK(o.workgroups == row.workgroups);
    CHECK(o.waves_per_simd == Approx(row.facts.waves == 0 ? 16 : row.waves));
    CHECK(o.limit == row.limit);
  }
}

TEST_CASE("workgroups are dispatched to WGPs of two CUs, on CDNA to CUs", "[model][estimate]") {
  CHECK(model::workgroup_units(test::table("gfx1151")) == 20);  // 40 CUs
  CHECK(model::workgroup_units(test::table("gfx1100")) == 48);
  CHECK(model::workgroup_units(test::table("gfx942")) == 304);
}

TEST_CASE("memory takes as long as DRAM, or the MALL where that is slower", "[model][estimate]") {
  for (const char* name : {"gfx1151", "gfx1201", "gfx942"}) {
    CAPTURE(name);
    const target::Target& t = test::table(name);
    const double clocks_per_second = t.timing.clock_megahertz * 1e6;
    const auto clocks = [&](double bytes, double gigabytes) {
      return bytes / (gigabytes * 1e9) * clocks_per_second;
    };
    const double dram = clocks(1e9, t.timing.dram_gigabytes), mall = target::caches(t).mall_gigabytes;
    CHECK(model::memory_cycles({0, 0, 1e9}, t) == Approx(dram));
    if (mall > 0) {
      const double much = 3e9 * std::max(mall / t.timing.dram_gigabytes, 1.0);
      CHECK(model::memory_cycles({0, much, 1e9}, t) == Approx(clocks(much, mall)));
    } else {
      CHECK(model::memory_cycles({0, 1e12, 1e9}, t) == Approx(dram));
    }
  }
}

TEST_CASE("a launch's clocks by the stated formula, below and above one full round", "[model][estimate]") {
  const Kernel k("gfx1151");
  model::Estimator e = k.estimator();
  const unsigned resident = model::occupancy(k.facts, k.target).workgroups;
  REQUIRE(resident == 7);
  constexpr double units = 20;
  const auto c = [&](unsigned r) { return e.loop(r).cycles; };
  const double outside = e.outside();
  CHECK(outside >= k.target.timing.workgroup_start);
  for (const std::uint64_t iterations : {1, 40})
    for (const std::uint64_t workgroups : {1, 20, 21, 60, 139, 140, 141, 500, 1407}) {
      CAPTURE(workgroups, iterations);
      const auto got = e.estimate({.workgroups = workgroups, .iterations = iterations, .useful_flop = 1e9});
      REQUIRE(got);
      const double per_unit = static_cast<double>(workgroups) / units;
      const auto trips = static_cast<double>(iterations);
      double expected = 0;
      if (per_unit < resident) {
        const double r = std::ceil(per_unit);
        expected = r * (trips * c(static_cast<unsigned>(r)) + outside / r);
      } else {
        const double each = trips * c(resident) + outside / resident;
        double drain = 0;
        for (unsigned r = 1; r < resident; ++r)
          drain += trips / resident * r * std::max(c(r) - c(resident), 0.0);
        expected = std::max(per_unit * each + drain, std::ceil(per_unit) * each);
      }
      CHECK(got->computing_cycles == Approx(expected));
      CHECK(got->launch_cycles == Approx(expected));  // no bytes were said
      CHECK(got->dram_cycles == 0);
      CHECK(got->overhead_cycles == outside);
      CHECK(got->iterations == iterations);
      CHECK(got->rounds == Approx(per_unit / resident));
      CHECK(got->time_us == Approx(expected / k.target.timing.clock_megahertz));
      CHECK(got->tflops == Approx(1e9 / got->time_us / 1e6));
      // 16 x 16 x 16 in 32 clocks on each of four SIMDs of 20 WGPs.
      CHECK(got->duty == Approx(1e9 / (2.0 * 4096 / 32 * 4 * units) / expected));
      // Four waves of one matrix instruction on four SIMDs.
      CHECK(got->matrix_bound == Approx(32));
      CHECK(got->cycles_per_iteration == got->loop.cycles);
    }
}

TEST_CASE("bytes of DRAM can take longer than the kernel, and say so", "[model][estimate]") {
  const Kernel k("gfx1151");
  model::Estimator e = k.estimator();
  const model::LaunchShape shape{.workgroups = 20, .iterations = 1, .useful_flop = 1e6};
  const auto fast = e.estimate(shape);
  REQUIRE(fast);
  model::LaunchShape heavy = shape;
  heavy.dram_bytes = 1e9;
  const auto slow = e.estimate(heavy);
  REQUIRE(slow);
  CHECK(fast->binds == "latency");
  CHECK(slow->binds == "DRAM");
  CHECK(slow->computing_cycles == fast->computing_cycles);
  CHECK(slow->launch_cycles == slow->dram_cycles);
  CHECK(slow->dram_cycles ==
        Approx(1e9 / (k.target.timing.dram_gigabytes * 1e9) * k.target.timing.clock_megahertz * 1e6));
  CHECK(slow->traffic.dram == 1e9);
  CHECK(slow->traffic.mall == 1e9);
  CHECK(slow->traffic.asked == 1e9);
  model::Estimator none({}, {.vgprs = 200, .waves = 64}, k.target);
  const auto refused = none.estimate(shape);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::out_of_registers);
}
