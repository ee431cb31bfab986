// SPDX-License-Identifier: MIT
// A launch file's buffers in simulated memory and its kernarg segment.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "generator/lower/lower.hpp"
#include "runtime/device/sim/memory.hpp"
#include "tools/wavejit/launch_file.hpp"

namespace wavejit::tools {

struct PreparedLaunch {
  std::vector<std::uint8_t> kernarg;
  std::vector<std::pair<const LaunchArgument*, std::uint64_t>> buffers;  ///< and their addresses
};

/// Allocates and fills what `launch` describes. Errors: io, invalid_argument naming the field.
Result<PreparedLaunch> prepare_launch(sim::Memory& memory, const lower::DecodedKernel& kernel,
                                      const LaunchFile& launch);

/// The kernel called `name`; the only one when it is empty. Errors: invalid_argument with the names.
Result<const lower::DecodedKernel*> find_kernel(const lower::CodeObject& object, const std::string& name);

}  // namespace wavejit::tools
