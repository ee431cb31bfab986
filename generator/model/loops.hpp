// SPDX-License-Identifier: MIT
// The loops of a final instruction list, wherever it comes from, and the one that matters.
//
// A loop is a natural loop of the control flow graph: a branch back to a header that every path to
// the branch passes, with all that lies between. What belongs to a loop inside it is not counted as
// its own. Bodies of several blocks and nested waterfall loops are handled; these are the rules by
// which the public comparisons of this project count (shared/peers/loop_stats.py).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "generator/ir/kernel.hpp"
#include "generator/isa/instruction.hpp"
#include "generator/model/steps.hpp"

namespace wavejit::model {

struct Loop {
  std::size_t header = 0;        ///< its first instruction
  std::vector<std::size_t> own;  ///< its instructions without those of loops inside it, in order
  std::size_t nested = 0;        ///< loops inside it
};

/// All loops, by header. Branch labels of `code` hold instruction indices.
std::vector<Loop> loops(std::span<const isa::Instruction> code);

/// The loop whose own instructions hold most matrix instructions; between equals most v_dot4 and
/// v_dot8, then most VALU. Loops behind an s_endpgm from which control goes back in front of it do not count:
/// rare cases lie there (activations that are not finite). Nothing when the code has no other loop.
std::optional<Loop> hot_loop(std::span<const isa::Instruction> code);

/// The hot loop and what lies around it. Of a kernel without one (a K that needs one pass only unrolls it
/// away) the whole path to its end is the body, which each workgroup runs once.
Stretches hot_stretches(std::span<const isa::Instruction> code);

/// The loop's own instructions.
std::vector<isa::Instruction> body(std::span<const isa::Instruction> code, const Loop& loop);

/// A kernel's instructions in layout order with labels turned into instruction indices. Counted
/// loops must have been lowered.
std::vector<isa::Instruction> flatten(const ir::Kernel& kernel);

}  // namespace wavejit::model
