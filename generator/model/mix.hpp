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
#include "generator/target/target.hpp"

namespace wavejit::model {

/// Instructions [begin, end) whose last one branches back to `begin`.
struct Loop {
  std::size_t begin = 0, end = 0;
  friend bool operator==(const Loop&, const Loop&) = default;
};

/// Loops that hold no other loop, in program order.
std::vector<Loop> innermost_loops(std::span<const isa::Instruction> code);

/// The innermost loop with the most matrix instructions; between equals the one with more dot
/// products, then the longer one. Nothing when the code has no loop.
std::optional<Loop> hot_loop(std::span<const isa::Instruction> code);

/// Instructions issued, by unit. A VOPD pair is one. `valu` is every vector ALU issue that is neither
/// matrix nor transcendental nor dot; `other_valu()` is what public comparisons call VALU.
struct Mix {
  unsigned matrix = 0, valu = 0, trans = 0, dot = 0;
  unsigned salu = 0, smem = 0, lds_load = 0, lds_store = 0, vmem_load = 0, vmem_store = 0;
  unsigned branch = 0, barrier = 0, wait = 0, hint = 0, other = 0;
  unsigned compare_select = 0;  ///< of `valu`: v_cmp*, v_cndmask*, the mark of guarded loads
  unsigned dual = 0;            ///< of `valu`: VOPD pairs

  [[nodiscard]] unsigned other_valu() const { return valu + trans + dot; }
  [[nodiscard]] unsigned total() const {
    return matrix + valu + trans + dot + salu + smem + lds_load + lds_store + vmem_load + vmem_store +
           branch + barrier + wait + hint + other;
  }
  friend bool operator==(const Mix&, const Mix&) = default;
};
Mix mix(std::span<const isa::Instruction> code);

/// Register-bank conflicts of vector sources: register mod target.vgpr_banks (hardware.md §3). A
/// matrix instruction conflicts when two of its source tuples start in one bank; a VALU instruction
/// with three vector sources when two of them do and are not the same register. A target without a
/// published bank rule has none.
struct BankConflicts {
  unsigned matrix = 0;               ///< matrix instructions with a conflict
  unsigned valu = 0;                 ///< three-source VALU instructions with a conflict
  std::optional<std::size_t> first;  ///< index in `code`
};
BankConflicts bank_conflicts(std::span<const isa::Instruction> code, const target::Target& target);

}  // namespace wavejit::model
