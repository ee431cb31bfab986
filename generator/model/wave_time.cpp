// SPDX-License-Identifier: MIT
#include "generator/model/wave_time.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace wavejit::model {
namespace {

constexpr auto nothing = Reason::count_;

bool is_vector_alu(Unit u) { return u == Unit::valu || u == Unit::trans || u == Unit::matrix; }

Reason waiting(Stall stall) {
  switch (stall) {
    case Stall::valu_queue:
      return Reason::queue;
    case Stall::dependency:
      return Reason::dependency;
    case Stall::valu_drain:
      return Reason::drain;
    case Stall::vector_memory:
      return Reason::vector_memory;
    case Stall::lds:
      return Reason::lds;
    case Stall::scalar_memory:
      return Reason::scalar_memory;
    case Stall::barrier:
      return Reason::barrier;
    case Stall::branch:
      return Reason::branch;
    default:
      return Reason::contention;
  }
}

Clock issue_clocks(const target::Target& target) {
  return target.timing.valu_queue > 0 ? 1 : target.timing.valu_issue;
}

/// Appends one event: what came between the one before and it, its wait, its issue.
void append(WaveLife& life, const IssueEvent& e, const IssueEvent* before, Clock gap) {
  const auto add = [&](Clock from, Clock to, std::uint32_t index, Reason reason) {
    if (to > from) life.segments.push_back({from, to, index, reason});
  };
  if (before != nullptr) {
    // The wave's next clock was moved by what it issued: a barrier or a branch.
    const bool barrier = before->unit == Unit::barrier || e.unit == Unit::barrier_wait;
    add(before->issue + gap, e.ready, e.unit == Unit::barrier_wait ? e.index : before->index,
        barrier ? Reason::barrier : Reason::branch);
    add(std::max(e.ready, before->issue + gap), e.issue, e.index, waiting(e.stall));
  }
  add(e.issue, e.issue + gap, e.index, issuing(e.unit));
}

/// One clock after the other of the counted window.
class Window {
 public:
  Window(const SteadyState& loop, const target::Target& target)
      : begin_(loop.begin), length_(static_cast<std::size_t>(std::max(loop.end - loop.begin, 1))) {
    pipes_.assign(target.simds_per_wgp, std::vector<Reason>(length_, nothing));
    lives_ = wave_lives(loop.trace, target);
    for (WaveLife& life : lives_) go_on(life, loop.end);
    waves_on_.resize(target.simds_per_wgp);
    for (const WaveLife& life : lives_) waves_on_[life.simd].push_back(&life);
    paint_pipes(loop.trace, target);
  }

  template <class F>
  void clocks(const Segment& s, F each) const {
    for (Clock c = std::max(s.from, begin_); c < std::min(s.to, begin_ + static_cast<Clock>(length_)); ++c)
      each(static_cast<std::size_t>(c - begin_));
  }
  [[nodiscard]] std::size_t length() const { return length_; }
  [[nodiscard]] const std::vector<WaveLife>& lives() const { return lives_; }
  [[nodiscard]] const std::vector<Reason>& pipe(unsigned simd) const { return pipes_[simd]; }
  [[nodiscard]] std::size_t simds() const { return pipes_.size(); }
  [[nodiscard]] std::size_t waves_on(unsigned simd) const { return waves_on_[simd].size(); }

 private:
  /// A wave that issues no more waits for its barrier, or for older waves that leave it no place.
  static void go_on(WaveLife& life, Clock end) {
    if (life.segments.empty() || life.segments.back().to >= end) return;
    const Segment last = life.segments.back();
    const Reason reason = last.reason == Reason::barrier ? Reason::barrier : Reason::queue;
    life.segments.push_back({last.to, end, last.index, reason});
  }
  void paint(unsigned simd, Clock from, Clock to, Reason reason, bool over) {
    clocks({from, to, 0, reason}, [&](std::size_t c) {
      if (over || pipes_[simd][c] == nothing) pipes_[simd][c] = reason;
    });
  }
  /// Work first, then what an instruction under way to the pipe waits for.
  void paint_pipes(std::span<const IssueEvent> trace, const target::Target& target) {
    const bool queued = target.timing.valu_queue > 0;
    for (const IssueEvent& e : trace) {
      if (!is_vector_alu(e.unit)) continue;
      const Clock end = e.unit == Unit::trans && queued ? e.start + target.timing.valu_issue : e.end;
      paint(e.simd, e.start, end, e.unit == Unit::matrix ? Reason::matrix : Reason::valu,
            e.unit == Unit::matrix);
    }
    if (!queued) return;
    for (const bool late : {true, false})
      for (const IssueEvent& e : trace) {
        if (!is_vector_alu(e.unit)) continue;
        const Clock there = std::min<Clock>(e.issue + target.timing.valu_start, e.start);
        paint(e.simd, late ? there : e.issue, late ? e.start : there,
              late ? Reason::dependency : Reason::start, false);
      }
  }

  Clock begin_;
  std::size_t length_;
  std::vector<std::vector<Reason>> pipes_;
  std::vector<WaveLife> lives_;
  std::vector<std::vector<const WaveLife*>> waves_on_;
};

}  // namespace

std::string_view name(Reason reason) {
  constexpr std::array<std::string_view, reasons> names{"matrix",
                                                        "other VALU",
                                                        "issue to execution",
                                                        "dependency",
                                                        "VALU queue full",
                                                        "memory behind own VALU",
                                                        "wait for vector memory",
                                                        "wait for LDS",
                                                        "wait for scalar memory",
                                                        "barrier",
                                                        "branch",
                                                        "issue slot taken",
                                                        "LDS issue",
                                                        "vector memory issue",
                                                        "scalar issue",
                                                        "waits and hints issue",
                                                        "no wave on the SIMD"};
  return reason < Reason::count_ ? names[static_cast<std::size_t>(reason)] : std::string_view();
}

Reason issuing(Unit unit) {
  switch (unit) {
    case Unit::matrix:
      return Reason::matrix;
    case Unit::valu:
    case Unit::trans:
      return Reason::valu;
    case Unit::lds:
      return Reason::issue_lds;
    case Unit::vmem_load:
    case Unit::vmem_store:
      return Reason::issue_memory;
    case Unit::salu:
    case Unit::scalar_load:
      return Reason::issue_scalar;
    case Unit::branch:
      return Reason::branch;
    default:
      return Reason::issue_other;
  }
}

std::vector<WaveLife> wave_lives(std::span<const IssueEvent> trace, const target::Target& target) {
  const Clock gap = issue_clocks(target);
  struct Open {
    WaveLife life;
    const IssueEvent* last = nullptr;
  };
  std::map<std::tuple<unsigned, unsigned, unsigned>, Open> open;
  for (const IssueEvent& e : trace) {
    Open& o = open[{e.simd, e.workgroup, e.wave}];
    o.life.workgroup = e.workgroup;
    o.life.wave = e.wave;
    o.life.simd = e.simd;
    append(o.life, e, o.last, gap);
    o.last = &e;
  }
  std::vector<WaveLife> lives;
  lives.reserve(open.size());
  for (auto& [key, o] : open) lives.push_back(std::move(o.life));
  return lives;
}

TimeAccount account(const SteadyState& loop, const Steps& body, const Residency& residency,
                    const target::Target& target, unsigned iterations) {
  TimeAccount result;
  std::unordered_map<std::size_t, std::size_t> row;
  for (const Step& s : body.list) {
    row.emplace(s.index, result.instructions.size());
    result.instructions.push_back({s.index, 0, Reason::issue_other, 0});
  }
  if (loop.trace.empty()) return result;
  const Window window(loop, target);
  const double counted = static_cast<double>(residency.workgroups) * iterations;
  const double pipe_clock = 1 / (counted * static_cast<double>(window.simds()));
  const double wave_clock = 1 / (counted * residency.waves);
  const auto at = [](Reason r) { return static_cast<std::size_t>(r); };
  for (unsigned simd = 0; simd < window.simds(); ++simd)
    for (const Reason r : window.pipe(simd)) {
      if (r != nothing) {
        result.pipe[at(r)] += pipe_clock;
      } else if (window.waves_on(simd) == 0) {
        result.pipe[at(Reason::empty)] += pipe_clock;
      }
    }
  // Waves that older ones leave no slot at all do not show in the trace.
  const std::size_t all = std::size_t{residency.workgroups} * residency.waves;
  const auto unseen = static_cast<double>(all - std::min(all, window.lives().size()));
  result.wave[at(Reason::queue)] += unseen * static_cast<double>(window.length()) * wave_clock;
  std::vector<Shares> stalls(result.instructions.size());
  for (const WaveLife& life : window.lives()) {
    const std::vector<Reason>& pipe = window.pipe(life.simd);
    const double share = pipe_clock / static_cast<double>(window.waves_on(life.simd));
    for (const Segment& s : life.segments) {
      const auto found = row.find(s.index);
      window.clocks(s, [&](std::size_t c) {
        result.wave[at(s.reason)] += wave_clock;
        const bool idle = pipe[c] == nothing;
        if (idle) result.pipe[at(s.reason)] += share;
        if (found == row.end()) return;
        if (idle) result.instructions[found->second].idle += share;
        if (s.reason > Reason::valu && s.reason < Reason::issue_lds)
          stalls[found->second][at(s.reason)] += wave_clock;
      });
    }
  }
  for (std::size_t i = 0; i < stalls.size(); ++i) {
    const auto worst = std::ranges::max_element(stalls[i]);
    for (const double clocks : stalls[i]) result.instructions[i].stall += clocks;
    if (*worst > 0) result.instructions[i].worst = static_cast<Reason>(worst - stalls[i].begin());
  }
  return result;
}

}  // namespace wavejit::model
