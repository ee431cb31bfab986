// SPDX-License-Identifier: MIT
// Accumulators to output: round to nearest even with NaN kept, pack, store eight consecutive
// columns of a row per lane. Rows past M are dropped by the descriptor; columns past N are masked
// by EXEC, only where N is not a multiple of the tile.
#include <bit>

#include "templates/w4a16/emitter.hpp"

namespace wavejit::templates::w4a16 {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

Emitter::OutputPlace Emitter::output_place() {
  OutputPlace o;
  const bool exact = c_.techniques.exact_descriptors;
  const Operand column_bytes = b_.sgpr("column_bytes");
  b_.emit(s_lshl_b32, {column_bytes}, {n0_, imm(1)});
  o.descriptor = exact ? exact_descriptor(b_, output_, m0_, column_bytes) : whole_descriptor(b_, output_);
  if (!exact) o.rows_left = rows_left_;
  if (p_.n % c_.bn != 0 || !exact) {
    o.cols_left = b_.sgpr("cols_left_out");
    b_.emit(s_sub_u32, {o.cols_left}, {imm(p_.n), n0_});
  }

  const Operand lane = b_.vgpr("lane16"), half = b_.vgpr("half"), wave = b_.vgpr("wave"),
                part = b_.vgpr("part");
  const auto shift = [](unsigned v) { return imm(std::countr_zero(v)); };
  b_.emit(v_and_b32, {lane}, {imm(15), tid_});
  b_.emit(v_bfe_u32, {half}, {tid_, imm(4), imm(1)});
  b_.emit(v_lshrrev_b32, {wave}, {shift(b_.kernel().target->wave_size), tid_});
  o.row = b_.vgpr("out_row");
  b_.emit(v_and_b32, {part}, {imm(c_.waves_m - 1), wave});
  b_.note("row of the lane's first tile").emit(v_mad_u32_u24, {o.row}, {part, imm(tile_.wave_m), lane});
  o.column = b_.vgpr("out_column");
  b_.emit(v_lshrrev_b32, {wave}, {shift(c_.waves_m), wave});
  b_.emit(v_lshlrev_b32, {half}, {imm(3), half});
  b_.note("its first column").emit(v_mad_u32_u24, {o.column}, {wave, imm(tile_.wave_n), half});
  o.offset = b_.vgpr("out_offset");
  Operand row = o.row, column = o.column;
  if (!exact) {
    row = b_.vgpr("out_row_abs");
    column = b_.vgpr("out_column_abs");
    b_.emit(v_add_nc_u32, {row}, {m0_, o.row});
    b_.emit(v_add_nc_u32, {column}, {n0_, o.column});
  }
  if (p_.bias) {
    o.bias_offset = b_.vgpr("bias_offset");
    b_.emit(v_lshlrev_b32, {o.bias_offset}, {imm(1), column});
  }
  b_.emit(v_mul_lo_u32, {o.offset}, {row, imm(output_.stride)});
  b_.emit(v_lshl_add_u32, {o.offset}, {column, imm(1), o.offset});

  output_rounder_.setup(b_);
  const unsigned wave_size = b_.kernel().target->wave_size;
  o.full_exec = b_.sgpr("full_exec", wave_size / 32);
  b_.emit(wave_size == 64 ? s_mov_b64 : s_mov_b32, {o.full_exec}, {isa::exec(wave_size)});
  return o;
}

/// Loads the bias of the lane's eight columns of block j: in one piece where N is a multiple of 8, else
/// element by element. Columns at or beyond N are out of the descriptor's bounds and read as 0.
std::vector<Operand> Emitter::load_bias(const OutputPlace& place, unsigned j) {
  const bool wide = p_.n % 8 == 0;
  std::vector<Operand> loaded;
  for (unsigned e = 0; e < (wide ? 1U : 8U); ++e) {
    loaded.push_back(b_.vgpr("bias", wide ? 4 : 1));
    ir::Instruction& inst = b_.emit(wide ? buffer_load_b128 : buffer_load_u16, {loaded.back()},
                                    {place.bias_offset, bias_desc_, no_soffset()});
    inst.mi.mods.offen = true;
    inst.mi.mods.offset = static_cast<std::int32_t>(j * 32 + 2 * e);
    inst.mem = {ir::MemoryTag::Space::global, static_cast<std::int16_t>(argument("bias")), false};
  }
  return loaded;
}

/// What load_bias() loaded, as eight f32.
std::vector<Operand> Emitter::bias_values(const std::vector<Operand>& loaded) {
  const bool wide = loaded.size() == 1;
  std::vector<Operand> values;
  for (unsigned e = 0; e < 8; ++e)
    values.push_back(
        half_to_f32(b_, p_.activation, wide ? loaded[0].slice(e / 2) : loaded[e], wide && e % 2 == 1));
  return values;
}

/// Adds the bias to every accumulator, before their one rounding. All loads go out first.
void Emitter::add_bias(const OutputPlace& place) {
  bias_desc_ =
      c_.techniques.exact_descriptors ? exact_descriptor(b_, bias_, n0_, {}) : whole_descriptor(b_, bias_);
  std::vector<std::vector<Operand>> loaded;
  for (unsigned j = 0; j < tile_.tiles_n; ++j) loaded.push_back(load_bias(place, j));
  for (unsigned j = 0; j < tile_.tiles_n; ++j) {
    const std::vector<Operand> values = bias_values(loaded[j]);
    for (unsigned i = 0; i < tile_.tiles_m; ++i)
      for (unsigned v = 0; v < 8; ++v) {
        const Operand sum = acc_[j * tile_.tiles_m + i].slice(v);
        b_.emit(v_add_f32, {sum}, {values[v], sum});
      }
  }
}

/// The packed 16-bit quads of column block j, one per row block.
std::vector<Operand> Emitter::round_column(unsigned j) {
  std::vector<Operand> packed;
  for (unsigned i = 0; i < tile_.tiles_m; ++i) {
    const Operand acc = acc_[j * tile_.tiles_m + i];
    packed.push_back(b_.vgpr("packed", 4));
    for (unsigned v = 0; v < 8; v += 2)
      output_rounder_.round(b_, acc.slice(v), acc.slice(v + 1), packed.back().slice(v / 2));
  }
  return packed;
}

/// EXEC = lanes whose column + `columns` is inside N and whose row + `rows` is inside M, as far as
/// guards are needed at all.
void Emitter::guard_lanes(const OutputPlace& place, int columns, int rows) {
  const unsigned wave_size = b_.kernel().target->wave_size;
  const isa::Opcode s_and = wave_size == 64 ? s_and_b64 : s_and_b32;
  Operand mask = place.full_exec;
  const auto narrow = [&](const Operand& left, int distance, const Operand& position) {
    if (left.kind == Operand::Kind::none) return;
    const Operand limit = b_.sgpr("limit"), inside = b_.sgpr("inside_out", wave_size / 32);
    const Operand both = b_.sgpr("lanes", wave_size / 32);
    b_.emit(s_sub_i32, {limit}, {left, imm(distance)});
    b_.emit(v_cmp_gt_i32, {inside}, {limit, position});
    b_.emit(s_and, {both}, {mask, inside});
    mask = both;
  };
  narrow(place.cols_left, columns, place.column);
  narrow(place.rows_left, rows, place.row);
  b_.emit(wave_size == 64 ? s_mov_b64 : s_mov_b32, {isa::exec(wave_size)}, {mask});
}

void Emitter::restore_lanes(const OutputPlace& place) {
  const unsigned wave_size = b_.kernel().target->wave_size;
  b_.emit(wave_size == 64 ? s_mov_b64 : s_mov_b32, {isa::exec(wave_size)}, {place.full_exec});
}

void Emitter::store_column(const OutputPlace& place, unsigned j, const std::vector<Operand>& packed) {
  const bool guarded = place.cols_left.is_reg() || place.rows_left.is_reg();
  std::vector<Operand> addresses;
  for (unsigned i = 0; i < tile_.tiles_m; ++i) {
    Operand address = place.offset;
    if (i > 0) {
      address = b_.vgpr("out_address");
      b_.emit(v_add_nc_u32, {address},
              {imm(static_cast<std::int64_t>(i) * 16 * output_.stride), place.offset});
    }
    addresses.push_back(address);
  }
  const auto store = [&](isa::Opcode op, const Operand& data, unsigned i, unsigned bytes) {
    ir::Instruction& inst = b_.emit(op, {}, {data, addresses[i], place.descriptor, no_soffset()});
    inst.mi.mods.offen = true;
    inst.mi.mods.offset = static_cast<std::int32_t>(j * 32 + bytes);
    inst.mem = {ir::MemoryTag::Space::global, static_cast<std::int16_t>(argument("output")), false};
  };
  for (unsigned i = 0; i < tile_.tiles_m; ++i) {
    const int column = static_cast<int>(16 * j), row = static_cast<int>(16 * i);
    if (wide_stores()) {
      if (guarded) guard_lanes(place, column, row);
      store(buffer_store_b128, packed[i], i, 0);
      continue;
    }
    // Masks shrink from one column to the next, and a compare sees active lanes only: start from all.
    if (guarded && i > 0) restore_lanes(place);
    for (unsigned e = 0; e < 8; ++e) {
      if (guarded) guard_lanes(place, column + static_cast<int>(e), row);
      store(e % 2 == 0 ? buffer_store_b16 : buffer_store_d16_hi_b16, packed[i].slice(e / 2), i, 2 * e);
    }
  }
  if (guarded) restore_lanes(place);
}

void Emitter::epilogue() {
  b_.block("epilogue", p_.bias ? "add the bias, round, pack, store" : "round, pack, store");
  const OutputPlace place = output_place();
  if (p_.bias) add_bias(place);
  for (unsigned j = 0; j < tile_.tiles_n; ++j) store_column(place, j, round_column(j));
}

}  // namespace wavejit::templates::w4a16
