// SPDX-License-Identifier: MIT
// Private to the CDNA schedule: steps that both kinds of problem share. All operands are SGPRs.
#pragma once

#include "templates/cdna/schedule.hpp"

namespace wavejit::templates::cdna {

/// ceil(rows / bm).
isa::Operand emit_tiles_m(ir::Builder& b, const Schedule& schedule, const isa::Operand& rows);

/// remap(id, count, schedule.xcds).
isa::Operand emit_remap(ir::Builder& b, const Schedule& schedule, const isa::Operand& id,
                        const isa::Operand& count);

struct TileOf {
  isa::Operand tile_m, tile_n;
};
/// Tile number `id` of a product of `tiles_m` rows of tiles.
TileOf emit_tile(ir::Builder& b, const Schedule& schedule, const isa::Operand& id,
                 const isa::Operand& tiles_m);

/// Fills column0 and column_end from tile_n and set, and workspace rows are left alone.
void emit_columns(ir::Builder& b, const Schedule& schedule, Place& place);

Place emit_grouped(ir::Builder& b, const Schedule& schedule, const ScheduleInputs& in);

}  // namespace wavejit::templates::cdna
