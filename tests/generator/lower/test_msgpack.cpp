// SPDX-License-Identifier: MIT
// Every format byte of the MessagePack specification (github.com/msgpack/msgpack, spec.md, "Formats"), each
// with the smallest and the largest count that its length field can say, and each cut short by one byte.
#include <algorithm>
#include <catch2/catch.hpp>
#include <span>
#include <string>
#include <vector>

#include "generator/lower/msgpack.hpp"

namespace wavejit::lower::msgpack {
namespace {

using Kind = Value::Kind;
using Bytes = std::vector<std::uint8_t>;

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Bytes filled(std::size_t count, std::uint8_t value = 0x01) { return Bytes(count, value); }

struct Row {
  Bytes head;  ///< the format byte and what belongs to the value itself
  Kind kind;
  std::uint64_t integer;
  std::size_t payload = 0;  ///< bytes of text or elements behind it
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all{
      {{0x00}, Kind::integer, 0},
      {{0x7F}, Kind::integer, 127},
      {{0x80}, Kind::map, 0},
      {{0x8F}, Kind::map, 15, 30},
      {{0x90}, Kind::array, 0},
      {{0x9F}, Kind::array, 15, 15},
      {{0xA0}, Kind::string, 0},
      {{0xBF}, Kind::string, 31, 31},
      {{0xC0}, Kind::nil, 0},
      {{0xC2}, Kind::boolean, 0},
      {{0xC3}, Kind::boolean, 1},
      {{0xC4, 3}, Kind::binary, 3, 3},
      {{0xC5, 1, 2}, Kind::binary, 258, 258},
      {{0xC6, 0, 1, 0, 1}, Kind::binary, 65537, 65537},
      {{0xCA, 0x3F, 0x80, 0, 0}, Kind::real, 0x3F800000},
      {{0xCB, 0x3F, 0xF0, 0, 0, 0, 0, 0, 1}, Kind::real, 0x3FF0000000000001},
      {{0xCC, 0xFF}, Kind::integer, 255},
      {{0xCD, 0xFF, 0xFE}, Kind::integer, 65534},
      {{0xCE, 0xFF, 0xFE, 0xFD, 0xFC}, Kind::integer, 0xFFFEFDFC},
      {{0xCF, 1, 2, 3, 4, 5, 6, 7, 8}, Kind::integer, 0x0102030405060708},
      {{0xD0, 0x80}, Kind::integer, ~std::uint64_t{0} - 127},
      {{0xD1, 0x7F, 0xFF}, Kind::integer, 32767},
      {{0xD1, 0xFF, 0xFF}, Kind::integer, ~std::uint64_t{0}},
      {{0xD2, 0x80, 0, 0, 0}, Kind::integer, 0xFFFFFFFF80000000},
      {{0xD3, 0x80, 0, 0, 0, 0, 0, 0, 1}, Kind::integer, 0x8000000000000001},
      {{0xD9, 2}, Kind::string, 2, 2},
      {{0xDA, 1, 0}, Kind::string, 256, 256},
      {{0xDB, 0, 1, 0, 0}, Kind::string, 65536, 65536},
      {{0xDC, 1, 1}, Kind::array, 257, 257},
      {{0xDD, 0, 1, 0, 2}, Kind::array, 65538, 65538},
      {{0xDE, 0, 4}, Kind::map, 4, 8},
      {{0xDF, 0, 1, 0, 0}, Kind::map, 65536, 131072},
      {{0xE0}, Kind::integer, ~std::uint64_t{0} - 31},
      {{0xFF}, Kind::integer, ~std::uint64_t{0}},
  };
  return all;
}

bool is_text(Kind kind) { return kind == Kind::string || kind == Kind::binary; }

}  // namespace

TEST_CASE("MessagePack: each format is read, and what comes behind it", "[lower][msgpack]") {
  for (const Row& row : rows()) {
    CAPTURE(static_cast<unsigned>(row.head[0]), row.integer);
    const Bytes bytes = row.head + filled(row.payload) + Bytes{0x2A};
    Reader reader(bytes);
    const auto value = reader.next();
    REQUIRE(value);
    CHECK(value->kind == row.kind);
    CHECK(value->integer == row.integer);
    CHECK(value->text.size() == (is_text(row.kind) ? row.payload : 0));
    // Text is consumed with its head, elements are not.
    for (std::size_t i = 0; !is_text(row.kind) && i < row.payload; ++i) CHECK(reader.next()->integer == 1);
    CHECK(reader.unsigned_integer() == 42);
    CHECK_FALSE(reader.next());

    Reader skipping(bytes);
    CHECK(skipping.skip());
    CHECK(skipping.unsigned_integer() == 42);

    // Whatever byte is missing: no value, no skipping.
    for (const std::size_t size : {std::size_t{0}, row.head.size() - 1, row.head.size() + row.payload - 1}) {
      if (size >= row.head.size() + row.payload) continue;
      Reader cut{std::span(bytes).first(size)};
      CHECK_FALSE(cut.skip());
    }
  }
}

TEST_CASE("MessagePack: a reader of one kind takes no other", "[lower][msgpack]") {
  for (const Row& row : rows()) {
    CAPTURE(static_cast<unsigned>(row.head[0]));
    const Bytes bytes = row.head + filled(row.payload);
    CHECK(Reader(bytes).enter_map().has_value() == (row.kind == Kind::map));
    CHECK(Reader(bytes).enter_array().has_value() == (row.kind == Kind::array));
    CHECK(Reader(bytes).string().has_value() == (row.kind == Kind::string));
    CHECK(Reader(bytes).unsigned_integer().has_value() == (row.kind == Kind::integer));
    if (row.kind == Kind::map) CHECK(Reader(bytes).enter_map() == row.integer);
    if (row.kind == Kind::array) CHECK(Reader(bytes).enter_array() == row.integer);
    if (row.kind == Kind::string) CHECK(Reader(bytes).string() == std::string(row.payload, '\x01'));
  }
}

TEST_CASE("MessagePack: extension types and the byte that is never used are refused", "[lower][msgpack]") {
  for (const unsigned tag : {0xC1, 0xC7, 0xC8, 0xC9, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8}) {
    CAPTURE(tag);
    const Bytes bytes = Bytes{static_cast<std::uint8_t>(tag)} + filled(40, 0);
    CHECK_FALSE(Reader(bytes).next());
    CHECK_FALSE(Reader(bytes).skip());
  }
}

TEST_CASE("MessagePack: nested values are skipped whole, lies about their number are refused",
          "[lower][msgpack]") {
  // {1: [2, {3: "ab"}], 4: []}
  const Bytes nested{0x82, 1, 0x92, 2, 0x81, 3, 0xA2, 'a', 'b', 4, 0x90};
  Reader reader(nested);
  CHECK(reader.skip());
  CHECK_FALSE(reader.next());
  for (std::size_t size = 0; size < nested.size(); ++size)
    CHECK_FALSE(Reader{std::span(nested).first(size)}.skip());
  // Arrays of 2^32 - 1 elements within each other.
  Bytes deep;
  for (int i = 0; i < 1000; ++i) deep = deep + Bytes{0xDD, 0xFF, 0xFF, 0xFF, 0xFF};
  CHECK_FALSE(Reader(deep).skip());
  // A thousand arrays of one element each: no recursion, and it ends.
  CHECK(Reader(filled(100'000, 0x91) + Bytes{0}).skip());
  CHECK_FALSE(Reader(filled(100'000, 0x91)).skip());
}

}  // namespace wavejit::lower::msgpack
