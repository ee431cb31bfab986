// SPDX-License-Identifier: MIT
#include "tests/oracle/format.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wavejit::oracle {
namespace {

struct Layout {
  int mantissa_bits;  ///< stored
  int bias;
  int exponent_max;  ///< all-ones exponent field
};

constexpr Layout layout(Format format) {
  return format == Format::bf16 ? Layout{.mantissa_bits = 7, .bias = 127, .exponent_max = 255}
                                : Layout{.mantissa_bits = 10, .bias = 15, .exponent_max = 31};
}

/// Works on the value's own scale: the unit in the last place of its binade (or of the subnormals)
/// turns the rounding into one of an integer, which doubles do exactly.
std::uint16_t encode_with(double value, Format format, double (*round)(double)) {
  const Layout l = layout(format);
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const auto infinity = static_cast<std::uint16_t>(l.exponent_max << l.mantissa_bits);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | infinity | 1U << (l.mantissa_bits - 1));
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | infinity);
  const double magnitude = std::fabs(value);
  if (magnitude == 0.0) return sign;

  const int exponent = std::max(std::ilogb(magnitude), 1 - l.bias);
  const double units = round(std::ldexp(magnitude, l.mantissa_bits - exponent));
  // `units` is below 2^(mantissa+1), or equal to it when rounding carried into the next binade;
  // adding it to the exponent field lets the carry do the right thing, for subnormals too.
  const std::int64_t bits =
      ((std::int64_t{exponent} + l.bias - 1) << l.mantissa_bits) + static_cast<std::int64_t>(units);
  const std::int64_t largest = (std::int64_t{l.exponent_max} << l.mantissa_bits) - 1;
  if (bits > largest) {
    const bool truncates = round(0.75) == 0.0;
    return static_cast<std::uint16_t>(sign | (truncates ? largest : largest + 1));
  }
  return static_cast<std::uint16_t>(sign | bits);
}

double nearest_even(double value) { return std::nearbyint(value); }
double toward_zero(double value) { return std::trunc(value); }

}  // namespace

std::uint16_t encode(double value, Format format) { return encode_with(value, format, nearest_even); }

std::uint16_t encode_truncated(double value, Format format) {
  return encode_with(value, format, toward_zero);
}

double decode(std::uint16_t bits, Format format) {
  const Layout l = layout(format);
  const int field = (bits & 0x7FFF) >> l.mantissa_bits;
  const int mantissa = bits & ((1 << l.mantissa_bits) - 1);
  double magnitude = 0.0;
  if (field == l.exponent_max) {
    magnitude =
        mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (field == 0) {
    magnitude = std::ldexp(mantissa, 1 - l.bias - l.mantissa_bits);
  } else {
    magnitude = std::ldexp(mantissa + (1 << l.mantissa_bits), field - l.bias - l.mantissa_bits);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

double overflow_threshold(Format format) {
  const Layout l = layout(format);
  // Half an ulp above the largest finite value.
  return std::ldexp(2.0 - std::ldexp(1.0, -l.mantissa_bits - 1), l.exponent_max - 1 - l.bias);
}

}  // namespace wavejit::oracle
