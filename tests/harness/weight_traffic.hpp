// SPDX-License-Identifier: MIT
// What one wave of a kernel does to a tensor in memory: which bytes its buffer loads fetch, how well its
// lanes are used. Counted by stepping the simulator's wave and reading addresses off its registers, so it
// knows nothing of how the kernel was made.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/lower/lower.hpp"
#include "runtime/device/sim/probe.hpp"

namespace wavejit::harness {

/// Bytes that each lane of a memory instruction moves.
unsigned lane_bytes(const isa::Instruction& inst);

/// One executed buffer load from the tensor.
struct TensorLoad {
  std::uint32_t instruction = 0;     ///< in DecodedKernel::instructions
  unsigned lane_bytes = 0;           ///< asked for by each lane
  unsigned lanes = 0;                ///< active and in bounds
  std::uint64_t bytes = 0;           ///< distinct
  std::vector<std::uint64_t> gaps;   ///< bytes between the contiguous runs that it covers
  std::uint64_t first = 0, end = 0;  ///< offsets in the tensor: first byte, one past the last
};

struct WeightTraffic {
  std::vector<TensorLoad> loads;
  std::uint64_t bytes = 0;         ///< distinct bytes of the tensor that were fetched
  std::uint64_t segments = 0;      ///< distinct 64-byte segments, over the whole run of the wave
  std::uint64_t most_fetches = 0;  ///< executed loads that touched one and the same byte, at worst
  std::uint64_t vector_slots = 0;  ///< lanes of all executed VALU and vector memory instructions
  std::uint64_t idle_slots = 0;    ///< of which off in EXEC, or out of a buffer's bounds
  std::uint64_t load_slots = 0;    ///< lanes of the loads of the tensor
  std::uint64_t idle_load_slots = 0;

  [[nodiscard]] double idle() const;        ///< idle_slots / vector_slots
  [[nodiscard]] double idle_loads() const;  ///< idle_load_slots / load_slots
};

/// Runs workgroup 0, which must be one wave, to its end. The tensor is [base, base + size).
Result<WeightTraffic> weight_traffic(const lower::DecodedKernel& kernel, const sim::Program& program,
                                     sim::Memory& memory, const sim::LaunchParams& launch, std::uint64_t base,
                                     std::uint64_t size);

}  // namespace wavejit::harness
