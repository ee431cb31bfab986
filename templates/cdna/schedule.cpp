// SPDX-License-Identifier: MIT
#include "templates/cdna/schedule.hpp"

#include <algorithm>
#include <cassert>

#include "templates/cdna/schedule_steps.hpp"
#include "templates/scalar_math.hpp"

namespace wavejit::templates::cdna {
namespace {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Tile `id` of tiles_m x tiles_n, `group_m` rows of tiles at a time.
std::pair<std::int64_t, std::int64_t> tile_of(const Schedule& s, std::int64_t tiles_m, std::int64_t id) {
  const std::int64_t band = s.group_m * tiles_n(s);
  const std::int64_t first = id / band * s.group_m, rest = id % band;
  const std::int64_t height = std::min<std::int64_t>(tiles_m - first, s.group_m);
  return {first + rest % height, rest / height};
}

/// A size as the kernels take it, so that the sum with `before` stays within m.
std::int64_t clamped(std::int64_t size, std::int64_t before, std::int64_t m) {
  return std::min(std::clamp<std::int64_t>(size, 0, m), m - before);
}

Place emit_dense(ir::Builder& b, const Schedule& s, const ScheduleInputs& in) {
  Place place;
  const Operand tiles_m = emit_tiles_m(b, s, in.m);
  const Operand tiles = b.sgpr("tiles");
  b.note("tiles of one slice").emit(s_mul_i32, {tiles}, {tiles_m, imm(tiles_n(s))});
  const std::int64_t products = s.sets * s.slices;
  Operand count = tiles;
  if (products > 1) {
    count = b.sgpr("workgroups");
    b.emit(s_mul_i32, {count}, {tiles, imm(products)});
  }
  Operand id = emit_remap(b, s, in.workgroup, count);
  place.slice = place.set = imm(0);
  if (products > 1) {
    const Quotient product = divide_by_register(b, "product", id, tiles);
    id = product.remainder;
    place.set = product.quotient;
    if (s.slices > 1) {
      const Quotient split = divide_with_rest(b, "set", product.quotient, s.slices);
      place.set = s.sets > 1 ? split.quotient : imm(0);
      place.slice = split.remainder;
    }
  }
  const TileOf tile = emit_tile(b, s, id, tiles_m);
  place.tile_m = tile.tile_m;
  place.tile_n = tile.tile_n;

  const Operand in_set = b.sgpr("row_in_set");
  b.emit(s_mul_i32, {in_set}, {tile.tile_m, imm(s.bm)});
  place.row0 = in_set;
  place.row_end = in.m;
  if (s.sets > 1) {
    const Operand start = b.sgpr("set_row0");
    place.row0 = b.sgpr("row0");
    place.row_end = b.sgpr("row_end");
    b.emit(s_mul_i32, {start}, {place.set, in.m});
    b.emit(s_add_u32, {place.row0}, {start, in_set});
    b.emit(s_add_u32, {place.row_end}, {start, in.m});
  }
  emit_columns(b, s, place);
  if (s.slices == 1) return place;
  const Operand start = b.sgpr("slice_row0");
  place.workspace_row0 = b.sgpr("workspace_row0");
  place.workspace_row_end = b.sgpr("workspace_row_end");
  if (s.sets > 1) {
    b.emit(s_mul_i32, {start}, {place.set, imm(s.slices)});
    b.emit(s_add_u32, {start}, {start, place.slice});
    b.emit(s_mul_i32, {start}, {start, in.m});
  } else {
    b.emit(s_mul_i32, {start}, {place.slice, in.m});
  }
  b.emit(s_add_u32, {place.workspace_row0}, {start, in_set});
  b.note("end of the slice's partial sums").emit(s_add_u32, {place.workspace_row_end}, {start, in.m});
  return place;
}

}  // namespace

std::int64_t tiles_n(const Schedule& schedule) { return ceil_div(schedule.n, schedule.bn); }

std::int64_t remap(std::int64_t id, std::int64_t count, unsigned xcds) {
  const std::int64_t each = ceil_div(count, xcds);
  const std::int64_t full = count - (each - 1) * xcds;  // XCDs with `each` workgroups, the rest has one less
  const std::int64_t xcd = id % xcds;
  return xcd * each + id / xcds - std::max<std::int64_t>(xcd - full, 0);
}

RowGrid row_grid(const Schedule& s) {
  if (!s.grouped) return {.rows = s.bm, .factor = tiles_n(s) * s.slices * s.sets};
  // Each group with rows fills its last tile in part, each but one beyond what all rows together would take;
  // and no group has more tiles than rows.
  return {.rows = s.bm,
          .factor = s.sets == 0 ? 0 : tiles_n(s),
          .more = std::max<std::int64_t>(s.sets - 1, 0) * tiles_n(s),
          .per_row = tiles_n(s)};
}

std::int64_t workgroups(const Schedule& s, std::int64_t m) { return row_grid(s).workgroups(m); }

TilePlace place(const Schedule& s, std::int64_t m, std::int64_t id) {
  assert(!s.grouped);
  const std::int64_t tiles_m = ceil_div(m, s.bm), tiles = tiles_m * tiles_n(s);
  const std::int64_t number = remap(id, workgroups(s, m), s.xcds);
  const auto [tile_m, tile_n] = tile_of(s, tiles_m, number % tiles);
  const std::int64_t set = number / tiles / s.slices;
  return {.tile_m = tile_m,
          .tile_n = tile_n,
          .slice = number / tiles % s.slices,
          .set = set,
          .row0 = set * m + tile_m * s.bm,
          .row_end = (set + 1) * m};
}

std::optional<TilePlace> place(const Schedule& s, std::span<const std::int64_t> group_rows, std::int64_t m,
                               std::int64_t id) {
  assert(s.grouped);
  std::int64_t rows = 0, tiles = 0;
  for (const std::int64_t size : group_rows) {
    const std::int64_t r = clamped(size, rows, m);
    rows += r;
    tiles += ceil_div(r, s.bm) * tiles_n(s);
  }
  if (id >= tiles) return std::nullopt;
  std::int64_t number = remap(id, tiles, s.xcds), row = 0;
  for (std::size_t g = 0; g < group_rows.size(); ++g) {
    const std::int64_t r = clamped(group_rows[g], row, m), tiles_m = ceil_div(r, s.bm);
    if (number < tiles_m * tiles_n(s)) {
      const auto [tile_m, tile_n] = tile_of(s, tiles_m, number);
      return TilePlace{.tile_m = tile_m,
                       .tile_n = tile_n,
                       .slice = 0,
                       .set = static_cast<std::int64_t>(g),
                       .row0 = row + tile_m * s.bm,
                       .row_end = row + r};
    }
    number -= tiles_m * tiles_n(s);
    row += r;
  }
  return std::nullopt;
}

Operand emit_tiles_m(ir::Builder& b, const Schedule& s, const Operand& rows) {
  const Operand up = b.sgpr("rows_up");
  b.emit(s_add_u32, {up}, {rows, imm(s.bm - 1)});
  return divide(b, "tiles_m", up, s.bm);
}

Operand emit_remap(ir::Builder& b, const Schedule& s, const Operand& id, const Operand& count) {
  if (s.xcds == 1) return id;
  const Quotient place = divide_with_rest(b, "xcd", id, s.xcds);  // number on its XCD, XCD
  const Operand up = b.sgpr("count_up"), full = b.sgpr("full_xcds"), number = b.sgpr("number");
  b.emit(s_add_u32, {up}, {count, imm(s.xcds - 1)});
  const Operand each = divide(b, "each", up, s.xcds);
  b.emit(s_sub_u32, {full}, {each, imm(1)});
  b.emit(s_mul_i32, {full}, {full, imm(s.xcds)});
  b.note("XCDs with one workgroup more").emit(s_sub_u32, {full}, {count, full});
  b.emit(s_mul_i32, {number}, {place.remainder, each});
  b.emit(s_add_u32, {number}, {number, place.quotient});
  b.emit(s_sub_i32, {full}, {place.remainder, full});
  b.emit(s_max_i32, {full}, {full, imm(0)});
  b.note("neighbours of one XCD are neighbours").emit(s_sub_u32, {number}, {number, full});
  return number;
}

TileOf emit_tile(ir::Builder& b, const Schedule& s, const Operand& id, const Operand& tiles_m) {
  if (tiles_n(s) == 1) return {id, imm(0)};
  const Quotient band = divide_with_rest(b, "band", id, s.group_m * tiles_n(s));
  const Operand first = b.sgpr("first_tile_m"), height = b.sgpr("band_height"), tile_m = b.sgpr("tile_m");
  b.emit(s_mul_i32, {first}, {band.quotient, imm(s.group_m)});
  b.emit(s_sub_u32, {height}, {tiles_m, first});
  b.emit(s_min_u32, {height}, {height, imm(s.group_m)});
  const Quotient in_band = divide_by_register(b, "tile_n", band.remainder, height);
  b.emit(s_add_u32, {tile_m}, {first, in_band.remainder});
  return {tile_m, in_band.quotient};
}

void emit_columns(ir::Builder& b, const Schedule& s, Place& place) {
  const Operand in_set = b.sgpr("column_in_set");
  if (place.tile_n.is_const())
    b.emit(s_mov_b32, {in_set}, {imm(place.tile_n.value * s.bn)});
  else
    b.emit(s_mul_i32, {in_set}, {place.tile_n, imm(s.bn)});
  place.column0 = in_set;
  place.column_end = imm(s.n);
  if (place.set.is_const()) return;
  const Operand start = b.sgpr("set_column0");
  place.column0 = b.sgpr("column0");
  place.column_end = b.sgpr("column_end");
  b.emit(s_mul_i32, {start}, {place.set, imm(s.n)});
  b.emit(s_add_u32, {place.column0}, {start, in_set});
  b.emit(s_add_u32, {place.column_end}, {start, imm(s.n)});
}

Place emit_schedule(ir::Builder& b, const Schedule& schedule, const ScheduleInputs& in) {
  return schedule.grouped ? emit_grouped(b, schedule, in) : emit_dense(b, schedule, in);
}

}  // namespace wavejit::templates::cdna
