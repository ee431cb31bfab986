// SPDX-License-Identifier: MIT
// A kernel around a piece of generated scalar code: each workgroup of one wave stores the SGPRs that the
// piece leaves, through all passes, on the simulator with every check on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "generator/ir/builder.hpp"
#include "runtime/device/sim/simulator.hpp"

namespace wavejit::test {

class ScalarKernel {
 public:
  struct Inputs {
    isa::Operand workgroup, m;  ///< SGPRs
    isa::Operand input;         ///< SGPR pair, address of the input; argument 0
    isa::Operand workitem;      ///< VGPR
  };
  struct Results {
    std::vector<isa::Operand> values;                             ///< SGPRs or constants
    std::vector<std::pair<std::size_t, std::size_t>> exits = {};  ///< branches to the end, past the stores
  };
  using Piece = std::function<Results(ir::Builder&, const Inputs&)>;

  /// Fails the running test when a pass or the assembler does.
  ScalarKernel(const std::string& target, const Piece& piece);

  /// What each workgroup stored; nullopt for one that left. Fails the running test on any fault.
  [[nodiscard]] std::vector<std::optional<std::vector<std::uint32_t>>> run(
      std::uint32_t workgroups, std::uint32_t m, std::span<const std::byte> input) const;

 private:
  const target::Target* target_ = nullptr;
  std::optional<sim::Program> program_;
  std::size_t values_ = 0;
};

}  // namespace wavejit::test
