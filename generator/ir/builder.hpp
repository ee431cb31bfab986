// SPDX-License-Identifier: MIT
// Writes IR: allocates virtual registers and appends instructions to the current block.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "generator/ir/kernel.hpp"

namespace wavejit::ir {

class Builder {
 public:
  explicit Builder(Kernel& kernel) : kernel_(kernel) {}

  [[nodiscard]] Kernel& kernel() { return kernel_; }
  [[nodiscard]] const Kernel& kernel() const { return kernel_; }

  isa::Operand vgpr(std::string name, unsigned width = 1, int bank = -1);
  /// Aligned as the target asks of SGPR tuples: pairs even, four and more to a multiple of 4.
  isa::Operand sgpr(std::string name, unsigned width = 1);
  isa::Operand fixed(isa::RegClass cls, std::string name, std::uint32_t reg, unsigned width = 1);

  /// Starts a new block and makes it current; returns its index.
  std::uint32_t block(std::string label, std::string comment = {});
  /// Makes the current block a counted loop.
  CountedLoop& make_loop(std::string name, std::int64_t trip_count);

  /// Appends `op dsts, srcs` to the current block. The reference is good until the next append.
  Instruction& emit(isa::Opcode op, std::initializer_list<isa::Operand> dst,
                    std::initializer_list<isa::Operand> src);

  /// Comment for the next instruction appended.
  Builder& note(std::string text) {
    pending_comment_ = std::move(text);
    return *this;
  }
  /// Stage given to instructions appended from now on.
  void set_stage(unsigned stage) { stage_ = static_cast<std::uint8_t>(stage); }

  [[nodiscard]] Block& current() { return kernel_.blocks.at(current_); }

 private:
  Kernel& kernel_;
  std::uint32_t current_ = 0;
  std::uint8_t stage_ = 0;
  std::string pending_comment_;
};

}  // namespace wavejit::ir
