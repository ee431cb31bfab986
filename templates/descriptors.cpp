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

}  // namespace

isa::Operand exact_descriptor(ir::Builder& b, const RowTensor& t, const isa::Operand& row,
                              const isa::Operand& column_bytes) {
  const isa::Operand d = b.sgpr(t.name + "_desc", 4);
  const isa::Operand wide = b.sgpr(t.name + "_bytes", 2);
  multiply(b, wide, row, t.stride);
  if (column_bytes.kind != isa::Operand::Kind::none) {
    b.emit(s_add_u32, {wide.slice(0)}, {wide.slice(0), column_bytes});
    b.emit(s_addc_u32, {wide.slice(1)}, {wide.slice(1), imm(0)});
  }
  b.emit(s_add_u32, {d.slice(0)}, {t.base.slice(0), wide.slice(0)});
  b.note("base of the tile's first row of " + t.name)
      .emit(s_addc_u32, {d.slice(1)}, {t.base.slice(1), wide.slice(1)});

  const isa::Operand left = b.sgpr(t.name + "_rows_left");
  b.emit(s_sub_u32, {left}, {t.rows, row});
  b.emit(s_sub_u32, {left}, {left, imm(1)});
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
