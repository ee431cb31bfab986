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
  /// Keeps a reference to the kernel.
  Scheduler(const ir::Kernel& kernel, bool ordered_refills);

  struct Order {
    std::vector<std::vector<std::uint32_t>> blocks;  ///< by block: its instructions
    std::uint32_t live = 0;  ///< VGPRs that this order has alive at one point, at least
  };
  /// An order in which no more than `limit` VGPRs are alive where that can be.
  [[nodiscard]] Order order(int limit) const;

  struct BlockPlan {
    /// Half of a VGPR that the block touches.
    struct Unit {
      bool live_in, live_out;
      std::uint32_t reg;                           ///< whose half it is, numbered like the units
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
    std::uint32_t registers = 0;          ///< that the block touches
    std::uint32_t passing = 0;            ///< VGPRs that live all through the block, untouched
  };

 private:
  const ir::Kernel& kernel_;
  std::vector<BlockPlan> blocks_;
};

/// Puts the instructions of `kernel`, the scheduler's or a copy of it, into that order.
void reorder(ir::Kernel& kernel, const Scheduler::Order& order);

}  // namespace wavejit::passes
