// SPDX-License-Identifier: MIT
#include "tests/oracle/pack.hpp"

#include <array>
#include <span>

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

Format scale_format16(const Shape& shape) {
  if (shape.scale_format == ScaleFormat::bf16) return Format::bf16;
  return shape.scale_format == ScaleFormat::f16 ? Format::f16 : shape.format;
}

}  // namespace

std::vector<std::uint16_t> activation_row(const Shape& shape, const Values& values, std::int64_t m) {
  return float_row(values.activations, m, shape.k, shape.format);
}

std::vector<std::uint16_t> scale_row(const Shape& shape, const Values& values, std::int64_t n) {
  return float_row(values.scales, n, shape.groups(), shape.format);
}

std::vector<std::uint8_t> weight_row_pairs(const Shape& shape, const Values& values, std::int64_t n) {
  std::vector<std::uint8_t> nibbles(static_cast<std::size_t>(shape.k));
  values.nibbles(n, nibbles);
  std::vector<std::uint8_t> bytes(nibbles.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(nibbles[2 * i] | nibbles[2 * i + 1] << 4);
  return bytes;
}

double as_scale(const Shape& shape, double value) {
  if (shape.scale_format == ScaleFormat::f32) return static_cast<float>(value);
  const Format format = scale_format16(shape);
  return decode(encode(value, format), format);
}

std::vector<std::vector<std::byte>> group_major(const Shape& shape, const FloatRow& source,
                                                std::int64_t begin, std::int64_t end) {
  const auto groups = static_cast<std::size_t>(shape.groups());
  std::vector<std::vector<std::byte>> rows(groups);
  std::vector<double> column(groups);
  const auto append = [](std::vector<std::byte>& row, const auto& element) {
    const auto bytes = std::as_bytes(std::span(&element, 1));
    row.insert(row.end(), bytes.begin(), bytes.end());
  };
  for (std::int64_t n = begin; n < end; ++n) {
    source(n, column);
    for (std::size_t g = 0; g < groups; ++g) {
      if (shape.scale_format == ScaleFormat::f32)
        append(rows[g], static_cast<float>(column[g]));
      else
        append(rows[g], encode(column[g], scale_format16(shape)));
    }
  }
  return rows;
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
