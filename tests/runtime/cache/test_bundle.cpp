// SPDX-License-Identifier: MIT
// Bundles: deterministic bytes, look-ups, hostile bytes, another build's bundle.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "runtime/cache/bundle.hpp"
#include "tests/runtime/cache/scratch.hpp"

using namespace wavejit;
using namespace wavejit::test;
using cache::Bundle;
using cache::Bytes;
using cache::Entry;
using cache::Miss;

namespace {

std::vector<Entry> some_entries(int count) {
  std::vector<Entry> entries;
  for (int i = 0; i < count; ++i)
    entries.push_back({.key_text = some_key(i).text,
                       .payload = some_payload(static_cast<std::size_t>(i) * 37, static_cast<unsigned>(i))});
  return entries;
}

}  // namespace

TEST_CASE("a bundle's bytes depend on its entries alone", "[cache]") {
  std::vector<Entry> entries = some_entries(20);
  const auto bytes = cache::serialise_bundle(entries);
  REQUIRE(bytes);
  std::ranges::reverse(entries);
  CHECK(*cache::serialise_bundle(entries) == *bytes);
  entries.push_back(entries[3]);
  CHECK(*cache::serialise_bundle(entries) == *bytes);
  entries.back().payload.push_back(1);
  CHECK_FALSE(cache::serialise_bundle(entries).has_value());
}

TEST_CASE("a bundle gives each entry and no other", "[cache]") {
  const Scratch scratch;
  write_file(scratch / "m.wjb", *cache::serialise_bundle(some_entries(50)));
  const auto bundle = Bundle::open(scratch / "m.wjb");
  REQUIRE(bundle);
  CHECK(bundle->size() == 50);
  for (const Entry& entry : some_entries(50)) {
    const cache::Lookup found = bundle->get(cache::key_of_text(entry.key_text));
    REQUIRE(found);
    CHECK(*found.payload == entry.payload);
  }
  CHECK(bundle->get(some_key(50)).miss == Miss::absent);
  // A collision: the same digest, another text.
  CHECK(bundle->get({.text = "other", .digest = some_key(7).digest}).miss == Miss::wrong_key);
  for (std::size_t i = 1; i < bundle->size(); ++i)
    CHECK(cache::digest(bundle->key_text(i - 1)) < cache::digest(bundle->key_text(i)));
}

TEST_CASE("an empty bundle is a bundle", "[cache]") {
  const Scratch scratch;
  write_file(scratch / "m.wjb", *cache::serialise_bundle({}));
  const auto bundle = Bundle::open(scratch / "m.wjb");
  REQUIRE(bundle);
  CHECK(bundle->size() == 0);
  CHECK(bundle->get(some_key()).miss == Miss::absent);
}

TEST_CASE("every flipped byte of a bundle is refused or costs that entry alone", "[cache]") {
  const Scratch scratch;
  const std::vector<Entry> entries = some_entries(3);  // payloads of 0, 37 and 74 bytes
  const Bytes good = *cache::serialise_bundle(entries);
  for (std::size_t i = 0; i < good.size(); ++i) {
    Bytes bad = good;
    bad[i] ^= 0x11;
    write_file(scratch / "m.wjb", bad);
    CAPTURE(i);
    const auto bundle = Bundle::open(scratch / "m.wjb");
    const bool in_payloads = i >= good.size() - 111;
    CHECK(bundle.has_value() == in_payloads);
    if (!bundle) {
      CHECK(bundle.error().message.find("m.wjb") != std::string::npos);
      continue;
    }
    int bad_ones = 0;
    for (const Entry& entry : entries) {
      const cache::Lookup found = bundle->get(cache::key_of_text(entry.key_text));
      if (found) CHECK(*found.payload == entry.payload);
      if (!found) CHECK(found.miss == Miss::checksum);
      bad_ones += found ? 0 : 1;
    }
    CHECK(bad_ones == 1);
  }
}

TEST_CASE("a bundle cut to any length is refused", "[cache]") {
  const Scratch scratch;
  const Bytes good = *cache::serialise_bundle(some_entries(3));
  for (std::size_t size = 0; size < good.size(); ++size) {
    write_file(scratch / "m.wjb", {good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)});
    CHECK_FALSE(Bundle::open(scratch / "m.wjb").has_value());
  }
  CHECK_FALSE(Bundle::open(scratch / "none.wjb").has_value());
  CHECK_FALSE(Bundle::open(scratch.path()).has_value());
}

TEST_CASE("a bundle whose checksum is right and whose index lies is refused", "[cache]") {
  const Scratch scratch;
  const Bytes good = *cache::serialise_bundle(some_entries(3));
  const std::size_t slots = 32, slot = 56, index = good.size() - 111 - 16;
  const auto with = [&](std::size_t at, std::uint8_t value, int bytes) {
    Bytes bad = good;
    std::fill_n(bad.begin() + static_cast<std::ptrdiff_t>(at), bytes, value);
    const cache::Digest d = cache::digest(std::span(bad).first(index));
    for (std::size_t b = 0; b < 16; ++b)
      bad[index + b] = static_cast<std::uint8_t>((b < 8 ? d.high >> (56 - 8 * b) : d.low >> (120 - 8 * b)));
    write_file(scratch / "m.wjb", bad);
    return Bundle::open(scratch / "m.wjb").has_value();
  };
  CHECK(with(slots, good[slots], 1));             // nothing changed: the helper's checksum is right
  CHECK_FALSE(with(slots + 16, 0xFF, 8));         // key offset
  CHECK_FALSE(with(slots + 24, 0xFF, 8));         // key length
  CHECK_FALSE(with(slots + slot + 32, 0xFF, 8));  // payload length
  for (std::size_t i = 0; i < 3; ++i)             // payloads do not fill the file
    if (const std::size_t size_at = slots + i * slot + 32; good[size_at] != 0)
      CHECK_FALSE(with(size_at, 0x00, 8));
  CHECK_FALSE(with(slots, 0xFF, 16));  // out of order
  CHECK_FALSE(with(12, 0xFF, 4));      // number of entries
  CHECK_FALSE(with(16, 0xFF, 8));      // bytes of keys
}

TEST_CASE("a bundle of another build opens, misses and says why", "[cache]") {
  const Scratch scratch;
  auto parts = *cache::parse_key(some_key(1).text);
  parts.build = "older";
  write_file(scratch / "m.wjb", *cache::serialise_bundle(
                                    {{.key_text = cache::make_key(parts).text, .payload = some_payload(9)}}));
  const auto bundle = Bundle::open(scratch / "m.wjb");
  REQUIRE(bundle);
  CHECK(bundle->get(some_key(1)).miss == Miss::absent);
  const cache::Explanation e = bundle->explain(some_key(1));
  CHECK(e.miss == Miss::absent);
  REQUIRE(e.different.size() == 1);
  CHECK(e.different[0].part == "build");
  CHECK(e.different[0].theirs == "older");
  CHECK(bundle->explain(cache::make_key(parts)).miss == Miss::none);
}

TEST_CASE("a bundle that shrinks while it is open misses", "[cache]") {
  const Scratch scratch;
  write_file(scratch / "m.wjb",
             *cache::serialise_bundle({{.key_text = some_key().text, .payload = some_payload(99)}}));
  const auto bundle = Bundle::open(scratch / "m.wjb");
  REQUIRE(bundle);
  std::filesystem::resize_file(scratch / "m.wjb", std::filesystem::file_size(scratch / "m.wjb") - 10);
  CHECK(bundle->get(some_key()).miss == Miss::truncated);
}

TEST_CASE("many threads read one bundle", "[cache]") {
  const Scratch scratch;
  write_file(scratch / "m.wjb", *cache::serialise_bundle(some_entries(20)));
  const auto bundle = Bundle::open(scratch / "m.wjb");
  REQUIRE(bundle);
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (const Entry& entry : some_entries(20)) {
        const cache::Lookup found = bundle->get(cache::key_of_text(entry.key_text));
        if (!found || *found.payload != entry.payload) ++wrong;
      }
    });
  threads.clear();
  CHECK(wrong == 0);
}
