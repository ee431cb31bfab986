// SPDX-License-Identifier: MIT
// Enumeration, the quick estimate's choices as a golden table, and the text form of a Config. The table is
// what `wavejit choices` printed when its choices had been held against the timing model; a change prints its
// diff.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "templates/kernel.hpp"
#include "templates/select.hpp"

using namespace wavejit;

namespace {

struct Shape {
  const char* name;
  std::int64_t n, k;
};
// shared/published.md: the decoder layers of the published measurements, groups of 32.
constexpr Shape shapes[] = {{"gate_up", 19456, 2560},
                            {"qkv", 6144, 2560},
                            {"o_proj", 4096, 2560},
                            {"o_proj_t", 2560, 4096},
                            {"down", 2560, 9728}};

constexpr const char* golden = R"(
gate_up 1 1x2x1024 w1x1 d1 l1
gate_up 16 16x256x32 w1x2 d1 l1
gate_up 64 64x256x32 w1x8 d1 l2
gate_up 128 128x128x32 w2x2 d1 l1
gate_up 333 112x256x32 w1x8 d1 l1
gate_up 1322 448x64x32 w4x2 d1 l1
gate_up 2858 320x64x32 w4x2 d1 l1
qkv 1 1x2x1024 w1x1 d1 l1
qkv 16 16x64x32 w1x2 d1 l2
qkv 64 80x128x32 w1x4 d1 l2
qkv 128 128x128x32 w2x2 d1 l1
qkv 333 384x64x32 w8x1 d1 l1
qkv 1322 448x64x32 w4x2 d1 l1
qkv 2858 320x64x32 w4x2 d1 l1
o_proj 1 1x1x1024 w1x1 d1 l1
o_proj 16 16x32x32 w1x2 d1 l2
o_proj 64 80x128x32 w1x8 d1 l2
o_proj 128 128x128x32 w2x2 d1 l1
o_proj 333 112x128x32 w1x4 d1 l1
o_proj 1322 448x64x32 w4x2 d1 l1
o_proj 2858 320x64x32 w4x2 d1 l1
o_proj_t 1 1x1x1024 w1x1 d1 l1
o_proj_t 16 32x64x32 w2x4 d2 l1
o_proj_t 64 64x64x32 w2x4 d2 l1
o_proj_t 128 128x64x32 w4x2 d2 l1
o_proj_t 333 384x128x32 w8x2 d1 l1
o_proj_t 1322 448x128x32 w4x4 d1 l1
o_proj_t 2858 320x128x32 w4x4 d1 l1
down 1 1x1x1024 w1x1 d1 l1
down 16 32x64x32 w2x4 d2 l1
down 64 64x64x32 w2x4 d2 l1
down 128 128x64x32 w4x2 d2 l1
down 333 384x128x32 w8x2 d1 l1
down 1322 448x128x32 w4x4 d1 l1
down 2858 320x128x32 w4x4 d1 l1
)";

templates::Problem problem_of(const Shape& s) {
  templates::Problem p;
  p.n = s.n;
  p.k = s.k;
  p.group = 32;
  return p;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) all.push_back(line);
  return all;
}

}  // namespace

TEST_CASE("choices per shape and bucket of M are the reviewed ones", "[select][golden]") {
  const target::Target& target = *target::find("gfx1151");
  std::string table;
  for (const Shape& s : shapes)
    for (const std::int64_t m : {1, 16, 64, 128, 333, 1322, 2858}) {
      const auto c = templates::select_config(problem_of(s), target, m);
      REQUIRE(c);
      table += fmt::format("{} {} {}x{}x{} w{}x{} d{} l{}\n", s.name, m, c->bm, c->bn, c->bk, c->waves_m,
                           c->waves_n, c->pipeline_depth, c->lds_buffers);
    }
  const auto expected = lines(golden), got = lines(table);
  REQUIRE(expected.size() == got.size());
  std::string diff;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] != expected[i]) diff += "- " + expected[i] + "\n+ " + got[i] + "\n";
  INFO(diff);
  CHECK(diff.empty());
}

TEST_CASE("every considered Config is legal or counted by one rule", "[select]") {
  for (const target::Target& target : target::all()) {
    if (target.generation == target::Generation::gfx9) continue;
    for (const Shape& s : shapes) {
      const auto p = templates::normalise(problem_of(s), target);
      REQUIRE(p);
      const templates::Candidates all = templates::candidates(*p, target);
      std::size_t pruned = 0;
      for (const templates::Pruned& rule : all.pruned) pruned += rule.count;
      CHECK(all.considered == all.legal.size() + pruned);
      CHECK(all.considered > 3000);
      CHECK(all.legal.size() > 100);
      for (const templates::Candidate& c : all.legal) {
        CHECK(p->group % c.config.bk == 0);
        CHECK(c.footprint.workgroups >= 1);
      }
    }
  }
}

TEST_CASE("one problem needs few kernels, and every M gets what a range gives it", "[select]") {
  const target::Target& target = *target::find("gfx1151");
  for (const Shape& s : shapes) {
    const auto range = templates::select_configs(problem_of(s), target, 1, 5000);
    REQUIRE(range);
    std::vector<std::string> kernels;
    std::int64_t next = 1;
    for (const templates::Selection& part : *range) {
      CHECK(part.first == next);
      next = part.last + 1;
      const std::string text = templates::canonical(part.config);
      if (std::ranges::find(kernels, text) == kernels.end()) kernels.push_back(text);
      for (const std::int64_t m : {part.first, part.last}) {
        const auto one = templates::select_config(problem_of(s), target, m);
        REQUIRE(one);
        CHECK(templates::canonical(*one) == text);
      }
    }
    CHECK(next == 5001);
    const auto skinny =
        std::ranges::count_if(kernels, [](const auto& text) { return text.starts_with("skinny"); });
    CHECK(skinny <= 5);  // for 1, 2, 4, 8 and 16 rows
    CHECK(std::ssize(kernels) - skinny <= 12);
  }
}

// From the emitter's own output: one workgroup of 128x64x32 with 8 waves does 8 x 2 x 2 x 2 matrix
// instructions a step; each wave dequantises one word a lane in 20 VALU instructions (docs/model.md, 20 VALU
// with all techniques).
TEST_CASE("a footprint counts what the emitter emits", "[select]") {
  const target::Target& target = *target::find("gfx1151");
  const auto p = templates::normalise(problem_of(shapes[0]), target);
  templates::Config c;
  c.lds_buffers = 1;
  const auto fitted = templates::normalise(c, *p, target);
  REQUIRE(fitted);
  const templates::Footprint f = templates::footprint(*fitted, *p, target);
  CHECK(f.matrix == 64);
  CHECK(f.valu == 8 * 20);
  CHECK(f.lds_stores == 8 * (2 + 1));
  CHECK(f.lds_loads == 8 * 2 * 2 * (2 + 2));
  CHECK(f.rows == 128);
  CHECK(f.activation_lines == 1);
  CHECK(f.other_lines == 2 * 64);
}

TEST_CASE("the text of a Config gives the Config back, other texts are refused", "[select]") {
  templates::Config c;
  c.waves_m = 4;
  c.waves_n = 2;
  c.techniques.bank_assignment = false;
  c.wgp_mode = false;
  const std::string text = templates::canonical(c);
  const auto back = templates::parse_config(text);
  REQUIRE(back);
  CHECK(templates::canonical(*back) == text);
  CHECK(back->waves == 8);
  for (const std::string& bad : {std::string(), text + " ", text.substr(1), text.substr(0, text.size() - 1),
                                 std::string("tile 99999x1x1")})
    CHECK_FALSE(templates::parse_config(bad));
}
