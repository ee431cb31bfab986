// SPDX-License-Identifier: MIT
// The event model: the waves that fit a WGP (a CU on CDNA) run a kernel's stretches, and each instruction
// is given the clock at which it issues and executes.
//
// Rules, each from a measurement or a published statement (target::Timing names them):
// - a wave issues in order, one instruction per clock (four on CDNA); a SIMD takes one instruction per
//   clock of each kind, from the wave that is ready first;
// - VALU, transcendental and matrix instructions of all waves of a SIMD go through one queue in order, 8
//   deep; one whose operands are late blocks those behind it unless s_delay_alu held it at issue; a
//   matrix instruction holds the pipe for its whole time (RDNA); on CDNA there is no queue, and the
//   matrix pipe runs beside the VALU;
// - LDS and vector memory instructions wait for all earlier VALU of their wave, then for the port of
//   their CU; results come in order after the latency;
// - vector memory shares what the level-2 cache gives a WGP;
// - s_waitcnt and the split waits hold the wave until its counters are low enough; a barrier until the
//   last wave has come.
// It knows no instruction cache, no register bank conflicts (published to cost nothing), no clock changes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "generator/model/steps.hpp"

namespace wavejit::model {

using Clock = std::int32_t;

/// Why a wave did not issue its next instruction one clock after the last.
enum class Stall : std::uint8_t {
  none,
  issue,          ///< another wave took the slot
  valu_queue,     ///< the SIMD's queue is full (matrix or VALU work of all waves)
  dependency,     ///< operand not ready, the hint of s_delay_alu included
  valu_drain,     ///< a memory instruction behind the wave's own VALU or matrix work
  vector_memory,  ///< s_waitcnt on loads or stores
  lds,            ///< s_waitcnt on LDS
  scalar_memory,
  barrier,
  branch,
  count_
};
inline constexpr std::size_t stall_kinds = static_cast<std::size_t>(Stall::count_);
std::string_view name(Stall stall);

/// What runs on one WGP (CU on CDNA).
struct Residency {
  unsigned workgroups = 1;  ///< at once
  unsigned waves = 1;       ///< per workgroup
  bool wgp_mode = true;     ///< a workgroup's waves spread over all SIMDs, else over one CU's
};

/// One instruction of one wave, for pictures.
struct IssueEvent {
  Clock ready = 0;                      ///< could have issued but for what it waited for
  Clock issue = 0, start = 0, end = 0;  ///< execution; equal to issue where there is none
  std::uint32_t index = 0;              ///< in the code
  std::uint16_t workgroup = 0, wave = 0, simd = 0;
  Unit unit = Unit::none;
  Stall stall = Stall::none;
};

struct RunOptions {
  unsigned warm_iterations = 3, iterations = 6;  ///< of each workgroup, steady state
  std::size_t trace_events = 0;                  ///< most events kept
  /// Clocks between the starts of resident workgroups; below 0: what the VALU needs for an iteration.
  Clock stagger = -1;
};

/// Shares of the window that a pipe was busy, mean over its copies.
struct Busy {
  double matrix = 0, valu = 0, salu = 0, lds = 0, vmem = 0, l2 = 0;
};

struct SteadyState {
  double cycles = 0;   ///< clocks per iteration of a workgroup at the WGP's throughput
  double latency = 0;  ///< clocks that one workgroup's own iteration takes
  Busy busy;
  /// Clocks per wave and iteration, by reason and by body step (index into Steps::list).
  std::array<double, stall_kinds> stalls{};
  struct StepStall {
    double clocks = 0;
    Stall worst = Stall::none;
  };
  std::vector<StepStall> step_stalls;
  /// From the start of the warm-up to one iteration of every workgroup past the window.
  std::vector<IssueEvent> trace;
  Clock begin = 0, end = 0;  ///< of the window that was counted
};

/// Clocks of the busiest VALU per workgroup iteration: the least that an iteration can take.
double valu_bound(const Steps& body, const Residency& residency, const target::Target& target);

/// Endless loop of `body`, workgroups out of step.
SteadyState steady_state(const Steps& body, const Residency& residency, const target::Target& target,
                         const RunOptions& options = {});

/// `total` workgroups from start to end, `residency.workgroups` at once, each with `iterations` of the
/// body: clocks from the first start to the last end.
Clock run_workgroups(const Prepared& kernel, unsigned iterations, unsigned total, const Residency& residency,
                     const target::Target& target, std::vector<IssueEvent>* trace = nullptr,
                     std::size_t trace_events = 0);

/// What else is known of a run of streams.
struct StreamDetails {
  Busy busy;                      ///< from the first start to the last end
  std::vector<IssueEvent> trace;  ///< `trace_events` at most
};

/// The same for recorded workgroups, in their order: of each, the stream of each of residency.waves waves
/// (prepare_streams). No steady state, no trip count, no mean cost is assumed.
Clock run_streams(std::span<const std::vector<const Steps*>> workgroups, const Residency& residency,
                  const target::Target& target, StreamDetails* details = nullptr,
                  std::size_t trace_events = 0);

}  // namespace wavejit::model
