// SPDX-License-Identifier: MIT
// The published steps of the gate_up kernel on gfx1151 (shared/published.md, ROCm/vllm#1045), made again
// by editing the loop of the very kernel that they started from (the peers' object A02): a single 8 KiB
// LDS buffer, four barriers, A and then B through the same space. What was not published of the edits
// (registers, where the loads went) is ours.
#pragma once

#include <string>
#include <vector>

#include "generator/lower/lower.hpp"
#include "generator/model/steps.hpp"

namespace wavejit::tools {

struct StepVariant {
  std::string name;
  double published_tflops = 0;
  unsigned vgprs = 0;  ///< allocated by the variant
  unsigned valu = 0;   ///< VALU per iteration without matrix instructions
  unsigned body_size = 0;
  std::vector<isa::Instruction> code;
  model::Stretches stretches;
};

/// The six rows of the table, from the object's loop. Errors: invalid_code_object when the loop does not
/// have the lines that the edits look for (another object than A02).
Result<std::vector<StepVariant>> step_variants(const lower::DecodedKernel& a02, const target::Target& target);

}  // namespace wavejit::tools
