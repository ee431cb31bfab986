// SPDX-License-Identifier: MIT
// What the timing model says of decode on gfx1151 for the shapes of issue 7: memory is what binds, with room.
// The model takes DRAM to deliver 215 GB/s (published copies: 212-215 of 256; docs/model.md has its error)
// and does not play first loads of cold tensors, so this bounds what a kernel loses by itself, not what a GPU
// would show.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "generator/lower/lower.hpp"
#include "generator/model/estimate.hpp"
#include "tests/harness/kquant.hpp"

using namespace wavejit;
using namespace wavejit::templates::kquant;

namespace {

model::Estimate estimate_of(const Problem& problem, double bytes) {
  const target::Target& target = *target::find("gfx1151");
  const auto kernel = harness::kquant::generate(problem, {}, target);
  REQUIRE(kernel);
  const auto shape =
      templates::launch(kernel->problem, kernel->config, target, problem.m, harness::kquant::product_stage);
  REQUIRE(shape);
  const auto object = lower::decode(kernel->code_object);
  REQUIRE(object);
  std::vector<isa::Instruction> code;
  for (const lower::DecodedInstruction& i : object->kernels.at(0).instructions) code.push_back(i.inst);
  std::uint64_t trips = 0;
  for (const ir::Block& block : kernel->ir.blocks)
    if (block.is_loop_body) trips = static_cast<std::uint64_t>(block.trip_count);
  model::KernelFacts facts;
  facts.vgprs = kernel->ir.vgprs_used;
  facts.wgp_mode = false;
  const auto estimate =
      model::estimate(code, facts,
                      {.workgroups = shape->grid[0],
                       .iterations = trips,
                       .useful_flop = 2.0 * static_cast<double>(problem.n) * static_cast<double>(problem.k),
                       .dram_bytes = bytes},
                      target);
  INFO((estimate ? std::string() : estimate.error().message));
  REQUIRE(estimate);
  return *estimate;
}

}  // namespace

TEST_CASE("decode is bound by memory and nothing else", "[kquant][model]") {
  struct Shape {
    std::int64_t n, k;
  };
  for (const Type type : {Type::q4_k, Type::q5_k, Type::q6_k})
    for (const Shape s : {Shape{12288, 4096}, {17408, 5120}, {5120, 17408}, {6144, 5120}, {248320, 4096}}) {
      // The types' loops differ, not what a shape does to them: each shape once, with two for all.
      if (type != Type::q4_k && s.n != 12288 && s.n != 5120) continue;
      const Problem problem{.type = type, .n = s.n, .k = s.k, .m = 1};
      const double bytes =
          static_cast<double>(row_bytes(problem) * s.n + activation_row_bytes(problem) + 4 * s.n);
      const model::Estimate e = estimate_of(problem, bytes);
      const double reached = bytes / e.time_us * 1e-3 / target::find("gfx1151")->timing.dram_gigabytes;
      fmt::print("{} {:>6} x {:>5}: {:>7.1f} us, {:.1f} % of DRAM, loop's VALU {:.0f} %, {} waves per SIMD\n",
                 name(type), s.n, s.k, e.time_us, 100 * reached, 100 * e.loop.busy.valu,
                 e.occupancy.waves_per_simd);
      CHECK(e.binds == "DRAM");
      CHECK(reached >= 0.95);
      CHECK(e.loop.busy.valu < 0.6);
      CHECK(e.occupancy.waves_per_simd >= 12);
    }
}
