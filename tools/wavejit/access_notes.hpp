// SPDX-License-Identifier: MIT
// What a kernel's LDS and memory accesses cost, from the addresses of a simulated workgroup.
#pragma once

#include <vector>

#include "generator/model/steps.hpp"
#include "runtime/device/sim/simulator.hpp"

namespace wavejit::tools {

/// Of a cache line that a load brings in whole.
inline constexpr double line_bytes = 128;

/// Lines that a level-1 cache keeps for each of `resident` workgroups, where the target's is accounted for.
std::uint32_t kept_lines(const target::Target& target, unsigned resident);

/// Runs workgroup 0 of `launch`. Loads are charged whole 128-byte lines, but those that launch.options says
/// are kept; stores their bytes (L2 gathers them). Errors: those of the simulator; faults of the kernel do
/// not matter here. `executed`, when given, becomes the count of each instruction.
Result<std::vector<model::AccessNote>> access_notes(const lower::DecodedKernel& kernel,
                                                    const target::Target& target, sim::Memory& memory,
                                                    sim::LaunchParams launch,
                                                    std::vector<std::uint64_t>* executed = nullptr);

}  // namespace wavejit::tools
