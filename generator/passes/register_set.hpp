// SPDX-License-Identifier: MIT
// One flat numbering of everything an instruction can name or touch once registers are physical:
// 256 VGPRs, 256 AGPRs, the scalar registers of isa::sreg, SCC. Passes keep one table entry or one
// bit per "unit" (a dword of one register).
#pragma once

#include <bitset>
#include <cassert>

#include "generator/ir/register_access.hpp"

namespace wavejit::passes {

namespace unit {
inline constexpr unsigned vgpr = 0;
inline constexpr unsigned agpr = 256;
inline constexpr unsigned sgpr = 512;
inline constexpr unsigned scc = sgpr + ir::scc_register;
inline constexpr unsigned count = scc + 1;
inline constexpr bool is_vector(unsigned u) { return u < sgpr; }
}  // namespace unit

using RegisterSet = std::bitset<unit::count>;

/// First unit of a physical register operand.
inline unsigned first_unit(const isa::Operand& reg) {
  assert(reg.is_reg() && !reg.is_virtual);
  switch (reg.cls) {
    case isa::RegClass::vgpr:
      return unit::vgpr + reg.index;
    case isa::RegClass::agpr:
      return unit::agpr + reg.index;
    case isa::RegClass::sgpr:
      break;
  }
  return unit::sgpr + reg.index;
}

template <class F>
void for_each_unit(const isa::Operand& reg, F&& f) {
  const unsigned first = first_unit(reg);
  for (unsigned i = 0; i < reg.width; ++i) f(first + i);
}

/// Calls f(unit) for each dword that `inst` reads, named or implied (ir::register_accesses); what a 16-bit
/// write keeps of its register is not read.
template <class F>
void for_each_read_unit(const isa::Instruction& inst, const target::Target& target, F&& f) {
  const ir::RegisterAccesses touched = ir::register_accesses(inst, target);
  for (const ir::RegisterAccess& a : touched.reads()) for_each_unit(a.reg, f);
}

/// Calls f(unit) for each dword that `inst` writes, wholly or in part, named or implied.
template <class F>
void for_each_written_unit(const isa::Instruction& inst, const target::Target& target, F&& f) {
  const ir::RegisterAccesses touched = ir::register_accesses(inst, target);
  for (const ir::RegisterAccess& a : touched.writes()) for_each_unit(a.reg, f);
}

/// True for every instruction that the vector ALU executes, matrix instructions included.
inline bool is_valu(const isa::Instruction& inst) {
  switch (inst.pipe()) {
    case isa::Pipe::valu:
    case isa::Pipe::trans:
    case isa::Pipe::dot:
    case isa::Pipe::matrix:
      return true;
    default:
      return false;
  }
}

}  // namespace wavejit::passes
