// SPDX-License-Identifier: MIT
#include "templates/cdna/candidates.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "templates/cdna/family.hpp"
#include "templates/cdna/tile.hpp"

namespace wavejit::templates::cdna {
namespace {

constexpr std::array<unsigned, 5> heights{16, 32, 64, 128, 256};
constexpr std::array<unsigned, 4> widths{32, 64, 128, 256};
constexpr std::array<unsigned, 2> steps_along_k{64, 128};
constexpr std::array<unsigned, 3> wave_counts{2, 4, 8};
constexpr std::array<unsigned, 2> buffers{1, 2};
constexpr std::array<unsigned, 16> split_counts{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

/// dequant.hpp: per weight of a wave, terms included for a step of 64.
double valu_per_weight(const Problem& p, const target::Target& target) {
  if (p.activation == DataType::f16) return 3.6;
  if (target.has_cvt_pk_bf16_f32) return 2.5;
  return p.rounding == WeightRounding::nearest ? 4.6 : 3.1;
}

/// VGPRs: accumulators, loads in flight, fragments of one substep (all of a step's with two LDS buffers), and
/// what dequantisation of one word needs.
unsigned register_need(const Tile& t, const Config& c) {
  const unsigned copies = c.lds_buffers > 1 ? c.pipeline_depth + 1 : std::max(c.pipeline_depth, 1U);
  const unsigned weights = 4 * t.blocks * t.tiles_n, activations = 4 * t.blocks * t.passes;
  const unsigned fragments = 4 * (t.tiles_m + t.tiles_n) * (c.lds_buffers > 1 ? 3 : 1);
  return t.accumulators * t.tiles_m * t.tiles_n + copies * (weights + 2 * t.tiles_n) + activations +
         fragments + t.passes + 2 * t.tiles_n + 28;
}

unsigned resident(unsigned registers, const Tile& t, const Config& c, const target::Target& target) {
  return target::occupancy(target, registers, t.lds_bytes, c.waves).workgroups;
}

constexpr std::array<std::string_view, 8> rules{
    "it suits the problem and the target (bk divides the group, waves divide the tile, slices are whole, LDS "
    "is in budget)",
    "a tile has no more than twice the rows there are, 16 at least",
    "a tile is no wider than all columns, 32 at least",
    "only launches of up to 2048 rows are split along K, and only while tiles leave compute units idle",
    "a slice has at least four steps (fewer leave no loop to pipeline), and slices are not empty",
    "registers, estimated with 40 to spare, leave at least two waves per SIMD",
    "every weight is dequantised by one wave of its workgroup where that is possible",
    "one LDS buffer: two keep the fragments of a whole step alive and never came out first in the event "
    "model"};

/// Of one product's output.
std::int64_t tiles_of(const Config& c, const Problem& p, std::int64_t m) {
  return (m + c.bm - 1) / c.bm * ((p.n + c.bn - 1) / c.bn);
}

int rule_against(const Config& c, const Problem& p, const target::Target& target, std::int64_t m,
                 unsigned registers) {
  const auto tiles = static_cast<double>(tiles_of(c, p, m) * std::max<std::int64_t>(p.batch, 1));
  if (c.bm > 16 && c.bm >= 2 * m) return 1;
  if (c.bn > 32 && c.bn >= 2 * p.n) return 2;
  if (c.split_k > 1 && (m > 2048 || tiles * (c.split_k - 1) >= 4.0 * target.compute_units)) return 3;
  const Slices s = slices(c, p);
  if (c.split_k > 1 && (s.length < static_cast<std::int64_t>(4) * c.bk || s.filled != c.split_k)) return 4;
  constexpr unsigned spare = 40;
  if (registers + spare > target::vgpr_budget(target, 2)) return 5;
  if (c.waves_m > 1 && c.bn % (32 * c.waves) == 0) return 6;
  if (c.lds_buffers > 1) return 7;
  return -1;
}

struct Step {
  double matrix, valu, lds, level2, own;
};

Step count(const Candidate& k, const Problem& p, const target::Target& target, std::int64_t m) {
  const Config& c = k.config;
  const Tile t(c, p, target);
  const target::Timing& time = target.timing;
  const double simds = target.simds_per_wgp;
  const double clocks = t.side == 32 ? 32 : 16;
  // Fewer waves than SIMDs leave some of them idle.
  const double spread = std::min<double>(c.waves, simds) / simds;
  const double rows = static_cast<double>(std::min<std::int64_t>(m, t.rows));
  Step s{};
  const unsigned per_block = t.span / t.depth;  // matrix instructions along K
  s.matrix = c.waves * t.tiles_m * t.tiles_n * t.blocks * per_block * clocks / simds;
  s.valu = static_cast<double>(c.bn) * c.bk * c.waves_m * valu_per_weight(p, target) / target.wave_size *
           time.valu_issue / simds;
  const double read = static_cast<double>(c.waves) * t.wave_m * c.bk * 2, written = t.rows * c.bk * 2.0;
  s.lds = read / time.lds_bytes_per_clock + written / 128;
  // A step that takes less than a line of each row of weights brings the line in again later: resident
  // workgroups touch more than a level-1 cache keeps.
  constexpr double line = 128;
  s.level2 = (rows * c.bk * 2 + c.bn * std::max(c.bk / 2.0, line)) / time.l2_bytes_per_clock;
  s.own = time.vmem_loaded_latency + (s.matrix + s.valu) / spread;
  s.matrix /= spread < 1 && k.workgroups == 1 ? spread : 1;
  return s;
}

double per_step(const Step& s, double r) {
  std::array<double, 5> all{s.matrix, s.valu, s.lds, s.level2, s.own / r};
  std::ranges::sort(all, std::greater{});
  return all[0] + 0.3 * all[1];
}

}  // namespace

double quick_time_us(const Candidate& k, const Problem& p, const target::Target& target, std::int64_t m) {
  const Config& c = k.config;
  const target::Timing& time = target.timing;
  const auto products = static_cast<double>(std::max<std::int64_t>(p.batch, 1));
  const double tiles = static_cast<double>(tiles_of(c, p, m)) * c.split_k * products;
  const double per_unit = tiles / target.compute_units;
  const double r = std::clamp(std::ceil(per_unit), 1.0, static_cast<double>(k.workgroups));
  const Step s = count(k, p, target, m);
  const double steps = static_cast<double>(slices(c, p).length) / c.bk;
  const double outside = 2.4 * time.vmem_loaded_latency + 2 * (s.matrix + s.valu);
  const double each = steps * per_step(s, r) + outside / r;
  // Workgroups are dealt out as others end: whole rounds while few, shares of them when many.
  const double rounds = per_unit <= r ? r : std::max(per_unit, std::ceil(per_unit) - 0.5);
  const auto n = static_cast<double>(p.n), depth = static_cast<double>(p.k), rows = static_cast<double>(m);
  const double clocks_per_byte = time.clock_megahertz * 1e6 / (time.dram_gigabytes * 1e9);
  double clocks =
      std::max(rounds * each, products * (n * depth / 2 + 2 * rows * (n + depth)) * clocks_per_byte);
  if (c.split_k > 1)
    clocks += 2.4 * time.vmem_loaded_latency + 8.0 * c.split_k * products * rows * n * clocks_per_byte;
  return clocks / time.clock_megahertz;
}

Candidates candidates(const Problem& p, const target::Target& target, std::int64_t m) {
  Candidates all;
  for (const std::string_view rule : rules) all.pruned.push_back({rule, 0});
  const auto consider = [&](const Config& wanted) {
    ++all.considered;
    const auto fitted = cdna::normalise(wanted, p, target);
    int against = 0;
    unsigned registers = 0;
    if (fitted) {
      registers = register_need(Tile(*fitted, p, target), *fitted);
      against = rule_against(*fitted, p, target, m, registers);
    }
    if (against >= 0) {
      ++all.pruned[static_cast<std::size_t>(against)].count;
      return;
    }
    all.legal.push_back({*fitted, registers, resident(registers, Tile(*fitted, p, target), *fitted, target)});
  };
  Config c;
  c.path = Path::mfma;
  for (const unsigned split : split_counts)
    for (const unsigned buffer : buffers)
      for (const unsigned bm : heights)
        for (const unsigned bn : widths)
          for (const unsigned bk : steps_along_k)
            for (const unsigned waves : wave_counts) {
              c.split_k = split;
              c.lds_buffers = buffer;
              c.bm = bm;
              c.bn = bn;
              c.bk = bk;
              c.waves = waves;
              consider(c);
            }
  return all;
}

}  // namespace wavejit::templates::cdna
