// SPDX-License-Identifier: MIT
// VALU instructions that s_delay_alu could have held back and does not. One whose operands are late blocks
// the SIMD's queue for all waves; a hint makes its own wave wait instead.
//
// Rules, of straight code: an instruction executes no earlier than its producer's execution plus the clocks
// of all vector instructions from the producer on (they go through one pipe in order), and plus one clock for
// each instruction between. When that is less than the producer's latency (target::Timing), the reader
// stalls. It needs a hint when the encoding can name the producer (4 VALU, 3 transcendental instructions
// back), no hint on the reader or before it has waited for that producer or a later one of its kind, and no
// memory or LDS instruction lies between (those wait for the whole VALU). Nothing is pending behind a branch.
// This file shares no code with the pass that places the hints.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "generator/isa/instruction.hpp"
#include "generator/target/target.hpp"

namespace wavejit::model {

struct MissingHint {
  std::size_t index = 0, producer = 0;  ///< in the code
  unsigned clocks = 0;                  ///< that the reader's operand is late
};

/// Missing hints of the instructions `stretch` of `code`, taken as straight code. None on targets without
/// s_delay_alu.
std::vector<MissingHint> missing_hints(std::span<const isa::Instruction> code,
                                       std::span<const std::size_t> stretch, const target::Target& target);

}  // namespace wavejit::model
