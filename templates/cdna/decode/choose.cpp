// SPDX-License-Identifier: MIT
#include "templates/cdna/decode/choose.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <tuple>

#include "templates/cdna/decode/geometry.hpp"

namespace wavejit::templates::cdna::decode {
namespace {

constexpr double line_bytes = 128;

/// VALU, matrix, memory and scalar instructions of a wave's step (loop.cpp, unpack.cpp).
double step_instructions(const Geometry& t, const Problem& p, const target::Target& target) {
  const bool zeros = p.zero_points != ZeroPoints::symmetric, half = p.activation == DataType::f16;
  const bool flips = p.layout == WeightLayout::row_major_signed && !target.has_cvt_pk_bf16_f32;
  const unsigned operand_dwords = t.depth / t.groups / 2;
  const double unpack = 4 * (7 + (half ? 1 : 0) + (flips ? 1 : 0)), matrix = 16.0 / operand_dwords;
  const double factors = zeros ? 3 + (p.zero_points == ZeroPoints::packed ? 3 : 0) : 1;
  const double tile = unpack + matrix + factors + t.used / 2.0 * (zeros ? 2 : 1) + 4;
  const double block = matrix + 4 + 12, pass = p.layout == WeightLayout::row_major_signed ? 8 : 4;
  return t.blocks * (t.tiles_n * tile + block) + t.passes * pass + 6;
}

}  // namespace

double quick_time_us(const Config& c, const Problem& p, const target::Target& target, std::int64_t m) {
  const Geometry t(c, p, target);
  const target::Timing& time = target.timing;
  const auto rows = static_cast<double>(m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  const double products = static_cast<double>(std::max<std::int64_t>({p.batch, p.groups, 1}));
  const double tiles = std::ceil(rows / c.bm) * std::ceil(n / c.bn) * products;
  const double per_unit = std::ceil(tiles / target.compute_units);
  const double w = std::ceil(per_unit * c.waves / target.simds_per_wgp);
  const double issue =
      t.steps * (4 * w * step_instructions(t, p, target) + 250 / std::min(per_unit, 4.0)) + 300 * w;
  const double weights = c.bn * k / 2 * line_bytes / (t.span / 2.0),
               activations = std::min(rows, 1.0 * c.bm) * k * 2;
  const double level2 = per_unit * (weights + activations) / time.l2_bytes_per_clock;
  const double clocks_per_byte = time.clock_megahertz * 1e6 / (time.dram_gigabytes * 1e9);
  const double dram = products * (n * k / 2 + 2 * n * k / static_cast<double>(p.group) + 2 * rows * (n + k)) *
                      clocks_per_byte;
  std::array<double, 3> bounds{issue, level2, dram};
  std::ranges::sort(bounds, std::greater{});
  return (500 + time.vmem_loaded_latency + bounds[0] + 0.2 * bounds[1]) / time.clock_megahertz;
}

std::vector<Choice> ranking(const Problem& problem, const target::Target& target, std::int64_t m) {
  if (m > most_rows || problem.k == 0 || problem.group % 64 != 0) return {};
  std::vector<Choice> all;
  const std::int64_t lowest = problem.group % 128 == 0 ? 4 : 8;
  for (const unsigned height : heights) {
    // One that holds all rows, or several of the two highest.
    if (height < std::min<std::int64_t>(m, 16) || height >= 2 * std::max(m, lowest)) continue;
    const unsigned side = side_of(height, problem.group), span = 32 * 64 / side,
                   rows_per_wave = side == 16 ? 4 : 8;
    Config c;
    c.path = Path::decode;
    c.bm = height;
    for (unsigned tiles = 1; tiles <= 32 / side; ++tiles)
      for (unsigned waves = 2; waves <= 8; ++waves) {
        c.bn = side * tiles;
        c.waves = waves;
        c.bk = span * waves * std::max(1U, rows_per_wave / height);
        const std::int64_t steps = (problem.k + c.bk - 1) / c.bk;
        c.pipeline_depth = static_cast<unsigned>(std::min<std::int64_t>(2, steps - 1));
        const auto fitted = decode::normalise(c, problem, target);
        if (fitted) all.push_back({*fitted, quick_time_us(*fitted, problem, target, m)});
      }
  }
  // Between equals the simpler one.
  std::ranges::sort(all, {}, [](const Choice& c) {
    return std::tuple(c.time_us, c.config.bm, c.config.bn, c.config.waves);
  });
  return all;
}

std::optional<Choice> choose(const Problem& problem, const target::Target& target, std::int64_t m) {
  const std::vector<Choice> all = ranking(problem, target, m);
  return all.empty() ? std::nullopt : std::optional(all.front());
}

}  // namespace wavejit::templates::cdna::decode
