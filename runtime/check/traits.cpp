// SPDX-License-Identifier: MIT
#include "runtime/check/traits.hpp"

#include <array>
#include <string_view>
#include <vector>

namespace wavejit::check {
namespace {

using isa::Opcode;
using isa::Pipe;

trait::Bits of_pipe(Pipe pipe) {
  switch (pipe) {
    case Pipe::valu:
    case Pipe::matrix:
      return trait::valu;
    case Pipe::trans:
      return trait::valu | trait::trans;
    case Pipe::dot:
      return trait::valu | trait::dot;
    case Pipe::salu:
      return trait::salu;
    case Pipe::smem:
      return trait::smem;
    case Pipe::lds:
      return trait::lds;
    case Pipe::vmem:
      return trait::vmem;
    case Pipe::branch:
      return trait::branch;
    case Pipe::wait:
      return trait::wait;
    default:
      return 0;
  }
}

trait::Bits of_flags(const isa::OpcodeInfo& info) {
  trait::Bits bits = 0;
  if (info.has(isa::flag::load)) bits |= trait::load;
  if (info.has(isa::flag::store)) bits |= trait::store;
  if (info.has(isa::flag::atomic)) bits |= trait::atomic;
  if (info.has(isa::flag::to_lds)) bits |= trait::to_lds;
  if (info.has(isa::flag::conditional)) bits |= trait::conditional;
  return bits;
}

struct NameTrait {
  std::string_view prefix;
  trait::Bits bits;
};

/// By how the name starts; every row that fits counts.
constexpr std::array prefixes{
    NameTrait{"v_wmma", trait::wmma},
    NameTrait{"v_swmmac", trait::wmma},
    NameTrait{"v_mfma", trait::mfma},
    NameTrait{"v_smfmac", trait::mfma},
    NameTrait{"v_cmpx_", trait::cmpx},
    NameTrait{"v_permlane16_b32", trait::permlane},
    NameTrait{"v_permlanex16_b32", trait::permlane},
    NameTrait{"v_permlane16_var", trait::permlane},
    NameTrait{"v_permlanex16_var", trait::permlane},
    NameTrait{"v_permlane16_swap", trait::permlane_swap | trait::swaps},
    NameTrait{"v_permlane32_swap", trait::permlane_swap | trait::swaps},
    NameTrait{"v_swap", trait::swaps | trait::accumulates},
    NameTrait{"v_readlane", trait::lane_read | trait::lane_select},
    NameTrait{"v_readfirstlane", trait::lane_read},
    NameTrait{"v_writelane", trait::writelane | trait::lane_select},
    NameTrait{"v_div_fmas", trait::div_fmas},
    NameTrait{"v_fmac", trait::accumulates},
    NameTrait{"v_pk_fmac", trait::accumulates},
    NameTrait{"v_dot2acc", trait::accumulates},
    NameTrait{"v_dot4acc", trait::accumulates},
    NameTrait{"v_dot8acc", trait::accumulates},
    NameTrait{"v_dot2c", trait::accumulates},
    NameTrait{"v_dot4c", trait::accumulates},
    NameTrait{"v_dot8c", trait::accumulates},
    NameTrait{"s_fmac", trait::accumulates},
    NameTrait{"s_cmov", trait::accumulates},
    NameTrait{"s_addk", trait::accumulates},
    NameTrait{"s_mulk", trait::accumulates},
    NameTrait{"s_bitset", trait::accumulates},
    NameTrait{"s_setreg", trait::setreg},
    NameTrait{"s_getreg", trait::getreg},
    NameTrait{"s_sendmsg", trait::sendmsg},
    NameTrait{"s_clause", trait::clause},
    NameTrait{"s_nop", trait::nop},
    NameTrait{"v_nop", trait::v_nop},
    NameTrait{"s_endpgm", trait::end},
    NameTrait{"s_code_end", trait::past_end},
    NameTrait{"s_setpc", trait::indirect},
    NameTrait{"s_swappc", trait::indirect},
    NameTrait{"s_call", trait::indirect},
    NameTrait{"s_rfe", trait::indirect},
    NameTrait{"s_cbranch_i_fork", trait::indirect},
    NameTrait{"s_cbranch_g_fork", trait::indirect},
    NameTrait{"s_cbranch_join", trait::indirect},
    NameTrait{"flat_", trait::generic},
    NameTrait{"scratch_", trait::scratch},
};

/// Passes of an MFMA by its shape (hardware.md §2.4; shapes of several blocks share a row with the
/// single-block ones of the same numbers). Longest first.
struct Shape {
  std::string_view text;
  std::uint8_t passes;
};
constexpr std::array shapes{
    Shape{"16x16x128", 8}, Shape{"16x16x64", 4}, Shape{"16x16x32", 4}, Shape{"16x16x16", 4},
    Shape{"32x32x64", 16}, Shape{"32x32x32", 8}, Shape{"32x32x16", 8}, Shape{"16x16x8", 4},
    Shape{"16x16x4", 8},   Shape{"16x16x2", 8},  Shape{"16x16x1", 8},  Shape{"32x32x8", 8},
    Shape{"32x32x4", 16},  Shape{"32x32x2", 16}, Shape{"32x32x1", 16}, Shape{"4x4x", 2},
};
constexpr std::uint8_t most_passes = 16;

std::uint8_t passes_of(std::string_view name) {
  for (const Shape& shape : shapes)
    if (name.find(shape.text) != std::string_view::npos) return shape.passes;
  return most_passes;
}

OpTraits make_traits(const isa::OpcodeInfo& info) {
  OpTraits result;
  const std::string_view name = info.name;
  result.bits = of_pipe(info.pipe) | of_flags(info);
  for (const NameTrait& row : prefixes)
    if (name.starts_with(row.prefix)) result.bits |= row.bits;
  if (name == "s_barrier" || name.starts_with("s_barrier_signal")) result.bits |= trait::barrier;
  const bool f32_inputs = name.ends_with("f32") && !name.ends_with("xf32");
  if ((result.bits & trait::mfma) != 0) {
    result.passes = passes_of(name);
    if (f32_inputs) result.bits |= trait::f32_matrix;
  }
  // Tied and not accumulating: the old value is only kept where nothing is written.
  if (info.has(isa::flag::tied | isa::flag::d16 | isa::flag::d16_hi) && (result.bits & trait::salu) == 0)
    result.bits |= trait::writes_half;
  if ((result.bits & (trait::accumulates | trait::writelane | trait::permlane)) != 0 && !name.ends_with("16"))
    result.bits &= ~trait::writes_half;
  return result;
}

std::vector<OpTraits> make_table() {
  std::vector<OpTraits> table(static_cast<std::size_t>(Opcode::count_));
  for (std::size_t i = 1; i < table.size(); ++i) table[i] = make_traits(isa::info(static_cast<Opcode>(i)));
  return table;
}

/// The split waits of gfx12 and the SOPK forms of gfx11, by name.
void named_wait(std::string_view name, std::uint32_t value, WaitLimits& limits) {
  constexpr std::uint32_t six_bits = 0x3F;
  if (name == "s_wait_loadcnt" || name == "s_waitcnt_vmcnt") limits.vector_load = value;
  if (name == "s_wait_storecnt" || name == "s_waitcnt_vscnt") limits.vector_store = value;
  if (name == "s_wait_dscnt") limits.lds = value;
  if (name == "s_wait_kmcnt") limits.scalar = value;
  if (name == "s_waitcnt_lgkmcnt") limits.lds = limits.scalar = value;
  if (name == "s_wait_loadcnt_dscnt") {
    limits.vector_load = value >> 8 & six_bits;
    limits.lds = value & six_bits;
  }
  if (name == "s_wait_storecnt_dscnt") {
    limits.vector_store = value >> 8 & six_bits;
    limits.lds = value & six_bits;
  }
  if (name == "s_wait_idle") limits = {.vector_load = 0, .vector_store = 0, .lds = 0, .scalar = 0};
}

/// hardware.md §4.1: s_waitcnt's fields by generation, read here on their own.
void packed_wait(std::uint32_t v, const target::Target& target, WaitLimits& limits) {
  std::uint32_t vm = 0;
  std::uint32_t lgkm = 0;
  std::uint32_t vm_idle = 0x3F;
  std::uint32_t lgkm_idle = 0x3F;
  if (target.generation == target::Generation::gfx9) {
    vm = (v & 0xF) | (v >> 14 & 3) << 4;
    lgkm = v >> 8 & 0xF;
    lgkm_idle = 0xF;
  } else if (target.generation == target::Generation::gfx10) {
    vm = (v & 0xF) | (v >> 14 & 3) << 4;
    lgkm = v >> 8 & 0x3F;
  } else {
    vm = v >> 10 & 0x3F;
    lgkm = v >> 4 & 0x3F;
  }
  if (vm != vm_idle) limits.vector_load = vm;
  if (vm != vm_idle && target.waits.vscnt == 0) limits.vector_store = vm;
  if (lgkm != lgkm_idle) limits.lds = limits.scalar = lgkm;
}

}  // namespace

const OpTraits& traits(Opcode op) {
  static const std::vector<OpTraits> table = make_table();
  const auto i = static_cast<std::size_t>(op);
  return table[i < table.size() ? i : 0];
}

std::uint8_t passes(const isa::Instruction& inst) {
  const std::uint8_t longest = traits(inst.op).passes;
  constexpr std::uint8_t first_narrow = 2;  // 0, 1: fp8, bf8; 2, 3: fp6, bf6; 4: fp4
  const bool narrow = inst.info().name.ends_with("_f8f6f4") && inst.mods.cbsz >= first_narrow &&
                      inst.mods.blgp >= first_narrow;
  return narrow ? longest / 2 : longest;
}

WaitLimits wait_limits(const isa::Instruction& inst, const target::Target& target) {
  WaitLimits limits;
  if (inst.src_count == 0) {
    named_wait(inst.info().name, 0, limits);
    return limits;
  }
  const auto value = static_cast<std::uint32_t>(inst.src[inst.src_count - 1U].value & 0xFFFF);
  if (inst.op == Opcode::s_waitcnt) {
    packed_wait(value, target, limits);
  } else if (inst.op == Opcode::s_waitcnt_depctr) {
    limits.salu_results = (value & 1) == 0;
    limits.valu_vcc = (value >> 1 & 1) == 0;
    limits.valu_scalar = (value >> 9 & 7) == 0;
    limits.valu_results = (value >> 12 & 0xF) == 0;
  } else {
    named_wait(inst.info().name, value, limits);
  }
  return limits;
}

}  // namespace wavejit::check
