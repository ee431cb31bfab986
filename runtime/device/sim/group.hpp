// SPDX-License-Identifier: MIT
// Internal: one workgroup from launch to end, on one host thread.
#pragma once

#include <cstdint>

#include "runtime/device/sim/wave.hpp"

namespace wavejit::sim {

inline constexpr std::uint64_t slice = 4096;  ///< instructions before another wave gets its turn

/// Runs workgroup `linear` of the launch on `worker`.
void run_group(Worker& worker, std::uint64_t linear);

/// Makes `worker.group` the workgroup as hardware starts it.
void start_group(Worker& worker, std::uint64_t linear);

/// What the launch refuses before anything runs.
Result<void> check_launch(const detail::Code& code, const LaunchParams& launch);

/// Sets a worker up for the launch; the kernarg segment and dispatch packet lie at the given addresses.
void prepare_worker(Worker& worker, const detail::Code& code, Memory& memory, const LaunchParams& launch,
                    std::uint64_t kernarg, std::uint64_t dispatch_packet);

/// Executes `wave` until it blocks, ends or has executed `budget` instructions.
void run_wave(Wave& wave, std::uint64_t budget);

/// All waves that still run wait: their barrier is complete.
void release_barrier(Workgroup& group);

}  // namespace wavejit::sim
