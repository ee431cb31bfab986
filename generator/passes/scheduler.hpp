// SPDX-License-Identifier: MIT
// What all schedules of one kernel have in common: the order that must be kept, the paths of latencies, who
// touches which registers. A kernel is scheduled for several budgets of registers until one fits; this is
// worked out once.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/passes/dependences.hpp"

namespace wavejit::passes {

class Scheduler {
 public:
  Scheduler(const ir::Kernel& kernel, bool ordered_refills);
  /// Orders the instructions of `kernel`, the constructor's or a copy of it, so that its vgpr_budget less
  /// `margin` is kept where that can be.
  void run(ir::Kernel& kernel, int margin) const;

  struct BlockPlan {
    /// Half of a VGPR that the block touches.
    struct Unit {
      bool live_in, live_out;
      std::uint32_t uses;                          ///< reads in the block
      std::uint32_t touching_begin, touching_end;  ///< in `touching`
    };
    struct Access {
      std::uint32_t unit;
      bool rewritten;  ///< a read: the instruction writes the unit, too
    };
    DependenceGraph graph;
    std::vector<std::int64_t> path;  ///< by instruction: clocks from its issue to the block's end
    std::vector<Unit> units;
    /// Instruction i reads those from reads_begin[i] on and writes those from writes_begin[i] up to
    /// reads_begin[i + 1].
    std::vector<Access> accesses;
    std::vector<std::uint32_t> reads_begin, writes_begin;
    std::vector<std::uint32_t> touching;  ///< instructions
    int pressure = 0;                     ///< halves of VGPRs that live at the block's start
  };

 private:
  std::vector<BlockPlan> blocks_;
};

}  // namespace wavejit::passes
