// SPDX-License-Identifier: MIT
#include "templates/w4a16/tile.hpp"

#include <algorithm>

namespace wavejit::templates::w4a16 {
namespace {

constexpr unsigned chunk_bytes = 16;
constexpr unsigned bank_row = 128;  // bytes that 8 lanes of a b128 access cover

unsigned ceil_div(unsigned a, unsigned b) { return (a + b - 1) / b; }
unsigned round_up(unsigned a, unsigned b) { return ceil_div(a, b) * b; }

}  // namespace

Tile::Tile(const Config& config, const Problem& problem, unsigned wave_size)
    : threads(config.waves * wave_size),
      chunks(config.bk / 8),
      rows_per_pass(threads / chunks),
      passes_a(ceil_div(config.bm, rows_per_pass)),
      passes_b(ceil_div(config.bn, rows_per_pass)),
      rows_a(round_up(passes_a * rows_per_pass, 8)),
      rows_b(round_up(passes_b * rows_per_pass, 8)),
      buffers(config.lds_buffers),
      distance((rows_a + rows_b) * chunk_bytes),
      wave_m(config.bm / config.waves_m),
      wave_n(config.bn / config.waves_n),
      tiles_m(wave_m / 16),
      tiles_n(wave_n / 16),
      steps(config.bk / 16),
      iterations(problem.k / config.bk) {
  const unsigned pad = std::max(chunk_bytes, bank_row / chunks);
  chunk_stride = buffers * distance + pad;
  lds_bytes = chunks * chunk_stride - pad;  // nothing lies behind the last chunk
}

}  // namespace wavejit::templates::w4a16
