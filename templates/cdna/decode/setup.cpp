// SPDX-License-Identifier: MIT
// Set-up of a CDNA decode kernel: place, descriptors, what each lane loads and reads.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>

#include "templates/cdna/decode/emitter.hpp"
#include "templates/cdna/launch.hpp"
#include "templates/w4a16/entry.hpp"

namespace wavejit::templates::cdna::decode {
namespace {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

unsigned log2u(unsigned value) { return static_cast<unsigned>(std::countr_zero(value)); }

}  // namespace

Emitter::Emitter(ir::Kernel& kernel, const Problem& problem, const Config& config)
    : ScaleLayout(problem),
      b_(kernel),
      p_(problem),
      c_(config),
      t_(config, problem, *kernel.target),
      unpack_(problem),
      rounder_(problem.activation, true) {}

/// Dense products are numbered by the grid: rows of tiles along x, columns along y, products along z.
void Emitter::entry_state() {
  ir::EntryState& entry = b_.kernel().entry;
  entry.user_sgprs = 2;
  entry.kernarg = b_.fixed(isa::RegClass::sgpr, "kernarg", 0, 2);
  const bool grouped = p_.op == Operation::int4_grouped;
  const unsigned ids = grouped ? 1 : p_.batch > 1 && !by_column() ? 3 : 2;
  constexpr const char* names[] = {"workgroup_m", "workgroup_n", "product"};
  for (unsigned i = 0; i < ids; ++i)
    entry.workgroup_id[i] =
        b_.fixed(isa::RegClass::sgpr, grouped ? "workgroup" : names[i], entry.user_sgprs + i);
  entry.workitem_id = b_.fixed(isa::RegClass::vgpr, "workitem", 0);
}

int Emitter::argument(std::string_view name) const {
  const std::vector<ir::KernelArg>& args = b_.kernel().args;
  const auto found = std::ranges::find(args, name, &ir::KernelArg::name);
  assert(found != args.end());
  return static_cast<int>(found - args.begin());
}

void Emitter::load_arguments() {
  b_.block("entry", "arguments");
  pointers_ = w4a16::load_pointers(b_);
  m_ = b_.sgpr("m");
  b_.note("m").emit(
      s_load_b32, {m_},
      {b_.kernel().entry.kernarg, imm(b_.kernel().args[static_cast<std::size_t>(argument("m"))].offset)});
}

void Emitter::find_place() {
  const ir::EntryState& entry = b_.kernel().entry;
  n0_ = b_.sgpr("n0");
  if (p_.op == Operation::int4_grouped) {
    ScheduleInputs in;
    in.workgroup = entry.workgroup_id[0];
    in.m = m_;
    in.workitem = entry.workitem_id;
    const int position = argument("group_rows");
    in.group_rows = pointers_[static_cast<std::size_t>(position)];
    in.group_rows_argument = static_cast<std::int16_t>(position);
    place_ = emit_schedule(b_, schedule_of(p_, c_, *b_.kernel().target), in);
    exits_ = place_.exits;
    b_.note("first column of the tile").emit(s_mul_i32, {n0_}, {place_.tile_n, imm(c_.bn)});
    return;
  }
  place_.tile_m = entry.workgroup_id[0];
  place_.tile_n = entry.workgroup_id[1];
  place_.slice = place_.set = imm(0);
  place_.row0 = b_.sgpr("row0");
  place_.row_end = m_;
  place_.column0 = n0_;
  place_.column_end = imm(p_.n);
  b_.note("first column of the tile").emit(s_mul_i32, {n0_}, {place_.tile_n, imm(c_.bn)});
  b_.note("first row of the tile").emit(s_mul_i32, {place_.row0}, {place_.tile_m, imm(c_.bm)});
  if (entry.workgroup_id[2].kind == Operand::Kind::none) return;
  place_.set = entry.workgroup_id[2];
  place_.row_end = b_.sgpr("row_end");
  place_.column0 = b_.sgpr("column0");
  place_.column_end = b_.sgpr("column_end");
  const Operand start = b_.sgpr("product_row0"), columns = b_.sgpr("product_column0");
  b_.emit(s_mul_i32, {start}, {place_.set, m_});
  b_.emit(s_add_u32, {place_.row0}, {start, place_.row0});
  b_.emit(s_add_u32, {place_.row_end}, {start, m_});
  b_.emit(s_mul_i32, {columns}, {place_.set, imm(p_.n)});
  b_.emit(s_add_u32, {place_.column0}, {columns, n0_});
  b_.emit(s_add_u32, {place_.column_end}, {columns, imm(p_.n)});
}

void Emitter::descriptors() {
  const auto tensor = [&](const char* name, const Operand& rows, std::int64_t stride, std::int64_t bytes,
                          std::int64_t count = 0) {
    return RowTensor{name, pointers_[static_cast<std::size_t>(argument(name))], rows, stride, bytes, count};
  };
  // Weights first: their loads are what the launch waits for.
  weight_desc_ = exact_descriptor(b_, tensor("weights", place_.column_end, p_.weight_stride * 4, p_.k / 2),
                                  place_.column0, {});
  activation_desc_ =
      tile_descriptor(b_, tensor("activations", place_.row_end, p_.activation_stride * 2, p_.k * 2),
                      place_.row0, {}, t_.side);
  const std::int64_t groups = p_.k / p_.group, stride = p_.scale_stride * scale_bytes();
  if (by_column()) {
    scale_desc_ = exact_descriptor(b_, tensor("scales", imm(p_.n), stride, groups * scale_bytes()), n0_, {});
    if (!packed_zeros()) return;
    const Operand word_row = b_.sgpr("zero_row0");
    b_.note("word row of the tile's first zero points").emit(s_lshr_b32, {word_row}, {n0_, imm(3)});
    zero_desc_ = exact_descriptor(
        b_, tensor("zero_points", imm(zero_point_rows(p_)), p_.zero_point_stride * 4, groups * 4), word_row,
        {});
    return;
  }
  const Operand column_bytes = b_.sgpr("scale_column");
  b_.emit(s_mul_i32, {column_bytes}, {n0_, imm(scale_bytes())});
  Operand row = imm(0);
  const bool sets = place_.set.is_reg();
  if (sets) {
    row = b_.sgpr("scale_row0");
    b_.emit(s_mul_i32, {row}, {place_.set, imm(groups)});
  }
  const Operand rows = sets ? Operand{} : imm(groups);
  scale_desc_ =
      exact_descriptor(b_, tensor("scales", rows, stride, p_.n * scale_bytes(), groups), row, column_bytes);
  if (has_zeros())
    zero_desc_ = exact_descriptor(b_, tensor("zero_points", rows, stride, p_.n * scale_bytes(), groups), row,
                                  column_bytes);
}

void Emitter::lane_ids() {
  const unsigned wave = b_.kernel().target->wave_size;
  tid_ = b_.vgpr("tid");
  lane_ = b_.vgpr("lane");
  lane_row_ = b_.vgpr("lane_row");
  lane_group_ = b_.vgpr("lane_group");
  wave_ = b_.sgpr("wave");
  const Operand index = b_.vgpr("wave_index");
  b_.emit(v_and_b32, {tid_}, {imm(0x3FF), b_.kernel().entry.workitem_id});
  b_.emit(v_and_b32, {lane_}, {imm(wave - 1), tid_});
  b_.emit(v_and_b32, {lane_row_}, {imm(t_.side - 1), tid_});
  b_.emit(v_bfe_u32, {lane_group_}, {tid_, imm(log2u(t_.side)), imm(log2u(t_.groups))});
  b_.emit(v_lshrrev_b32, {index}, {imm(log2u(wave)), tid_});
  b_.note("number of the wave").emit(v_readfirstlane_b32, {wave_}, {index});
  outside_ = scalar_constant(b_, "outside", 0x80000000, "offset that no descriptor covers");
}

/// Which chunks of activations this work-item brings to LDS, and which its matrix operands read.
void Emitter::activation_places() {
  const auto shifted = [&](const char* name, const Operand& value, unsigned by) {
    if (by == 0) return value;
    const Operand s = b_.vgpr(name);
    b_.emit(v_lshrrev_b32, {s}, {imm(by), value});
    return s;
  };
  const unsigned stride_rows = t_.rows_per_wave * c_.waves;  // LDS rows from one pass to the next
  const bool alike = stride_rows % t_.rows == 0;             // then every pass has this lane at the same row
  const Operand low_row = shifted("a_low_row", lane_, log2u(t_.slots)), slot = b_.vgpr("a_slot");
  b_.emit(v_and_b32, {slot}, {imm(t_.slots - 1), lane_});
  const Operand stride = b_.sgpr("a_stride");
  b_.emit(s_mov_b32, {stride}, {imm(p_.activation_stride * 2)});
  for (unsigned p = 0; p < t_.passes; ++p) {
    const Operand lds_row = b_.sgpr("lds_row"), region = b_.sgpr(fmt::format("region2_{}", p));
    b_.emit(s_mul_i32, {lds_row}, {wave_, imm(t_.rows_per_wave)});
    if (p > 0) b_.emit(s_add_u32, {lds_row}, {lds_row, imm(static_cast<std::int64_t>(p) * stride_rows)});
    b_.emit(s_lshr_b32, {region}, {lds_row, imm(log2u(t_.rows))});
    b_.note("2 k of the region that this pass fills")
        .emit(s_lshl_b32, {region}, {region, imm(log2u(2 * t_.span))});
    region2_.push_back(region);
    a_data_.push_back(b_.vgpr(fmt::format("a{}", p), 4));
    if (p > 0 && alike) {
      a_offsets_.push_back(a_offsets_.front());
      continue;
    }
    const Operand first = b_.sgpr("first_row"), row = b_.vgpr("a_row"), chunk = b_.vgpr("a_chunk"),
                  group = b_.vgpr("a_group"), substep = b_.vgpr("a_substep"),
                  offset = b_.vgpr(fmt::format("a_offset{}", p));
    b_.emit(s_and_b32, {first}, {lds_row, imm(t_.rows - 1)});
    b_.emit(v_add_nc_u32, {row}, {first, low_row});
    const Operand fold = shifted("a_fold", row, log2u(t_.rows_per_sweep));
    b_.emit(v_xor_b32, {chunk}, {slot, fold});
    b_.emit(v_and_b32, {group}, {imm(t_.groups - 1), chunk});
    b_.emit(v_bfe_u32, {substep}, {chunk, imm(log2u(t_.groups)), imm(2)});
    b_.note("chunk of 8 k that this slot holds").emit(v_lshl_or_b32, {chunk}, {group, imm(2), substep});
    b_.emit(v_mul_lo_u32, {offset}, {row, stride});
    b_.emit(v_lshl_add_u32, {offset}, {chunk, imm(4), offset});
    a_offsets_.push_back(offset);
  }
  lds_write_ = b_.vgpr("lds_write");
  b_.emit(v_lshlrev_b32, {lds_write_}, {imm(4), tid_});

  const Operand row = b_.vgpr("read_row"), fold = b_.vgpr("read_fold"), region = b_.sgpr("read_region");
  b_.emit(v_and_b32, {row}, {imm(t_.rows - 1), lane_row_});
  b_.emit(v_bfe_u32, {fold}, {row, imm(log2u(t_.rows_per_sweep)), imm(log2u(t_.slots))});
  b_.emit(v_xor_b32, {fold}, {lane_group_, fold});
  b_.emit(s_mul_i32, {region}, {wave_, imm(static_cast<std::int64_t>(t_.blocks) * t_.region_bytes)});
  b_.emit(v_lshlrev_b32, {row}, {imm(log2u(t_.row_bytes)), row});
  b_.emit(v_add_nc_u32, {row}, {region, row});
  for (unsigned s = 0; s < 4; ++s) {
    lds_read_.push_back(b_.vgpr(fmt::format("lds_read{}", s)));
    if (s == 0)
      b_.emit(v_lshl_add_u32, {lds_read_[0]}, {fold, imm(4), row});
    else
      b_.emit(v_xor_b32, {lds_read_[s]}, {imm(static_cast<std::int64_t>(s) * t_.groups * 16), lds_read_[0]});
  }
}

void Emitter::weight_places() {
  for (unsigned k = 0; k < t_.blocks; ++k) {
    block2_.push_back(b_.sgpr(fmt::format("block2_{}", k)));
    b_.emit(s_mul_i32, {block2_[k]}, {wave_, imm(static_cast<std::int64_t>(2) * t_.span * t_.blocks)});
    if (k > 0)
      b_.emit(s_add_u32, {block2_[k]}, {block2_[k], imm(static_cast<std::int64_t>(2) * t_.span * k)});
  }
  const Operand stride = b_.sgpr("w_stride");
  b_.emit(s_mov_b32, {stride}, {imm(p_.weight_stride * 4)});
  for (unsigned j = 0; j < t_.tiles_n; ++j) {
    const Operand column = plus("column", lane_row_, static_cast<std::int64_t>(j) * t_.side),
                  offset = b_.vgpr(fmt::format("w_offset{}", j));
    b_.emit(v_mul_lo_u32, {offset}, {column, stride});
    b_.emit(v_lshl_add_u32, {offset}, {lane_group_, imm(4), offset});
    w_offsets_.push_back(offset);
    scale_places(column, j);
  }
}

/// Offsets of the scale and zero point of `column`, one per lane.
void Emitter::scale_places(const Operand& column, unsigned j) {
  Operand c = column;
  if (p_.n % c_.bn != 0) {
    const Operand last = b_.sgpr("last_column");
    c = b_.vgpr("s_column");
    b_.note("columns past N take the last one's scale").emit(s_sub_u32, {last}, {imm(p_.n - 1), n0_});
    b_.emit(v_min_u32, {c}, {last, column});
  }
  const auto offset_of = [&](const std::string& name, const Operand& row, std::int64_t stride) {
    const Operand offset = b_.vgpr(name), factor = b_.sgpr("s_stride");
    b_.emit(s_mov_b32, {factor}, {imm(stride)});
    b_.emit(v_mul_lo_u32, {offset}, {row, factor});
    return offset;
  };
  s_offsets_.push_back(offset_of(fmt::format("s_offset{}", j), c,
                                 by_column() ? p_.scale_stride * scale_bytes() : scale_bytes()));
  if (!has_zeros()) return;
  if (!packed_zeros()) {
    z_offsets_.push_back(s_offsets_.back());
    return;
  }
  const Operand word_row = b_.vgpr("z_row"), low = b_.vgpr("z_low"), bit = b_.vgpr("z_bit");
  b_.emit(v_lshrrev_b32, {word_row}, {imm(3), c});
  z_offsets_.push_back(offset_of(fmt::format("z_offset{}", j), word_row, p_.zero_point_stride * 4));
  b_.emit(v_and_b32, {low}, {imm(7), c});
  b_.note("bit of the column's zero point in its word").emit(v_lshlrev_b32, {bit}, {imm(2), low});
  zero_bits_.push_back(bit);
}

Operand Emitter::plus(const char* name, const Operand& value, std::int64_t constant) {
  if (constant == 0) return value;
  const Operand sum = b_.vgpr(name);
  b_.emit(v_add_nc_u32, {sum}, {imm(constant), value});
  return sum;
}

void Emitter::clear(const std::vector<Operand>& registers) {
  for (const Operand& r : registers)
    for (unsigned v = 0; v < r.width; ++v) b_.emit(v_mov_b32, {r.slice(v)}, {imm(0)});
}

}  // namespace wavejit::templates::cdna::decode
