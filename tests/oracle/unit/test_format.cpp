// SPDX-License-Identifier: MIT
// Conversions against the compiler's own: a bfloat16 is the high half of a binary32, and _Float16 is
// IEEE binary16.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/oracle/format.hpp"

using namespace wavejit::oracle;

namespace {

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

double compiler_decode(unsigned bits, Format format) {
  if (format == Format::bf16) return std::bit_cast<float>(bits << 16);
  return static_cast<double>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits)));
}

}  // namespace

TEST_CASE("every 16-bit pattern decodes as the compiler has it and encodes to itself", "[oracle]") {
  for (const Format format : {Format::bf16, Format::f16}) {
    unsigned wrong = 0;
    for (unsigned bits = 0; bits <= 0xFFFF; ++bits) {
      const double value = decode(static_cast<std::uint16_t>(bits), format);
      wrong += same(value, compiler_decode(bits, format)) ? 0 : 1;
      if (std::isnan(value)) {
        wrong += std::isnan(decode(encode(value, format), format)) ? 0 : 1;
      } else {
        wrong += encode(value, format) == bits && encode_truncated(value, format) == bits ? 0 : 1;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("between two neighbours: nearest goes to the nearer, ties to even, truncation down", "[oracle]") {
  for (const Format format : {Format::bf16, Format::f16}) {
    const unsigned infinity = format == Format::bf16 ? 0x7F80 : 0x7C00;
    unsigned wrong = 0;
    for (unsigned bits = 0; bits + 1 < infinity; ++bits) {
      const auto low_bits = static_cast<std::uint16_t>(bits),
                 high_bits = static_cast<std::uint16_t>(bits + 1);
      const double low = decode(low_bits, format), high = decode(high_bits, format);
      const double middle = low + (high - low) / 2;
      const std::uint16_t even = bits % 2 == 0 ? low_bits : high_bits;
      wrong += encode(middle, format) != even;
      wrong += encode(std::nextafter(middle, 0.0), format) != low_bits;
      wrong += encode(std::nextafter(middle, high), format) != high_bits;
      wrong += encode(-middle, format) != (even | 0x8000);
      wrong += encode_truncated(std::nextafter(high, 0.0), format) != low_bits;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("overflow, infinity and the published truncation example", "[oracle]") {
  // binary16's largest finite value is 65504; 65520 is the tie that goes to infinity.
  CHECK(encode(65519.99, Format::f16) == 0x7BFF);
  CHECK(encode(65520.0, Format::f16) == 0x7C00);
  CHECK(encode_truncated(1e9, Format::f16) == 0x7BFF);
  CHECK(overflow_threshold(Format::f16) == 65520.0);
  CHECK(encode(-std::numeric_limits<double>::infinity(), Format::bf16) == 0xFF80);
  // shared/cases.md row 1: 7 * 1.0078125 = 7.0546875.
  CHECK(encode_truncated(7.0546875, Format::bf16) == 0x40E1);
  CHECK(encode(7.0546875, Format::bf16) == 0x40E2);
}
