// SPDX-License-Identifier: MIT
#include "templates/skinny/choose.hpp"

#include <algorithm>
#include <array>
#include <bit>

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

/// Rows of weights that share a wave's activations: about half as many as there are rows of activations, so
/// that level 2 need not deliver much more than DRAM does; but leaving a few waves for every SIMD.
unsigned rows(const Problem& p, const target::Target& target, unsigned bm, unsigned waves) {
  constexpr unsigned most_values = 32;  // accumulators of a lane
  const std::int64_t enough = simds(target) * (bm == 1 ? 2 * target.max_waves_per_simd : 2);
  unsigned bn = 1;
  while (bn < std::clamp(bm / 2, 2U, 4U) && 2 * bn * bm <= most_values &&
         p.n * waves >= std::int64_t{2} * bn * enough)
    bn *= 2;
  while (bn < 8 && 2 * bn * bm <= most_values && (p.n + bn - 1) / bn > most_workgroups) bn *= 2;
  return bn;
}

}  // namespace

Cost cost(const Config& c, const Problem& p, const target::Target& target, std::int64_t m) {
  const target::Timing& t = target.timing;
  const auto n = static_cast<double>(p.n), k = static_cast<double>(p.k), rows_m = static_cast<double>(m);
  const double row_groups = n / c.bn, along_k = k / pass, passes = row_groups * along_k;
  const bool bf16 = p.activation == DataType::bf16;
  const double unpack = (bf16 ? 29 : 37) + (p.zero_points == ZeroPoints::packed ? 2 : 0);
  const double valu = unpack * c.bn + (bf16 ? 16 : 0) * c.bm + (bf16 ? 18 : 17) * c.bn * c.bm;
  const double bytes = pass / 2.0 * c.bn + 2.0 * pass * rows_m;
  const double slots = static_cast<double>(simds(target)) * usual_waves;
  const double waves = row_groups * c.waves;
  const std::int64_t tiles_of_rows = (m + c.bm - 1) / c.bm;
  const auto tiles = static_cast<double>(tiles_of_rows);
  const double wait =
      std::max(waves / slots, 1.0) * along_k / c.waves * t.vmem_loaded_latency / (1 + c.pipeline_depth);
  const double dram = (n * k / 2 + n * k / static_cast<double>(p.group) * 2 + 2 * rows_m * (k + n)) /
                      (t.dram_gigabytes * 1e9) * t.clock_megahertz * 1e6;
  struct Bound {
    double clocks;
    std::string_view name;
  };
  const std::array bounds{
      Bound{dram, "DRAM"}, Bound{passes * bytes / (target.compute_units * t.l2_bytes_per_clock), "level 2"},
      Bound{passes * bytes / (target.compute_units * static_cast<double>(t.vmem_issue_bytes)), "loads"},
      Bound{tiles * passes * valu / static_cast<double>(simds(target)), "VALU"},
      Bound{tiles * wait, "latency"}};
  const Bound& most = *std::ranges::max_element(bounds, {}, &Bound::clocks);
  return {most.clocks / t.clock_megahertz, most.name};
}

std::optional<Choice> choose(const Problem& problem, const target::Target& target, std::int64_t m) {
  if (m < 1 || m > max_m) return {};
  Config c;
  c.path = Path::skinny;
  c.bm = std::bit_ceil(static_cast<unsigned>(m));
  c.waves = split(problem, target);
  c.bn = rows(problem, target, c.bm, c.waves);
  if ((problem.n + c.bn - 1) / c.bn > most_workgroups) return {};
  const auto fitted = skinny::normalise(c, problem, target);
  if (!fitted) return {};
  return Choice{*fitted, cost(*fitted, problem, target, m)};
}

}  // namespace wavejit::templates::skinny
