// SPDX-License-Identifier: MIT
// Which key is nearest to one that missed: by what a person would call the same kernel, in any order of
// offers.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "runtime/cache/explain.hpp"
#include "runtime/cache/key.hpp"
#include "tests/runtime/cache/scratch.hpp"

using namespace wavejit;
using namespace wavejit::test;

TEST_CASE("the nearest key is the one that differs least, of equals the first by place", "[cache]") {
  const cache::Key wanted = some_key(1);
  const auto changed = [&](auto&& change) {
    auto parts = *cache::parse_key(wanted.text);
    change(parts);
    return cache::make_key(parts).text;
  };
  using P = cache::KeyParts;
  const std::string llvm = changed([](P& p) { p.llvm = "1.2.3"; });
  const std::string both = changed([](P& p) { p.llvm = "1.2.3", p.target_id = "gfx1100"; });
  const std::string config = changed([](P& p) { p.config += "x"; });
  const std::string problem = changed([](P& p) { p.problem += "x"; });
  const auto nearest = [&](std::vector<std::pair<std::string, std::string>> offers) {
    std::string answer;
    std::ranges::sort(offers);
    do {
      cache::Nearest n(wanted);
      for (const auto& [text, place] : offers) n.offer(text, place);
      const std::string now = n.explanation("here").nearest;
      CHECK((answer.empty() || answer == now));  // the same in every order
      answer = now;
    } while (std::ranges::next_permutation(offers).found);
    return answer;
  };
  CHECK(nearest({{llvm, "c"}, {both, "b"}, {config, "a"}}) == "c");
  CHECK(nearest({{both, "c"}, {config, "b"}, {problem, "a"}}) == "c");
  CHECK(nearest({{config, "b"}, {problem, "a"}}) == "b");
  CHECK(nearest({{llvm, "b"}, {llvm, "a"}, {llvm, "c"}}) == "a");
  CHECK(nearest({{"no key", "a"}, {problem, "b"}}) == "b");

  cache::Nearest none(wanted);
  CHECK(none.explanation("here").summary == "here is empty");
  none.offer("no key", "a");
  CHECK(none.explanation("here").summary.find("here has 1 entries, none with a key of this form") == 0);
  none.offer(llvm, "b");
  const cache::Explanation e = none.explanation("here");
  CHECK(e.summary.find("the nearest of 2 (b) differs: llvm ") != std::string::npos);
  REQUIRE(e.different.size() == 1);
  CHECK(e.different[0].part == "llvm");
}
