// SPDX-License-Identifier: MIT
// A launch by what its workgroups really execute: each wave's instructions and access costs as the simulator
// ran them, through the pipes of the timing model. No loop is looked for, no steady state, trip count or mean
// cost assumed; the judge of the estimates that do.
#pragma once

#include "tools/wavejit/model_kernel.hpp"

namespace wavejit::tools {

struct StreamedLaunch {
  double clocks = 0;    ///< of the fullest WGP, and no less than DRAM takes for each tensor once
  unsigned played = 0;  ///< workgroups on that WGP
  unsigned kinds = 0;   ///< of workgroups, that were recorded: in the last row or column of tiles or not
  std::uint64_t instructions = 0;
};

/// The launch of `kernel` for `m` rows. Workgroups reach WGPs in turn; the first WGP has most. Those of a
/// kind (last row of tiles or not, last column or not) execute the same, so one of each is recorded. Errors:
/// those of the simulator, out_of_registers when no workgroup fits.
Result<StreamedLaunch> play_streams(const PreparedKernel& kernel, const target::Target& target,
                                    std::int64_t m);

}  // namespace wavejit::tools
