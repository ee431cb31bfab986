// SPDX-License-Identifier: MIT
// The conversions that everything in f16 and bf16 rests on, against their definitions in f64.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "runtime/device/sim/numerics.hpp"

namespace wavejit::test {
namespace {

/// Value of a finite binary16 by definition.
double value16(std::uint32_t h) {
  const int exponent = h >> 10 & 31;
  const double mantissa = h & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (h & 0x8000) != 0 ? -magnitude : magnitude;
}

/// The f16 that a real number rounds to, by search over neighbours: independent of bit tricks.
std::uint32_t round16(double x, sim::Round mode) {
  const std::uint32_t sign = std::signbit(x) ? 0x8000 : 0;
  const double a = std::fabs(x);
  std::uint32_t below = 0;
  for (std::uint32_t step = 0x4000; step != 0; step >>= 1) {
    if (below + step < 0x7C00 && value16(below + step) <= a) below += step;
  }
  const double low = value16(below);
  if (low == a) return sign | below;
  const bool up_is_away = (mode == sim::Round::up && sign == 0) || (mode == sim::Round::down && sign != 0);
  const double high = below + 1 == 0x7C00 ? 65536.0 : value16(below + 1);
  bool away = up_is_away;
  if (mode == sim::Round::nearest) away = a - low > high - a || (a - low == high - a && (below & 1) != 0);
  return sign | (below + (away ? 1 : 0));
}

TEST_CASE("f16 widens by definition", "[sim][numerics]") {
  for (std::uint32_t h = 0; h < 0x10000; ++h) {
    const std::uint32_t wide = sim::f16_to_f32(h);
    if ((h & 0x7C00) == 0x7C00) {
      CHECK((wide & 0x7F800000) == 0x7F800000);
      CHECK(((wide & 0x7FFFFF) != 0) == ((h & 0x3FF) != 0));
    } else if (static_cast<double>(sim::as_f32(wide)) != value16(h) || wide >> 31 != h >> 15) {
      FAIL("f16 0x" << std::hex << h);
    }
  }
}

TEST_CASE("f32 narrows to f16 in every rounding mode", "[sim][numerics]") {
  std::mt19937 random(1);
  std::vector<std::uint32_t> inputs;
  for (std::uint32_t h = 0; h < 0x7C00; h += 7) {  // values, midpoints and their neighbours
    const double mid = (value16(h) + (h + 1 == 0x7C00 ? 65536.0 : value16(h + 1))) / 2;
    const std::uint32_t bits = sim::bits_of(static_cast<float>(mid));
    for (const std::uint32_t b : {sim::f16_to_f32(h), bits - 1, bits, bits + 1}) {
      inputs.push_back(b);
      inputs.push_back(b | 0x80000000);
    }
  }
  for (int i = 0; i < 20000; ++i) inputs.push_back((random() & 0x80FFFFFF) | (100 + random() % 45) << 23);
  for (const std::uint32_t bits : inputs) {
    for (const sim::Round mode : {sim::Round::nearest, sim::Round::up, sim::Round::down, sim::Round::zero}) {
      const std::uint32_t want = round16(sim::as_f32(bits), mode);
      if (sim::f32_to_f16(bits, mode) != want) {
        FAIL("0x" << std::hex << bits << " mode " << static_cast<int>(mode) << ": got 0x"
                  << sim::f32_to_f16(bits, mode) << ", want 0x" << want);
      }
    }
  }
  CHECK(sim::f32_to_f16(0x7F800000, sim::Round::zero) == 0x7C00);
  CHECK(sim::f32_to_f16(0x7F7FFFFF, sim::Round::zero) == 0x7BFF);
  CHECK(sim::f32_to_f16(0x7F7FFFFF, sim::Round::nearest) == 0x7C00);
  CHECK((sim::f32_to_f16(0x7F800001, sim::Round::nearest) & 0x7E00) == 0x7E00);
}

TEST_CASE("f16 multiply-add rounds once", "[sim][numerics]") {
  std::mt19937 random(2);
  const auto finite = [&] {
    std::uint32_t h = 0;
    do h = random() & 0xFFFF;
    while ((h & 0x7C00) == 0x7C00);
    return h;
  };
  for (int i = 0; i < 200000; ++i) {
    const std::uint32_t a = finite(), b = finite();
    // Often an addend near the negated product, where double rounding shows.
    std::uint32_t c = finite();
    if (i % 2 == 0)
      c = sim::f32_to_f16_nearest(sim::bits_of(static_cast<float>(-value16(a) * value16(b)))) ^
          (random() & 1);
    if ((c & 0x7C00) == 0x7C00) continue;
    // 22-bit product and 11-bit addend over at most 64 binary places: exact in long double.
    const long double exact = static_cast<long double>(value16(a)) * value16(b) + value16(c);
    if (exact == 0 || fabsl(exact) >= 65504) continue;
    const auto mode = static_cast<sim::Round>(i % 4);
    const float product = sim::as_f32(sim::f16_to_f32(a)) * sim::as_f32(sim::f16_to_f32(b));
    const std::uint32_t got =
        sim::f32_to_f16(sim::f16_sum_odd(product, sim::as_f32(sim::f16_to_f32(c))), mode);
    // round16 takes a double: make it odd when inexact so that it still rounds right.
    double seen = static_cast<double>(exact);
    const long double lost = exact - seen;
    if (lost != 0) seen = std::nextafter(seen, lost > 0 ? INFINITY : -INFINITY);
    const std::uint32_t want = round16(seen, mode);
    if (got != want)
      FAIL("0x" << std::hex << a << " * 0x" << b << " + 0x" << c << ": got 0x" << got << ", want 0x" << want);
  }
}

TEST_CASE("f32 narrows to bf16", "[sim][numerics]") {
  // domain.md §3.2 and cases.md 1: 7.0546875 lies between 7.03125 and 7.0625.
  const std::uint32_t product = sim::bits_of(7.0546875F);
  CHECK(sim::f32_to_bf16_zero(product) == 0x40E1);
  CHECK(sim::f32_to_bf16_nearest(product) == 0x40E2);
  CHECK(sim::f32_to_bf16_nearest(0x3F808000) == 0x3F80);  // tie to even
  CHECK(sim::f32_to_bf16_nearest(0x3F818000) == 0x3F82);
  CHECK(sim::f32_to_bf16_nearest(0x7F7FFFFF) == 0x7F80);
  // A NaN whose payload lies in the lost half stays a NaN.
  CHECK((sim::f32_to_bf16_zero(0x7F800001) & 0x7FFF) > 0x7F80);
  CHECK((sim::f32_to_bf16_nearest(0xFF800001) & 0x7FFF) > 0x7F80);
  CHECK(sim::f32_to_bf16_zero(0x7F800000) == 0x7F80);
}

}  // namespace
}  // namespace wavejit::test
