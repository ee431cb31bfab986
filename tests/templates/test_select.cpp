// SPDX-License-Identifier: MIT
// Whatever selection returns is a Config that fits: its K step lies within one group, it launches, and it
// generates. Shapes: the layers of the models in shared/domain.md §0.2.
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "templates/candidates.hpp"
#include "templates/kernel.hpp"

using namespace wavejit;

namespace {

struct Layer {
  std::int64_t k, n;
};
constexpr Layer layers[] = {
    {2048, 32768}, {16384, 2048}, {2048, 2560},  {2048, 2048},  {38912, 2048}, {49152, 2048}, {49152, 4096},
    {2560, 3840},  {2560, 2560},  {2560, 19456}, {9728, 2560},  {2560, 6144},  {4096, 2560},  {4096, 6144},
    {4096, 4096},  {4096, 24576}, {12288, 4096}, {4096, 2048},  {3584, 4608},  {3584, 3584},  {3584, 37888},
    {18944, 3584}, {8192, 512},   {8320, 512},   {2048, 4096},  {2048, 12288}, {6144, 2048},  {2560, 4096},
    {2560, 20480}, {10240, 2560}, {5376, 43008}, {21504, 5376}, {5376, 16384}, {8192, 5376},  {16384, 5376},
    {5376, 20480}, {640, 5120},   {5120, 2048},  {5120, 1024},  {1024, 72}};
constexpr std::int64_t groups[] = {32, 64, 128, 256, -1};

/// A tile's step along K shares one scale. A skinny kernel has a scale for each 32 weights of a lane.
bool beyond_group(const templates::Config& c, std::int64_t group) {
  return c.path == templates::Path::tile && (c.bk > group || group % c.bk != 0);
}

/// Splitmix64: the same shapes everywhere.
class Random {
 public:
  std::int64_t below(std::int64_t end) {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return static_cast<std::int64_t>((z ^ (z >> 31)) % static_cast<std::uint64_t>(end));
  }

 private:
  std::uint64_t state_ = 1;
};

templates::Problem any_problem(Random& random) {
  constexpr std::int64_t lengths[] = {32, 64, 96, 128, 160, 256, 512};
  templates::Problem p;
  p.group = lengths[random.below(std::size(lengths))];
  p.k = p.group * (1 + random.below(random.below(2) == 0 ? 16 : 200));
  if (random.below(8) == 0) p.group = -1;
  p.n = 1 + random.below(random.below(2) == 0 ? 512 : 40000);
  if (random.below(2) == 0) p.n = (p.n + 7) / 8 * 8;
  if (random.below(2) == 0) p.activation = templates::DataType::f16;
  if (random.below(2) == 0) p.zero_points = templates::ZeroPoints::packed;
  return p;
}
}  // namespace

// Selection returns tiles out of candidates() and no others, whatever M: all of them are looked at.
TEST_CASE("no Config that selection can return has a K step beyond its group", "[w4a16][select]") {
  std::vector<const target::Target*> targets;
  for (const target::Target& t : target::all())
    if (t.generation != target::Generation::gfx9) targets.push_back(&t);
  REQUIRE(targets.size() == 12);
  Random random;
  std::size_t looked_at = 0;
  for (std::size_t i = 0; i < 3000; ++i) {
    const target::Target& target = *targets[i % targets.size()];
    const auto p = templates::normalise(any_problem(random), target);
    REQUIRE(p);
    const templates::Candidates all = templates::candidates(*p, target);
    looked_at += all.legal.size();
    for (const templates::Candidate& c : all.legal)
      if (beyond_group(c.config, p->group))
        FAIL(target.name << ": " << templates::canonical(*p) << ": bk " << c.config.bk);
    if (all.legal.empty()) FAIL(target.name << ": nothing for " << templates::canonical(*p));
  }
  CHECK(looked_at > 300000);
}

TEST_CASE("tiles that selection returns are among the candidates", "[w4a16][select]") {
  Random random;
  for (std::size_t i = 0; i < 60; ++i) {
    const target::Target& target = *target::find(i % 2 == 0 ? "gfx11-generic" : "gfx1201");
    const auto p = templates::normalise(any_problem(random), target);
    REQUIRE(p);
    std::set<std::string> legal;
    for (const templates::Candidate& c : templates::candidates(*p, target).legal)
      legal.insert(templates::canonical(c.config));
    const auto chosen = templates::select_configs(*p, target, 1, 5000);
    REQUIRE(chosen);
    for (const templates::Selection& s : *chosen)
      if (s.config.path == templates::Path::tile) CHECK(legal.contains(templates::canonical(s.config)));
  }
}

TEST_CASE("choices for a range of very many rows are those for each number of rows", "[select]") {
  for (const char* name : {"gfx1151", "gfx942"}) {
    const target::Target& target = *target::find(name);
    templates::Problem p;
    p.n = 64;
    p.k = 128;
    p.group = 32;
    constexpr std::int64_t last = 10'000'000;
    const auto all = templates::select_configs(p, target, 1, last);
    REQUIRE(all);
    Random random;
    for (std::int64_t m = 60'000; m < last; m += 1 + m / 8 + random.below(1000)) {
      const auto at = std::ranges::find_if(*all, [m](const auto& s) { return s.last >= m; });
      REQUIRE(at != all->end());
      CHECK(templates::canonical(*templates::select_config(p, target, m)) ==
            templates::canonical(at->config));
    }
    // More rows than a launch can have: at once, and not after a choice for every sixteen of them.
    for (const std::int64_t most : {std::int64_t{1} << 31, (std::int64_t{1} << 32) - 1, INT64_MAX}) {
      const auto refused = templates::select_configs(p, target, 1, most);
      REQUIRE_FALSE(refused);
      CHECK(refused.error().field == "m");
    }
    CHECK_FALSE(templates::select_configs(p, target, 1, (std::int64_t{1} << 31) - 1));
  }
}

TEST_CASE("every Config that selection returns suits its problem and generates", "[w4a16][select]") {
  std::size_t selected = 0, problems = 0, met = 0, generated = 0;
  std::set<std::string> keys;
  for (const target::Target& target : target::all()) {
    if (target.generation == target::Generation::gfx9) continue;
    const bool generate = target.name == "gfx1151" || target.name == "gfx1100" || target.name == "gfx1201" ||
                          target.generic_version() != 0;
    std::size_t turn = 0;
    for (const Layer& layer : layers)
      for (const std::int64_t group : groups)
        for (unsigned kind = 0; kind < 4; ++kind) {
          if (group > 0 && layer.k % group != 0) continue;
          // All layers, groups and kinds turn up with each other on some target.
          if (++turn % 7 != static_cast<std::size_t>(&target - target::all().data()) % 7) continue;
          templates::Problem p;
          p.n = layer.n;
          p.k = layer.k;
          p.group = group;
          p.activation = kind % 2 == 0 ? templates::DataType::bf16 : templates::DataType::f16;
          if (kind / 2 == 1) p.zero_points = templates::ZeroPoints::packed;
          ++problems;
          CAPTURE(target.name, p.n, p.k, group, kind);
          const auto all = templates::select_configs(p, target, 1, 4096);
          REQUIRE(all);
          const std::int64_t length = group == -1 ? p.k : group;
          for (const templates::Selection& s : *all) {
            ++selected;
            if (beyond_group(s.config, length)) FAIL("bk " << s.config.bk);
            REQUIRE(templates::launch(p, s.config, target, s.last));
            // One kernel per Config and kind, and of those a sample: code differs with N and K in constants
            // only.
            const std::string key =
                std::string(target.name) + templates::canonical(s.config) + std::to_string(kind);
            if (!generate || !keys.insert(key).second || ++met % 5 != 0) continue;
            ++generated;
            CAPTURE(templates::canonical(s.config));
            const auto kernel = templates::generate(p, s.config, target, {.assemble = false});
            INFO((kernel ? std::string() : kernel.error().message));
            CHECK(kernel);
          }
        }
  }
  CHECK(problems > 500);
  CHECK(selected > 4000);
  CHECK(generated > 50);
}
