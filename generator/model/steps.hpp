// SPDX-License-Identifier: MIT
// A stretch of final instructions made ready for the event model: per instruction the pipe, the clocks
// that it holds it, what it waits for. Times are shader clocks, bytes are per wave.
//
// Registers that are always read and written by the same instructions are one `atom`: a WMMA then has
// three or four of them in place of 24 registers. Costs come from target::Timing, whose header names the
// sources; LDS and memory costs may be replaced by what a simulated wave did (AccessNote).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "generator/isa/instruction.hpp"
#include "generator/target/target.hpp"

namespace wavejit::model {

/// What one LDS or memory instruction costs, measured on addresses (by the simulator) rather than assumed.
/// Means over its executions. `index` is that of the instruction in the whole code.
struct AccessNote {
  std::size_t index = 0;
  double conflict_clocks = 0;  ///< LDS: clocks beyond the conflict-free ones
  double bytes = 0;            ///< memory: bytes moved by the wave
  double asked = 0;            ///< bytes that its active lanes asked for
  double lines = 0;            ///< memory: 128-byte lines that they lie in
};

/// Bytes that one lane of an LDS or memory instruction moves.
unsigned data_bytes(const isa::Instruction& inst);

/// Unit that takes an instruction up; waits and hints take an issue slot only.
enum class Unit : std::uint8_t {
  valu,
  trans,
  matrix,
  salu,
  scalar_load,
  lds,
  vmem_load,
  vmem_store,
  branch,
  barrier_signal,
  barrier_wait,
  barrier,
  wait,
  end,
  none,
};

enum class Counter : std::uint8_t { vector_loads, vector_stores, lds, scalar, count_ };
inline constexpr std::size_t counters = static_cast<std::size_t>(Counter::count_);

/// Wait for no more than `left` operations of a counter.
inline constexpr std::uint8_t no_wait = 0xFF;

struct Step {
  std::size_t index = 0;  ///< in the code
  Unit unit = Unit::none;
  bool hinted = false;           ///< s_delay_alu covers it: it waits at issue, not in the VALU's queue
  bool taken = false;            ///< branch that is taken
  bool after_compare = false;    ///< branch right behind the SCC that it tests
  std::uint16_t hold = 1;        ///< clocks of the VALU (or scalar) pipe
  std::uint16_t latency = 0;     ///< execution to a dependent VALU's execution
  std::uint16_t port = 0;        ///< clocks of the LDS or vector memory port
  std::uint32_t bytes = 0;       ///< moved by the wave
  std::uint16_t salu_delay = 0;  ///< clocks that a hint waits for a scalar result
  std::array<std::uint8_t, counters> left{no_wait, no_wait, no_wait, no_wait};
  std::uint16_t first_read = 0, reads = 0;    ///< in Steps::atoms
  std::uint16_t first_write = 0, writes = 0;  ///< after the reads
};

struct Steps {
  std::vector<Step> list;
  std::vector<std::uint16_t> atoms;
  unsigned atom_count = 0;  ///< of the whole kernel: stretches of one kernel share their atoms
};

/// The three stretches that a wave of a kernel with one hot loop runs through.
struct Stretches {
  std::vector<std::size_t> prologue, body, epilogue;  ///< instruction indices
};
/// Splits `code` at the loop; without one all is prologue. Forward branches are taken as not taken, jumps are
/// followed, and loops other than the hot one count once.
Stretches split(std::span<const isa::Instruction> code, std::span<const std::size_t> loop_body);

/// One instruction that a recorded wave executed, with what this execution cost.
struct Executed {
  std::uint32_t index = 0;  ///< in the code; a VOPD pair is its first half
  std::uint32_t bytes = 0;  ///< memory: bytes moved by the wave, as AccessNote::bytes
  float conflict_clocks = 0;
};

/// The streams of recorded waves, made ready. All share their atoms. Branches are taken where the stream
/// goes on elsewhere.
std::vector<Steps> prepare_streams(std::span<const isa::Instruction> code,
                                   std::span<const std::vector<Executed>> waves,
                                   const target::Target& target);

/// Prepares each stretch. `notes` may be empty.
struct Prepared {
  Steps prologue, body, epilogue;
};
Prepared prepare(std::span<const isa::Instruction> code, const Stretches& stretches,
                 std::span<const AccessNote> notes, const target::Target& target);

}  // namespace wavejit::model
