// SPDX-License-Identifier: MIT
// Key text and digest: against a text written by hand, against XXH3's published value, and for every part
// alone.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <set>

#include "generator/lower/lower.hpp"
#include "runtime/cache/key.hpp"
#include "tests/runtime/cache/scratch.hpp"

using namespace wavejit;
using cache::KeyParts;

namespace {

KeyParts sample_parts() {
  KeyParts p;
  p.target_id = "gfx942:sramecc+:xnack-";
  p.wave_size = 64;
  p.wgp_mode = false;
  p.llvm = "22.1.8";
  p.build = "0123";
  p.problem = "w4a16 n64";
  p.config = "tile 16";
  return p;
}

std::string shell(const std::string& command) {
  std::string out;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[256];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) out += buffer;
  CHECK(::pclose(pipe) == 0);
  return out;
}

/// The ID that cmake/BuildId.cmake gives to a tree.
std::string build_id_of(const std::string& tree, const test::Scratch& scratch) {
  const std::string output = (scratch / "id.cpp").string();
  shell(fmt::format("{} -DROOT={} -DOUTPUT={} -P {}/cmake/BuildId.cmake", WAVEJIT_CMAKE, tree, output,
                    WAVEJIT_SOURCE_DIR));
  const cache::Bytes bytes = test::read_file(output);
  const std::string text(bytes.begin(), bytes.end());
  const std::size_t at = text.find("return \"");
  REQUIRE(at != std::string::npos);
  return text.substr(at + 8, 32);
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("a digest is XXH3-128", "[cache]") {
  // The value of no input with seed 0, as xxHash's own test vectors give it.
  CHECK(cache::to_hex(cache::digest(std::string_view())) == "99aa06d3014798d86001c324468d497f");
  CHECK(cache::to_hex({.high = 1, .low = 0xAB}) == "000000000000000100000000000000ab");
}

TEST_CASE("a key's text has every part, sorted, one a line", "[cache]") {
  CHECK(cache::make_key(sample_parts()).text ==
        "wavejit-key 1\nbuild=0123\ncode_object=5\nconfig=tile 16\nflags=\nllvm=22.1.8\nmode=cu\n"
        "problem=w4a16 n64\nschema=1\nstage=0\ntarget_id=gfx942:sramecc+:xnack-\nwave_size=64\n");
}

TEST_CASE("what would break a line is escaped and comes back", "[cache]") {
  KeyParts p = sample_parts();
  p.flags = std::string("a=b\nbuild=evil\\x\r\x7F", 18) + '\0' + "\xC3\xA9";
  const cache::Key key = cache::make_key(p);
  CHECK(std::ranges::count(key.text, '\n') == 12);
  CHECK(key.text.find("flags=a=b\\nbuild=evil\\\\x\\x0d\\x7f\\x00\xC3\xA9\n") != std::string::npos);
  CHECK(cache::parse_key(key.text) == p);
}

TEST_CASE("each part alone makes another key", "[cache]") {
  std::vector<KeyParts> all(12, sample_parts());
  all[1].target_id = "gfx942:sramecc+:xnack+";
  all[2].wave_size = 32;
  all[3].wgp_mode = true;
  all[4].code_object = 6;
  all[5].llvm = "22.1.9";
  all[6].build = "0124";
  all[7].schema = 2;
  all[8].problem = "w4a16 n65";
  all[9].config = "tile 32";
  all[10].flags = "x";
  all[11].stage = 1;
  std::set<std::string> texts, digests;
  for (const KeyParts& p : all) {
    const cache::Key key = cache::make_key(p);
    texts.insert(key.text);
    digests.insert(cache::to_hex(key.digest));
    CHECK(cache::parse_key(key.text) == p);
    CHECK(cache::differences(all[0], p).size() == (p == all[0] ? 0U : 1U));
  }
  CHECK(texts.size() == all.size());
  CHECK(digests.size() == all.size());
  CHECK(cache::to_string(cache::differences(all[0], all[5])) == "llvm 22.1.8 vs 22.1.9");
}

TEST_CASE("a text that is no key of ours is not parsed", "[cache]") {
  const std::string good = cache::make_key(sample_parts()).text;
  const auto without = [&good](const std::string& line) {
    std::string text = good;
    text.erase(text.find(line), line.size());
    return text;
  };
  CHECK_FALSE(cache::parse_key(""));
  CHECK_FALSE(cache::parse_key("wavejit-key 2\n" + good.substr(14)));
  CHECK_FALSE(cache::parse_key(without("flags=\n")));
  CHECK_FALSE(cache::parse_key(without("schema=1\n") + "schema=1\n"));  // out of order
  CHECK_FALSE(cache::parse_key(good + "wave_size=64\n"));
  CHECK_FALSE(cache::parse_key(good + "unknown=1\n"));
  CHECK_FALSE(cache::parse_key(good.substr(0, good.size() - 1)));
  CHECK_FALSE(cache::parse_key(without("=64") + "=064\n"));
}

TEST_CASE("target IDs are put in order or refused (case 65)", "[cache]") {
  CHECK(cache::canonical_target_id("gfx1151") == "gfx1151");
  CHECK(cache::canonical_target_id("gfx942:xnack-:sramecc+") == "gfx942:sramecc+:xnack-");
  // LLVM's rule (AMDGPUUsage, "Target ID"): what does not state a feature runs either way.
  CHECK(cache::compatible_target_ids("gfx942:sramecc+:xnack-") ==
        std::vector<std::string>{"gfx942:sramecc+:xnack-", "gfx942:sramecc+", "gfx942:xnack-", "gfx942"});
  CHECK(cache::compatible_target_ids("gfx1151") == std::vector<std::string>{"gfx1151"});
  for (const char* bad :
       {"", ":xnack+", "gfx942:", "gfx942::xnack+", "gfx942:xnack", "gfx942:+",
        "gfx942:xnack+:", "gfx942:xnack+:xnack-", "gfx942:xnack+:xnack+", "gfx 942", "gfx942:x\n+"}) {
    CAPTURE(bad);
    CHECK_FALSE(cache::canonical_target_id(bad).has_value());
  }
  // One processor, two settings of its features: two keys.
  templates::Problem problem;
  const templates::Config config;
  const target::Target& gfx942 = *target::find("gfx942");
  const auto a = cache::key_parts(problem, config, gfx942, "gfx942:sramecc+:xnack-");
  const auto b = cache::key_parts(problem, config, gfx942, "gfx942:sramecc-:xnack+");
  REQUIRE(a);
  REQUIRE(b);
  CHECK_FALSE(cache::make_key(*a) == cache::make_key(*b));
  CHECK_FALSE(cache::key_parts(problem, config, gfx942, "gfx950"));
}

TEST_CASE("keys of this build name its LLVM, its generator and the processor (case 69)", "[cache]") {
  templates::Problem problem;
  problem.n = 64;
  problem.k = 128;
  const templates::Config config;
  const auto a = cache::key_parts(problem, config, *target::find("gfx1150"), "gfx1150");
  const auto b = cache::key_parts(problem, config, *target::find("gfx1151"), "gfx1151");
  REQUIRE(a);
  REQUIRE(b);
  CHECK(cache::to_string(cache::differences(*a, *b)) == "target_id gfx1150 vs gfx1151");
  CHECK(a->llvm.starts_with(lower::llvm_version()));
  CHECK(a->build == cache::generator_build_id());
  CHECK(a->problem == templates::canonical(problem));
  CHECK(a->config == templates::canonical(config));
  CHECK(a->wgp_mode == config.wgp_mode);
}

TEST_CASE("the build ID is a digest of the generator's sources", "[cache]") {
  const test::Scratch scratch;
  // The same by stock tools over the tree that this program was built from.
  const std::string stock = shell("cd " WAVEJIT_SOURCE_DIR
                                  " && find generator templates -type f \\( -name '*.[ch]pp' -o -name "
                                  "'*.def' -o -name '*.h' -o -name '*.inc' "
                                  "-o -name '*.hip' -o -name CMakeLists.txt \\) | LC_ALL=C sort | while read "
                                  "f; do echo \"$f $(sha256sum < $f | "
                                  "cut -d' ' -f1)\"; done | sha256sum | cut -c1-32");
  CHECK(std::string(cache::generator_build_id()) + "\n" == stock);

  const auto tree = [&](const std::string& name) { return (scratch / name).string(); };
  for (const char* name : {"a", "b"}) {
    write(scratch / name / "generator/x.cpp", "one");
    write(scratch / name / "templates/deep/y.hpp", "two");
    write(scratch / name / "runtime/z.cpp", name);  // not of the generator
  }
  const std::string id = build_id_of(tree("a"), scratch);
  CHECK(build_id_of(tree("b"), scratch) == id);
  write(scratch / "b" / "templates/deep/y.hpp", "twO");
  CHECK(build_id_of(tree("b"), scratch) != id);
  write(scratch / "b" / "templates/deep/y.hpp", "two");
  CHECK(build_id_of(tree("b"), scratch) == id);
  std::filesystem::rename(scratch / "b" / "generator/x.cpp", scratch / "b" / "generator/w.cpp");
  CHECK(build_id_of(tree("b"), scratch) != id);
  std::filesystem::rename(scratch / "b" / "generator/w.cpp", scratch / "b" / "generator/x.cpp");
  write(scratch / "b" / "generator/isa/new.def", "");
  CHECK(build_id_of(tree("b"), scratch) != id);
}
