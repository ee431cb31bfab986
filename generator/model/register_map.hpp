// SPDX-License-Identifier: MIT
// Which vector registers hold a value that is still wanted, instruction by instruction of a loop, and by
// bank: for the picture of a kernel's register file. Whole registers; half writes do not end a life.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "generator/isa/instruction.hpp"
#include "generator/model/steps.hpp"
#include "generator/target/target.hpp"

namespace wavejit::model {

struct RegisterMap {
  struct Row {
    std::uint32_t vgpr = 0;
    std::vector<bool> live;  ///< before each instruction of the body
    std::vector<bool> read, written;
  };
  unsigned banks = 0;     ///< vgpr mod banks; 0 = the target publishes no rule
  std::vector<Row> rows;  ///< registers that live or are touched in the loop, by number

  /// Most registers live at once.
  [[nodiscard]] unsigned peak() const;
  /// The same for one bank.
  [[nodiscard]] unsigned peak(unsigned bank) const;
};

/// `stretches.body` is taken as straight code that repeats; what the epilogue reads before it writes lives
/// on at the end.
RegisterMap register_map(std::span<const isa::Instruction> code, const Stretches& stretches,
                         const target::Target& target);

}  // namespace wavejit::model
