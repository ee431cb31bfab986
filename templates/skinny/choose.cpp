// SPDX-License-Identifier: MIT
#include "templates/skinny/choose.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "templates/fit.hpp"

namespace wavejit::templates::skinny {
namespace {

constexpr unsigned usual_waves = 12;  ///< resident per SIMD
constexpr std::int64_t pass = 1024;   ///< weights of a row that a wave takes at once
constexpr std::int64_t most_workgroups = 65535;

std::int64_t simds(const target::Target& target) {
  return std::int64_t{target.compute_units} * target.simds_per_wgp / 2;
}

/// Enough waves to fill the machine once, as long as each has a pass of its own.
unsigned split(const Problem& p, const target::Target& target) {
  const std::int64_t slots = simds(target) * target.max_waves_per_simd;
  unsigned waves = 1;
  while (waves < 16 && p.n * waves < slots && p.k >= 2 * pass * waves) waves *= 2;
  return waves;
}

/// A workgroup's waves share the SIMDs of one CU, and so their registers.
bool fits(const Config& c, const target::Target& target) {
  return registers_needed(c) <= target::vgpr_budget(target, fewest_waves(c.waves, cu_simds(target)));
}

/// Bytes of activations that level 2 delivers for one row and a wave's part of K: a load of 16 bytes a lane
/// touches every line of the 16, 32 or 64 bytes a lane that its pass takes. The pass that the pipeline peels
/// off a loop hides under other workgroups, as in model/estimate.hpp.
double activation_bytes(const Problem& p, const Config& c) {
  constexpr double unrolled_away = 2;  // passes that leave no loop
  double bytes = 0, left = static_cast<double>(p.k) / c.waves;
  for (const unsigned words : {4U, 2U, 1U}) {
    const double stretch = 256.0 * words, passes = words == 1 ? left / stretch : std::floor(left / stretch);
    const bool peeled = words == 4 && passes > unrolled_away && c.pipeline_depth > 0;
    bytes += (peeled ? passes - 1 : passes) * stretch * 2 * words;
    left -= passes * stretch;
  }
  return bytes;
}

/// Rows of weights that share a wave's activations: four for several rows of activations, so that level 2
/// need not deliver much more than DRAM does; but leaving a few waves for every SIMD.
unsigned rows(const Problem& p, const target::Target& target, unsigned bm, unsigned waves) {
  constexpr unsigned most_values = 32;  // accumulators of a lane
  const std::int64_t enough = simds(target) * (bm == 1 ? 2 * target.max_waves_per_simd : 2);
  unsigned bn = 1;
  while (bn < (bm == 1 ? 2U : 4U) && 2 * bn * bm <= most_values &&
         p.n * waves >= std::int64_t{2} * bn * enough)
    bn *= 2;
  while (bn < 8 && 2 * bn * bm <= most_values && (p.n + bn - 1) / bn > most_workgroups) bn *= 2;
  return bn;
}

}  // namespace

unsigned registers_needed(const Config& c) {
  struct Need {
    unsigned base, per_row;
  };
  constexpr std::array<Need, 5> needs{{{48, 16}, {82, 18}, {36, 15}, {60, 23}, {106, 41}}};
  const Need& need = needs[static_cast<unsigned>(std::bit_width(c.bm - 1))];
  return need.base + need.per_row * c.bn;
}

Cost cost(const Config& c, const Problem& p, const target::Target& target, std::int64_t m) {
  const target::Timing& t = target.timing;
  const auto n = static_cast<double>(p.n), k = static_cast<double>(p.k), rows_m = static_cast<double>(m);
  const double row_groups = n / c.bn, along_k = k / pass, passes = row_groups * along_k;
  const bool bf16 = p.activation == DataType::bf16;
  const double unpack = (bf16 ? 29 : 37) + (p.zero_points == ZeroPoints::packed ? 2 : 0);
  const double valu = unpack * c.bn + (bf16 ? 16 : 0) * c.bm + (bf16 ? 18 : 17) * c.bn * c.bm;
  const std::int64_t tiles_of_rows = (m + c.bm - 1) / c.bm;
  const auto tiles = static_cast<double>(tiles_of_rows);
  const double words = tiles * k / 2 * n, bytes = words + 2 * k * rows_m * row_groups,
               lines = words + activation_bytes(p, c) * c.waves * rows_m * row_groups;
  const double slots = static_cast<double>(simds(target)) * usual_waves;
  const double waves = row_groups * c.waves;
  const double wait =
      std::max(waves / slots, 1.0) * along_k / c.waves * t.vmem_loaded_latency / (1 + c.pipeline_depth);
  const double dram = (n * k / 2 + n * k / static_cast<double>(p.group) * 2 + 2 * rows_m * (k + n)) /
                      (t.dram_gigabytes * 1e9) * t.clock_megahertz * 1e6;
  struct Bound {
    double clocks;
    std::string_view name;
  };
  const std::array bounds{
      Bound{dram, "DRAM"}, Bound{lines / (target.compute_units * t.l2_bytes_per_clock), "level 2"},
      Bound{bytes / (target.compute_units * static_cast<double>(t.vmem_issue_bytes)), "loads"},
      Bound{tiles * passes * valu / static_cast<double>(simds(target)), "VALU"},
      Bound{tiles * wait, "latency"}};
  const Bound& most = *std::ranges::max_element(bounds, {}, &Bound::clocks);
  return {most.clocks / t.clock_megahertz, most.name};
}

namespace {

/// The Config of `bm` rows, if there is a legal one.
std::optional<Choice> choice_of(unsigned bm, const Problem& problem, const target::Target& target,
                                std::int64_t m) {
  Config c;
  c.path = Path::skinny;
  c.bm = bm;
  c.waves = split(problem, target);
  c.bn = rows(problem, target, c.bm, c.waves);
  while (c.bn > 1 && !fits(c, target)) c.bn /= 2;
  if (!fits(c, target) || (problem.n + c.bn - 1) / c.bn > most_workgroups) return {};
  const auto fitted = skinny::normalise(c, problem, target);
  if (!fitted) return {};
  return Choice{*fitted, cost(*fitted, problem, target, m)};
}

}  // namespace

std::optional<Choice> choose(const Problem& problem, const target::Target& target, std::int64_t m) {
  if (m < 1 || m > max_m) return {};
  constexpr unsigned half = max_m / 2;
  std::optional<Choice> best = choice_of(std::bit_ceil(static_cast<unsigned>(m)), problem, target, m);
  if (m <= half) return best;
  // Sixteen rows leave registers for few rows of weights: twice eight may touch fewer lines.
  const std::optional<Choice> twice = choice_of(half, problem, target, m);
  return !best || (twice && twice->cost.time_us < best->cost.time_us) ? twice : best;
}

}  // namespace wavejit::templates::skinny
