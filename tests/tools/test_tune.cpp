// SPDX-License-Identifier: MIT
// `wavejit tune` by the model, `choices` and `--explain-choice`: what they write and say. Expected of
// modelled times: that every command says the same one; of the engine: that a database by the model never
// makes a choice slower by the model.
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/engine/engine.hpp"
#include "templates/problem.hpp"
#include "tests/tools/cli.hpp"
#include "tools/wavejit/model_kernel.hpp"

namespace wavejit::test {
namespace {

constexpr const char* problem = "--n 512 --k 256 --group 32 ";

TEST_CASE("tune writes a database, goes on where it stopped, and merges", "[cli][tune]") {
  const Folder folder;
  const std::string tune = std::string("tune ") + problem + "--device sim --top 3 ";
  REQUIRE(folder.wavejit(tune + "--rows 33 --database a.json").code == 0);
  const auto first = nlohmann::json::parse(read_text(folder.file("a.json")));
  REQUIRE(first.at("entries").size() == 1);
  const auto& entry = first.at("entries")[0];
  CHECK(entry.at("target_id") == "gfx1151");
  CHECK(entry.at("m") == 33);
  REQUIRE(entry.at("times").size() >= 1);
  CHECK(entry.at("times").size() <= 3);
  double last = 0;
  for (const auto& time : entry.at("times")) {
    CHECK(time.at("us").get<double>() >= last);  // quickest first
    last = time.at("us").get<double>();
  }
  // The same again adds nothing; other rows do.
  REQUIRE(folder.wavejit(tune + "--rows 33 --database a.json").code == 0);
  CHECK(nlohmann::json::parse(read_text(folder.file("a.json"))) == first);
  REQUIRE(folder.wavejit(tune + "--rows 200 --database b.json").code == 0);
  REQUIRE(folder.wavejit(tune + "--database a.json --merge b.json").code == 0);
  CHECK(nlohmann::json::parse(read_text(folder.file("a.json"))).at("entries").size() == 2);
}

TEST_CASE("tune --dry writes nothing; a broken database is refused and left alone", "[cli][tune]") {
  const Folder folder;
  const std::string tune = std::string("tune ") + problem + "--rows 33 --top 2 ";
  REQUIRE(folder.wavejit(tune + "--dry --database a.json").code == 0);
  CHECK(folder.names().empty());
  REQUIRE(folder.shell("echo '{' > a.json").code == 0);
  CHECK(folder.wavejit(tune + "--database a.json").code == 2);
  CHECK(read_text(folder.file("a.json")) == "{\n");
}

TEST_CASE("emit --explain-choice says how many were considered and what took them out", "[cli][tune]") {
  const Folder folder;
  const Ran ran = folder.wavejit(std::string("emit ") + problem + "--m 33 --explain-choice -o F.s");
  INFO(ran.out << ran.err);
  REQUIRE(ran.code == 0);
  const std::string said = ran.out + ran.err;
  CHECK(said.find("considered") != std::string::npos);
  CHECK(said.find("bk divides the group") != std::string::npos);
}

/// The number behind "modelled: "; below 0 when there is none.
double said(const std::string& text) {
  const std::string mark = "modelled: ";
  const std::size_t at = text.find(mark);
  return at == std::string::npos ? -1 : std::stod(text.substr(at + mark.size()));
}

TEST_CASE("explain, --explain-choice and tune say one modelled time, whatever the kernel",
          "[cli][tune][explain]") {
  const std::string asked = GENERATE(
      "--op w4a16 --n 512 --k 4096 --group 128 --m 1", "--op w4a16 --n 512 --k 1024 --group 128 --m 4",
      "--op w4a16 --n 512 --k 256 --group 32 --m 33",
      "--op w4a16 --target gfx1200 --n 256 --k 32 --group 32 --m 16",
      "--op w4a16 --target gfx942 --n 256 --k 512 --group 128 --m 40",
      "--op w4a16 --target gfx950 --n 256 --k 512 --group 128 --m 1",
      "--op int4_gemm --target gfx942 --n 256 --k 4096 --m 3",
      "--op int4_gemm --target gfx950 --n 256 --k 512 --batch 2 --m 40",
      "--op int4_grouped --target gfx950 --n 256 --k 512 --groups 3 --m 20",
      "--op kquant --type q4_k --n 256 --k 256 --m 1", "--op kquant --type q5_k --n 256 --k 2048 --m 3",
      "--op kquant --type q6_k --n 256 --k 256 --m 12",
      "--op kquant --type q8_0 --target gfx942 --n 256 --k 256 --m 2",
      "--op kquant --type q4_0 --n 256 --k 8192 --m 8");
  CAPTURE(asked);
  const Folder folder;
  const Ran explained = folder.wavejit("explain " + asked + " --json");
  INFO(explained.out << explained.err);
  REQUIRE(explained.code == 0);
  const double us = explained.json().at("launch").at("time_us");
  CHECK(us > 0);
  const Ran chosen = folder.wavejit("tune --dry " + asked);  // prints what emit --explain-choice does
  INFO(chosen.out << chosen.err);
  REQUIRE(chosen.code == 0);
  CHECK(said(chosen.out) == Approx(us).margin(0.051));  // one decimal is printed
  if (asked.find("kquant") != std::string::npos) return;
  const Ran tuned = folder.wavejit("tune --device sim --top 1 --database a.json " + asked);
  INFO(tuned.out << tuned.err);
  REQUIRE(tuned.code == 0);
  const auto times = nlohmann::json::parse(read_text(folder.file("a.json")))["entries"][0]["times"];
  CHECK(std::ranges::count_if(
            times, [&](const auto& t) { return t["us"].template get<double>() == Approx(us); }) == 1);
}

TEST_CASE("tune times every kind of kernel that serves the rows, and labels the choice", "[cli][tune]") {
  struct Case {
    const char* flags;
    std::vector<const char*> kinds;
    int first, last;
  };
  const auto c =
      GENERATE(Case{"--op w4a16 --n 4096 --k 14336 --rows 1", {"skinny", "tile"}, 1, 1},
               Case{"--op w4a16 --target gfx1201 --n 512 --k 1024 --rows 11", {"skinny", "tile"}, 9, 16},
               Case{"--op w4a16 --n 512 --k 256 --group 32 --rows 40", {"tile"}, 33, 48},
               Case{"--op w4a16 --target gfx950 --n 512 --k 512 --rows 2", {"decode", "mfma"}, 2, 2},
               Case{"--op int4_gemm --target gfx942 --n 512 --k 512 --rows 6", {"decode", "mfma"}, 5, 8});
  CAPTURE(c.flags);
  const Folder folder;
  const Ran ran = folder.wavejit(std::string("tune --device sim --top 2 --database a.json ") + c.flags);
  INFO(ran.out << ran.err);
  REQUIRE(ran.code == 0);
  const auto entry = nlohmann::json::parse(read_text(folder.file("a.json")))["entries"][0];
  CHECK(entry["rows"] == nlohmann::json{c.first, c.last});
  for (const std::string kind : c.kinds) CHECK_THAT(ran.out, Catch::Contains("us  " + kind));
  CHECK_THAT(ran.out, Catch::Contains("(selection's choice)"));
}

/// What an engine runs each M by, with a database or without.
std::map<std::int64_t, templates::Config> choices(const templates::Problem& p, const std::string& target,
                                                  const std::string& database) {
  EngineOptions options;
  options.devices = {"sim:" + target};
  options.environment = false;
  options.tuning_database = database;
  const auto engine = Engine::create(options);
  REQUIRE(engine);
  const auto plan = (*engine)->prepare(p, {1, 64});
  INFO((plan ? std::string() : plan.error().message));
  REQUIRE(plan);
  std::map<std::int64_t, templates::Config> all;
  for (const Variant& v : plan->variants())
    for (std::int64_t m = v.range.first; m <= v.range.last; ++m) all.emplace(m, v.config);
  return all;
}

TEST_CASE("a database by the model never makes a choice slower by the model", "[cli][tune]") {
  struct Case {
    const char* target;
    templates::Operation op;
    std::int64_t n, k;
  };
  using enum templates::Operation;
  const auto c = GENERATE(Case{"gfx1151", w4a16, 1024, 512}, Case{"gfx1201", w4a16, 512, 256},
                          Case{"gfx942", w4a16, 256, 512}, Case{"gfx950", int4_gemm, 512, 256});
  CAPTURE(c.target, templates::name(c.op), c.n, c.k);
  const Folder folder;
  const Ran ran =
      folder.wavejit("tune --device sim --top 3 --rows 1,2,3,8,12,20,33,64 --database a.json --op " +
                     std::string(templates::name(c.op)) + " --target " + c.target + " --n " +
                     std::to_string(c.n) + " --k " + std::to_string(c.k) + " --group 128");
  INFO(ran.out << ran.err);
  REQUIRE(ran.code == 0);
  templates::Problem p;
  p.op = c.op;
  p.n = c.n;
  p.k = c.k;
  p.group = 128;
  if (c.op != w4a16) p.layout = templates::WeightLayout::row_major_signed;
  const target::Target& target = *target::find(c.target);
  p = templates::normalise(p, target).value();
  const auto untuned = choices(p, c.target, ""), tuned = choices(p, c.target, folder.file("a.json"));
  REQUIRE(tuned.size() == 64);
  std::string last;
  for (const auto& [m, config] : tuned) {
    const std::string pair = templates::canonical(config) + templates::canonical(untuned.at(m));
    const bool same = templates::canonical(config) == templates::canonical(untuned.at(m));
    // Of neighbours with the same pair the first, and the last of a multiple of eight.
    if (same || (pair == last && m % 8 != 0)) continue;
    last = pair;
    const auto with = tools::modelled_us(p, config, target, m);
    const auto without = tools::modelled_us(p, untuned.at(m), target, m);
    REQUIRE(with);
    REQUIRE(without);
    CAPTURE(m, templates::canonical(config), templates::canonical(untuned.at(m)));
    CHECK(*with <= *without);
  }
}

}  // namespace
}  // namespace wavejit::test
