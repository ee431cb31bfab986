// SPDX-License-Identifier: MIT
#include "templates/cdna/tile.hpp"

#include <algorithm>
#include <numeric>

namespace wavejit::templates::cdna {

Tile::Tile(const Config& c, const Problem& p, const target::Target& target) {
  side = matrix_side(c.bm);
  accumulators = side * side / target.wave_size;
  groups = target.wave_size / side;
  const unsigned per_lane = target.wmma16.a_dwords * 2;
  depth = per_lane * groups;
  span = 32 * groups;
  blocks = c.bk / span;
  row_bytes = 2 * span;
  slots = row_bytes / 16;
  rows_per_bank_sweep = std::max(1U, target.lds_banks * 4U / row_bytes);
  threads = c.waves * target.wave_size;
  rows_per_pass = threads / slots;
  passes = (c.bm + rows_per_pass - 1) / rows_per_pass;
  rows = passes * rows_per_pass;
  block_bytes = rows * row_bytes;
  buffer_bytes = blocks * block_bytes;
  lds_bytes = c.lds_buffers * buffer_bytes;
  wave_m = c.bm / c.waves_m;
  wave_n = c.bn / c.waves_n;
  tiles_m = wave_m / side;
  tiles_n = wave_n / side;
  scale_groups = c.bk > p.group ? static_cast<unsigned>(c.bk / p.group) : 1;
}

isa::Opcode matrix_opcode(unsigned side, unsigned depth, DataType activation) {
  using enum isa::Opcode;
  const bool half = activation == DataType::f16;
  if (side == 32) {
    if (depth == 16) return half ? v_mfma_f32_32x32x16_f16 : v_mfma_f32_32x32x16_bf16;
    return half ? v_mfma_f32_32x32x8_f16 : v_mfma_f32_32x32x8_bf16;
  }
  if (depth == 32) return half ? v_mfma_f32_16x16x32_f16 : v_mfma_f32_16x16x32_bf16;
  return half ? v_mfma_f32_16x16x16_f16 : v_mfma_f32_16x16x16_bf16;
}

Slices slices(const Config& c, const Problem& p) {
  if (p.k == 0) return {};
  const std::int64_t unit = std::lcm<std::int64_t>(c.bk, p.group);
  const std::int64_t units = (p.k + unit - 1) / unit;
  Slices s;
  s.length = (units + c.split_k - 1) / c.split_k * unit;
  s.filled = (p.k + s.length - 1) / s.length;
  return s;
}

}  // namespace wavejit::templates::cdna
