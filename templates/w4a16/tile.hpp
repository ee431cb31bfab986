// SPDX-License-Identifier: MIT
// Geometry of a W4A16 workgroup tile: who loads what, where it lies in LDS, which wave owns which
// part of the output. Everything is derived from Config and Problem; no state.
//
// LDS image of one tile (bf16 or fp16, K in chunks of 8 elements = 16 bytes):
//
//   chunk 0: | buffer 0: A rows 0..rows_a-1, then B rows | buffer 1: … | pad |
//   chunk 1: | …
//
// address(row, chunk, buffer) = chunk * chunk_stride + buffer * distance + row * 16.
// A wave reads one chunk of 16 consecutive rows: 8 lanes cover 128 contiguous bytes, no bank twice.
// A wave writes whole rows: 8 lanes cover 128/(16*chunks) rows times all chunks; the pad makes
// (row + chunk * pad/16) mod 8 distinct, so writes are free of conflicts too. All fragment reads
// and all stores of a thread differ by constants only: one address register each.
#pragma once

#include <cstdint>

#include "templates/problem.hpp"

namespace wavejit::templates::w4a16 {

struct Tile {
  unsigned threads = 0;
  unsigned chunks = 0;         ///< 16-byte chunks per row: bk / 8
  unsigned rows_per_pass = 0;  ///< rows that all threads load at once
  unsigned passes_a = 0, passes_b = 0;
  unsigned rows_a = 0, rows_b = 0;  ///< rows in LDS: the tile's, rounded up to whole passes
  unsigned buffers = 1;
  unsigned distance = 0;      ///< bytes between LDS buffers
  unsigned chunk_stride = 0;  ///< bytes between chunks of one row
  unsigned lds_bytes = 0;
  unsigned wave_m = 0, wave_n = 0;    ///< rows and columns of a wave's part
  unsigned tiles_m = 0, tiles_n = 0;  ///< 16x16 output tiles of a wave
  unsigned steps = 0;                 ///< matrix instructions along K per tile: bk / 16
  std::int64_t iterations = 0;        ///< K / bk

  /// Needs a Config whose fields are all chosen and in range.
  Tile(const Config& config, const Problem& problem, unsigned wave_size);
};

/// Column of the output that LDS row `row` of B holds, within its 16: the order that makes a lane's
/// eight accumulators eight consecutive columns, so that the epilogue stores 16 bytes per lane.
/// Register v of D holds, in half h of the wave, row 2v + h on gfx11 and row 8h + v on gfx12, where the
/// rows are columns in order already.
constexpr unsigned column_of_row(unsigned row, bool rows_alternate) {
  return rows_alternate ? row / 16 * 16 + row % 2 * 8 + row % 16 / 2 : row;
}

}  // namespace wavejit::templates::w4a16
