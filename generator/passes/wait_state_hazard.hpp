// SPDX-License-Identifier: MIT
// The tracker of the target's wait-state table (generator/target/wait_states.hpp) for
// resolve_hazards: how many slots ago each register was last touched in each way that the table
// names. The fix is s_nop.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "generator/passes/hazards.hpp"
#include "generator/target/wait_states.hpp"

namespace wavejit::passes {

class WaitStateHazard {
 public:
  explicit WaitStateHazard(const target::Target& target);
  /// s_nop for as many slots as are missing, at most 8; asked again after it.
  [[nodiscard]] std::optional<isa::Instruction> fix(IssueGroup group) const;
  void issue(IssueGroup group);
  bool merge(const WaitStateHazard& other);

 private:
  static constexpr unsigned mode = unit::count;  ///< the hardware registers, as one
  static constexpr std::uint32_t far = 0x7F;
  using Times = std::array<std::uint32_t, unit::count + 1>;

  [[nodiscard]] unsigned missing_slots(const isa::Instruction& inst) const;
  void mark(target::Producer producer, unsigned u) { times_[static_cast<unsigned>(producer)][u] = now_; }
  /// Slots since `producer` touched `u`, at most `far`.
  [[nodiscard]] unsigned age(std::size_t producer, std::size_t u) const {
    return std::min<std::uint32_t>(now_ - times_[producer][u], far);
  }
  void mark_valu(const isa::Instruction& inst);
  void mark_matrix(const isa::Instruction& inst);

  const target::Target* target_;
  std::uint32_t now_ = far;  ///< slots issued
  std::array<Times, target::producer_count> times_{};
  /// Which v_dot* wrote a register: none = Opcode::invalid, different ones on different paths = count_.
  std::array<isa::Opcode, unit::count> dot_;
  /// Registers of the D that an MFMA wrote a register with: sum_id(), 0 = none, different ones on different
  /// paths = any_sum.
  std::array<std::uint32_t, unit::count> sum_{};
};

}  // namespace wavejit::passes
