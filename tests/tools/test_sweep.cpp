// SPDX-License-Identifier: MIT
// `wavejit sweep`: issue 6 wants 576 combinations of shape and group that give a Config and generate on each
// target. A share runs here, spread so that targets and problems turn up with each other; `wavejit sweep`
// runs all.
#include <catch2/catch.hpp>

#include "tests/tools/cli.hpp"

namespace wavejit::test {
namespace {

TEST_CASE("a share of the sweep chooses and generates on every target", "[cli][sweep]") {
  const Folder folder;
  const Ran ran = folder.wavejit("sweep --share 61 --json");
  INFO(ran.out << ran.err);
  REQUIRE(ran.code == 0);
  const auto j = ran.json();
  CHECK(j.at("combinations").get<int>() >= 576);
  REQUIRE(j.at("targets").size() >= 12);
  for (const auto& t : j.at("targets")) {
    CAPTURE(t.at("target"));
    CHECK(t.at("failures").empty());
    CHECK(t.at("problems").get<int>() >= 50);
    CHECK(t.at("kernels") == t.at("problems"));
    CHECK(t.at("selections") >= t.at("problems"));
  }
}

TEST_CASE("sweep takes targets and rows, and names what it does not know", "[cli][sweep]") {
  const Folder folder;
  const Ran ran = folder.wavejit("sweep --target gfx12-generic --rows 1,333 --share 1000 --json");
  REQUIRE(ran.code == 0);
  const auto t = ran.json().at("targets").at(0);
  CHECK(t.at("target") == "gfx12-generic");
  CHECK(t.at("kernels").get<int>() == 2 * t.at("problems").get<int>());
  const Ran unknown = folder.wavejit("sweep --target gfx7");
  CHECK(unknown.code == 2);
  CHECK(unknown.err.find("gfx7") != std::string::npos);
}

}  // namespace
}  // namespace wavejit::test
