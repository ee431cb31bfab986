// SPDX-License-Identifier: MIT
// Selection for CDNA, and what generator/model says of the selected kernels: the bars of issue 8 against the
// published MI350X figures (shared/published.md). Modelled, not measured.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "generator/lower/lower.hpp"
#include "generator/model/estimate.hpp"
#include "templates/cdna/candidates.hpp"
#include "templates/kernel.hpp"

using namespace wavejit;

namespace {

templates::Problem problem(std::int64_t n, std::int64_t k) {
  templates::Problem p;
  p.op = templates::Operation::int4_gemm;
  p.layout = templates::WeightLayout::row_major_signed;
  p.zero_points = templates::ZeroPoints::additive;
  p.n = n;
  p.k = k;
  return p;
}

/// Microseconds of one stage; the hot loop's iterations from the matrix instructions of the body.
model::Estimate estimate(const templates::Problem& p, const templates::Config& c, std::int64_t m,
                         const target::Target& target) {
  const auto kernel = templates::generate(p, c, target);
  REQUIRE(kernel);
  const auto object = lower::decode(kernel->code_object);
  REQUIRE(object);
  std::vector<isa::Instruction> code;
  for (const auto& i : object->kernels.front().instructions) code.push_back(i.inst);
  double depth = 0;  // k of one pass through the body
  for (const ir::Block& block : kernel->ir.blocks)
    if (block.is_loop_body)
      for (const ir::Instruction& i : block.insts)
        if (i.mi.pipe() == isa::Pipe::matrix) depth += i.mi.src[0].width * 2.0 * 64;
  const templates::Config& k = kernel->config;
  depth /= static_cast<double>(k.bm / k.waves_m) * (k.bn / k.waves_n) / (k.bm % 32 == 0 ? 32 : 16);
  const auto launch = templates::launch(p, k, target, m);
  REQUIRE(launch);
  model::LaunchShape shape;
  shape.workgroups = launch->grid[0];
  shape.iterations = static_cast<std::uint64_t>(static_cast<double>(p.k) / k.split_k / depth);
  shape.useful_flop = 2.0 * static_cast<double>(m * p.n * p.k);
  for (const templates::Argument& a : launch->arguments) shape.dram_bytes += static_cast<double>(a.bytes);
  const model::KernelFacts facts{.vgprs = kernel->ir.vgprs_used,
                                 .agprs = kernel->ir.agprs_used,
                                 .lds_bytes = kernel->ir.lds_bytes(),
                                 .waves = k.waves};
  const auto result = model::estimate(code, facts, shape, target);
  REQUIRE(result);
  return *result;
}

double peak_tflops(const target::Target& target) {
  const target::MatrixShape& s = target.wmma16;
  const double per_clock = 2.0 * s.m * s.n * s.k / s.cycles * target.simds_per_wgp * target.compute_units;
  return per_clock * target.timing.clock_megahertz * 1e-6;
}

}  // namespace

TEST_CASE("CDNA: modelled share of the matrix peak at prefill", "[cdna][bars][model]") {
  struct Shape {
    std::int64_t m, n, k;
  };
  const auto s = GENERATE(Shape{2048, 8192, 3584}, Shape{2048, 7168, 8192}, Shape{4096, 7168, 8192});
  const std::string name = GENERATE("gfx942", "gfx950");
  const target::Target& target = *target::find(name);
  const templates::Problem p = problem(s.n, s.k);
  const auto config = templates::select_config(p, target, s.m);
  REQUIRE(config);
  CAPTURE(name, s.m, s.n, s.k, templates::canonical(*config));
  CHECK(config->split_k == 1);
  const model::Estimate e = estimate(p, *config, s.m, target);
  CAPTURE(e.time_us, e.occupancy.workgroups, e.loop.busy.matrix, e.loop.busy.valu, e.loop.busy.lds);
  CHECK(e.tflops / peak_tflops(target) >= 0.70);
}

TEST_CASE("CDNA: activations straight to LDS are not modelled quicker than through registers",
          "[cdna][model][lds_dma]") {
  // Why selection leaves lds_dma alone: two LDS buffers cost resident workgroups.
  struct Case {
    std::int64_t m, n, k;
    const char* tile;
    unsigned split;
  };
  const auto c = GENERATE(
      Case{16, 8192, 3584, "16x128x128 waves 1x4", 7}, Case{64, 8192, 3584, "64x64x128 waves 1x2", 7},
      Case{256, 8192, 3584, "64x128x128 waves 1x4", 4}, Case{512, 8192, 3584, "64x128x128 waves 1x4", 1},
      Case{2048, 7168, 8192, "128x128x64 waves 1x4", 1}, Case{2048, 7168, 8192, "128x128x128 waves 1x4", 1});
  const target::Target& target = *target::find("gfx950");
  const templates::Problem p = problem(c.n, c.k);
  auto config = templates::parse_config(
      fmt::format("mfma {} depth 1 unroll 1 lds 1 occupancy 0 split {} techniques 11111", c.tile, c.split));
  REQUIRE(config);
  const double staged = estimate(p, *config, c.m, target).time_us;
  config->lds_buffers = 2;
  config->lds_dma = true;
  const double direct = estimate(p, *config, c.m, target).time_us;
  CAPTURE(c.m, c.n, c.k, c.tile, c.split, staged, direct);
  CHECK(direct / staged >= 0.99);
}

TEST_CASE("CDNA: every Config that is not weighed has a rule against it", "[cdna][select]") {
  const target::Target& target = *target::find("gfx950");
  const auto p = templates::normalise(problem(2048, 5120), target);
  REQUIRE(p);
  const std::int64_t m = GENERATE(1, 128, 2048, 4096);
  const auto all = templates::cdna::candidates(*p, target, m);
  unsigned sum = static_cast<unsigned>(all.legal.size());
  for (const auto& rule : all.pruned) sum += rule.count;
  CHECK(sum == all.considered);
  CHECK(!all.legal.empty());
  CHECK(all.legal.size() < all.considered / 4);
  for (const auto& c : all.legal) {
    CHECK((m <= 2048 || c.config.split_k == 1));
    CHECK(templates::normalise(c.config, *p, target));
  }
}

TEST_CASE("CDNA: selections cover a range of rows without gaps", "[cdna][select]") {
  const target::Target& target = *target::find(GENERATE("gfx942", "gfx950"));
  const auto selections = templates::select_configs(problem(1000, 1024), target, 1, 5000);
  REQUIRE(selections);
  std::int64_t next = 1;
  for (const auto& s : *selections) {
    CHECK(s.first == next);
    CHECK(s.last >= s.first);
    next = s.last + 1;
    const auto again = templates::parse_config(templates::canonical(s.config));
    REQUIRE(again);
    CHECK(templates::canonical(*again) == templates::canonical(s.config));
  }
  CHECK(next == 5001);
}
