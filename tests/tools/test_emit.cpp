// SPDX-License-Identifier: MIT
// `wavejit emit`: the contract of issue 2 (flags, files, JSON fields), reproducible bytes, stock tools.
#include <catch2/catch.hpp>
#include <string>

#include "generator/lower/lower.hpp"
#include "tests/skip.hpp"
#include "tests/tools/cli.hpp"

using namespace wavejit::test;

namespace {

const std::string gate_up =
    "emit --op w4a16 --target gfx1151 --act bf16 --n 19456 --k 2560 --group 32 --m 1322 ";

}  // namespace

TEST_CASE("emit describes the kernel as JSON", "[cli]") {
  const Folder folder;
  const Ran ran = folder.wavejit(gate_up + "--tile 128,64,32 --waves 8 -o F.s --object F.hsaco --json");
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  CHECK(folder.names() == std::vector<std::string>{"F.hsaco", "F.s"});
  const auto j = ran.json();
  CHECK(j.at("target") == "gfx1151");
  CHECK(read_text(folder.file("F.s")).find(j.at("kernel").get<std::string>() + ":") != std::string::npos);
  CHECK(j.at("config").at("tile") == nlohmann::json{128, 64, 32});
  CHECK(j.at("config").at("waves") == 8);
  // 1322 rows are 10 tiles of 128 and a tail; 19456 columns are 304 tiles of 64.
  CHECK(j.at("grid") == nlohmann::json{11, 304, 1});
  CHECK(j.at("block") == nlohmann::json{256, 1, 1});
  CHECK(j.at("lds_bytes").get<int>() > 0);
  CHECK(j.at("vgprs").get<int>() > 64);
  CHECK(j.at("sgprs").get<int>() > 0);
  CHECK(j.at("waves_per_simd").get<double>() > 0);
  for (const char* time : {"generate_ms", "assemble_ms", "link_ms"})
    CHECK(j.at("times").at(time).get<double>() > 0);
  CHECK(j.at("loop").at("mix_per_pass").at("matrix").get<int>() >= 8);
  CHECK(j.at("loop").at("bank_conflicts").at("matrix") == 0);
}

TEST_CASE("emit lists the arguments in kernarg order", "[cli]") {
  const Folder folder;
  const Ran ran = folder.wavejit(gate_up + "--tile 128,64,32 --waves 8 --json");
  REQUIRE(ran.code == 0);
  const auto args = ran.json().at("args");
  REQUIRE(args.size() == 5);
  const char* names[] = {"activations", "weights", "scales", "output", "m"};
  const char* types[] = {"bf16", "i32", "bf16", "bf16", "i32"};  // m: 4 bytes, docs/kernels/w4a16.md
  const nlohmann::json shapes[] = {{1322, 2560}, {19456, 320}, {19456, 80}, {1322, 19456}};
  const nlohmann::json strides[] = {{5120, 2}, {1280, 4}, {160, 2}, {38912, 2}};
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(args[i].at("name") == names[i]);
    CHECK(args[i].at("offset").get<std::uint64_t>() >= end);
    end = args[i].at("offset").get<std::uint64_t>() + args[i].at("size").get<std::uint64_t>();
    CHECK(args[i].at("access") == (std::string(names[i]) == "output" ? "write" : "read"));
    CHECK(args[i].at("kind") == (i < 4 ? "buffer" : "scalar"));
    CHECK(args[i].at("dtype") == types[i]);
    if (i == 4) continue;
    CHECK(args[i].at("shape") == shapes[i]);
    CHECK(args[i].at("strides") == strides[i]);
  }
  CHECK(args[4].at("value") == 1322);
}

TEST_CASE("named shapes are the model's sizes", "[cli]") {
  struct Shape {
    const char* name;
    int n, k;
  };
  const Folder folder;
  for (const Shape& s : {Shape{"gate_up", 19456, 2560}, Shape{"qkv", 6144, 2560}, Shape{"o_proj", 4096, 2560},
                         Shape{"o_proj_t", 2560, 4096}, Shape{"down", 2560, 9728}}) {
    const auto problem = folder.wavejit(std::string("emit --json --shape ") + s.name).json().at("problem");
    CHECK(problem.at("n") == s.n);
    CHECK(problem.at("k") == s.k);
    CHECK(problem.at("group") == 32);
  }
}

TEST_CASE("two emits write identical bytes", "[cli]") {
  const Folder folder;
  REQUIRE(folder.wavejit(gate_up + "-o a.s --object a.hsaco").code == 0);
  REQUIRE(folder.wavejit(gate_up + "-o b.s --object b.hsaco").code == 0);
  CHECK(folder.shell("cmp a.s b.s && cmp a.hsaco b.hsaco").code == 0);
  CHECK(read_text(folder.file("a.hsaco")).size() > 1000);
}

TEST_CASE("stock llvm-mc makes the same .text of the emitted assembly", "[cli]") {
  const Folder folder;
  if (folder.shell("command -v llvm-mc-22 llvm-objcopy-22").code != 0)
    skip("llvm-mc-22 or llvm-objcopy-22 is missing");
  for (const char* flags :
       {"--tile 128,64,32 --waves 8", "--tile 128,64,32 --waves 8 --without dequant --without banks",
        "--without descriptors --without scalar-offsets", "--tile 128,64,32 --rounding nearest --depth 2",
        "--act f16 --zero-points --bias"}) {
    CAPTURE(flags);
    std::string problem = gate_up;  // an option may be given once
    if (std::string_view(flags).starts_with("--act")) problem.erase(problem.find("--act bf16 "), 11);
    REQUIRE(folder.wavejit(problem + flags + " -o F.s --object F.hsaco").code == 0);
    const Ran tools = folder.shell(
        "llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=gfx1151 -filetype=obj F.s -o stock.o && "
        "llvm-objcopy-22 -O binary --only-section=.text stock.o stock.text && "
        "llvm-objcopy-22 -O binary --only-section=.text F.hsaco ours.text && cmp stock.text ours.text");
    INFO(tools.out << tools.err);
    CHECK(tools.code == 0);
    CHECK(read_text(folder.file("ours.text")).size() > 1000);
  }
}

TEST_CASE("each --without switches techniques off, one by one", "[cli]") {
  const Folder folder;
  const char* names[] = {"dequant", "pipeline", "descriptors", "banks", "scalar-offsets"};
  for (const std::string off : names) {
    const auto j = folder.wavejit(gate_up + "--tile 128,64,32 --json --without " + off).json();
    for (const std::string name : names) CHECK(j.at("config").at("techniques").at(name) == (name != off));
  }
}

TEST_CASE("the IR can be dumped after one pass or all", "[cli]") {
  const Folder folder;
  const std::string small = "emit --n 64 --k 128 --group 32 --m 64 -o F.s ";
  const Ran one = folder.wavejit(small + "--dump-after assign_registers");
  CHECK(one.code == 0);
  CHECK(one.err.find("after assign_registers") != std::string::npos);
  CHECK(one.err.find("after insert_waits") == std::string::npos);
  CHECK(one.err.find("v_wmma") != std::string::npos);
  const Ran all = folder.wavejit(small + "--dump-after=all --dump-to dump.ir");
  CHECK(all.code == 0);
  const std::string text = read_text(folder.file("dump.ir"));
  CHECK(text.find("after assign_registers") < text.find("after insert_waits"));
  CHECK(text.find("after insert_waits") != std::string::npos);
  REQUIRE(folder.shell("mkdir dumps").code == 0);
  CHECK(folder.wavejit(small + "--dump-after=all --dump-to dumps").code == 0);
  // One file per pass, numbered in the order of the passes.
  const Ran list = folder.shell("ls dumps");
  CHECK(list.out.find("00-") == 0);
  CHECK(list.out.find("assign_registers.ir") < list.out.find("insert_waits.ir"));
}

TEST_CASE("without a file name the assembly goes to stdout", "[cli]") {
  const Folder folder;
  const Ran ran = folder.wavejit("emit --n 64 --k 128 --group 32 --m 16");
  CHECK(ran.code == 0);
  CHECK(ran.out.find("s_endpgm") != std::string::npos);
  const auto object = wavejit::lower::assemble(ran.out, *wavejit::target::find("gfx1151"));
  CHECK(object.has_value());
  CHECK(folder.names().empty());
}

TEST_CASE("docs/kernels/w4a16.md's counts beside matrix instructions are those of today's kernels", "[cli]") {
  // A row is "| bf16, packed | 3.25 | (the peer) | 0.82 | 0.72 |"; the head names the tiles.
  const std::string doc = read_text(WAVEJIT_TEST_DATA "/../../docs/kernels/w4a16.md");
  const Folder folder;
  const struct {
    const char* flags;
    std::string head;
    std::size_t column;
  } columns[] = {{"--tile 128,64,32 --waves 8 --m 1322", "{}, 8 waves |", 1},
                 {"--m 1322", "chosen for M = 1322 ({})", 3},
                 {"--m 2048", "for M = 2048 ({})", 4}};
  for (const auto& c : columns) {
    for (const char* row : {"bf16, symmetric", "bf16, packed", "f16, symmetric", "f16, packed"}) {
      CAPTURE(row, c.flags);
      const std::string text(row);
      const Ran ran =
          folder.wavejit("emit --shape gate_up --act " + text.substr(0, text.find(',')) +
                         (text.ends_with("packed") ? " --zero-points " : " ") + c.flags + " -o x.s");
      REQUIRE(ran.code == 0);
      const auto after = [&](std::string_view label, std::string_view end) {
        const std::size_t at = ran.out.find(label) + label.size();
        return ran.out.substr(at, ran.out.find_first_of(end, at) - at);
      };
      std::string head = c.head;
      head.replace(head.find("{}"), 2, after("config: tile ", " "));
      CHECK_THAT(doc, Catch::Contains(head));
      std::size_t at = doc.find("| " + text + " |");
      REQUIRE(at != std::string::npos);
      for (std::size_t i = 0; i < c.column; ++i) at = doc.find('|', at + 1);
      CHECK(doc.substr(at + 2, doc.find(' ', at + 2) - at - 2) ==
            after("other VALU per matrix instruction: ", "\n"));
    }
  }
}

TEST_CASE("info names targets, LLVM and the simulator", "[cli]") {
  const Folder folder;
  const auto j = folder.wavejit("info --json").json();
  CHECK(j.at("llvm") == wavejit::lower::llvm_version());
  CHECK(j.at("devices").at("sim") == true);
  bool found = false;
  for (const auto& t : j.at("targets")) found = found || t.at("name") == "gfx1151";
  CHECK(found);
}
