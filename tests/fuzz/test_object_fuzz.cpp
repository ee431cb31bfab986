// SPDX-License-Identifier: MIT
// Seeded mutations of real code objects, for machines without libFuzzer. A failure is a crash, which
// the sanitizer runs of tools/check turn into a report. What is asserted besides: that mutants
// reach every depth, since a loop whose inputs all fail at the first byte would test nothing.
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "generator/lower/lower.hpp"
#include "templates/kernel.hpp"
#include "tests/fuzz/object_fuzzer.hpp"

using namespace wavejit;
using Bytes = std::vector<std::uint8_t>;

namespace {

Bytes small_kernel() {
  templates::Problem problem;
  problem.n = 16;
  problem.k = 64;
  problem.group = 32;
  templates::Config config;
  config.bm = config.bn = 16;
  config.waves = 1;
  const auto kernel = templates::generate(problem, config, *target::find("gfx1151"));
  REQUIRE(kernel);
  return kernel->code_object;
}

/// One to four edits: a bit, a byte, a word of a length or an offset, a copied run, a cut.
Bytes mutate(Bytes bytes, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (std::size_t edits = 1 + below(4); edits > 0 && bytes.size() > 16; --edits) {
    const std::size_t at = below(bytes.size() - 8);
    switch (below(5)) {
      case 0:
        bytes[at] ^= static_cast<std::uint8_t>(1U << below(8));
        break;
      case 1:
        bytes[at] = static_cast<std::uint8_t>(random());
        break;
      case 2:
        for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = random() % 2 == 0 ? 0xFF : 0;
        break;
      case 3: {
        const std::size_t from = below(bytes.size() - 8);
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(from), 8,
                    bytes.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      }
      default:
        bytes.resize(random() % 8 == 0 ? at : bytes.size());
        break;
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("mutated code objects are judged without a crash", "[fuzz]") {
  const Bytes original = small_kernel();
  std::mt19937_64 random(20261130);
  unsigned decoded = 0, refused = 0;
  for (unsigned i = 0; i < 400; ++i) {
    const Bytes mutant = mutate(original, random);
    (lower::decode(mutant) ? decoded : refused) += 1;
    test::judge_object(mutant);
  }
  CHECK(decoded > 40);
  CHECK(refused > 40);
}

TEST_CASE("random bytes and truncations are judged without a crash", "[fuzz]") {
  const Bytes original = small_kernel();
  std::mt19937_64 random(7);
  for (unsigned i = 0; i < 300; ++i) {
    Bytes noise(random() % 512);
    for (std::uint8_t& b : noise) b = static_cast<std::uint8_t>(random());
    test::judge_object(noise);
    test::judge_object(std::span(original).first(random() % original.size()));
  }
  CHECK_FALSE(lower::decode({}));
}
