// SPDX-License-Identifier: MIT
// Words worked out by hand from domain.md §1: a nibble's value is its K offset or column wherever possible,
// so that an order can be read off the word.
#include <array>
#include <catch2/catch.hpp>

#include "tests/harness/checkpoint.hpp"

using namespace wavejit::repack;
using namespace wavejit::repack::test;

TEST_CASE("sequential nibbles become 0,2,4,6,1,3,5,7", "[repack][golden]") {
  for (const Format format : {Format::compressed_tensors, Format::row_major}) {
    Checkpoint c = blank_checkpoint(format, 1, 16, 16);
    c.weights.set(0, 0, 0x76543210);
    c.weights.set(0, 1, 0xFEDCBA98);
    const Repacked r = repacked(c.source(), destination_of(c));
    CHECK(r.word(0, 0) == 0x75316420);
    CHECK(r.word(0, 1) == 0xFDB9ECA8);
  }
  Checkpoint c = blank_checkpoint(Format::gptq_v1, 2, 16, 16);
  c.weights.set(0, 0, 0x76543210);
  c.weights.set(1, 1, 0xFEDCBA98);
  const Repacked r = repacked(c.source(), destination_of(c));
  CHECK(r.word(0, 0) == 0x75316420);
  CHECK(r.word(0, 1) == 0);
  CHECK(r.word(1, 0) == 0);
  CHECK(r.word(1, 1) == 0xFDB9ECA8);
}

TEST_CASE("AWQ words run along N and are interleaved", "[repack][golden]") {
  // Column 0 (shift 0) holds k, column 1 (shift 16) 15 - k, column 2 (shift 4) 3, column 7 (shift 28) 12.
  Checkpoint c = blank_checkpoint(Format::awq, 8, 8, 8);
  for (std::uint32_t k = 0; k < 8; ++k) c.weights.set(k, 0, 0xC0000030U | k | (15 - k) << 16);
  const Repacked r = repacked(c.source(), destination_of(c));
  constexpr std::array<std::uint32_t, 8> expected{0x75316420, 0x8ACE9BDF, 0x33333333, 0, 0, 0, 0, 0xCCCCCCCC};
  for (std::int64_t n = 0; n < 8; ++n) CHECK(r.word(n, 0) == expected[static_cast<std::size_t>(n)]);
}

TEST_CASE("MSLK nibbles are two's complement, low nibble first", "[repack][golden]") {
  // q = -8 .. 7 in K order.
  constexpr std::array<unsigned, 8> bytes{0x98, 0xBA, 0xDC, 0xFE, 0x10, 0x32, 0x54, 0x76};
  Checkpoint c = blank_checkpoint(Format::mslk, 1, 16, 16, {.scale_type = Dtype::bf16});
  for (std::int64_t i = 0; i < 8; ++i) c.weights.set(0, i, bytes[static_cast<std::size_t>(i)]);
  const Repacked r = repacked(c.source(), destination_of(c));
  CHECK(r.word(0, 0) == 0x75316420);
  CHECK(r.word(0, 1) == 0xFDB9ECA8);
}

TEST_CASE("what lies beyond K in a word is dropped", "[repack][golden]") {
  Checkpoint c = blank_checkpoint(Format::compressed_tensors, 1, 5, 5);
  c.weights.set(0, 0, 0xFFF43210);
  CHECK(repacked(c.source(), destination_of(c)).word(0, 0) == 0x00310420);

  Checkpoint signed_tail = blank_checkpoint(Format::mslk, 1, 2, 2, {.scale_type = Dtype::bf16});
  signed_tail.weights.set(0, 0, 0x7F);  // q = -1, 7
  CHECK(repacked(signed_tail.source(), destination_of(signed_tail)).word(0, 0) == 0x000F0007);
}

TEST_CASE("zero points come out with row n in nibble n", "[repack][golden]") {
  const auto word = [](Format format, std::uint32_t stored) {
    Checkpoint c = blank_checkpoint(format, 8, 8, 8, {.zero_points = true});
    c.zero_points->set(0, 0, stored);
    return repacked(c.source(), destination_of(c)).zero_point_word(0, 0);
  };
  CHECK(word(Format::awq, 0x86427531) == 0x87654321);
  CHECK(word(Format::gptq_v1, 0x76543210) == 0x87654321);
  CHECK(word(Format::gptq_v1, 0xE7E7E70E) == 0xF8F8F81F);
  CHECK(word(Format::gptq_v2, 0xFEDCBA98) == 0xFEDCBA98);
  CHECK(word(Format::compressed_tensors, 0xFEDCBA98) == 0xFEDCBA98);
  CHECK(word(Format::row_major, 0x00FF1234) == 0x00FF1234);
}

TEST_CASE("MSLK zero points become integers: 8 - z/s", "[repack][golden]") {
  Checkpoint c = blank_checkpoint(Format::mslk, 8, 8, 8, {.zero_points = true, .scale_type = Dtype::f32});
  constexpr std::array<double, 8> s{1, 0.5, 2, 0.75, -1, 3, 0, 0.1};
  constexpr std::array<double, 8> z{8, 4, -14, 0, 2, -3, 0, 0};
  for (std::int64_t n = 0; n < 8; ++n) {
    c.scales.set_number(0, n, s[static_cast<std::size_t>(n)]);
    c.zero_points->set_number(0, n, z[static_cast<std::size_t>(n)]);
  }
  // 8-8, 8-8, 8+7, 8, 8+2, 8+1, 8, 8
  CHECK(repacked(c.source(), destination_of(c)).zero_point_word(0, 0) == 0x889A8F00);
}

TEST_CASE("scales are transposed and converted", "[repack][golden]") {
  Checkpoint c = blank_checkpoint(Format::awq, 8, 16, 8);
  c.scales.set(0, 3, 0x3E00);  // 1.5
  c.scales.set(1, 3, 0xC000);  // -2
  const Repacked bf16 = repacked(c.source(), destination_of(c, Dtype::bf16));
  CHECK(bf16.scale_bits(3, 0) == 0x3FC0);
  CHECK(bf16.scale_bits(3, 1) == 0xC000);
  CHECK(bf16.scale_bits(2, 0) == 0x3F80);
  const Repacked f16 = repacked(c.source(), destination_of(c, Dtype::f16));
  CHECK(f16.scale_bits(3, 0) == 0x3E00);
  CHECK(f16.scale_bits(2, 1) == 0x3C00);
}

TEST_CASE("recommended strides follow domain.md §1.5", "[repack][golden]") {
  const auto weights = [](PaddingRule rule, std::int64_t row) {
    return recommended_stride(rule, PaddedTensor::weights, row);
  };
  CHECK(weights(PaddingRule::none, 1024) == 1024);
  CHECK(weights(PaddingRule::upstream, 1024) == 1152);
  CHECK(weights(PaddingRule::upstream, 2048) == 2176);
  CHECK(weights(PaddingRule::upstream, 1280) == 1280);
  CHECK(weights(PaddingRule::upstream, 512) == 512);
  CHECK(weights(PaddingRule::fork, 1024) == 1280);
  CHECK(weights(PaddingRule::fork, 1280) == 1280);  // K 2560: 256 over 512
  CHECK(weights(PaddingRule::fork, 640) == 640);
  CHECK(weights(PaddingRule::fork, 520) == 640);
  CHECK(weights(PaddingRule::fork, 1000) == 1152);  // 1024 is a multiple of 512
  CHECK(weights(PaddingRule::fork, 16) == 128);
  // Row 43 of shared/cases.md: K 8192 in groups of 32 has a scale row of 512 bytes, and 320 elements of
  // stride.
  CHECK(recommended_stride(PaddingRule::fork, PaddedTensor::scales, 512) == 320 * 2);
  CHECK(recommended_stride(PaddingRule::fork, PaddedTensor::scales, 160) == 160);
  CHECK(recommended_stride(PaddingRule::upstream, PaddedTensor::scales, 512) == 512);
  CHECK(recommended_stride(PaddingRule::upstream, PaddedTensor::activations, 4096) == 4224);
  CHECK(recommended_stride(PaddingRule::upstream, PaddedTensor::activations, 5120) == 5120);
}
