// SPDX-License-Identifier: MIT
// `wavejit cache` and `wavejit bundle`: reproducible files, what an engine would look up in them, refusals.
#include <catch2/catch.hpp>
#include <string>

#include "runtime/cache/bundle.hpp"
#include "runtime/cache/disk_cache.hpp"
#include "runtime/cache/record.hpp"
#include "tests/tools/cli.hpp"

using namespace wavejit;
using namespace wavejit::test;

namespace {

const std::string small = "--n 64 --k 128 --group 32 --m 16";

templates::Problem small_problem() {
  templates::Problem p;
  p.n = 64;
  p.k = 128;
  p.group = 32;
  return *templates::normalise(p, *target::find("gfx1151"));
}

cache::Key small_key() {
  const target::Target& target = *target::find("gfx1151");
  const auto config = templates::select_config(small_problem(), target, 16);
  return cache::make_key(*cache::key_parts(small_problem(), *config, target, "gfx1151"));
}

/// Fills the folder `c` with the small kernel's entry.
void fill(const Folder& folder) {
  const target::Target& target = *target::find("gfx1151");
  const auto config = templates::select_config(small_problem(), target, 16);
  const auto kernel = templates::generate(small_problem(), *config, target);
  REQUIRE(kernel);
  cache::DiskOptions options;
  options.folder = folder.file("c");
  cache::DiskCache disk(options);
  REQUIRE(disk.put(small_key(), serialise(cache::make_record(*kernel))));
}

}  // namespace

TEST_CASE("a bundle has what an engine asks for at every M of its ranges", "[cli]") {
  const Folder folder;
  write_text(folder.file("shapes.json"), R"([{"n": 64, "k": 128, "group": 32, "m": [1, 600]},
    {"n": 64, "k": 128, "group": 32, "m": 16, "without": ["banks", "pipeline"], "tile": [32, 64, 32], "waves": 4}])");
  const Ran ran = folder.wavejit("bundle shapes.json --arch gfx1151,gfx1100 -o m.wjb --json");
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const auto bundle = cache::Bundle::open(folder.file("m.wjb"));
  REQUIRE(bundle);
  CHECK(bundle->size() == ran.json().at("kernels").size());
  CHECK(folder.names() == std::vector<std::string>{"m.wjb", "shapes.json"});
  for (const char* name : {"gfx1151", "gfx1100"}) {
    const target::Target& target = *target::find(name);
    for (const int m : {1, 16, 17, 33, 65, 128, 129, 200, 257, 511, 600}) {
      const auto config = templates::select_config(small_problem(), target, m);
      const cache::Lookup found =
          bundle->get(cache::make_key(*cache::key_parts(small_problem(), *config, target, name)));
      CAPTURE(name, m);
      REQUIRE(found);
      const auto record = cache::parse_record(*found.payload);
      REQUIRE(record);
      CHECK(cache::agrees(*record, *templates::launch(small_problem(), *config, target, m), target)
                .has_value());
    }
  }
  CHECK_FALSE(bundle->get(cache::make_key(*cache::key_parts(
      small_problem(), *templates::select_config(small_problem(), *target::find("gfx1150"), 16),
      *target::find("gfx1150"), "gfx1150"))));
}

TEST_CASE("explain finds a bundle's kernel for a device that states more features than the bundle", "[cli]") {
  const Folder folder;
  write_text(folder.file("shapes.json"), R"([{"n": 64, "k": 128, "group": 32, "m": 16}])");
  REQUIRE(folder.wavejit("bundle shapes.json --arch gfx942 -o any.wjb").code == 0);
  REQUIRE(folder.wavejit("bundle shapes.json --arch gfx942:xnack+ -o on.wjb").code == 0);
  const auto explain = [&](const std::string& more) {
    return folder.wavejit("cache explain --n 64 --k 128 --group 32 --m 16 --json " + more).json();
  };
  const auto any = explain("--target gfx942 --bundle any.wjb");
  const auto device = explain("--target gfx942:sramecc+:xnack- --bundle any.wjb");
  CHECK(any.at("hit") == true);
  CHECK(device.at("hit") == true);
  CHECK(device.at("key") == any.at("key"));  // the name of an override file, too
  const auto other = explain("--target gfx942:sramecc+:xnack- --bundle on.wjb");
  CHECK(other.at("hit") == false);
  CHECK(other.at("summary").get<std::string>().find("gfx942:xnack+") != std::string::npos);
}

TEST_CASE("a bundle's bytes do not hang on threads or order", "[cli]") {
  const Folder folder;
  write_text(folder.file("a.json"), R"([{"n": 64, "k": 128, "group": 32, "m": [1, 300]},
                                        {"n": 80, "k": 128, "group": 32, "m": 16}])");
  write_text(folder.file("b.json"), R"({"shapes": [{"m": 16, "group": 32, "k": 128, "n": 80},
                                        {"n": 64, "k": 128, "group": 32, "m": [1, 300]}]})");
  REQUIRE(folder.wavejit("bundle a.json --arch gfx1151,gfx1100 -o a.wjb -j 1").code == 0);
  REQUIRE(folder.wavejit("bundle b.json --arch gfx1100 --arch gfx1151 -o b.wjb -j 4").code == 0);
  CHECK(folder.shell("cmp a.wjb b.wjb").code == 0);
}

TEST_CASE("a list of shapes that is wrong is refused with the item and the field", "[cli]") {
  const Folder folder;
  const auto refusal = [&](const std::string& text, const std::string& arch = "gfx1151") {
    write_text(folder.file("s.json"), text);
    const Ran ran = folder.wavejit("bundle s.json --arch " + arch + " -o m.wjb");
    CHECK(ran.code == 2);
    CHECK(folder.names() == std::vector<std::string>{"s.json"});
    return ran.err;
  };
  CHECK_THAT(refusal("not json"), Catch::Contains("s.json is not JSON"));
  CHECK_THAT(refusal("[]"), Catch::Contains("a list of problems"));
  CHECK_THAT(refusal(R"([{"n": 64, "k": 128, "m": 16}, {"n": 64, "k": 128}])"),
             Catch::Contains("s.json, item 2: m"));
  CHECK_THAT(refusal(R"([{"n": 64, "k": 128, "m": [5, 1]}])"), Catch::Contains("item 1: m is [5,1]"));
  CHECK_THAT(refusal(R"([{"n": 64, "k": 128, "m": 1, "colour": 3}])"), Catch::Contains("colour"));
  CHECK_THAT(refusal(R"({"shapes": [{"n": 64, "k": 128, "m": 1}], "colour": 3})"),
             Catch::Contains("s.json: colour is given"));
  for (const auto& [item, field] :
       {std::pair{R"("batch": 4)", "batch is 4"},
        {R"("batch": 0)", "batch is 0"},
        {R"("groups": 2)", "groups is 2"},
        {R"("scale_type": "f32")", "scale_type is f32"},
        {R"("zero_point_stride": 4)", "zero_point_stride is 4"},
        {R"("type": "q8_0")", "type is q8_0"},
        {R"("op": "kquant", "type": "q8_0", "group": 64)", "group is 64"},
        {R"("op": "kquant", "type": "q8_0", "bias": true)", "bias is "},
        {R"("op": "kquant", "type": "q8_0", "rounding": "nearest")", "rounding is nearest"}})
    CHECK_THAT(refusal(std::string(R"([{"n": 64, "k": 128, "m": 1, )") + item + "}]"),
               Catch::Contains(std::string("s.json, item 1: ") + field) && Catch::Contains("left out"));
  CHECK_THAT(refusal(R"([{"n": "x", "k": 128, "m": 1}])"), Catch::Contains("--n"));
  CHECK_THAT(refusal(R"([{"n": 64, "k": 100, "m": 1}])"), Catch::Contains("item 1: k"));
  CHECK_THAT(refusal(R"([{"n": 64, "k": 128, "m": 1, "target": "gfx1151"}])"), Catch::Contains("--arch"));
  CHECK_THAT(refusal(R"([{"n": 64, "k": 128, "m": 1}])", "gfx9999"), Catch::Contains("gfx9999"));
  CHECK_THAT(refusal(R"([{"n": 64, "k": 128, "m": 1}])", "gfx1151:xnack"), Catch::Contains("target_id"));
}

TEST_CASE("cache stats, verify, explain and purge tell of one folder", "[cli]") {
  const Folder folder;
  fill(folder);
  auto j = folder.wavejit("cache stats --folder c --json").json();
  CHECK(j.at("entries") == 1);
  CHECK(j.at("temporaries") == 0);
  CHECK(folder.wavejit("cache verify --folder c").code == 0);

  j = folder.wavejit("cache explain --folder c --json " + small).json();
  CHECK(j.at("hit") == true);
  CHECK(j.at("key") == to_hex(small_key().digest));
  CHECK(j.at("key_text") == small_key().text);
  const Ran miss = folder.wavejit("cache explain --folder c " + small + " --rounding nearest");
  CHECK(miss.code == 0);
  CHECK_THAT(miss.out, Catch::Contains("differs: problem"));
  CHECK_THAT(miss.out, Catch::Contains("round-nearest"));
  j = folder.wavejit("cache explain --folder c --json --target gfx1100 " + small).json();
  CHECK(j.at("hit") == false);
  CHECK(j.at("different")[0] ==
        nlohmann::json{{"part", "target_id"}, {"ours", "gfx1100"}, {"theirs", "gfx1151"}});

  REQUIRE(folder.shell("printf x | dd of=$(find c -name '*.wje') bs=1 seek=700 conv=notrunc").code == 0);
  const Ran bad = folder.wavejit("cache verify --folder c");
  CHECK(bad.code == 1);
  CHECK_THAT(bad.out, Catch::Contains("checksum"));
  CHECK(folder.wavejit("cache verify --folder c --remove").code == 1);
  CHECK(folder.wavejit("cache verify --folder c").code == 0);
  fill(folder);
  CHECK_THAT(folder.wavejit("cache purge --folder c").out, Catch::Contains("removed 1 files"));
  CHECK(folder.wavejit("cache stats --folder c --json").json().at("entries") == 0);
}

TEST_CASE("cache explain asks a bundle, too", "[cli]") {
  const Folder folder;
  write_text(folder.file("s.json"), R"([{"n": 64, "k": 128, "group": 32, "m": 16}])");
  REQUIRE(folder.wavejit("bundle s.json --arch gfx1151 -o m.wjb").code == 0);
  CHECK(folder.wavejit("cache explain --bundle m.wjb --json " + small).json().at("hit") == true);
  CHECK(folder.wavejit("cache explain --bundle m.wjb --json --without banks " + small)
            .json()
            .at("different")[0]
            .at("part") == "config");
}

TEST_CASE("a cache folder that is not there or not safe is refused", "[cli]") {
  const Folder folder;
  CHECK(folder.wavejit("cache stats --folder none").code == 2);
  CHECK(folder.names().empty());
  REQUIRE(folder.shell("mkdir -m 777 open").code == 0);
  const Ran ran = folder.wavejit("cache stats --folder open");
  CHECK(ran.code == 2);
  CHECK_THAT(ran.err, Catch::Contains("others may write it"));
  CHECK(folder.shell("env -u HOME -u XDG_CACHE_HOME " WAVEJIT_COMMAND " cache stats").code == 2);
  REQUIRE(folder.shell("mkdir -m 700 -p x/wavejit").code == 0);
  CHECK(folder.shell("XDG_CACHE_HOME=$PWD/x " WAVEJIT_COMMAND " cache stats").code == 0);
}
