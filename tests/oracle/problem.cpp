// SPDX-License-Identifier: MIT
#include "tests/oracle/problem.hpp"

#include <random>
#include <utility>

namespace wavejit::oracle {
namespace {

enum Tensor : std::uint32_t {
  activation_tensor = 1,
  nibble_tensor,
  scale_tensor,
  zero_point_tensor,
  bias_tensor,
  zero_tensor
};

std::mt19937_64 generator(std::uint64_t seed, Tensor tensor, std::int64_t row) {
  std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                         static_cast<std::uint32_t>(tensor), static_cast<std::uint32_t>(row),
                         static_cast<std::uint32_t>(row >> 32)};
  return std::mt19937_64(sequence);
}

void random_nibbles(std::mt19937_64 bits, std::span<std::uint8_t> out) {
  std::uint64_t pool = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i % 16 == 0) pool = bits();
    out[i] = static_cast<std::uint8_t>(pool >> (i % 16 * 4) & 0xF);
  }
}

}  // namespace

Values random_values(std::uint64_t seed) {
  Values values;
  values.activations = [seed](std::int64_t row, std::span<double> out) {
    std::mt19937_64 bits = generator(seed, activation_tensor, row);
    std::normal_distribution<double> normal;
    for (double& x : out) x = normal(bits);
  };
  values.nibbles = [seed](std::int64_t row, std::span<std::uint8_t> out) {
    random_nibbles(generator(seed, nibble_tensor, row), out);
  };
  values.scales = [seed](std::int64_t row, std::span<double> out) {
    std::mt19937_64 bits = generator(seed, scale_tensor, row);
    std::uniform_real_distribution<double> magnitude(0.75 / 128, 1.25 / 128);
    std::bernoulli_distribution negative;
    for (double& s : out) {
      s = magnitude(bits);
      if (negative(bits)) s = -s;
    }
  };
  values.zero_points = [seed](std::int64_t row, std::span<std::uint8_t> out) {
    random_nibbles(generator(seed, zero_point_tensor, row), out);
  };
  values.bias = [seed](std::int64_t n) {
    std::mt19937_64 bits = generator(seed, bias_tensor, n);
    return std::normal_distribution<double>()(bits);
  };
  values.zeros = [seed](std::int64_t row, std::span<double> out) {
    std::mt19937_64 bits = generator(seed, zero_tensor, row);
    std::uniform_real_distribution<double> zero(-1.0 / 16, 1.0 / 16);
    for (double& z : out) z = zero(bits);
  };
  return values;
}

Values constant_values(double x, int q, double s) {
  return {.activations = each([x](std::int64_t, std::int64_t) { return x; }),
          .nibbles = each_nibble([q](std::int64_t, std::int64_t) { return q + 8; }),
          .scales = each([s](std::int64_t, std::int64_t) { return s; }),
          .zero_points = each_nibble([](std::int64_t, std::int64_t) { return 8; }),
          .bias = [](std::int64_t) { return 0.0; },
          .zeros = each([](std::int64_t, std::int64_t) { return 0.0; })};
}

Values constant_signed_values(double x, int q, double s, double z) {
  Values values = constant_values(x, 0, s);
  values.nibbles = each_nibble([q](std::int64_t, std::int64_t) { return q; });
  values.zeros = each([z](std::int64_t, std::int64_t) { return z; });
  return values;
}

FloatRow each(std::function<double(std::int64_t row, std::int64_t column)> f) {
  return [f = std::move(f)](std::int64_t row, std::span<double> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = f(row, static_cast<std::int64_t>(i));
  };
}

NibbleRow each_nibble(std::function<int(std::int64_t row, std::int64_t column)> f) {
  return [f = std::move(f)](std::int64_t row, std::span<std::uint8_t> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<std::uint8_t>(f(row, static_cast<std::int64_t>(i)) & 0xF);
  };
}

}  // namespace wavejit::oracle
