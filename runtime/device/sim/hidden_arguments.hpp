// SPDX-License-Identifier: MIT
// The arguments that compilers add to a kernel's own (LLVM AMDGPUUsage, "hidden_*" value kinds of code
// objects v4 and v5): what a HIP runtime would put there for this launch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "generator/lower/lower.hpp"

namespace wavejit::sim {

/// Fills them into `kernarg`: block counts, group sizes, grid dimensions, the LDS that the launch adds.
/// Remainders and offsets are 0, since a launch is of whole workgroups; so are pointers to services that
/// the simulator lacks (hostcall buffer, heap, queue). Arguments outside `kernarg` are left out.
void fill_hidden_arguments(std::span<const lower::ArgMetadata> args, std::array<std::uint32_t, 3> grid,
                           std::array<std::uint32_t, 3> block, std::uint32_t dynamic_lds_bytes,
                           std::span<std::byte> kernarg);

}  // namespace wavejit::sim
