// SPDX-License-Identifier: MIT
// One step of bk along K. Stage 0 loads; stage 1 stores activations to LDS; stage 2 turns weights into
// matrix operands right where they are used and multiplies.
#include <fmt/format.h>

#include <bit>

#include "templates/cdna/emitter.hpp"

namespace wavejit::templates::cdna {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

/// SGPR that starts at 0 and grows by `step` bytes each iteration of stage 0.
Operand Emitter::induction(const std::string& name, std::int64_t step) {
  for (const ir::Induction& i : inductions_)
    if (i.step == step) return i.reg;
  const Operand reg = b_.sgpr(name);
  inductions_.push_back({reg, step, 0, 0});
  return reg;
}

/// Number of this step's group inside the slice, where a group is several steps and several groups are K.
Operand Emitter::group_index(const Operand& k_activations) {
  const Operand group = b_.sgpr("group");
  const auto steps = static_cast<std::uint64_t>(p_.group / c_.bk);
  const auto step_shift = static_cast<unsigned>(std::countr_zero(c_.bk)) + 1;
  if (std::has_single_bit(steps)) {
    b_.emit(s_lshr_b32, {group},
            {k_activations, imm(step_shift + static_cast<unsigned>(std::countr_zero(steps)))});
    return group;
  }
  // step / steps as a product (Granlund and Montgomery 1994, theorem 4.2), as in w4a16/build.cpp.
  const auto l = static_cast<unsigned>(std::bit_width(steps - 1));
  const std::uint64_t m = ((std::uint64_t{1} << (31 + l)) + steps - 1) / steps;
  b_.emit(s_lshr_b32, {group}, {k_activations, imm(step_shift)});
  b_.emit(s_mul_hi_u32, {group}, {group, imm(static_cast<std::int64_t>(m))});
  if (l > 1) b_.emit(s_lshr_b32, {group}, {group, imm(l - 1)});
  return group;
}

/// Uniform byte offset of this step's first scale (zero point), groups being `distance` bytes apart.
Operand Emitter::group_offset(const Operand& k_activations, std::int64_t distance) {
  if (p_.group == slices_.length) return {};
  if (p_.group <= c_.bk) return induction("k_scales", t_.scale_groups * distance);
  const Operand offset = b_.sgpr("group_scales");
  b_.emit(s_mul_i32, {offset}, {group_index(k_activations), imm(distance)});
  return offset;
}

void Emitter::load(isa::Opcode op, const Operand& data, const Operand& offset, const Operand& uniform,
                   unsigned immediate, const Operand& descriptor, std::string_view tensor) {
  Operand address = offset;
  if (uniform.kind != Operand::Kind::none) {
    address = b_.vgpr("address");
    b_.emit(v_add_nc_u32, {address}, {uniform, offset});
  }
  ir::Instruction& inst = b_.emit(op, {data}, {address, descriptor, imm(0)});
  inst.mi.mods.offen = true;
  inst.mi.mods.offset = static_cast<std::int32_t>(immediate);
  inst.mem = {ir::MemoryTag::Space::global, static_cast<std::int16_t>(argument(tensor)), false};
}

/// LDS address of the wave's first slot in the buffer of this step: buffers alternate with the steps.
Operand Emitter::lds_start(const Operand& k_activations) {
  const Operand odd = b_.sgpr("odd_step"), start = b_.sgpr("lds_start");
  const std::int64_t step = static_cast<std::int64_t>(c_.bk) * 2;
  b_.emit(s_and_b32, {odd}, {k_activations, imm(step)});
  b_.emit(s_mul_i32, {odd}, {odd, imm(t_.buffer_bytes / step)});
  b_.emit(s_add_u32, {start}, {odd, lds_write_});
  return start;
}

/// Lane l of the wave fills the slot l behind M0, which is its work-item's own. The immediate counts in both
/// memories.
void Emitter::load_to_lds(unsigned block, unsigned pass, const Operand& start, const Operand& uniform) {
  const unsigned immediate = block * t_.row_bytes;
  const unsigned slot = block * t_.block_bytes + pass * t_.rows_per_pass * t_.row_bytes;
  const Operand address = b_.vgpr("address");
  b_.emit(v_add_nc_u32, {address}, {uniform, a_loads_[pass].offset});
  b_.emit(s_add_u32, {isa::m0()}, {start, imm(slot - immediate)});
  ir::Instruction& inst = b_.emit(buffer_load_b128, {}, {address, activation_desc_, imm(0)});
  inst.mi.mods.offen = inst.mi.mods.lds = true;
  inst.mi.mods.offset = static_cast<std::int32_t>(immediate);
  inst.mem = {ir::MemoryTag::Space::lds, 0, true};
}

void Emitter::global_loads() {
  b_.set_stage(0);
  const Operand k_activations = induction("k_activations", static_cast<std::int64_t>(c_.bk) * 2);
  const Operand k_weights = induction("k_weights", c_.bk / 2);
  const Operand scales = group_offset(k_activations, scale_distance());
  const Operand zeros = packed_zeros() ? group_offset(k_activations, 4) : scales;
  const isa::Opcode scale_load = scale_bytes() == 4 ? buffer_load_b32 : buffer_load_u16;
  // In the order of their use, so that the wait for the first of them leaves the others in flight.
  if (!c_.lds_dma)
    for (unsigned kb = 0; kb < t_.blocks; ++kb)
      for (unsigned p = 0; p < t_.passes; ++p)
        load(buffer_load_b128, a_data_[kb][p], a_loads_[p].offset, k_activations, kb * t_.row_bytes,
             activation_desc_, "activations");
  for (const Load& s : s_loads_) load(scale_load, s.data, s.offset, scales, 0, scale_desc_, "scales");
  for (const Load& z : z_loads_)
    load(packed_zeros() ? buffer_load_b32 : scale_load, z.data, z.offset, zeros, 0, zero_desc_,
         "zero_points");
  for (unsigned kb = 0; kb < t_.blocks; ++kb)
    for (unsigned j = 0; j < t_.tiles_n; ++j)
      load(buffer_load_b128, w_data_[kb][j], w_offsets_[j], k_weights, kb * t_.span / 2, weight_desc_,
           "weights");
  // Behind the barrier at which the waves meet, and weights can be dequantised before it.
  if (!c_.lds_dma) return;
  const Operand start = lds_start(k_activations);
  for (unsigned kb = 0; kb < t_.blocks; ++kb)
    for (unsigned p = 0; p < t_.passes; ++p) load_to_lds(kb, p, start, k_activations);
}

void Emitter::fill_lds() {
  b_.set_stage(1);
  for (unsigned kb = 0; kb < t_.blocks; ++kb)
    for (unsigned p = 0; p < t_.passes && !c_.lds_dma; ++p) {
      const unsigned at = kb * t_.block_bytes + p * t_.rows_per_pass * t_.row_bytes, window = at / lds_window;
      const Operand& base = window == 0 ? lds_write_ : lds_write_far_[window - 1];
      ir::Instruction& inst = b_.emit(ds_store_b128, {}, {base, a_data_[kb][p]});
      inst.mi.mods.offset = static_cast<std::int32_t>(at % lds_window);
      inst.mem = {ir::MemoryTag::Space::lds, 0, c_.lds_buffers > 1};
    }
  b_.emit(s_barrier, {}, {});
}

void Emitter::multiply_substep(unsigned block, unsigned substep, const std::vector<Operand>& terms) {
  const isa::Opcode op = matrix_opcode(t_.side, t_.depth, p_.activation);
  const unsigned operand_dwords = t_.depth / t_.groups / 2;
  std::vector<Operand> weights, rows;
  for (unsigned j = 0; j < t_.tiles_n; ++j) {
    weights.push_back(b_.vgpr(fmt::format("w_frag{}", j), 4));
    dequant_.weights(b_, w_data_[block][j].slice(substep), terms[j], weights.back());
  }
  for (unsigned i = 0; i < t_.tiles_m; ++i) {
    rows.push_back(b_.vgpr(fmt::format("a_frag{}", i), 4));
    const unsigned at = block * t_.block_bytes + i * t_.side * t_.row_bytes, window = at / lds_window;
    const Operand& base =
        window == 0 ? lds_read_[substep] : lds_read_far_[(window - 1) * lds_read_.size() + substep];
    ir::Instruction& inst = b_.emit(ds_load_b128, {rows.back()}, {base});
    inst.mi.mods.offset = static_cast<std::int32_t>(at % lds_window);
    inst.mem = {ir::MemoryTag::Space::lds, 0, c_.lds_buffers > 1};
  }
  for (unsigned part = 0; part < 4; part += operand_dwords)
    for (unsigned i = 0; i < t_.tiles_m; ++i)
      for (unsigned j = 0; j < t_.tiles_n; ++j) {
        const Operand& acc = acc_[j * t_.tiles_m + i];
        b_.emit(op, {acc},
                {weights[j].slice(part, operand_dwords), rows[i].slice(part, operand_dwords), acc});
      }
}

void Emitter::multiply() {
  b_.set_stage(c_.lds_buffers > 1 && !c_.lds_dma ? 2 : 1);
  std::vector<Operand> terms;
  terms.reserve(t_.tiles_n);
  for (unsigned j = 0; j < t_.tiles_n; ++j)
    terms.push_back(dequant_.terms(b_, {.scale = s_loads_[j].data,
                                        .zero = has_zeros() ? z_loads_[j].data : Operand{},
                                        .zero_bit = packed_zeros() ? zero_bits_[j] : Operand{}}));
  for (unsigned kb = 0; kb < t_.blocks; ++kb)
    for (unsigned t = 0; t < 4; ++t) multiply_substep(kb, t, terms);
  if (c_.lds_buffers == 1) b_.emit(s_barrier, {}, {});
}

}  // namespace wavejit::templates::cdna
