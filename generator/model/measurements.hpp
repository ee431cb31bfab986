// SPDX-License-Identifier: MIT
// Small loops and instruction pairs whose clocks were measured on GPUs, rebuilt as assembly text, with
// what was measured. Source of all: thread traces that tinygrad's authors recorded (MIT licence, commit
// a9069c177, extra/sqtt/examples) as read in shared/calibration/summary.md; the texts are the published
// descriptions of the loops, not copies of kernels.
//
// `fitted` marks the ones from which a number of target::Timing was taken; the others judge the model.
#pragma once

#include <span>
#include <string_view>

#include "generator/model/cycles.hpp"

namespace wavejit::model {

struct MeasuredLoop {
  std::string_view target, name, text;
  unsigned waves = 1;  ///< on the WGP (CU); four times what one SIMD has when above 1
  unsigned workgroups = 1;
  double clocks = 0;  ///< median measured
  bool fitted = false;
  /// Straight code when set: clocks from the issue of instruction `from` to that of `to`. Otherwise the
  /// text is a loop body and `clocks` counts per wave-iteration of a SIMD.
  bool gap = false;
  unsigned from = 0, to = 0;
};

std::span<const MeasuredLoop> measured_loops();

/// The model's answer for the assembled text of `loop` (an s_endpgm behind it).
double modelled_clocks(const MeasuredLoop& loop, std::span<const isa::Instruction> code,
                       const target::Target& target, const RunOptions& options);

}  // namespace wavejit::model
