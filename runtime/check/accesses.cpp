// SPDX-License-Identifier: MIT
#include "runtime/check/accesses.hpp"

#include <algorithm>
#include <array>

namespace wavejit::check {
namespace {

using isa::Half;
using isa::Instruction;
using isa::Operand;
using isa::RegClass;
using isa::Special;

bool is_null(const Operand& op) { return op.is_physical(RegClass::sgpr, isa::sreg::null); }

bool usable(const Operand& op) { return op.is_reg() && !op.is_virtual && !is_wild(op) && !is_null(op); }

Access make_access(const Operand& op, unsigned first_agpr, role::Bits roles) {
  Access a;
  a.width = op.width;
  a.roles = roles;
  switch (op.cls) {
    case RegClass::sgpr:
      a.first = static_cast<std::uint16_t>(op.index);
      break;
    case RegClass::vgpr:
      a.first = static_cast<std::uint16_t>(unit::first_vgpr + op.index);
      break;
    case RegClass::agpr:
      a.first = static_cast<std::uint16_t>(first_agpr + op.index);
      break;
  }
  return a;
}

void implied(std::vector<Access>& out, unsigned first, unsigned width, role::Bits extra = 0) {
  out.push_back({.first = static_cast<std::uint16_t>(first),
                 .width = static_cast<std::uint8_t>(width),
                 .halves = both_halves,
                 .roles = static_cast<role::Bits>(role::implied | extra)});
}

std::string_view name_of(const Instruction& inst) { return inst.info().name; }

/// 16-bit operations read one half of a register where the text or op_sel says so. Packed ones and
/// dot products read all of it.
std::uint8_t source_halves(const Instruction& inst, unsigned i, char cls) {
  const Operand& op = inst.src[i];
  if (op.half == Half::low) return low_half;
  if (op.half == Half::high) return high_half;
  const bool alu = inst.pipe() == isa::Pipe::valu || inst.pipe() == isa::Pipe::trans;
  const bool halves =
      cls == 'k' && op.is_vgpr() && alu && !inst.mods.sdwa.on && !inst.has(isa::flag::vop3p) && op.width == 1;
  if (!halves) return both_halves;
  return (inst.mods.op_sel >> i & 1) != 0 ? high_half : low_half;
}

/// Half that a 16-bit result goes to. gfx9 may clear the other half, which defines it as well.
std::uint8_t result_halves(const Instruction& inst, const target::Target& target) {
  if (inst.dst[0].half == Half::low) return low_half;
  if (inst.dst[0].half == Half::high) return high_half;
  if ((traits(inst.op).bits & trait::writes_half) == 0) return both_halves;
  if (target.generation == target::Generation::gfx9 && inst.pipe() != isa::Pipe::vmem &&
      inst.pipe() != isa::Pipe::lds) {
    return both_halves;
  }
  const bool high = inst.has(isa::flag::d16_hi) || name_of(inst).find("mixhi") != std::string_view::npos ||
                    (!inst.has(isa::flag::vop3p) && (inst.mods.op_sel >> inst.src_count & 1) != 0);
  return high ? high_half : low_half;
}

/// A store of more than 64 bits a lane, atomics with that much data among them: with an SGPR as soffset or
/// without.
trait::Bits wide_store(const Instruction& inst) {
  constexpr unsigned dwords = 3;
  if (!inst.has(isa::flag::store) || inst.pipe() != isa::Pipe::vmem) return 0;
  const bool buffer = inst.has(isa::flag::buffer);
  if (inst.src[buffer ? 0 : 1].width < dwords) return 0;
  const Operand& soffset = inst.src[inst.src_count > 0 ? inst.src_count - 1 : 0];
  return buffer && soffset.is_sgpr() && !is_null(soffset) ? trait::scalar_offset_store : trait::wide_store;
}

/// Index of a vector store's data operand, or -1.
int data_operand(const Instruction& inst) {
  if (inst.pipe() != isa::Pipe::vmem || !inst.has(isa::flag::store)) return -1;
  return inst.has(isa::flag::buffer) ? 0 : 1;
}

/// The last two are the scales of A and B.
role::Bits matrix_role(unsigned i) {
  constexpr std::array<role::Bits, 5> roles{role::matrix_a, role::matrix_b, role::matrix_c, role::matrix_a,
                                            role::matrix_b};
  return i < roles.size() ? roles[i] : role::data;
}

role::Bits source_role(const Instruction& inst, unsigned i, char cls) {
  const trait::Bits bits = traits(inst.op).bits;
  const Operand& op = inst.src[i];
  switch (inst.pipe()) {
    case isa::Pipe::smem:
      return role::base;
    case isa::Pipe::lds:
      return role::memory;
    case isa::Pipe::vmem:
      if (op.is_sgpr()) return role::base;
      return static_cast<int>(i) == data_operand(inst) ? role::memory | role::store_data : role::memory;
    case isa::Pipe::matrix:
      return matrix_role(i);
    case isa::Pipe::dot:
      return i == 2 ? role::data | role::matrix_c : role::data;
    default:
      break;
  }
  if (cls == 'M') return role::mask;
  if (i == 0 && op.is_vgpr() && inst.mods.dpp.kind != isa::Dpp::Kind::none) return role::by_dpp;
  if ((bits & (trait::lane_select | trait::permlane)) != 0 && i > 0 && op.is_sgpr())
    return (bits & trait::writelane) != 0 && i == 0 ? role::data : role::lane;
  return role::data;
}

/// Packed f32 operations and v_pk_mov take each 32-bit operand from either register of a pair.
role::Bits picked_register(const Instruction& inst, unsigned i) {
  const std::string_view name = inst.info().name;
  const bool moves = name == "v_pk_mov_b32";
  if (inst.src[i].width != 2 || !(moves || (name.starts_with("v_pk_") && name.ends_with("_f32")))) return 0;
  const unsigned low = inst.mods.op_sel >> i & 1U;
  const unsigned high = inst.mods.op_sel_hi >> i & 1U;
  if (!moves && low != high) return 0;
  return low != 0 ? role::second_only : role::first_only;
}

/// DPP16 leaves old values in lanes that it does not write.
bool dpp_keeps(const isa::Dpp& dpp) {
  return dpp.kind == isa::Dpp::Kind::dpp16 &&
         (!dpp.bound_ctrl || dpp.row_mask != 0xF || dpp.bank_mask != 0xF);
}

/// Conversions to one or two 8-bit numbers, or to 4-bit ones: op_sel bits 2 and 3 pick the place.
bool moves_result_byte(const Instruction& inst) {
  constexpr std::uint8_t place = 0b1100;
  const std::string_view name = name_of(inst);
  const bool narrow = name.starts_with("v_cvt_") && (name.find("fp8_") != std::string_view::npos ||
                                                     name.find("bf8_") != std::string_view::npos ||
                                                     name.find("fp4_") != std::string_view::npos);
  return narrow && (inst.mods.op_sel & place) != 0;
}

bool uses_exec(const Instruction& inst) {
  constexpr trait::Bits vector = trait::valu | trait::vmem | trait::lds;
  return inst.has(isa::flag::exec_r) ||
         ((traits(inst.op).bits & vector) != 0 && !inst.has(isa::flag::no_exec));
}

/// VCC, EXEC and SCC as sources of their own.
void append_special(const Operand& op, unsigned wave_dwords, std::vector<Access>& out) {
  switch (static_cast<Special>(op.index)) {
    case Special::scc:
      return implied(out, unit::scc, 1);
    case Special::vccz:
      return implied(out, isa::sreg::vcc_lo, wave_dwords, role::flag);
    case Special::execz:
      return implied(out, isa::sreg::exec_lo, wave_dwords, role::flag);
    default:
      return;
  }
}

}  // namespace

bool is_wild(const Operand& op) {
  if (!op.is_reg() || op.width == 0) return op.is_reg();
  const std::uint64_t last = std::uint64_t{op.index} + op.width - 1;
  return last >= (op.cls == RegClass::sgpr ? isa::sreg::count : most_registers);
}

trait::Bits instance_traits(const Instruction& inst, const target::Target& target) {
  trait::Bits bits = traits(inst.op).bits;
  if (inst.mods.dpp.kind != isa::Dpp::Kind::none) bits |= trait::dpp;
  if (inst.mods.lds) bits |= trait::to_lds;
  if ((bits & trait::to_lds) != 0 && inst.has(isa::flag::buffer)) bits |= trait::buffer_to_lds;
  if (inst.dual != isa::Dual::none) bits |= trait::dual;
  bits |= wide_store(inst);
  constexpr std::int64_t dealloc_vgprs = 3;
  if ((bits & trait::sendmsg) != 0 && target.has_dealloc_vgprs && inst.src_count > 0 &&
      inst.src[inst.src_count - 1U].value == dealloc_vgprs) {
    bits |= trait::dealloc_message;
  }
  const bool halves =
      (bits & trait::valu) != 0 && !inst.has(isa::flag::vop3p) && inst.pipe() != isa::Pipe::matrix;
  if (halves && inst.dst_count > 0 &&
      (inst.dst[0].half == Half::high || (inst.mods.op_sel >> inst.src_count & 1) != 0 ||
       moves_result_byte(inst))) {
    bits |= trait::high_half;
  }
  if (inst.mods.sdwa.on && inst.mods.sdwa.dst != isa::Sdwa::Select::dword) bits |= trait::high_half;
  return bits;
}

void append_reads(const Instruction& inst, const target::Target& target, unsigned first_agpr,
                  std::vector<Access>& out) {
  const isa::Signature sig = isa::signature(inst.op, target);
  const trait::Bits bits = traits(inst.op).bits;
  const unsigned wave_dwords = target.wave_size / 32;
  for (unsigned i = 0; i < inst.src_count; ++i) {
    const Operand& op = inst.src[i];
    if (op.kind == Operand::Kind::special) append_special(op, wave_dwords, out);
    if (!usable(op)) continue;
    const char cls = i < sig.src_count ? sig.src[i].cls : 'x';
    Access a = make_access(op, first_agpr, source_role(inst, i, cls) | picked_register(inst, i));
    a.halves = source_halves(inst, i, cls);
    out.push_back(a);
  }
  if (inst.dst_count > 0 && usable(inst.dst[0]) && !inst.dst[0].undef) {
    const bool accumulates = (bits & trait::accumulates) != 0;
    const bool keeps = inst.has(isa::flag::tied | isa::flag::d16 | isa::flag::d16_hi) ||
                       inst.dst[0].half != Half::whole || dpp_keeps(inst.mods.dpp) ||
                       (inst.mods.sdwa.on && inst.mods.sdwa.unused == isa::Sdwa::Unused::preserve);
    if (accumulates || keeps) {
      role::Bits roles = accumulates ? role::data : role::keep;
      if (accumulates && inst.pipe() == isa::Pipe::dot) roles |= role::matrix_c;
      Access a = make_access(inst.dst[0], first_agpr, roles);
      a.halves = result_halves(inst, target);
      out.push_back(a);
    }
  }
  if (inst.has(isa::flag::scc_r)) implied(out, unit::scc, 1);
  if (inst.has(isa::flag::vcc_r)) implied(out, isa::sreg::vcc_lo, wave_dwords);
  if (inst.has(isa::flag::m0_r)) implied(out, isa::sreg::m0, 1);
  if (uses_exec(inst)) implied(out, isa::sreg::exec_lo, wave_dwords);
}

void append_writes(const Instruction& inst, const target::Target& target, unsigned first_agpr,
                   std::vector<Access>& out) {
  const unsigned wave_dwords = target.wave_size / 32;
  for (unsigned i = 0; i < inst.dst_count; ++i) {
    if (!usable(inst.dst[i])) continue;
    Access a = make_access(inst.dst[i], first_agpr, role::data);
    if (i == 0) a.halves = result_halves(inst, target);
    out.push_back(a);
  }
  if ((traits(inst.op).bits & trait::swaps) != 0 && usable(inst.src[0]))
    out.push_back(make_access(inst.src[0], first_agpr, role::data));
  // A returning scalar atomic overwrites its data.
  if (inst.pipe() == isa::Pipe::smem && inst.has(isa::flag::atomic) && inst.mods.glc && usable(inst.src[0]))
    out.push_back(make_access(inst.src[0], first_agpr, role::data));
  if (inst.op == isa::Opcode::s_set_gpr_idx_on) implied(out, isa::sreg::m0, 1);
  if (inst.has(isa::flag::scc_w)) implied(out, unit::scc, 1);
  if (inst.has(isa::flag::vcc_w)) implied(out, isa::sreg::vcc_lo, wave_dwords);
  if (inst.has(isa::flag::exec_w)) implied(out, isa::sreg::exec_lo, wave_dwords);
}

}  // namespace wavejit::check
