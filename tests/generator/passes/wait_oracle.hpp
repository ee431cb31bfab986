// SPDX-License-Identifier: MIT
// An executor of waits that shares nothing with insert_waits: it walks concrete paths through a
// kernel with one explicit queue per counter, completes every operation as late as the ISA allows,
// and reports the first instruction that touches what has not returned. Rules: hardware.md §4.2.
//
// Conservative choices, the same as LLVM 22's: with a scalar load in a counter only a wait for 0
// means anything; a second LDS load to a register in flight is a fault, a second vector load is not.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "generator/ir/kernel.hpp"

namespace wavejit::test {

class WaitOracle {
 public:
  explicit WaitOracle(const ir::Kernel& kernel) : kernel_(kernel) {}

  /// Runs one instruction; a description of what is wrong with issuing it now, if anything is.
  std::optional<std::string> step(const ir::Instruction& inst);

 private:
  struct Operation {
    std::set<std::uint32_t> registers;  ///< class in the upper half, number in the lower
    bool ordered = true;
    bool lds = false;
    bool shared_global = false;
  };
  using Queue = std::deque<Operation>;

  void wait(Queue& queue, unsigned count, unsigned field_max);
  [[nodiscard]] bool shared_global(const ir::MemoryTag& tag) const;
  [[nodiscard]] std::optional<std::string> check_registers(const isa::Instruction& mi) const;
  [[nodiscard]] std::optional<std::string> check_barrier() const;
  void enqueue(const ir::Instruction& inst);

  const ir::Kernel& kernel_;
  /// Takes a wait of gfx12's; false for any other instruction.
  bool split_wait(const isa::Instruction& mi);
  Queue vm_, vs_, lgkm_, km_;  ///< km_: scalar loads and messages, where they have a counter of their own
};

/// The first fault on any path that takes no edge more than `edge_limit` times.
std::optional<std::string> fault_on_some_path(const ir::Kernel& kernel, unsigned edge_limit);

}  // namespace wavejit::test
