// SPDX-License-Identifier: MIT
// What a kernel of a quantised product does for each weight, counted on its final instructions: where the hot
// loop loads weights, over one pass through it; where the loop was unrolled away, over everything that
// recorded workgroups execute, prologue and epilogue included.
//
// A lane's weights are those that it loads: 8 of each dword. That is what it dequantises where weights go
// from memory to the registers of the wave that multiplies them.
#pragma once

#include <cstdint>
#include <span>

#include "tools/wavejit/model_kernel.hpp"

namespace wavejit::tools {

struct WeightCounts {
  bool loop = false;   ///< counted in the hot loop
  double weights = 0;  ///< of a lane: of a pass, or mean of the recorded waves
  double valu = 0;     ///< instructions, dot products and transcendentals with them; matrix ones apart
  double matrix = 0;
  unsigned wide_loads = 0, narrow_loads = 0;  ///< places in the code that load weights or activations: by 128
                                              ///< bits, or by less
  unsigned scale_loads = 0;                   ///< … scales and zero points: a lane has one at a time
  unsigned waits = 0;                         ///< places that wait for vector memory
  unsigned full_waits = 0;                    ///< of them for all of it: vmcnt(0)

  [[nodiscard]] double valu_per_weight() const { return weights > 0 ? valu / weights : 0; }
  [[nodiscard]] bool wide_only() const { return narrow_loads == 0 && wide_loads > 0; }
};

/// Which tensor (argument of the kernel) each instruction of `code` accesses in memory; -1 for those that do
/// not. Errors: internal when code and IR differ in their memory instructions.
Result<std::vector<int>> tensors_of(const PreparedKernel& kernel);

/// `executed`: by each instruction of the code, in all of `waves` waves together.
Result<WeightCounts> count_weights(const PreparedKernel& kernel, std::span<const std::uint64_t> executed,
                                   unsigned waves);

}  // namespace wavejit::tools
