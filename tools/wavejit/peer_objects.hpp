// SPDX-License-Identifier: MIT
// The peers' code objects (shared/peers/triton) as input of the timing model: instructions, resources,
// and what one simulated workgroup did to LDS and memory. They stay outside this repository.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "generator/lower/lower.hpp"
#include "generator/model/estimate.hpp"

namespace wavejit::tools {

struct PeerObject {
  std::string name;
  lower::CodeObject object;  ///< one kernel
  const target::Target* target = nullptr;
  std::vector<isa::Instruction> code;
  model::KernelFacts facts;
  std::vector<model::AccessNote> notes;  ///< empty until simulated
  std::int64_t bm = 0, bn = 0, bk = 0;   ///< tile; bk in weights
  std::int64_t m = 0, n = 0, k = 0, group = 0, split_k = 1;
  bool rows_fastest = false;  ///< order in which workgroups walk the tiles; false: not known
  std::int64_t peeled = 0;    ///< reduction steps that it does outside its loop
};

/// Reads NAME.hsaco and NAME.json of `folder` and runs one workgroup with a short reduction (the strides
/// of the full one) on the simulator. Errors: io, those of decode and of the simulator.
Result<PeerObject> read_peer(const std::filesystem::path& folder, const std::string& name);

/// Launch of the object's kernel for m x n x k.
model::LaunchShape shape_of(const PeerObject& peer, std::int64_t m, std::int64_t n, std::int64_t k);

}  // namespace wavejit::tools
