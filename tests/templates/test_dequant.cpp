// SPDX-License-Identifier: MIT
// Every nibble with every zero point and scales of many mantissas, to the bit. The activations are the
// identity matrix, so row m of the output is the dequantised weight of K offset m, unrounded on its way.
// Expected: (nibble - zero) * scale in double, encoded by the oracle's own conversions.
#include <catch2/catch.hpp>

#include "tests/harness/catch.hpp"

using namespace wavejit;
using oracle::Format;

namespace {

constexpr std::int64_t k = 32;

int nibble(std::int64_t n, std::int64_t kk) { return static_cast<int>((kk + 5 * (n / 16)) % 16); }
int zero(std::int64_t n) { return static_cast<int>(n % 16); }

/// 64 columns: all zero points for each of four scales at a time; exponents down to 2^-13.
double scale(std::int64_t n, int round, Format format) {
  const std::int64_t i = n / 16 + 4 * round;
  const double mantissa =
      1 + static_cast<double>((37 * i + 11) % 128) / 128 + (format == Format::f16 ? 1.0 / 1024 : 0);
  return (i % 3 == 0 ? -mantissa : mantissa) / static_cast<double>(1 << (i % 14));
}

harness::Request identity(templates::DataType type, int round) {
  harness::Request r;
  r.problem.n = 64;
  r.problem.k = k;
  r.problem.group = 32;
  r.problem.activation = type;
  r.m = k;
  r.config = harness::tile(32, 64, 32, 4);
  const Format format = type == templates::DataType::f16 ? Format::f16 : Format::bf16;
  oracle::Values v = oracle::constant_values(0, 0, 1);
  v.activations = oracle::each([](std::int64_t m, std::int64_t kk) { return m == kk ? 1.0 : 0.0; });
  v.nibbles = oracle::each_nibble(nibble);
  v.scales = oracle::each([=](std::int64_t n, std::int64_t) { return scale(n, round, format); });
  v.zero_points = oracle::each_nibble([](std::int64_t n, std::int64_t) { return zero(n); });
  r.values = v;
  r.compare = false;
  return r;
}

void check_weights(const harness::Request& r, int round, bool truncated) {
  const Format format = r.problem.activation == templates::DataType::f16 ? Format::f16 : Format::bf16;
  const bool packed = r.problem.zero_points == templates::ZeroPoints::packed;
  const harness::Outcome outcome = harness::passes(r);
  CHECK(outcome);
  REQUIRE(outcome.report);
  for (std::int64_t n = 0; n < r.problem.n; ++n)
    for (std::int64_t kk = 0; kk < k; ++kk) {
      const double s = oracle::decode(oracle::encode(scale(n, round, format), format), format);
      const double w = (nibble(n, kk) - (packed ? zero(n) : 8)) * s;
      const std::uint16_t want = truncated ? oracle::encode_truncated(w, format) : oracle::encode(w, format);
      const std::uint16_t got = outcome.report->at(kk, n);
      // Sums of products with 0 end as +0, whatever the sign of a zero weight.
      const bool zeros = (got & 0x7FFF) == 0 && (want & 0x7FFF) == 0;
      CAPTURE(n, kk, s);
      if (got != want && !zeros) CHECK(got == want);
    }
}

}  // namespace

TEST_CASE("dequantised weights to the bit", "[w4a16][dequant]") {
  const auto type = GENERATE(templates::DataType::bf16, templates::DataType::f16);
  const auto zeros = GENERATE(templates::ZeroPoints::symmetric, templates::ZeroPoints::packed);
  const auto rounding = GENERATE(templates::WeightRounding::fastest, templates::WeightRounding::nearest);
  const bool magic = GENERATE(true, false);
  for (int round = 0; round < 8; ++round) {
    harness::Request r = identity(type, round);
    r.problem.zero_points = zeros;
    r.problem.rounding = rounding;
    r.config->techniques.magic_dequant = magic;
    const bool truncated =
        type == templates::DataType::bf16 && magic && rounding == templates::WeightRounding::fastest;
    check_weights(r, round, truncated);
  }
}
