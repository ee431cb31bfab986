// SPDX-License-Identifier: MIT
// Where each register of a kernel holds a value that matters, as intervals over positions.
//
// Positions number the program in layout order. Issue group k (an instruction or a VOPD pair; the
// kernel's entry is group 0, the implied update at the end of a counted loop is one more) reads at
// position 2k and writes at 2k+1. A value written by group a and last read by group b occupies
// [2a+1, 2b+1): a register that b writes may reuse it. What lives around a loop's back edge occupies
// the whole loop, because the analysis underneath follows the control flow graph.
//
// Two instructions may not reuse a source that dies: matrix instructions write D before they have
// read all of A and B, and multi-dword scalar loads may be replayed. Their destinations occupy
// position 2k too.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/ir/liveness.hpp"

namespace wavejit::passes {

struct Segment {
  std::uint32_t begin = 0, end = 0;  ///< half-open
  friend bool operator==(const Segment&, const Segment&) = default;
};

/// Sorted, disjoint, not touching.
using Segments = std::vector<Segment>;

/// The group numbers of one block.
struct BlockGroups {
  std::uint32_t first = 0;             ///< of its first instruction
  std::uint32_t after = 0;             ///< of what follows; a counted loop's implied end is after - 1
  std::vector<std::uint32_t> of_inst;  ///< by instruction
};

class LiveRanges {
 public:
  explicit LiveRanges(const ir::Kernel& kernel);

  [[nodiscard]] std::uint32_t positions() const { return positions_; }
  [[nodiscard]] const Segments& of_vreg(std::uint32_t id, unsigned dword) const {
    return dwords_[units_.first_of_vreg(id) / 2 + dword];
  }
  [[nodiscard]] const Segments& of_physical(isa::RegClass cls, std::uint32_t reg) const {
    return dwords_[units_.first(isa::phys(cls, reg)) / 2];
  }
  [[nodiscard]] const BlockGroups& groups(std::size_t block) const { return blocks_[block]; }

 private:
  ir::RegisterUnits units_;
  std::uint32_t positions_ = 0;
  std::vector<Segments> dwords_;  ///< by unit / 2
  std::vector<BlockGroups> blocks_;
};

/// Sorts and joins segments that overlap or touch; drops empty ones.
void normalise(Segments& segments);

}  // namespace wavejit::passes
