// SPDX-License-Identifier: MIT
// BF16 x INT4 products through the command: emit, run, explain, verify, bundle; refusals.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/tools/cli.hpp"

using namespace wavejit::test;

namespace {

const std::string gemm = "--op int4_gemm --target gfx942 --n 72 --k 256 --group 64 ";
const std::string grouped = "--op int4_grouped --target gfx942 --n 72 --k 256 --group 64 ";

}  // namespace

TEST_CASE("emit describes int4 products and their tensors", "[cli][int4]") {
  const Folder folder;
  const Ran ran = folder.wavejit("emit " + gemm + "--batch 3 --zeros --scale-type f32 --m 5 -o F.s --json");
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const auto j = ran.json();
  const auto& p = j.at("problem");
  CHECK(p.at("op") == "int4_gemm");
  CHECK(p.at("batch") == 3);
  CHECK(p.at("groups") == 0);
  CHECK(p.at("scale_type") == "f32");
  CHECK(p.at("zero_points") == "additive");
  CHECK(p.at("weight_layout") == "row_major_signed");
  CHECK(j.at("config").at("path") == "decode");
  CHECK(j.at("config").at("split_k") == 1);
  CHECK(j.at("block")[0].get<int>() % 64 == 0);
  // Shapes by hand from docs/kernels/cdna.md: three products of five rows, K / 8 words, K / group = 4 rows of
  // scales each.
  const std::vector<std::pair<const char*, nlohmann::json>> shapes{{"activations", {15, 256}},
                                                                   {"weights", {216, 32}},
                                                                   {"scales", {12, 72}},
                                                                   {"zero_points", {12, 72}},
                                                                   {"output", {15, 72}}};
  REQUIRE(j.at("args").size() == shapes.size() + 1);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    CHECK(j.at("args")[i].at("name") == shapes[i].first);
    CHECK(j.at("args")[i].at("shape") == shapes[i].second);
  }
  CHECK(j.at("args")[2].at("dtype") == "f32");
  // The first line of the file is the problem's canonical text, the second the Config's.
  const std::string text = read_text(folder.file("F.s"));
  CHECK(text.starts_with("; " + p.at("canonical").get<std::string>() + "\n; " +
                         j.at("config").at("canonical").get<std::string>() + "\n"));
  CHECK(folder.wavejit("verify F.s --target gfx942").code == 0);
}

TEST_CASE("emit of w4a16 says its layout and that scales have the activations' type", "[cli][int4]") {
  const Folder folder;
  const auto p =
      folder.wavejit("emit --n 64 --k 128 --group 32 --m 16 --act f16 --json").json().at("problem");
  CHECK(p.at("weight_layout") == "exllama");
  CHECK(p.at("scale_type") == "f16");
  CHECK(p.at("batch") == 1);
}

TEST_CASE("steps of an unrolled MFMA loop are counted", "[cli][int4]") {
  struct Case {
    const char* flags;
    int steps;
  };
  const Folder folder;
  const std::string wide =
      "emit --op int4_gemm --target gfx942 --n 72 --k 1024 --group 64 --m 40 --json --tile 32,64,64 --waves "
      "2 ";
  // A step of 32x64x64 in two waves: 32 * 64 * 64 / (32 * 32 * 8) / 2 = 8 instructions of a wave. A body does
  // a step for each of its LDS buffers.
  for (const Case& c : {Case{"--lds-buffers 1", 1}, Case{"--lds-buffers 1 --unroll 2", 2}, Case{"", 2}}) {
    const Ran ran = folder.wavejit(wide + c.flags);
    CAPTURE(c.flags, ran.err);
    REQUIRE(ran.code == 0);
    const auto loop = ran.json().at("loop");
    CHECK(loop.at("iterations_per_pass") == c.steps);
    CHECK(loop.at("mix_per_pass").at("matrix") == 8 * c.steps);
  }
}

TEST_CASE("run judges int4 products of every kind", "[cli][int4]") {
  const Folder folder;
  for (const std::string& flags :
       {gemm + "--m 20", gemm + "--m 5 --zeros --scale-type f16",
        gemm + "--m 3 --batch 2 --act f16 --scale-type f32",
        std::string("--op int4_gemm --target gfx950 --n 40 --k 512 --group 128 --m 17 --zeros"),
        grouped + "--group-rows 3,0,5", grouped + "--groups 3 --m 20 --zeros",
        std::string("--op w4a16 --target gfx942 --n 72 --k 256 --group 64 --m 20")}) {
    const Ran ran = folder.wavejit("run " + flags + " --whole --json");
    CAPTURE(flags, ran.out, ran.err);
    REQUIRE(ran.code == 0);
    CHECK(ran.json().at("ok") == true);
  }
}

TEST_CASE("run takes the sizes of groups, or shares the rows evenly", "[cli][int4]") {
  const Folder folder;
  const auto typed = folder.wavejit("run " + grouped + "--group-rows 3,0,5 --whole --json").json();
  CHECK(typed.at("m") == 8);
  CHECK(typed.at("problem").at("groups") == 3);
  CHECK(typed.at("oracle").at("elements") == 8 * 72);
  // Rows that belong to no group are computed by nobody.
  const auto fewer = folder.wavejit("run " + grouped + "--group-rows 3,0,5 --m 11 --whole --json").json();
  CHECK(fewer.at("ok") == true);
  CHECK(fewer.at("oracle").at("elements") == 8 * 72);
  const auto even = folder.wavejit("run " + grouped + "--groups 3 --m 8 --whole --json").json();
  CHECK(even.at("ok") == true);
  CHECK(even.at("oracle").at("elements") == 8 * 72);
}

TEST_CASE("split-K runs both kernels over one workspace", "[cli][int4]") {
  const Folder folder;
  const std::string split = gemm + "--m 20 --tile 32,64,64 --waves 2 --split-k 2 ";
  const Ran ran = folder.wavejit("run " + split + "--json");
  INFO(ran.out << ran.err);
  REQUIRE(ran.code == 0);
  const auto j = ran.json();
  CHECK(j.at("ok") == true);
  CHECK(j.at("config").at("split_k") == 2);
  REQUIRE(j.at("stages").size() == 2);
  CHECK(j.at("workgroups") == j.at("workgroups_in_all"));  // several kernels run whole
  CHECK(j.at("wave_instructions").get<long>() == j.at("stages")[0].at("wave_instructions").get<long>() +
                                                     j.at("stages")[1].at("wave_instructions").get<long>());
  CHECK(j.at("oracle").at("elements") == 20 * 72);
  const Ran text = folder.wavejit("run " + split);
  CHECK_THAT(text.out, Catch::Contains("stage 1: ") && Catch::Contains("verdict: right"));
  const Ran sample = folder.wavejit("run " + split + "--sample 1 --json");
  CHECK(sample.code == 2);
  CHECK(sample.json().at("error").at("field") == "sample");

  // "The kernel" of such a Config is the one that multiplies.
  CHECK(folder.wavejit("emit " + split + "--json").json().at("stage") == 0);
  const auto second = folder.wavejit("emit " + split + "--stage 1 --json").json();
  CHECK(second.at("args").at(0).at("name") == "workspace");
}

TEST_CASE("an edited stage runs in its place, by what its header says", "[cli][int4]") {
  const Folder folder;
  const std::string split = gemm + "--m 20 --tile 32,64,64 --waves 2 --split-k 2 ";
  REQUIRE(folder.wavejit("emit " + split + "-o product.s").code == 0);
  REQUIRE(folder.wavejit("emit " + split + "--stage 1 -o sum.s").code == 0);
  for (const std::string file : {"product.s", "sum.s"}) {
    CAPTURE(file);
    const Ran named = folder.wavejit("run " + file + " " + split);
    CHECK(named.code == 0);
    const Ran own = folder.wavejit("run " + file + " --target gfx942 --m 20 --json");
    INFO(own.out << own.err);
    REQUIRE(own.code == 0);
    CHECK(own.json().at("config").at("split_k") == 2);
  }
  // A sum that forgets a slice: its first addition is gone.
  std::string text = read_text(folder.file("sum.s"));
  const std::size_t add = text.find("v_add_f32");
  const std::size_t pk = text.find("v_pk_add_f32");
  const std::size_t at = std::min(add, pk);
  REQUIRE(at != std::string::npos);
  text.insert(at, "s_nop 0 ; ");
  write_text(folder.file("harmful.s"), text);
  const Ran wrong = folder.wavejit("run harmful.s --target gfx942 --m 20 --json");
  INFO(wrong.out << wrong.err);
  CHECK(wrong.code == 1);
  CHECK(wrong.json().at("ok") == false);

  REQUIRE(folder.wavejit("emit " + grouped + "--groups 3 --m 8 -o grouped.s").code == 0);
  const Ran sizes = folder.wavejit("run grouped.s --target gfx942 --group-rows 4,1,3 --json");
  INFO(sizes.out << sizes.err);
  CHECK(sizes.code == 0);
  CHECK(sizes.json().at("m") == 8);
  // With flags the header says nothing: they must say all.
  CHECK(folder.wavejit("run product.s --target gfx942 --m 20 --op int4_gemm").code == 2);
}

TEST_CASE("explain speaks of int4 products", "[cli][int4][explain]") {
  const Folder folder;
  const std::string wide =
      "--op int4_gemm --target gfx942 --n 128 --k 1024 --group 64 --m 40 --tile 32,64,64 --waves 2 "
      "--lds-buffers 1 ";
  const Ran ran = folder.wavejit("explain " + wide + "--batch 2 --zeros --scale-type f32 --json");
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const auto j = ran.json();
  CHECK(j.at("wave_size") == 64);
  CHECK(j.at("waves") == 2);
  CHECK(j.at("loop").at("matrix") == 8);                // as above
  CHECK(j.at("launch").at("workgroups") == 2 * 2 * 2);  // batches, rows of tiles, columns
  CHECK(j.at("launch").at("wasted_rows").get<double>() == Approx(24.0 / 64));
  // Each tensor once: activations, nibbles, scales and zeros of 16 groups in f32, output; two products.
  const double once = 2.0 * (40 * 1024 * 2 + 128 * 512 + 2 * 16 * 128 * 4 + 40 * 128 * 2);
  CHECK(j.at("launch").at("bytes").at("each_tensor_once").get<double>() == once);
  const double flop =
      j.at("launch").at("tflops").get<double>() * j.at("launch").at("time_us").get<double>() * 1e6;
  CHECK(flop == Approx(2.0 * 2 * 40 * 128 * 1024));
  const Ran text = folder.wavejit("explain " + wide);
  CHECK_THAT(text.out, Catch::Contains("waves of 64 lanes on a CU") && !Catch::Contains("WGP"));

  // Of two kernels the one that multiplies, and the text says so; a file is the stage that it is.
  const Ran split = folder.wavejit("explain " + wide + "--split-k 2 --json");
  REQUIRE(split.code == 0);
  CHECK(split.json().at("loop").at("matrix") == 8);
  CHECK_THAT(split.json().at("about").get<std::string>(), Catch::Contains("only number 1"));
  REQUIRE(folder.wavejit("emit " + wide + "--batch 2 --zeros --scale-type f32 -o F.s").code == 0);
  const Ran file = folder.wavejit("explain F.s --target gfx942 --m 40 --json");
  INFO(file.err);
  REQUIRE(file.code == 0);
  for (const char* same : {"loop", "launch", "occupancy"}) CHECK(file.json().at(same) == j.at(same));
}

TEST_CASE("emit and explain agree whether a product can be served", "[cli][int4][explain]") {
  // Rows of all products together are a 31-bit number; no K gives zeros.
  const std::string many = "--op int4_gemm --target gfx942 --n 256 --k 128 --batch 116896 ";
  for (const auto& [flags, served] :
       {std::pair{many + "--m 1048576", false},
        {many + "--m 16", true},
        {std::string("--op int4_gemm --target gfx942 --n 40 --k 0 --m 3"), true},
        {grouped.substr(0, grouped.find("--k")) + "--k 0 --m 3 --groups 2", true},
        {std::string("--n 40 --k 0 --m 3"), false}}) {
    const Folder folder;
    const Ran emitted = folder.wavejit("emit --json -o k.s " + flags);
    const Ran explained = folder.wavejit("explain --json " + flags);
    CAPTURE(flags, emitted.err, explained.err);
    CHECK((emitted.code == 0) == served);
    CHECK(explained.code == emitted.code);
    CHECK(explained.err == emitted.err);
  }
}

TEST_CASE("explain shares the rows of a grouped product evenly", "[cli][int4][explain]") {
  const Folder folder;
  const auto moved = [&](const std::string& flags) {
    const Ran ran = folder.wavejit(
        "explain --op int4_grouped --target gfx950 --n 128 --k 1024 --group 128 --json "
        "--tile 64,64,64 --waves 2 " +
        flags);
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    std::vector<double> list;
    const auto j = ran.json();
    for (const auto& a : j.at("accesses")) list.push_back(a.at("bytes_moved").get<double>());
    return list;
  };
  // Sixteen rows of a tile of 64 either way; one group of 64 rows loads more.
  CHECK(moved("--groups 4 --m 64") == moved("--groups 1 --m 16"));
  CHECK(moved("--groups 4 --m 64") != moved("--groups 1 --m 64"));
  // Of 33 rows five groups have 7, 7, 7, 6, 6: one tile of 16x128 each. The grid has room for
  // worse sizes.
  const auto j = folder
                     .wavejit(
                         "explain --op int4_grouped --target gfx950 --n 128 --k 1024 --group 128 --json "
                         "--tile 16,128,128 --waves 4 --groups 5 --m 33")
                     .json();
  CHECK(j.at("launch").at("workgroups") == 5);
}

TEST_CASE("explain counts the work of matrix instructions by their shape", "[cli][int4][explain]") {
  const Folder folder;
  const Ran emitted = folder.wavejit(
      "emit --op int4_gemm --target gfx942 --n 128 --k 1024 --group 64 --m 40 "
      "--tile 32,64,64 --waves 2 --object k.hsaco --json");
  REQUIRE(emitted.code == 0);
  const auto kernel = emitted.json();
  nlohmann::json launch = {{"grid", kernel.at("grid")},
                           {"block", kernel.at("block")},
                           {"dynamic_lds_bytes", kernel.at("dynamic_lds_bytes")},
                           {"args", nlohmann::json::array()}};
  for (const auto& a : kernel.at("args"))
    launch["args"].push_back(a.at("kind") == "buffer" ? nlohmann::json{{"bytes", a.at("bytes")}, {"fill", 0}}
                                                      : nlohmann::json{{"value", a.at("value")}});
  write_text(folder.file("args.json"), launch.dump());
  const Ran ran = folder.wavejit("explain k.hsaco --args args.json --json");
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const auto said = ran.json().at("launch");
  // Two rows of tiles of 32 over 40 rows: all their work counts, as nobody said what is useful.
  CHECK(said.at("tflops").get<double>() * said.at("time_us").get<double>() * 1e6 ==
        Approx(2.0 * 64 * 128 * 1024));
}

TEST_CASE("the choice on CDNA is explained by counts", "[cli][int4]") {
  const Folder folder;
  for (const char* op : {"int4_gemm", "w4a16"}) {
    const Ran ran = folder.wavejit(std::string("emit --target gfx942 --n 4096 --k 4096 --m 300 --op ") + op +
                                   " --explain-choice -o F.s");
    CAPTURE(op, ran.err);
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.err, Catch::Contains("choice: mfma") && Catch::Contains("<- chosen") &&
                            Catch::Contains("at 512 rows") && !Catch::Contains("WGP"));
  }
  // Few rows: the choice is a decode kernel, in the same list as the tiles and in front of it.
  const Ran few =
      folder.wavejit("emit --target gfx950 --n 4096 --k 4096 --m 3 --op int4_gemm --explain-choice -o F.s");
  REQUIRE(few.code == 0);
  CHECK_THAT(few.err, Catch::Contains("choice: decode") && Catch::Contains("at 4 rows"));
  const std::size_t first = few.err.find("   1. ");
  REQUIRE(first != std::string::npos);
  const std::string line = few.err.substr(first, few.err.find('\n', first) - first);
  CHECK_THAT(line, Catch::Contains("decode") && Catch::EndsWith("<- chosen"));
}

TEST_CASE("a list of int4 problems makes a bundle", "[cli][int4]") {
  const Folder folder;
  write_text(
      folder.file("shapes.json"),
      R"([{"op": "int4_gemm", "n": 72, "k": 256, "group": 64, "batch": 2, "zeros": true, "m": 16},)"
      R"( {"op": "int4_grouped", "n": 72, "k": 256, "group": 64, "groups": 3, "scale_type": "f32", "m": 16}])");
  const Ran ran = folder.wavejit("bundle shapes.json --arch gfx942:sramecc+:xnack- -o m.wjb --json");
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  CHECK(ran.json().at("kernels").size() == 2);
}

TEST_CASE("bad requests for int4 products name field and value", "[cli][int4]") {
  struct Bad {
    std::string flags;
    const char* field;
    const char* says;
  };
  const std::string w4a16 = "--n 64 --k 128 --group 32 --m 16 ";
  const std::string kquant = "--op kquant --type q4_k --n 8 --k 256 ";
  for (const Bad& bad : {Bad{"--op int4_gemm --n 64 --k 128 --group 64", "target", "MFMA"},
                         {gemm + "--type q4_k", "type", "kquant"},
                         {gemm + "--zero-points", "zero_points", "--zeros"},
                         {gemm + "--bias", "bias", "none"},
                         {gemm + "--groups 3", "groups", "int4_grouped"},
                         {gemm + "--batch 0", "batch", "at least 1"},
                         {gemm + "--scale-type i8", "scale_type", "f32"},
                         {gemm + "--act f32", "act", "bf16 or f16"},
                         {gemm + "--cu-mode", "cu_mode", "mfma"},
                         {gemm + "--wave-rows 2", "rows", "mfma"},
                         {gemm + "--split-k 17", "split_k", "16"},
                         {gemm + "--zero-point-stride 80", "zero_point_stride", "80"},
                         {grouped, "groups", "missing"},
                         {grouped + "--groups 2 --batch 2", "batch", "int4_gemm"},
                         {grouped + "--groups 2 --split-k 2", "split_k", "grouped products are not split"},
                         {w4a16 + "--zeros", "zeros", "--zero-points"},
                         {w4a16 + "--scale-type f32", "scale_type", "activations' type"},
                         {w4a16 + "--batch 2", "batch", "int4_gemm"},
                         {w4a16 + "--groups 2", "groups", "int4_grouped"},
                         {w4a16 + "--split-k 2", "split_k", "path"},
                         {kquant + "--scale-type f16", "scale_type", "GGUF"},
                         {kquant + "--zeros", "zeros", "int4_gemm"},
                         // Given is given, its default, too.
                         {kquant + "--group 128", "group", "left out"},
                         {kquant + "--rounding fastest", "rounding", "left out"},
                         {kquant + "--scale-stride 8", "scale_stride", "left out"},
                         {kquant + "--zero-points", "zero_points", "left out"},
                         {kquant + "--zero-point-stride 8", "zero_point_stride", "left out"},
                         {kquant + "--bias", "bias", "none"},
                         {kquant + "--batch 1", "batch", "int4_gemm"},
                         {kquant + "--groups 0", "groups", "int4_grouped"},
                         {w4a16 + "--batch 0", "batch", "int4_gemm"},
                         {w4a16 + "--type q4_k", "type", "kquant"},
                         {w4a16 + "--zero-point-stride 4", "zero_point_stride", "packed zero points"}}) {
    const Folder folder;
    const Ran ran = folder.wavejit("emit --json " + bad.flags);
    CAPTURE(bad.flags, ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.json().at("error").at("field") == bad.field);
    CHECK_THAT(ran.err, Catch::Contains(bad.says));
  }
}

TEST_CASE("run refuses what it cannot judge, with the reason", "[cli][int4]") {
  struct Bad {
    std::string flags;
    const char* field;
    const char* says;
  };
  const Folder folder;
  REQUIRE(folder.wavejit("emit --op kquant --type q4_k --n 8 --k 256 -o k.s").code == 0);
  for (const Bad& bad : {Bad{grouped + "--groups 2 --group-rows 1,2,3", "group_rows", "2 groups"},
                         {grouped + "--group-rows 1,2,3 --m 5", "group_rows", "5 rows"},
                         {grouped + "--group-rows=-1,2", "group_rows", "at least 0"},
                         {gemm + "--group-rows 1,2", "group_rows", "int4_grouped"},
                         {grouped + "--groups 0 --m 4", "groups", "at least 1"},
                         {"k.s", "file", "generates them itself"},
                         {"k.s --op kquant --type q4_k --n 8 --k 256", "file", "generates them itself"},
                         {"--checkpoint . --layer l --op int4_gemm", "op", "w4a16"}}) {
    const Ran ran = folder.wavejit("run --json " + bad.flags);
    CAPTURE(bad.flags, ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.json().at("error").at("field") == bad.field);
    CHECK_THAT(ran.err, Catch::Contains(bad.says));
  }
  const std::string tune = "tune --device sim --database d.json ";
  const Ran kquant = folder.wavejit(tune + "--op kquant --type q4_k --n 8 --k 256");
  CHECK(kquant.code == 2);
  CHECK_THAT(kquant.err, Catch::Contains("kquant") && Catch::Contains("int4_grouped"));
  const Ran none = folder.wavejit(tune + grouped + "--groups 0");
  CHECK(none.code == 2);
  CHECK_THAT(none.err, Catch::Contains("groups") && Catch::Contains("nothing to time"));
  const Ran empty = folder.wavejit(tune + "--op int4_gemm --target gfx942 --n 72 --k 0 --group 64");
  CHECK(empty.code == 2);
  CHECK_THAT(empty.err, Catch::Contains("k is 0") && Catch::Contains("nothing to time"));
}
