// SPDX-License-Identifier: MIT
// Geometry of a CDNA workgroup tile: who loads what, where it lies in LDS, which wave owns which part.
// Everything is derived from Config and Problem; no state.
//
// Matrix instructions are side x side (32, or 16 for tiles of 16 rows) with weights as SRC0 and activations
// as SRC1, so that a lane ends up with consecutive columns of one row. A lane group (lane / side) takes 32
// consecutive k of its row: 16 bytes of weights, 64 of activations, in four substeps of 8. K order inside a
// block of `span` = 32 * groups is thus (group, substep, 8), the same for both operands.
//
// Weights go from memory to the registers of the wave that multiplies them. Activations go through LDS, one
// region per block of K, rows of `row_bytes` = 2 * span. The 16-byte chunk of row r, lane group g and
// substep t lies in slot (t * groups + g) ^ fold(r): r / (bank bytes / row bytes) where a row is shorter
// than all banks, in the low bits that number the slots. Work-item i writes slot i, whatever that holds.
#pragma once

#include <cstdint>

#include "generator/isa/opcode.hpp"
#include "templates/problem.hpp"

namespace wavejit::templates::cdna {

struct Tile {
  unsigned side = 32;          ///< of a matrix instruction
  unsigned accumulators = 16;  ///< f32 of a lane per matrix instruction
  unsigned depth = 8;          ///< k of a matrix instruction
  unsigned groups = 2;         ///< lane groups: 64 / side
  unsigned span = 64;          ///< k of a block: 32 per lane group
  unsigned blocks = 1;         ///< of a step: bk / span
  unsigned row_bytes = 128;    ///< of an LDS row
  unsigned slots = 8;          ///< 16-byte chunks of an LDS row
  unsigned rows_per_bank_sweep = 1;
  unsigned threads = 0, rows_per_pass = 0, passes = 0;
  unsigned rows = 0;         ///< in LDS: bm rounded up to whole passes
  unsigned block_bytes = 0;  ///< LDS region of one block
  unsigned buffer_bytes = 0, lds_bytes = 0;
  unsigned wave_m = 0, wave_n = 0;    ///< rows and columns of a wave's part
  unsigned tiles_m = 0, tiles_n = 0;  ///< matrix tiles of a wave
  unsigned scale_groups = 1;          ///< groups of weights that a step spans: 2 where lane groups differ

  /// Needs a Config whose fields are all chosen and in range.
  Tile(const Config& config, const Problem& problem, const target::Target& target);
};

/// Sides of the matrix instruction that a tile of `bm` rows uses.
constexpr unsigned matrix_side(unsigned bm) { return bm % 32 == 0 ? 32 : 16; }

/// The matrix instruction of that side with `depth` k.
isa::Opcode matrix_opcode(unsigned side, unsigned depth, DataType activation);

/// How K is cut for split-K: slices of `steps` steps each, `filled` of them; those behind are empty.
struct Slices {
  std::int64_t length = 0;  ///< elements along K
  std::int64_t filled = 1;
};
/// Units are the larger of bk and the group; filled * length == K says that the Config is one we take. K = 0
/// is one empty slice.
Slices slices(const Config& config, const Problem& problem);

}  // namespace wavejit::templates::cdna
