// SPDX-License-Identifier: MIT
#include "generator/ir/register_access.hpp"

namespace wavejit::ir {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::Pipe;
namespace flag = isa::flag;

/// Tied opcodes whose whole old destination is an input: it is added to, exchanged or kept by lane.
bool merges_whole_register(Opcode op) {
  if (accumulates(op) && op != Opcode::v_fmac_f16) return true;
  switch (op) {
    case Opcode::v_writelane_b32:
    case Opcode::v_permlane16_b32:
    case Opcode::v_permlanex16_b32:
    case Opcode::v_swap_b32:
      return true;
    default:
      return false;
  }
}

bool is_vector_alu(Pipe pipe) {
  return pipe == Pipe::valu || pipe == Pipe::trans || pipe == Pipe::dot || pipe == Pipe::matrix;
}

/// VALU instructions with a 16-bit result: the other half of the destination survives.
bool writes_one_half(const Instruction& inst) {
  return inst.has(flag::tied) && is_vector_alu(inst.pipe()) && !merges_whole_register(inst.op);
}

bool op_sel_bit(const Instruction& inst, unsigned bit) { return (inst.mods.op_sel >> bit & 1) != 0; }

/// v_fma_mix*: op_sel_hi says that a source is 16 bits wide, op_sel which half it is.
bool is_mix(Opcode op) {
  return op == Opcode::v_fma_mix_f32 || op == Opcode::v_fma_mixlo_f16 || op == Opcode::v_fma_mixhi_f16;
}

/// The first two sources of a dot product hold pairs of 16-bit numbers; it reads both.
bool is_pair_source(const Instruction& inst, unsigned index) { return inst.pipe() == Pipe::dot && index < 2; }

/// Position of the data operand of a store of 8 or 16 bits, or -1.
int narrow_store_data(const Instruction& inst) {
  switch (inst.op) {
    case Opcode::ds_store_b8:
    case Opcode::ds_store_b16:
    case Opcode::ds_store_b16_d16_hi:
    case Opcode::ds_store_b8_d16_hi:
    case Opcode::global_store_b8:
    case Opcode::global_store_b16:
    case Opcode::global_store_d16_hi_b16:
      return 1;
    case Opcode::buffer_store_b8:
    case Opcode::buffer_store_b16:
    case Opcode::buffer_store_d16_hi_b16:
      return 0;
    default:
      return -1;
  }
}

bool stores_high_half(Opcode op) {
  return op == Opcode::ds_store_b16_d16_hi || op == Opcode::ds_store_b8_d16_hi ||
         op == Opcode::global_store_d16_hi_b16 || op == Opcode::buffer_store_d16_hi_b16;
}

/// By opcode, bit i: source i is 16 bits wide (`k` in opcodes.def).
using HalfSources = std::array<std::uint8_t, static_cast<std::size_t>(Opcode::count_)>;

HalfSources half_sources() {
  HalfSources result{};
  for (std::size_t op = 0; op < result.size(); ++op) {
    const std::string_view text = isa::info(static_cast<Opcode>(op)).signature;
    unsigned source = 0;
    for (std::size_t at = text.find('=') + 1; at < text.size(); ++at) {
      if (text[at] == 'k') result[op] = static_cast<std::uint8_t>(result[op] | 1U << source);
      if (text[at] == ',') ++source;
    }
  }
  return result;
}

bool has_half_source(const Instruction& inst, unsigned index) {
  static const HalfSources table = half_sources();
  return (table[static_cast<std::size_t>(inst.op)] >> index & 1) != 0;
}

std::uint8_t packed_halves(const Instruction& inst, unsigned index) {
  const std::uint8_t for_low = op_sel_bit(inst, index) ? high_half : low_half;
  const std::uint8_t for_high = (inst.mods.op_sel_hi >> index & 1) != 0 ? high_half : low_half;
  return for_low | for_high;
}

bool is_half_source(const Instruction& inst, unsigned index) {
  return is_vector_alu(inst.pipe()) && has_half_source(inst, index) && !is_pair_source(inst, index);
}

isa::Operand scc() { return isa::sgpr(scc_register); }

bool is_null(const isa::Operand& o) { return o.is_physical(isa::RegClass::sgpr, isa::sreg::null); }

void add_implicit(RegisterAccesses& result, const Instruction& inst, const target::Target& target) {
  const isa::Implicit implied = isa::implicit(inst);
  if (implied.reads_scc) result.read(scc());
  if (implied.reads_vcc) result.read(isa::vcc(target.wave_size));
  if (implied.reads_exec) result.read(isa::exec(target.wave_size));
  if (implied.reads_m0) result.read(isa::m0());
  if (implied.writes_scc) result.write(scc());
  if (implied.writes_vcc) result.write(isa::vcc(target.wave_size));
  if (implied.writes_exec) result.write(isa::exec(target.wave_size));
}

isa::Operand special_register(const isa::Operand& o, const target::Target& target) {
  switch (static_cast<isa::Special>(o.index)) {
    case isa::Special::scc:
      return scc();
    case isa::Special::vccz:
      return isa::vcc(target.wave_size);
    case isa::Special::execz:
      return isa::exec(target.wave_size);
    default:
      return {};
  }
}

}  // namespace

bool accumulates(Opcode op) {
  return op == Opcode::v_fmac_f32 || op == Opcode::v_fmac_f16 || op == Opcode::v_dot2acc_f32_f16 ||
         op == Opcode::v_dot2acc_f32_bf16;
}

std::uint8_t read_halves(const Instruction& inst, unsigned index) {
  const isa::Operand& o = inst.src[index];
  if (o.half != isa::Half::whole) return o.half == isa::Half::high ? high_half : low_half;
  if (!o.is_vgpr()) return both_halves;
  if (narrow_store_data(inst) == static_cast<int>(index))
    return stores_high_half(inst.op) ? high_half : low_half;
  if (is_mix(inst.op)) {
    if ((inst.mods.op_sel_hi >> index & 1) == 0) return both_halves;
    return op_sel_bit(inst, index) ? high_half : low_half;
  }
  if (!is_half_source(inst, index)) return both_halves;
  if (inst.has(flag::vop3p)) return packed_halves(inst, index);
  return op_sel_bit(inst, index) ? high_half : low_half;
}

std::uint8_t written_halves(const Instruction& inst) {
  if (inst.dst_count == 0) return 0;
  const isa::Operand& d = inst.dst[0];
  if (d.half != isa::Half::whole) return d.half == isa::Half::high ? high_half : low_half;
  if (inst.has(flag::d16)) return low_half;
  if (inst.has(flag::d16_hi)) return high_half;
  if (!d.is_vgpr() || !writes_one_half(inst)) return both_halves;
  if (is_mix(inst.op)) return inst.op == Opcode::v_fma_mixhi_f16 ? high_half : low_half;
  return op_sel_bit(inst, inst.src_count) ? high_half : low_half;
}

RegisterAccesses register_accesses(const Instruction& inst, const target::Target& target) {
  RegisterAccesses result;
  for (unsigned i = 0; i < inst.src_count; ++i) {
    const isa::Operand& o = inst.src[i];
    if (o.is_reg() && !is_null(o)) result.read(o, read_halves(inst, i));
    if (o.kind == isa::Operand::Kind::special) {
      const isa::Operand reg = special_register(o, target);
      if (reg.is_reg()) result.read(reg);
    }
  }
  for (unsigned i = 0; i < inst.dst_count; ++i) {
    const isa::Operand& o = inst.dst[i];
    if (!o.is_reg() || is_null(o)) continue;
    const std::uint8_t halves = i == 0 ? written_halves(inst) : both_halves;
    result.write(o, halves);
    if (i > 0) continue;
    const bool merges = inst.has(flag::tied) && !o.undef && (!o.is_vgpr() || merges_whole_register(inst.op));
    const bool masked = inst.mods.dpp.kind != isa::Dpp::Kind::none && isa::reads_destination(inst);
    if (merges || masked || (accumulates(inst.op) && !o.undef)) result.read(o, halves);
  }
  if (inst.op == Opcode::v_swap_b32) result.write(inst.src[0]);
  add_implicit(result, inst, target);
  return result;
}

}  // namespace wavejit::ir
