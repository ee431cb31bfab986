// SPDX-License-Identifier: MIT
// What one instruction reads and writes, named and implied, in halves of 32-bit registers.
//
// gfx11 instructions with a 16-bit result write one half of a VGPR and keep the other, and
// instructions with a 16-bit source look at one half. Liveness and the verifier work on halves, so
// that writing the low half of a register and then the high half is a complete definition, and a
// register filled that way in a loop is not taken for a loop-carried one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "generator/isa/instruction.hpp"
#include "generator/target/target.hpp"

namespace wavejit::ir {

inline constexpr std::uint8_t low_half = 1, high_half = 2, both_halves = 3;

/// SCC as a register: the number after the last scalar register that an operand can name.
inline constexpr std::uint32_t scc_register = isa::sreg::count;

struct RegisterAccess {
  isa::Operand reg;                   ///< a register operand; SCC is SGPR number scc_register
  std::uint8_t halves = both_halves;  ///< of each of its dwords
};

/// Reads happen before writes. A destination whose old value is an input (fmac, writelane, DPP with
/// masks) is among the reads; the half that a 16-bit write keeps is not.
class RegisterAccesses {
 public:
  RegisterAccesses() {}  // NOLINT(modernize-use-equals-default): a union member deletes the default
  [[nodiscard]] std::span<const RegisterAccess> reads() const { return {reads_.data(), read_count_}; }
  [[nodiscard]] std::span<const RegisterAccess> writes() const { return {writes_.data(), write_count_}; }
  void read(const isa::Operand& reg, std::uint8_t halves = both_halves) {
    std::construct_at(reads_.data() + read_count_++, reg, halves);
  }
  void write(const isa::Operand& reg, std::uint8_t halves = both_halves) {
    std::construct_at(writes_.data() + write_count_++, reg, halves);
  }

 private:
  // Passes ask for these millions of times, and most instructions fill two or three: the rest stays
  // uninitialised.
  union {
    std::array<RegisterAccess, 12> reads_;
  };
  union {
    std::array<RegisterAccess, 6> writes_;
  };
  std::uint8_t read_count_ = 0, write_count_ = 0;
};

RegisterAccesses register_accesses(const isa::Instruction& inst, const target::Target& target);

/// Halves of source `index` that the instruction looks at.
std::uint8_t read_halves(const isa::Instruction& inst, unsigned index);

/// Halves of dst[0] that the instruction changes.
std::uint8_t written_halves(const isa::Instruction& inst);

/// fmac, dot2acc: the destination is the third source.
bool accumulates(isa::Opcode op);

/// Instructions from `at` on that issue as one: 2 for a VOPD pair (both read before either
/// writes), else 1. `Range` holds isa::Instruction or things with a member `mi`.
template <class Range>
unsigned issue_group(const Range& insts, std::size_t at) {
  const auto dual = [&](std::size_t i) {
    if constexpr (requires { insts[i].mi; }) {
      return insts[i].mi.dual;
    } else {
      return insts[i].dual;
    }
  };
  return dual(at) == isa::Dual::x && at + 1 < insts.size() && dual(at + 1) == isa::Dual::y ? 2 : 1;
}

}  // namespace wavejit::ir
