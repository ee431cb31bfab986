// SPDX-License-Identifier: MIT
// `wavejit choices --streams`: the estimates that selection goes by, held against the instruction streams
// that simulated waves executed, played through the same pipes (issue 5: they agree on order for a sample).
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/tools/cli.hpp"
#include "tools/wavejit/choices_order.hpp"

namespace wavejit::test {
namespace {

TEST_CASE("estimates order Configs as their recorded streams do", "[cli][choices]") {
  const Folder folder;
  const Ran ran = folder.wavejit("choices --size 1024,512,32 --rows 16,200 --kinds bf16 --streams 6 --json");
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  double model_right = 0, quick_right = 0, pairs = 0;
  const auto json = ran.json();
  for (const auto& c : json.at("cases")) {
    INFO(c.dump(2));
    REQUIRE(c.at("configs").size() >= 6);
    for (const auto& config : c.at("configs")) {
      // The same pipes: what differs is the steady state, which a short reduction hardly reaches.
      CHECK(config.at("model").get<double>() == Approx(config.at("streams").get<double>()).epsilon(0.25));
    }
    model_right += c.at("model").at("right").get<double>();
    quick_right += c.at("quick").at("right").get<double>();
    pairs += c.at("model").at("pairs").get<double>();
  }
  CHECK(pairs >= 20);
  CHECK(model_right >= 0.9 * pairs);
  CHECK(quick_right >= 0.8 * pairs);
}

// On CDNA there are no WMMA tiles to weigh, but a list of MFMA tiles and decode kernels.
TEST_CASE("choices weighs what selection weighs on CDNA, too", "[cli][choices]") {
  const Folder folder;
  for (const char* given : {"gfx950 --rows 512", "gfx942 --rows 4,300"}) {
    const std::string options = std::string("choices --size 256,1024,128 --kinds bf16 --target ") + given;
    const Ran table = folder.wavejit(options);
    INFO(given << table.err);
    CHECK(table.code == 0);
    const Ran streams = folder.wavejit(options + " --streams 3");
    INFO(streams.err);
    CHECK(streams.code == 0);
    CHECK(streams.out.find("<- chosen") != std::string::npos);
  }
  CHECK(folder.wavejit("choices --size 256,1024,128 --rows 0").code != 0);
  CHECK(folder.wavejit("choices --size 256,1000,128").code != 0);
}

// `explain` is the judge: it takes the Config from selection itself and models the whole launch.
TEST_CASE("choices shows selection's choice and the time that explain prints", "[cli][choices]") {
  const Folder folder;
  struct Case {
    const char* path;
    std::string target, m, n = "2048", k = "1024", group = "32";
  };
  for (const Case& c : {Case{"tile", "gfx1151", "200"}, Case{"skinny", "gfx1151", "1"},
                        Case{"skinny", "gfx1200", "2"}, Case{"decode", "gfx942", "3", "256", "1024", "128"},
                        Case{"mfma", "gfx950", "300", "256", "4096", "128"}}) {
    INFO(c.path << " on " << c.target);
    const Ran ran =
        folder.wavejit("choices --model --every 20 --top 3 --json --kinds bf16 --target " + c.target +
                       " --rows " + c.m + " --size " + c.n + "," + c.k + "," + c.group);
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const auto choice = ran.json().at("cases").at(0);
    const std::string config = choice.at("config");
    INFO(choice.dump(2));
    const Ran explained = folder.wavejit("explain --json --op w4a16 --target " + c.target + " --m " + c.m +
                                         " --n " + c.n + " --k " + c.k + " --group " + c.group);
    REQUIRE(explained.code == 0);
    const auto says = explained.json();
    CHECK(config.starts_with(c.path));
    // Up to "occupancy", which selection leaves to generation.
    CHECK(says.at("about").get<std::string>().find("; " + config.substr(0, config.find(" occupancy"))) !=
          std::string::npos);
    CHECK(choice.at("time_us").get<double>() ==
          Approx(says.at("launch").at("time_us").get<double>()).epsilon(1e-9));
    CHECK(choice.at("best_us").get<double>() <= choice.at("time_us").get<double>());
    CHECK(choice.at("judged").get<int>() >= 3);
    CHECK(choice.at("failed") == 0);
  }
}

// Counted by hand.
TEST_CASE("agreement counts pairs that the judge tells apart", "[choices]") {
  const double judge[] = {100, 100.5, 200, 300};
  const double same[] = {1, 2, 3, 4}, reversed[] = {4, 3, 2, 1}, one_swap[] = {1, 2, 4, 3};
  using tools::agreement;
  CHECK(agreement(same, judge).pairs == 5);  // the first two are within 1 %
  CHECK(agreement(same, judge).right == 5);
  CHECK(agreement(same, judge).tau == Approx(1));
  CHECK(agreement(same, judge).regret == 0);
  CHECK(agreement(reversed, judge).right == 0);
  CHECK(agreement(reversed, judge).tau == Approx(-1));
  CHECK(agreement(reversed, judge).regret == Approx(2));
  CHECK(agreement(one_swap, judge).right == 4);
  CHECK(agreement(one_swap, judge).tau == Approx((5 - 1) / 6.0));
  CHECK(agreement({}, {}).share() == 1);
}

}  // namespace
}  // namespace wavejit::test
