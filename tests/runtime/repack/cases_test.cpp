// SPDX-License-Identifier: MIT
// Rows of shared/cases.md that touch repacking: failures that others have met, with the products that
// the table derives for them.
#include <catch2/catch.hpp>
#include <functional>

#include "tests/harness/checkpoint.hpp"

using namespace wavejit;
using namespace wavejit::repack;
using namespace wavejit::repack::test;

namespace {

void set_nibbles(Checkpoint& c, const std::function<unsigned(std::int64_t n, std::int64_t k)>& nibble) {
  REQUIRE((c.format == Format::gptq_v1 || c.format == Format::gptq_v2));
  for (std::int64_t r = 0; r < c.k / 8; ++r)
    for (std::int64_t n = 0; n < c.n; ++n) {
      std::uint64_t word = 0;
      for (unsigned i = 0; i < 8; ++i) word |= std::uint64_t{nibble(n, 8 * r + i)} << (4 * i);
      c.weights.set(r, n, word);
    }
}

/// Row n of the product with activations x[k] that were gathered by the plan's order.
double product(const Repacked& r, const Checkpoint& c, std::int64_t n, const std::vector<double>& x) {
  double sum = 0;
  for (std::int64_t k = 0; k < c.k; ++k) sum += x[static_cast<std::size_t>(k)] * r.weight(n, k);
  return sum;
}

std::vector<double> ones(std::int64_t k) { return std::vector<double>(static_cast<std::size_t>(k), 1.0); }

Matrix column_groups(const std::vector<std::int32_t>& g_idx) {
  Matrix m(Dtype::i32, 1, static_cast<std::int64_t>(g_idx.size()));
  for (std::size_t k = 0; k < g_idx.size(); ++k)
    m.set(0, static_cast<std::int64_t>(k), static_cast<std::uint32_t>(g_idx[k]));
  return m;
}

}  // namespace

TEST_CASE("row 8: a v1 zero point of 15 is refused by column and group, and carries nowhere",
          "[repack][cases]") {
  Checkpoint c = blank_checkpoint(Format::gptq_v1, 8, 32, 32, {.zero_points = true});
  set_nibbles(c, [](std::int64_t, std::int64_t) { return 8U; });
  c.zero_points->set(0, 0, 0x7777777F);
  const auto refused = plan(c.source(), destination_of(c));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::unsupported);
  CHECK(refused.error().field == "zero_points[group 0, column 0]");

  // One less is z = 15, and its neighbours stay 8.
  c.zero_points->set(0, 0, 0x7777777E);
  const Repacked r = repacked(c.source(), destination_of(c));
  CHECK(product(r, c, 0, ones(32)) == 32.0 * (8 - 15));
  for (std::int64_t n = 1; n < 8; ++n) CHECK(product(r, c, n, ones(32)) == 0.0);
}

TEST_CASE("row 8: the refusal names the right place in a larger tensor", "[repack][cases]") {
  Checkpoint c = blank_checkpoint(Format::gptq_v1, 24, 128, 32, {.zero_points = true});
  c.zero_points->set(3, 2, 0x00F00000);
  const auto refused = plan(c.source(), destination_of(c));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().field == "zero_points[group 3, column 21]");
  c.format = Format::gptq_v2;  // where 15 is 15
  CHECK(repacked(c.source(), destination_of(c)).zero_point(21, 3) == 15);
}

TEST_CASE("row 9: a symmetric GPTQ layer without zero points means 8", "[repack][cases]") {
  for (const Format format : {Format::gptq_v1, Format::gptq_v2}) {
    Checkpoint c = blank_checkpoint(format, 16, 64, 32);
    set_nibbles(c, [](std::int64_t, std::int64_t k) { return static_cast<unsigned>(k % 16); });
    const Repacked r = repacked(c.source(), destination_of(c));
    for (std::int64_t n = 0; n < 16; ++n) CHECK(product(r, c, n, ones(64)) == -32.0);
  }
}

TEST_CASE("row 10: zero points are not read transposed where both shapes are 4 x 4", "[repack][cases]") {
  for (const Format format : {Format::gptq_v2, Format::compressed_tensors}) {
    Checkpoint c = blank_checkpoint(format, 32, 128, 32, {.zero_points = true});
    c.weights.fill(0xFFFFFFFF);
    for (std::int64_t block = 0; block < 4; ++block)
      for (std::int64_t g = 0; g < 4; ++g) {
        std::uint64_t word = 0;
        for (std::int64_t i = 0; i < 8; ++i)
          word |= static_cast<std::uint64_t>((3 * (8 * block + i) + g) % 16) << (4 * i);
        format == Format::gptq_v2 ? c.zero_points->set(g, block, word) : c.zero_points->set(block, g, word);
      }
    const Repacked r = repacked(c.source(), destination_of(c));
    for (std::int64_t n = 0; n < 32; ++n) {
      double expected = 0;
      for (std::int64_t g = 0; g < 4; ++g) expected += 32.0 * static_cast<double>(15 - (3 * n + g) % 16);
      CHECK(product(r, c, n, ones(128)) == expected);
    }
  }
}

TEST_CASE("row 11: zero points as floats are refused by type", "[repack][cases]") {
  for (const Format format :
       {Format::awq, Format::gptq_v1, Format::gptq_v2, Format::compressed_tensors, Format::row_major}) {
    Checkpoint c = blank_checkpoint(format, 16, 64, 32, {.zero_points = true});
    c.zero_points = Matrix(Dtype::f16, 16, 2);
    const auto refused = plan(c.source(), destination_of(c));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().field == "zero_points.dtype");
    CHECK(refused.error().given == "f16");
    CHECK(refused.error().allowed.find("i32") != std::string::npos);
  }
}

TEST_CASE("row 12: redundant zero points of a symmetric checkpoint are ignored", "[repack][cases]") {
  const auto identical = [](Format format, std::uint64_t stored) {
    Checkpoint c = random_checkpoint(format, 64, 128, 32, {}, 12);
    const Repacked without = repacked(c.source(), destination_of(c));
    c.zero_points = blank_checkpoint(format, 64, 128, 32, {.zero_points = true}).zero_points;
    c.zero_points->fill(stored);
    return without == repacked(c.source(), destination_of(c));
  };
  CHECK(identical(Format::gptq_v1, 0x77777777));
  CHECK(identical(Format::gptq_v2, 0x88888888));
  CHECK(identical(Format::awq, 0x88888888));
  CHECK(identical(Format::compressed_tensors, 0x88888888));
}

TEST_CASE("row 12: redundant zero points that are not 8 are refused, and taken when declared",
          "[repack][cases]") {
  Checkpoint c = blank_checkpoint(Format::gptq_v1, 64, 128, 32, {.zero_points = true});
  c.zero_points->fill(0x77777777);
  c.zero_points->set(1, 3, 0x77577777);
  c.declared = ZeroPoints::symmetric;
  const auto refused = plan(c.source(), destination_of(c));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().field == "zero_points[group 1, column 29]");
  CHECK(refused.error().given == "6");

  c.declared = ZeroPoints::asymmetric;
  CHECK(repacked(c.source(), destination_of(c)).zero_point(29, 1) == 6);

  // An asymmetric source does not fit a symmetric kernel unless it says 8 everywhere.
  Destination symmetric = destination_of(c);
  symmetric.zero_points = ZeroPoints::symmetric;
  const auto unfit = plan(c.source(), symmetric);
  REQUIRE_FALSE(unfit);
  CHECK(unfit.error().field == "zero_points[group 1, column 29]");
  c.zero_points->fill(0x77777777);
  CHECK(repacked(c.source(), symmetric).zero_point(29, 1) == 8);
}

TEST_CASE("row 13: N not a multiple of 8 uses the low nibbles of the last word", "[repack][cases]") {
  Checkpoint c = blank_checkpoint(Format::compressed_tensors, 12, 32, 32, {.zero_points = true});
  c.weights.fill(0xFFFFFFFF);
  c.zero_points->set(0, 0, 0x76543210);
  c.zero_points->set(1, 0, 0xDEADBA98);  // padding is not zero: it must not matter
  const Repacked r = repacked(c.source(), destination_of(c));
  for (std::int64_t n = 0; n < 8; ++n)
    CHECK(product(r, c, n, ones(32)) == 32.0 * static_cast<double>(15 - n));
  for (std::int64_t n = 8; n < 12; ++n)
    CHECK(product(r, c, n, ones(32)) == 32.0 * static_cast<double>(15 - n));
  CHECK(r.zero_point_word(1, 0) == 0x0000BA98);

  // Padding that is not 8 makes no symmetric checkpoint asymmetric.
  c.zero_points->set(0, 0, 0x88888888);
  c.zero_points->set(1, 0, 0x12348888);
  c.declared = ZeroPoints::symmetric;
  CHECK(plan(c.source(), destination_of(c)));
}

TEST_CASE("row 17: an AWQ group of 64 is not taken for 128", "[repack][cases]") {
  Checkpoint c = blank_checkpoint(Format::awq, 8, 128, 64, {.zero_points = true});
  c.weights.fill(0x11111111);
  for (std::int64_t n = 0; n < 8; ++n) c.scales.set_number(1, n, 3.0);
  const Repacked r = repacked(c.source(), destination_of(c));
  for (std::int64_t n = 0; n < 8; ++n) CHECK(product(r, c, n, ones(128)) == 256.0);
}

TEST_CASE("row 54: act-order groups are sorted, with their activations, or refused", "[repack][cases]") {
  for (const Dtype type : {Dtype::bf16, Dtype::f16}) {
    Checkpoint c = blank_checkpoint(Format::gptq_v2, 8, 64, 32, {.zero_points = true});
    c.weights.fill(0x11111111);
    std::vector<std::int32_t> g_idx;
    for (std::int32_t k = 0; k < 64; ++k) g_idx.push_back(k % 2);
    c.g_idx = column_groups(g_idx);
    for (std::int64_t n = 0; n < 8; ++n) c.scales.set_number(1, n, 10.0);
    Destination d = destination_of(c, type);
    const auto refused = plan(c.source(), d);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::unsupported);
    CHECK(refused.error().field == "g_idx");

    d.gathers_activations = true;
    const auto p = plan(c.source(), d);
    REQUIRE(p);
    std::vector<double> x;
    for (const std::int32_t k : p->permutation) x.push_back(k);
    const Repacked r = repacked(c.source(), d);
    for (std::int64_t n = 0; n < 8; ++n) CHECK(product(r, c, n, x) == 11232.0);
  }
}

TEST_CASE("row 55: a row shard is refused at plan time, never grouped plainly", "[repack][cases]") {
  Checkpoint c = blank_checkpoint(Format::gptq_v1, 8, 64, 32);
  Destination d = destination_of(c, Dtype::bf16);
  d.gathers_activations = true;
  const auto refusal = [&](const std::vector<std::int32_t>& g_idx) {
    c.g_idx = column_groups(g_idx);
    const auto p = plan(c.source(), d);
    REQUIRE_FALSE(p);
    CHECK(p.error().code == ErrorCode::unsupported);
    return p.error().field;
  };
  std::vector<std::int32_t> sorted_shard, act_order_shard, negative;
  for (std::int32_t k = 0; k < 64; ++k) {
    sorted_shard.push_back(7 + k / 32);
    act_order_shard.push_back(k % 3 == 0 ? 0 : 1);  // 22 columns of group 0, 42 of group 1
    negative.push_back(k < 32 ? -1 : 0);
  }
  CHECK(refusal(sorted_shard) == "g_idx[0]");
  CHECK(refusal(act_order_shard) == "g_idx");
  CHECK(refusal(negative) == "g_idx[0]");
}
