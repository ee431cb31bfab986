// SPDX-License-Identifier: MIT
// Set-up and main loop; the epilogue is epilogue.cpp.
#include "templates/w4a16/build.hpp"

#include <fmt/format.h>

#include <bit>

#include "templates/w4a16/emitter.hpp"

namespace wavejit::templates::w4a16 {
namespace {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

unsigned log2u(unsigned value) { return static_cast<unsigned>(std::countr_zero(value)); }

}  // namespace

std::vector<ir::KernelArg> arguments() {
  using ir::Access;
  using ir::ArgKind;
  return {{"activations", ArgKind::buffer, 0, 8, Access::read},
          {"weights", ArgKind::buffer, 8, 8, Access::read},
          {"scales", ArgKind::buffer, 16, 8, Access::read},
          {"output", ArgKind::buffer, 24, 8, Access::write},
          {"m", ArgKind::scalar, 32, 4, Access::read}};
}

Emitter::Emitter(ir::Kernel& kernel, const Problem& problem, const Config& config)
    : b_(kernel),
      p_(problem),
      c_(config),
      tile_(config, problem, kernel.target->wave_size),
      dequant_(make_dequantiser(problem, config.techniques)) {}

/// Registers that hardware fills: kernarg pointer, workgroup ids x and y, work-item id.
void Emitter::entry_state() {
  ir::Kernel& k = b_.kernel();
  // gfx1100 in wave32 wants at least 16 initialised SGPRs; the unused user SGPRs stand in front of
  // the workgroup ids.
  k.entry.user_sgprs = k.target->hazards.user_sgpr_init16 ? 14 : 2;
  k.entry.kernarg = b_.fixed(isa::RegClass::sgpr, "kernarg", 0, 2);
  for (unsigned i = 0; i < 2; ++i)
    k.entry.workgroup_id[i] =
        b_.fixed(isa::RegClass::sgpr, i == 0 ? "workgroup_m" : "workgroup_n", k.entry.user_sgprs + i);
  k.entry.workitem_id = b_.fixed(isa::RegClass::vgpr, "workitem", 0);
}

void Emitter::load_arguments() {
  const ir::EntryState& entry = b_.kernel().entry;
  b_.block("entry", "arguments; workgroups outside the output leave");
  const Operand pointers = b_.sgpr("pointers", 8);
  m_ = b_.sgpr("m");
  b_.note("activations, weights, scales, output").emit(s_load_b256, {pointers}, {entry.kernarg, imm(0)});
  b_.note("m").emit(s_load_b32, {m_}, {entry.kernarg, imm(32)});
  m0_ = b_.sgpr("m0");
  n0_ = b_.sgpr("n0");
  b_.note("first row of the tile").emit(s_mul_i32, {m0_}, {entry.workgroup_id[0], imm(c_.bm)});
  b_.note("first column of the tile").emit(s_mul_i32, {n0_}, {entry.workgroup_id[1], imm(c_.bn)});
  b_.emit(s_cmp_ge_u32, {}, {n0_, imm(p_.n)});
  exits_.push_back({0, b_.current().insts.size()});
  b_.emit(s_cbranch_scc1, {}, {isa::label(0)});
  b_.block("rows", "");
  b_.emit(s_cmp_ge_u32, {}, {m0_, m_});
  exits_.push_back({1, b_.current().insts.size()});
  b_.emit(s_cbranch_scc1, {}, {isa::label(0)});

  const Operand n = imm(p_.n);
  activations_ = {"activations", pointers.slice(0, 2), m_, p_.activation_stride * 2, p_.k * 2};
  weights_ = {"weights", pointers.slice(2, 2), n, p_.weight_stride * 4, p_.k / 2};
  scales_ = {"scales", pointers.slice(4, 2), n, p_.scale_stride * 2, p_.k / p_.group * 2};
  output_ = {"output", pointers.slice(6, 2), m_, p_.output_stride * 2, p_.n * 2};
}

void Emitter::make_descriptors() {
  if (c_.techniques.exact_descriptors) {
    activation_desc_ = exact_descriptor(b_, activations_, m0_, {});
    weight_desc_ = exact_descriptor(b_, weights_, n0_, {});
    scale_desc_ = exact_descriptor(b_, scales_, n0_, {});
    return;
  }
  activation_desc_ = whole_descriptor(b_, activations_);
  weight_desc_ = whole_descriptor(b_, weights_);
  scale_desc_ = whole_descriptor(b_, scales_);
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
  }
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
    return address;
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
                   int object) {
  ir::Instruction& inst = b_.emit(op, {load.data}, {address, descriptor, imm(0)});
  inst.mi.mods.offen = true;
  inst.mem = {ir::MemoryTag::Space::global, static_cast<std::int16_t>(object), false};
}

/// Uniform byte offset of the scale of this step's group.
Operand Emitter::scale_k_offset(const Operand& k_activations) {
  if (p_.group == p_.k) return {};
  if (p_.group == c_.bk) return induction("k_scales", 2);
  const Operand group = b_.sgpr("group");
  const unsigned shift = log2u(static_cast<unsigned>(p_.group) * 2);
  b_.emit(s_lshr_b32, {group}, {k_activations, imm(shift)});
  b_.emit(s_lshl_b32, {group}, {group, imm(1)});
  return group;
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
  const Operand k_scales = scale_k_offset(k_activations);
  for (const Load& s : s_loads_)
    load(buffer_load_u16, s, load_address(s, cols_left_, k_scales), scale_desc_, 2);
  for (const Load& w : w_loads_)
    load(buffer_load_b32, w, load_address(w, cols_left_, k_weights), weight_desc_, 1);
  for (const Load& a : a_loads_)
    load(buffer_load_b128, a, load_address(a, rows_left_, k_activations), activation_desc_, 0);
}

void Emitter::lds_access(ir::Instruction& inst, unsigned offset) {
  inst.mi.mods.offset = static_cast<std::int32_t>(offset);
  inst.mem = {ir::MemoryTag::Space::lds, 0, tile_.buffers > 1};
}

void Emitter::fill_lds() {
  b_.set_stage(1);
  for (unsigned p = 0; p < tile_.passes_b; ++p) {
    const Operand quad = b_.vgpr(fmt::format("dequantised{}", p), 4);
    dequant_->weights(b_, w_loads_[p].data, dequant_->prepare_scale(b_, s_loads_[p].data), quad);
    lds_access(b_.emit(ds_store_b128, {}, {lds_write_, quad}), (tile_.rows_a + p * tile_.rows_per_pass) * 16);
  }
  for (unsigned p = 0; p < tile_.passes_a; ++p)
    lds_access(b_.emit(ds_store_b128, {}, {lds_write_, a_loads_[p].data}), p * tile_.rows_per_pass * 16);
  b_.emit(s_barrier, {}, {});
}

void Emitter::multiply() {
  const unsigned stage = tile_.buffers > 1 ? 2 : 1;
  b_.set_stage(stage);
  const auto fragment = [&](const std::string& name, const Operand& address, unsigned row, unsigned step) {
    const Operand data = b_.vgpr(name, 8);
    for (unsigned half = 0; half < 2; ++half)
      lds_access(b_.emit(ds_load_b128, {data.slice(4 * half, 4)}, {address}),
                 (2 * step + half) * tile_.chunk_stride + row * 16);
    return data;
  };
  for (unsigned s = 0; s < tile_.steps; ++s) {
    std::vector<Operand> weights, rows;
    for (unsigned j = 0; j < tile_.tiles_n; ++j)
      weights.push_back(fragment(fmt::format("w_frag{}", j), lds_read_b_, tile_.rows_a + j * 16, s));
    for (unsigned i = 0; i < tile_.tiles_m; ++i)
      rows.push_back(fragment(fmt::format("a_frag{}", i), lds_read_a_, i * 16, s));
    for (unsigned j = 0; j < tile_.tiles_n; ++j)
      for (unsigned i = 0; i < tile_.tiles_m; ++i) {
        const Operand& acc = acc_[j * tile_.tiles_m + i];
        b_.emit(v_wmma_f32_16x16x16_bf16, {acc}, {weights[j], rows[i], acc});
      }
  }
  if (tile_.buffers == 1) b_.emit(s_barrier, {}, {});
}

void Emitter::run() {
  entry_state();
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
  k.name = fmt::format("w4a16_{}_n{}_k{}_g{}_t{}x{}x{}", name(problem.activation), problem.n, problem.k,
                       problem.group, config.bm, config.bn, config.bk);
  k.args = arguments();
  k.kernarg_size = 40;
  k.workgroup_size = config.waves * target.wave_size;
  k.wgp_mode = config.wgp_mode;
  k.vgpr_budget = config.waves_per_simd == 0 ? target.addressable_vgprs
                                             : target::vgpr_budget(target, config.waves_per_simd);
  k.header = {canonical(problem), canonical(config)};
  Emitter emitter(k, problem, config);
  k.header.emplace_back(emitter.dequantisation());
  emitter.run();
  return k;
}

}  // namespace wavejit::templates::w4a16
