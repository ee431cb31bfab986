// SPDX-License-Identifier: MIT
// A launch by what its workgroups really execute: each wave's instructions and access costs as the simulator
// ran them, through the pipes of the timing model. No loop is looked for, no steady state, trip count or mean
// cost assumed; the judge of the estimates that do, and the model of kernels whose loops are unrolled away.
//
// Workgroups reach WGPs (CUs on CDNA) in turn, so that the first has most, and no other has more to do: where
// a grid is an upper bound (grouped problems), the workgroups that leave at once are the last.
#pragma once

#include "tools/wavejit/model_kernel.hpp"

namespace wavejit::tools {

struct StreamedLaunch {
  double clocks = 0;    ///< of the fullest WGP, and no less than DRAM takes for each tensor once
  unsigned played = 0;  ///< workgroups on that WGP
  unsigned kinds = 0;   ///< of workgroups, that were recorded: in the last row or column of tiles or not
  std::uint64_t instructions = 0;
};

/// The workgroups that the fullest WGP runs, as the simulator ran them.
struct RecordedUnit {
  std::vector<model::Steps> waves;                      ///< of each recorded workgroup, in order
  std::vector<std::vector<const model::Steps*>> queue;  ///< into `waves`: of each workgroup, in order
  unsigned resident = 0;                                ///< of them at once
  unsigned kinds = 0;                                   ///< workgroups that were recorded
  std::uint64_t instructions = 0;                       ///< that those executed
  std::vector<std::uint64_t> executed;                  ///< … by each instruction of the code

  RecordedUnit() = default;  // moved, never copied: `queue` points into `waves`
  RecordedUnit(RecordedUnit&&) = default;
  RecordedUnit& operator=(RecordedUnit&&) = default;
};

/// Those of a kind (last row of tiles or not, last column or not) execute the same, so one of each is
/// recorded; where the kernel orders tiles itself (int4_gemm, int4_grouped) every one. Errors: those of the
/// simulator, out_of_registers when no workgroup fits.
Result<RecordedUnit> record_unit(const PreparedKernel& kernel, const target::Target& target);

/// The launch of `kernel` for `m` rows. Errors: those of record_unit.
Result<StreamedLaunch> play_streams(const PreparedKernel& kernel, const target::Target& target,
                                    std::int64_t m);

}  // namespace wavejit::tools
