// SPDX-License-Identifier: MIT
// What `wavejit run` says of a simulated and judged kernel, or of all kernels of its Config.
#pragma once

#include "tests/harness/run.hpp"
#include "tools/wavejit/json.hpp"

namespace wavejit::tools {

/// kernel, grid, block and card are stage 0's; counts and faults are of all stages, which "stages" lists when
/// there are several.
Json to_json(const harness::Report& report);

/// `whole_card`: also what an iteration of each hot loop costs.
void print_text(const harness::Report& report, bool whole_card);

}  // namespace wavejit::tools
