// SPDX-License-Identifier: MIT
// Private to model/: the state machine behind cycles.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <queue>
#include <vector>

#include "generator/model/cycles.hpp"

namespace wavejit::model {

/// Completion times of one counter of one wave, in order.
class InFlight {
 public:
  void add(Clock done) {
    latest_ = std::max(latest_, done);
    done_[issued_++ % depth] = latest_;
  }
  /// When at most `left` operations are still out.
  [[nodiscard]] Clock when(unsigned left) const {
    if (left >= issued_ || left >= depth) return 0;
    return done_[(issued_ - left - 1) % depth];
  }

 private:
  static constexpr unsigned depth = 64;
  std::array<Clock, depth> done_{};
  unsigned issued_ = 0;
  Clock latest_ = 0;
};

/// A register group: when VALU may execute, scalar and memory instructions may issue, that read it.
struct Ready {
  Clock valu = 0, scalar = 0, memory = 0;
};

struct WaveState {
  unsigned workgroup = 0, number = 0, simd = 0, cu = 0;
  std::uint32_t age = 0;  ///< order of start: older waves go first
  bool waits_for_queue = false;
  const Steps* stream = nullptr;  ///< what it runs, if recorded
  unsigned stretch = 0, step = 0, iteration = 0;
  Clock next = 0;              ///< one clock after its last issue, or after what that cost
  Clock drained = 0;           ///< memory instructions may issue: all VALU executed
  Stall resume = Stall::none;  ///< why `next` is later than the last issue
  std::vector<Ready> ready;
  std::array<InFlight, counters> flight;
};

struct WorkgroupState {
  unsigned arrived = 0, running = 0, generation = 0;
  Clock released = 0;
  std::vector<unsigned> parked;
};

class Engine {
 public:
  struct Plan {
    std::array<const Steps*, 3> stretches{};  ///< prologue, body, epilogue; nullptr = skipped
    unsigned iterations = 0;                  ///< 0 = endless
    unsigned total = 0;                       ///< workgroups to run; 0 = the resident ones, endless
    Clock stagger = 0;                        ///< clocks between the starts of resident workgroups
    /// Recorded streams in place of stretches: of each workgroup, in order of start, of each wave.
    std::span<const std::vector<const Steps*>> streams = {};
  };
  Engine(const Plan& plan, const Residency& residency, const target::Target& target,
         std::size_t trace_events);

  /// Until the workgroups have done `iterations` in sum, or have ended. Returns the clock.
  Clock run(std::uint64_t iterations);
  void reset_statistics(Clock now);

  struct Statistics {
    Clock since = 0;
    double matrix = 0, valu = 0, salu = 0, lds = 0, vmem = 0, l2 = 0;  ///< busy clocks of all copies
    std::array<double, stall_kinds> stalls{};
    std::vector<std::array<float, stall_kinds>> by_step;
  };
  [[nodiscard]] const Statistics& statistics() const { return statistics_; }
  [[nodiscard]] std::vector<IssueEvent> take_trace() { return std::move(trace_); }

 private:
  static constexpr unsigned queue_ring = 16;
  enum class Slot : std::uint8_t { valu, scalar, lds, vmem, other, count_ };
  struct Simd {
    std::array<Clock, static_cast<std::size_t>(Slot::count_)> slot{};
    std::array<Clock, queue_ring> starts{};  ///< execution starts of the latest queued instructions
    unsigned queued = 0;
    Clock valu_free = 0, trans_free = 0, matrix_free = 0;
    /// Waves whose next instruction only lacks a place in the queue. One of them, the candidate, has an
    /// event at the clock at which there is one; the oldest then gets it.
    std::vector<std::uint32_t> waiting;
    bool candidate = false;
  };
  struct Constraint {
    Clock at = 0;
    Stall why = Stall::none;
    void after(Clock when, Stall reason) {
      if (when > at) {
        at = when;
        why = reason;
      }
    }
  };
  using Entry = std::pair<Clock, std::uint32_t>;  ///< time, wave

  void start_workgroup(unsigned slot, Clock at);
  void advance(std::uint32_t w);
  bool queue_up(std::uint32_t& index, const Step& s);
  void call_next(Simd& simd);
  [[nodiscard]] static Clock queue_free(const Simd& simd, unsigned depth) {
    return simd.queued >= depth ? simd.starts[(simd.queued - depth) % queue_ring] : 0;
  }
  [[nodiscard]] const Steps& steps(const WaveState& w) const {
    return w.stream != nullptr ? *w.stream : *plan_.stretches[w.stretch];
  }
  [[nodiscard]] const Step& step(const WaveState& w) const { return steps(w).list[w.step]; }
  [[nodiscard]] Constraint earliest(const WaveState& w, const Step& s) const;
  void operands(const WaveState& w, const Step& s, Constraint& c) const;
  void issue(WaveState& w, const Step& s, Clock at, Stall why);
  Clock execute(WaveState& w, const Step& s, Clock at);
  Clock access_lds(const WaveState& w, const Step& s, Clock at);
  Clock access_memory(const WaveState& w, const Step& s, Clock at);
  bool meet(WaveState& w, const Step& s, Clock at);
  void arrive(WaveState& w, Clock at);
  bool next_step(WaveState& w, Clock at);
  bool end_wave(const WaveState& w, Clock at);
  void record(const WaveState& w, const Step& s, Clock at, Clock start, Clock end, Stall why);
  static Slot slot_of(Unit unit);

  Plan plan_;
  Residency residency_;
  const target::Target& target_;
  const target::Timing& t_;
  Clock gap_;       ///< between two issues of a wave
  double l2_rate_;  ///< bytes per clock of the WGP
  unsigned cus_;    ///< LDS and memory ports
  std::vector<WaveState> waves_;
  std::vector<WorkgroupState> groups_;
  std::vector<Simd> simds_;
  std::vector<Clock> lds_free_, vmem_free_;
  double l2_free_ = 0;
  unsigned started_ = 0;
  /// Of workgroups that meet at barriers, by their first wave; without barriers waves run apart and each
  /// counts.
  std::uint64_t iterations_done_ = 0;
  bool every_wave_counts_ = false;
  Clock now_ = 0;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> events_;
  Statistics statistics_;
  std::vector<IssueEvent> trace_;
  std::size_t trace_limit_;
};

}  // namespace wavejit::model
