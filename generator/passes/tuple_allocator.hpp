// SPDX-License-Identifier: MIT
// Places register tuples of one class into one register file, without spilling.
//
// A tuple asks for `width` consecutive registers from an aligned one, each free during the
// positions where that dword of the tuple is live. Dwords are tracked apart: the registers of a
// loaded quad whose first dwords have been used up serve others while the rest is still waited for.
//
// The search is greedy over several orders (wide first, long-lived first, program order). When a
// tuple finds no room it is moved to the front and the order starts again; everything is a function
// of the input alone, so two runs give the same registers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "generator/passes/bank_plan.hpp"
#include "generator/passes/live_ranges.hpp"
#include "generator/passes/register_file.hpp"

namespace wavejit::passes {

/// One tuple to place. Segment lists are borrowed from LiveRanges.
struct TupleRequest {
  std::uint32_t vreg = 0;
  std::uint8_t width = 1;
  std::uint8_t align = 1;
  std::optional<std::uint32_t> fixed;
  std::int8_t wish = -1;                   ///< bank wished for by the template; a preference
  std::vector<const Segments*> dwords;     ///< width lists
  std::vector<RegisterFile::Masks> masks;  ///< of the dwords; place() fills them in
  std::uint64_t length = 0;                ///< positions occupied, all dwords
  std::uint32_t begin = 0;                 ///< first position
};

/// A copy that vanishes if `a` starts `distance` registers after `b`.
struct CopyHint {
  std::uint32_t a = 0, b = 0;
  std::int32_t distance = 0;
};

struct AllocationProblem {
  std::uint32_t positions = 0;
  std::vector<TupleRequest> tuples;
  std::vector<const Segments*> occupied;  ///< by register number: physical operands of the kernel
  std::vector<CopyHint> copies;
  const BankPlan* banks = nullptr;  ///< null: first fit without regard to banks
  std::uint32_t granule = 0;        ///< hardware hands out registers in such steps; 0: no matter
  std::size_t vreg_count = 0;
};

struct Placement {
  std::vector<std::int32_t> base;  ///< by vreg; -1: not of this problem
  std::uint32_t used = 0;          ///< highest register taken + 1
};

/// Most of some lives at one of `positions`: no assignment needs fewer registers.
std::uint32_t peak_pressure(std::uint32_t positions, const std::vector<const Segments*>& lives);
std::uint32_t peak_pressure(const AllocationProblem& problem);

/// Two fixed tuples, or one and a physical operand, that want one register at one time.
std::optional<std::pair<std::uint32_t, std::uint32_t>> fixed_conflict(const AllocationProblem& problem);

/// A placement below register `limit`, or nothing when no order found one. With a bank plan the
/// matrix banks are kept if any order can keep them, and given up only if none can. No more granules
/// are used than the search needs: registers beyond them would cost waves, not only bank conflicts.
std::optional<Placement> place(const AllocationProblem& problem, std::uint32_t limit);

}  // namespace wavejit::passes
