// SPDX-License-Identifier: MIT
// Set-up of the matrix kernel; its loop is loop.cpp, its end epilogue.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>

#include "templates/cdna/emitter.hpp"

namespace wavejit::templates::cdna {
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
      slices_(slices(config, problem)),
      dequant_(problem),
      output_rounder_(problem.activation, true) {}

std::int64_t Emitter::iterations() const { return slices_.length / c_.bk; }

void Emitter::entry_state() {
  ir::EntryState& entry = b_.kernel().entry;
  entry.user_sgprs = 2;
  entry.kernarg = b_.fixed(isa::RegClass::sgpr, "kernarg", 0, 2);
  entry.workgroup_id[0] = b_.fixed(isa::RegClass::sgpr, "workgroup", entry.user_sgprs);
  entry.workitem_id = b_.fixed(isa::RegClass::vgpr, "workitem", 0);
}

int Emitter::argument(std::string_view name) const {
  const std::vector<ir::KernelArg>& args = b_.kernel().args;
  const auto found = std::ranges::find(args, name, &ir::KernelArg::name);
  assert(found != args.end());
  return static_cast<int>(found - args.begin());
}

void Emitter::load_arguments() {
  const Operand kernarg = b_.kernel().entry.kernarg;
  b_.block("entry", "arguments; workgroups outside the output leave");
  for (const ir::KernelArg& arg : b_.kernel().args) {
    if (arg.kind == ir::ArgKind::scalar) {
      m_ = b_.sgpr("m");
      b_.note("m").emit(s_load_b32, {m_}, {kernarg, imm(arg.offset)});
      continue;
    }
    pointers_.push_back(b_.sgpr(arg.name, 2));
    b_.note(arg.name).emit(s_load_b64, {pointers_.back()}, {kernarg, imm(arg.offset)});
  }
}

void Emitter::find_place() {
  ScheduleInputs in;
  in.workgroup = b_.kernel().entry.workgroup_id[0];
  in.m = m_;
  in.workitem = b_.kernel().entry.workitem_id;
  if (p_.op == Operation::int4_grouped) {
    const int position = argument("group_rows");
    in.group_rows = pointers_[static_cast<std::size_t>(position)];
    in.group_rows_argument = static_cast<std::int16_t>(position);
  }
  place_ = emit_schedule(b_, schedule_of(p_, c_, *b_.kernel().target), in);
  exits_ = place_.exits;
  n0_ = b_.sgpr("n0");
  b_.note("first column of the tile").emit(s_mul_i32, {n0_}, {place_.tile_n, imm(c_.bn)});
}

/// `row` of a tensor that has `rows` rows per product, counted from its first product's.
Operand Emitter::product_row(const std::string& name, const Operand& row, std::int64_t rows) {
  if (place_.set.is_const()) return row;
  const Operand absolute = b_.sgpr(name);
  b_.emit(s_mul_i32, {absolute}, {place_.set, imm(rows)});
  b_.emit(s_add_u32, {absolute}, {absolute, row});
  return absolute;
}

void Emitter::make_descriptors() {
  const auto tensor = [&](const char* name, const Operand& rows, std::int64_t stride, std::int64_t bytes) {
    return RowTensor{name, pointers_[static_cast<std::size_t>(argument(name))], rows, stride, bytes};
  };
  Operand k_bytes_a, k_bytes_w, group0 = imm(0);
  if (partial()) {
    k_bytes_a = b_.sgpr("slice_activations");
    k_bytes_w = b_.sgpr("slice_weights");
    group0 = b_.sgpr("slice_group");
    b_.emit(s_mul_i32, {k_bytes_a}, {place_.slice, imm(slices_.length * 2)});
    b_.emit(s_mul_i32, {k_bytes_w}, {place_.slice, imm(slices_.length / 2)});
    b_.emit(s_mul_i32, {group0}, {place_.slice, imm(slices_.length / p_.group)});
  }
  activation_desc_ = exact_descriptor(
      b_, tensor("activations", place_.row_end, p_.activation_stride * 2, p_.k * 2), place_.row0, k_bytes_a);
  weight_desc_ = exact_descriptor(b_, tensor("weights", place_.column_end, p_.weight_stride * 4, p_.k / 2),
                                  place_.column0, k_bytes_w);
  scale_descriptors(group0);
}

void Emitter::scale_descriptors(const Operand& group0) {
  const auto tensor = [&](const char* name, const Operand& rows, std::int64_t stride, std::int64_t bytes,
                          std::int64_t count = 0) {
    return RowTensor{name, pointers_[static_cast<std::size_t>(argument(name))], rows, stride, bytes, count};
  };
  const std::int64_t groups = p_.k / p_.group, stride = p_.scale_stride * scale_bytes();
  if (by_column()) {
    // The slice's first group.
    const auto group_bytes = [&](const char* name, std::int64_t size) {
      if (group0.is_const()) return Operand{};
      const Operand offset = b_.sgpr(name);
      b_.emit(s_mul_i32, {offset}, {group0, imm(size)});
      return offset;
    };
    scale_desc_ = exact_descriptor(b_, tensor("scales", imm(p_.n), stride, groups * scale_bytes()), n0_,
                                   group_bytes("slice_scales", scale_bytes()));
    if (!packed_zeros()) return;
    const Operand word_row = b_.sgpr("zero_row0");
    b_.note("word row of the tile's first zero points").emit(s_lshr_b32, {word_row}, {n0_, imm(3)});
    zero_desc_ = exact_descriptor(
        b_, tensor("zero_points", imm(zero_point_rows(p_)), p_.zero_point_stride * 4, groups * 4), word_row,
        group_bytes("slice_zeros", 4));
    return;
  }
  const Operand column_bytes = b_.sgpr("scale_column"), row = product_row("row_s", group0, groups);
  const std::int64_t count = group0.is_const() ? groups - group0.value : 0;
  const Operand rows = count != 0 && !row.is_const() ? Operand{} : product_row("rows_s", imm(groups), groups);
  b_.emit(s_mul_i32, {column_bytes}, {n0_, imm(scale_bytes())});
  scale_desc_ =
      exact_descriptor(b_, tensor("scales", rows, stride, p_.n * scale_bytes(), count), row, column_bytes);
  if (has_zeros())
    zero_desc_ = exact_descriptor(b_, tensor("zero_points", rows, stride, p_.n * scale_bytes(), count), row,
                                  column_bytes);
}

/// Lane's row in a matrix tile, its lane group, its wave's place in the tile.
void Emitter::lane_ids() {
  const unsigned wave = b_.kernel().target->wave_size;
  const Operand index = b_.vgpr("wave");
  tid_ = b_.vgpr("tid");
  lane_row_ = b_.vgpr("lane_row");
  lane_group_ = b_.vgpr("lane_group");
  wave_m_ = b_.vgpr("wave_m");
  wave_n_ = b_.vgpr("wave_n");
  b_.emit(v_and_b32, {tid_}, {imm(0x3FF), b_.kernel().entry.workitem_id});
  b_.emit(v_and_b32, {lane_row_}, {imm(t_.side - 1), tid_});
  b_.emit(v_bfe_u32, {lane_group_}, {tid_, imm(log2u(t_.side)), imm(log2u(t_.groups))});
  b_.emit(v_lshrrev_b32, {index}, {imm(log2u(wave)), tid_});
  b_.emit(v_and_b32, {wave_m_}, {imm(c_.waves_m - 1), index});
  b_.emit(v_lshrrev_b32, {wave_n_}, {imm(log2u(c_.waves_m)), index});
}

/// Byte offsets, inside the tile, of what this work-item loads.
void Emitter::global_addresses() {
  const auto constant = [&](const std::string& name, std::int64_t value) {
    const Operand s = b_.sgpr(name);
    b_.emit(s_mov_b32, {s}, {imm(value)});
    return s;
  };
  // Activations: work-item i fills slot i of the LDS image (tile.hpp).
  const Operand row = b_.vgpr("a_row"), fold = b_.vgpr("a_fold"), slot = b_.vgpr("a_slot"),
                chunk = b_.vgpr("a_chunk"), group = b_.vgpr("a_group"),
                stride = constant("a_stride", p_.activation_stride * 2);
  b_.emit(v_lshrrev_b32, {row}, {imm(log2u(t_.slots)), tid_});
  b_.emit(v_lshrrev_b32, {fold}, {imm(log2u(t_.rows_per_bank_sweep)), row});
  b_.emit(v_xor_b32, {slot}, {fold, tid_});
  b_.emit(v_bfe_u32, {chunk}, {slot, imm(log2u(t_.groups)), imm(2)});
  b_.emit(v_and_b32, {group}, {imm(t_.groups - 1), slot});
  b_.note("chunk of 8 k that this slot holds").emit(v_lshl_or_b32, {chunk}, {group, imm(2), chunk});
  for (unsigned p = 0; p < t_.passes; ++p) {
    const Operand offset = b_.vgpr(fmt::format("a_offset{}", p)), r = p == 0 ? row : b_.vgpr("a_row");
    if (p > 0) b_.emit(v_add_nc_u32, {r}, {imm(static_cast<std::int64_t>(p) * t_.rows_per_pass), row});
    b_.emit(v_mul_lo_u32, {offset}, {r, stride});
    b_.emit(v_lshl_add_u32, {offset}, {chunk, imm(4), offset});
    a_loads_.push_back({offset, {}});
  }
  // Weights: the column of D row i makes a lane's accumulators consecutive columns (epilogue.cpp).
  const Operand low = b_.vgpr("w_low"), column = b_.vgpr("w_column"),
                wave_columns = constant("wave_columns", t_.wave_n),
                w_stride = constant("w_stride", p_.weight_stride * 4);
  b_.emit(v_and_b32, {low}, {imm(3), lane_row_});
  if (t_.side == 32) {
    const Operand half = b_.vgpr("w_half"), quarter = b_.vgpr("w_quarter");
    b_.emit(v_bfe_u32, {half}, {lane_row_, imm(2), imm(1)});
    b_.emit(v_lshrrev_b32, {quarter}, {imm(3), lane_row_});
    b_.emit(v_lshl_or_b32, {low}, {quarter, imm(2), low});
    b_.emit(v_lshl_or_b32, {column}, {half, imm(4), low});
  } else {
    const Operand quarter = b_.vgpr("w_quarter");
    b_.emit(v_lshrrev_b32, {quarter}, {imm(2), lane_row_});
    b_.emit(v_lshl_or_b32, {column}, {quarter, imm(3), low});
  }
  b_.note("the wave's first column and this lane's")
      .emit(v_mad_u32_u24, {column}, {wave_n_, wave_columns, column});
  if (p_.n % c_.bn != 0) {
    last_column_ = b_.sgpr("last_column");
    b_.note("columns past N take the last one's scale").emit(s_sub_u32, {last_column_}, {imm(p_.n - 1), n0_});
  }
  for (unsigned j = 0; j < t_.tiles_n; ++j) {
    const unsigned first = t_.side == 32 ? 32 * j : 32 * (j / 2) + 4 * (j % 2);
    const Operand offset = b_.vgpr(fmt::format("w_offset{}", j)),
                  c = first == 0 ? column : b_.vgpr("w_column");
    if (first > 0) b_.emit(v_add_nc_u32, {c}, {imm(first), column});
    b_.emit(v_mul_lo_u32, {offset}, {c, w_stride});
    b_.emit(v_lshl_add_u32, {offset}, {lane_group_, imm(4), offset});
    w_offsets_.push_back(offset);
    scale_addresses(j, c);
  }
  for (unsigned kb = 0; kb < t_.blocks; ++kb) {
    a_data_.emplace_back();
    w_data_.emplace_back();
    for (unsigned p = 0; p < t_.passes && !c_.lds_dma; ++p)
      a_data_[kb].push_back(b_.vgpr(fmt::format("a{}_{}", kb, p), 4));
    for (unsigned j = 0; j < t_.tiles_n; ++j) w_data_[kb].push_back(b_.vgpr(fmt::format("w{}_{}", kb, j), 4));
  }
}

/// Offsets of the scale and zero point of `column`, one per lane.
void Emitter::scale_addresses(unsigned j, const Operand& column) {
  const auto constant = [&](const char* name, std::int64_t value) {
    const Operand s = b_.sgpr(name);
    b_.emit(s_mov_b32, {s}, {imm(value)});
    return s;
  };
  Operand c = column;
  if (last_column_.is_reg()) {
    c = b_.vgpr("s_column");
    b_.emit(v_min_u32, {c}, {last_column_, column});
  }
  // Groups shorter than a step: lane groups lie in different ones.
  Operand upper;
  if (t_.scale_groups > 1) {
    upper = b_.vgpr("lane_scale_group");
    b_.emit(v_lshrrev_b32, {upper}, {imm(log2u(static_cast<unsigned>(p_.group / 32))), lane_group_});
  }
  const auto offset_of = [&](const std::string& name, const Operand& row, std::int64_t stride,
                             std::int64_t distance) {
    const Operand offset = b_.vgpr(name);
    b_.emit(v_mul_lo_u32, {offset}, {row, constant("s_stride", stride)});
    if (upper.kind == Operand::Kind::none) return offset;
    const Operand part = b_.vgpr("s_upper"), sum = b_.vgpr(name);
    b_.emit(v_mul_lo_u32, {part}, {upper, constant("s_next", distance)});
    b_.emit(v_add_nc_u32, {sum}, {part, offset});
    return sum;
  };
  const Operand s =
      offset_of(fmt::format("s_offset{}", j), c,
                by_column() ? p_.scale_stride * scale_bytes() : scale_bytes(), scale_distance());
  s_loads_.push_back({s, b_.vgpr(fmt::format("s{}", j))});
  if (!has_zeros()) return;
  const Operand data = b_.vgpr(fmt::format("z{}", j));
  if (!packed_zeros()) {
    z_loads_.push_back({s, data});
    return;
  }
  const Operand word_row = b_.vgpr("z_row"), low = b_.vgpr("z_low"), bit = b_.vgpr("z_bit");
  b_.emit(v_lshrrev_b32, {word_row}, {imm(3), c});
  z_loads_.push_back({offset_of(fmt::format("z_offset{}", j), word_row, p_.zero_point_stride * 4, 4), data});
  b_.emit(v_and_b32, {low}, {imm(7), c});
  b_.note("bit of the column's zero point in its word").emit(v_lshlrev_b32, {bit}, {imm(2), low});
  zero_bits_.push_back(bit);
}

void Emitter::lds_addresses() {
  if (c_.lds_dma) {
    const Operand first = b_.sgpr("first_item");
    lds_write_ = b_.sgpr("lds_write");
    b_.emit(v_readfirstlane_b32, {first}, {tid_});
    b_.note("LDS address of this wave's first slot").emit(s_lshl_b32, {lds_write_}, {first, imm(4)});
  } else {
    lds_write_ = b_.vgpr("lds_write");
    b_.note("LDS address of this work-item's slot").emit(v_lshlrev_b32, {lds_write_}, {imm(4), tid_});
  }
  const Operand row = b_.vgpr("read_row"), fold = b_.vgpr("read_fold"), slot = b_.vgpr("read_slot");
  const Operand wave_rows = b_.sgpr("wave_rows");
  b_.emit(s_mov_b32, {wave_rows}, {imm(t_.wave_m)});
  b_.emit(v_mad_u32_u24, {row}, {wave_m_, wave_rows, lane_row_});
  b_.emit(v_bfe_u32, {fold}, {row, imm(log2u(t_.rows_per_bank_sweep)), imm(log2u(t_.slots))});
  b_.emit(v_xor_b32, {slot}, {lane_group_, fold});
  b_.emit(v_lshlrev_b32, {row}, {imm(log2u(t_.row_bytes)), row});
  lds_read_.push_back(b_.vgpr("lds_read0"));
  b_.emit(v_lshl_add_u32, {lds_read_[0]}, {slot, imm(4), row});
  for (unsigned t = 1; t < 4; ++t) {
    lds_read_.push_back(b_.vgpr(fmt::format("lds_read{}", t)));
    b_.emit(v_xor_b32, {lds_read_[t]}, {imm(static_cast<std::int64_t>(t) * t_.groups * 16), lds_read_[0]});
  }
  far_addresses();
}

void Emitter::far_addresses() {
  for (std::int64_t at = lds_window; at < t_.buffer_bytes; at += lds_window) {
    const auto further = [&](const char* name, const Operand& base) {
      const Operand far = b_.vgpr(name), distance = b_.sgpr("lds_window");
      b_.emit(s_mov_b32, {distance}, {imm(at)});
      b_.emit(v_add_nc_u32, {far}, {distance, base});
      return far;
    };
    if (!c_.lds_dma) lds_write_far_.push_back(further("lds_write_far", lds_write_));
    for (const Operand& read : lds_read_) lds_read_far_.push_back(further("lds_read_far", read));
  }
}

void Emitter::clear_accumulators() {
  for (unsigned j = 0; j < t_.tiles_n; ++j)
    for (unsigned i = 0; i < t_.tiles_m; ++i) {
      acc_.push_back(b_.vgpr(fmt::format("acc_n{}m{}", j, i), t_.accumulators));
      for (unsigned v = 0; v < t_.accumulators; ++v) b_.emit(v_mov_b32, {acc_.back().slice(v)}, {imm(0)});
    }
}

/// What the loop needs in registers, and the loop.
void Emitter::products() {
  ir::Kernel& k = b_.kernel();
  k.lds.push_back({"activations", 0, t_.lds_bytes, c_.lds_buffers, t_.buffer_bytes});
  make_descriptors();
  dequant_.setup(b_);
  lane_ids();
  global_addresses();
  lds_addresses();
  clear_accumulators();
  const std::size_t setup = k.blocks.size() - 1;
  if (slices_.filled < c_.split_k) {
    b_.note("an empty slice stores zeros").emit(s_cmp_ge_u32, {}, {place_.slice, imm(slices_.filled)});
    skips_.emplace_back(setup, b_.current().insts.size());
    b_.emit(s_cbranch_scc1, {}, {isa::label(0)});
  }
  b_.block("k_loop", fmt::format("{} steps of {} along K", iterations(), c_.bk));
  ir::CountedLoop& loop = b_.make_loop("k_loop", iterations());
  global_loads();
  fill_lds();
  multiply();
  loop.inductions = inductions_;
  b_.set_stage(0);
  for (const ir::Induction& i : inductions_) {
    ir::Instruction init;
    init.mi.op = s_mov_b32;
    init.mi.dst_count = init.mi.src_count = 1;
    init.mi.dst[0] = i.reg;
    init.mi.src[0] = imm(0);
    auto& insts = k.blocks[setup].insts;
    insts.insert(insts.begin(), std::move(init));
    for (auto& [block, index] : skips_) index += block == setup ? 1 : 0;
  }
}

void Emitter::run() {
  entry_state();
  ir::Kernel& k = b_.kernel();
  load_arguments();
  find_place();
  // K = 0: sums of nothing; no tensor but the output (and a bias) has a byte.
  p_.k == 0 ? clear_accumulators() : products();
  const std::uint32_t after = b_.block("epilogue", partial() ? "store the slice" : "round, pack, store");
  epilogue();
  const std::uint32_t end = b_.block("end", "");
  b_.emit(s_endpgm, {}, {});
  for (const auto& [block, index] : exits_) k.blocks[block].insts[index].mi.src[0] = isa::label(end);
  for (const auto& [block, index] : skips_) k.blocks[block].insts[index].mi.src[0] = isa::label(after);
}

ir::Kernel build(const Problem& problem, const Config& config, const target::Target& target) {
  ir::Kernel k;
  k.target = &target;
  k.name = fmt::format("{}_{}{}_n{}_k{}_g{}_t{}x{}x{}_s{}", name(problem.op), name(problem.activation),
                       problem.zero_points != ZeroPoints::symmetric ? "_z" : "", problem.n, problem.k,
                       problem.group, config.bm, config.bn, config.bk, config.split_k);
  k.args = arguments(problem, config, 0);
  k.kernarg_size = kernarg_size(k.args);
  k.workgroup_size = config.waves * target.wave_size;
  k.vgpr_budget =
      std::min<unsigned>(target.addressable_vgprs, config.waves_per_simd == 0
                                                       ? target.addressable_vgprs
                                                       : target::vgpr_budget(target, config.waves_per_simd));
  Emitter emitter(k, problem, config);
  k.header.emplace_back(emitter.dequantisation());
  emitter.run();
  return k;
}

}  // namespace wavejit::templates::cdna
