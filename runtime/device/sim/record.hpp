// SPDX-License-Identifier: MIT
// What the waves of chosen workgroups execute, instruction by instruction, with what each access cost: the
// input of a timing model that assumes nothing about loops. The simulator itself keeps no such list;
// recording runs the workgroups one after the other on the caller's thread, with all checks.
#pragma once

#include "runtime/device/sim/simulator.hpp"

namespace wavejit::sim {

/// One executed instruction. A VOPD pair is its first half.
struct Executed {
  std::uint32_t index = 0;            ///< in DecodedKernel::instructions
  std::uint32_t conflict_cycles = 0;  ///< LDS: clocks beyond the conflict-free ones
  std::uint32_t bytes = 0;            ///< moved by active, in-bounds lanes
  std::uint32_t lines = 0;            ///< memory: 128-byte lines that they lie in
};

using WaveStream = std::vector<Executed>;

struct GroupStream {
  std::uint64_t workgroup = 0;  ///< linear id
  std::vector<WaveStream> waves;
};

struct Recording {
  std::vector<GroupStream> groups;  ///< in the order of LaunchParams::workgroups
  std::uint64_t distinct_faults = 0;
};

/// Runs the workgroups that `launch` names (none named: all). Errors: those of run(), and invalid_argument
/// when the streams would hold more than `most` instructions together.
Result<Recording> record(const Program& program, Memory& memory, const LaunchParams& launch,
                         std::uint64_t most = 50'000'000);

}  // namespace wavejit::sim
