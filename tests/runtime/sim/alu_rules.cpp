// SPDX-License-Identifier: MIT
#include "tests/runtime/sim/alu_rules.hpp"

#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "tests/runtime/sim/asm_kernel.hpp"

namespace wavejit::test::rules {

// 1 sign, 5 exponent bits of bias 15, 10 of mantissa.
double h(u32 x) {
  const int exponent = static_cast<int>(x >> 10 & 31), mantissa = static_cast<int>(x & 1023);
  const double size = exponent == 31  ? (mantissa != 0 ? NAN : INFINITY)
                      : exponent == 0 ? std::ldexp(mantissa, -24)
                                      : std::ldexp(1024 + mantissa, exponent - 25);
  return (x & 0x8000) != 0 ? -size : size;
}
u32 to_half(double x) {
  const u32 sign = std::signbit(x) ? 0x8000 : 0;
  const double size = std::fabs(x);
  if (size == 0) return sign;
  const int exponent = std::max(std::isinf(size) ? 100 : std::ilogb(size), -14);
  if (exponent > 15) return sign | 0x7C00;
  const auto units = static_cast<u32>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  return sign | (units + (static_cast<u32>(exponent + 14) << 10));  // 1024 units carry into the exponent
}

namespace {

/// Operands of one kind. Reals are moderate, so that no sum loses more than its last bit.
u32 operand(std::mt19937& random, Kind kind) {
  static constexpr u32 edges[] = {0,          1,          2,          7,          8,          15,
                                  16,         31,         32,         33,         63,         0x7F,
                                  0x80,       0xFF,       0x100,      0x7FFF,     0x8000,     0x8001,
                                  0xFFFF,     0x10000,    0x7FFFFF,   0x800000,   0xFFFFFF,   0x1000000,
                                  0x7FFFFFFE, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFF7FFF, 0xFFFF8000,
                                  0xFFFFFFFE, 0xFFFFFFFF, 0x00100008, 0x04000010, 0x00200000};
  static constexpr float reals[] = {
      0.0F,          -0.0F,         0.5F,     1.0F,          -1.0F,         1.5F,
      2.5F,          -2.5F,         0.49999F, 254.5F,        255.5F,        256.0F,
      -0.5F,         32766.5F,      32767.0F, 32768.0F,      -32768.0F,     -32769.0F,
      65534.5F,      65535.0F,      65536.0F, 2147483520.0F, 2147483648.0F, -2147483648.0F,
      4294967040.0F, 4294967296.0F, -3e9F,    0.99999F,      1.00001F,      3.75F};
  switch (kind) {
    case Kind::integer:
      return random() % 5 < 3 ? edges[random() % std::size(edges)] : static_cast<u32>(random());
    case Kind::real:
      return bits(random() % 2 != 0 ? reals[random() % std::size(reals)]
                                    : std::ldexp(static_cast<float>(static_cast<int>(random() % 2001) - 1000),
                                                 static_cast<int>(random() % 16) - 12));
    case Kind::half: {
      const auto one = [&] {  // exponents -4 to 5, zero, and the ends
        const u32 x = static_cast<u32>(random() % 2) << 15 | (11 + static_cast<u32>(random() % 10)) << 10 |
                      static_cast<u32>(random() % 1024);
        return random() % 6 != 0 ? x : (x & 0x8000) | (random() % 2 != 0 ? 0U : 0x3C00U);
      };
      return one() | one() << 16;
    }
  }
  return 0;
}

}  // namespace

void check(const std::vector<Op>& ops, std::string_view target, Kind kind) {
  constexpr unsigned sets = 8;
  unsigned seed = 0;
  for (const Op& op : ops) {
    CAPTURE(op.text, target);
    std::string body;
    for (unsigned s = 0; s < sets; ++s)
      body += fmt::format(fmt::runtime(op.text), fmt::format("v{}", 8 + 4 * s), fmt::format("v{}", 9 + 4 * s),
                          fmt::format("v{}", 10 + 4 * s), fmt::format("v{}", 11 + 4 * s)) +
              "\n";
    auto bench = make_bench({.body = body, .target = target});
    sim::Probe& p = *bench->probe;
    std::mt19937 random(++seed);
    std::array<std::array<std::array<u32, 3>, 32>, sets> in{};
    for (unsigned s = 0; s < sets; ++s)
      for (unsigned l = 0; l < 32; ++l) {
        for (const unsigned lane : {l, l + 32}) p.set_vgpr(8 + 4 * s, lane, 0xAAAA5555);
        for (unsigned i = 0; i < 3; ++i) {
          in[s][l][i] = operand(random, kind);
          p.set_vgpr(9 + 4 * s + i, l + 32, in[s][l][i]);  // of a wave of 64
          p.set_vgpr(9 + 4 * s + i, l, in[s][l][i]);
        }
      }
    p.run();
    INFO(text(p.faults()));
    CHECK(p.faults().empty());
    for (unsigned s = 0; s < sets; ++s)
      for (unsigned l = 0; l < 32; ++l) {
        const auto [a, b, c] = in[s][l];
        const u32 expected = op.is(a, b, c), found = p.vgpr(8 + 4 * s, l);
        if (expected != found) {
          CAPTURE(a, b, c, expected, found);
          CHECK(expected == found);
          s = sets - 1;  // one per opcode will do
          break;
        }
      }
  }
}

}  // namespace wavejit::test::rules
