// SPDX-License-Identifier: MIT
// `wavejit tune` by the model, `choices` and `--explain-choice`: what they write and say.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/tools/cli.hpp"

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

}  // namespace
}  // namespace wavejit::test
