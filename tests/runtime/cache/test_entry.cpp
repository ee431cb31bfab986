// SPDX-License-Identifier: MIT
// The entry file: layout by hand, every bit, every length.
#include <catch2/catch.hpp>

#include "runtime/cache/entry.hpp"
#include "tests/runtime/cache/scratch.hpp"

using namespace wavejit;
using cache::Bytes;
using cache::Miss;

TEST_CASE("an entry has the layout that entry.hpp says", "[cache]") {
  const Bytes file = cache::serialise("key", Bytes{7, 8});
  const Bytes start = {'W', 'J', 'E', 'N', 'T', 'R', 'Y', '\n', 1, 0,   0,   0,   3, 0, 0,
                       0,   2,   0,   0,   0,   0,   0,   0,    0, 'k', 'e', 'y', 7, 8};
  REQUIRE(file.size() == start.size() + 16);
  CHECK(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(start.size())) == start);
  // The checksum in XXH3's canonical form is the digest's hexadecimal text.
  std::string hex;
  for (std::size_t i = start.size(); i < file.size(); ++i) {
    hex += "0123456789abcdef"[file[i] >> 4];
    hex += "0123456789abcdef"[file[i] & 15];
  }
  CHECK(hex == cache::to_hex(cache::digest(start)));
}

TEST_CASE("an entry comes back as it went in", "[cache]") {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100'000}}) {
    const Bytes payload = test::some_payload(size);
    const cache::ParsedEntry parsed = cache::parse_entry(cache::serialise("a key\n", payload));
    CHECK(parsed.miss == Miss::none);
    CHECK(parsed.entry.key_text == "a key\n");
    CHECK(parsed.entry.payload == payload);
  }
}

TEST_CASE("every flipped bit of an entry is a miss", "[cache]") {
  const Bytes good = cache::serialise(test::some_key().text, test::some_payload(64));
  for (std::size_t i = 0; i < good.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      Bytes bad = good;
      bad[i] = static_cast<std::uint8_t>(bad[i] ^ 1U << bit);
      const Miss miss = cache::parse_entry(bad).miss;
      CAPTURE(i, bit, name(miss));
      if (i < 12) {
        CHECK(miss == Miss::foreign_format);
      } else if (i < 24) {
        CHECK(miss == Miss::truncated);
      } else {
        CHECK(miss == Miss::checksum);
      }
    }
}

TEST_CASE("an entry cut or grown to any length is a miss", "[cache]") {
  const Bytes good = cache::serialise("key", test::some_payload(64));
  for (std::size_t size = 0; size < good.size(); ++size) {
    CAPTURE(size);
    CHECK(cache::parse_entry(std::span(good).first(size)).miss == Miss::truncated);
  }
  Bytes longer = good;
  longer.push_back(0);
  CHECK(cache::parse_entry(longer).miss == Miss::truncated);
  // Lengths whose sum wraps round to the right size.
  Bytes wrapped = good;
  std::fill(wrapped.begin() + 16, wrapped.begin() + 24, std::uint8_t{0xFF});
  CHECK(cache::parse_entry(wrapped).miss == Miss::truncated);
  CHECK(cache::parse_entry(test::some_payload(100)).miss == Miss::foreign_format);
}

TEST_CASE("a miss says which format version it met", "[cache]") {
  Bytes file = cache::serialise("key", {});
  file[8] = 9;
  const cache::ParsedEntry parsed = cache::parse_entry(file);
  CHECK(parsed.miss == Miss::foreign_format);
  CHECK(parsed.detail == "format version 9, this build reads 1");
}

TEST_CASE("a key can be peeked at from a file's first bytes", "[cache]") {
  const Bytes file = cache::serialise("key", test::some_payload(1000));
  CHECK(cache::peek_key(std::span(file).first(27)) == "key");
  CHECK(cache::peek_key(std::span(file).first(26)).empty());
  CHECK(cache::peek_key(test::some_payload(100)).empty());
}
