// SPDX-License-Identifier: MIT
// `wavejit run`: problems, emitted files, edited files; verdicts and exit codes.
#include <catch2/catch.hpp>
#include <string>

#include "tests/tools/cli.hpp"

using namespace wavejit::test;

namespace {

const std::string small = "--n 72 --k 256 --group 32 --m 41 --tile 32,32,32 --waves 2 ";

}  // namespace

TEST_CASE("a problem runs whole and is right", "[cli]") {
  const Folder folder;
  const Ran ran = folder.wavejit("run " + small + "--whole --json");
  INFO(ran.out << ran.err);
  REQUIRE(ran.code == 0);
  const auto j = ran.json();
  CHECK(j.at("ok") == true);
  CHECK(j.at("workgroups") == 6);  // 2 x 3 tiles
  CHECK(j.at("distinct_faults") == 0);
  CHECK(j.at("oracle").at("elements") == 41 * 72);
  CHECK(j.at("oracle").at("one_minus_cosine").get<double>() < 1e-5);
  CHECK(j.at("oracle").at("one_minus_cosine").get<double>() > 0);
}

TEST_CASE("a sample runs as many workgroups as asked, and the text says the verdict", "[cli]") {
  const Folder folder;
  const auto j = folder.wavejit("run " + small + "--sample 3 --json").json();
  CHECK(j.at("workgroups") == 3);
  CHECK(j.at("workgroups_in_all") == 6);
  const Ran text = folder.wavejit("run " + small + "--sample 3");
  CHECK(text.code == 0);
  CHECK(text.out.find("verdict: right") != std::string::npos);
  CHECK(text.err.empty());  // no progress bar where nobody watches
}

TEST_CASE("emitted files run in the generated kernel's place", "[cli]") {
  const Folder folder;
  REQUIRE(folder.wavejit("emit " + small + "-o F.s --object F.hsaco").code == 0);
  CHECK(folder.wavejit("run F.s " + small + "--whole").code == 0);
  CHECK(folder.wavejit("run F.hsaco " + small + "--whole").code == 0);
  REQUIRE(folder.wavejit("emit " + small + "--without banks --without dequant -o G.s").code == 0);
  CHECK(folder.wavejit("run " + small + "--whole --without dequant --without banks G.s").code == 0);
}

TEST_CASE("an edited file runs: a harmless edit is right, a harmful one is wrong", "[cli]") {
  const Folder folder;
  REQUIRE(folder.wavejit("emit " + small + "-o F.s").code == 0);
  const std::string text = read_text(folder.file("F.s"));
  const std::size_t at = text.find("s_waitcnt");
  REQUIRE(at != std::string::npos);
  write_text(folder.file("harmless.s"), std::string(text).insert(at, "s_nop 0\n\t"));
  CHECK(folder.wavejit("run harmless.s " + small + "--whole").code == 0);

  const std::size_t wmma = text.find("v_wmma_f32");
  REQUIRE(wmma != std::string::npos);
  write_text(folder.file("harmful.s"), std::string(text).insert(wmma, "s_nop 0 ; "));
  const Ran wrong = folder.wavejit("run harmful.s " + small + "--whole --json");
  CHECK(wrong.code == 1);
  CHECK(wrong.json().at("ok") == false);
  CHECK(folder.wavejit("run harmful.s " + small + "--whole").out.find("verdict: WRONG") != std::string::npos);
}

TEST_CASE("a file of another launch, a broken one and a missing one are refused", "[cli]") {
  const Folder folder;
  REQUIRE(folder.wavejit("emit " + small + "-o F.s").code == 0);
  const Ran other = folder.wavejit("run F.s --n 72 --k 256 --group 32 --m 41 --tile 64,64,32 --waves 4");
  CHECK(other.code == 2);
  CHECK(other.err.find("workgroup size") != std::string::npos);
  write_text(folder.file("broken.s"), "\tv_fly v0, v1\n");
  const Ran broken = folder.wavejit("run broken.s " + small);
  CHECK(broken.code == 2);
  CHECK(broken.err.find("broken.s:1:") != std::string::npos);
  write_text(folder.file("broken.hsaco"), "not an ELF");
  CHECK(folder.wavejit("run broken.hsaco " + small).code == 2);
  const Ran missing = folder.wavejit("run nowhere.s " + small);
  CHECK(missing.code == 2);
  CHECK(missing.err.find("nowhere.s") != std::string::npos);
}

TEST_CASE("a layer of a checkpoint runs by name", "[cli][checkpoint]") {
  // A symmetric AWQ layer of N = 16, K = 64, G = 32: weights all zero bytes (-8), scales 1.0 in f16.
  const Folder folder;
  std::string header = R"({"l.qweight":{"dtype":"I32","shape":[64,2],"data_offsets":[0,512]},)"
                       R"("l.scales":{"dtype":"F16","shape":[2,16],"data_offsets":[512,576]}})";
  std::string file;
  for (unsigned i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  file += header + std::string(512, '\0');
  for (int i = 0; i < 32; ++i) file += std::string("\0\x3C", 2);
  write_text(folder.file("model.safetensors"), file);
  const Ran ran = folder.wavejit("run --checkpoint . --layer l --m 5 --whole --json");
  INFO(ran.out << ran.err);
  REQUIRE(ran.code == 0);
  const auto j = ran.json();
  CHECK(j.at("ok") == true);
  CHECK(j.at("checkpoint").at("format") == "awq");
  CHECK(j.at("problem").at("n") == 16);
  CHECK(j.at("oracle").at("elements") == 5 * 16);
  const Ran text = folder.wavejit("run --checkpoint . --layer l --format auto --act bf16 --m 5");
  CHECK(text.code == 0);
  CHECK(text.out.find("l: awq (by qweight's shape [K, N/8]), N = 16, K = 64, groups of 32, symmetric") !=
        std::string::npos);

  const auto refused = [&](const std::string& arguments, const std::string& what) {
    const Ran r = folder.wavejit("run " + arguments);
    CHECK(r.code == 2);
    INFO(r.err);
    CHECK(r.err.find(what) != std::string::npos);
  };
  refused("--checkpoint . --layer m", "such as l");
  refused("--checkpoint .", "layer is absent");
  refused("--checkpoint . --layer l --format gguf", "compressed-tensors");
  refused("--checkpoint . --layer l --n 16", "the layer says all that");
  refused("--layer l --n 16 --k 64", "checkpoint is absent");
  write_text(folder.file("model.safetensors"), file.substr(0, 600));
  refused("--checkpoint . --layer l", "model.safetensors: tensor");
}
