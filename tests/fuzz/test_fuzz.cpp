// SPDX-License-Identifier: MIT
// Every target's seeds, cut, mutated and mixed with noise, for machines without libFuzzer. A failure is a
// crash, which the sanitizer runs of tools/check turn into a report. What is asserted besides: that seeds are
// taken, and that mutants are both taken and refused, since a loop whose inputs all fail at the first byte
// would test nothing.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <iterator>
#include <random>
#include <string>

#include "tests/fuzz/edits.hpp"
#include "tests/fuzz/targets.hpp"

using namespace wavejit::test;

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
      (target.take(edited(seeds[random() % seeds.size()], random)) ? taken : refused) += 1;
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

// By hand: WAVEJIT_FUZZ=bundle WAVEJIT_FUZZ_RUNS=100000 tests_fuzz "[many]"; without sanitizers it is quick.
TEST_CASE("as many mutants of a target as asked for", "[.][many]") {
  const char* name = std::getenv("WAVEJIT_FUZZ");
  const char* runs = std::getenv("WAVEJIT_FUZZ_RUNS");
  REQUIRE((name != nullptr && runs != nullptr));
  const FuzzTarget* target = find_fuzz_target(name);
  REQUIRE(target != nullptr);
  const std::vector<Bytes> seeds = target->seeds();
  std::mt19937_64 random(std::random_device{}());
  unsigned long taken = 0;
  const unsigned long all = std::stoul(runs);
  for (unsigned long i = 0; i < all; ++i) {
    Bytes bytes = seeds[random() % seeds.size()];
    if (target->name == "words") {  // one or two of noise, behind the byte that picks the target
      bytes.resize(9);
      for (std::size_t b = 1; b < bytes.size(); ++b) bytes[b] = static_cast<std::uint8_t>(random());
    } else {
      bytes = edited(std::move(bytes), random);
    }
    taken += target->take(bytes) ? 1 : 0;
  }
  WARN(name << ": " << all << " mutants, " << taken << " taken, " << all - taken << " refused");
}
