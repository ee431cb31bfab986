// SPDX-License-Identifier: MIT
// The corpus of small GGUF files (made by tests/scripts/make_gguf.py), cut, mutated and mixed with numbers
// that readers stumble over, for machines without libFuzzer.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <vector>

#include "tests/fuzz/edits.hpp"
#include "tests/fuzz/gguf/gguf_fuzzer.hpp"

using wavejit::test::judge_gguf;
using wavejit::test::Verdict;
using Bytes = std::vector<std::uint8_t>;

namespace {

std::map<std::string, Bytes> corpus() {
  std::map<std::string, Bytes> files;
  for (const auto& entry : std::filesystem::directory_iterator(WAVEJIT_GGUF_CORPUS)) {
    std::ifstream stream(entry.path(), std::ios::binary);
    files[entry.path().filename().string()] = {std::istreambuf_iterator<char>(stream), {}};
  }
  REQUIRE(files.size() >= 8);
  return files;
}

}  // namespace

TEST_CASE("GGUF files of the corpus are read or refused as their names say", "[gguf][fuzz]") {
  for (const auto& [name, bytes] : corpus()) {
    INFO(name);
    CHECK(judge_gguf(bytes) == (name.starts_with("bad_") ? Verdict::refused : Verdict::read));
  }
}

TEST_CASE("GGUF files cut at every byte are refused or hold", "[gguf][fuzz]") {
  for (const auto& [name, bytes] : corpus()) {
    INFO(name);
    for (std::size_t length = 0; length < bytes.size(); ++length)
      // A copy of its own: heap memory of exactly this size.
      REQUIRE(judge_gguf(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length))) !=
              Verdict::broken);
  }
}

TEST_CASE("mutated GGUF files are refused or hold", "[gguf][fuzz]") {
  std::mt19937_64 random(20261130);
  const auto files = corpus();
  unsigned read = 0, refused = 0;
  for (unsigned i = 0; i < 20000; ++i) {
    auto it = files.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random() % files.size()));
    INFO(it->first << ", mutation " << i);
    const Verdict v = judge_gguf(wavejit::test::edited(it->second, random));
    REQUIRE(v != Verdict::broken);
    (v == Verdict::read ? read : refused) += 1;
  }
  // A loop whose inputs all fail at the first byte would test nothing.
  CHECK(read > 1000);
  CHECK(refused > 5000);
}
