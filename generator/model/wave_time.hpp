// SPDX-License-Identifier: MIT
// Where the clocks of a loop go, read off the events of the event model (cycles.hpp).
//
// Two accounts of the same window, each complete:
// - of the pipe: a SIMD's vector pipe does matrix work, other VALU work, or nothing. An idle clock is put
// down
//   to the operands of the instruction at the head of the queue (`dependency`), to the way from issue to
//   execution (`start`), or, with nothing issued, in equal parts to what the SIMD's waves do instead. The
//   shares add up to the clocks of an iteration.
// - of a wave: issuing or waiting, by reason. They add up to the time that one wave takes for an iteration.
// Times are shader clocks.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "generator/model/cycles.hpp"

namespace wavejit::model {

/// What a clock goes to.
enum class Reason : std::uint8_t {
  matrix,         ///< the pipe runs a matrix instruction; of a wave: issues one
  valu,           ///< the same of every other vector ALU instruction
  start,          ///< pipe only: from issue to execution
  dependency,     ///< operands not ready
  queue,          ///< wave only: the SIMD's VALU queue is full
  drain,          ///< a memory instruction behind the wave's own VALU work
  vector_memory,  ///< s_waitcnt on loads or stores
  lds,            ///< s_waitcnt on LDS
  scalar_memory,
  barrier,
  branch,
  contention,    ///< another wave had the issue slot
  issue_lds,     ///< issuing an LDS instruction
  issue_memory,  ///< … a vector memory instruction
  issue_scalar,
  issue_other,  ///< waits, hints, barriers
  empty,        ///< pipe only: no wave of the workgroups runs on this SIMD
  count_
};
inline constexpr std::size_t reasons = static_cast<std::size_t>(Reason::count_);
std::string_view name(Reason reason);
/// What issuing an instruction of a unit counts as.
Reason issuing(Unit unit);

using Shares = std::array<double, reasons>;

/// A piece of a wave's life; `index` is the instruction that it issues or waits to issue.
struct Segment {
  Clock from = 0, to = 0;
  std::uint32_t index = 0;
  Reason reason = Reason::issue_other;
};

struct WaveLife {
  std::uint16_t workgroup = 0, wave = 0, simd = 0;
  std::vector<Segment> segments;  ///< without gaps, in order
};

/// The waves of a trace, by SIMD, workgroup, number.
std::vector<WaveLife> wave_lives(std::span<const IssueEvent> trace, const target::Target& target);

struct InstructionTime {
  std::size_t index = 0;  ///< in the code
  double stall = 0;       ///< clocks that a wave waits for or behind it, per iteration
  Reason worst = Reason::issue_other;
  double idle = 0;  ///< clocks of an idle pipe put down to it, per iteration of a workgroup
};

struct TimeAccount {
  Shares pipe{}, wave{};
  std::vector<InstructionTime> instructions;  ///< of the body, in order
};

/// `loop` with a trace of all its events.
TimeAccount account(const SteadyState& loop, const Steps& body, const Residency& residency,
                    const target::Target& target, unsigned iterations);

}  // namespace wavejit::model
