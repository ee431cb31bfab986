// SPDX-License-Identifier: MIT
// Random small programs over few registers, dense in memory operations and in clashes between them.
#pragma once

#include <random>

#include "tests/generator/passes/late_kernel.hpp"

namespace wavejit::test {

struct RandomProgram {
  unsigned blocks = 1;         ///< 1 = straight line; more: random forward and backward branches
  unsigned instructions = 24;  ///< per block
  bool scalar_loads = true;    ///< out of order in lgkmcnt
  bool given_waits = false;    ///< some s_waitcnt already there
  bool alu_only = false;       ///< no memory operations
};

/// The same seed gives the same program. Ends in s_endpgm; branches are conditional.
LateKernel random_kernel(const target::Target& target, const RandomProgram& shape, unsigned seed);

}  // namespace wavejit::test
