// SPDX-License-Identifier: MIT
// Def/use of one instruction, as the checker understands it. See program.hpp for units and roles.
#pragma once

#include <vector>

#include "runtime/check/program.hpp"

namespace wavejit::check {

/// Traits of the instance: those of its opcode and those that operands and modifiers add.
trait::Bits instance_traits(const isa::Instruction& inst, const target::Target& target);

/// Appends what `inst` reads (or, second, writes) to `out`. AGPRs start at unit `first_agpr`. Operands
/// that name no physical register of a known file are left out.
void append_reads(const isa::Instruction& inst, const target::Target& target, unsigned first_agpr,
                  std::vector<Access>& out);
void append_writes(const isa::Instruction& inst, const target::Target& target, unsigned first_agpr,
                   std::vector<Access>& out);

/// Whether the operand names registers that exist in no register file at all.
bool is_wild(const isa::Operand& op);

}  // namespace wavejit::check
