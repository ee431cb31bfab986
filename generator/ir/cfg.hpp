// SPDX-License-Identifier: MIT
// The control flow graph of a kernel: which block may follow which. A block goes on to its branch's
// label, to the next block unless it ends in s_branch or s_endpgm, and, while it is a counted loop
// of more than one iteration, to itself. Labels that name no block give no edge (verify reports
// them).
#pragma once

#include <cstdint>
#include <vector>

#include "generator/ir/kernel.hpp"

namespace wavejit::ir {

struct Cfg {
  std::vector<std::vector<std::uint32_t>> successors, predecessors;
  /// Blocks reachable from the entry, each after its predecessors as far as loops allow.
  std::vector<std::uint32_t> reverse_post_order;
  std::vector<bool> reachable;
  /// Loops around each block: 0 outside any loop.
  std::vector<std::uint8_t> loop_depth;
};

Cfg build_cfg(const Kernel& kernel);

/// The instruction that may leave `block` sideways: its last one, if that is a branch or an end.
const Instruction* terminator(const Block& block);

/// Whether control can run from the end of `block` into the block laid out after it.
bool falls_through(const Block& block);

}  // namespace wavejit::ir
