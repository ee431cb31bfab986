// SPDX-License-Identifier: MIT
// Accumulators to output. A lane holds, for one row, runs of consecutive columns: 16 of each 32 with 32x32
// instructions, 8 with pairs of 16x16 ones. Without split-K a bias is added, they are rounded once to nearest
// even (NaN kept)
// and stored; with split-K they go to the slice's part of the f32 workspace. Rows past M are dropped by the
// descriptor; columns past N are masked by EXEC where N is not a multiple of the tile.
#include <bit>

#include "templates/cdna/emitter.hpp"

namespace wavejit::templates::cdna {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

Emitter::OutputPlace Emitter::output_place() {
  OutputPlace o;
  const unsigned size = partial() ? 4 : 2;
  const std::int64_t stride = (partial() ? p_.n : p_.output_stride) * size;
  const char* name = partial() ? "workspace" : "output";
  const Operand row = partial() ? place_.workspace_row0 : place_.row0,
                rows = partial() ? place_.workspace_row_end : place_.row_end;
  const Operand column_bytes = b_.sgpr("out_column_bytes"), wave_rows = b_.sgpr("out_wave_rows"),
                wave_columns = b_.sgpr("out_wave_columns"), s_stride = b_.sgpr("out_stride");
  b_.emit(s_mul_i32, {column_bytes}, {n0_, imm(size)});
  const RowTensor tensor{name, pointers_[static_cast<std::size_t>(argument(name))], rows, stride,
                         p_.n * size};
  o.descriptor = exact_descriptor(b_, tensor, row, column_bytes);
  if (p_.n % c_.bn != 0) {
    o.columns_left = b_.sgpr("columns_left");
    b_.emit(s_sub_u32, {o.columns_left}, {imm(p_.n), n0_});
  }
  const Operand lane_row = b_.vgpr("out_row"), run = b_.vgpr("out_run");
  o.column = b_.vgpr("out_column");
  o.offset = b_.vgpr("out_offset");
  b_.emit(s_mov_b32, {wave_rows}, {imm(t_.wave_m)});
  b_.emit(s_mov_b32, {wave_columns}, {imm(t_.wave_n)});
  b_.emit(s_mov_b32, {s_stride}, {imm(stride)});
  b_.emit(v_mad_u32_u24, {lane_row}, {wave_m_, wave_rows, lane_row_});
  b_.emit(v_lshlrev_b32, {run}, {imm(std::countr_zero(column_run())), lane_group_});
  b_.note("first column of the lane's first run")
      .emit(v_mad_u32_u24, {o.column}, {wave_n_, wave_columns, run});
  b_.emit(v_mul_lo_u32, {o.offset}, {lane_row, s_stride});
  b_.emit(v_lshl_add_u32, {o.offset}, {o.column, imm(partial() ? 2 : 1), o.offset});
  if (has_bias()) {
    o.bias_offset = b_.vgpr("bias_offset");
    b_.emit(v_lshlrev_b32, {o.bias_offset}, {imm(1), o.column});
  }
  o.full_exec = b_.sgpr("full_exec", 2);
  b_.emit(s_mov_b64, {o.full_exec}, {isa::exec(64)});
  if (!partial()) output_rounder_.setup(b_);
  return o;
}

/// The lane's run of columns in 32-column unit `unit` of row tile `i`.
std::vector<Operand> Emitter::column_values(unsigned i, unsigned unit) const {
  std::vector<Operand> values;
  const unsigned per_unit = 32 / t_.side;
  for (unsigned u = 0; u < per_unit; ++u) {
    const Operand& acc = acc_[(unit * per_unit + u) * t_.tiles_m + i];
    for (unsigned v = 0; v < t_.accumulators; ++v) values.push_back(acc.slice(v));
  }
  return values;
}

/// EXEC = lanes whose column + `column` is inside N.
void Emitter::guard(const OutputPlace& place, unsigned column) {
  const Operand limit = b_.sgpr("limit"), inside = b_.sgpr("inside", 2);
  b_.emit(s_mov_b64, {isa::exec(64)}, {place.full_exec});
  b_.emit(s_sub_i32, {limit}, {place.columns_left, imm(column)});
  b_.emit(v_cmp_gt_i32, {inside}, {limit, place.column});
  b_.emit(s_mov_b64, {isa::exec(64)}, {inside});
}

/// f32 of the bias of column_run() columns from `column` on: 8 at a time where N is a multiple of 8, else
/// one. Columns at or beyond N are out of the descriptor's bounds and read as 0.
std::vector<Operand> Emitter::bias_run(const OutputPlace& place, const Operand& descriptor, unsigned column) {
  const unsigned step = p_.n % 8 == 0 ? 8 : 1;
  std::vector<Operand> values;
  for (unsigned v = 0; v < column_run(); v += step) {
    const Operand loaded = b_.vgpr("bias", (step + 1) / 2);
    ir::Instruction& inst = b_.emit(step == 8 ? buffer_load_b128 : buffer_load_u16, {loaded},
                                    {place.bias_offset, descriptor, imm(0)});
    inst.mi.mods.offen = true;
    inst.mi.mods.offset = static_cast<std::int32_t>(2 * (column + v));
    inst.mem = {ir::MemoryTag::Space::global, static_cast<std::int16_t>(argument("bias")), false};
    for (unsigned e = 0; e < step; ++e)
      values.push_back(half_to_f32(b_, p_.activation, loaded.slice(e / 2), e % 2 == 1));
  }
  return values;
}

/// Adds the bias to every accumulator, before their one rounding.
void Emitter::add_bias(const OutputPlace& place) {
  const RowTensor tensor{"bias", pointers_[static_cast<std::size_t>(argument("bias"))], imm(p_.n), 2, 2};
  const Operand descriptor = exact_descriptor(b_, tensor, n0_, {});
  for (unsigned unit = 0; unit < t_.wave_n / 32; ++unit) {
    const std::vector<Operand> bias = bias_run(place, descriptor, 32 * unit);
    for (unsigned i = 0; i < t_.tiles_m; ++i) {
      const std::vector<Operand> sums = column_values(i, unit);
      for (std::size_t v = 0; v < sums.size(); ++v) b_.emit(v_add_f32, {sums[v]}, {bias[v], sums[v]});
    }
  }
}

void Emitter::store_unit(const OutputPlace& place, unsigned i, unsigned unit) {
  const unsigned size = partial() ? 4 : 2;
  const std::int64_t stride = (partial() ? p_.n : p_.output_stride) * size;
  const bool wide = p_.n % (16 / size) == 0 && stride % 16 == 0;
  const std::vector<Operand> values = column_values(i, unit);
  // Lanes that an earlier store masked take part again.
  if (place.columns_left.is_reg()) b_.emit(s_mov_b64, {isa::exec(64)}, {place.full_exec});
  Operand address = place.offset;
  if (i > 0) {
    const Operand distance = b_.sgpr("row_distance");
    address = b_.vgpr("out_address");
    b_.emit(s_mov_b32, {distance}, {imm(static_cast<std::int64_t>(i) * t_.side * stride)});
    b_.emit(v_add_nc_u32, {address}, {distance, place.offset});
  }
  const auto store = [&](isa::Opcode op, const Operand& data, unsigned column) {
    if (place.columns_left.is_reg()) guard(place, column);
    ir::Instruction& inst = b_.emit(op, {}, {data, address, place.descriptor, imm(0)});
    inst.mi.mods.offen = true;
    inst.mi.mods.offset = static_cast<std::int32_t>(column * size);
    inst.mem = {ir::MemoryTag::Space::global,
                static_cast<std::int16_t>(argument(partial() ? "workspace" : "output")), false};
  };
  const unsigned first = 32 * unit, run = static_cast<unsigned>(values.size());
  if (partial()) {
    const unsigned step = wide ? 4 : 1;
    for (unsigned v = 0; v < run; v += step) {
      const unsigned per = t_.accumulators;
      const Operand& acc = acc_[(unit * (32 / t_.side) + v / per) * t_.tiles_m + i];
      store(wide ? buffer_store_b128 : buffer_store_b32, acc.slice(v % per, step), first + v);
    }
    return;
  }
  for (unsigned v = 0; v < run; v += 8) {
    // Rounding before any guard: EXEC covers stores only.
    const Operand quad = b_.vgpr("packed", 4);
    if (place.columns_left.is_reg()) b_.emit(s_mov_b64, {isa::exec(64)}, {place.full_exec});
    for (unsigned e = 0; e < 8; e += 2)
      output_rounder_.round(b_, values[v + e], values[v + e + 1], quad.slice(e / 2));
    if (wide) {
      store(buffer_store_b128, quad, first + v);
      continue;
    }
    for (unsigned e = 0; e < 8; ++e)
      store(e % 2 == 0 ? buffer_store_b16 : buffer_store_d16_hi_b16, quad.slice(e / 2), first + v + e);
  }
}

void Emitter::epilogue() {
  lane_ids();
  const OutputPlace place = output_place();
  if (has_bias()) add_bias(place);
  for (unsigned i = 0; i < t_.tiles_m; ++i)
    for (unsigned unit = 0; unit < t_.wave_n / 32; ++unit) store_unit(place, i, unit);
  if (place.columns_left.is_reg()) b_.emit(s_mov_b64, {isa::exec(64)}, {place.full_exec});
}

}  // namespace wavejit::templates::cdna
