// SPDX-License-Identifier: MIT
// Where all of a wave's lanes are known to be active.
//
// A vector write with some lanes off keeps the old value in those lanes, so it does not end the
// life of what the register held before. EXEC is full at entry (lanes that the launch did not
// create never come back), stops being full at any write to EXEC, and is full again after
// s_mov exec, -1 or when a register that is known to hold a full mask is moved or or-ed into it.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/ir/cfg.hpp"

namespace wavejit::ir {

class ExecMask {
 public:
  ExecMask(const Kernel& kernel, const Cfg& cfg);

  /// Whether every lane is active when instruction `inst` of `block` issues.
  [[nodiscard]] bool full(std::uint32_t block, std::size_t inst) const {
    return always_full_ || full_[block][inst];
  }

 private:
  bool always_full_ = true;
  std::vector<std::vector<bool>> full_;
};

}  // namespace wavejit::ir
