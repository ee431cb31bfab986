// SPDX-License-Identifier: MIT
// What LLVM's encoder and printer can take. Its decoder and parser let more through: an inline constant where
// only a register can be (SrcA of an MFMA, SDST of a comparison), a symbol in a field that holds a number.
// The encoder then reads that operand as another kind and the process ends. Private to this floor.
#pragma once

#include "generator/lower/machine.hpp"

namespace llvm {
class MCInst;
}

namespace wavejit::lower {

/// Of a parsed instruction, whose kinds the parser has matched: no symbols but as targets of branches.
bool symbols_only_branch(const llvm::MCInst& inst, const Machine& machine);
/// Of a decoded instruction: that, and registers where only registers can be.
bool encodable(const llvm::MCInst& inst, const Machine& machine);

}  // namespace wavejit::lower
