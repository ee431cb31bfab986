// SPDX-License-Identifier: MIT
// Order of issue = order of use for the loads of a pipelined loop. Each load of the body refills registers
// that an earlier instruction of the body empties: what that load of the pass before brought. Waits count
// loads in order, so the wait in front of the last of those uses is for all loads, unless loads of this pass
// are under way by then.
#pragma once

#include "generator/passes/dependences.hpp"

namespace wavejit::passes {

/// Makes each refill a predecessor of what empties the registers of later refills, where the order is free.
/// The new edges may lead from a later instruction to an earlier one; there is no cycle.
void order_refills(DependenceGraph& graph, const ir::Kernel& kernel, const ir::Block& block,
                   const ir::RegisterUnits& units);

/// Outside loops: loads go out as they are written, so that a loop's waits find the order of its own loads
/// when it begins.
void keep_load_order(DependenceGraph& graph, const ir::Block& block);

}  // namespace wavejit::passes
