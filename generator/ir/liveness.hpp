// SPDX-License-Identifier: MIT
// Which halves of which registers hold a value that may still be read, at the borders of blocks and
// after each instruction.
//
// Units. Every half of every dword that a kernel can name has a number: first the scalar registers
// 0..131 and SCC, then physical VGPRs, physical AGPRs, then the dwords of the virtual tuples in
// order of their ids; low half before high half.
//
// Loops. A counted loop reads and rewrites its inductions at the end of its body and goes back to
// its start; the compare that lower_loops will write there destroys SCC.
//
// Partial EXEC. A vector write with some lanes off does not end the life of the old value. Such a
// value is live only where a definition may have happened before: a temporary of a masked region
// does not become live from the kernel's entry.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "generator/ir/cfg.hpp"
#include "generator/ir/exec_mask.hpp"
#include "generator/ir/kernel.hpp"
#include "generator/ir/register_access.hpp"
#include "generator/support/bitset.hpp"

namespace wavejit::ir {

class RegisterUnits {
 public:
  explicit RegisterUnits(const Kernel& kernel);

  [[nodiscard]] std::size_t count() const { return count_; }
  /// Low half of the operand's first dword; its other halves follow. The operand is a register.
  [[nodiscard]] std::size_t first(const isa::Operand& reg) const;
  [[nodiscard]] std::size_t first_of_vreg(std::uint32_t id) const { return vreg_first_[id]; }

  /// Calls f(unit) for each half register that `access` touches.
  template <class F>
  void for_each(const RegisterAccess& access, F&& f) const {
    std::size_t unit = first(access.reg);
    for (unsigned d = 0; d < access.reg.width; ++d, unit += 2) {
      if ((access.halves & low_half) != 0) f(unit);
      if ((access.halves & high_half) != 0) f(unit + 1);
    }
  }

 private:
  std::vector<std::size_t> vreg_first_;
  std::size_t agpr_first_;
  std::size_t count_;
};

/// The units that each instruction reads and writes: several analyses of one kernel share them.
class UnitAccesses {
 public:
  struct Write {
    std::uint32_t unit;
    bool ends;  ///< the old value's life: no lane that is off keeps it
  };
  UnitAccesses(const Kernel& kernel, const ExecMask& exec, const RegisterUnits& units);
  [[nodiscard]] std::span<const std::uint32_t> reads(std::size_t block, std::size_t inst) const {
    const std::size_t i = first_[block] + inst;
    return std::span(reads_).subspan(begin_[i].read, begin_[i + 1].read - begin_[i].read);
  }
  [[nodiscard]] std::span<const Write> writes(std::size_t block, std::size_t inst) const {
    const std::size_t i = first_[block] + inst;
    return std::span(writes_).subspan(begin_[i].write, begin_[i + 1].write - begin_[i].write);
  }

 private:
  struct Begin {
    std::size_t read, write;
  };
  std::vector<std::size_t> first_;  ///< by block: its first instruction's place in begin_
  std::vector<Begin> begin_;
  std::vector<std::uint32_t> reads_;
  std::vector<Write> writes_;
};

/// Registers that hold a value before the first instruction: the kernel's entry operands.
std::vector<isa::Operand> entry_operands(const Kernel& kernel);

/// A write to a vector register keeps what the lanes that are off held.
bool keeps_inactive_lanes(const isa::Instruction& inst, const isa::Operand& written, bool exec_full);

struct Liveness {
  std::vector<BitSet> live_in, live_out;  ///< per block
};

Liveness compute_liveness(const Kernel& kernel, const Cfg& cfg, const RegisterUnits& units,
                          const UnitAccesses& accesses);

/// Per block, what has been written on every path to its start.
std::vector<BitSet> always_defined_in(const Kernel& kernel, const Cfg& cfg, const RegisterUnits& units);

/// Effect of a counted loop's end on what is defined: SCC is lost.
void apply_loop_end(const Block& block, BitSet& defined, const RegisterUnits& units);

}  // namespace wavejit::ir
