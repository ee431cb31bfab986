// SPDX-License-Identifier: MIT
// A loop without one of its costs. Each cost changes loops that have it and leaves alone every loop that has
// not: a table of loops made of one thing each, against all costs.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "generator/model/estimate.hpp"
#include "generator/model/what_if.hpp"
#include "tests/generator/model/text_code.hpp"

using namespace wavejit;
using model::Cost;

namespace {

model::Steps body_of(std::string_view text, const target::Target& target) {
  const auto code = test::code_of(text, target);
  model::Stretches stretches;
  for (std::size_t i = 0; i + 1 < code.size(); ++i) stretches.body.push_back(i);
  return model::prepare(code, stretches, {}, target).body;
}

}  // namespace

TEST_CASE("a cost taken out shortens the loops that have it, and no others", "[model][explain]") {
  const target::Target& target = test::table("gfx1151");
  const model::Residency residency{1, 4, true};
  struct Loop {
    const char* text;
    std::set<Cost> shortened;
  };
  const Loop loops[] = {
      // Loads whose data the loop waits for, and whose bytes a CU's cache serves in many clocks.
      {"buffer_load_b128 v[4:7], v0, s[4:7], 0 offen\nbuffer_load_b128 v[8:11], v0, s[4:7], 0 offen\n"
       "s_waitcnt vmcnt(0)\n",
       {Cost::memory, Cost::memory_latency, Cost::memory_bandwidth}},
      {"ds_load_b128 v[4:7], v0\nds_load_b128 v[8:11], v0\ns_waitcnt lgkmcnt(0)\n", {Cost::lds}},
      {"v_add_f32 v1, v1, v2\nv_add_f32 v1, v1, v2\nv_add_f32 v1, v1, v2\nv_add_f32 v1, v1, v2\n",
       {Cost::other_valu, Cost::dependency}},
      {"v_wmma_f32_16x16x16_bf16 v[0:7], v[8:15], v[16:23], v[0:7]\n", {}},
      {"v_mov_b32 v1, v2\nv_mov_b32 v3, v2\nv_mov_b32 v4, v2\nv_mov_b32 v5, v2\n", {}},
      // A memory instruction behind VALU that it does not read.
      {"v_exp_f32 v9, v10\nv_exp_f32 v11, v10\nv_exp_f32 v12, v10\nv_exp_f32 v13, v10\nds_store_b32 v0, v3\n",
       {Cost::drain, Cost::other_valu, Cost::lds, Cost::dependency}},
      {"s_load_b32 s8, s[0:1], 0\ns_waitcnt lgkmcnt(0)\ns_add_u32 s9, s8, s8\n", {Cost::scalar}},
  };
  for (const Loop& loop : loops) {
    CAPTURE(loop.text);
    const model::Steps body = body_of(loop.text, target);
    const double whole = model::steady_state(body, residency, target).cycles;
    for (std::size_t i = 0; i < model::costs; ++i) {
      const auto cost = static_cast<Cost>(i);
      CAPTURE(model::without(cost), whole);
      const double without = model::clocks_without(cost, body, residency, target);
      if (loop.shortened.contains(cost)) {
        CHECK(without < whole - 0.5);
      } else {
        CHECK(without == Approx(whole).margin(0.5));
      }
    }
  }
}

TEST_CASE("without barriers waves of different length go their own ways", "[model][explain]") {
  const target::Target& target = test::table("gfx1151");
  const model::Steps body = body_of("s_barrier\nv_mov_b32 v1, v2\n", target);
  const model::Residency residency{1, 8, true};
  CHECK(model::clocks_without(Cost::barriers, body, residency, target) + 1 <
        model::steady_state(body, residency, target).cycles);
  for (std::size_t i = 0; i < model::costs; ++i) CHECK_FALSE(model::without(static_cast<Cost>(i)).empty());
  CHECK(model::without(Cost::count_).empty());
}
