// SPDX-License-Identifier: MIT
// An independent judge of register assignment. It runs a kernel and its assigned form side by side
// along one path, with a fresh tag for every value that an instruction produces, per lane and half
// register, and compares what both read. It knows nothing of liveness: a value clobbered by a wrong
// assignment shows up as a wrong tag where it is read.
//
// Two lanes stand for a wave: one always active, one switched off between s_and_saveexec and the
// write of EXEC that follows. Copies carry their source's tag, so a dropped copy is no difference.
#pragma once

#include <optional>
#include <string>

#include "generator/ir/kernel.hpp"

namespace wavejit::test {

/// Numbers the instructions in their comments, by which compare_on_random_path pairs them up.
void number_instructions(ir::Kernel& kernel);

/// `before` was numbered and then assigned to give `after`.
/// The first difference on a random path of at most `steps` instructions, or nothing.
std::optional<std::string> compare_on_random_path(const ir::Kernel& before, const ir::Kernel& after,
                                                  unsigned seed, unsigned steps = 4000);

}  // namespace wavejit::test
