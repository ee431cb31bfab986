// SPDX-License-Identifier: MIT
// --config: the text that a kernel's header, --json and --explain-choice print makes that kernel again, for
// every path; what does not fit is refused.
#include <catch2/catch.hpp>
#include <string>

#include "tests/tools/cli.hpp"

using namespace wavejit::test;

namespace {

struct Case {
  const char* path;
  std::string problem;
};

const std::string rdna = "--n 64 --k 256 --group 32 ";

}  // namespace

TEST_CASE("a Config's text makes the same kernel again, whatever its path", "[cli][config]") {
  for (const Case& c :
       {Case{"tile", rdna + "--m 100 "}, Case{"skinny", rdna + "--m 1 "},
        Case{"gemv", "--op kquant --type q4_k --n 40 --k 1024 --m 3 "},
        Case{"mfma", "--op w4a16 --target gfx942 --n 64 --k 256 --group 64 --m 200 "},
        Case{"mfma", "--op int4_gemm --target gfx950 --n 72 --k 512 --group 128 --m 200 --batch 2 --zeros "},
        Case{"mfma", "--op int4_grouped --target gfx942 --n 72 --k 256 --group 64 --m 300 --groups 2 "},
        Case{"decode", "--op w4a16 --target gfx950 --n 64 --k 256 --group 128 --m 3 --bias "},
        Case{"decode", "--op int4_gemm --target gfx950 --n 72 --k 512 --group 128 --m 5 --batch 2 --zeros "},
        Case{"decode", "--op int4_grouped --target gfx942 --n 72 --k 256 --group 64 --m 20 --groups 2 "}}) {
    const Folder folder;
    CAPTURE(c.path, c.problem);
    const Ran first = folder.wavejit("emit " + c.problem + "-o a.s --object a.hsaco --json");
    INFO(first.err);
    REQUIRE(first.code == 0);
    const auto config = first.json().at("config");
    CHECK(config.at("path") == c.path);
    const std::string text = config.at("canonical");
    CHECK(text.starts_with(std::string(c.path) + " "));
    // The header's second line is the same text.
    const std::string source = read_text(folder.file("a.s"));
    const std::size_t at = source.find('\n') + 3;
    CHECK(source.substr(at, source.find('\n', at) - at) == text);
    const Ran again =
        folder.wavejit("emit " + c.problem + "--config '" + text + "' -o b.s --object b.hsaco --json");
    INFO(again.err);
    REQUIRE(again.code == 0);
    CHECK(again.json().at("config") == config);
    CHECK(folder.shell("cmp a.s b.s && cmp a.hsaco b.hsaco").code == 0);
    const Ran ran = folder.wavejit("run " + c.problem + "--config '" + text + "' --json");
    INFO(ran.out << ran.err);
    CHECK(ran.code == 0);
    CHECK(ran.json().at("config").at("canonical") == text);
    const Ran chosen =
        folder.wavejit("emit " + c.problem + "--config '" + text + "' --explain-choice -o c.s");
    CHECK(chosen.code == 0);
    CHECK_THAT(chosen.err, Catch::Contains(c.path));
  }
}

TEST_CASE("a text makes another kernel than the choice", "[cli][config]") {
  const Folder folder;
  const std::string text = "skinny 1x2 waves 2 depth 2 unroll 1 occupancy 0 techniques 11111";
  const auto j = folder.wavejit("emit " + rdna + "--m 1 --json --config '" + text + "'").json();
  CHECK(j.at("config").at("waves") == 2);
  CHECK(j.at("config").at("depth") == 2);
  // Of kquant the text says how many rows there are.
  const auto k = folder
                     .wavejit(
                         "run --op kquant --type q4_k --n 40 --k 1024 --json --config "
                         "'gemv tokens 3 rows 2 depth 0 occupancy 0'")
                     .json();
  CHECK(k.at("m") == 3);
  CHECK(k.at("config").at("rows") == 2);
  // A list of problems takes it like any flag.
  write_text(folder.file("shapes.json"),
             R"([{"n": 64, "k": 256, "group": 32, "m": [1, 4], "config": ")" + text + R"("}])");
  const Ran bundle = folder.wavejit("bundle shapes.json --arch gfx1151 -o m.wjb --json");
  INFO(bundle.err);
  REQUIRE(bundle.code == 0);
  CHECK(bundle.json().at("kernels").size() == 1);
  CHECK(bundle.json().at("kernels")[0].at("config") == text);
}

TEST_CASE("a text that is none, or does not fit, is refused by what is wrong", "[cli][config]") {
  struct Bad {
    std::string flags, text;
    const char* says;
  };
  const std::string skinny = "skinny 1x2 waves 2 depth 2 unroll 1 occupancy 0 techniques 11111";
  const std::string tile = "tile 64x64x32 waves 2x2 depth 1 unroll 1 lds 2 occupancy 0 wgp techniques 11111";
  const std::string gemv = "gemv tokens 1 rows 2 depth 1 occupancy 0";
  const std::string mfma =
      "mfma 32x64x64 waves 1x2 depth 1 unroll 1 lds 1 occupancy 0 split 1 techniques 11111";
  const std::string cdna = "--op int4_gemm --target gfx942 --n 64 --k 256 --group 64 --m 20 ";
  const std::string kquant = "--op kquant --type q4_k --n 8 --k 256 ";
  for (const Bad& bad :
       {Bad{rdna, "fast", "canonical text"},
        {rdna, tile + " ", "canonical text"},
        {rdna, mfma, "path is mfma"},
        {rdna, gemv, "path is gemv"},
        {cdna, tile, "path is tile, but must be mfma"},
        {cdna, skinny, "path is skinny, but must be mfma"},
        {kquant, tile, "path is tile, but must be gemv"},
        {kquant, mfma, "path is mfma, but must be gemv"},
        {"--n 64 --k 256 --group 16 ", tile, "group"},
        {cdna, "mfma 32x64x128 waves 1x2 depth 1 unroll 1 lds 1 occupancy 0 split 1 techniques 11111",
         "divisor of the group"},
        {rdna + "--tile 64,64,32 ", tile, "--tile"},
        {rdna + "--depth 1 ", tile, "--depth"},
        {rdna + "--without banks ", tile, "--without"},
        {rdna + "--cu-mode ", tile, "--cu-mode"}}) {
    const Folder folder;
    const Ran ran = folder.wavejit("emit --json " + bad.flags + "--config '" + bad.text + "'");
    CAPTURE(bad.flags, bad.text, ran.err);
    CHECK(ran.code == 2);
    if (std::string_view(bad.says) != "group") CHECK(ran.json().at("error").at("field") == "config");
    CHECK_THAT(ran.err, Catch::Contains(bad.says));
  }
}

TEST_CASE("a switch that the chosen path does not have is refused", "[cli][config]") {
  const Folder folder;
  // One row: a skinny kernel, which has no LDS buffers, split or mode.
  REQUIRE(folder.wavejit("emit " + rdna + "--m 1 --json").json().at("config").at("path") == "skinny");
  for (const std::string flag :
       {"--lds-buffers 1", "--waves-n 2", "--cu-mode", "--split-k 2", "--wave-rows 2"}) {
    const Ran ran = folder.wavejit("emit " + rdna + "--m 1 --json " + flag);
    CAPTURE(flag, ran.err);
    CHECK(ran.code == 2);
    CHECK_THAT(ran.err, Catch::Contains("skinny") && Catch::Contains(flag.substr(0, flag.find(' '))));
  }
  CHECK(folder.wavejit("emit " + rdna + "--m 1 --waves 2 --depth 2 --without banks -o F.s").code == 0);
}
