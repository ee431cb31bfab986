// SPDX-License-Identifier: MIT
// Internal: gfx12's VALUReadSGPR hazard, of one wave.
#pragma once

#include "runtime/device/sim/code.hpp"

namespace wavejit::sim {

/// SGPRs that VALU has read (by aligned pairs) and that SALU or VALU has written since.
struct SgprHazards {
  detail::ScalarSet read, by_salu, by_valu;
};

/// Before `inst` runs; s_wait_alu settles what its immediate says.
void check_sgpr_hazards(Wave& w, const detail::Inst& inst);

}  // namespace wavejit::sim
