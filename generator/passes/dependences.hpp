// SPDX-License-Identifier: MIT
// The order that instructions of one block must keep: through registers (halves of dwords, named and
// implied), through LDS and memory, and around barriers, branches and mode changes.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/ir/kernel.hpp"
#include "generator/ir/liveness.hpp"

namespace wavejit::passes {

struct Dependence {
  std::uint32_t to;       ///< later instruction
  std::uint16_t latency;  ///< clocks from issue to issue that a result needs; 0 or 1 for mere order
};

struct DependenceGraph {
  std::vector<std::vector<Dependence>> successors;
  std::vector<std::uint32_t> predecessor_count;

  /// Instructions, each behind all its successors.
  [[nodiscard]] std::vector<std::uint32_t> falling() const;
};

/// Clocks from issue to a usable result, by pipe (target.timing).
unsigned result_latency(const isa::Instruction& inst, const target::Target& target);

DependenceGraph build_dependences(const ir::Kernel& kernel, const ir::Block& block,
                                  const ir::RegisterUnits& units);

}  // namespace wavejit::passes
