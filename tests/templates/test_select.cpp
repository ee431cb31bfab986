// SPDX-License-Identifier: MIT
// Whatever selection returns is a Config that fits: its K step lies within one group, it launches, and it
// generates. Shapes: the layers of the models in shared/domain.md §0.2.
#include <catch2/catch.hpp>
#include <set>
#include <string>

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
}  // namespace

TEST_CASE("every Config that selection returns suits its problem and generates", "[w4a16][select]") {
  std::size_t selected = 0, problems = 0, met = 0, generated = 0;
  std::set<std::string> keys;
  for (const target::Target& target : target::all()) {
    if (target.generation == target::Generation::gfx9) continue;
    const bool generate = target.name == "gfx1151" || target.name == "gfx1100" || target.name == "gfx1201";
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
            if (s.config.bk > length || length % s.config.bk != 0) FAIL("bk " << s.config.bk);
            REQUIRE(templates::launch(p, s.config, target, s.last));
            // One kernel per Config and kind, and of those a sample: code differs with N and K in constants
            // only.
            const std::string key =
                std::string(target.name) + templates::canonical(s.config) + std::to_string(kind);
            if (!generate || !keys.insert(key).second || ++met % 5 != 0) continue;
            ++generated;
            CAPTURE(templates::canonical(s.config));
            const auto kernel = templates::generate(p, s.config, target, {.assemble = false, .observer = {}});
            INFO((kernel ? std::string() : kernel.error().message));
            CHECK(kernel);
          }
        }
  }
  CHECK(problems > 500);
  CHECK(selected > 4000);
  CHECK(generated > 50);
}
