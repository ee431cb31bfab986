// SPDX-License-Identifier: MIT
// The event model against clocks measured on GPUs (model/measurements.hpp names the source), and against
// loops whose clocks can be counted by hand.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "generator/model/estimate.hpp"
#include "generator/model/measurements.hpp"
#include "tests/generator/model/text_code.hpp"

using namespace wavejit;
using test::code_of;

namespace {

model::Prepared body_of(const std::vector<isa::Instruction>& code, const target::Target& target) {
  model::Stretches stretches;
  for (std::size_t i = 0; i + 1 < code.size(); ++i) stretches.body.push_back(i);
  return model::prepare(code, stretches, {}, target);
}

double clocks(std::string_view text, const model::Residency& residency, const target::Target& target) {
  return model::steady_state(body_of(code_of(text, target), target).body, residency, target).cycles;
}

}  // namespace

TEST_CASE("measured loops stay within the error that docs/model.md states", "[model]") {
  for (const model::MeasuredLoop& loop : model::measured_loops()) {
    const target::Target& target = test::table(loop.target);
    const double modelled = model::modelled_clocks(loop, code_of(loop.text, target), target, {});
    INFO(loop.target << " " << loop.name << ": measured " << loop.clocks << ", modelled " << modelled);
    CHECK(std::abs(modelled / loop.clocks - 1) < 0.13);
  }
}

TEST_CASE("a WMMA holds the VALU for other waves of its SIMD too", "[model]") {
  const target::Target& gfx1151 = test::table("gfx1151");
  // 32 clocks of WMMA and 8 of VALU per wave: two waves take 80, not 64 (hardware.md §8.1).
  constexpr auto text =
      "v_wmma_f32_16x16x16_bf16 v[0:7], v[8:15], v[16:23], v[0:7]\n"
      "v_mov_b32 v24, v25\nv_mov_b32 v26, v25\nv_mov_b32 v27, v25\nv_mov_b32 v28, v25\n"
      "v_mov_b32 v29, v25\nv_mov_b32 v30, v25\nv_mov_b32 v31, v25\nv_mov_b32 v32, v25\n";
  CHECK(clocks(text, {2, 4, true}, gfx1151) == Approx(40).margin(1));
}

TEST_CASE("s_delay_alu keeps a dependent chain out of other waves' way", "[model]") {
  const target::Target& gfx1151 = test::table("gfx1151");
  constexpr auto blocking =
      "v_add_f32 v0, v1, v0\nv_add_f32 v0, v1, v0\nv_add_f32 v0, v1, v0\nv_add_f32 v0, v1, v0\n";
  constexpr auto hinted =
      "s_delay_alu instid0(VALU_DEP_1)\nv_add_f32 v0, v1, v0\ns_delay_alu instid0(VALU_DEP_1)\nv_add_f32 v0, "
      "v1, v0\n"
      "s_delay_alu instid0(VALU_DEP_1)\nv_add_f32 v0, v1, v0\ns_delay_alu instid0(VALU_DEP_1)\nv_add_f32 v0, "
      "v1, v0\n";
  const double without = clocks(blocking, {4, 4, true}, gfx1151),
               with = clocks(hinted, {4, 4, true}, gfx1151);
  INFO(without << " " << with);
  CHECK(with < 0.6 * without);
}

TEST_CASE("LDS conflicts from a simulated wave lengthen the port's time", "[model]") {
  const target::Target& gfx1151 = test::table("gfx1151");
  const auto code =
      code_of("ds_load_b128 v[0:3], v8\nds_load_b128 v[4:7], v8 offset:512\ns_waitcnt lgkmcnt(0)\n", gfx1151);
  model::Stretches stretches;
  stretches.body = {0, 1, 2};
  const model::AccessNote notes[] = {{0, 12, 0}};
  const auto port = [&](std::span<const model::AccessNote> n) {
    return model::steady_state(model::prepare(code, stretches, n, gfx1151).body, {4, 8, true}, gfx1151)
        .cycles;
  };
  // 8 waves over 2 ports, 4 clocks an access: 2 * 4 * 4 = 32; 12 more on one of them: 4 * (16 + 4) = 80.
  CHECK(port({}) == Approx(32).margin(1));
  CHECK(port(notes) == Approx(80).margin(1));
}

TEST_CASE("a load to LDS moves as many bytes as the one to registers", "[model][lds_dma]") {
  const target::Target& gfx950 = test::table("gfx950");
  const auto code = code_of(
      "buffer_load_dwordx4 v[4:7], v0, s[0:3], 0 offen\nbuffer_load_dwordx4 v0, s[0:3], 0 offen lds\n"
      "buffer_load_dword v0, s[0:3], 0 offen lds\ns_cbranch_scc1 .Lbody",
      gfx950);
  const auto steps = body_of(code, gfx950).body.list;
  CHECK(steps.at(0).bytes == 64 * 16);
  CHECK(steps.at(1).bytes == 64 * 16);
  CHECK(steps.at(1).port == steps.at(0).port);
  CHECK(steps.at(2).bytes == 64 * 4);
}

TEST_CASE("whole workgroups fit a WGP by registers, LDS and waves", "[model]") {
  const target::Target& gfx1151 = test::table("gfx1151");
  // hardware.md §1: 120 VGPRs allow 12 waves per SIMD, 144 allow 10.
  CHECK(model::occupancy({115, 0, 8192, 8, true}, gfx1151).workgroups == 6);
  CHECK(model::occupancy({128, 0, 8192, 8, true}, gfx1151).workgroups == 5);
  CHECK(model::occupancy({96, 0, 65536, 8, true}, gfx1151).limit == "LDS");
  CHECK(model::occupancy({96, 0, 40960, 4, false}, gfx1151).workgroups == 2);  // one per CU's 64 KiB
  const auto code =
      code_of("v_wmma_f32_16x16x16_bf16 v[0:7], v[8:15], v[16:23], v[0:7]\ns_cbranch_scc1 .Lbody", gfx1151);
  CHECK_FALSE(model::estimate(code, {96, 0, 0, 256, true}, {}, gfx1151));
}

TEST_CASE("waves spread over all SIMDs that their mode allows", "[model]") {
  struct Machine {
    const char* target;
    bool wgp_mode;
    unsigned cus;  ///< among which a workgroup's waves must not be divided
  };
  const auto m =
      GENERATE(Machine{"gfx1151", true, 1}, Machine{"gfx1151", false, 2}, Machine{"gfx1201", true, 1},
               Machine{"gfx1201", false, 2}, Machine{"gfx942", true, 1}, Machine{"gfx942", false, 1});
  const target::Target& target = test::table(m.target);
  const auto body = body_of(code_of("v_mov_b32 v0, v1\n", target), target);
  for (unsigned waves = 1; waves <= 16; ++waves)
    for (unsigned workgroups = 1; workgroups * waves <= 32; ++workgroups) {
      CAPTURE(m.target, m.wgp_mode, waves, workgroups);
      std::vector<model::IssueEvent> trace;
      model::run_workgroups(body, 1, workgroups, {workgroups, waves, m.wgp_mode}, target, &trace, 10'000);
      std::map<std::pair<unsigned, unsigned>, unsigned> placed;
      for (const model::IssueEvent& e : trace) placed[{e.workgroup, e.wave}] = e.simd;
      REQUIRE(placed.size() == workgroups * waves);
      constexpr unsigned simds = 4;  // of a WGP, of a CU on CDNA
      std::vector<unsigned> count(simds);
      std::map<unsigned, std::set<unsigned>> cus_of;
      for (const auto& [wave, simd] : placed) {
        ++count.at(simd);
        cus_of[wave.first].insert(simd / (simds / m.cus));
      }
      std::vector<unsigned> groups(m.cus);
      for (const auto& [group, cus] : cus_of) {
        REQUIRE(cus.size() == 1);
        ++groups.at(*cus.begin());
      }
      CHECK(std::ranges::max(groups) - std::ranges::min(groups) <= 1);
      for (unsigned cu = 0; cu < m.cus; ++cu) {
        const auto own = std::span(count).subspan(cu * (simds / m.cus), simds / m.cus);
        CHECK(std::ranges::max(own) - std::ranges::min(own) <= 1);
      }
    }
}

TEST_CASE("a kernel without a loop is played whole, once a workgroup", "[model]") {
  const target::Target& gfx1151 = test::table("gfx1151");
  std::string text;
  for (unsigned i = 0; i < 100; ++i) text += "v_mov_b32 v" + std::to_string(i % 8) + ", v9\n";
  // 100 clocks of one of four SIMDs: 25 a workgroup, 640 of them on each of 20 WGPs.
  const auto e =
      model::estimate(code_of(text, gfx1151), {16, 0, 0, 1, false}, {.workgroups = 20 * 640}, gfx1151);
  REQUIRE(e);
  CHECK(e->cycles_per_iteration == Approx(25).epsilon(0.02));
  // 64 at once share what starting one takes, as estimate.hpp adds it.
  CHECK(e->computing_cycles == Approx(640 * (25 + gfx1151.timing.workgroup_start / 64.0)).epsilon(0.02));
}
