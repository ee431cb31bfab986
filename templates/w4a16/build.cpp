// SPDX-License-Identifier: MIT
// Set-up and main loop; the epilogue is epilogue.cpp.
#include "templates/w4a16/build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>

#include "templates/w4a16/emitter.hpp"
#include "templates/w4a16/entry.hpp"

namespace wavejit::templates::w4a16 {
namespace {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

unsigned log2u(unsigned value) { return static_cast<unsigned>(std::countr_zero(value)); }

}  // namespace

std::vector<ir::KernelArg> arguments(const Problem& problem) {
  using ir::Access;
  using ir::ArgKind;
  std::vector<ir::KernelArg> args;
  std::uint32_t offset = 0;
  const auto add = [&](const char* name, ArgKind kind, std::uint32_t size, Access access) {
    args.push_back({name, kind, offset, size, access});
    offset += size;
  };
  const auto buffer = [&](const char* name, Access access = Access::read) {
    add(name, ArgKind::buffer, 8, access);
  };
  buffer("activations");
  buffer("weights");
  buffer("scales");
  if (problem.zero_points == ZeroPoints::packed) buffer("zero_points");
  if (problem.bias) buffer("bias");
  buffer("output", Access::write);
  add("m", ArgKind::scalar, 4, Access::read);
  return args;
}

std::uint32_t kernarg_size(const std::vector<ir::KernelArg>& arguments) {
  std::uint32_t end = 0;
  for (const ir::KernelArg& arg : arguments) end = std::max(end, arg.offset + arg.size);
  return (end + 7) / 8 * 8;
}

Emitter::Emitter(ir::Kernel& kernel, const Problem& problem, const Config& config)
    : b_(kernel),
      p_(problem),
      c_(config),
      tile_(config, problem, kernel.target->wave_size),
      dequant_(make_dequantiser(problem, config.techniques)),
      output_rounder_(problem.activation, true) {}

/// Position of an argument in kernarg order, which is also its name in memory tags.
int Emitter::argument(std::string_view name) const {
  const std::vector<ir::KernelArg>& args = b_.kernel().args;
  const auto found = std::ranges::find(args, name, &ir::KernelArg::name);
  assert(found != args.end());
  return static_cast<int>(found - args.begin());
}

void Emitter::load_arguments() {
  const ir::EntryState& entry = b_.kernel().entry;
  b_.block("entry", "arguments; workgroups outside the output leave");
  const WorkgroupIds ids = workgroup_ids(b_);
  const std::vector<Operand> pointers = load_pointers(b_);
  m_ = b_.sgpr("m");
  const auto m_argument = static_cast<std::size_t>(argument("m"));
  b_.note("m").emit(s_load_b32, {m_}, {entry.kernarg, imm(b_.kernel().args[m_argument].offset)});
  m0_ = b_.sgpr("m0");
  n0_ = b_.sgpr("n0");
  b_.note("first row of the tile").emit(s_mul_i32, {m0_}, {ids.x, imm(c_.bm)});
  b_.note("first column of the tile").emit(s_mul_i32, {n0_}, {ids.y, imm(c_.bn)});
  b_.emit(s_cmp_ge_u32, {}, {n0_, imm(p_.n)});
  exits_.push_back({0, b_.current().insts.size()});
  b_.emit(s_cbranch_scc1, {}, {isa::label(0)});
  b_.block("rows", "");
  b_.emit(s_cmp_ge_u32, {}, {m0_, m_});
  exits_.push_back({1, b_.current().insts.size()});
  b_.emit(s_cbranch_scc1, {}, {isa::label(0)});

  const Operand n = imm(p_.n);
  const std::int64_t groups = p_.k / p_.group;
  const auto tensor = [&](const char* name, const Operand& rows, std::int64_t stride, std::int64_t bytes) {
    return RowTensor{name, pointers[static_cast<std::size_t>(argument(name))], rows, stride, bytes};
  };
  activations_ = tensor("activations", m_, p_.activation_stride * 2, p_.k * 2);
  weights_ = tensor("weights", n, p_.weight_stride * 4, p_.k / 2);
  scales_ = tensor("scales", n, p_.scale_stride * 2, groups * 2);
  if (packed_zeros())
    zero_points_ = tensor("zero_points", imm(zero_point_rows(p_)), p_.zero_point_stride * 4, groups * 4);
  if (p_.bias) bias_ = tensor("bias", n, 2, 2);
  output_ = tensor("output", m_, p_.output_stride * 2, p_.n * 2);
}

void Emitter::make_descriptors() {
  const bool exact = c_.techniques.exact_descriptors;
  if (packed_zeros()) {
    zero_row0_ = b_.sgpr("zero_row0");
    b_.note("word row of the tile's first zero points").emit(s_lshr_b32, {zero_row0_}, {n0_, imm(3)});
  }
  const auto descriptor = [&](const RowTensor& tensor, const Operand& row) {
    return exact ? exact_descriptor(b_, tensor, row, {}) : whole_descriptor(b_, tensor);
  };
  activation_desc_ = descriptor(activations_, m0_);
  weight_desc_ = descriptor(weights_, n0_);
  scale_desc_ = descriptor(scales_, n0_);
  if (packed_zeros()) zero_desc_ = descriptor(zero_points_, zero_row0_);
  if (exact) return;
  rows_left_ = b_.sgpr("rows_left");
  cols_left_ = b_.sgpr("cols_left");
  guard_ = b_.sgpr("out_of_bounds");
  b_.emit(s_sub_u32, {rows_left_}, {m_, m0_});
  b_.emit(s_sub_u32, {cols_left_}, {imm(p_.n), n0_});
  b_.note("offset that no descriptor covers").emit(s_mov_b32, {guard_}, {imm(0x80000000LL)});
}

/// Byte offset of `row` (VGPR, inside the tile) in a row tensor; absolute without exact descriptors.
Operand Emitter::row_offset(const std::string& name, const Operand& row, std::int64_t stride,
                            const Operand& row0) {
  const Operand bytes = b_.vgpr(name);
  if (c_.techniques.exact_descriptors) {
    b_.emit(v_mul_lo_u32, {bytes}, {row, imm(stride)});
    return bytes;
  }
  const Operand absolute = b_.vgpr(name + "_row");
  b_.emit(v_add_nc_u32, {absolute}, {row0, row});
  b_.emit(v_mul_lo_u32, {bytes}, {absolute, imm(stride)});
  return bytes;
}

/// LDS row -> output column of the tile (tile.hpp: column_of_row), for row = load_row_ + first.
Operand Emitter::column_of(unsigned first) {
  const Operand row = b_.vgpr("b_row"), low = b_.vgpr("b_bit"), rest = b_.vgpr("b_rest"),
                column = b_.vgpr("b_column");
  b_.emit(v_add_nc_u32, {row}, {imm(first), load_row_});
  if (!replicated()) return row;
  b_.emit(v_and_b32, {low}, {imm(1), row});
  b_.emit(v_bfe_u32, {rest}, {row, imm(1), imm(3)});
  b_.emit(v_and_b32, {row}, {imm(-16), row});
  b_.emit(v_lshl_or_b32, {rest}, {low, imm(3), rest});
  b_.note("column of LDS row: 8 consecutive columns per lane in D").emit(v_or_b32, {column}, {row, rest});
  return column;
}

void Emitter::global_addresses() {
  const Operand item = b_.kernel().entry.workitem_id;
  tid_ = b_.vgpr("tid");
  chunk_ = b_.vgpr("chunk");
  load_row_ = b_.vgpr("load_row");
  b_.emit(v_and_b32, {tid_}, {imm(0x3FF), item});
  b_.note("which 8 elements along K").emit(v_and_b32, {chunk_}, {imm(tile_.chunks - 1), tid_});
  b_.note("row that this work-item loads").emit(v_lshrrev_b32, {load_row_}, {imm(log2u(tile_.chunks)), tid_});

  for (unsigned p = 0; p < tile_.passes_a; ++p) {
    Operand row = load_row_;
    if (p > 0) {
      row = b_.vgpr("a_row");
      b_.emit(v_add_nc_u32, {row}, {imm(p * tile_.rows_per_pass), load_row_});
    }
    const Operand bytes = row_offset("a_row_bytes", row, activations_.stride, m0_);
    const Operand offset = b_.vgpr(fmt::format("a_offset{}", p));
    b_.emit(v_lshl_add_u32, {offset}, {chunk_, imm(4), bytes});
    a_loads_.push_back({offset, row, b_.vgpr(fmt::format("a{}", p), 4)});
  }
  for (unsigned p = 0; p < tile_.passes_b; ++p) {
    const Operand column = column_of(p * tile_.rows_per_pass);
    const Operand bytes = row_offset("w_row_bytes", column, weights_.stride, n0_);
    const Operand offset = b_.vgpr(fmt::format("w_offset{}", p));
    b_.emit(v_lshl_add_u32, {offset}, {chunk_, imm(2), bytes});
    w_loads_.push_back({offset, column, b_.vgpr(fmt::format("w{}", p))});
    const Operand scale_offset = row_offset(fmt::format("s_offset{}", p), column, scales_.stride, n0_);
    s_loads_.push_back({scale_offset, column, b_.vgpr(fmt::format("s{}", p))});
    if (packed_zeros()) zero_point_address(p, column);
  }
}

/// Where the zero point of `column` (pass p) lies: word row column / 8, bit 4 * (column % 8).
void Emitter::zero_point_address(unsigned p, const Operand& column) {
  const Operand word_row = b_.vgpr("z_row");
  b_.emit(v_lshrrev_b32, {word_row}, {imm(3), column});
  const Operand offset = row_offset(fmt::format("z_offset{}", p), word_row, zero_points_.stride, zero_row0_);
  z_loads_.push_back({offset, column, b_.vgpr(fmt::format("z{}", p))});
  // Passes are whole multiples of 16 columns apart as a rule: then all have one nibble.
  if (p > 0 && tile_.rows_per_pass % 16 == 0) {
    zero_bits_.push_back(zero_bits_.front());
    return;
  }
  const Operand low = b_.vgpr("z_low"), bit = b_.vgpr("z_bit");
  b_.emit(v_and_b32, {low}, {imm(7), column});
  b_.note("bit of the column's zero point in its word").emit(v_lshlrev_b32, {bit}, {imm(2), low});
  zero_bits_.push_back(bit);
}

void Emitter::lds_addresses() {
  const Operand part = b_.vgpr("chunk_bytes"), lane = b_.vgpr("lane16"), wave = b_.vgpr("wave");
  lds_write_ = b_.vgpr("lds_write");
  b_.emit(v_mul_u32_u24, {part}, {imm(tile_.chunk_stride), chunk_});
  b_.note("LDS address of this work-item's stores")
      .emit(v_lshl_add_u32, {lds_write_}, {load_row_, imm(4), part});

  b_.emit(v_and_b32, {lane}, {imm(15), tid_});
  b_.emit(v_lshrrev_b32, {wave}, {imm(log2u(b_.kernel().target->wave_size)), tid_});
  const auto fragment = [&](const char* name, const Operand& part_index, unsigned rows) {
    const Operand row = b_.vgpr("fragment_row"), address = b_.vgpr(name);
    b_.emit(v_mad_u32_u24, {row}, {part_index, imm(rows), lane});
    b_.emit(v_lshlrev_b32, {address}, {imm(4), row});
    if (replicated()) return address;
    const Operand half = b_.vgpr("lane_half"), chunk = b_.vgpr(name);
    b_.emit(v_bfe_u32, {half}, {tid_, imm(4), imm(1)});
    b_.note("upper half of the wave: the odd chunk of a step")
        .emit(v_mad_u32_u24, {chunk}, {half, imm(tile_.chunk_stride), address});
    return chunk;
  };
  const Operand wave_m = b_.vgpr("wave_m"), wave_n = b_.vgpr("wave_n");
  b_.emit(v_and_b32, {wave_m}, {imm(c_.waves_m - 1), wave});
  b_.emit(v_lshrrev_b32, {wave_n}, {imm(log2u(c_.waves_m)), wave});
  lds_read_a_ = fragment("lds_read_a", wave_m, tile_.wave_m);
  lds_read_b_ = fragment("lds_read_b", wave_n, tile_.wave_n);
}

void Emitter::clear_accumulators() {
  for (unsigned j = 0; j < tile_.tiles_n; ++j)
    for (unsigned i = 0; i < tile_.tiles_m; ++i) {
      acc_.push_back(b_.vgpr(fmt::format("acc_n{}m{}", j, i), 8));
      for (unsigned v = 0; v < 8; ++v) b_.emit(v_mov_b32, {acc_.back().slice(v)}, {imm(0)});
    }
}

/// Address of a load: guarded when descriptors are not exact, then moved along K by a uniform add
/// (which scalar_offsets turns into soffset).
Operand Emitter::load_address(const Load& load, const Operand& left, const Operand& k_offset) {
  Operand address = load.offset;
  if (!c_.techniques.exact_descriptors) {
    const Operand inside = b_.sgpr("inside", b_.kernel().target->wave_size / 32U);
    const Operand guarded = b_.vgpr("guarded");
    b_.emit(v_cmp_gt_u32, {inside}, {left, load.row});
    b_.emit(v_cndmask_b32, {guarded}, {guard_, address, inside});
    address = guarded;
  }
  if (k_offset.kind == Operand::Kind::none) return address;
  const Operand moved = b_.vgpr("address");
  b_.emit(v_add_nc_u32, {moved}, {k_offset, address});
  return moved;
}

void Emitter::load(isa::Opcode op, const Load& load, const Operand& address, const Operand& descriptor,
                   std::string_view tensor) {
  ir::Instruction& inst = b_.emit(op, {load.data}, {address, descriptor, no_soffset()});
  inst.mi.mods.offen = true;
  inst.mem = {ir::MemoryTag::Space::global, static_cast<std::int16_t>(argument(tensor)), false};
}

/// Number of this step's group, where a group is several steps and several groups are K.
Operand Emitter::group_index(const Operand& k_activations) {
  const Operand group = b_.sgpr("group");
  const auto steps = static_cast<std::uint64_t>(p_.group / c_.bk);
  if (std::has_single_bit(steps)) {
    b_.emit(s_lshr_b32, {group}, {k_activations, imm(log2u(static_cast<unsigned>(p_.group)) + 1)});
    return group;
  }
  // step / steps as a product: m = ceil(2^(31+l) / steps), l = ceil(log2(steps)), is below 2^32 and
  // (step * m) >> (31 + l) is exact for every step below 2^31 (Granlund and Montgomery 1994, theorem 4.2).
  const auto l = static_cast<unsigned>(std::bit_width(steps - 1));
  const std::uint64_t m = ((std::uint64_t{1} << (31 + l)) + steps - 1) / steps;
  b_.emit(s_lshr_b32, {group}, {k_activations, imm(log2u(c_.bk) + 1)});
  b_.emit(s_mul_hi_u32, {group}, {group, imm(static_cast<std::int64_t>(m))});
  if (l > 1) b_.emit(s_lshr_b32, {group}, {group, imm(l - 1)});
  return group;
}

/// Uniform byte offsets of this step's group in a row of scales and in one of zero points.
Emitter::GroupOffsets Emitter::group_offsets(const Operand& k_activations) {
  if (p_.group == p_.k) return {};
  GroupOffsets offsets;
  if (p_.group == c_.bk) {
    offsets.scales = induction("k_scales", 2);
    if (packed_zeros()) offsets.zeros = induction("k_zeros", 4);
    return offsets;
  }
  const Operand group = group_index(k_activations);
  offsets.scales = b_.sgpr("group_scales");
  b_.emit(s_lshl_b32, {offsets.scales}, {group, imm(1)});
  if (packed_zeros()) {
    offsets.zeros = b_.sgpr("group_zeros");
    b_.emit(s_lshl_b32, {offsets.zeros}, {group, imm(2)});
  }
  return offsets;
}

/// SGPR that starts at 0 and grows by `step` bytes each iteration of stage 0.
Operand Emitter::induction(const std::string& name, std::int64_t step) {
  for (const ir::Induction& i : inductions_)
    if (i.step == step) return i.reg;
  const Operand reg = b_.sgpr(name);
  inductions_.push_back({reg, step, 0, 0});
  return reg;
}

void Emitter::global_loads() {
  b_.set_stage(0);
  const Operand k_activations = induction("k_activations", static_cast<std::int64_t>(c_.bk) * 2);
  const Operand k_weights = induction("k_weights", c_.bk / 2);
  const GroupOffsets group = group_offsets(k_activations);
  for (const Load& s : s_loads_)
    load(buffer_load_u16, s, load_address(s, cols_left_, group.scales), scale_desc_, "scales");
  for (const Load& z : z_loads_)
    load(buffer_load_b32, z, load_address(z, cols_left_, group.zeros), zero_desc_, "zero_points");
  for (const Load& w : w_loads_)
    load(buffer_load_b32, w, load_address(w, cols_left_, k_weights), weight_desc_, "weights");
  for (const Load& a : a_loads_)
    load(buffer_load_b128, a, load_address(a, rows_left_, k_activations), activation_desc_, "activations");
}

void Emitter::lds_access(ir::Instruction& inst, unsigned offset) {
  inst.mi.mods.offset = static_cast<std::int32_t>(offset);
  inst.mem = {ir::MemoryTag::Space::lds, 0, tile_.buffers > 1};
}

void Emitter::fill_lds() {
  b_.set_stage(1);
  for (unsigned p = 0; p < tile_.passes_b; ++p) {
    const Operand quad = b_.vgpr(fmt::format("dequantised{}", p), 4);
    ColumnSource source{.scale = s_loads_[p].data, .zeros = {}, .zero_bit = {}};
    if (packed_zeros()) {
      source.zeros = z_loads_[p].data;
      source.zero_bit = zero_bits_[p];
    }
    dequant_->weights(b_, w_loads_[p].data, dequant_->terms(b_, source), quad);
    lds_access(b_.emit(ds_store_b128, {}, {lds_write_, quad}), (tile_.rows_a + p * tile_.rows_per_pass) * 16);
  }
  for (unsigned p = 0; p < tile_.passes_a; ++p)
    lds_access(b_.emit(ds_store_b128, {}, {lds_write_, a_loads_[p].data}), p * tile_.rows_per_pass * 16);
  barrier();
}

void Emitter::barrier() {
  if (!b_.kernel().target->has_split_barrier) {
    b_.emit(s_barrier, {}, {});
    return;
  }
  b_.emit(s_barrier_signal, {}, {imm(-1)});
  b_.emit(s_barrier_wait, {}, {imm(-1)});
}

/// Loads `count` fragments of 16 rows each for K step `step`. Where both halves of a wave hold the same
/// rows a lane takes all 16 elements of its row, two chunks; else the chunk of its half.
std::vector<Operand> Emitter::fragments(const std::string& name, const Operand& address, unsigned first_row,
                                        unsigned count, unsigned step) {
  const unsigned chunks = replicated() ? 2 : 1;
  std::vector<Operand> all;
  for (unsigned f = 0; f < count; ++f) {
    all.push_back(b_.vgpr(fmt::format("{}{}", name, f), 4 * chunks));
    for (unsigned chunk = 0; chunk < chunks; ++chunk)
      lds_access(b_.emit(ds_load_b128, {all.back().slice(4 * chunk, 4)}, {address}),
                 (2 * step + chunk) * tile_.chunk_stride + (first_row + 16 * f) * 16);
  }
  return all;
}

void Emitter::multiply() {
  const isa::Opcode wmma =
      p_.activation == DataType::f16 ? v_wmma_f32_16x16x16_f16 : v_wmma_f32_16x16x16_bf16;
  const unsigned stage = tile_.buffers > 1 ? 2 : 1;
  b_.set_stage(stage);
  for (unsigned s = 0; s < tile_.steps; ++s) {
    const std::vector<Operand> weights = fragments("w_frag", lds_read_b_, tile_.rows_a, tile_.tiles_n, s);
    const std::vector<Operand> rows = fragments("a_frag", lds_read_a_, 0, tile_.tiles_m, s);
    for (unsigned j = 0; j < tile_.tiles_n; ++j)
      for (unsigned i = 0; i < tile_.tiles_m; ++i) {
        const Operand& acc = acc_[j * tile_.tiles_m + i];
        b_.emit(wmma, {acc}, {weights[j], rows[i], acc});
      }
  }
  if (tile_.buffers == 1) barrier();
}

void Emitter::run() {
  enter(b_);
  ir::Kernel& k = b_.kernel();
  k.lds.push_back({"tile", 0, tile_.lds_bytes, tile_.buffers, tile_.distance});
  load_arguments();
  b_.block("setup", "descriptors and addresses");
  make_descriptors();
  dequant_->setup(b_);
  global_addresses();
  lds_addresses();
  clear_accumulators();
  const std::uint32_t setup = static_cast<std::uint32_t>(k.blocks.size() - 1);

  b_.block("k_loop", fmt::format("{} steps of {} along K", tile_.iterations, c_.bk));
  b_.make_loop("k_loop", tile_.iterations);
  global_loads();
  fill_lds();
  multiply();
  b_.current().loop->inductions = inductions_;
  b_.set_stage(0);

  for (const ir::Induction& i : inductions_) {
    ir::Instruction init;
    init.mi.op = s_mov_b32;
    init.mi.dst_count = init.mi.src_count = 1;
    init.mi.dst[0] = i.reg;
    init.mi.src[0] = imm(0);
    k.blocks[setup].insts.push_back(std::move(init));
  }
  epilogue();
  const std::uint32_t end = b_.block("end", "");
  b_.emit(s_endpgm, {}, {});
  for (const auto& [block, index] : exits_) k.blocks[block].insts[index].mi.src[0] = isa::label(end);
}

ir::Kernel build(const Problem& problem, const Config& config, const target::Target& target) {
  ir::Kernel k;
  k.target = &target;
  k.name = fmt::format("w4a16_{}{}{}_n{}_k{}_g{}_t{}x{}x{}", name(problem.activation),
                       problem.zero_points == ZeroPoints::packed ? "_zp" : "", problem.bias ? "_bias" : "",
                       problem.n, problem.k, problem.group, config.bm, config.bn, config.bk);
  k.args = arguments(problem);
  k.kernarg_size = kernarg_size(k.args);
  k.workgroup_size = config.waves * target.wave_size;
  k.wgp_mode = config.wgp_mode;
  k.vgpr_budget = config.waves_per_simd == 0 ? target.addressable_vgprs
                                             : target::vgpr_budget(target, config.waves_per_simd);
  Emitter emitter(k, problem, config);
  k.header.emplace_back(emitter.dequantisation());
  emitter.run();
  return k;
}

}  // namespace wavejit::templates::w4a16
