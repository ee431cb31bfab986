// SPDX-License-Identifier: MIT
#include "templates/cdna/decode/geometry.hpp"

#include <algorithm>
#include <bit>

namespace wavejit::templates::cdna::decode {

Geometry::Geometry(const Config& c, const Problem& p, const target::Target& target) {
  side = side_of(c.bm, p.group);
  accumulators = side * side / target.wave_size;
  groups = target.wave_size / side;
  depth = target.wmma16.a_dwords * 2U * groups;
  span = 32 * groups;
  blocks = c.bk / (span * c.waves);
  steps = static_cast<unsigned>((p.k + c.bk - 1) / c.bk);
  ragged = p.k % c.bk != 0;
  rows = c.bm;
  row_bytes = 2 * span;
  slots = row_bytes / 16;
  rows_per_wave = target.wave_size / slots;
  rows_per_sweep = std::max(1U, target.lds_banks * 4U / row_bytes);
  passes = rows * blocks / rows_per_wave;
  tiles_n = c.bn / side;
  // 32x32: registers 4q .. 4q+3 hold rows 8q .. 8q+7; 16x16: lane group q has rows 4q .. 4q+3.
  used = side == 32 ? std::min(accumulators, rows / 2) : accumulators;
  region_bytes = rows * row_bytes;
  buffer_bytes = c.waves * blocks * region_bytes;
  registers = tiles_n * used;
  summing = std::bit_floor(std::min(c.waves, registers));
  share = registers / summing;
  lds_bytes = std::max(c.lds_buffers * buffer_bytes, c.waves > 1 ? c.waves * registers * 256 : 0);
}

}  // namespace wavejit::templates::cdna::decode
