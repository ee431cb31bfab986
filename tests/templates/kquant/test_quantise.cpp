// SPDX-License-Identifier: MIT
// The activation quantiser on the simulator against the oracle's quantise_q8_1, which follows the format's
// definition, and what it makes of zeros, huge values and NaN.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "tests/harness/kquant.hpp"
#include "tests/harness/kquant_quantise.hpp"

using namespace wavejit;
using harness::kquant::QuantiseReport;
using harness::kquant::QuantiseRequest;
using oracle::kquant::Q8_1;
using templates::DataType;

namespace {

QuantiseReport report_of(const QuantiseRequest& request) {
  auto report = harness::kquant::quantise(request);
  INFO((report ? std::string() : report.error().message));
  REQUIRE(report);
  INFO(report->reason());
  REQUIRE(report->reason().empty());
  return *std::move(report);
}

/// d exactly; q exactly, but where x / d is so near to a half that f32 cannot tell; the sum to rounding.
void compare(const QuantiseReport& report) {
  for (std::size_t i = 0; i < report.blocks.size(); ++i) {
    INFO("block " << i);
    const auto x = std::span(report.input).subspan(32 * i, 32);
    const Q8_1 expected = oracle::kquant::quantise_q8_1(x);
    const Q8_1& got = report.blocks[i];
    CHECK(got.d == expected.d);
    double sum = 0, size = 0;
    for (std::size_t e = 0; e < 32; ++e) {
      sum += static_cast<double>(x[e]);
      size += std::fabs(static_cast<double>(x[e]));
      if (got.q[e] == expected.q[e]) continue;
      const double quotient = static_cast<double>(x[e]) / static_cast<double>(expected.d);
      INFO("element " << e << ", x / d " << quotient);
      CHECK(std::abs(got.q[e] - expected.q[e]) == 1);
      CHECK(std::fabs(std::fabs(quotient - std::trunc(quotient)) - 0.5) < 1e-4);
    }
    CHECK(std::fabs(got.sum - sum) <= 1e-6 * size);
  }
}

}  // namespace

TEST_CASE("activations are quantised as defined", "[kquant][quantise]") {
  std::seed_seq words{5};
  std::mt19937_64 random(words);
  std::normal_distribution<double> normal;
  std::vector<double> values(3 * 1280);
  for (double& v : values) v = normal(random) * std::exp2(static_cast<double>(random() % 24) - 12);
  for (const char* target : {"gfx1100", "gfx1151", "gfx1201", "gfx942"})
    for (const DataType type : {DataType::bf16, DataType::f16, DataType::f32}) {
      INFO(target << " " << name(type));
      compare(report_of({.problem = {.input = type, .k = 1280, .m = 3},
                         .target = target,
                         .input = [&](std::int64_t m, std::int64_t k) {
                           return values[static_cast<std::size_t>(1280 * m + k)];
                         }}));
    }
}

TEST_CASE("rows of any multiple of 32 end with blocks of zeros", "[kquant][quantise]") {
  for (const char* target : {"gfx1151", "gfx1201", "gfx942", "gfx950"})
    for (const DataType type : {DataType::bf16, DataType::f16, DataType::f32})
      for (const std::int64_t k : {32, 96, 224, 288, 480, 576, 896, 2880, 4544}) {
        INFO(target << " " << name(type) << " k " << k);
        const auto report = report_of({.problem = {.input = type, .k = k, .m = 1 + k % 8},
                                       .target = target,
                                       .input = [&](std::int64_t m, std::int64_t i) {
                                         return std::sin(static_cast<double>(3 * i + m * k)) + 2;
                                       }});
        compare(report);
        const std::size_t row = report.bytes.size() / (1 + static_cast<std::size_t>(k) % 8);
        for (std::size_t at = 0; at < report.bytes.size(); at += row) {
          const auto last = std::span(report.bytes).subspan(at + row - 320, 320);
          for (std::size_t block = static_cast<std::size_t>(k) / 32 % 8; block > 0 && block < 8; ++block) {
            for (const auto part : {last.subspan(32 * block, 32), last.subspan(256 + 8 * block, 8)})
              CHECK(std::ranges::all_of(part, [](std::uint8_t byte) { return byte == 0; }));
          }
        }
      }
}

TEST_CASE("halves are rounded away from zero", "[kquant][quantise]") {
  // The largest is 127, so d is 1 and x / d is x.
  const auto report = report_of(
      {.problem = {.input = DataType::f32, .k = 256, .m = 1}, .input = [](std::int64_t, std::int64_t k) {
         return k % 32 == 0 ? -127.0 : static_cast<double>(k % 32) - 15.5;
       }});
  for (const Q8_1& block : report.blocks) {
    CHECK(block.d == 1);
    CHECK(block.q[0] == -127);
    for (int e = 1; e < 32; ++e) CHECK(block.q[static_cast<std::size_t>(e)] == (e < 16 ? e - 16 : e - 15));
  }
}

// shared/cases.md row 48 (llama.cpp#22571).
TEST_CASE("blocks of zeros and of huge and tiny values", "[kquant][quantise][cases]") {
  const double sizes[] = {0, 1e7, 1e30, 1e-29, 1e-38, 1, 0, 3e36};
  const auto report = report_of(
      {.problem = {.input = DataType::f32, .k = 256, .m = 1},
       .input = [&](std::int64_t, std::int64_t k) { return sizes[k / 32] * (k % 32 == 3 ? -1 : 0.45); }});
  for (std::size_t i = 0; i < 8; ++i) {
    INFO("size " << sizes[i]);
    const Q8_1& block = report.blocks[i];
    if (sizes[i] == 0 || sizes[i] == 1e-38) {
      CHECK(block.d == 0);
      CHECK(block.q == std::array<std::int8_t, 32>{});
      continue;
    }
    CHECK(block.d == static_cast<float>(sizes[i]) / 127.0F);
    CHECK(block.q[3] == -127);
    CHECK(block.q[4] == 57);  // 0.45 * 127 = 57.15
    CHECK(block.sum == Approx(sizes[i] * (31 * 0.45 - 1)).epsilon(1e-6));
  }
}

TEST_CASE("what is not finite shows in the scale", "[kquant][quantise]") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const double bad[] = {inf, -inf, std::nan(""), 1};
  const auto report = report_of(
      {.problem = {.input = DataType::bf16, .k = 256, .m = 1},
       .input = [&](std::int64_t, std::int64_t k) { return k % 32 == 5 && k < 128 ? bad[k / 32] : 1.0; }});
  for (std::size_t i = 0; i < 8; ++i) CHECK(std::isnan(report.blocks[i].d) == (i < 3));
}

TEST_CASE("the product takes the quantiser's output as it is", "[kquant][quantise]") {
  const auto x = [](std::int64_t m, std::int64_t k) {
    return static_cast<float>(std::sin(0.37 * static_cast<double>(k * k % 1013) + static_cast<double>(m)));
  };
  const auto quantised = report_of({.problem = {.input = DataType::f32, .k = 1792, .m = 2}, .input = x});
  for (const auto type :
       {templates::kquant::Type::q4_k, templates::kquant::Type::q5_k, templates::kquant::Type::q6_k})
    CHECK(harness::kquant::passes({.problem = {.type = type, .n = 65, .k = 1792, .m = 2},
                                   .activations = x,
                                   .quantised = quantised.bytes}));
}

TEST_CASE("the quantiser refuses what it cannot do", "[kquant][quantise]") {
  const target::Target& target = *target::find("gfx1151");
  const auto field = [&](const templates::kquant::QuantiseProblem& p, const target::Target& on) {
    const auto normal = normalise(p, on);
    return normal ? std::string("accepted") : normal.error().field;
  };
  CHECK(field({.input = DataType::i32, .k = 256, .m = 1}, target) == "act");
  CHECK(field({.input = DataType::f32, .k = 100, .m = 1}, target) == "k");
  CHECK(field({.input = DataType::f32, .k = 0, .m = 1}, target) == "k");
  CHECK(field({.input = DataType::f32, .k = 48, .m = 1}, target) == "k");
  CHECK(field({.input = DataType::f32, .k = 288, .m = 1 << 26}, target) == "m");
  CHECK(field({.input = DataType::f32, .k = 256, .m = 0}, target) == "m");
  CHECK(field({.input = DataType::f32, .k = 256, .m = 1LL << 27}, target) == "m");
  CHECK(field({.input = DataType::f32, .k = 256, .m = (1LL << 27) - 1}, target) == "accepted");
}
