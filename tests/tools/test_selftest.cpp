// SPDX-License-Identifier: MIT
// `wavejit selftest` on simulated devices: every kind of kernel that a target serves is run, and what is not
// run is said.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "templates/kernel.hpp"
#include "tests/harness/models.hpp"
#include "tests/tools/cli.hpp"

namespace wavejit::test {
namespace {

using templates::Operation;
using templates::Path;
using templates::Problem;

/// Operation and path of every kernel that selection chooses for some layers of models, one in `step`: what
/// an engine would run there, and so what a self-test must have run.
std::set<std::string> chosen_kinds(const target::Target& target, std::size_t step) {
  constexpr std::array<std::int64_t, 1> whole{1};
  const auto layers = harness::distinct_layers(whole);
  std::set<std::string> kinds;
  for (std::size_t i = 0; i < layers.size(); i += step)
    for (std::size_t o = 0; o < templates::operations; ++o) {
      Problem p;
      p.op = static_cast<Operation>(o);
      p.n = layers[i].n;
      p.k = layers[i].k;
      p.group = 64;
      if (p.op == Operation::int4_gemm || p.op == Operation::int4_grouped)
        p.layout = templates::WeightLayout::row_major_signed;
      if (p.op == Operation::int4_grouped) p.groups = 4;
      const auto all = templates::select_configs(p, target, 1, 4096);
      if (!all) continue;
      for (const templates::Selection& s : *all)
        kinds.insert(std::string(templates::name(p.op)) + " " + std::string(templates::name(s.config.path)) +
                     (s.config.split_k > 1 ? " split-k" : ""));
    }
  return kinds;
}

void check_selftest(const std::string& name) {
  const target::Target& target = *target::find(name);
  const Folder folder;
  const Ran ran = folder.wavejit("selftest --device sim:" + name + " --json --report r.json");
  INFO(ran.out.substr(0, 2000) << ran.err);
  REQUIRE(ran.code == 0);
  const auto report = ran.json();
  CHECK(nlohmann::json::parse(read_text(folder.file("r.json"))) == report);
  CHECK(report.at("summary").at("wrong") == 0);
  CHECK(report.at("summary").at("failed") == 0);

  std::set<std::string> kinds, whole_kinds;
  for (const auto& [kind, count] : report.at("kinds").items()) {
    CHECK(count.get<int>() >= 1);
    whole_kinds.insert(kind);
    // Without the type of GGUF weights.
    kinds.insert(kind.starts_with("kquant gemv") ? "kquant gemv" : kind);
  }
  for (const std::string& kind : chosen_kinds(target, 19)) {
    INFO(kind);
    CHECK(kinds.contains(kind));
  }
  // Each operation, GGUF type, and input of the quantiser is run, or the door's refusal is told.
  std::set<std::string> not_run;
  for (const auto& n : report.at("not_run")) {
    CHECK_FALSE(n.at("why").get<std::string>().empty());
    not_run.insert(n.at("what").get<std::string>());
  }
  for (std::size_t o = 0; o < templates::operations; ++o) {
    const std::string op(templates::name(static_cast<Operation>(o)));
    const bool ran_it = std::ranges::any_of(kinds, [&](const auto& k) { return k.starts_with(op + " "); });
    INFO(op);
    CHECK(ran_it != not_run.contains(op));
    if (!ran_it) continue;
    for (const Path path : {Path::tile, Path::gemv, Path::skinny, Path::mfma, Path::decode}) {
      const std::string kind = op + " " + std::string(templates::name(path));
      INFO(kind);
      const bool ran_path = std::ranges::any_of(kinds, [&](const auto& k) { return k.starts_with(kind); });
      CHECK(ran_path != not_run.contains(kind));
    }
  }
  for (const char* type : {"q4_k", "q5_k", "q6_k", "q8_0", "q4_0"})
    CHECK(whole_kinds.contains(std::string("kquant gemv ") + type));
  for (const char* type : {"bf16", "f16", "f32"})
    CHECK(whole_kinds.contains(std::string("kquant quantise ") + type));
  const bool cdna = target.generation == target::Generation::gfx9;
  CHECK(std::ranges::any_of(kinds, [](const auto& k) { return k.ends_with("batched"); }) == cdna);
}

}  // namespace

TEST_CASE("selftest runs every kind of kernel that gfx1151 serves", "[cli][selftest]") {
  check_selftest("gfx1151");
}
TEST_CASE("selftest runs every kind of kernel that gfx1201 serves", "[cli][selftest]") {
  check_selftest("gfx1201");
}
TEST_CASE("selftest runs every kind of kernel that gfx942 serves", "[cli][selftest]") {
  check_selftest("gfx942");
}
TEST_CASE("selftest runs every kind of kernel that gfx950 serves", "[cli][selftest]") {
  check_selftest("gfx950");
}

}  // namespace wavejit::test
