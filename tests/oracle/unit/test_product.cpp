// SPDX-License-Identifier: MIT
// The product against sums written out by hand.
#include <catch2/catch.hpp>

#include "tests/oracle/product.hpp"

using namespace wavejit::oracle;

TEST_CASE("zero points, scales and groups enter as in out = sum x (q - z) s", "[oracle]") {
  // shared/cases.md row 10: out[n] = sum over g of 32 (15 - zp[n, g]), zp = (3n + g) % 16.
  const Shape shape{.format = Format::bf16, .n = 32, .k = 128, .group = 32, .has_zero_points = true};
  Values values = constant_values(1, 7, 1);
  values.zero_points =
      each_nibble([](std::int64_t n, std::int64_t g) { return static_cast<int>((3 * n + g) % 16); });
  const Matrix out =
      product(shape, values, {.row_begin = 0, .row_end = 2, .column_begin = 0, .column_end = 32});
  for (int n = 0; n < 32; ++n) {
    int expected = 0;
    for (int g = 0; g < 4; ++g) expected += 32 * (15 - (3 * n + g) % 16);
    CHECK(out(1, n) == expected);
  }
}

TEST_CASE("a block is the same numbers as in the whole, across column panels", "[oracle]") {
  const Shape shape{.format = Format::f16, .n = 700, .k = 64, .group = 64, .has_zero_points = false};
  const Values values = random_values(11);
  const Matrix whole =
      product(shape, values, {.row_begin = 0, .row_end = 5, .column_begin = 0, .column_end = 700});
  const Matrix part =
      product(shape, values, {.row_begin = 3, .row_end = 5, .column_begin = 250, .column_end = 600});
  double plain = 0;
  const Matrix x = activations(shape, values, 4, 5), w = dequantised(shape, values, 599, 600);
  for (int k = 0; k < 64; ++k) plain += x(0, k) * w(0, k);
  CHECK(part(1, 349) == Approx(plain).epsilon(1e-12));
  CHECK((whole.block(3, 250, 2, 350) - part).cwiseAbs().maxCoeff() < 1e-12);
}
