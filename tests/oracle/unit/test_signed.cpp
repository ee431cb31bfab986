// SPDX-License-Identifier: MIT
// Signed weights with scales and added zeros by group (shared/domain.md §1.9): layouts against bytes written
// out by hand, the product against sums written out by hand, and the bars against right kernels and wrong
// ones. The kernels here are models of what a kernel does to each weight, in double.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

#include "tests/oracle/compare.hpp"
#include "tests/oracle/pack.hpp"
#include "tests/oracle/product.hpp"

using namespace wavejit::oracle;

namespace {

Shape shape(std::int64_t n, std::int64_t k, std::int64_t group, bool zeros,
            ScaleFormat scales = ScaleFormat::bf16) {
  return {.format = Format::bf16,
          .n = n,
          .k = k,
          .group = group,
          .has_zero_points = zeros,
          .signed_weights = true,
          .scale_format = scales};
}

std::vector<std::uint16_t> rounded(const Matrix& out) {
  std::vector<std::uint16_t> bits(static_cast<std::size_t>(out.size()));
  for (Eigen::Index i = 0; i < out.size(); ++i)
    bits[static_cast<std::size_t>(i)] = encode(out.data()[i], Format::bf16);
  return bits;
}

/// A random problem and what a kernel makes of it whose weights are `w`, rounded to nearest.
struct Setup {
  Shape s;
  Values values = random_values(5);
  Block block{.row_begin = 0, .row_end = 48, .column_begin = 0, .column_end = 64, .set = 1};
  Matrix x, w;
  Reference reference;

  explicit Setup(const Shape& of) : s(of) {
    x = activations(s, values, 0, 48);
    w = dequantised(s, values, 64, 128);
    reference = wavejit::oracle::reference(s, values, block);
  }
  [[nodiscard]] Verdict judge(Matrix kernel_weights) const {
    for (Eigen::Index i = 0; i < kernel_weights.size(); ++i)
      kernel_weights.data()[i] = decode(encode(kernel_weights.data()[i], Format::bf16), Format::bf16);
    return judge(rounded(x * kernel_weights.transpose()));
  }
  [[nodiscard]] Verdict judge(const std::vector<std::uint16_t>& bits) const {
    return compare(reference, bits, block, Format::bf16, WeightRounding::nearest);
  }
};

}  // namespace

TEST_CASE("a byte of weights: even K low, odd K high, two's complement", "[oracle]") {
  const Shape s = shape(2, 64, 64, false);
  Values values = constant_signed_values(1, 0, 1);
  values.nibbles = each_nibble([](std::int64_t n, std::int64_t k) {
    constexpr int row[4] = {-8, 7, -1, 3};
    return n == 0 ? row[k % 4] : static_cast<int>(k);
  });
  const std::vector<std::uint8_t> row0 = weight_row_pairs(s, values, 0);
  REQUIRE(row0.size() == 32);
  CHECK(row0[0] == 0x78);
  CHECK(row0[1] == 0x3F);
  CHECK(weight_row_pairs(s, values, 1)[3] == 0x76);
  const Matrix w = dequantised(s, values, 0, 2);
  CHECK(w(0, 0) == -8);
  CHECK(w(0, 1) == 7);
  CHECK(w(0, 2) == -1);
  CHECK(w(1, 9) == -7);
}

TEST_CASE("scales and zeros by group: one row a group, one element a column", "[oracle]") {
  Values values = constant_signed_values(1, 0, 1);
  values.scales = each([](std::int64_t n, std::int64_t g) { return 1.0 + 100 * n + g; });
  const auto bf16 = group_major(shape(4, 128, 64, false), values.scales, 1, 3);
  REQUIRE(bf16.size() == 2);
  REQUIRE(bf16[1].size() == 4);
  std::uint16_t half = 0;
  std::memcpy(&half, bf16[1].data() + 2, 2);
  CHECK(half == encode(202, Format::bf16));
  const auto f32 = group_major(shape(4, 128, 64, false, ScaleFormat::f32), values.scales, 1, 3);
  REQUIRE(f32[0].size() == 8);
  float wide = 0;
  std::memcpy(&wide, f32[0].data() + 4, 4);
  CHECK(wide == 201.0F);
}

TEST_CASE("w = q s + z, each group and each set of weights its own", "[oracle]") {
  // Sums written out: 64 (q s0 + z0) + 64 (q s1 + z1) with s = 1 + g + row, z = 0.5 g - row.
  const Shape s = shape(3, 128, 64, true, ScaleFormat::f32);
  Values values = constant_signed_values(1, -5, 1);
  values.scales = each([](std::int64_t row, std::int64_t g) { return static_cast<double>(1 + g + row); });
  values.zeros = each([](std::int64_t row, std::int64_t g) { return 0.5 * static_cast<double>(g) - row; });
  const Matrix out =
      product(s, values, {.row_begin = 0, .row_end = 1, .column_begin = 0, .column_end = 3, .set = 2});
  for (int n = 0; n < 3; ++n) {
    const double row = 6 + n;
    CHECK(out(0, n) == 64 * (-5 * (1 + row) - row) + 64 * (-5 * (2 + row) + 0.5 - row));
  }
}

TEST_CASE("scales are seen as their format holds them", "[oracle]") {
  Values values = constant_signed_values(1, 1, 1.0 + 1.0 / 512);
  CHECK(dequantised(shape(1, 64, 64, false), values, 0, 1)(0, 0) == 1.0);
  CHECK(dequantised(shape(1, 64, 64, false, ScaleFormat::f32), values, 0, 1)(0, 0) == 1.0 + 1.0 / 512);
  // f16 has ten bits behind the point, whatever the activations have.
  CHECK(dequantised(shape(1, 64, 64, false, ScaleFormat::f16), values, 0, 1)(0, 0) == 1.0 + 1.0 / 512);
  values = constant_signed_values(1, 1, 1.0 + 1.0 / 4096);
  CHECK(dequantised(shape(1, 64, 64, false, ScaleFormat::f16), values, 0, 1)(0, 0) == 1.0);
}

TEST_CASE("right kernels pass with and without zeros, whatever the scales' format", "[oracle]") {
  for (const bool zeros : {false, true})
    for (const ScaleFormat format : {ScaleFormat::bf16, ScaleFormat::f32})
      for (const std::int64_t k : {256, 5120}) {
        const Setup setup(shape(64, k, 128, zeros, format));
        const Verdict v = setup.judge(setup.w);
        CAPTURE(zeros, k, v.reason);
        CHECK(v.ok);
        CHECK(v.metrics.one_minus_cosine < 1e-5);
      }
}

TEST_CASE("the all-zero output, which the published tolerance passes, fails", "[oracle]") {
  // Outputs of the size that the published test has (weights of 1/16 and less, few K): |zero - ref| is within
  // its absolute tolerance for many an element.
  const Setup setup(shape(64, 256, 64, true));
  const Verdict v = setup.judge(std::vector<std::uint16_t>(48 * 64, 0));
  CHECK_FALSE(v.ok);
  CHECK(v.metrics.one_minus_cosine == 1.0);
  CHECK(v.metrics.worst_error > 1);
}

TEST_CASE("signed weights gone wrong in one place fail", "[oracle]") {
  const Setup setup(shape(64, 1024, 128, true));
  Matrix swapped = setup.w;
  for (Eigen::Index k = 0; k < 64; k += 2) swapped.col(k).swap(swapped.col(k + 1));
  CHECK_FALSE(setup.judge(swapped).ok);
  // Group 3 of one column with its neighbour's zero.
  Matrix zero = setup.w;
  std::vector<double> z(8);
  setup.values.zeros(64 + 10, z);
  zero.block(10, 3 * 128, 1, 128).array() += z[2] - z[3];
  CHECK_FALSE(setup.judge(zero).ok);
  // -8 read as +8.
  Matrix positive = setup.w;
  std::vector<std::uint8_t> q(1024);
  std::vector<double> s(8);
  for (Eigen::Index n = 0; n < 64; ++n) {
    setup.values.nibbles(64 + n, q);
    setup.values.scales(64 + n, s);
    for (std::size_t k = 0; k < q.size(); ++k)
      if (q[k] == 8) positive(n, static_cast<Eigen::Index>(k)) += 16 * s[k / 128];
  }
  CHECK_FALSE(setup.judge(positive).ok);
  // The weights of another set.
  CHECK_FALSE(setup.judge(dequantised(setup.s, setup.values, 0, 64)).ok);
}
