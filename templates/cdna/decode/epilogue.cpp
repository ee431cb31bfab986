// SPDX-License-Identifier: MIT
// Sums over waves and the store. Every wave leaves its registers in LDS as they are, plane by plane, and
// each of `summing` waves adds `share` registers of all waves, in the order of waves.
//
// Register v = j * used + a of a lane belongs to column j * side + lane % side and to row a + 4 * (lane / 16)
// (16x16), or 8 * (a / 4) + a % 4 + 4 * (lane / 32) (32x32).
#include <algorithm>
#include <bit>

#include "templates/cdna/decode/emitter.hpp"

namespace wavejit::templates::cdna::decode {
namespace {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

unsigned log2u(unsigned value) { return static_cast<unsigned>(std::countr_zero(value)); }

isa::Opcode lds_store(unsigned dwords) {
  return dwords == 4 ? ds_store_b128 : dwords == 2 ? ds_store_b64 : ds_store_b32;
}
isa::Opcode lds_load(unsigned dwords) {
  return dwords == 4 ? ds_load_b128 : dwords == 2 ? ds_load_b64 : ds_load_b32;
}

}  // namespace

void Emitter::sum_waves() {
  const unsigned width = std::min(t_.share, 4U), planes = t_.registers / width, plane = 256 * width;
  const auto access = [](ir::Instruction& inst, unsigned offset) {
    inst.mi.mods.offset = static_cast<std::int32_t>(offset);
    inst.mem = {ir::MemoryTag::Space::lds, 0, false};
  };
  b_.note("the last step's activations have been read").emit(s_barrier, {}, {});
  const Operand at = b_.vgpr("sums_at"), mine = b_.sgpr("wave_planes"), to = b_.vgpr("sums_to");
  b_.emit(v_lshlrev_b32, {at}, {imm(log2u(4 * width)), lane_});
  b_.emit(s_mul_i32, {mine}, {wave_, imm(static_cast<std::int64_t>(planes) * plane)});
  b_.emit(v_add_nc_u32, {to}, {mine, at});
  for (unsigned p = 0; p < planes; ++p) {
    const unsigned v = p * width;
    access(b_.emit(lds_store(width), {}, {to, acc_[v / t_.used].slice(v % t_.used, width)}), p * plane);
  }
  b_.emit(s_barrier, {}, {});
  if (t_.summing < c_.waves) {
    b_.emit(s_cmp_ge_u32, {}, {wave_, imm(t_.summing)});
    exits_.emplace_back(b_.kernel().blocks.size() - 1, b_.current().insts.size());
    b_.emit(s_cbranch_scc1, {}, {isa::label(0)});
    b_.block("sum", "");
  }
  const Operand first = b_.sgpr("share_planes"), from = b_.vgpr("sums_from");
  b_.emit(s_mul_i32, {first}, {wave_, imm(static_cast<std::int64_t>(t_.share / width) * plane)});
  b_.emit(v_add_nc_u32, {from}, {first, at});
  std::vector<Operand> sums;
  for (unsigned p = 0; p < t_.share / width; ++p) {
    Operand sum;
    for (unsigned w = 0; w < c_.waves; ++w) {
      const Operand part = b_.vgpr("part", width);
      access(b_.emit(lds_load(width), {part}, {from}), (w * planes + p) * plane);
      if (w == 0) {
        sum = part;
        continue;
      }
      const Operand next = b_.vgpr("sum", width);
      for (unsigned i = 0; i < width; ++i) b_.emit(v_add_f32, {next.slice(i)}, {sum.slice(i), part.slice(i)});
      sum = next;
    }
    for (unsigned i = 0; i < width; ++i) sums.push_back(sum.slice(i));
  }
  store(sums);
}

/// f32 of the bias of the lane's column, which lies `column_bytes` (SGPR) behind the tile's lane column.
Operand Emitter::load_bias(const Operand& column_bytes) {
  const Operand at = b_.vgpr("bias_at"), raw = b_.vgpr("bias"), value = b_.vgpr("bias_f32");
  b_.emit(v_lshlrev_b32, {at}, {imm(1), lane_row_});
  load(buffer_load_u16, raw, at, column_bytes, 0, {}, bias_desc_, "bias");
  if (p_.activation == DataType::f16)
    b_.emit(v_cvt_f32_f16, {value}, {raw});
  else
    b_.emit(v_lshlrev_b32, {value}, {imm(16), raw});
  return value;
}

/// The lane's columns are inside N, or its stores are out of bounds: `offset` or an offset behind everything.
Operand Emitter::inside_columns(const Operand& offset, const Operand& tile_column) {
  if (p_.n % c_.bn == 0) return offset;
  const Operand left = b_.sgpr("columns_left"), inside = b_.sgpr("inside", 2), far = b_.vgpr("far"),
                chosen = b_.vgpr("out_at");
  b_.emit(s_sub_u32, {left}, {imm(p_.n), n0_});
  b_.emit(s_sub_i32, {left}, {left, tile_column});
  b_.emit(v_cmp_gt_i32, {inside}, {left, lane_row_});
  b_.emit(v_mov_b32, {far}, {outside_});
  b_.emit(v_cndmask_b32, {chosen}, {far, offset, inside});
  return chosen;
}

/// What stores need besides the sums: made while the first loads are on their way.
void Emitter::output_places() {
  const std::int64_t stride = p_.output_stride * 2;
  const auto pointer = [&](const char* name) { return pointers_[static_cast<std::size_t>(argument(name))]; };
  const Operand column_bytes = b_.sgpr("out_column_bytes");
  b_.emit(s_lshl_b32, {column_bytes}, {n0_, imm(1)});
  // Rows that repeat others belong to nobody, or to the next tile: the descriptor ends before them.
  output_desc_ = tile_descriptor(b_, {"output", pointer("output"), place_.row_end, stride, p_.n * 2},
                                 place_.row0, column_bytes, c_.bm);
  if (p_.bias) bias_desc_ = exact_descriptor(b_, {"bias", pointer("bias"), imm(p_.n), 2, 2}, n0_, {});
  rounder_.setup(b_);
  const Operand low_row = b_.vgpr("out_low_row"), factor = b_.sgpr("out_stride");
  out_lane_ = b_.vgpr("out_lane");
  b_.emit(s_mov_b32, {factor}, {imm(stride)});
  b_.emit(v_lshlrev_b32, {low_row}, {imm(2), lane_group_});
  b_.emit(v_mul_lo_u32, {out_lane_}, {low_row, factor});
  b_.emit(v_lshl_add_u32, {out_lane_}, {lane_row_, imm(1), out_lane_});
}

void Emitter::store(const std::vector<Operand>& sums) {
  const std::int64_t stride = p_.output_stride * 2;
  const unsigned run = std::min(t_.share, t_.used);  // registers of one matrix tile that a wave has
  const Operand first = b_.sgpr("first_register");
  b_.emit(s_mul_i32, {first}, {wave_, imm(t_.share)});
  for (unsigned r = 0; r < t_.share; r += run) {
    // Where the run begins: its matrix tile, and the row of its first register.
    const Operand v = b_.sgpr("register"), column = b_.sgpr("tile_column"), at = b_.sgpr("out_tile");
    Operand row = b_.sgpr("first_row");
    b_.emit(s_add_u32, {v}, {first, imm(r)});
    b_.emit(s_lshr_b32, {column}, {v, imm(log2u(t_.used))});
    b_.emit(s_lshl_b32, {column}, {column, imm(log2u(t_.side))});
    b_.emit(s_and_b32, {row}, {v, imm(t_.used - 1)});
    if (t_.side == 32) {
      const Operand eights = b_.sgpr("eights"), low = b_.sgpr("row_low"), sum = b_.sgpr("first_row");
      b_.emit(s_lshr_b32, {eights}, {row, imm(2)});
      b_.emit(s_lshl_b32, {eights}, {eights, imm(3)});
      b_.emit(s_and_b32, {low}, {row, imm(3)});
      b_.emit(s_add_u32, {sum}, {eights, low});
      row = sum;
    }
    b_.emit(s_mul_i32, {at}, {row, imm(stride)});
    const Operand bytes = b_.sgpr("tile_column_bytes");
    b_.emit(s_lshl_b32, {bytes}, {column, imm(1)});
    b_.emit(s_add_u32, {at}, {at, bytes});
    Operand offset = b_.vgpr("out_at");
    b_.emit(v_add_nc_u32, {offset}, {at, out_lane_});
    offset = inside_columns(offset, column);
    std::vector<Operand> values(sums.begin() + r, sums.begin() + r + run);
    if (p_.bias) {
      const Operand bias = load_bias(bytes);
      for (Operand& value : values) {
        const Operand sum = b_.vgpr("biased");
        b_.emit(v_add_f32, {sum}, {value, bias});
        value = sum;
      }
    }
    store_run(values, offset);
  }
}

/// Consecutive registers of one matrix tile from `offset` on, a run that begins at a multiple of its length.
void Emitter::store_run(const std::vector<Operand>& values, const Operand& offset) {
  const std::int64_t stride = p_.output_stride * 2;
  const auto run = static_cast<unsigned>(values.size());
  for (unsigned v = 0; v < run; v += 2) {
    const Operand packed = b_.vgpr("packed");
    rounder_.round(b_, values[v], values[std::min(v + 1, run - 1)], packed);
    for (unsigned e = v; e < std::min(v + 2, run); ++e) {
      const std::int64_t rows = t_.side == 32 ? 8 * (e / 4) + e % 4 : e;
      Operand address = offset;
      if (rows > 0) {
        const Operand distance = b_.sgpr("row_distance");
        address = b_.vgpr("out_row_at");
        b_.emit(s_mov_b32, {distance}, {imm(rows * stride)});
        b_.emit(v_add_nc_u32, {address}, {distance, offset});
      }
      ir::Instruction& inst = b_.emit(e == v ? buffer_store_b16 : buffer_store_d16_hi_b16, {},
                                      {packed, address, output_desc_, imm(0)});
      inst.mi.mods.offen = true;
      inst.mem = {ir::MemoryTag::Space::global, static_cast<std::int16_t>(argument("output")), false};
    }
  }
}

}  // namespace wavejit::templates::cdna::decode
