// SPDX-License-Identifier: MIT
// Random kernels before register assignment: tuples of 1 to 16 registers, slices of them, counted
// and written loops, branches, masked regions, half writes, matrix instructions, copies and fixed
// entry registers. Every read is of something written on all paths, so ir::verify accepts them.
#pragma once

#include "generator/ir/kernel.hpp"

namespace wavejit::test {

struct TupleProgram {
  unsigned regions = 6;        ///< straight pieces, loops, branches and masked regions in a row
  unsigned instructions = 20;  ///< about so many per region
  bool matrix = true;
  bool masks = true;
};

/// The same seed gives the same kernel.
ir::Kernel random_tuple_kernel(const target::Target& target, const TupleProgram& shape, unsigned seed);

}  // namespace wavejit::test
