// SPDX-License-Identifier: MIT
// Packed layouts against numbers worked out by hand from shared/domain.md §1.4 and §1.5.
#include <catch2/catch.hpp>

#include "tests/oracle/pack.hpp"

using namespace wavejit::oracle;

TEST_CASE("ExLlama order: nibble i holds K offset 0,2,4,6,1,3,5,7", "[oracle]") {
  const Shape shape{.format = Format::bf16, .n = 2, .k = 32, .group = 32, .has_zero_points = false};
  Values values = constant_values(1, 0, 1);
  values.nibbles =
      each_nibble([](std::int64_t row, std::int64_t k) { return static_cast<int>(row == 0 ? k : 15 - k); });
  const auto row0 = weight_row_exllama(shape, values, 0);
  REQUIRE(row0.size() == 4);
  CHECK(row0[0] == 0x75316420);
  CHECK(row0[1] == 0xFDB9ECA8);
  CHECK(row0[2] == 0x75316420);  // K 16..23 have the nibbles of 0..7 again
  CHECK(weight_row_exllama(shape, values, 1)[0] == 0x8ACE9BDF);
  // The documented shift of K offset j: (j/2)*4 + (j%2)*16.
  for (unsigned j = 0; j < 8; ++j) CHECK((row0[0] >> (j / 2 * 4 + j % 2 * 16) & 0xF) == j);
}

TEST_CASE("zero points: row n in nibble n % 8 of word n / 8, absent rows 0", "[oracle]") {
  const Shape shape{.format = Format::f16, .n = 12, .k = 64, .group = 32, .has_zero_points = true};
  Values values = constant_values(1, 0, 1);
  values.zero_points = each_nibble([](std::int64_t n, std::int64_t g) { return static_cast<int>(n + g); });
  CHECK(zero_point_row(shape, values, 0) == std::vector<std::uint32_t>{0x76543210, 0x87654321});
  CHECK(zero_point_row(shape, values, 1) == std::vector<std::uint32_t>{0x0000BA98, 0x0000CBA9});
}

TEST_CASE("random rows are the same at every look and differ between rows, tensors and seeds", "[oracle]") {
  const Shape shape{.format = Format::bf16, .n = 64, .k = 128, .group = 32, .has_zero_points = true};
  const Values values = random_values(7);
  CHECK(weight_row_exllama(shape, values, 5) == weight_row_exllama(shape, random_values(7), 5));
  CHECK(weight_row_exllama(shape, values, 5) != weight_row_exllama(shape, values, 6));
  CHECK(weight_row_exllama(shape, values, 5) != weight_row_exllama(shape, random_values(8), 5));
  const std::int64_t beyond_32_bits = (std::int64_t{1} << 32) + 5;
  CHECK(activation_row(shape, values, 5) != activation_row(shape, values, beyond_32_bits));
}
