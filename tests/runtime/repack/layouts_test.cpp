// SPDX-License-Identifier: MIT
// Random checkpoints of every format through repacking: each weight read back as a kernel reads it must be
// worth what the format's definition says (checkpoint.cpp, from domain.md §1), for shapes with and without
// tails, gaps between rows on both sides, and any number of threads.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/harness/checkpoint.hpp"

using namespace wavejit::repack;
using namespace wavejit::repack::test;

namespace {

/// The first element that differs, or "".
std::string difference(const Checkpoint& c, const Destination& d, const Repacked& r,
                       const std::vector<std::int32_t>& order = {}) {
  for (std::int64_t n = 0; n < c.n; ++n)
    for (std::int64_t k = 0; k < c.k; ++k) {
      const std::int64_t from = order.empty() ? k : order[static_cast<std::size_t>(k)];
      const bool same = r.nibble(n, k) == c.nibble(n, from) &&
                        r.zero_point(n, k / c.group) == c.zero_point(n, c.group_of(from)) &&
                        r.scale(n, k / c.group) == c.scale(n, c.group_of(from)) &&
                        r.weight(n, k) == c.weight(n, from);
      if (!same)
        return "row " + std::to_string(n) + " k " + std::to_string(k) + ": " +
               std::to_string(r.weight(n, k)) + " instead of " + std::to_string(c.weight(n, from));
    }
  for (std::int64_t n = 0; n < c.n; ++n)
    for (std::int64_t k = c.k; k < (c.k + 7) / 8 * 8; ++k)
      if (r.nibble(n, k) != 0) return "nibble beyond K in row " + std::to_string(n);
  if (d.zero_points == ZeroPoints::asymmetric)
    for (std::int64_t n = c.n; n < (c.n + 7) / 8 * 8; ++n)
      for (std::int64_t g = 0; g < c.groups(); ++g)
        if (r.zero_point(n, g) != 0) return "zero point beyond N in group " + std::to_string(g);
  return r.gaps_intact() ? "" : "bytes between rows were written";
}

struct Shape {
  std::int64_t n, k, group;
};

/// Around the sizes of vectors (4), tiles (16 words along K, 256 columns) and units (256 rows, 16 blocks).
const Shape shapes[] = {{8, 8, 8},     {8, 128, 32},   {16, 64, 64},    {24, 136, 136},  {256, 128, 32},
                        {264, 136, 8}, {248, 120, 40}, {520, 256, 128}, {32, 1024, 128}, {8, 2560, 32}};
const Shape tails[] = {{12, 32, 32}, {1, 8, 8},     {3, 100, 50},  {5, 6, 6},     {7, 2, 1},
                       {9, 258, 86}, {131, 70, 10}, {300, 34, 34}, {2, 1030, 206}};

void check(Format format, const Shape& s, Options options) {
  const unsigned seed = static_cast<unsigned>(s.n * 1000 + s.k);
  for (const bool asymmetric : {false, true})
    for (const std::int64_t gap : {0, 16}) {
      const Dtype scales = asymmetric == (gap != 0) ? Dtype::f16 : Dtype::bf16;
      options.zero_points = asymmetric;
      options.gap_bytes = gap;
      const Checkpoint c = random_checkpoint(format, s.n, s.k, s.group, options, seed);
      Destination d = destination_of(c, scales);
      if (gap != 0) {
        d.weight_stride = (s.k + 7) / 8 + 3;
        d.scale_stride = s.k / s.group + 5;
        d.zero_point_stride = s.k / s.group + 1;
      }
      const Repacked one = repacked(c.source(), d, 1);
      INFO(name(format) << " n " << s.n << " k " << s.k << " group " << s.group << " asym " << asymmetric
                        << " gap " << gap);
      CHECK(difference(c, d, one) == "");
      CHECK(one == repacked(c.source(), d, 3));
    }
}

}  // namespace

TEST_CASE("AWQ weights keep their values", "[repack]") {
  for (const Shape& s : shapes) check(Format::awq, s, {});
  for (const Shape& s : {Shape{8, 100, 50}, Shape{264, 6, 3}, Shape{16, 129, 43}}) check(Format::awq, s, {});
}

TEST_CASE("GPTQ weights keep their values", "[repack]") {
  for (const Format format : {Format::gptq_v1, Format::gptq_v2})
    for (const Shape& s : shapes) check(format, s, {.scale_type = Dtype::f32});
}

TEST_CASE("GPTQ without zero points takes any N", "[repack]") {
  for (const Shape& s : {Shape{13, 64, 32}, Shape{1, 8, 8}, Shape{259, 264, 24}}) {
    const Checkpoint c = random_checkpoint(Format::gptq_v2, s.n, s.k, s.group, {.gap_bytes = 4}, 7);
    const Destination d = destination_of(c);
    CHECK(difference(c, d, repacked(c.source(), d, 2)) == "");
  }
}

TEST_CASE("compressed-tensors weights keep their values", "[repack]") {
  for (const Shape& s : shapes) check(Format::compressed_tensors, s, {.scale_type = Dtype::bf16});
  for (const Shape& s : tails) check(Format::compressed_tensors, s, {.scale_type = Dtype::bf16});
}

TEST_CASE("row-major words and bytes keep their values", "[repack]") {
  for (const Options& options : {Options{.weight_type = Dtype::i32}, Options{.weight_type = Dtype::i8},
                                 Options{.weight_type = Dtype::u8, .zero_point_type = Dtype::u8}}) {
    for (const Shape& s : shapes) check(Format::row_major, s, options);
    for (const Shape& s : tails) check(Format::row_major, s, options);
  }
  // K odd: a byte whose high nibble is beyond K.
  check(Format::row_major, {5, 7, 7}, {.weight_type = Dtype::u8});
  check(Format::row_major, {5, 81, 27}, {.weight_type = Dtype::u8});
}

TEST_CASE("MSLK weights keep their values where z is a multiple of s", "[repack]") {
  for (const Dtype scales : {Dtype::bf16, Dtype::f32}) {
    for (const Shape& s : shapes) check(Format::mslk, s, {.scale_type = scales});
    for (const Shape& s : tails) check(Format::mslk, s, {.weight_type = Dtype::u8, .scale_type = scales});
  }
}

TEST_CASE("a group of -1 is all of K", "[repack]") {
  for (const Format format : {Format::awq, Format::gptq_v1, Format::compressed_tensors, Format::mslk}) {
    const Checkpoint c =
        random_checkpoint(format, 24, 88, 88, {.zero_points = true, .scale_type = Dtype::bf16}, 3);
    Destination d = destination_of(c);
    d.group = -1;
    const auto p = plan(c.source(), d);
    REQUIRE(p);
    CHECK(p->destination.group == 88);
    CHECK(p->scales.row_bytes == 2);
    CHECK(difference(c, d, repacked(c.source(), d)) == "");
  }
}

TEST_CASE("GPTQ act-order is sorted and the order handed back", "[repack]") {
  for (const std::int64_t group : {8, 24, 32}) {
    const std::int64_t k = 16 * group;
    Checkpoint c =
        random_checkpoint(Format::gptq_v1, 264, k, group, {.zero_points = true, .gap_bytes = 8}, 11);
    // Each group G times, in a random order.
    std::vector<std::int32_t> g_idx;
    for (std::int64_t i = 0; i < k; ++i) g_idx.push_back(static_cast<std::int32_t>(i / group));
    std::mt19937 random(5);
    std::shuffle(g_idx.begin(), g_idx.end(), random);
    c.g_idx = Matrix(Dtype::i32, 1, k);
    for (std::int64_t i = 0; i < k; ++i)
      c.g_idx->set(0, i, static_cast<std::uint32_t>(g_idx[static_cast<std::size_t>(i)]));
    Destination d = destination_of(c);
    d.gathers_activations = true;
    const auto p = plan(c.source(), d);
    REQUIRE(p);

    // argsort by g_idx, written apart: stable, so columns of a group stay in order.
    std::vector<std::int32_t> expected;
    for (std::int32_t g = 0; g < 16; ++g)
      for (std::int32_t i = 0; i < k; ++i)
        if (g_idx[static_cast<std::size_t>(i)] == g) expected.push_back(i);
    CHECK(p->permutation == expected);
    CHECK(difference(c, d, repacked(c.source(), d, 2), p->permutation) == "");
  }
}

TEST_CASE("a sorted g_idx is plain grouping", "[repack]") {
  Checkpoint c = random_checkpoint(Format::gptq_v2, 16, 96, 32, {}, 2);
  const Repacked plain = repacked(c.source(), destination_of(c));
  c.g_idx = Matrix(Dtype::i32, 1, 96);
  for (std::int64_t k = 0; k < 96; ++k) c.g_idx->set(0, k, static_cast<std::uint64_t>(k / 32));
  const auto p = plan(c.source(), destination_of(c));
  REQUIRE(p);
  CHECK(p->permutation.empty());
  CHECK(plain == repacked(c.source(), destination_of(c)));
}

TEST_CASE("a symmetric source fills an asymmetric destination with 8", "[repack]") {
  const Checkpoint c = random_checkpoint(Format::compressed_tensors, 12, 64, 32, {}, 9);
  Destination d = destination_of(c);
  d.zero_points = ZeroPoints::asymmetric;
  const Repacked r = repacked(c.source(), d);
  for (std::int64_t g = 0; g < 2; ++g) {
    CHECK(r.zero_point_word(0, g) == 0x88888888);
    CHECK(r.zero_point_word(1, g) == 0x00008888);
  }
  CHECK(difference(c, d, r) == "");
}
