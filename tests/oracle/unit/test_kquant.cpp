// SPDX-License-Identifier: MIT
// Superblocks against the `gguf` Python package's values (tests/data/oracle) and against bytes worked out by
// hand from shared/domain.md §2.1.
#include <bit>
#include <catch2/catch.hpp>
#include <charconv>
#include <cmath>
#include <fstream>

#include "tests/oracle/kquant.hpp"

using namespace wavejit::oracle::kquant;

namespace {

template <class T>
T from_hex(std::string_view text) {
  T value{};
  REQUIRE(std::from_chars(text.data(), text.data() + text.size(), value, 16).ec == std::errc{});
  return value;
}

Type type_of(const std::string& name) {
  if (name == "q4_k") return Type::q4_k;
  if (name == "q5_k") return Type::q5_k;
  if (name == "q8_0") return Type::q8_0;
  if (name == "q4_0") return Type::q4_0;
  REQUIRE(name == "q6_k");
  return Type::q6_k;
}

}  // namespace

TEST_CASE("superblocks have the values that the gguf package gives them", "[oracle][kquant]") {
  std::ifstream file(WAVEJIT_TEST_DATA "/oracle/kquant_gguf.txt");
  REQUIRE(file);
  unsigned blocks = 0;
  for (std::string name, bytes, values; file >> name >> bytes >> values; ++blocks) {
    const Type type = type_of(name);
    REQUIRE(static_cast<std::int64_t>(bytes.size()) == 2 * block_bytes(type));
    REQUIRE(values.size() == 256 * 8);
    std::vector<std::uint8_t> block;
    for (std::size_t i = 0; i < bytes.size(); i += 2)
      block.push_back(from_hex<std::uint8_t>(std::string_view(bytes).substr(i, 2)));
    for (std::int64_t e = 0; e < 256; ++e) {
      INFO(name << " block " << blocks << " element " << e);
      const auto golden = std::bit_cast<float>(
          from_hex<std::uint32_t>(std::string_view(values).substr(8 * static_cast<std::size_t>(e), 8)));
      // The package works in f32: its products are exact, the difference is rounded once.
      CHECK(static_cast<float>(element(type, block, e)) == golden);
    }
  }
  CHECK(blocks == 15);
}

TEST_CASE("scales of the upper sub-blocks are put together of three bytes", "[oracle][kquant]") {
  std::vector<std::uint8_t> block(144);
  block[1] = block[3] = 0x3C;  // d = dmin = 1
  block[4 + 1] = 0xC0;         // s[1] bits 7..6: upper bits of sub-block 5's scale
  block[4 + 5] = 0x40;         // s[5]: upper bits of sub-block 5's minimum
  block[4 + 9] = 0x2B;         // s[9]: low scale 11, low minimum 2
  block[16 + 2 * 32] = 0x30;   // chunk 2, high nibble: sub-block 5, element 0: q = 3
  CHECK(element(Type::q4_k, block, 5 * 32) == (48 + 11) * 3 - (16 + 2));
  CHECK(element(Type::q4_k, block, 4 * 32) == 0);
}

TEST_CASE("activations are quantised as the formats say", "[oracle][kquant]") {
  std::vector<float> x(256);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 32) - 8;
  x[31] = -25.4F;  // largest of sub-block 0: d = 0.2
  const Q8_1 block = quantise_q8_1(std::span(x).first(32));
  CHECK(block.d == 25.4F / 127);
  CHECK(block.q[31] == -127);
  CHECK(block.q[0] == -40);
  CHECK(block.sum == Approx(-8.0 - 7 - 6 - 5 - 4 - 3 - 2 - 1 + 22 * 23 / 2 - 25.4).epsilon(1e-6));
  const Q8_1 zero = quantise_q8_1(std::vector<float>(32));
  CHECK((zero.d == 0 && zero.sum == 0 && zero.q == std::array<std::int8_t, 32>{}));
  const Q8_1 huge = quantise_q8_1(std::vector<float>(32, 1e7F));
  CHECK((huge.q[0] == 127 && huge.d == 1e7F / 127));

  const Q8_K row = quantise_q8_k(x);
  CHECK(row.q[31] == -127);     // the largest magnitude always becomes -127 ...
  CHECK(row.d == Approx(0.2));  // ... so the scale has the sign that makes it so
  int sum = 0;
  for (std::size_t i = 240; i < 256; ++i) sum += row.q[i];
  CHECK(row.sums[15] == sum);
  std::vector<float> positive(256);
  positive[7] = 5;
  CHECK(quantise_q8_k(positive).d == Approx(-5.0 / 127));
  CHECK(quantise_q8_k(positive).q[7] == -127);
  CHECK(quantise_q8_k(std::vector<float>(256)).d == 0);
}

TEST_CASE("products with quantised activations stay near the exact ones", "[oracle][kquant]") {
  // Bounds: shared/domain.md §3.4, 3-4e-5 with q8_1 and 4-5.5e-5 with q8_K for Gaussian activations.
  for (const Type type : {Type::q4_k, Type::q5_k, Type::q6_k, Type::q8_0, Type::q4_0}) {
    std::vector<float> by_q8_1, by_q8_k;
    std::vector<double> exact;
    for (std::int64_t n = 0; n < 64; ++n) {
      const auto row = random_row(type, 1024, 3, n);
      std::vector<float> x;
      for (std::size_t k = 0; k < 1024; ++k)
        x.push_back(static_cast<float>(std::sin(static_cast<double>(k * k % 977) + 1)));
      std::vector<Q8_K> q8_k;
      for (std::size_t b = 0; b < 1024; b += 256) q8_k.push_back(quantise_q8_k(std::span(x).subspan(b, 256)));
      exact.push_back(dot(type, row, std::span<const float>(x)));
      by_q8_1.push_back(static_cast<float>(dot(type, row, std::span<const Q8_1>(quantise_row_q8_1(x)))));
      by_q8_k.push_back(static_cast<float>(dot(type, row, std::span<const Q8_K>(q8_k))));
    }
    CHECK(nmse(by_q8_1, exact) < 1e-4);
    CHECK(nmse(by_q8_1, exact) > 1e-7);  // and they are quantised
    CHECK(nmse(by_q8_k, exact) < 1e-4);
  }
}
