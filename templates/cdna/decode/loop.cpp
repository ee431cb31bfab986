// SPDX-License-Identifier: MIT
// One step of bk along K. Stage 0 loads; stage 1 pairs activations and stores them to LDS; stage 2
// multiplies.
#include <fmt/format.h>

#include "templates/cdna/decode/emitter.hpp"
#include "templates/scalar_math.hpp"

namespace wavejit::templates::cdna::decode {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

Emitter::AlongK Emitter::along_k(const Operand& base2) {
  AlongK at;
  at.k2 = b_.sgpr("at2");
  b_.emit(s_add_u32, {at.k2}, {k2_, base2});
  if (!t_.ragged) return at;
  at.outside = b_.sgpr("behind_k");
  b_.note("behind K there is nothing").emit(s_cmp_lt_u32, {}, {at.k2, imm(2 * p_.k)});
  b_.emit(s_cselect_b32, {at.outside}, {imm(0), outside_});
  return at;
}

/// Offset of the scale (zero point) at `k2`, groups being `distance` bytes apart; none where all of K is one.
Operand Emitter::group_offset(const Operand& k2, std::int64_t distance) {
  if (p_.group == p_.k) return {};
  const Operand offset = b_.sgpr("scale_at");
  b_.emit(s_mul_i32, {offset}, {divide(b_, "group", k2, 2 * p_.group), imm(distance)});
  return offset;
}

/// The bit that moves an offset behind everything stays in the VGPR, where bounds checks surely see it
/// (descriptors.hpp).
void Emitter::load(isa::Opcode op, const Operand& data, const Operand& offset, const Operand& uniform,
                   std::int64_t immediate, const Operand& outside, const Operand& descriptor,
                   std::string_view tensor) {
  Operand address = offset;
  if (outside.kind != Operand::Kind::none) {
    address = b_.vgpr("guarded");
    b_.emit(v_or_b32, {address}, {outside, offset});
  }
  if (uniform.kind != Operand::Kind::none) {
    const Operand sum = b_.vgpr("address");
    b_.emit(v_add_nc_u32, {sum}, {uniform, address});
    address = sum;
  }
  ir::Instruction& inst = b_.emit(op, {data}, {address, descriptor, imm(0)});
  inst.mi.mods.offen = true;
  inst.mi.mods.offset = static_cast<std::int32_t>(immediate);
  inst.mem = {ir::MemoryTag::Space::global, static_cast<std::int16_t>(argument(tensor)), false};
}

void Emitter::load_activations() {
  for (unsigned p = 0; p < t_.passes; ++p) {
    const AlongK at = along_k(region2_[p]);
    load(buffer_load_b128, a_data_[p], a_offsets_[p], at.k2, 0, at.outside, activation_desc_, "activations");
  }
}

/// Weights, scales and zero points of one of the wave's blocks.
Emitter::Loaded Emitter::load_block(unsigned block) {
  Loaded l;
  const isa::Opcode scale_load = scale_bytes() == 4 ? buffer_load_b32 : buffer_load_u16;
  const AlongK at = along_k(block2_[block]);
  const Operand bytes = b_.sgpr("weights_at");
  b_.emit(s_lshr_b32, {bytes}, {at.k2, imm(2)});
  const Operand scale_at = group_offset(at.k2, scale_distance()),
                zero_at = packed_zeros() ? group_offset(at.k2, 4) : scale_at;
  for (unsigned j = 0; j < t_.tiles_n; ++j) {
    l.weights.push_back(b_.vgpr(fmt::format("w{}_{}", block, j), 4));
    load(buffer_load_b128, l.weights[j], w_offsets_[j], bytes, 0, at.outside, weight_desc_, "weights");
  }
  for (unsigned j = 0; j < t_.tiles_n; ++j) {
    l.scales.push_back(b_.vgpr(fmt::format("s{}_{}", block, j)));
    load(scale_load, l.scales[j], s_offsets_[j], scale_at, 0, at.outside, scale_desc_, "scales");
    if (!has_zeros()) continue;
    l.zeros.push_back(b_.vgpr(fmt::format("z{}_{}", block, j)));
    load(packed_zeros() ? buffer_load_b32 : scale_load, l.zeros[j], z_offsets_[j], zero_at, 0, at.outside,
         zero_desc_, "zero_points");
  }
  return l;
}

void Emitter::fill_lds() {
  for (unsigned p = 0; p < t_.passes; ++p) {
    const Operand chunk = unpack_.pair_rows(b_, a_data_[p]);
    ir::Instruction& inst = b_.emit(ds_store_b128, {}, {lds_write_, chunk});
    inst.mi.mods.offset = static_cast<std::int32_t>(p * c_.waves * 1024);
    inst.mem = {ir::MemoryTag::Space::lds, 0, c_.lds_buffers > 1};
  }
  b_.emit(s_barrier, {}, {});
}

/// acc += sums * factor, two at a time; the factor is the low or (`which` 1) the high half of a pair.
void Emitter::add_scaled(const Operand& acc, const Operand& sums, const Operand& factors, unsigned which) {
  for (unsigned v = 0; v < t_.used; v += 2) {
    isa::Modifiers& mods =
        b_.emit(v_pk_fma_f32, {acc.slice(v, 2)}, {sums.slice(v, 2), factors, acc.slice(v, 2)}).mi.mods;
    mods.op_sel = which == 0 ? 0b000 : 0b010;
    mods.op_sel_hi = which == 0 ? 0b101 : 0b111;
  }
}

/// (scale, zero term) of a column, or the scales of two.
Operand Emitter::factors_of(const Loaded& l, unsigned j) {
  const Operand factors = b_.vgpr("factors", 2);
  unpack_.scale(b_, l.scales[j], factors.slice(0));
  if (has_zeros()) {
    unpack_.zero_term(b_, l.zeros[j], packed_zeros() ? zero_bits_[j] : Operand{}, factors.slice(0),
                      factors.slice(1));
  } else if (j + 1 < t_.tiles_n) {
    unpack_.scale(b_, l.scales[j + 1], factors.slice(1));
  } else {
    b_.note("multiplies nothing").emit(v_mov_b32, {factors.slice(1)}, {imm(0)});
  }
  return factors;
}

void Emitter::multiply_block(unsigned block) {
  const Loaded& l = blocks_[block];
  const unsigned dwords = operand_dwords();
  const isa::Opcode op = matrix_opcode(t_.side, t_.depth, p_.activation);
  std::vector<Operand> rows;  // per substep
  for (unsigned s = 0; s < 4; ++s) {
    rows.push_back(b_.vgpr(fmt::format("a_frag{}", s), 4));
    ir::Instruction& inst = b_.emit(ds_load_b128, {rows[s]}, {lds_read_[s]});
    inst.mi.mods.offset = static_cast<std::int32_t>(block * t_.region_bytes);
    inst.mem = {ir::MemoryTag::Space::lds, 0, c_.lds_buffers > 1};
  }
  const Operand minus = b_.vgpr("minus", t_.accumulators);  // -base times the sum of each row's activations
  for (unsigned part = 0; part < 16; part += dwords)
    b_.emit(op, {minus},
            {rows[part / 4].slice(part % 4, dwords), unpack_.minus_base(), part == 0 ? imm(0) : minus});
  Operand factors;
  for (unsigned j = 0; j < t_.tiles_n; ++j) {
    const unsigned which = has_zeros() ? 0 : j % 2;
    if (which == 0) factors = factors_of(l, j);
    const Operand sums = b_.vgpr("sums", t_.accumulators);
    for (unsigned s = 0; s < 4; ++s) {
      const Operand quad = b_.vgpr(fmt::format("w_frag{}", j), 4);
      unpack_.weights(b_, l.weights[j].slice(s), quad);
      for (unsigned part = 0; part < 4; part += dwords)
        b_.emit(op, {sums},
                {rows[s].slice(part, dwords), quad.slice(part, dwords), s + part == 0 ? minus : sums});
    }
    add_scaled(acc_[j], sums, factors, which);
    if (has_zeros()) add_scaled(acc_[j], minus, factors, 1);
  }
}

void Emitter::loop() {
  k2_ = b_.sgpr("k2");
  b_.note("2 k").emit(s_mov_b32, {k2_}, {imm(0)});
  b_.block("k_loop", fmt::format("{} steps of {} along K", t_.steps, c_.bk));
  b_.make_loop("k_loop", t_.steps).inductions.push_back({k2_, 2 * static_cast<std::int64_t>(c_.bk), 0, 0});
  b_.set_stage(0);
  load_activations();
  blocks_.clear();
  for (unsigned k = 0; k < t_.blocks; ++k) blocks_.push_back(load_block(k));
  b_.set_stage(1);
  fill_lds();
  b_.set_stage(2);
  for (unsigned k = 0; k < t_.blocks; ++k) multiply_block(k);
  b_.set_stage(0);
}

}  // namespace wavejit::templates::cdna::decode
