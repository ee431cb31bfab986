// SPDX-License-Identifier: MIT
// The header of a safetensors file: what the format's description allows is read, everything else is an error
// that names the file and the part, and nothing that a file says makes the reader touch bytes it does not
// have (a span of exactly the file's bytes, so that a sanitizer sees one too many).
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "runtime/checkpoint/safetensors.hpp"
#include "tests/runtime/checkpoint/folder.hpp"

using namespace wavejit;
using namespace wavejit::checkpoint;
using namespace wavejit::checkpoint::test;

namespace {

Result<std::vector<TensorEntry>> parse(const std::string& file) {
  // A copy of its own: heap memory of exactly this size.
  const std::vector<char> bytes(file.begin(), file.end());
  return parse_header(std::as_bytes(std::span(bytes)), bytes.size(), "x.safetensors");
}

NamedTensor zeros(const std::string& name, const std::string& dtype, std::vector<std::int64_t> shape,
                  std::size_t bytes) {
  return {name, dtype, std::move(shape), std::vector<std::byte>(bytes)};
}

std::string good_file() {
  return safetensors({zeros("a.qweight", "I32", {4, 2}, 32), zeros("a.scales", "F16", {1, 16}, 32),
                      zeros("empty", "F32", {0, 7}, 0), zeros("scalar", "I64", {}, 8)});
}

/// The error must name the file, `part` and `given`.
void refused(const std::string& file, const std::string& part, const std::string& given) {
  const auto r = parse(file);
  REQUIRE_FALSE(r);
  INFO(r.error().message);
  CHECK(r.error().code == ErrorCode::io);
  CHECK(r.error().message.starts_with("x.safetensors: "));
  CHECK(r.error().field.find(part) != std::string::npos);
  CHECK(r.error().given.find(given) != std::string::npos);
  CHECK_FALSE(r.error().allowed.empty());
}

void header_refused(const std::string& header, const std::string& part, const std::string& given,
                    const std::string& data = "12345678") {
  refused(with_header(header, data), part, given);
}

}  // namespace

TEST_CASE("a header is read", "[checkpoint]") {
  const std::string file = good_file();
  const auto tensors = parse(file);
  REQUIRE(tensors);
  REQUIRE(tensors->size() == 4);
  const auto data = file.size() - 72;
  const TensorEntry& first = tensors->at(0);
  CHECK(first.name == "a.qweight");
  CHECK(first.dtype == "I32");
  CHECK(first.shape == std::vector<std::int64_t>{4, 2});
  CHECK(first.begin == data);
  CHECK(first.end == data + 32);
  CHECK(tensors->at(2).name == "empty");
  CHECK(tensors->at(3).name == "scalar");
  CHECK(tensors->at(3).shape.empty());
  CHECK(tensors->at(3).end == file.size());
}

TEST_CASE("a file is read from disk", "[checkpoint]") {
  const Folder folder;
  NamedTensor odd = zeros("odd", "U8", {3}, 3);
  NamedTensor words = zeros("words", "I32", {2}, 8);
  for (std::size_t i = 0; i < 8; ++i) words.bytes[i] = static_cast<std::byte>(i + 1);
  folder.write("x.safetensors", safetensors({odd, words}));
  const auto file = File::open(folder.path() / "x.safetensors");
  REQUIRE(file);
  CHECK((*file)->name() == "x.safetensors");
  CHECK(std::ranges::equal((*file)->bytes((*file)->tensors().at(1)), words.bytes));
  for (const char* name : {"y.safetensors", "."}) {
    const auto absent = File::open(folder.path() / name);
    REQUIRE_FALSE(absent);
    CHECK(absent.error().message.find(name) != std::string::npos);
  }
  folder.write("empty.safetensors", "");
  const auto empty = File::open(folder.path() / "empty.safetensors");
  REQUIRE_FALSE(empty);
  CHECK(empty.error().message.find("at least 8") != std::string::npos);
}

TEST_CASE("a header that lies is refused by part", "[checkpoint]") {
  refused("", "the file's length", "0 bytes");
  refused("1234567", "the file's length", "7 bytes");
  refused(std::string(8, '\xFF'), "the header's length", "18446744073709551615 bytes");
  refused(std::string("\x09\0\0\0\0\0\0\0{}", 10), "the header's length", "9 bytes");
  refused(std::string(8, '\0') + "{}", "the header's length", "0 bytes");
  header_refused("{ ", "the header", "not JSON");
  header_refused("[]", "the header", "[]");
  header_refused("{\"a\":[[[[[[1]]]]]]}", "the header", "nested deeper");
  header_refused(R"({"a":7})", "tensor \"a\"", "7");
  header_refused(R"({"a":{"shape":[8],"data_offsets":[0,8]}})", "dtype", "absent");
  header_refused(R"({"a":{"dtype":3,"shape":[8],"data_offsets":[0,8]}})", "dtype", "3");
  header_refused(R"({"a":{"dtype":"U8","data_offsets":[0,8]}})", "shape", "absent");
  header_refused(R"({"a":{"dtype":"U8","shape":8,"data_offsets":[0,8]}})", "shape", "8");
  header_refused(R"({"a":{"dtype":"U8","shape":[-8],"data_offsets":[0,8]}})", "shape", "[-8]");
  header_refused(R"({"a":{"dtype":"U8","shape":[8.0],"data_offsets":[0,8]}})", "shape", "[8.0]");
  header_refused(R"({"a":{"dtype":"U8","shape":[8]}})", "data_offsets", "absent");
  header_refused(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0]}})", "data_offsets", "[0]");
  header_refused(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[8,0]}})", "data_offsets", "[8,0]");
  header_refused(R"({"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}})", "data_offsets", "[0,9]");
  header_refused(R"({"a":{"dtype":"U8","shape":[9],"data_offsets":[-1,8]}})", "data_offsets", "[-1,8]");
  header_refused(R"({"a":{"dtype":"F16","shape":[8],"data_offsets":[0,8]}})", "data_offsets", "8 bytes");
  // 2^48 * 2^48 elements: the product overflows 64 bits to 0.
  header_refused(R"({"a":{"dtype":"U8","shape":[281474976710656,281474976710656],"data_offsets":[0,0]}})",
                 "data_offsets", "0 bytes");
  const std::string eight = R"({"dtype":"U8","shape":[8],"data_offsets":[0,8]})";
  header_refused("{\"a\":" + eight + ",\"a\":" + eight + "}", "the header", "naming \"a\" twice");
  header_refused("{\"a\":" + eight + ",\"b\":" + eight + "}", "tensor \"b\"", "beginning at 0");
  header_refused("{\"a\":" + eight + "}", "the data", "9 bytes", "123456789");
  header_refused(R"({"a":{"dtype":"U8","shape":[7],"data_offsets":[1,8]}})", "tensor \"a\"",
                 "beginning at 1");
}

TEST_CASE("names from a file cannot control a terminal", "[checkpoint]") {
  const auto r = parse(with_header("{\"a\\u001b[31m\":7}"));
  REQUIRE_FALSE(r);
  CHECK(r.error().message.find('\x1b') == std::string::npos);
}

TEST_CASE("a tensor of a dtype that is not known does not hide the others", "[checkpoint]") {
  const auto r = parse(safetensors({zeros("a", "F4", {6}, 3), zeros("b", "U8", {5}, 5)}));
  REQUIRE(r);
  CHECK(r->at(0).dtype == "F4");
  CHECK(r->at(1).end - r->at(1).begin == 5);
}

TEST_CASE("every truncation of a file is refused", "[checkpoint]") {
  const std::string file = good_file();
  REQUIRE(parse(file));
  for (std::size_t length = 0; length < file.size(); ++length) {
    INFO(length);
    REQUIRE_FALSE(parse(file.substr(0, length)));
  }
}

TEST_CASE("random mutations of a file give tensors inside it or an error that says something",
          "[checkpoint]") {
  const std::string file = good_file();
  std::mt19937 random(7);
  int taken = 0, errors = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string mutant = file;
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits) {
      const std::size_t at = random() % mutant.size();
      switch (random() % 4) {
        case 0:
          mutant[at] = static_cast<char>(random());
          break;
        case 1:
          mutant[at] = "0123456789[]{},:\"-e."[random() % 20];
          break;
        case 2:
          mutant.insert(at, 1, "0123456789[]{},:\"-e."[random() % 20]);
          break;
        default:
          mutant.erase(at, 1 + random() % 3);
      }
    }
    const auto r = parse(mutant);
    if (!r) {
      ++errors;
      REQUIRE(r.error().message.starts_with("x.safetensors: "));
      continue;
    }
    ++taken;
    for (const TensorEntry& t : *r) REQUIRE((t.begin <= t.end && t.end <= mutant.size()));
  }
  CHECK(taken > 100);  // in the data, in a name, in a dtype
  CHECK(errors > 1000);
}

TEST_CASE("a header of very many names is read in the end", "[checkpoint]") {
  // 200,000 empty tensors: a look-up that is quadratic takes ten minutes and meet ctest's limit.
  std::string header = "{";
  for (int i = 0; i < 200000; ++i)
    header += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) +
              R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  const auto r = parse(with_header(header + "}"));
  REQUIRE(r);
  CHECK(r->size() == 200000);
}
