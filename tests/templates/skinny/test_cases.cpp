// SPDX-License-Identifier: MIT
// Rows of shared/cases.md about decode kernels, beside those of ../test_cases_numeric.cpp that selection
// gives to skinny kernels. Inputs and right results are the rows'.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "templates/kernel.hpp"
#include "tests/templates/skinny/skinny.hpp"
#include "tests/templates/w4a16_request.hpp"

using namespace wavejit;
using oracle::Format;
using templates::DataType;
using test::request;

namespace {

template <class Expected>
void check_exact(const harness::Request& r, const Expected& expected) {
  CHECK(test::check_exact(r, expected).config.path == templates::Path::skinny);
}

}  // namespace

TEST_CASE("skinny, case 58: sums over many waves of 32 lanes", "[skinny][cases]") {
  harness::Request r = request(1, 4, 5120, 32);
  r.values = oracle::constant_values(1, 1, 1);
  r.problem.activation = GENERATE(DataType::bf16, DataType::f16);
  check_exact(r, [](auto, auto) { return 5120.0; });
  for (const unsigned waves : {1U, 16U, 32U}) {  // more than 16 waves: the report's kernel lost half
    r.config = test::skinny(1, 1, waves);
    check_exact(r, [](auto, auto) { return 5120.0; });
  }
}

TEST_CASE("skinny, case 59: fewer rows than compute units", "[skinny][cases]") {
  harness::Request r = request(1, 8, 1024, 32);
  CHECK(harness::passes(r));
  r.values = oracle::constant_values(1, 1, 1);
  check_exact(r, [](auto, auto) { return 1024.0; });
}

TEST_CASE("skinny, case 42: rows of activations lie a stride apart", "[skinny][cases]") {
  for (const std::int64_t m : {1, 2}) {
    harness::Request r = request(m, 8, 128, 32);
    r.problem.activation_stride = 6288;
    oracle::Values values = oracle::constant_values(1, 1, 1);
    values.activations = oracle::each([](std::int64_t row, std::int64_t) { return row == 0 ? 1.0 : 3.0; });
    r.values = values;
    check_exact(r, [](std::int64_t row, auto) { return row == 0 ? 128.0 : 384.0; });
  }
}

TEST_CASE("skinny, case 45: a base that 16-byte loads cannot take is refused", "[skinny][cases]") {
  harness::Request r = request(1, 16, 1024, 32);
  r.alignment = {{"activations", 2}};
  // The allocation may happen to be aligned by more; the launch says what it needs.
  const auto launch = templates::launch(r.problem, test::skinny(1, 1), *target::find("gfx1151"), 1);
  REQUIRE(launch);
  std::vector<std::uint64_t> addresses;
  for (const templates::Argument& a : launch->arguments)
    if (a.kind == ir::ArgKind::buffer) addresses.push_back(a.name == "activations" ? 0x1002 : 0x1000);
  const auto checked = templates::check_addresses(*launch, addresses);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().field == "activations");
}

TEST_CASE("skinny, case 49: an infinity among bf16 activations gives what each weight's sign says",
          "[skinny][cases]") {
  // Through 128 + n and the sum of the activations alone every one of these would be NaN.
  harness::Request r = request(2, 16, 1056, 32);
  r.problem.zero_points = GENERATE(templates::ZeroPoints::symmetric, templates::ZeroPoints::packed);
  const unsigned waves = GENERATE(1U, 4U);
  r.config = test::skinny(2, 2, waves);
  const std::int64_t place = GENERATE(7, 1030);
  oracle::Values values = oracle::constant_values(1, 1, 1);
  values.zero_points = oracle::each_nibble([](auto, auto) { return 8; });
  values.nibbles = oracle::each_nibble([](std::int64_t n, std::int64_t) { return static_cast<int>(n % 16); });
  values.activations = oracle::each([place](std::int64_t m, std::int64_t k) {
    return m == 0 && k == place ? std::numeric_limits<double>::infinity() : 1.0;
  });
  r.values = values;
  const harness::Outcome outcome = harness::passes(r);
  CHECK(outcome);
  REQUIRE(outcome.report);
  for (std::int64_t column = 0; column < 16; ++column) {
    CAPTURE(column);
    const double inf = oracle::decode(outcome.report->at(0, column), Format::bf16);
    if (column == 8) {
      CHECK(std::isnan(inf));
    } else {
      CHECK(inf == (column < 8 ? -1 : 1) * std::numeric_limits<double>::infinity());
    }
    CHECK(oracle::decode(outcome.report->at(1, column), Format::bf16) ==
          1056.0 * static_cast<double>(column - 8));
  }
}

// Each wave looks at its own sums: what only one of them computes again must be the same part of K.
TEST_CASE("skinny: sums that only one of several waves computes again are right", "[skinny]") {
  const std::int64_t k = GENERATE(2112, 4384, 6144);
  const unsigned waves = GENERATE(2U, 4U);
  harness::Request r = request(3, 11, k, 32);
  r.problem.zero_points = GENERATE(templates::ZeroPoints::symmetric, templates::ZeroPoints::packed);
  r.config = test::skinny(2, 1, waves);
  CAPTURE(k, waves);
  const oracle::Values ordinary = oracle::random_values(7);
  oracle::Values values = ordinary;
  SECTION("an infinity in a row beside finite ones") {
    values.activations = [&](std::int64_t row, std::span<double> out) {
      ordinary.activations(row, out);
      if (row == 1) out[static_cast<std::size_t>(k / 3)] = std::numeric_limits<double>::infinity();
    };
  }
  SECTION("large activations in a part of K, whose products with 128 + weight overflow") {
    values.activations = [&](std::int64_t row, std::span<double> out) {
      ordinary.activations(row, out);
      const std::size_t from = out.size() / 2;
      for (std::size_t i = from; i < from + 64; ++i) out[i] = std::ldexp(out[i], 121);
    };
  }
  r.values = values;
  CHECK(harness::passes(r));
}

TEST_CASE("skinny: a large common part of the activations does not drown the result", "[skinny]") {
  // 136 x 1000 x 32 a run against weights that cancel: 2^-24 of the former is far below one ulp of bf16.
  harness::Request r = request(1, 8, 4096, 128);
  r.problem.activation = GENERATE(DataType::bf16, DataType::f16);
  oracle::Values values = oracle::constant_values(1000, 0, 1);
  values.nibbles = oracle::each_nibble(
      [](std::int64_t, std::int64_t k) { return k == 77 ? 9 : 7 + static_cast<int>(k % 2) * 2; });
  r.values = values;
  check_exact(r, [](auto, auto) { return 0.0; });
  r.values = oracle::random_values(2);
  r.values->activations = oracle::each(
      [](std::int64_t m, std::int64_t k) { return 4.0 + static_cast<double>((m * 7 + k * 5) % 9 - 4) / 4; });
  CHECK(harness::passes(r));
}

TEST_CASE("skinny: dot products that flush denormals make no difference that matters", "[skinny]") {
  harness::Request r = request(2, 16, 2560, 32);
  r.sim.flush_bf16_denormals = true;
  CHECK(harness::passes(r));
}

TEST_CASE("skinny: more rows than one kernel takes are several workgroups'", "[skinny]") {
  harness::Request r = request(13, 24, 1024, 64);
  r.config = test::skinny(4, 2);
  const harness::Outcome outcome = harness::passes(r);
  CHECK(outcome);
  REQUIRE(outcome.report);
  CHECK(outcome.report->launch.grid == std::array<std::uint32_t, 3>{4, 12, 1});
}

TEST_CASE("skinny: Configs that cannot be are refused by field", "[skinny]") {
  const auto refused = [](templates::Config c, const char* field) {
    harness::Request r = request(1, 16, 1024, 32);
    r.config = c;
    return harness::refused(r, field);
  };
  CHECK(refused(test::skinny(17, 1), "bm"));
  CHECK(refused(test::skinny(0, 1), "bm"));
  CHECK(refused(test::skinny(1, 3), "bn"));
  CHECK(refused(test::skinny(1, 16), "bn"));
  CHECK(refused(test::skinny(1, 1, 3), "waves"));
  CHECK(refused(test::skinny(1, 1, 64), "waves"));
  CHECK(refused(test::skinny(1, 1, 1, 3), "pipeline_depth"));
  templates::Config without = test::skinny(1, 1);
  without.techniques.magic_dequant = false;
  CHECK(refused(without, "techniques"));
}

TEST_CASE("skinny: the text of a Config gives the Config back, other texts are refused", "[skinny]") {
  templates::Problem p;
  p.n = 64;
  p.k = 2048;
  const target::Target& target = *target::find("gfx1151");
  const auto normal = templates::normalise(p, target);
  REQUIRE(normal);
  const auto c = templates::normalise(test::skinny(4, 2, 8, 2), *normal, target);
  REQUIRE(c);
  const std::string text = templates::canonical(*c);
  const auto back = templates::parse_config(text);
  REQUIRE(back);
  CHECK(templates::canonical(*back) == text);
  CHECK(back->path == templates::Path::skinny);
  CHECK(back->bk == c->bk);
  CHECK(back->waves_n == c->waves_n);
  CHECK_FALSE(back->wgp_mode);
  for (const std::string& bad : {text + " ", text.substr(0, text.size() - 1), std::string("skinny 999x1")})
    CHECK_FALSE(templates::parse_config(bad));
}
