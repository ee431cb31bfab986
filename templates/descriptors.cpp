// SPDX-License-Identifier: MIT
#include "templates/descriptors.hpp"

namespace wavejit::templates {
namespace {

using isa::imm;
using enum isa::Opcode;

constexpr std::int64_t record_limit = 0x7FFFFFFC;

/// dst (SGPR pair) = a * constant, 64 bits.
void multiply(ir::Builder& b, const isa::Operand& dst, const isa::Operand& a, std::int64_t constant) {
  b.emit(s_mul_hi_u32, {dst.slice(1)}, {a, imm(constant)});
  b.emit(s_mul_i32, {dst.slice(0)}, {a, imm(constant)});
}

/// num_records (word 2) = min(pair, limit).
void clamp_records(ir::Builder& b, const isa::Operand& dst, const isa::Operand& pair) {
  b.emit(s_min_u32, {dst}, {pair.slice(0), imm(record_limit)});
  b.emit(s_cmp_lg_u32, {}, {pair.slice(1), imm(0)});
  b.note("num_records: bytes left").emit(s_cselect_b32, {dst}, {imm(record_limit), dst});
}

void finish(ir::Builder& b, const isa::Operand& descriptor, const std::string& name) {
  b.emit(s_and_b32, {descriptor.slice(1)}, {descriptor.slice(1), imm(0xFFFF)});
  b.note("raw buffer of " + name)
      .emit(s_mov_b32, {descriptor.slice(3)}, {imm(b.kernel().target->buffer_word3)});
}

/// row * stride + column_bytes: an SGPR pair, of which the high half is not there where it is known to be 0.
isa::Operand distance(ir::Builder& b, const RowTensor& t, const isa::Operand& row,
                      const isa::Operand& column_bytes, bool below_2_to_31) {
  const bool has_column = column_bytes.kind != isa::Operand::Kind::none;
  const bool first_row = row.is_const() && row.value == 0;
  if (below_2_to_31) {
    if (first_row) return has_column ? column_bytes : imm(0);
    const isa::Operand low = b.sgpr(t.name + "_bytes");
    b.emit(s_mul_i32, {low}, {row, imm(t.stride)});
    if (has_column) b.emit(s_add_u32, {low}, {low, column_bytes});
    return low;
  }
  const isa::Operand wide = b.sgpr(t.name + "_bytes", 2);
  multiply(b, wide, row, t.stride);
  if (has_column) {
    b.emit(s_add_u32, {wide.slice(0)}, {wide.slice(0), column_bytes});
    b.emit(s_addc_u32, {wide.slice(1)}, {wide.slice(1), imm(0)});
  }
  return wide;
}

/// Of a tensor whose number of rows is a constant: num_records = all its bytes less the distance.
void constant_records(ir::Builder& b, const RowTensor& t, std::int64_t all, const isa::Operand& wide,
                      const isa::Operand& dst) {
  const std::string whole = "bytes of a row of " + t.name + " behind all rows but the last";
  if (all <= record_limit) {
    b.note(whole).emit(s_mov_b32, {dst}, {imm(all)});
    if (!wide.is_const()) b.note("num_records: bytes left").emit(s_sub_u32, {dst}, {dst, wide});
    return;
  }
  const isa::Operand bytes = b.sgpr(t.name + "_left", 2);
  b.note(whole).emit(s_mov_b32, {bytes.slice(0)}, {imm(static_cast<std::uint32_t>(all))});
  b.emit(s_sub_u32, {bytes.slice(0)}, {bytes.slice(0), wide.slice(0)});
  b.emit(s_subb_u32, {bytes.slice(1)}, {imm(all >> 32), wide.slice(1)});
  clamp_records(b, dst, bytes);
}

}  // namespace

isa::Operand exact_descriptor(ir::Builder& b, const RowTensor& t, const isa::Operand& row,
                              const isa::Operand& column_bytes) {
  const isa::Operand d = b.sgpr(t.name + "_desc", 4);
  const bool counted = t.rows.is_const();
  const std::int64_t all = counted ? (t.rows.value - 1) * t.stride + t.row_bytes : 0;
  const bool small = counted && all <= record_limit;
  const isa::Operand wide = distance(b, t, row, column_bytes, small);
  b.emit(s_add_u32, {d.slice(0)}, {t.base.slice(0), small ? wide : wide.slice(0)});
  b.note("base of the tile's first row of " + t.name)
      .emit(s_addc_u32, {d.slice(1)}, {t.base.slice(1), small ? imm(0) : wide.slice(1)});
  const std::int64_t from_here = t.count == 0 ? 0 : (t.count - 1) * t.stride + t.row_bytes;
  if (counted || (t.count != 0 && from_here <= record_limit)) {
    // Behind the tensor's first row, or behind the descriptor's.
    const isa::Operand taken = counted ? wide : column_bytes.is_reg() ? column_bytes : imm(0);
    constant_records(b, t, counted ? all : from_here, taken, d.slice(2));
    finish(b, d, t.name);
    return d;
  }
  const isa::Operand left = b.sgpr(t.name + "_rows_left");
  if (t.count != 0) {
    b.emit(s_mov_b32, {left}, {imm(t.count - 1)});
  } else {
    b.emit(s_sub_u32, {left}, {t.rows, row});
    b.emit(s_sub_u32, {left}, {left, imm(1)});
  }
  const isa::Operand bytes = b.sgpr(t.name + "_left", 2);
  multiply(b, bytes, left, t.stride);
  b.note("bytes of a row of " + t.name).emit(s_add_u32, {bytes.slice(0)}, {bytes.slice(0), imm(t.row_bytes)});
  b.emit(s_addc_u32, {bytes.slice(1)}, {bytes.slice(1), imm(0)});
  if (column_bytes.kind != isa::Operand::Kind::none) {
    b.emit(s_sub_u32, {bytes.slice(0)}, {bytes.slice(0), column_bytes});
    b.emit(s_subb_u32, {bytes.slice(1)}, {bytes.slice(1), imm(0)});
  }
  clamp_records(b, d.slice(2), bytes);
  finish(b, d, t.name);
  return d;
}

isa::Operand tile_descriptor(ir::Builder& b, const RowTensor& t, const isa::Operand& row,
                             const isa::Operand& column_bytes, std::int64_t most) {
  const isa::Operand d = b.sgpr(t.name + "_desc", 4);
  const isa::Operand wide = distance(b, t, row, column_bytes, false);
  b.emit(s_add_u32, {d.slice(0)}, {t.base.slice(0), wide.slice(0)});
  b.note("base of the tile's first row of " + t.name)
      .emit(s_addc_u32, {d.slice(1)}, {t.base.slice(1), wide.slice(1)});
  const isa::Operand left = b.sgpr(t.name + "_rows_left"), records = d.slice(2);
  b.emit(s_sub_u32, {left}, {t.rows, row});
  b.emit(s_min_u32, {left}, {left, imm(most)});
  b.emit(s_sub_u32, {left}, {left, imm(1)});
  b.emit(s_mul_i32, {records}, {left, imm(t.stride)});
  b.note("bytes of a row of " + t.name).emit(s_add_u32, {records}, {records, imm(t.row_bytes)});
  if (column_bytes.kind != isa::Operand::Kind::none)
    b.note("num_records: bytes left").emit(s_sub_u32, {records}, {records, column_bytes});
  finish(b, d, t.name);
  return d;
}

isa::Operand whole_descriptor(ir::Builder& b, const RowTensor& t) {
  const isa::Operand d = b.sgpr(t.name + "_desc", 4);
  b.emit(s_mov_b32, {d.slice(0)}, {t.base.slice(0)});
  b.emit(s_mov_b32, {d.slice(1)}, {t.base.slice(1)});
  const isa::Operand last = b.sgpr(t.name + "_last");
  b.emit(s_sub_u32, {last}, {t.rows, imm(1)});
  const isa::Operand bytes = b.sgpr(t.name + "_left", 2);
  multiply(b, bytes, last, t.stride);
  b.emit(s_add_u32, {bytes.slice(0)}, {bytes.slice(0), imm(t.row_bytes)});
  b.emit(s_addc_u32, {bytes.slice(1)}, {bytes.slice(1), imm(0)});
  clamp_records(b, d.slice(2), bytes);
  finish(b, d, t.name);
  return d;
}

}  // namespace wavejit::templates
