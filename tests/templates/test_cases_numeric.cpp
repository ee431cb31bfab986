// SPDX-License-Identifier: MIT
// Rows of shared/cases.md about values: rounding, groups, NaN. Inputs and right results are the rows'.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/templates/w4a16_request.hpp"

using namespace wavejit;
using oracle::Format;
using test::check_exact;
using test::request;

TEST_CASE("case 1: a dequantised weight truncates or rounds as the problem says", "[w4a16][cases]") {
  // q = +7, scale 0x3F81 = 1.0078125: the product 7.0546875 lies between 0x40E1 and 0x40E2. One
  // activation of 1 brings a single weight to the output untouched.
  harness::Request r = request(1, 16, 32, 32);
  oracle::Values values = oracle::constant_values(0, 7, 1.0078125);
  values.activations = oracle::each([](std::int64_t, std::int64_t k) { return k == 5 ? 1.0 : 0.0; });
  r.values = values;
  SECTION("fastest truncates") {
    r.problem.rounding = templates::WeightRounding::fastest;
    r.config = harness::tile(16, 16, 32, 1);
    check_exact(r, [](auto, auto) { return 7.03125; });  // 0x40E1
  }
  SECTION("nearest") {
    r.problem.rounding = templates::WeightRounding::nearest;
    r.config = harness::tile(16, 16, 32, 1);
    check_exact(r, [](auto, auto) { return 7.0625; });  // 0x40E2
  }
  SECTION("without magic dequantisation the plain form rounds to nearest") {
    r.config = harness::tile(16, 16, 32, 1);
    r.config->techniques.magic_dequant = false;
    check_exact(r, [](auto, auto) { return 7.0625; });
  }
}

TEST_CASE("case 3: partial sums beyond 16 bits cancel exactly", "[w4a16][cases]") {
  // 512 * 7 * 64 = 229376 overflows binary16 half way; accumulators are f32, so +7 then -7 gives 0.
  harness::Request r = request(1, 8, 1024, 128);
  oracle::Values values = oracle::constant_values(64, 7, 1);
  values.nibbles = oracle::each_nibble([](std::int64_t, std::int64_t k) { return k < 512 ? 8 + 7 : 8 - 7; });
  r.values = values;
  check_exact(r, [](auto, auto) { return 0.0; });
  r.problem.activation = templates::DataType::f16;
  check_exact(r, [](auto, auto) { return 0.0; });
  // All +7: 458752 is beyond f16, the right output an infinity and no NaN.
  r.values = oracle::constant_values(64, 7, 1);
  check_exact(r, [](auto, auto) { return std::numeric_limits<double>::infinity(); });
}

TEST_CASE("case 9: without a zero-point tensor 8 is subtracted", "[w4a16][cases]") {
  harness::Request r = request(1, 16, 64, 32);
  r.problem.activation = GENERATE(templates::DataType::bf16, templates::DataType::f16);
  oracle::Values values = oracle::constant_values(1, 0, 1);
  values.nibbles = oracle::each_nibble([](std::int64_t, std::int64_t k) { return static_cast<int>(k % 16); });
  r.values = values;
  check_exact(r, [](auto, auto) { return -32.0; });
}

TEST_CASE("case 10: zero points are [N/8, K/G], also where [K/G, N/8] has the same shape", "[w4a16][cases]") {
  harness::Request r = request(1, 32, 128, 32);  // 4 x 4 words either way
  r.problem.zero_points = templates::ZeroPoints::packed;
  r.problem.activation = GENERATE(templates::DataType::bf16, templates::DataType::f16);
  const auto zero = [](std::int64_t n, std::int64_t g) { return static_cast<int>((3 * n + g) % 16); };
  oracle::Values values = oracle::constant_values(1, 7, 1);
  values.zero_points = oracle::each_nibble(zero);
  r.values = values;
  check_exact(r, [&](std::int64_t, std::int64_t n) {
    int sum = 0;
    for (int g = 0; g < 4; ++g) sum += 32 * (15 - zero(n, g));
    return static_cast<double>(sum);
  });
}

TEST_CASE("case 12: a zero-point tensor of eights gives the symmetric kernel's bits", "[w4a16][cases]") {
  // A symmetric problem has no argument for such a tensor: leaving it away is the caller's, and harmless.
  harness::Request r = request(17, 64, 128, 32);
  r.problem.activation = GENERATE(templates::DataType::bf16, templates::DataType::f16);
  oracle::Values values = oracle::random_values(3);
  values.zero_points = oracle::each_nibble([](std::int64_t, std::int64_t) { return 8; });
  r.values = values;
  const harness::Outcome symmetric = harness::passes(r);
  CHECK(symmetric);
  r.problem.zero_points = templates::ZeroPoints::packed;
  const harness::Outcome packed = harness::passes(r);
  CHECK(packed);
  REQUIRE(symmetric.report);
  REQUIRE(packed.report);
  CHECK(symmetric.report->outputs == packed.report->outputs);
  for (const templates::Argument& a : symmetric.report->launch.arguments) CHECK(a.name != "zero_points");
}

TEST_CASE("case 13: the last zero-point word may hold fewer than eight columns", "[w4a16][cases]") {
  harness::Request r = request(1, 12, 32, 32);
  r.problem.zero_points = templates::ZeroPoints::packed;
  oracle::Values values = oracle::constant_values(1, 7, 1);
  values.zero_points = oracle::each_nibble([](std::int64_t n, std::int64_t) { return static_cast<int>(n); });
  r.values = values;
  check_exact(r, [](std::int64_t, std::int64_t n) { return 32.0 * static_cast<double>(15 - n); });
}

TEST_CASE("a group that is no power of two takes its scales from the right place", "[w4a16]") {
  harness::Request r = request(1, 8, 6 * 96, 96);
  r.problem.zero_points = templates::ZeroPoints::packed;
  oracle::Values values = oracle::constant_values(1, 1, 1);
  values.scales = oracle::each([](std::int64_t, std::int64_t g) { return static_cast<double>(1 << g); });
  r.values = values;
  check_exact(r, [](auto, auto) { return 96.0 * 63; });
  r.problem.k = 35 * 160;
  r.problem.group = 160;
  values.scales = oracle::each([](std::int64_t, std::int64_t g) { return g == 34 ? 1.0 : 0.0; });
  r.values = values;
  check_exact(r, [](auto, auto) { return 160.0; });
}

TEST_CASE("a bias is added before the one rounding", "[w4a16]") {
  // 256 in bf16 and 2048 in f16 have neighbours 2 away. The sum base + 1 and a bias of 1 make base + 2;
  // rounded before the bias, the sum would be base (ties to even), and base + 1 again base.
  harness::Request r = request(1, 24, 32, 32);
  r.problem.bias = true;
  const double base = GENERATE(256.0, 2048.0);
  r.problem.activation = base == 256 ? templates::DataType::bf16 : templates::DataType::f16;
  oracle::Values values = oracle::constant_values(0, 1, 1);
  values.activations = oracle::each([base](std::int64_t, std::int64_t k) {
    return k == 0 ? base : k == 1 ? 1.0 : 0.0;
  });
  values.bias = [](std::int64_t n) { return n % 2 == 0 ? 1.0 : -1.0; };
  r.values = values;
  for (const std::int64_t n : {24, 23}) {
    r.problem.n = n;
    check_exact(r, [&](std::int64_t, std::int64_t column) { return column % 2 == 0 ? base + 2 : base; });
  }
}

TEST_CASE("case 14: a K step longer than the group must not share one scale", "[w4a16][cases]") {
  harness::Request r = request(16, 64, 64, 32);
  oracle::Values values = oracle::constant_values(1, 1, 1);
  values.scales = oracle::each([](std::int64_t, std::int64_t g) { return g == 0 ? 1.0 : 2.0; });
  r.values = values;
  check_exact(r, [](auto, auto) { return 96.0; });
  r.config = harness::tile(16, 64, 64, 4);  // BK 64 > group 32
  CHECK(harness::refused(r, "bk"));
}

TEST_CASE("case 16: group -1 is one group over all of K", "[w4a16][cases]") {
  harness::Request r = request(1, 8, 128, -1);
  r.values = oracle::constant_values(1, 2, 0.5);
  check_exact(r, [](auto, auto) { return 128.0; });
}

TEST_CASE("case 17: the group size is the problem's, not 128", "[w4a16][cases]") {
  harness::Request r = request(1, 8, 128, 64);
  oracle::Values values = oracle::constant_values(1, 1, 1);
  values.scales = oracle::each([](std::int64_t, std::int64_t g) { return g == 0 ? 1.0 : 3.0; });
  r.values = values;
  check_exact(r, [](auto, auto) { return 256.0; });
}

TEST_CASE("case 43: the scale stride is not the number of groups", "[w4a16][cases]") {
  harness::Request r = request(1, 8, 8192, 32);
  r.problem.scale_stride = 320;
  oracle::Values values = oracle::constant_values(1.0 / 8192, 1, 1);
  values.scales = oracle::each([](std::int64_t n, std::int64_t) { return static_cast<double>(n + 1); });
  r.values = values;
  check_exact(r, [](std::int64_t, std::int64_t column) { return static_cast<double>(column + 1); });
}

TEST_CASE("case 49: NaN and infinity stay in their rows and stay what they are", "[w4a16][cases]") {
  harness::Request r = request(3, 16, 32, 32);
  oracle::Values values = oracle::constant_values(1, 1, 1);
  values.activations = oracle::each([](std::int64_t m, std::int64_t k) {
    if (k != 7 || m > 1) return 1.0;
    return m == 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  });
  r.values = values;
  const harness::Outcome outcome = harness::passes(r);
  CHECK(outcome);
  REQUIRE(outcome.report);
  for (std::int64_t column = 0; column < 16; ++column) {
    CHECK(std::isnan(oracle::decode(outcome.report->at(0, column), Format::bf16)));
    CHECK(outcome.report->at(1, column) == 0x7F80);
    CHECK(oracle::decode(outcome.report->at(2, column), Format::bf16) == 32.0);
  }
}
