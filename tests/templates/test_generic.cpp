// SPDX-License-Identifier: MIT
// One code object of a generic target under every check of each GPU of its family, with the GPU's own
// register file, hazards and dot product, against the oracle.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/harness/catch.hpp"

using namespace wavejit;

namespace {

struct Family {
  const char* generic;
  std::vector<std::string> members;
};
const Family families[] = {{"gfx11-generic", {"gfx1100", "gfx1103", "gfx1151"}},
                           {"gfx12-generic", {"gfx1200", "gfx1201"}}};

}  // namespace

TEST_CASE("a generic kernel of every kind is right on the GPUs of its family", "[w4a16][generic]") {
  for (const Family& family : families)
    for (unsigned kind = 0; kind < 4; ++kind) {
      harness::Request r;
      r.target = family.generic;
      r.m = 77;
      r.problem.n = 200;
      r.problem.k = 384;
      r.problem.group = 64;
      r.problem.bias = kind == 1;
      if (kind % 2 == 1) r.problem.activation = templates::DataType::f16;
      if (kind / 2 == 1) r.problem.zero_points = templates::ZeroPoints::packed;
      const target::Target& generic = *target::find(family.generic);
      const auto config = templates::select_config(r.problem, generic, r.m);
      REQUIRE(config);
      const auto kernel = templates::generate(r.problem, *config, generic);
      REQUIRE(kernel);
      r.config = kernel->config;
      for (const std::string& member : family.members) {
        CAPTURE(family.generic, member, kind);
        r.target = member;
        const auto report = harness::run_object(kernel->code_object, r);
        INFO((report ? report->reason() : report.error().message));
        REQUIRE(report);
        CHECK(report->ok());
        CHECK(report->verdict->metrics.elements == 77 * 200);
      }
    }
}

TEST_CASE("a generic kernel is refused on a GPU of another family", "[w4a16][generic]") {
  harness::Request r;
  r.m = 20;
  r.problem.n = 64;
  r.problem.k = 128;
  r.problem.group = 32;
  r.config = harness::tile(32, 32, 32, 2);
  const auto kernel = templates::generate(r.problem, *r.config, *target::find("gfx12-generic"));
  REQUIRE(kernel);
  r.config = kernel->config;
  const auto refused = harness::run_object(kernel->code_object, r);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().field == "target");
}

// A SIMD of gfx1103 has 1024 registers a lane (hardware.md §1): what fits gfx1151 at some occupancy need not
// fit there, and a generic kernel must promise no more than the least of them holds.
TEST_CASE("a generic kernel's occupancy is that of the smallest file", "[w4a16][generic]") {
  templates::Problem p;
  p.n = 6144;
  p.k = 2560;
  p.group = 32;
  const auto made = [&](const char* name) {
    const auto kernel =
        templates::generate(p, harness::tile(128, 64, 32, 8), *target::find(name), {.assemble = false});
    REQUIRE(kernel);
    return *kernel;
  };
  const auto generic = made("gfx11-generic"), small = made("gfx1103"), large = made("gfx1151");
  CHECK(generic.config.waves_per_simd == small.config.waves_per_simd);
  CHECK(generic.config.waves_per_simd < large.config.waves_per_simd);
  CHECK(target::waves_by_vgprs(*target::find("gfx1103"), generic.ir.vgprs_used) >=
        generic.config.waves_per_simd);
  // gfx1100 in wave32 wants sixteen SGPRs set up, and reads a transcendental result too early: the union
  // holds.
  CHECK(generic.ir.entry.user_sgprs == made("gfx1100").ir.entry.user_sgprs);
  CHECK(generic.ir.entry.user_sgprs > small.ir.entry.user_sgprs);
}

TEST_CASE("K-quant kernels of generic targets are made as code object version 6", "[kquant][generic]") {
  for (const Family& family : families)
    for (const auto type : {templates::GgufType::q4_k, templates::GgufType::q6_k}) {
      templates::Problem p;
      p.op = templates::Operation::kquant;
      p.n = 64;
      p.k = 4096;
      p.weight_type = type;
      const target::Target& target = *target::find(family.generic);
      const auto config = templates::select_config(p, target, 1);
      REQUIRE(config);
      for (unsigned stage = 0; stage < templates::stages(p, *config); ++stage) {
        CAPTURE(family.generic, stage);
        const auto kernel = templates::generate(p, *config, target, {.stage = stage});
        INFO((kernel ? std::string() : kernel.error().message));
        REQUIRE(kernel);
        CHECK(kernel->code_object.at(8) == 4);   // EI_ABIVERSION of code object version 6
        CHECK(kernel->code_object.at(51) == 1);  // generic version, the highest byte of e_flags
      }
    }
}
