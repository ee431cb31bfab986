// SPDX-License-Identifier: MIT
#include "tests/oracle/kquant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <random>

#include "tests/oracle/format.hpp"

namespace wavejit::oracle::kquant {
namespace {

using Block = std::span<const std::uint8_t>;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

double half(Block block, std::size_t offset) {
  return decode(static_cast<std::uint16_t>(block[offset] | block[offset + 1] << 8), Format::f16);
}

/// A weight is scale * quant - minimum, scale and minimum being constant over a sub-block.
struct Parts {
  double scale = 0, minimum = 0;
  int quant = 0;
};

/// Six-bit scale and minimum of sub-block j, in the 12 bytes s of Q4_K and Q5_K.
struct ScaleMin {
  int scale, minimum;
};
ScaleMin scale_min(Block s, std::size_t j) {
  if (j < 4) return {s[j] & 63, s[j + 4] & 63};
  return {(s[j + 4] & 15) | (s[j - 4] >> 6) << 4, (s[j + 4] >> 4) | (s[j] >> 6) << 4};
}

Parts parts_q45(Block block, std::int64_t e, bool five) {
  const std::size_t j = at(e / 32), l = at(e % 32);
  const ScaleMin sm = scale_min(block.subspan(4, 12), j);
  const std::uint8_t byte = block[(five ? 48 : 16) + 32 * (j / 2) + l];
  int quant = j % 2 == 0 ? byte & 15 : byte >> 4;
  if (five) quant += 16 * (block[16 + l] >> j & 1);
  return {half(block, 0) * sm.scale, half(block, 2) * sm.minimum, quant};
}

Parts parts_q6(Block block, std::int64_t e) {
  const std::size_t h = at(e / 128), quarter = at(e % 128 / 32), l = at(e % 32);
  const std::uint8_t low = block[64 * h + 32 * (quarter % 2) + l];
  const std::uint8_t high = block[128 + 32 * h + l];
  const int quant = (quarter < 2 ? low & 15 : low >> 4) | (high >> (2 * quarter) & 3) << 4;
  const auto scale = static_cast<std::int8_t>(block[192 + 8 * h + at(e % 128 / 16)]);
  return {half(block, 208) * scale, 0, quant - 32};
}

Parts parts_q8_0(Block block, std::int64_t e) {
  const Block own = block.subspan(at(e / 32) * 34, 34);
  return {half(own, 0), 0, static_cast<std::int8_t>(own[2 + at(e % 32)])};
}

Parts parts_q4_0(Block block, std::int64_t e) {
  const Block own = block.subspan(at(e / 32) * 18, 18);
  const std::uint8_t byte = own[2 + at(e % 16)];
  return {half(own, 0), 0, (e % 32 < 16 ? byte & 15 : byte >> 4) - 8};
}

Parts parts(Type type, Block block, std::int64_t e) {
  assert(static_cast<std::int64_t>(block.size()) <= block_bytes(type) && e >= 0 && e < elements);
  if (type == Type::q8_0) return parts_q8_0(block, e);
  if (type == Type::q4_0) return parts_q4_0(block, e);
  return type == Type::q6_k ? parts_q6(block, e) : parts_q45(block, e, type == Type::q5_k);
}

/// Calls f(parts, element of the row).
template <class F>
void for_each_element(Type type, Block row, const F& f) {
  const std::int64_t bytes = block_bytes(type), size = static_cast<std::int64_t>(row.size());
  assert(size % (type == Type::q8_0 || type == Type::q4_0 ? bytes / 8 : bytes) == 0);
  for (std::int64_t k = 0; k < size * elements / bytes; ++k) {
    const std::int64_t begin = k / elements * bytes;
    f(parts(type, row.subspan(at(begin), at(std::min(bytes, size - begin))), k % elements), k);
  }
}

}  // namespace

std::int64_t block_bytes(Type type) {
  constexpr std::array<std::int64_t, 5> bytes{144, 176, 210, 272, 144};
  return bytes[static_cast<std::size_t>(type)];
}

double element(Type type, Block block, std::int64_t e) {
  const Parts p = parts(type, block, e);
  return p.scale * p.quant - p.minimum;
}

std::vector<double> dequantise(Type type, Block row) {
  std::vector<double> all;
  for_each_element(type, row,
                   [&](const Parts& p, std::int64_t) { all.push_back(p.scale * p.quant - p.minimum); });
  return all;
}

std::vector<std::uint8_t> random_row(Type type, std::int64_t k, std::uint64_t seed, std::int64_t row) {
  std::seed_seq words{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                      static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32)};
  std::mt19937_64 random(words);
  std::vector<std::uint8_t> bytes(at(k * block_bytes(type) / elements));
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  // f16 with exponent field 6..8: 2^-9 up to 2^-6.
  const auto put = [&](std::size_t offset) {
    const std::uint64_t r = random();
    const auto bits = static_cast<std::uint16_t>((r & 1) << 15 | (6 + (r >> 1) % 3) << 10 | (r >> 8 & 0x3FF));
    bytes[offset] = static_cast<std::uint8_t>(bits);
    bytes[offset + 1] = static_cast<std::uint8_t>(bits >> 8);
  };
  for (std::size_t b = 0; b < bytes.size(); b += at(block_bytes(type))) {
    if (type == Type::q6_k) {
      put(b + 208);
    } else if (type == Type::q4_k || type == Type::q5_k) {
      put(b);
      put(b + 2);
    } else {
      const std::size_t size = type == Type::q8_0 ? 34 : 18;
      for (std::size_t block = b; block < std::min(b + 8 * size, bytes.size()); block += size) put(block);
    }
  }
  return bytes;
}

Q8_1 quantise_q8_1(std::span<const float> x) {
  assert(x.size() == 32);
  Q8_1 block;
  float largest = 0;
  for (const float v : x) {
    largest = std::max(largest, std::fabs(v));
    block.sum += static_cast<double>(v);
  }
  if (!std::isfinite(block.sum)) block.d = std::numeric_limits<float>::quiet_NaN();
  if (!std::isfinite(block.sum) || largest < 0x1p-100F) return block;
  block.d = largest / 127.0F;
  for (std::size_t i = 0; i < x.size(); ++i)
    block.q[i] = static_cast<std::int8_t>(std::round(x[i] / block.d));
  return block;
}

std::vector<Q8_1> quantise_row_q8_1(std::span<const float> x) {
  std::vector<Q8_1> row;
  for (std::size_t i = 0; i < x.size(); i += 32) row.push_back(quantise_q8_1(x.subspan(i, 32)));
  return row;
}

Q8_K quantise_q8_k(std::span<const float> x) {
  assert(x.size() == 256);
  Q8_K block;
  float largest = 0;
  for (const float v : x)
    if (std::fabs(v) > std::fabs(largest)) largest = v;
  if (largest == 0) return block;
  const float inverse = -127.0F / largest;
  for (std::size_t i = 0; i < x.size(); ++i) {
    block.q[i] = static_cast<std::int8_t>(std::min(127.0F, std::nearbyint(inverse * x[i])));
    block.sums[i / 16] = static_cast<std::int16_t>(block.sums[i / 16] + block.q[i]);
  }
  block.d = 1 / inverse;
  return block;
}

double dot(Type type, Block row, std::span<const float> x) {
  double sum = 0;
  for_each_element(type, row, [&](const Parts& p, std::int64_t k) {
    sum += (p.scale * p.quant - p.minimum) * static_cast<double>(x[at(k)]);
  });
  return sum;
}

double dot(Type type, Block row, std::span<const Q8_1> x) {
  double sum = 0;
  for_each_element(type, row, [&](const Parts& p, std::int64_t k) {
    const Q8_1& block = x[at(k / 32)];
    sum += p.scale * p.quant * static_cast<double>(block.d) * block.q[at(k % 32)];
    if (k % 32 == 0) sum -= p.minimum * block.sum;
  });
  return sum;
}

double dot(Type type, Block row, std::span<const Q8_K> x) {
  double sum = 0;
  for_each_element(type, row, [&](const Parts& p, std::int64_t k) {
    const Q8_K& block = x[at(k / 256)];
    sum += p.scale * p.quant * static_cast<double>(block.d) * block.q[at(k % 256)];
    if (k % 16 == 0) sum -= p.minimum * static_cast<double>(block.d) * block.sums[at(k % 256 / 16)];
  });
  return sum;
}

namespace {

constexpr double unit = 0x1p-24;  ///< of f32: half an ulp of 1
/// Relative error of `n` roundings in a row, each at most a unit.
double gamma(double n) { return n * unit / (1 - n * unit); }
/// Roundings of a block's sum: eight elements of a lane, four lanes.
constexpr double sum_roundings = 12;
/// How far a quotient in f32 may be from a half and still be rounded to either side: x times a reciprocal
/// right to two units, and the half added.
constexpr double near_half = 0x1p-16;

/// Roundings that a term goes through from its integer to the output: its own product and every addition of
/// the lane that it is in and of the lanes after that. A pass over four superblocks adds `terms` numbers to a
/// lane's sum, and at most three narrower passes follow.
double roundings(Type type, std::int64_t k) {
  const bool minima = type == Type::q4_k || type == Type::q5_k;
  const double terms = minima ? 4 : 2, passes = std::ceil(static_cast<double>(k) / (4 * elements)) + 3;
  return 1 + terms * passes + 6;
}

}  // namespace

Reference reference(Type type, Block row, std::span<const float> x, std::span<const Q8_1> used) {
  Reference r;
  double size = 0, quantised = 0, minima = 0;
  std::vector<double> sizes(x.size() / 32);
  for (std::size_t k = 0; k < x.size(); ++k) sizes[k / 32] += std::fabs(static_cast<double>(x[k]));
  r.exact = dot(type, row, x);
  r.model = dot(type, row, used);
  for_each_element(type, row, [&](const Parts& p, std::int64_t k) {
    const Q8_1& block = used[at(k / 32)];
    const double d = static_cast<double>(block.d), value = static_cast<double>(x[at(k)]);
    const double weight = std::fabs(p.scale * p.quant);
    size += weight * std::fabs(d * block.q[at(k % 32)]);
    quantised += weight * (d == 0 ? std::fabs(value) : d * (0.5 + near_half));
    const double quotient = std::fabs(value / d);
    if (std::fabs(quotient - std::floor(quotient) - 0.5) < near_half) r.quantiser_slack += weight * d;
    if (k % 32 != 0) return;
    size += std::fabs(p.minimum * block.sum);
    minima += std::fabs(p.minimum) * gamma(sum_roundings) * sizes[at(k / 32)];
  });
  const double n = roundings(type, static_cast<std::int64_t>(x.size()));
  r.model_bound = gamma(n) * size + n * 0x1p-133;
  r.exact_bound = r.model_bound + quantised + minima;
  r.quantiser_slack += minima;
  return r;
}

double of_bound(float got, double reference, double bound) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double value = static_cast<double>(got);
  if (!std::isfinite(reference)) return std::isfinite(got) ? infinity : 0;
  if (std::isinf(got)) {
    const bool beyond =
        std::fabs(reference) + bound >= static_cast<double>(std::numeric_limits<float>::max());
    return beyond && std::signbit(value) == std::signbit(reference) ? 0 : infinity;
  }
  const double error = std::fabs(value - reference);
  if (!(error <= infinity)) return infinity;
  return error == 0 ? 0 : error / bound;
}

std::string wrong(const Q8_1& got, std::span<const float> x) {
  const Q8_1 want = quantise_q8_1(x);
  if (std::isnan(want.d)) return std::isnan(got.d) ? "" : "a scale that hides what is not finite";
  if (got.d != want.d) return fmt::format("d {} instead of {}", got.d, want.d);
  double size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    size += std::fabs(static_cast<double>(x[i]));
    const double quotient = got.d == 0 ? 0 : static_cast<double>(x[i]) / static_cast<double>(got.d);
    if (!(std::fabs(quotient - got.q[i]) <= (got.d == 0 ? 0 : 0.5 + near_half)))
      return fmt::format("q[{}] {} for {} d", i, got.q[i], quotient);
  }
  if (!(std::fabs(got.sum - want.sum) <= gamma(sum_roundings) * size + 0x1p-130))
    return fmt::format("s {} instead of {}", got.sum, want.sum);
  return {};
}

double nmse(std::span<const float> got, std::span<const double> reference) {
  assert(got.size() == reference.size());
  double error = 0, size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double e = static_cast<double>(got[i]) - reference[i];
    error += e * e;
    size += reference[i] * reference[i];
  }
  return size == 0 ? error : error / size;
}

}  // namespace wavejit::oracle::kquant
