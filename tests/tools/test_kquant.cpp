// SPDX-License-Identifier: MIT
// K-quants through the command: emit both stages, run, explain, bundle; refusals.
#include <catch2/catch.hpp>
#include <string>

#include "runtime/engine/engine.hpp"
#include "tests/tools/cli.hpp"

using namespace wavejit::test;

namespace {

const std::string small = "--op kquant --type q6_k --n 37 --k 1792 ";

}  // namespace

TEST_CASE("emit gives the product, or with --stage 0 the quantiser", "[cli][kquant]") {
  const Folder folder;
  const auto product = folder.wavejit("emit " + small + "--m 3 --json").json();
  CHECK(product.at("problem").at("canonical") == "kquant q6_k bf16 n37 k1792");
  CHECK(product.at("config").at("tokens") == 3);
  CHECK(product.at("stage") == 1);
  const auto& args = product.at("args");
  REQUIRE(args.size() == 3);
  CHECK(args[0].at("name") == "workspace");
  CHECK(args[0].at("bytes") == 3 * 7 * 320);
  CHECK(args[1].at("name") == "weights");
  CHECK(args[1].at("shape") == nlohmann::json{37, 7 * 210});
  CHECK(args[2].at("name") == "output");
  CHECK(args[2].at("dtype") == "f32");
  const auto quantiser = folder.wavejit("emit " + small + "--act f16 --m 3 --stage 0 --json").json();
  CHECK(quantiser.at("args").at(0).at("dtype") == "f16");
  CHECK(quantiser.at("args").at(1).at("access") == "write");
  CHECK(quantiser.at("grid") == nlohmann::json{21, 1, 1});
}

TEST_CASE("run judges both stages", "[cli][kquant]") {
  const Folder folder;
  for (const char* type : {"q4_k", "q5_k", "q6_k", "q8_0", "q4_0"}) {
    const Ran ran = folder.wavejit(std::string("run --op kquant --type ") + type +
                                   " --n 70 --k 1280 --m 2 --act f32 --sample 5 --json");
    INFO(ran.out << ran.err);
    REQUIRE(ran.code == 0);
    const auto j = ran.json();
    CHECK(j.at("ok") == true);
    CHECK(j.at("workgroups") == 5);
    CHECK(j.at("workgroups_in_all") == 70);
    CHECK(j.at("nmse_exact").get<double>() > 0);
    CHECK(j.at("worst_exact").get<double>() <= 1);
    CHECK(j.at("worst_model").get<double>() <= 1);
  }
  CHECK_THAT(folder.wavejit("run " + small).out, Catch::Contains("verdict: right"));
}

TEST_CASE("an emitted file is explained by its own header", "[cli][kquant]") {
  const Folder folder;
  // Twenty superblocks: five passes of four, of which a loop is left.
  const std::string long_rows = "--op kquant --type q6_k --n 37 --k 5120 ";
  REQUIRE(folder.wavejit("emit " + long_rows + "--m 2 --wave-rows 4 -o F.s").code == 0);
  const Ran ran = folder.wavejit("explain F.s --json");
  INFO(ran.out << ran.err);
  REQUIRE(ran.code == 0);
  CHECK_THAT(ran.out, Catch::Contains("kquant q6_k bf16 n37 k5120"));
  CHECK(folder.wavejit("explain " + long_rows).code == 0);
}

TEST_CASE("the choice is explained by the model's ranking and the rule", "[cli][kquant]") {
  const Folder folder;
  const Ran ran = folder.wavejit("emit --op kquant --type q4_k --n 4096 --k 4096 --explain-choice -o F.s");
  INFO(ran.out << ran.err);
  REQUIRE(ran.code == 0);
  CHECK_THAT(ran.err, Catch::Contains("1."));
  CHECK_THAT(ran.err, Catch::Contains("DRAM binds"));
  CHECK_THAT(ran.err, Catch::Contains("<- chosen"));
}

TEST_CASE("a bundle serves an engine every stage of every M", "[cli][kquant]") {
  const Folder folder;
  write_text(folder.file("shapes.json"),
             R"([{"op": "kquant", "type": "q5_k", "n": 24, "k": 512, "act": "f16", "m": [1, 20]}])");
  const Ran ran = folder.wavejit("bundle shapes.json --arch gfx1151 -o m.wjb --json");
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  CHECK(ran.json().at("kernels").size() == 16);
  wavejit::EngineOptions options;
  options.environment = false;
  options.devices = {"sim:gfx1151"};
  options.cache_folder = "";
  options.bundles = {folder.file("m.wjb")};
  const auto engine = wavejit::Engine::create(options);
  REQUIRE(engine);
  wavejit::templates::Problem problem;
  problem.op = wavejit::templates::Operation::kquant;
  problem.activation = wavejit::templates::DataType::f16;
  problem.weight_type = wavejit::templates::GgufType::q5_k;
  problem.n = 24;
  problem.k = 512;
  const auto plan = (*engine)->prepare(problem, {1, 20});
  REQUIRE(plan);
  CHECK((*engine)->counters().compiles == 0);
  for (const auto& v : plan->variants())
    for (const auto& s : v.stages) CHECK(s.from == wavejit::Tier::bundle);
}

TEST_CASE("bad requests for K-quants name field and value", "[cli][kquant]") {
  struct Bad {
    const char* flags;
    const char* field;
  };
  for (const Bad& bad : {Bad{"--op kquant --n 8 --k 256", "type"},
                         {"--op kquant --type q3_k --n 8 --k 256", "type"},
                         {"--op kquant --type q4_k --n 8 --k 320", "k"},
                         {"--op kquant --type q4_k --n 8 --k 256 --m 9", "m"},
                         {"--op kquant --type q4_k --n 8 --k 256 --wave-rows 3", "rows"},
                         {"--op kquant --type q4_k --n 8 --k 256 --tile 64,64,32", "config"},
                         {"--op kquant --type q4_k --n 8 --k 256 --without banks", "techniques"},
                         {"--op kquant --type q4_k --n 8 --k 256 --stage 2", "stage"},
                         {"--op kquant --type q4_k --n 8 --k 256 --bias", "bias"},
                         {"--n 64 --k 128 --group 32 --type q4_k", "type"},
                         {"--n 64 --k 128 --group 32 --wave-rows 2", "rows"},
                         {"--n 64 --k 128 --group 32 --act f32", "act"}}) {
    const Folder folder;
    const Ran ran = folder.wavejit(std::string("emit --json ") + bad.flags);
    CAPTURE(bad.flags, ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.json().at("error").at("field") == bad.field);
  }
  const Folder folder;
  CHECK(folder.wavejit("tune --device sim --dry " + small).code == 0);
  CHECK(folder.wavejit("tune --device sim --database d.json " + small).code == 2);
  CHECK(folder.wavejit("ablate " + small).code == 2);
}
