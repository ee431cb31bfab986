// SPDX-License-Identifier: MIT
// Occupancy by registers and LDS. Expected waves are what llc 22.1 prints ("; Occupancy") for a kernel
// whose inline assembly touches the last of so many VGPRs, read off once for each target; they agree
// with the tables of shared/hardware.md §1.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "generator/target/target.hpp"

namespace wavejit {

TEST_CASE("CDNA 3 and 4 have eight XCDs, others one L2", "[target]") {
  for (const target::Target& t : target::all())
    CHECK(t.xcds == (t.name == "gfx942" || t.name == "gfx950" ? 8 : 1));  // hardware.md §1
}

namespace {

struct Row {
  unsigned vgprs, waves;
};

const target::Target& table(const std::string& name) {
  const target::Target* t = target::find(name);
  REQUIRE(t != nullptr);
  return *t;
}

void check_waves(const std::vector<std::string>& names, const std::vector<Row>& rows) {
  for (const std::string& name : names) {
    const target::Target& t = table(name);
    for (const Row& row : rows) {
      INFO(name << " with " << row.vgprs << " VGPRs");
      CHECK(target::waves_by_vgprs(t, row.vgprs) == row.waves);
    }
  }
}

TEST_CASE("waves by VGPRs: files of 1536", "[target]") {
  check_waves({"gfx1100", "gfx1101", "gfx1151", "gfx1200", "gfx1201"}, {{24, 16},
                                                                        {96, 16},
                                                                        {104, 12},
                                                                        {120, 12},
                                                                        {128, 10},
                                                                        {144, 10},
                                                                        {152, 9},
                                                                        {168, 9},
                                                                        {176, 8},
                                                                        {192, 8},
                                                                        {200, 7},
                                                                        {216, 7},
                                                                        {224, 6},
                                                                        {240, 6},
                                                                        {248, 5},
                                                                        {256, 5}});
}

TEST_CASE("waves by VGPRs: files of 1024", "[target]") {
  check_waves({"gfx1102", "gfx1103", "gfx1150", "gfx1152", "gfx1153"}, {{24, 16},
                                                                        {64, 16},
                                                                        {72, 12},
                                                                        {80, 12},
                                                                        {88, 10},
                                                                        {96, 10},
                                                                        {112, 9},
                                                                        {128, 8},
                                                                        {144, 7},
                                                                        {160, 6},
                                                                        {168, 5},
                                                                        {192, 5},
                                                                        {208, 4},
                                                                        {256, 4}});
}

TEST_CASE("waves by VGPRs: unified files of 512", "[target]") {
  check_waves({"gfx942", "gfx950"}, {{24, 8},
                                     {64, 8},
                                     {72, 7},
                                     {80, 6},
                                     {88, 5},
                                     {96, 5},
                                     {104, 4},
                                     {128, 4},
                                     {136, 3},
                                     {168, 3},
                                     {176, 2},
                                     {256, 2},
                                     {264, 1},
                                     {512, 1}});
}

TEST_CASE("AGPRs start at a multiple of four and count as VGPRs", "[target]") {
  // llc 22.1 for v0..v61 and so many AGPRs: accum_offset 64; next_free_vgpr and occupancy as here.
  struct Unified {
    unsigned agprs, total, waves;
  };
  for (const char* name : {"gfx942", "gfx950"}) {
    const target::Target& t = table(name);
    for (const Unified& u : {Unified{4, 68, 7},
                             {32, 96, 5},
                             {64, 128, 4},
                             {72, 136, 3},
                             {96, 160, 3},
                             {128, 192, 2},
                             {200, 264, 1},
                             {256, 320, 1}}) {
      INFO(name << " with " << u.agprs << " AGPRs");
      CHECK(target::unified_vgprs(t, 62, u.agprs) == u.total);
      CHECK(target::waves_by_vgprs(t, target::unified_vgprs(t, 62, u.agprs)) == u.waves);
    }
    CHECK(target::unified_vgprs(t, 62, 0) == 62);
  }
  CHECK(target::unified_vgprs(table("gfx1151"), 62, 4) == 62);  // no such registers there
}

TEST_CASE("a budget is the largest count that keeps the waves", "[target]") {
  for (const target::Target& t : target::all()) {
    for (unsigned waves = 1; waves <= t.max_waves_per_simd; ++waves) {
      INFO(t.name << ", " << waves << " waves");
      const unsigned budget = target::vgpr_budget(t, waves);
      REQUIRE(budget > 0);
      CHECK(target::waves_by_vgprs(t, budget) >= waves);
      if (budget < t.allocatable_vgprs) CHECK(target::waves_by_vgprs(t, budget + 1) < waves);
    }
    CHECK(target::vgpr_budget(t, 0) == 0);
    CHECK(target::vgpr_budget(t, t.max_waves_per_simd + 1U) == 0);
  }
  CHECK(target::vgpr_budget(table("gfx942"), 1) == 512);
  CHECK(target::vgpr_budget(table("gfx942"), 2) == 256);
  CHECK(target::vgpr_budget(table("gfx1151"), 5) == 256);  // 1536 / 5 would be 288
}

TEST_CASE("LDS limits whole workgroups of a compute unit", "[target]") {
  // hardware.md §1: 64 KiB a CU in pieces of 512 on gfx942, 160 KiB in pieces of 1280 on gfx950.
  const target::Target& mi300 = table("gfx942");
  CHECK(target::occupancy(mi300, 64, 16384, 4).workgroups == 4);
  CHECK(target::occupancy(mi300, 64, 16385, 4).workgroups == 3);
  CHECK(target::occupancy(mi300, 64, 65536, 4).workgroups == 1);
  CHECK(target::occupancy(mi300, 64, 0, 4).workgroups == 8);  // 8 waves on each of 4 SIMDs
  CHECK(target::occupancy(mi300, 128, 0, 4).waves_per_simd == 4.0);
  const target::Target& mi355 = table("gfx950");
  CHECK(target::occupancy(mi355, 64, 65536, 4).workgroups == 2);
  CHECK(target::occupancy(mi355, 64, 81920, 4).workgroups == 2);
  CHECK(target::occupancy(mi355, 64, 81921, 4).workgroups == 1);
  CHECK(target::occupancy(mi355, 64, 163840, 4).workgroups == 1);
  // 40 pieces of 1280 bytes hold 51200, and three of those fit 163840.
  CHECK(target::occupancy(mi355, 64, 51200, 4).workgroups == 3);
  CHECK(target::occupancy(mi355, 64, 54000, 4).workgroups == 2);  // 43 pieces: 55040
  // A WGP of gfx11 has 128 KiB.
  CHECK(target::occupancy(table("gfx1151"), 96, 32768, 4).workgroups == 4);
}

TEST_CASE("matrix shapes hold what their instruction multiplies", "[target]") {
  for (const target::Target& t : target::all()) {
    REQUIRE_FALSE(t.matrix_shapes.empty());
    for (const target::MatrixShape& s : t.matrix_shapes) {
      INFO(t.name << " " << int{s.m} << "x" << int{s.n} << "x" << int{s.k});
      const unsigned bits = s.input == target::MatrixInput::f16_bf16 ? 16
                            : s.input == target::MatrixInput::i8     ? 8
                                                                     : 4;
      const unsigned copies = s.replicated_halves ? 2 : 1;
      // Every element of A, B and C has its place in the wave's registers, and only once per copy.
      CHECK(s.a_dwords * 32U * t.wave_size == copies * s.m * s.k * bits);
      CHECK(s.b_dwords * 32U * t.wave_size == copies * s.n * s.k * bits);
      CHECK(s.c_dwords * unsigned{t.wave_size} == unsigned{s.m} * s.n);
    }
    const target::MatrixShape& gemm = t.wmma16;
    CHECK(std::ranges::any_of(t.matrix_shapes, [&](const target::MatrixShape& s) {
      return s.m == gemm.m && s.n == gemm.n && s.k == gemm.k && s.cycles == gemm.cycles &&
             s.input == gemm.input;
    }));
  }
}

TEST_CASE("peak matrix rates are the documented ones", "[target]") {
  // hardware.md §1, "matrix bf16=f16 FLOP/clk/CU dense"; a WGP is two CUs of two SIMDs each.
  struct Rate {
    const char* name;
    unsigned flop_per_clock;
  };
  for (const Rate& r : {Rate{"gfx1100", 512},
                        {"gfx1151", 512},
                        {"gfx1200", 1024},
                        {"gfx1201", 1024},
                        {"gfx942", 2048},
                        {"gfx950", 4096}}) {
    const target::Target& t = table(r.name);
    const unsigned simds_per_cu = t.generation == target::Generation::gfx9 ? 4 : 2;
    INFO(r.name);
    CHECK(2U * t.wmma16.m * t.wmma16.n * t.wmma16.k / t.wmma16.cycles * simds_per_cu == r.flop_per_clock);
  }
}

TEST_CASE("targets are found by name, features cut off", "[target]") {
  CHECK(target::find("gfx942:sramecc+:xnack-") == target::find("gfx942"));
  CHECK(target::find("gfx1151") != nullptr);
  CHECK(target::find("gfx115") == nullptr);
  CHECK(target::find("gfx9999") == nullptr);
  CHECK(std::ranges::is_sorted(target::all(), {}, &target::Target::name));
}

// LLVM 22's members (AMDGPUUsage, "Generic Processor"). What holds on the generic target must hold on each.
TEST_CASE("a generic target is the least of its family", "[target]") {
  const std::vector<std::string> gfx11{"gfx1100", "gfx1101", "gfx1102", "gfx1103",
                                       "gfx1150", "gfx1151", "gfx1152", "gfx1153"};
  const std::vector<std::string> gfx12{"gfx1200", "gfx1201"};
  for (const auto& [name, members] : {std::pair{"gfx11-generic", gfx11}, {"gfx12-generic", gfx12}}) {
    const target::Target& g = table(name);
    CHECK(g.family == g.name);
    CHECK(g.generic_version() == 1);
    std::vector<std::string> found;
    for (const target::Target& t : target::all())
      if (t.family == g.name && t.generic_version() == 0) found.emplace_back(t.name);
    CHECK(found == members);
    for (const std::string& member : members) {
      const target::Target& t = table(member.c_str());
      INFO(name << " on " << member);
      for (unsigned vgprs = 1; vgprs <= 256; ++vgprs)
        if (target::waves_by_vgprs(g, vgprs) > target::waves_by_vgprs(t, vgprs)) FAIL(vgprs << " VGPRs");
      CHECK(g.hazards.trans_use >= t.hazards.trans_use);
      CHECK(g.hazards.user_sgpr_init16 >= t.hazards.user_sgpr_init16);
      CHECK(g.hazards.wmma_d_to_ab >= t.hazards.wmma_d_to_ab);
      CHECK(g.hazards.vcmpx_permlane >= t.hazards.vcmpx_permlane);
      CHECK(g.hazards.valu_read_sgpr >= t.hazards.valu_read_sgpr);
      CHECK(g.generation == t.generation);
      CHECK(g.dot2_bf16 == t.dot2_bf16);
      CHECK(g.lds_per_workgroup <= t.lds_per_workgroup);
      CHECK(g.buffer_word3 == t.buffer_word3);
      CHECK(g.has_vopd <= t.has_vopd);
    }
  }
  for (const char* name : {"gfx942", "gfx950"}) CHECK(table(name).family.empty());
  CHECK(target::find_simulated("gfx1030")->family.empty());
}

}  // namespace
}  // namespace wavejit
