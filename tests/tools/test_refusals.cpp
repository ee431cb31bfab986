// SPDX-License-Identifier: MIT
// Bad requests on the command line: exit code 2, an error on stderr that names field, value and what is
// allowed, and no file written or touched.
#include <catch2/catch.hpp>
#include <string>

#include "tests/tools/cli.hpp"

using namespace wavejit::test;

namespace {

struct Bad {
  const char* flags;  ///< beside a good base
  const char* field;
  const char* given;
};

constexpr Bad bads[] = {
    {"--n 64 --k 100 --group 32", "k", "100"},
    {"--n 64 --k 96 --group 48", "group", "48"},
    {"--n 0 --k 128 --group 32", "n", "0"},
    {"--n -3 --k 128 --group 32", "n", "-3"},
    {"--n 64 --k 128 --group 32 --m 0", "m", "0"},
    {"--n 64 --k 128 --group 32 --target gfx9", "target", "gfx9"},
    {"--n 64 --k 128 --group 32 --op w8a8", "op", "w8a8"},
    {"--n 64 --k 128 --group 32 --act int8", "act", "int8"},
    {"--n 64 --k 128 --group 32 --rounding up", "rounding", "up"},
    {"--n 64 --k 128 --group 32 --without magic", "without", "magic"},
    {"--n 64 --k 128 --group 32 --tile 128,64,64", "bk", "64"},
    {"--n 64 --k 128 --group 32 --tile 100,64,32", "bm", "100"},
    {"--n 64 --k 128 --group 32 --tile 128,64,32 --waves 3", "waves", "3"},
    {"--n 64 --k 128 --group 32 --tile 128,64,32 --waves 0", "waves", "0"},
    {"--n 64 --k 128 --group 32 --depth 5", "pipeline_depth", "5"},
    {"--n 64 --k 128 --group 32 --lds-buffers 0", "lds_buffers", "0"},
    {"--n 64 --k 128 --group 32 --weight-stride 8", "weight_stride", "8"},
    {"--n 64 --k 512 --group 128 --tile 256,256,128 --waves 8", "lds", "bytes"},
    {"--n 64 --k 128 --group 32 --tile 128,128,32 --waves 4 --waves-per-simd 16", "vgprs", ""},
    {"--n 64 --k 128 --group 32 --dump-after nothing", "dump-after", "nothing"},
    {"--shape mlp", "shape", "mlp"},
    {"--k 128 --group 32", "n", "missing"},
};

}  // namespace

TEST_CASE("a bad request names field and value, and leaves every file alone", "[cli]") {
  for (const Bad& bad : bads) {
    const Folder folder;
    write_text(folder.file("kept.s"), "as it was\n");
    const Ran ran = folder.wavejit(std::string("emit ") + bad.flags + " -o kept.s --object new.hsaco --json");
    CAPTURE(bad.flags, ran.out, ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.err.find(bad.field) != std::string::npos);
    CHECK(ran.err.find(bad.given) != std::string::npos);
    const auto error = ran.json().at("error");
    CHECK(error.at("field") == bad.field);
    CHECK(error.at("allowed").get<std::string>().size() > 1);
    CHECK(folder.names() == std::vector<std::string>{"kept.s"});
    CHECK(read_text(folder.file("kept.s")) == "as it was\n");
  }
}

TEST_CASE("flags that are no numbers, unknown or missing are refused by name", "[cli]") {
  const Folder folder;
  for (const char* flags : {"emit --n many --k 128", "emit --tile 128,64 --n 64 --k 128", "emit --frobnicate",
                            "run --sample x", "launch", ""}) {
    const Ran ran = folder.wavejit(flags);
    CAPTURE(flags, ran.err);
    CHECK(ran.code == 2);
    CHECK(!ran.err.empty());
  }
  CHECK(folder.names().empty());
}

TEST_CASE("when one output cannot be written, none is", "[cli]") {
  const Folder folder;
  const Ran missing = folder.wavejit("emit --n 64 --k 128 --group 32 --m 16 -o F.s --object nowhere/F.hsaco");
  CHECK(missing.code == 2);
  CHECK(missing.err.find("nowhere/F.hsaco") != std::string::npos);
  CHECK(folder.names().empty());
  write_text(folder.file("old.s"), "old");
  REQUIRE(folder.shell("mkdir taken").code == 0);
  const Ran taken = folder.wavejit("emit --n 64 --k 128 --group 32 --m 16 -o old.s --object taken");
  CHECK(taken.code == 2);
  CHECK(read_text(folder.file("old.s")) == "old");
  CHECK(folder.names() == std::vector<std::string>{"old.s", "taken"});
}

TEST_CASE("sizes that no machine has are refused at once", "[cli]") {
  const Folder folder;
  write_text(folder.file("s.json"), R"([{"n": 64, "k": 128, "group": 32, "m": [1, 4294967295]}])");
  const Ran bundle = folder.wavejit("bundle s.json --arch gfx1151 -o b.wjb");
  CHECK(bundle.code == 2);
  CHECK(bundle.err.find("m is 4294967295") != std::string::npos);
  REQUIRE(folder.wavejit("emit --n 16 --k 64 --group 32 --m 1 --object k.hsaco -o k.s").code == 0);
  for (const char* buffer : {R"("random": "bf16")", R"("fill": 1)", R"("undefined": true, "output": "o")"}) {
    INFO(buffer);
    write_text(
        folder.file("l.json"),
        R"({"grid": [1], "block": [32], "args": [{"name": "activations", "bytes": 1099511627776, )" +
            std::string(buffer) +
            R"(}, {"name": "weights", "bytes": 512, "fill": 0}, {"name": "scales", "bytes": 64, "fill": 0},)"
            R"( {"name": "output", "bytes": 32, "undefined": true}, {"name": "m", "value": 1}]})");
    const Ran run = folder.wavejit("run k.hsaco --args l.json");
    CHECK(run.code == 2);
    CHECK(run.err.find("half of this machine's memory") != std::string::npos);
  }
  CHECK(folder.wavejit("verify /dev/zero").code == 2);
  CHECK(folder.wavejit("bundle /dev/zero --arch gfx1151 -o b.wjb").code == 2);
}
