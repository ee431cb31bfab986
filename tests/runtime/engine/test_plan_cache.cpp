// SPDX-License-Identifier: MIT
// Problems that differ in one field are different plans and different kernels on disk. Each pair is written
// out here, by the comments of templates/problem.hpp, so that a key which drops a field is seen.
#include <catch2/catch.hpp>

#include "runtime/cache/key.hpp"
#include "runtime/engine/plan_cache.hpp"
#include "templates/family.hpp"

namespace wavejit::test {
namespace {

using templates::DataType;
using templates::Operation;
using templates::Problem;
using templates::WeightLayout;
using templates::ZeroPoints;

using Set = void (*)(Problem&);
struct Meaningful {
  Problem base;
  std::vector<const char*> targets;
  std::vector<Set> changes;
};

std::vector<Meaningful> meaningful() {
  const std::vector<Set> tensors{[](Problem& p) { p.activation = DataType::f16; },
                                 [](Problem& p) { p.n = 128; },
                                 [](Problem& p) { p.k = 512; },
                                 [](Problem& p) { p.group = 64; },
                                 [](Problem& p) { p.activation_stride = 264; },
                                 [](Problem& p) { p.weight_stride = 36; },
                                 [](Problem& p) { p.scale_stride = 104; },
                                 [](Problem& p) { p.output_stride = 104; }};
  Meaningful w4a16{{.n = 96, .k = 256, .zero_points = ZeroPoints::packed}, {"gfx1151", "gfx942"}, tensors};
  w4a16.changes.push_back([](Problem& p) { p.zero_points = ZeroPoints::symmetric; });
  w4a16.changes.push_back([](Problem& p) { p.zero_point_stride = 9; });
  w4a16.changes.push_back([](Problem& p) { p.bias = true; });
  w4a16.changes.push_back([](Problem& p) { p.rounding = templates::WeightRounding::nearest; });
  Meaningful gemm{{.op = Operation::int4_gemm, .n = 96, .k = 256, .layout = WeightLayout::row_major_signed},
                  {"gfx942"},
                  tensors};
  gemm.changes.push_back([](Problem& p) { p.zero_points = ZeroPoints::additive; });
  gemm.changes.push_back([](Problem& p) { p.scale_type = DataType::f32; });
  Meaningful grouped = gemm;
  grouped.base.op = Operation::int4_grouped;
  grouped.base.groups = 3;
  grouped.changes.push_back([](Problem& p) { p.groups = 4; });
  gemm.changes.push_back([](Problem& p) { p.batch = 4; });
  Meaningful kquant{{.op = Operation::kquant, .n = 96, .k = 256}, {"gfx1151"}, {}};
  kquant.changes = {[](Problem& p) { p.weight_type = templates::GgufType::q6_k; },
                    [](Problem& p) { p.activation = DataType::f32; }, [](Problem& p) { p.n = 128; },
                    [](Problem& p) { p.k = 512; }};
  return {w4a16, kquant, gemm, grouped};
}

std::string disk_text(const Problem& normal, const templates::Config& config, const target::Target& target) {
  const auto keys = cache::device_keys(normal, config, target, target.name);
  REQUIRE(keys);
  return keys->back().text;
}

}  // namespace

TEST_CASE("Each field that means something is in the keys of plans and of kernels on disk",
          "[engine][cache]") {
  for (const Meaningful& m : meaningful())
    for (const char* name : m.targets) {
      const target::Target& target = *target::find(name);
      std::vector<Problem> all{*templates::normalise(m.base, target)};
      for (const Set change : m.changes) {
        Problem p = m.base;
        change(p);
        const auto normal = templates::normalise(p, target);
        INFO((normal ? std::string() : normal.error().message));
        REQUIRE(normal);
        // W4A16 on CDNA rounds one way only: there the two are one problem.
        if (templates::words(*normal) != templates::words(all.front())) all.push_back(*normal);
      }
      CHECK(all.size() + (target.has_cvt_pk_bf16_f32 ? 1 : 0) >= m.changes.size() + 1);
      // One Config for all: a kernel's key must differ by the problem alone.
      const auto config = templates::select_config(all.front(), target, 16);
      REQUIRE(config);
      for (const Problem& a : all)
        for (const Problem& b : all) {
          if (&a == &b) continue;
          CAPTURE(name, templates::canonical(a), templates::canonical(b));
          const auto left = engine::plan_key(a, {1, 16}, 0), right = engine::plan_key(b, {1, 16}, 0);
          CHECK_FALSE(left == right);
          CHECK(engine::PlanKeyHash{}(left) != engine::PlanKeyHash{}(right));
          CHECK_FALSE(engine::flight_key(left) == engine::flight_key(right));
          CHECK(disk_text(a, *config, target) != disk_text(b, *config, target));
        }
    }
}

TEST_CASE("Range and device are in a plan's key", "[engine][cache]") {
  const Problem p{.n = 96, .k = 256};
  const auto key = engine::plan_key(p, {2, 16}, 1);
  CHECK(key == engine::plan_key(p, {2, 16}, 1));
  CHECK_FALSE(key == engine::plan_key(p, {1, 16}, 1));
  CHECK_FALSE(key == engine::plan_key(p, {2, 17}, 1));
  CHECK_FALSE(key == engine::plan_key(p, {2, 16}, 0));
}

}  // namespace wavejit::test
