// SPDX-License-Identifier: MIT
// What a loop costs in instructions: the mix by execution unit and the register-bank conflicts of
// its operands. Static counts, per wave, over final instructions (physical registers, branch labels
// that hold instruction indices), wherever they come from: a generated kernel, an edited `.s`,
// somebody else's code object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "generator/isa/instruction.hpp"
#include "generator/model/loops.hpp"
#include "generator/target/target.hpp"

namespace wavejit::model {

/// Instructions issued, by unit; the counts of hot loops equal those of loop_stats.py. A VOPD pair is one.
/// `valu` is every vector ALU issue that is neither matrix nor transcendental nor dot; `other_valu()` is what
/// public comparisons call VALU.
struct Mix {
  unsigned matrix = 0, valu = 0, trans = 0, dot = 0;
  unsigned salu = 0, smem = 0, lds_load = 0, lds_store = 0, vmem_load = 0, vmem_store = 0;
  unsigned lds_other = 0;  ///< permutes and swizzles, which move data but touch no LDS byte
  unsigned vmem_atomic = 0;
  unsigned branch = 0, barrier = 0, wait = 0;
  unsigned hint = 0;            ///< s_delay_alu, s_clause, nops, priorities, rounding and denormal mode
  unsigned cache = 0;           ///< invalidations
  unsigned other = 0;           ///< messages
  unsigned delay = 0;           ///< of `hint`: s_delay_alu
  unsigned compare_select = 0;  ///< of `valu`: v_cmp*, v_cndmask*, the mark of guarded loads
  unsigned dual = 0;            ///< of `valu`: VOPD pairs

  [[nodiscard]] unsigned other_valu() const { return valu + trans + dot; }
  [[nodiscard]] unsigned total() const {
    return matrix + valu + trans + dot + salu + smem + lds_load + lds_store + lds_other + vmem_load +
           vmem_store + vmem_atomic + branch + barrier + wait + hint + cache + other;
  }
  friend bool operator==(const Mix&, const Mix&) = default;
};
Mix mix(std::span<const isa::Instruction> code);

/// Register-bank conflicts of vector sources: register mod target.vgpr_banks (hardware.md §3). A
/// matrix instruction conflicts when two of its source tuples start in one bank; a VALU instruction
/// with three vector sources (an accumulating destination is one) when two of them do and are not the
/// same register. A target without a
/// published bank rule has none.
struct BankConflicts {
  unsigned matrix = 0;               ///< matrix instructions with a conflict
  unsigned valu = 0;                 ///< three-source VALU instructions with a conflict
  std::optional<std::size_t> first;  ///< index in `code`
};
BankConflicts bank_conflicts(std::span<const isa::Instruction> code, const target::Target& target);

}  // namespace wavejit::model
