// SPDX-License-Identifier: MIT
// Private to the CDNA decode kernels: who loads what, where it lies in LDS, which wave owns which part of K.
// Everything is derived from Config and Problem; no state.
//
// Matrix instructions are side x side (16, or 32 for more than 16 rows and for groups that are no multiple of
// 128) with activations as SRC0 and weights as SRC1: a lane's accumulators belong to one column. As in
// tile.hpp a lane group (lane / side) takes 32 consecutive k of its row in four substeps of 8; a block of
// `span` = 32 * groups lies inside one group of weights, so that one scale serves a matrix instruction.
//
// A workgroup's step of bk along K is cut into waves * blocks blocks; wave w has blocks w * blocks and up.
// Activations of a block form one region of LDS: `rows` rows of `row_bytes` = 2 * span, swizzled as in
// tile.hpp. Rows beyond `rows` of a matrix instruction repeat the first ones and are dropped at the end.
#pragma once

#include "templates/problem.hpp"

namespace wavejit::templates::cdna::decode {

struct Geometry {
  unsigned side = 16;
  unsigned accumulators = 4;  ///< f32 of a lane per matrix instruction
  unsigned used = 4;          ///< of them, those that hold rows of the output
  unsigned depth = 16;        ///< k of a matrix instruction
  unsigned groups = 4;        ///< lane groups: 64 / side
  unsigned span = 128;
  unsigned blocks = 1;  ///< of a wave and step: bk / span / waves
  unsigned steps = 1;   ///< along K, the last one possibly in part
  bool ragged = false;  ///< it is
  unsigned rows = 4;    ///< of activations in LDS: bm
  unsigned row_bytes = 256;
  unsigned slots = 16;          ///< 16-byte chunks of an LDS row
  unsigned rows_per_wave = 4;   ///< that one load of a wave covers: 64 / slots
  unsigned rows_per_sweep = 1;  ///< of LDS banks
  unsigned passes = 1;          ///< loads of a work-item that fill a step's regions
  unsigned tiles_n = 1;         ///< matrix tiles of a wave, side by side
  unsigned region_bytes = 0, buffer_bytes = 0;
  // Sums over waves: each of `summing` waves adds `share` of the registers of all waves.
  unsigned registers = 4;  ///< that a wave has to add: tiles_n * used
  unsigned summing = 1, share = 4;
  unsigned lds_bytes = 0;

  /// Needs a Config whose fields are in range.
  Geometry(const Config& config, const Problem& problem, const target::Target& target);
};

/// Side of the matrix instruction for tiles of `bm` rows.
constexpr unsigned side_of(unsigned bm, std::int64_t group) { return bm <= 16 && group % 128 == 0 ? 16 : 32; }

}  // namespace wavejit::templates::cdna::decode
