// SPDX-License-Identifier: MIT
// Sizes that a plan states, running in place, many threads, and the conversion of scales (against the
// oracle's own rounding, tests/oracle/format.cpp).
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/repack/problem.hpp"
#include "tests/harness/checkpoint.hpp"
#include "tests/oracle/format.hpp"

using namespace wavejit;
using namespace wavejit::repack;
using namespace wavejit::repack::test;

TEST_CASE("a plan states the sizes of its outputs", "[repack]") {
  const Checkpoint c = random_checkpoint(Format::compressed_tensors, 12, 100, 50, {.zero_points = true}, 4);
  Destination d = destination_of(c);
  d.weight_stride = 16;
  d.scale_stride = 3;
  const auto p = plan(c.source(), d);
  REQUIRE(p);
  CHECK(p->weights.rows == 12);
  CHECK(p->weights.row_bytes == 52);  // ceil(100/8) words
  CHECK(p->weights.stride_bytes == 64);
  CHECK(p->weights.bytes == 11 * 64 + 52);
  CHECK(p->weights.alignment == 4);
  CHECK(p->scales.bytes == 11 * 6 + 4);
  CHECK(p->scales.alignment == 2);
  CHECK(p->zero_points.rows == 2);
  CHECK(p->zero_points.bytes == 2 * 2 * 4);
  CHECK(p->scratch_bytes == 0);
}

TEST_CASE("a destination comes from a kernel's problem", "[repack]") {
  templates::Problem problem;
  problem.n = 72;
  problem.k = 256;
  problem.group = 64;
  problem.weight_stride = 40;
  problem.scale_stride = 6;
  const Destination d = destination(problem);
  CHECK(d.n == 72);
  CHECK(d.k == 256);
  CHECK(d.group == 64);
  CHECK(d.weight_stride == 40);
  CHECK(d.scale_stride == 6);
  CHECK(d.scales == Dtype::bf16);
  CHECK(d.zero_points == ZeroPoints::symmetric);
  problem.activation = templates::DataType::f16;
  problem.zero_points = templates::ZeroPoints::packed;
  problem.zero_point_stride = 7;
  CHECK(destination(problem).zero_point_stride == 7);
  CHECK(destination(problem).scales == Dtype::f16);
  CHECK(destination(problem).zero_points == ZeroPoints::asymmetric);
}

TEST_CASE("formats that run along K repack in place", "[repack]") {
  struct Sample {
    Format format;
    Options options;
  };
  const Sample samples[] = {
      {Format::compressed_tensors, {.zero_points = true, .gap_bytes = 8}},
      {Format::row_major, {.weight_type = Dtype::u8}},
      {Format::mslk, {.zero_points = true, .scale_type = Dtype::f32, .gap_bytes = 4}},
  };
  for (const Sample& s : samples) {
    Checkpoint c = random_checkpoint(s.format, 300, 256, 32, s.options, 21);
    Destination d = destination_of(c);
    d.weight_stride = c.weights.stride / 4;
    const Repacked apart = repacked(c.source(), d);
    const auto p = plan(c.source(), d);
    REQUIRE(p);
    CHECK(p->weights.in_place);
    CHECK(p->weights.not_in_place_because.empty());
    Repacked memory(*p);
    Outputs outputs = memory.outputs();
    outputs.weights = c.weights.memory();
    REQUIRE(run(*p, outputs, 3));
    for (std::int64_t n = 0; n < c.n; ++n)
      for (std::int64_t w = 0; w < c.k / 8; ++w) {
        const std::int64_t at = n * c.weights.stride + w * 4;
        std::uint32_t word;
        std::memcpy(&word, c.weights.memory().data() + at, 4);
        REQUIRE(word == apart.word(n, w));
      }
  }
}

TEST_CASE("scales and zero points convert in place where their rows are the same", "[repack]") {
  Checkpoint c = random_checkpoint(Format::compressed_tensors, 20, 128, 32, {.zero_points = true}, 22);
  const Destination d = destination_of(c);
  const Repacked apart = repacked(c.source(), d);
  const auto p = plan(c.source(), d);
  REQUIRE(p);
  CHECK(p->scales.in_place);
  CHECK(p->zero_points.in_place);
  Repacked memory(*p);
  REQUIRE(run(*p, {memory.outputs().weights, c.scales.memory(), c.zero_points->memory()}, 2));
  for (std::int64_t n = 0; n < 20; ++n)
    for (std::int64_t g = 0; g < 4; ++g) {
      CHECK(c.scales.get(n, g) == apart.scale_bits(n, g));
      CHECK(c.zero_points->get(n / 8, g) == apart.zero_point_word(n / 8, g));
    }
}

TEST_CASE("a plan says why not in place", "[repack]") {
  const auto planned = [](Format format, const Options& options, std::int64_t k, std::int64_t weight_stride) {
    const Checkpoint c = random_checkpoint(format, 16, k, k, options, 23);
    Destination d = destination_of(c);
    d.weight_stride = weight_stride;
    d.zero_points = ZeroPoints::asymmetric;
    return plan(c.source(), d).value();
  };
  for (const Format format : {Format::awq, Format::gptq_v1}) {
    const Plan p = planned(format, {.zero_points = true}, 64, 0);
    for (const Output* o : {&p.weights, &p.scales, &p.zero_points}) {
      CHECK_FALSE(o->in_place);
      CHECK(o->not_in_place_because.find("other dimension") != std::string::npos);
    }
  }
  const Plan padded = planned(Format::compressed_tensors, {.scale_type = Dtype::f32}, 64, 12);
  CHECK(padded.weights.not_in_place_because ==
        "rows of the source are 32 bytes apart, those of the output 48");
  CHECK(padded.scales.not_in_place_because == "a row of the source has 4 bytes, one of the output 2");
  CHECK(padded.zero_points.not_in_place_because == "the source has no such tensor");
  const Plan bytes = planned(Format::row_major, {.weight_type = Dtype::u8}, 60, 0);
  CHECK(bytes.weights.not_in_place_because == "a row of the source has 30 bytes, one of the output 32");
}

TEST_CASE("in place means at the very base", "[repack]") {
  Checkpoint c = random_checkpoint(Format::compressed_tensors, 16, 64, 32, {.gap_bytes = 4}, 24);
  Destination d = destination_of(c);
  d.weight_stride = 9;
  Source source = c.source();
  source.weights.shape = {15, 8};
  source.scales.shape = {15, 2};
  d.n = 15;
  const auto p = plan(source, d);
  REQUIRE(p);
  REQUIRE(p->weights.in_place);
  Repacked memory(*p);
  const auto ok = run(*p, {c.weights.memory().subspan(36), memory.outputs().scales, {}}, 1);
  REQUIRE_FALSE(ok);
  CHECK(ok.error().field == "outputs.weights");
  CHECK(memory.untouched());
}

TEST_CASE("any number of threads writes the same bytes", "[repack]") {
  for (const Format format : {Format::awq, Format::gptq_v1, Format::compressed_tensors}) {
    const Checkpoint c = random_checkpoint(format, 1032, 2048, 32, {.zero_points = true}, 25);
    const Destination d = destination_of(c);
    const Repacked one = repacked(c.source(), d, 1);
    for (const unsigned threads : {0U, 2U, 7U, 64U}) CHECK(one == repacked(c.source(), d, threads));
  }
}

namespace {

oracle::Format oracle_format(Dtype type) {
  return type == Dtype::f16 ? oracle::Format::f16 : oracle::Format::bf16;
}

/// `values` as scales of one group, through repacking, against encode(); counts included.
void check_conversion(Dtype from, Dtype to, const std::vector<std::uint32_t>& bits) {
  const auto n = static_cast<std::int64_t>(bits.size());
  Checkpoint c = blank_checkpoint(Format::compressed_tensors, n, 8, 8, {.scale_type = from});
  std::int64_t rounded = 0, vanished = 0;
  std::vector<std::uint16_t> expected;
  for (std::int64_t i = 0; i < n; ++i) {
    c.scales.set(i, 0, bits[static_cast<std::size_t>(i)]);
    const double before = c.scales.number(i, 0);
    expected.push_back(oracle::encode(before, oracle_format(to)));
    const double after = oracle::decode(expected.back(), oracle_format(to));
    rounded += !std::isnan(before) && before != after;
    vanished += before != 0 && after == 0;
  }
  const auto p = plan(c.source(), destination_of(c, to));
  REQUIRE(p);
  CHECK(p->scale_conversion.rounded == rounded);
  CHECK(p->scale_conversion.vanished == vanished);
  CHECK(p->scale_conversion.exact == (rounded == 0));
  const Repacked r = repacked(c.source(), destination_of(c, to));
  for (std::int64_t i = 0; i < n; ++i) {
    if (std::isnan(c.scales.number(i, 0))) {
      REQUIRE(std::isnan(r.scale(i, 0)));
      continue;
    }
    INFO("bits " << bits[static_cast<std::size_t>(i)]);
    REQUIRE(r.scale_bits(i, 0) == expected[static_cast<std::size_t>(i)]);
  }
}

std::vector<std::uint32_t> all_16_bit(Dtype from, Dtype to) {
  std::vector<std::uint32_t> bits;
  for (std::uint32_t b = 0; b < 0x10000; ++b) {
    const double value = oracle::decode(static_cast<std::uint16_t>(b), oracle_format(from));
    if (std::isinf(value) || !(std::fabs(value) >= oracle::overflow_threshold(oracle_format(to))))
      bits.push_back(b);
  }
  return bits;
}

}  // namespace

TEST_CASE("each f16 and bf16 scale converts to the nearest, ties to even", "[repack]") {
  check_conversion(Dtype::f16, Dtype::bf16, all_16_bit(Dtype::f16, Dtype::bf16));
  check_conversion(Dtype::bf16, Dtype::f16, all_16_bit(Dtype::bf16, Dtype::f16));
}

TEST_CASE("f32 scales convert to the nearest, ties to even", "[repack]") {
  for (const Dtype to : {Dtype::bf16, Dtype::f16}) {
    std::vector<std::uint32_t> bits{0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00001, 1, 0x007FFFFF};
    std::mt19937 random(31);
    const std::uint32_t low_bits = to == Dtype::bf16 ? 16 : 13;
    for (int i = 0; i < 20000; ++i) {
      // Random, exact ties, and one unit off a tie, over f16's range and its subnormals.
      const std::uint32_t exponent = 127 - 28 + random() % 43;
      std::uint32_t b = (random() & 0x80000000U) | exponent << 23 | (random() & 0x7FFFFFU);
      if (i % 4 != 0) b = b >> low_bits << low_bits | 1U << (low_bits - 1);
      if (i % 4 == 2) ++b;
      if (i % 4 == 3) --b;
      if (std::fabs(std::bit_cast<float>(b)) < 65520.0F) bits.push_back(b);
    }
    check_conversion(Dtype::f32, to, bits);
  }
}

TEST_CASE("scales of the same type keep their bits", "[repack]") {
  for (const Dtype type : {Dtype::f16, Dtype::bf16}) {
    Checkpoint c = blank_checkpoint(Format::compressed_tensors, 0x10000, 8, 8, {.scale_type = type});
    for (std::int64_t b = 0; b < 0x10000; ++b) c.scales.set(b, 0, static_cast<std::uint64_t>(b));
    const Repacked r = repacked(c.source(), destination_of(c, type));
    for (std::int64_t b = 0; b < 0x10000; ++b) REQUIRE(r.scale_bits(b, 0) == b);
  }
}

TEST_CASE("a scale that would overflow is refused by place", "[repack]") {
  const auto refused = [](Dtype from, Dtype to, double value) {
    Checkpoint c = blank_checkpoint(Format::gptq_v2, 8, 16, 8, {.scale_type = from});
    c.scales.set_number(1, 5, value);
    const auto p = plan(c.source(), destination_of(c, to));
    if (p) return false;
    CHECK(p.error().code == ErrorCode::unsupported);
    CHECK(p.error().field == "scales[row 5, group 1]");
    return true;
  };
  CHECK(refused(Dtype::bf16, Dtype::f16, 65536));
  CHECK(refused(Dtype::f32, Dtype::f16, -65520));
  CHECK_FALSE(refused(Dtype::f32, Dtype::f16, 65519.99));
  CHECK(refused(Dtype::f32, Dtype::bf16, std::numeric_limits<float>::max()));
  CHECK_FALSE(refused(Dtype::f32, Dtype::f16, std::numeric_limits<double>::infinity()));
}
