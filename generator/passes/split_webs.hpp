// SPDX-License-Identifier: MIT
// Gives each independent life of a tuple a name of its own.
//
// Templates and pipelining use one tuple for values that have nothing to do with each other: the
// fragments of the loop body and of its peeled copies, a temporary of each step. Where no dword of
// the tuple is live its register may change, so every connected piece of its life (a web) becomes a
// tuple that register assignment can place alone. Fixed tuples stay whole.
#pragma once

#include "generator/ir/kernel.hpp"
#include "generator/passes/live_ranges.hpp"

namespace wavejit::passes {

/// `ranges` are those of the kernel as it is.
void split_webs(ir::Kernel& kernel, const LiveRanges& ranges);

}  // namespace wavejit::passes
