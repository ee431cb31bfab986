// SPDX-License-Identifier: MIT
// Every target's seeds, cut, mutated and mixed with noise, for machines without libFuzzer. A failure is a
// crash, which the sanitizer runs of tools/check turn into a report. What is asserted besides: that seeds are
// taken, and that mutants are both taken and refused, since a loop whose inputs all fail at the first byte
// would test nothing.
#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <random>

#include "tests/fuzz/targets.hpp"

using namespace wavejit::test;

namespace {

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

TEST_CASE("seeds of every target are taken, mutants are taken or refused without a crash", "[fuzz]") {
  for (const FuzzTarget& target : fuzz_targets()) {
    CAPTURE(target.name);
    const std::vector<Bytes> seeds = target.seeds();
    REQUIRE_FALSE(seeds.empty());
    const auto taken_seeds =
        std::ranges::count_if(seeds, [&](const Bytes& seed) { return target.take(seed); });
    CHECK(taken_seeds >= std::ssize(seeds) / 2);  // GGUF's are bad ones, too
    std::mt19937_64 random(20261130);
    unsigned taken = 0, refused = 0;
    for (unsigned i = 0; i < 150; ++i)
      (target.take(mutate(seeds[random() % seeds.size()], random)) ? taken : refused) += 1;
    CHECK(taken > 0);
    CHECK(refused > 0);
    for (unsigned i = 0; i < 50; ++i) {
      Bytes noise(random() % 512);
      for (std::uint8_t& b : noise) b = static_cast<std::uint8_t>(random());
      target.take(noise);
      const Bytes& seed = seeds[random() % seeds.size()];
      target.take(std::span(seed).first(random() % seed.size()));
    }
  }
}
