// SPDX-License-Identifier: MIT
#include "templates/candidates.hpp"

#include <algorithm>
#include <array>

#include "templates/dequant.hpp"
#include "templates/w4a16/tile.hpp"

namespace wavejit::templates {
namespace {

constexpr std::array<unsigned, 16> heights{16,  32,  48,  64,  80,  96,  112, 128,
                                           160, 192, 224, 256, 320, 384, 448, 512};
constexpr std::array<unsigned, 4> widths{32, 64, 128, 256};
constexpr std::array<unsigned, 3> steps_along_k{16, 32, 64};
constexpr std::array<unsigned, 4> wave_counts{2, 4, 8, 16};
struct Form {
  unsigned lds_buffers, depth;
};
/// Simpler ones first: of equals the first is taken.
constexpr std::array<Form, 4> forms{{{1, 1}, {2, 1}, {1, 2}, {2, 2}}};

/// VALU instructions by which one wave turns one word per lane into weights: what the policy emits.
double dequant_valu(const Problem& problem, const Techniques& techniques, const target::Target& target) {
  ir::Kernel scratch;
  scratch.target = &target;
  ir::Builder b(scratch);
  b.block("setup", "");
  const auto dequant = make_dequantiser(problem, techniques);
  dequant->setup(b);
  b.block("word", "");
  ColumnSource source{.scale = b.vgpr("scale"), .zeros = {}, .zero_bit = {}};
  if (problem.zero_points == ZeroPoints::packed) {
    source.zeros = b.vgpr("zeros");
    source.zero_bit = b.vgpr("bit");
  }
  const isa::Operand word = b.vgpr("word"), quad = b.vgpr("quad", 4);
  dequant->weights(b, word, dequant->terms(b, source), quad);
  const auto counts = [](const ir::Instruction& i) {
    const isa::Pipe pipe = i.mi.pipe();
    return pipe == isa::Pipe::valu || pipe == isa::Pipe::trans || pipe == isa::Pipe::dot;
  };
  return static_cast<double>(std::ranges::count_if(scratch.blocks.back().insts, counts));
}

/// VGPRs of a wave at the highest occupancy that register assignment is found to reach. One LDS buffer and
/// one step ahead: the scheduler can hold all columns' fragments and one of the rows'. In the other forms a
/// barrier or the unrolled body keeps nearly all fragments of a step alive. Fitted to 760 generated kernels.
unsigned register_need(const w4a16::Tile& t, const Config& c, const Problem& p,
                       const target::Target& target) {
  const unsigned fragment = target.wmma16.a_dwords;
  const unsigned column_words = p.zero_points == ZeroPoints::packed ? 3 : 2;
  const unsigned accumulators = 8 * t.tiles_m * t.tiles_n;
  const unsigned loads = 4 * t.passes_a + column_words * t.passes_b;
  const unsigned addresses = t.passes_a + column_words * t.passes_b;
  const unsigned all = fragment * (t.tiles_m + t.tiles_n);
  const unsigned base = accumulators + std::max(c.pipeline_depth, 1U) * loads + addresses;
  if (c.pipeline_depth > 1) return base + all * t.steps * 21 / 20 + 8;
  if (c.lds_buffers > 1) return base + (t.steps == 1 ? all : all * 8 / 5) + 4;
  return base + fragment * (t.tiles_n + 1) + 6;
}

Footprint count(const Config& c, const Problem& p, const target::Target& target, double word_valu) {
  const w4a16::Tile t(c, p, target.wave_size);
  constexpr double line = 128;
  const bool packed = p.zero_points == ZeroPoints::packed;
  const unsigned copies = target.wmma16.replicated_halves ? 2 : 1;
  // Rows closer together than a line share one.
  const auto lines = [&](double rows, double stride, double bytes) {
    return rows * std::min(1.0, stride / line) * std::max(1.0, bytes / line);
  };
  const auto stride = [](std::int64_t elements, unsigned size) {
    return static_cast<double>(elements * size);
  };
  Footprint f;
  f.matrix = c.waves * t.tiles_m * t.tiles_n * t.steps;
  f.valu = c.waves * t.passes_b * word_valu;
  f.lds_loads = c.waves * t.steps * (t.tiles_m + t.tiles_n) * copies;
  f.lds_stores = c.waves * (t.passes_a + t.passes_b);
  f.rows = t.passes_a * t.rows_per_pass;
  const unsigned columns = t.passes_b * t.rows_per_pass;
  f.activation_lines = lines(1, stride(p.activation_stride, 2), c.bk * 2.0);
  f.other_lines = lines(columns, stride(p.weight_stride, 4), c.bk / 2.0) +
                  lines(columns, stride(p.scale_stride, 2), 2) +
                  (packed ? lines(columns / 8.0, stride(p.zero_point_stride, 4), 4) : 0);
  f.registers = register_need(t, c, p, target);
  f.lds_bytes = t.lds_bytes;
  f.workgroups = target::occupancy(target, f.registers, t.lds_bytes, c.waves).workgroups;
  return f;
}

/// Whether a rule takes the Config out; its index in Candidates::pruned.
constexpr std::array<std::string_view, 9> rules{
    "it suits the problem and the target (bk divides the group, waves divide the tile, LDS is in budget)",
    "the grid can be launched",
    "a wave holds at most 16 tiles of 16x16, half of the registers it can name",
    "a tile has rows or columns for half of the work-items in a load",
    "two steps ahead each work-item loads one word of weights a step (with more, waits for them overlap "
    "badly)",
    "the VGPRs of a cautious estimate can be named",
    "a tile of 160 rows or more uses a dequantised word in at least 16 matrix instructions of its wave",
    "registers and LDS leave at least two waves per SIMD",
    "a step of more than 32 along K serves tiles of at most 64 rows (taller ones come out of the event model "
    "slower than counted)"};

int rule_against(const Config& c, const Problem& p, const target::Target& target, const Footprint& f) {
  constexpr std::int64_t most_columns_of_groups = 65535;
  if ((p.n + c.bn - 1) / c.bn > most_columns_of_groups) return 1;
  const w4a16::Tile t(c, p, target.wave_size);
  if (t.tiles_m * t.tiles_n > 16) return 2;
  if (2 * std::max(c.bn, c.bm) < t.rows_per_pass) return 3;
  if (c.pipeline_depth > 1 && t.passes_b > 1) return 4;
  if (cautious_registers(f, c, target) > target.addressable_vgprs) return 5;
  if (c.bm >= 160 && t.tiles_m * t.tiles_n * t.steps < 16 * t.passes_b) return 6;
  if (f.workgroups * c.waves < 2U * target.simds_per_wgp) return 7;
  if (c.bk > 32 && c.bm > 64) return 8;
  return -1;
}

}  // namespace

unsigned cautious_registers(const Footprint& f, const Config& c, const target::Target& target) {
  const bool simple = c.pipeline_depth < 2 && c.lds_buffers == 1;
  return f.registers + (simple ? 1U : 2U) * std::max<unsigned>(target.vgpr_alloc_granule, 16) / 2;
}

Footprint footprint(const Config& config, const Problem& problem, const target::Target& target) {
  return count(config, problem, target, dequant_valu(problem, config.techniques, target));
}

Candidates candidates(const Problem& problem, const target::Target& target) {
  Candidates all;
  for (const std::string_view rule : rules) all.pruned.push_back({rule, 0});
  const double word_valu = dequant_valu(problem, {}, target);
  const auto consider = [&](Config c) {
    ++all.considered;
    const auto fitted = normalise(c, problem, target);
    if (!fitted) {
      ++all.pruned[0].count;
      return;
    }
    const Footprint f = count(*fitted, problem, target, word_valu);
    const int against = rule_against(*fitted, problem, target, f);
    if (against < 0) {
      all.legal.push_back({*fitted, f});
    } else {
      ++all.pruned[static_cast<std::size_t>(against)].count;
    }
  };
  for (const auto& [buffers, depth] : forms)
    for (const unsigned bm : heights)
      for (const unsigned bn : widths)
        for (const unsigned bk : steps_along_k)
          for (const unsigned waves : wave_counts) {
            Config c;
            c.bm = bm;
            c.bn = bn;
            c.bk = bk;
            c.waves = waves;
            c.lds_buffers = buffers;
            c.pipeline_depth = c.unroll = depth;  // two steps ahead take two sets of registers by turns
            consider(c);
          }
  return all;
}

}  // namespace wavejit::templates
