// SPDX-License-Identifier: MIT
// The header of a GGUF file: what the format allows is read, everything else is an error that names file and
// part, and no count, length or offset makes the reader touch bytes that are not there (heap memory of
// exactly the file's size, so that a sanitizer sees one too many). Files are made by writer.hpp.
#include "runtime/gguf/header.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/runtime/gguf/writer.hpp"

using namespace wavejit;
using namespace wavejit::gguf;
using namespace wavejit::gguf::test;

namespace {

/// The header and the bytes that its values point to.
struct Parsed {
  std::vector<char> bytes;
  Result<Header> header;
};

Parsed parse(const std::string& file, Data data = Data::present) {
  Parsed p{{file.begin(), file.end()}, {}};
  p.header = parse_header(std::as_bytes(std::span(p.bytes)), p.bytes.size(), "x.gguf", data);
  return p;
}

/// The error must name the file, `part` and `given`.
void refused(const std::string& file, const std::string& part, const std::string& given,
             ErrorCode code = ErrorCode::io) {
  const Parsed p = parse(file);
  REQUIRE_FALSE(p.header);
  const Error& e = p.header.error();
  INFO(e.message);
  CHECK(e.code == code);
  CHECK(e.message.starts_with("x.gguf: "));
  CHECK(e.field.find(part) != std::string::npos);
  CHECK(e.given.find(given) != std::string::npos);
  CHECK_FALSE(e.allowed.empty());
}

void entry_refused(const std::string& bytes, const std::string& part, const std::string& given) {
  Pieces p = good_pieces();
  p.entries.push_back(bytes);
  refused(p.bytes(), part, given);
}

void tensor_refused(const std::string& bytes, const std::string& part, const std::string& given) {
  Pieces p = good_pieces();
  p.tensors.push_back(bytes);
  refused(p.bytes(), part, given);
}

constexpr std::uint64_t after = 32 + 288 + 1280 + 224;  // the data's end, aligned

}  // namespace

TEST_CASE("a GGUF header is read", "[gguf]") {
  for (const std::uint32_t version : {2U, 3U}) {
    Pieces pieces = good_pieces();
    pieces.version = version;
    const Parsed p = parse(pieces.bytes());
    INFO((p.header ? "" : p.header.error().message));
    REQUIRE(p.header);
    const Header& h = *p.header;
    CHECK(h.version == version);
    CHECK(h.alignment == 32);
    CHECK(h.data_begin == p.bytes.size() - pieces.data.size());
    REQUIRE(h.tensors.size() == 4);
    const Tensor& down = h.tensors[2];
    CHECK(down.name == "down");
    CHECK(down.type->name == "q6_k");
    CHECK(down.dimensions == std::vector<std::int64_t>{512, 3});
    CHECK(down.row_bytes() == 420);
    CHECK(down.begin == h.data_begin + 320);
    CHECK(down.end == down.begin + 1260);
    CHECK(h.tensor("experts")->rows() == 6);
    CHECK(h.tensor("absent") == nullptr);
  }
}

TEST_CASE("metadata of every type is read where it lies", "[gguf]") {
  const Parsed p = parse(good_pieces().bytes());
  REQUIRE(p.header);
  const auto number = [&](const char* key) { return p.header->find(key)->unsigned_integer(); };
  CHECK(p.header->find("general.architecture")->text() == "tiny");
  CHECK(number("a.u8") == 200U);
  CHECK(number("a.u16") == 60000U);
  CHECK(number("a.u32") == 4000000000U);
  CHECK(number("a.i32") == 7U);
  CHECK(number("a.u64") == 1ULL << 40);
  for (const char* none : {"a.i8", "a.i16", "a.i64", "a.f32", "a.f64", "a.bool", "tokens"})
    CHECK_FALSE(number(none));
  CHECK_FALSE(p.header->find("a.u8")->text());
  CHECK(p.header->find("b") == nullptr);
  const Value& tokens = *p.header->find("tokens");
  CHECK(tokens.element == ValueType::string);
  CHECK(tokens.count == 3);
  CHECK(tokens.bytes.size() == 3 * 8 + 4);
  const Value& nested = *p.header->find("nested");
  CHECK(nested.element == ValueType::array);
  CHECK(nested.bytes.size() == 12 + 8 + 12 + 9);
}

TEST_CASE("block sizes are ggml's", "[gguf]") {
  // Bytes of 256 elements, worked out from the structs of ggml-common.h.
  const std::pair<const char*, std::uint64_t> sizes[] = {
      {"f32", 1024}, {"f16", 512},    {"bf16", 512},  {"q4_0", 144},   {"q4_1", 160},   {"q5_0", 176},
      {"q5_1", 192}, {"q8_0", 272},   {"q2_k", 84},   {"q3_k", 110},   {"q4_k", 144},   {"q5_k", 176},
      {"q6_k", 210}, {"q8_k", 292},   {"iq1_s", 50},  {"iq1_m", 56},   {"iq2_xxs", 66}, {"iq2_xs", 74},
      {"iq2_s", 82}, {"iq3_xxs", 98}, {"iq3_s", 110}, {"iq4_nl", 144}, {"iq4_xs", 136}, {"tq1_0", 54},
      {"tq2_0", 66}, {"mxfp4", 136},  {"nvfp4", 144}, {"q1_0", 36}};
  for (const auto& [type, bytes] : sizes) {
    INFO(type);
    const auto all = all_types();
    const auto it = std::ranges::find(all, type, &TypeInfo::name);
    REQUIRE(it != all.end());
    CHECK(256 / it->block_elements * it->block_bytes == bytes);
  }
  for (const TypeInfo& type : all_types()) CHECK(find_type(type.number) == &type);
  CHECK(find_type(42) == nullptr);
}

TEST_CASE("what is no GGUF of ours is refused", "[gguf]") {
  Pieces p = good_pieces();
  p.magic = "GGJT";
  refused(p.bytes(), "the magic", "GGJT");
  p = good_pieces();
  p.version = 1;
  refused(p.bytes(), "the version", "1, whose counts have 32 bits", ErrorCode::unsupported);
  p.version = 4;
  refused(p.bytes(), "the version", "4", ErrorCode::unsupported);
  p.version = 0x03000000;
  refused(p.bytes(), "the version", "3, of a big-endian file", ErrorCode::unsupported);
  refused("", "the magic", "4 bytes at 0");
}

TEST_CASE("hostile counts and lengths are refused before anything is taken", "[gguf]") {
  const std::string head = "GGUF" + u32(3);
  refused(head + u64(1ULL << 63) + u64(0), "the number of tensors", "9223372036854775808");
  refused(head + u64(0) + u64(~0ULL), "the number of metadata values", "18446744073709551615");
  refused(head + u64(0) + u64(1) + u64(1ULL << 40) + std::string(64, 'k'), "metadata key 0",
          "1099511627776 bytes");
  entry_refused(text("") + u32(4) + u32(1), "metadata key 14's length", "0 bytes");
  entry_refused(text(std::string(65536, 'k')) + u32(4) + u32(1), "metadata key 14's length", "65536 bytes");
  entry_refused(entry("s", 8, u64(1ULL << 40) + "abc"), "metadata \"s\"", "1099511627776 bytes");
  entry_refused(entry("s", 8, u64(~0ULL) + "abc"), "metadata \"s\"", "18446744073709551615 bytes");
  entry_refused(entry("t", 13, u32(0)), "metadata \"t\"'s type", "13");
  entry_refused(entry("b", 7, std::string(1, '\2')), "metadata \"b\"", "the bool 2");
  entry_refused(entry("n", 9, array(4, 1ULL << 62, "")), "metadata \"n\"'s count", "4611686018427387904");
  entry_refused(entry("n", 9, array(8, 1ULL << 61, "")), "metadata \"n\"'s count", "2305843009213693952");
  entry_refused(entry("n", 9, array(14, 1, "")), "metadata \"n\"'s elements's type", "14");
  entry_refused(entry("n", 9, array(8, 1, u64(1ULL << 50))), "metadata \"n\"'s string", "1125899906842624");
  std::string deep = array(0, 0, "");
  for (int i = 0; i < 3; ++i) deep = array(9, 1, deep);
  CHECK(parse([&] {
          Pieces p = good_pieces();
          p.entries.push_back(entry("four", 9, deep));
          return p.bytes();
        }())
            .header);
  entry_refused(entry("five", 9, array(9, 1, deep)), "metadata \"five\"", "nested deeper");
  entry_refused(entry("a.u8", 0, "\1"), "metadata \"a.u8\"", "given twice");
}

TEST_CASE("an alignment is a power of two", "[gguf]") {
  for (const std::uint64_t wrong : {0U, 3U, 4U, 24U, 1U << 21, 1U << 31}) {
    INFO(wrong);
    entry_refused(entry("general.alignment", 4, u32(wrong)), "general.alignment", std::to_string(wrong));
  }
  entry_refused(entry("general.alignment", 10, u64(32)), "general.alignment", "32 (u64)");
  entry_refused(entry("general.alignment", 8, text("32")), "general.alignment", "of type string");
  Pieces p;
  p.alignment = 64;
  p.entries = {entry("general.alignment", 4, u32(64))};
  p.tensors = {tensor("a", {4}, 0, 0), tensor("b", {4}, 0, 64)};
  p.data = std::string(80, 'x');
  const Parsed parsed = parse(p.bytes());
  REQUIRE(parsed.header);
  CHECK(parsed.header->data_begin % 64 == 0);
  p.tensors[1] = tensor("b", {4}, 0, 32);
  refused(p.bytes(), "tensor \"b\".offset", "32");
}

TEST_CASE("a tensor that cannot be is refused by field", "[gguf]") {
  const auto dims = [](std::vector<std::uint64_t> d) { return tensor("z", d, 0, after); };
  tensor_refused(text("") + u32(1) + u64(4) + u32(0) + u64(after), "tensor 4's name", "0 bytes long");
  tensor_refused(tensor(std::string(65536, 'n'), {4}, 0, after), "tensor 4's name", "65536 bytes long");
  tensor_refused(text("z") + u32(~0U) + std::string(64, '\1'), "tensor \"z\".dimensions[", "8 bytes at");
  tensor_refused(dims({1ULL << 63}), "tensor \"z\".dimensions[0]", "9223372036854775808");
  tensor_refused(dims({1ULL << 62}), "tensor \"z\".dimensions", "2^63 - 1 bytes");
  tensor_refused(dims({1ULL << 32, 1ULL << 32}), "tensor \"z\".dimensions", "2^63 - 1 bytes");
  tensor_refused(dims({1ULL << 20, 1ULL << 20, 1ULL << 20, 1ULL << 20}), "tensor \"z\".dimensions",
                 "2^63 - 1 bytes");
  tensor_refused(tensor("norm", {4}, 0, after), "tensor \"norm\"", "given twice");
  tensor_refused(tensor("z", {4}, 0, after + 8), "tensor \"z\".offset", "1832");
  tensor_refused(tensor("z", {4}, 0, after), "tensor \"z\".offset", "1824, 16 bytes");
  tensor_refused(tensor("z", {4}, 0, 1ULL << 62), "tensor \"z\".offset", "4611686018427387904");
  tensor_refused(tensor("z", {4}, 0, ~0ULL - 31), "tensor \"z\".offset", "18446744073709551584");
  tensor_refused(tensor("z", {4}, 0, 64), "tensor \"z\".offset", "64");  // inside "up"
  tensor_refused(tensor("z", {256, 9}, 0, 0), "\".offset", "0");         // over "norm"
}

// What each tensor may say is ggml's gguf.cpp and docs/gguf.md; the size of the unusable one is not known, so
// places are those of the offsets, worked out by hand.
TEST_CASE("a tensor that nobody can read blocks no other", "[gguf]") {
  const auto unusable = [](const std::string& bytes, const std::string& name, const std::string& because,
                           const std::string& type) {
    INFO(name << " " << because);
    Pieces p = good_pieces();
    p.tensors.insert(p.tensors.begin() + 1, bytes);
    const Parsed parsed = parse(p.bytes());
    INFO((parsed.header ? "" : parsed.header.error().message));
    REQUIRE(parsed.header);
    REQUIRE(parsed.header->tensors.size() == 5);
    const Tensor& t = *parsed.header->tensor(name);
    CHECK(t.unusable == because);
    CHECK(t.type_name() == type);
    for (const char* other : {"norm", "up", "down", "experts"})
      CHECK(parsed.header->tensor(other)->unusable.empty());
    CHECK(parsed.header->tensor("up")->begin == parsed.header->data_begin + 32);
    CHECK(parsed.header->tensor("up")->end == parsed.header->data_begin + 32 + 288);
  };
  for (const std::uint32_t number : {42U, 137U, 999999U, ~0U})
    unusable(tensor("z", {4, 3}, number, after), "z", fmt::format("type {} unknown", number),
             fmt::format("type {}", number));
  for (const std::uint32_t number : {4U, 5U, 31U, 32U, 33U, 36U, 37U, 38U})
    unusable(tensor("z", {32}, number, after), "z",
             fmt::format("type {} ({}) retired", number, find_type(number)->name),
             std::string(find_type(number)->name));
  unusable(tensor("z", {1, 1, 1, 1, 1}, 0, after), "z", "5 dimensions, not 1 to 4", "f32");
  unusable(tensor("z", {}, 0, after), "z", "0 dimensions, not 1 to 4", "f32");
  unusable(tensor("z", {4, 0}, 0, after), "z", "no elements: a dimension is 0", "f32");
  unusable(tensor("z", {128}, 12, after), "z", "rows of 128 elements, no multiple of 256, the block of q4_k",
           "q4_k");
  // Wherever it says that it lies: within another, at its beginning, or beyond the file.
  for (const std::uint64_t offset : {0ULL, 32ULL, 64ULL, 1ULL << 40})
    unusable(tensor("z", {1ULL << 62, 1ULL << 62}, 137, offset), "z", "type 137 unknown", "type 137");
  // A name longer than ggml's own programs write.
  unusable(tensor(std::string(100, 'n'), {4}, 137, after), std::string(100, 'n'), "type 137 unknown",
           "type 137");
}

TEST_CASE("an unknown tensor ends at most where the next begins, and hides no overlap of others", "[gguf]") {
  Pieces p;
  p.tensors = {tensor("a", {4}, 0, 0), tensor("u", {4}, 137, 32), tensor("b", {4}, 0, 96),
               tensor("v", {4}, 138, 128)};
  p.data = std::string(160, 'x');
  const Parsed parsed = parse(p.bytes());
  REQUIRE(parsed.header);
  const auto size = [&](const char* name) {
    return parsed.header->tensor(name)->end - parsed.header->tensor(name)->begin;
  };
  CHECK(size("u") == 64);
  CHECK(size("v") == 32);
  p.tensors[2] = tensor("b", {4}, 0, 160);
  refused(p.bytes(), "tensor \"b\".offset", "160, 16 bytes");
  p.tensors = {tensor("a", {16}, 0, 0), tensor("u", {4}, 137, 32), tensor("b", {4}, 0, 32)};
  refused(p.bytes(), "tensor \"b\".offset", "32");
}

TEST_CASE("a header alone is read when data may be absent, but not with tensors beyond 2^63", "[gguf]") {
  Pieces p = good_pieces();
  p.data.clear();
  refused(p.bytes(), "tensor \"norm\".offset", "0, 16 bytes");
  CHECK(parse(p.bytes(), Data::may_be_absent).header);
  p.tensors.push_back(tensor("z", {4}, 0, (1ULL << 63) - 64));
  const Parsed far = parse(p.bytes(), Data::may_be_absent);
  REQUIRE_FALSE(far.header);
  CHECK(far.header.error().field == "x.gguf: tensor \"z\".offset");
}

TEST_CASE("a gap between tensors and a tail without padding are taken", "[gguf]") {
  Pieces p;
  p.tensors = {tensor("b", {4}, 0, 96), tensor("a", {4}, 0, 0)};  // not in the order of their data
  p.data = std::string(96 + 16, 'x');
  CHECK(parse(p.bytes()).header);
  p.data.pop_back();
  refused(p.bytes(), "tensor \"b\".offset", "96, 16 bytes");
}

TEST_CASE("a GGUF without tensors or metadata is read", "[gguf]") {
  const Parsed p = parse(Pieces{}.bytes());
  REQUIRE(p.header);
  CHECK(p.header->tensors.empty());
}

TEST_CASE("names from a GGUF cannot control a terminal", "[gguf]") {
  Pieces p = good_pieces();
  p.tensors.push_back(tensor("\x1b[31m\x9b", {4}, 0, after + 8));
  const Parsed parsed = parse(p.bytes());
  REQUIRE_FALSE(parsed.header);
  CHECK(parsed.header.error().message.find('\x1b') == std::string::npos);
  CHECK(parsed.header.error().message.find('\x9b') == std::string::npos);
}

TEST_CASE("every truncation of a GGUF is refused", "[gguf]") {
  const std::string file = good_pieces().bytes();
  REQUIRE(parse(file).header);
  for (std::size_t length = 0; length < file.size(); ++length) {
    INFO(length);
    REQUIRE_FALSE(parse(file.substr(0, length)).header);
  }
}
