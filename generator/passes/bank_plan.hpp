// SPDX-License-Identifier: MIT
// What register banks ask of an assignment (technique 4), before any register is chosen.
//
// A bank is a register number modulo Target::vgpr_banks; an operand reads from the bank of its
// first register. Two things are planned:
//   - matrix instructions: the three sources must start in different banks. Tuples used together
//     in one are the edges of a graph whose colours are banks; every tuple that takes part gets one;
//   - VALU instructions with three register sources: pairs of sources in one bank cost a cycle.
//     The pairs are listed with a weight by loop depth, and the allocator adds up what a choice
//     costs.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/ir/kernel.hpp"

namespace wavejit::passes {

/// The operand at dword `own_sub` of a tuple should not share a bank with another operand.
struct BankPartner {
  std::int32_t vreg = -1;  ///< the other's tuple; -1: a physical register
  std::uint32_t register_or_sub = 0;
  std::uint8_t own_sub = 0;
  std::uint16_t weight = 1;
};

/// A tuple's first bank must not be the other tuple's first bank plus `distance`.
struct BankEdge {
  std::uint32_t other = 0;
  std::uint8_t distance = 0;
};

struct BankPlan {
  unsigned banks = 0;                              ///< 0: the target has no bank rule
  std::vector<std::int8_t> matrix_bank;            ///< per tuple: bank of its first register, -1 = free
  std::vector<std::vector<BankPartner>> partners;  ///< per tuple
  std::vector<std::vector<BankEdge>> edges;        ///< per tuple: partners in matrix instructions
  std::vector<std::uint8_t> open;  ///< per tuple of matrix_bank: banks it may start in, as bits
};

/// Wishes (VirtualRegister::bank) are kept unless they contradict the matrix rule. Where no
/// colouring satisfies every matrix instruction (one reads a register twice) it is as good as can be.
BankPlan plan_banks(const ir::Kernel& kernel);

}  // namespace wavejit::passes
