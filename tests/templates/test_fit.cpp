// SPDX-License-Identifier: MIT
// A chosen Config compiles. Judged by generate(), whose register assignment refuses what does not fit: the
// estimates that selection goes by have no part in it.
#include <catch2/catch.hpp>

#include "generator/passes/passes.hpp"
#include "templates/cdna/candidates.hpp"
#include "templates/cdna/decode/choose.hpp"
#include "templates/cdna/family.hpp"
#include "templates/cdna/ranking.hpp"
#include "templates/kernel.hpp"
#include "templates/select.hpp"
#include "tests/templates/cdna/requests.hpp"

using namespace wavejit;

namespace {

templates::Problem problem_of(std::int64_t n, std::int64_t k, std::int64_t group) {
  templates::Problem p;
  p.n = n;
  p.k = k;
  p.group = group;
  return p;
}

/// The kernel's Config, occupancy settled; fails the test where there is none.
templates::GeneratedKernel compiled(const templates::Problem& p, const templates::Config& c,
                                    const target::Target& target) {
  CAPTURE(target.name, p.n, p.k, templates::canonical(c));
  auto kernel = templates::generate(p, c, target, {.assemble = false});
  INFO((kernel ? std::string() : kernel.error().message));
  REQUIRE(kernel);
  return std::move(*kernel);
}

/// VGPRs of a skinny kernel in the order of emission.
unsigned emitted(const templates::Problem& p, const templates::Config& c, const target::Target& target) {
  ir::Kernel kernel = templates::skinny::build(p, c, target);
  passes::Options options;
  options.schedule = options.bank_aware = options.delay_alu = options.clauses = false;
  const auto ok = passes::run(kernel, options);
  INFO((ok ? std::string() : ok.error().message));
  REQUIRE(ok);
  return kernel.vgprs_used;
}

}  // namespace

// A list schedule of what is left of K for 16 rows once had 262 to 287 registers live at one point.
TEST_CASE("sixteen rows compile whatever is left of K", "[skinny][fit]") {
  for (const char* name : {"gfx1151", "gfx1201"})
    for (const auto type : {templates::DataType::bf16, templates::DataType::f16})
      for (const auto& [k, group] : {std::pair{896, 128}, {800, 32}, {1984, 32}, {3616, -1}}) {
        templates::Problem p = problem_of(896, k, group);
        p.activation = type;
        const auto c =
            templates::parse_config("skinny 16x2 waves 1 depth 1 unroll 1 occupancy 0 techniques 11111");
        REQUIRE(c);
        compiled(p, *c, *target::find(name));
      }
}

// Sixteen columns a lane with zero points, rounded to nearest: 277 live in the schedule, 190 as emitted.
TEST_CASE("a chosen tile compiles with zero points and rounding, and again from its text", "[w4a16][fit]") {
  templates::Problem p = problem_of(19456, 2560, 32);
  p.zero_points = templates::ZeroPoints::packed;
  p.rounding = templates::WeightRounding::nearest;
  const target::Target& target = *target::find("gfx1151");
  for (const std::int64_t m : {16, 33, 64}) {
    const auto c = templates::select_config(p, target, m);
    REQUIRE(c);
    const templates::GeneratedKernel kernel = compiled(p, *c, target);
    const auto settled = templates::parse_config(templates::canonical(kernel.config));
    REQUIRE(settled);
    CHECK(compiled(p, *settled, target).assembly == kernel.assembly);
  }
}

TEST_CASE("what does not fit in any order is refused with the count that would do", "[w4a16][fit]") {
  const auto c = templates::parse_config(
      "tile 512x256x32 waves 2x2 depth 1 unroll 1 lds 1 occupancy 0 wgp techniques 11111");
  REQUIRE(c);
  const auto kernel =
      templates::generate(problem_of(4096, 4096, 128), *c, *target::find("gfx1100"), {.assemble = false});
  REQUIRE_FALSE(kernel);
  CHECK(kernel.error().code == ErrorCode::out_of_registers);
  CHECK(std::stoul(kernel.error().given) > 256);
}

// 1024 registers a lane and SIMD, not 1536: sixteen waves that share two SIMDs have 128 each.
TEST_CASE("waves that split K have registers enough on the smaller file", "[skinny][fit]") {
  for (const char* name : {"gfx1102", "gfx11-generic", "gfx1201"})
    for (const std::int64_t m : {1, 2, 4, 8, 16}) {
      templates::Problem p = problem_of(32, 65536, 128);
      p.zero_points = templates::ZeroPoints::packed;
      const auto c = templates::select_config(p, *target::find(name), m);
      REQUIRE(c);
      compiled(p, *c, *target::find(name));
    }
}

TEST_CASE("skinny kernels need no more registers than selection goes by", "[skinny][fit]") {
  const target::Target& target = *target::find("gfx1100");
  for (const unsigned bm : {1U, 2U, 4U, 8U, 16U})
    for (unsigned bn = 1; bn <= 8 && bn * bm <= 32; bn *= 2)
      for (const auto type : {templates::DataType::bf16, templates::DataType::f16})
        for (const std::int64_t group : {32, -1}) {
          templates::Problem p = problem_of(1001, 4032, group);
          p.activation = type;
          p.zero_points = templates::ZeroPoints::packed;
          p.bias = true;
          const auto normal = templates::normalise(p, target);
          REQUIRE(normal);
          templates::Config c;
          c.path = templates::Path::skinny;
          c.bm = bm;
          c.bn = bn;
          c.waves = 1;
          const auto fitted = templates::normalise(c, *normal, target);
          REQUIRE(fitted);
          CAPTURE(bm, bn, group, name(type));
          CHECK(emitted(*normal, *fitted, target) <= templates::skinny::registers_needed(*fitted));
        }
}

TEST_CASE("a workgroup's waves get registers for all of them", "[w4a16][fit]") {
  // Sixteen waves on the two SIMDs of a CU: eight each.
  const auto c = templates::parse_config(
      "tile 128x128x32 waves 4x4 depth 1 unroll 1 lds 1 occupancy 0 cu techniques 11111");
  REQUIRE(c);
  const templates::Problem p = problem_of(256, 256, 32);
  CHECK(compiled(p, *c, *target::find("gfx1151")).config.waves_per_simd >= 8);
  templates::Config few = *c;
  few.waves_per_simd = 7;
  const auto refused = templates::generate(p, few, *target::find("gfx1151"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().field == "waves_per_simd");
}

// The CDNA4 ISA document: 160 KB of LDS a compute unit; CDNA3: 64 KB.
TEST_CASE("LDS is as large as the target's", "[cdna][fit]") {
  harness::Request r = test::int4(300, 128, 512, 128, "gfx950");
  r.config = test::mfma(256, 128, 128, 8);
  r.config->lds_buffers = 2;  // 2 x 256 x 128 x 2 bytes
  CHECK(harness::passes(r));
  r.target = "gfx942";
  CHECK(harness::refused(r, "lds"));
}

namespace {

/// What selection's own estimates say of what it chooses, of `m` rows.
double chosen_us(const templates::Problem& p, const target::Target& target, std::int64_t m) {
  namespace cdna = templates::cdna;
  if (!cdna::serves(target)) {
    const templates::Portfolio portfolio(p, target);
    const templates::Decision d = templates::decide(portfolio, p, target, m);
    return d.skinny ? templates::skinny::cost(d.skinny_choice->config, p, target, m).time_us : d.tile_us;
  }
  const auto first = cdna::ranking(p, target, m, 1);
  REQUIRE(!first.empty());
  const templates::Config& c = first.front().config;
  if (c.path == templates::Path::decode) return cdna::decode::quick_time_us(c, p, target, m);
  for (const cdna::Candidate& k : cdna::candidates(p, target, cdna::bucket_end(m)).legal)
    if (templates::canonical(k.config) == templates::canonical(c))
      return cdna::quick_time_us(k, p, target, m);
  FAIL("the choice is no candidate");
  return 0;
}

}  // namespace

// A kernel for one more row reads and computes at most one more tile of rows; only where a single tile of
// rows becomes two, or the skinny kernels end, may the time nearly double.
TEST_CASE("one more row never makes a cliff", "[select][fit]") {
  struct Shape {
    std::int64_t n, k, group;
  };
  for (const char* name : {"gfx1151", "gfx1100", "gfx1201", "gfx942", "gfx950"})
    for (const Shape& s : {Shape{4096, 4096, 128}, {2560, 9728, 128}, {896, 896, 128}}) {
      const target::Target& target = *target::find(name);
      // Decode kernels end at 128 rows; of so small a product the estimate of tiles is twice what they take.
      if (templates::cdna::serves(target) && s.n == 896) continue;
      const auto p = templates::normalise(problem_of(s.n, s.k, s.group), target);
      REQUIRE(p);
      for (const std::int64_t m : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048}) {
        CAPTURE(name, s.n, s.k, m);
        CHECK(chosen_us(*p, target, m + 1) <= (m < 64 ? 1.9 : 1.65) * chosen_us(*p, target, m));
      }
    }
}
