// SPDX-License-Identifier: MIT
// Grouped problems: from group_rows to a tile, by a sum over the lanes of each wave. A first walk over all
// groups, 64 at a time, counts the tiles, which the remap must know; a second finds the group of the
// workgroup's tile.
#include <fmt/format.h>

#include "templates/cdna/schedule_steps.hpp"
#include "templates/scalar_math.hpp"

namespace wavejit::templates::cdna {
namespace {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

constexpr unsigned lanes = 64;
constexpr std::int64_t size_bytes = 8;

void set_dpp(ir::Instruction& inst, unsigned control, unsigned rows) {
  inst.mi.mods.dpp.kind = isa::Dpp::Kind::dpp16;
  inst.mi.mods.dpp.ctrl = static_cast<std::uint16_t>(control);
  inst.mi.mods.dpp.row_mask = static_cast<std::uint8_t>(rows);
}

/// x (VGPR) = sum over the lanes up to and including each, at most `limit` (SGPR; every term is at most that
/// and it is below 2^31, so no sum wraps). Within rows of 16 lanes first, then across them.
void sum_lanes(ir::Builder& b, const Operand& x, const Operand& limit) {
  constexpr unsigned row_shr = 0x110, row_bcast15 = 0x142, row_bcast31 = 0x143;
  for (const unsigned distance : {1U, 2U, 4U, 8U}) {
    ir::Instruction& add = b.emit(v_add_nc_u32, {x}, {x, x});
    set_dpp(add, row_shr + distance, 0xF);
    add.mi.mods.dpp.bound_ctrl = true;  // 0 where no lane is `distance` before
    b.emit(v_min_u32, {x}, {limit, x});
  }
  for (const auto& [control, rows] : {std::pair(row_bcast15, 0b1010U), std::pair(row_bcast31, 0b1100U)}) {
    const Operand before = b.vgpr("rows_before");
    b.emit(v_mov_b32, {before}, {imm(0)});
    set_dpp(b.emit(v_mov_b32, {before}, {x}), control, rows);
    b.emit(v_add_nc_u32, {x}, {before, x});
    b.emit(v_min_u32, {x}, {limit, x});
  }
}

class Grouped {
 public:
  Grouped(ir::Builder& b, const Schedule& s, const ScheduleInputs& in)
      : b_(b), s_(s), in_(in), chunks_((s.sets + lanes - 1) / lanes) {}
  Place run();

 private:
  struct Range {
    Operand begin, end;  ///< VGPRs
  };
  /// What the lanes know of their groups.
  struct Chunk {
    Range rows, tiles;
  };
  void descriptor();
  void restart();
  Operand previous_lane(const std::string& name, const Operand& end, const Operand& first);
  Range range(const std::string& name, const Operand& own, const Operand& before);
  Chunk chunk();
  void advance(const Chunk& c, std::uint32_t again);
  Operand holder(const Chunk& c, const Operand& row);
  void take(const Chunk& c, const Operand& mask, const Operand& number);
  void leave(isa::Opcode branch);
  void jump(isa::Opcode branch, std::uint32_t target);

  ir::Builder& b_;
  const Schedule& s_;
  const ScheduleInputs& in_;
  std::int64_t chunks_;
  Operand desc_, lane_bytes_;
  Operand offset_, rows_, tiles_;  ///< walk: VGPR offset of the lane's size, sums so far
  Operand first_;                  ///< SGPR: number of the chunk's first group
  Place place_;
};

void Grouped::leave(isa::Opcode branch) {
  place_.exits.emplace_back(b_.kernel().blocks.size() - 1, b_.current().insts.size());
  b_.emit(branch, {}, {isa::label(0)});
}

void Grouped::jump(isa::Opcode branch, std::uint32_t target) { b_.emit(branch, {}, {isa::label(target)}); }

/// Sizes at or beyond the number of groups are out of bounds and read as 0.
void Grouped::descriptor() {
  desc_ = b_.sgpr("group_rows_desc", 4);
  b_.emit(s_mov_b32, {desc_.slice(0)}, {in_.group_rows.slice(0)});
  b_.emit(s_and_b32, {desc_.slice(1)}, {in_.group_rows.slice(1), imm(0xFFFF)});
  b_.note("num_records: sizes of the groups").emit(s_mov_b32, {desc_.slice(2)}, {imm(s_.sets * size_bytes)});
  b_.emit(s_mov_b32, {desc_.slice(3)}, {imm(b_.kernel().target->buffer_word3)});
  const Operand lane = b_.vgpr("lane");
  lane_bytes_ = b_.vgpr("lane_bytes");
  b_.emit(v_and_b32, {lane}, {imm(lanes - 1), in_.workitem});
  b_.emit(v_lshlrev_b32, {lane_bytes_}, {imm(3), lane});
  offset_ = b_.vgpr("size_offset");
  rows_ = b_.sgpr("rows_so_far");
  tiles_ = b_.sgpr("tiles_so_far");
  first_ = b_.sgpr("first_group");
}

void Grouped::restart() {
  b_.emit(v_mov_b32, {offset_}, {lane_bytes_});
  b_.emit(s_mov_b32, {rows_}, {imm(0)});
  b_.emit(s_mov_b32, {tiles_}, {imm(0)});
  b_.emit(s_mov_b32, {first_}, {imm(0)});
}

/// The end of the lane before, `first` for lane 0.
Operand Grouped::previous_lane(const std::string& name, const Operand& end, const Operand& first) {
  constexpr unsigned wave_shr1 = 0x138;
  const Operand begin = b_.vgpr(name);
  b_.emit(v_mov_b32, {begin}, {first});
  ir::Instruction& shift = b_.emit(v_mov_b32, {begin}, {end});
  shift.mi.mods.dpp.kind = isa::Dpp::Kind::dpp16;
  shift.mi.mods.dpp.ctrl = wave_shr1;
  return begin;
}

/// Sums of `own` over the lanes, behind `before` (SGPR): where each lane's part begins and ends, cut at m.
Grouped::Range Grouped::range(const std::string& name, const Operand& own, const Operand& before) {
  const Operand sum = b_.vgpr(name + "_sum"), end = b_.vgpr(name + "_end");
  b_.emit(v_mov_b32, {sum}, {own});
  sum_lanes(b_, sum, in_.m);
  b_.emit(v_add_nc_u32, {end}, {before, sum});
  b_.emit(v_min_u32, {end}, {in_.m, end});
  return {previous_lane(name + "_begin", end, before), end};
}

/// Rows and tiles of 64 groups.
Grouped::Chunk Grouped::chunk() {
  const Operand size = b_.vgpr("size", 2), sign = b_.sgpr("negative", 2), large = b_.sgpr("large", 2);
  ir::Instruction& load = b_.emit(buffer_load_b64, {size}, {offset_, desc_, imm(0)});
  load.mi.mods.offen = true;
  load.mem = {ir::MemoryTag::Space::global, in_.group_rows_argument, false};
  const Operand limit = b_.vgpr("m_lanes"), count = b_.vgpr("group_rows");
  b_.emit(v_mov_b32, {limit}, {in_.m});
  b_.emit(v_min_u32, {count}, {in_.m, size.slice(0)});
  b_.emit(v_cmp_lt_i32, {large}, {imm(0), size.slice(1)});
  b_.note("2^32 rows and more").emit(v_cndmask_b32, {count}, {count, limit, large});
  b_.emit(v_cmp_gt_i32, {sign}, {imm(0), size.slice(1)});
  b_.note("negative sizes are 0").emit(v_cndmask_b32, {count}, {count, imm(0), sign});

  Chunk c;
  c.rows = range("row", count, rows_);
  const Operand up = b_.vgpr("rows_up");
  b_.emit(v_sub_nc_u32, {up}, {c.rows.end, c.rows.begin});
  b_.emit(v_add_nc_u32, {up}, {imm(s_.bm - 1), up});
  c.tiles = range("tile", divide_lanes(b_, "group_tiles", up, s_.bm), tiles_);
  return c;
}

/// The sums so far become those of the chunk's last lane; back to block `again` while groups are left.
void Grouped::advance(const Chunk& c, std::uint32_t again) {
  b_.emit(v_readlane_b32, {rows_}, {c.rows.end, imm(lanes - 1)});
  b_.emit(v_readlane_b32, {tiles_}, {c.tiles.end, imm(lanes - 1)});
  if (chunks_ == 1) return;
  b_.emit(v_add_nc_u32, {offset_}, {imm(lanes * size_bytes), offset_});
  b_.emit(s_add_u32, {first_}, {first_, imm(lanes)});
  b_.emit(s_cmp_lt_u32, {}, {first_, imm(s_.sets)});
  jump(s_cbranch_scc1, again);
}

/// Every lane knows its group's rows and tiles; the one whose tiles hold `row` of tiles hands them to all.
void Grouped::take(const Chunk& c, const Operand& mask, const Operand& number) {
  const Operand lane = b_.sgpr("lane_of_group"), begin = b_.sgpr("first_tile"), end = b_.sgpr("end_tile");
  const Operand row = b_.sgpr("group_row0");
  place_.row_end = b_.sgpr("row_end");
  b_.emit(s_ctz_i32_b64, {lane}, {mask});
  b_.emit(v_readlane_b32, {row}, {c.rows.begin, lane});
  b_.emit(v_readlane_b32, {place_.row_end}, {c.rows.end, lane});
  b_.emit(v_readlane_b32, {begin}, {c.tiles.begin, lane});
  b_.emit(v_readlane_b32, {end}, {c.tiles.end, lane});
  place_.set = b_.sgpr("group");
  b_.emit(s_add_u32, {place_.set}, {first_, lane});
  const Operand tiles_m = b_.sgpr("tiles_m"), id = b_.sgpr("tile"), before = b_.sgpr("tiles_before");
  b_.emit(s_sub_u32, {tiles_m}, {end, begin});
  b_.emit(s_mul_i32, {before}, {begin, imm(tiles_n(s_))});
  b_.note("tile inside the group").emit(s_sub_u32, {id}, {number, before});
  const TileOf tile = emit_tile(b_, s_, id, tiles_m);
  place_.tile_m = tile.tile_m;
  place_.tile_n = tile.tile_n;
  place_.row0 = b_.sgpr("row0");
  b_.emit(s_mul_i32, {place_.row0}, {tile.tile_m, imm(s_.bm)});
  b_.emit(s_add_u32, {place_.row0}, {place_.row0, row});
  place_.slice = imm(0);
  emit_columns(b_, s_, place_);
}

Place Grouped::run() {
  descriptor();
  restart();
  const std::uint32_t count =
      b_.block("count_tiles", fmt::format("of {} groups, {} at a time", s_.sets, lanes));
  Chunk c = chunk();
  advance(c, count);
  b_.block("tiles_counted", "workgroups past the last tile leave");
  const Operand tiles = b_.sgpr("workgroups_needed");
  b_.emit(s_mul_i32, {tiles}, {tiles_, imm(tiles_n(s_))});
  b_.emit(s_cmp_ge_u32, {}, {in_.workgroup, tiles});
  leave(s_cbranch_scc1);

  b_.block("find_group", "the group of this workgroup's tile");
  const Operand number = emit_remap(b_, s_, in_.workgroup, tiles);
  const Operand row = divide(b_, "row_of_tiles", number, tiles_n(s_));
  if (chunks_ > 1) {
    restart();
    const std::uint32_t search = b_.block("search_groups", "");
    c = chunk();
    const Operand mask = holder(c, row);
    b_.emit(s_cmp_lg_u64, {}, {mask, imm(0)});
    // Blocks in order: search, onward, lost, found.
    jump(s_cbranch_scc1, search + 3);
    b_.block("search_on", "");
    advance(c, search);
    b_.block("group_lost", "never: some group has the tile");
    leave(s_branch);
    b_.block("group_found", "");
    take(c, mask, number);
    return std::move(place_);
  }
  take(c, holder(c, row), number);
  return std::move(place_);
}

/// Lane mask of the group whose tile rows hold `row`: exactly one, as empty groups hold none.
Operand Grouped::holder(const Chunk& c, const Operand& row) {
  const Operand begun = b_.sgpr("begun", 2), open = b_.sgpr("open", 2), mask = b_.sgpr("holder", 2);
  b_.emit(v_cmp_ge_u32, {begun}, {row, c.tiles.begin});
  b_.emit(v_cmp_lt_u32, {open}, {row, c.tiles.end});
  b_.emit(s_and_b64, {mask}, {begun, open});
  return mask;
}

}  // namespace

Place emit_grouped(ir::Builder& b, const Schedule& schedule, const ScheduleInputs& in) {
  return Grouped(b, schedule, in).run();
}

}  // namespace wavejit::templates::cdna
