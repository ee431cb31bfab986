// SPDX-License-Identifier: MIT
#include "tests/oracle/pack.hpp"

#include <array>

namespace wavejit::oracle {
namespace {

std::vector<std::uint16_t> float_row(const FloatRow& source, std::int64_t row, std::int64_t count,
                                     Format format) {
  std::vector<double> exact(static_cast<std::size_t>(count));
  source(row, exact);
  std::vector<std::uint16_t> bits(exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) bits[i] = encode(exact[i], format);
  return bits;
}

}  // namespace

std::vector<std::uint16_t> activation_row(const Shape& shape, const Values& values, std::int64_t m) {
  return float_row(values.activations, m, shape.k, shape.format);
}

std::vector<std::uint16_t> scale_row(const Shape& shape, const Values& values, std::int64_t n) {
  return float_row(values.scales, n, shape.groups(), shape.format);
}

std::uint16_t bias_element(const Shape& shape, const Values& values, std::int64_t n) {
  return encode(values.bias(n), shape.format);
}

std::vector<std::uint32_t> weight_row_exllama(const Shape& shape, const Values& values, std::int64_t n) {
  constexpr std::array<unsigned, 8> k_offset_of_nibble{0, 2, 4, 6, 1, 3, 5, 7};
  std::vector<std::uint8_t> nibbles(static_cast<std::size_t>(shape.k));
  values.nibbles(n, nibbles);
  std::vector<std::uint32_t> words(nibbles.size() / 8);
  for (std::size_t w = 0; w < words.size(); ++w)
    for (unsigned i = 0; i < 8; ++i)
      words[w] |= std::uint32_t{nibbles[8 * w + k_offset_of_nibble[i]]} << (4 * i);
  return words;
}

std::vector<std::uint32_t> zero_point_row(const Shape& shape, const Values& values, std::int64_t block) {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(shape.groups()));
  std::vector<std::uint8_t> nibbles(words.size());
  for (unsigned i = 0; i < 8 && 8 * block + i < shape.n; ++i) {
    values.zero_points(8 * block + i, nibbles);
    for (std::size_t g = 0; g < words.size(); ++g) words[g] |= std::uint32_t{nibbles[g]} << (4 * i);
  }
  return words;
}

}  // namespace wavejit::oracle
