// SPDX-License-Identifier: MIT
// The bars must pass every way of rounding that is right and fail every bug that shared/domain.md
// §3.4 lists. The kernels here are models of what a kernel does to each weight, in double.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/oracle/compare.hpp"
#include "tests/oracle/pack.hpp"
#include "tests/oracle/product.hpp"

using namespace wavejit::oracle;

namespace {

constexpr int small_problems = 150;

enum class Weights { exact, nearest, truncated, sixteen_bit_intermediates };

/// Dequantised weights as a kernel would hold them.
Matrix kernel_weights(const Shape& shape, const Values& values, Weights how) {
  Matrix w = dequantised(shape, values, 0, shape.n);
  std::vector<std::uint8_t> nibbles(static_cast<std::size_t>(shape.k));
  std::vector<double> scales(static_cast<std::size_t>(shape.groups()));
  for (std::int64_t n = 0; n < shape.n; ++n) {
    values.nibbles(n, nibbles);
    values.scales(n, scales);
    for (std::int64_t k = 0; k < shape.k; ++k) {
      double& weight = w(n, k);
      if (how == Weights::nearest) weight = decode(encode(weight, shape.format), shape.format);
      if (how == Weights::truncated) weight = decode(encode_truncated(weight, shape.format), shape.format);
      if (how == Weights::sixteen_bit_intermediates) {
        const double s =
            decode(encode(scales[static_cast<std::size_t>(k / shape.group)], shape.format), shape.format);
        const auto round = [&](double v) { return decode(encode(v, shape.format), shape.format); };
        weight = round(round((128 + nibbles[static_cast<std::size_t>(k)]) * s) - round(136 * s));
      }
    }
  }
  return w;
}

std::vector<std::uint16_t> output(const Matrix& x, const Matrix& w, Format format) {
  const Matrix out = x * w.transpose();
  std::vector<std::uint16_t> bits(static_cast<std::size_t>(out.size()));
  for (Eigen::Index i = 0; i < out.size(); ++i)
    bits[static_cast<std::size_t>(i)] = encode(out.data()[i], format);
  return bits;
}

struct Setup {
  Shape shape;
  Values values;
  Block block;
  Matrix x;
  Reference reference;

  explicit Setup(Format format, std::int64_t m = 64, std::int64_t k = 2560, std::uint64_t seed = 3)
      : shape{.format = format, .n = 96, .k = k, .group = 32, .has_zero_points = false},
        values(random_values(seed)),
        block{.row_begin = 0, .row_end = m, .column_begin = 0, .column_end = 96},
        x(activations(shape, values, 0, m)),
        reference(wavejit::oracle::reference(shape, values, block)) {}

  [[nodiscard]] Verdict judge(const Matrix& w, WeightRounding rounding) const {
    return compare(reference, output(x, w, shape.format), block, shape.format, rounding);
  }
};

}  // namespace

TEST_CASE("right kernels pass: exact, nearest and truncated weights, at any M", "[oracle]") {
  for (const std::int64_t m : {1, 17, 64})
    for (const std::int64_t k : {512, 2560, 9728})
      for (const std::uint64_t seed : {1U, 2U, 3U}) {
        const Setup s(Format::bf16, m, k, seed);
        const Verdict exact =
            s.judge(kernel_weights(s.shape, s.values, Weights::exact), WeightRounding::nearest);
        const Verdict nearest =
            s.judge(kernel_weights(s.shape, s.values, Weights::nearest), WeightRounding::nearest);
        const Verdict cut =
            s.judge(kernel_weights(s.shape, s.values, Weights::truncated), WeightRounding::toward_zero);
        CAPTURE(m, k, seed, exact.reason, nearest.reason, cut.reason);
        CHECK(exact.ok);
        CHECK(nearest.ok);
        CHECK(cut.ok);
      }
  const Setup half(Format::f16);
  const Verdict v =
      half.judge(kernel_weights(half.shape, half.values, Weights::nearest), WeightRounding::nearest);
  INFO(v.reason);
  CHECK(v.ok);
}

// One element, one row, one column, one group: whatever few numbers happen to be, the bars hold for them. The
// kernels are modelled as above, the problems drawn; what each verdict must be is known by construction.
TEST_CASE("small problems: no right kernel is called wrong", "[oracle]") {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int i = 0; i < small_problems; ++i) {
    const Format format = i % 3 == 0 ? Format::f16 : Format::bf16;
    Shape shape{
        .format = format, .n = i % 2 == 0 ? 1 : 1 + below(130), .k = 32 * (1 + below(240)), .group = 32};
    if (i % 5 == 0) shape.group = shape.k;
    shape.has_zero_points = i % 4 == 0;
    shape.has_bias = i % 7 == 0;
    shape.signed_weights = i % 6 == 1;
    const std::int64_t m = i % 4 < 2 ? 1 : 1 + below(8);
    const Values values = random_values(random());
    const Block block{.row_begin = 0, .row_end = m, .column_begin = 0, .column_end = shape.n};
    const Matrix x = activations(shape, values, 0, m);
    for (const Weights how : {Weights::exact, Weights::nearest, Weights::truncated}) {
      if (how == Weights::truncated && format == Format::f16) continue;
      Matrix out = x * kernel_weights(shape, values, how).transpose();
      if (shape.has_bias)
        for (std::int64_t n = 0; n < shape.n; ++n)
          out.col(n).array() += decode(bias_element(shape, values, n), format);
      std::vector<std::uint16_t> bits;
      for (Eigen::Index e = 0; e < out.size(); ++e) bits.push_back(encode(out.data()[e], format));
      const Verdict v =
          compare(reference(shape, values, block), bits, block, format,
                  how == Weights::truncated ? WeightRounding::toward_zero : WeightRounding::nearest);
      INFO("n " << shape.n << " k " << shape.k << " m " << m << " group " << shape.group << " weights "
                << static_cast<int>(how) << ": " << v.reason);
      CHECK(v.ok);
    }
  }
}

TEST_CASE("truncated weights show their gain and fail where nearest was promised", "[oracle]") {
  const Setup s(Format::bf16);
  const Matrix w = kernel_weights(s.shape, s.values, Weights::truncated);
  // domain.md §3.2: the gain of truncating dequantisation is 0.9989.
  CHECK(s.judge(w, WeightRounding::toward_zero).metrics.gain == Approx(0.9989).margin(3e-4));
  CHECK_FALSE(s.judge(w, WeightRounding::nearest).ok);
}

TEST_CASE("bf16 intermediates fail, although their cosine is above 0.99", "[oracle]") {
  const Setup s(Format::bf16);
  const Verdict v = s.judge(kernel_weights(s.shape, s.values, Weights::sixteen_bit_intermediates),
                            WeightRounding::toward_zero);
  CHECK_FALSE(v.ok);
  CHECK(v.metrics.one_minus_cosine > 1e-3);
  CHECK(v.metrics.one_minus_cosine < 1e-2);
}

TEST_CASE("one group's wrong scale fails, although its cosine passes 0.999", "[oracle]") {
  for (const std::int64_t k : {512, 2560, 9728}) {
    const Setup s(Format::bf16, 64, k);
    Matrix w = kernel_weights(s.shape, s.values, Weights::truncated);
    w.block(11, 64, 1, 32) *= 1.25;  // group 2 of column 11
    const Verdict v = s.judge(w, WeightRounding::toward_zero);
    CAPTURE(k, v.metrics.one_minus_cosine, v.metrics.worst_line_nmse);
    CHECK_FALSE(v.ok);
    CHECK(1 - v.metrics.one_minus_cosine > 0.999);
  }
}

TEST_CASE("one swapped pair of nibbles fails in one word of one column", "[oracle]") {
  for (const Format format : {Format::bf16, Format::f16})
    for (const std::int64_t k : {512, 2560}) {
      const Setup s(format, 64, k);
      Matrix w = kernel_weights(s.shape, s.values, Weights::nearest);
      std::vector<std::uint8_t> nibbles(static_cast<std::size_t>(k));
      s.values.nibbles(40, nibbles);
      Eigen::Index at = 0;  // the first pair whose nibbles differ by a typical amount
      while (std::abs(nibbles[static_cast<std::size_t>(at)] - nibbles[static_cast<std::size_t>(at) + 1]) < 5)
        at += 2;
      std::swap(w(40, at), w(40, at + 1));
      const Verdict v = s.judge(w, WeightRounding::nearest);
      CAPTURE(k, at, v.metrics.worst_line_nmse, v.metrics.worst_error);
      CHECK_FALSE(v.ok);
      CHECK(1 - v.metrics.one_minus_cosine > 0.999);
    }
}

TEST_CASE("an untouched, zero or shifted output fails", "[oracle]") {
  const Setup s(Format::bf16);
  const auto judge = [&](const std::vector<std::uint16_t>& bits) {
    return compare(s.reference, bits, s.block, Format::bf16, WeightRounding::toward_zero);
  };
  const std::vector<std::uint16_t> right =
      output(s.x, kernel_weights(s.shape, s.values, Weights::truncated), Format::bf16);
  CHECK(judge(right).ok);
  const Verdict zero = judge(std::vector<std::uint16_t>(right.size(), 0));
  CHECK_FALSE(zero.ok);
  CHECK(zero.metrics.one_minus_cosine == 1.0);
  const Verdict nan = judge(std::vector<std::uint16_t>(right.size(), 0xFFFF));
  CHECK_FALSE(nan.ok);
  CHECK(nan.metrics.special_mismatches == static_cast<std::int64_t>(right.size()));
  std::vector<std::uint16_t> shifted(right.begin() + 1, right.end());
  shifted.push_back(right.front());
  CHECK_FALSE(judge(shifted).ok);
  std::vector<std::uint16_t> one_nan = right;
  one_nan[777] = 0x7FC0;
  CHECK_FALSE(judge(one_nan).ok);
}

TEST_CASE("NaN and infinity must be where the reference has them", "[oracle]") {
  // shared/cases.md row 49: row 0 holds one NaN, row 1 an infinity against positive weights.
  const Shape shape{.format = Format::bf16, .n = 16, .k = 32, .group = 32, .has_zero_points = false};
  Values values = constant_values(1, 1, 1);
  values.activations = each([](std::int64_t m, std::int64_t k) {
    if (k != 3 || m > 1) return 1.0;
    return m == 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  });
  const Block block{.row_begin = 0, .row_end = 3, .column_begin = 0, .column_end = 16};
  const Reference reference = wavejit::oracle::reference(shape, values, block);
  CHECK(std::isnan(reference.value(0, 15)));
  CHECK(std::isinf(reference.value(1, 0)));
  CHECK(reference.value(2, 7) == 32.0);
  std::vector<std::uint16_t> bits(48, encode(32, Format::bf16));
  std::fill_n(bits.begin(), 16, std::uint16_t{0x7FC0});
  std::fill_n(bits.begin() + 16, 16, std::uint16_t{0x7F80});
  CHECK(compare(reference, bits, block, Format::bf16, WeightRounding::toward_zero).ok);
  std::vector<std::uint16_t> lost = bits;
  lost[20] = 0x7F7F;  // the largest finite value in infinity's place
  CHECK_FALSE(compare(reference, lost, block, Format::bf16, WeightRounding::toward_zero).ok);
  lost = bits;
  lost[20] = 0xFF80;
  CHECK_FALSE(compare(reference, lost, block, Format::bf16, WeightRounding::toward_zero).ok);
}

TEST_CASE("merge keeps the worst of each and fails if any part failed", "[oracle]") {
  const Setup s(Format::bf16);
  const Verdict good =
      s.judge(kernel_weights(s.shape, s.values, Weights::truncated), WeightRounding::toward_zero);
  const Verdict bad = s.judge(kernel_weights(s.shape, s.values, Weights::sixteen_bit_intermediates),
                              WeightRounding::toward_zero);
  const Verdict both = merge(std::vector{good, bad});
  CHECK_FALSE(both.ok);
  CHECK(both.metrics.nmse == bad.metrics.nmse);
  CHECK(both.metrics.elements == 2 * good.metrics.elements);
  CHECK(merge(std::vector{good, good}).ok);
}
