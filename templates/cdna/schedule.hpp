// SPDX-License-Identifier: MIT
// Which tile a workgroup of the CDNA family computes. Workgroups are numbered along grid axis x; hardware
// deals them to the XCDs in turn, and each XCD has an L2 of its own (hardware.md §1). A workgroup's number
// becomes a tile in three steps:
//   1. remap: numbers of one XCD become neighbours (domain.md §1.9), a bijection for every grid;
//   2. sets (batches, groups of rows), then slices of K: the workgroups of one slice are neighbours;
//   3. inside a slice `group_m` rows of tiles at a time, column by column, so that neighbours share weights
//      and activations.
//
// Grouped problems: rows of group g are group_rows[g] (int64, on the device), one group after another. Every
// wave sums them up itself, 64 groups at a time, so that neither host nor another kernel needs to look. Sizes
// are taken as they come: a negative one is 0, and rows at or beyond M of the launch belong to nobody, so no
// content of group_rows makes a kernel leave its tensors. The grid is an upper bound that needs M only;
// workgroups past the last tile leave.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "generator/ir/builder.hpp"
#include "templates/kernel.hpp"

namespace wavejit::templates::cdna {

struct Schedule {
  unsigned bm = 128, bn = 128;  ///< tile
  std::int64_t n = 0;           ///< columns of the output
  unsigned slices = 1;          ///< of K; 1 for grouped problems
  std::int64_t sets = 1;        ///< products side by side: batch, or groups
  bool grouped = false;
  unsigned group_m = 8;
  unsigned xcds = 1;  ///< of the target
};

std::int64_t tiles_n(const Schedule& schedule);

/// The new number of workgroup `id` in a grid of `count`: XCD x, which runs the numbers id % xcds == x, gets
/// consecutive new numbers.
std::int64_t remap(std::int64_t id, std::int64_t count, unsigned xcds);

/// Workgroups of a launch with M rows (per batch; grouped: of the whole buffer, and an upper bound).
RowGrid row_grid(const Schedule& schedule);
std::int64_t workgroups(const Schedule& schedule, std::int64_t m);

/// A workgroup's work. Rows and columns are cut at the edges of the set's product.
struct TilePlace {
  std::int64_t tile_m = 0, tile_n = 0, slice = 0, set = 0;
  std::int64_t row0 = 0, row_end = 0;  ///< of the set's product: rows of activations and output
  friend bool operator==(const TilePlace&, const TilePlace&) = default;
};

/// What emit_schedule's code computes, for hosts. Not grouped.
TilePlace place(const Schedule& schedule, std::int64_t m, std::int64_t id);
/// Grouped; nullopt when the workgroup leaves.
std::optional<TilePlace> place(const Schedule& schedule, std::span<const std::int64_t> group_rows,
                               std::int64_t m, std::int64_t id);

/// The place in SGPRs, or constants where there is only one choice.
struct Place {
  isa::Operand tile_m, tile_n, slice, set;
  isa::Operand row0, row_end;  ///< absolute rows of activations and output: the tile's first, the set's end
  isa::Operand column0, column_end;  ///< rows of the weights: set * n + tile_n * bn, (set + 1) * n
  /// Rows of the workspace [sets, slices, m]: the tile's first and its slice's end; only when slices > 1.
  isa::Operand workspace_row0, workspace_row_end;
  /// (block, instruction) of branches whose label must become the kernel's end; grouped only.
  std::vector<std::pair<std::size_t, std::size_t>> exits;
};

struct ScheduleInputs {
  isa::Operand workgroup;                 ///< SGPR: id on x
  isa::Operand m;                         ///< SGPR: rows per batch; grouped: rows of the buffer
  isa::Operand workitem;                  ///< grouped: VGPR whose low six bits are the lane, in every wave
  isa::Operand group_rows;                ///< grouped: SGPR pair, address of the int64 sizes
  std::int16_t group_rows_argument = -1;  ///< grouped: its position among the kernel's arguments
};

/// Appends the code to the current block (grouped: and further blocks), with EXEC full. Every intermediate is
/// below 2^31, which launch() has checked.
Place emit_schedule(ir::Builder& b, const Schedule& schedule, const ScheduleInputs& in);

}  // namespace wavejit::templates::cdna
