// SPDX-License-Identifier: MIT
#include "generator/model/engine.hpp"

namespace wavejit::model {
namespace {

bool is_vector_alu(Unit u) { return u == Unit::valu || u == Unit::trans || u == Unit::matrix; }
bool is_memory(Unit u) { return u == Unit::lds || u == Unit::vmem_load || u == Unit::vmem_store; }
std::size_t at(Counter c) { return static_cast<std::size_t>(c); }
std::size_t at(Stall s) { return static_cast<std::size_t>(s); }

}  // namespace

Engine::Engine(const Plan& plan, const Residency& residency, const target::Target& target,
               std::size_t trace_events)
    : plan_(plan),
      residency_(residency),
      target_(target),
      t_(target.timing),
      gap_(t_.valu_queue > 0 ? 1 : t_.valu_issue),
      cus_(target.generation == target::Generation::gfx9 ? 1 : target.simds_per_wgp / 2),
      trace_limit_(trace_events) {
  l2_rate_ = t_.l2_bytes_per_clock * cus_;
  simds_.resize(target.simds_per_wgp);
  lds_free_.assign(cus_, 0);
  vmem_free_.assign(cus_, 0);
  const Steps* any = !plan.streams.empty()          ? plan.streams.front().front()
                     : plan.stretches[1] != nullptr ? plan.stretches[1]
                                                    : plan.stretches[0];
  groups_.resize(residency.workgroups);
  waves_.resize(std::size_t{residency.workgroups} * residency.waves);
  for (unsigned i = 0; i < waves_.size(); ++i) {
    WaveState& w = waves_[i];
    w.workgroup = i / residency.waves;
    w.number = i % residency.waves;
    const unsigned per_cu = target.simds_per_wgp / cus_;
    // In CU mode workgroups take the CUs in turn, and the waves of those of one CU its SIMDs.
    w.simd = residency.wgp_mode || cus_ == 1
                 ? i % target.simds_per_wgp
                 : w.workgroup % cus_ * per_cu + (w.workgroup / cus_ * residency.waves + w.number) % per_cu;
    w.cu = w.simd / per_cu;
    w.ready.resize(any->atom_count);
  }
  if (plan.stretches[1] != nullptr) {
    const std::vector<Step>& body = plan.stretches[1]->list;
    statistics_.by_step.resize(body.size());
    every_wave_counts_ = std::ranges::none_of(
        body, [](const Step& s) { return s.unit == Unit::barrier || s.unit == Unit::barrier_wait; });
  }
  for (unsigned g = 0; g < residency.workgroups; ++g)
    if (plan.total == 0 || g < plan.total) start_workgroup(g, static_cast<Clock>(g) * plan.stagger);
}

void Engine::start_workgroup(unsigned slot, Clock when) {
  const unsigned number = started_++;
  groups_[slot] = {.arrived = 0, .running = residency_.waves, .generation = 0, .released = 0, .parked = {}};
  for (unsigned i = 0; i < residency_.waves; ++i) {
    const std::uint32_t index = slot * residency_.waves + i;
    WaveState& w = waves_[index];
    w.stream = plan_.streams.empty() ? nullptr : plan_.streams[number][i];
    const bool from_body = plan_.stretches[0] == nullptr || plan_.stretches[0]->list.empty();
    w.stretch = w.stream == nullptr && from_body ? 1 : 0;
    w.step = w.iteration = 0;
    w.next = when;
    w.age = started_ * residency_.waves + i;
    w.waits_for_queue = false;
    w.drained = 0;
    w.resume = Stall::none;
    std::ranges::fill(w.ready, Ready{});
    w.flight = {};
    events_.emplace(when, index);
  }
}

Clock Engine::run(std::uint64_t iterations) {
  if (every_wave_counts_ && iterations < ~std::uint64_t{0} / residency_.waves) iterations *= residency_.waves;
  while (!events_.empty() && iterations_done_ < iterations) {
    const auto [when, index] = events_.top();
    events_.pop();
    now_ = when;
    advance(index);
  }
  return now_;
}

void Engine::reset_statistics(Clock now) {
  const std::size_t steps = statistics_.by_step.size();
  statistics_ = {};
  statistics_.since = now;
  statistics_.by_step.resize(steps);
}

/// Issues instructions of one wave until another wave is due.
void Engine::advance(std::uint32_t index) {
  for (;;) {
    const Step* s = &step(waves_[index]);
    Constraint c = earliest(waves_[index], *s);
    const Clock horizon = events_.empty() ? c.at : events_.top().first;
    if (c.at > now_ && c.at > horizon) {
      events_.emplace(c.at, index);
      return;
    }
    now_ = std::max(now_, c.at);
    if (t_.valu_queue > 0 && is_vector_alu(s->unit)) {
      if (!queue_up(index, *s)) return;
      s = &step(waves_[index]);
      c.at = now_;
      if (waves_[index].waits_for_queue) c.why = Stall::valu_queue;
      waves_[index].waits_for_queue = false;
    }
    WaveState& w = waves_[index];
    if (!meet(w, *s, c.at)) return;  // parked at a barrier
    const bool vector = is_vector_alu(s->unit);
    issue(w, *s, c.at, c.why);
    if (vector && t_.valu_queue > 0) call_next(simds_[w.simd]);
    if (!next_step(w, c.at)) return;
    if (events_.empty() || w.next > events_.top().first) {
      events_.emplace(w.next, index);
      return;
    }
  }
}

/// A place in the SIMD's queue for a wave that lacks nothing else: true with `index` the wave that gets it
/// now (an older one may have come meanwhile), false when it has to wait.
bool Engine::queue_up(std::uint32_t& index, const Step&) {
  WaveState& w = waves_[index];
  Simd& simd = simds_[w.simd];
  const Clock free =
      std::max(queue_free(simd, t_.valu_queue), simd.slot[static_cast<std::size_t>(Slot::valu)]);
  if (w.waits_for_queue) {  // the candidate's event
    simd.candidate = false;
    const auto oldest =
        std::ranges::min_element(simd.waiting, {}, [&](std::uint32_t i) { return waves_[i].age; });
    if (oldest != simd.waiting.end() && waves_[*oldest].age < w.age) std::swap(*oldest, index);
    return true;
  }
  if (!simd.candidate && free <= now_) return true;
  w.waits_for_queue = true;
  if (simd.candidate) {
    simd.waiting.push_back(index);
  } else {
    simd.candidate = true;
    events_.emplace(free, index);
  }
  return false;
}

/// After an issue: the next waiting wave gets an event.
void Engine::call_next(Simd& simd) {
  if (simd.candidate || simd.waiting.empty()) return;
  const auto oldest =
      std::ranges::min_element(simd.waiting, {}, [&](std::uint32_t i) { return waves_[i].age; });
  const Clock free =
      std::max(queue_free(simd, t_.valu_queue), simd.slot[static_cast<std::size_t>(Slot::valu)]);
  events_.emplace(std::max(free, now_), *oldest);
  *oldest = simd.waiting.back();
  simd.waiting.pop_back();
  simd.candidate = true;
}

Engine::Slot Engine::slot_of(Unit unit) {
  switch (unit) {
    case Unit::valu:
    case Unit::trans:
    case Unit::matrix:
      return Slot::valu;
    case Unit::salu:
    case Unit::scalar_load:
      return Slot::scalar;
    case Unit::lds:
      return Slot::lds;
    case Unit::vmem_load:
    case Unit::vmem_store:
      return Slot::vmem;
    default:
      return Slot::other;
  }
}

void Engine::operands(const WaveState& w, const Step& s, Constraint& c) const {
  const Steps& steps = this->steps(w);
  const bool queued = t_.valu_queue > 0;
  for (unsigned i = 0; i < s.reads; ++i) {
    const Ready& r = w.ready[steps.atoms[s.first_read + i]];
    if (is_vector_alu(s.unit)) {
      if (!queued) c.after(r.valu, Stall::dependency);
      if (queued && s.hinted) c.after(r.valu - t_.valu_start, Stall::dependency);
    } else if (is_memory(s.unit)) {
      c.after(r.memory, Stall::valu_drain);
    } else if (s.unit == Unit::branch) {
      c.after(r.scalar + t_.compare_branch - t_.salu_dependent, Stall::branch);
    } else {
      c.after(r.scalar, Stall::dependency);
    }
  }
}

/// The clock at which the wave can issue, as things stand, and what it waits for.
Engine::Constraint Engine::earliest(const WaveState& w, const Step& s) const {
  Constraint c{w.next, w.resume};
  const Simd& simd = simds_[w.simd];
  if (s.salu_delay > 0) c.after(w.next + s.salu_delay, Stall::dependency);
  operands(w, s, c);
  if (is_memory(s.unit) && t_.memory_waits_for_valu) c.after(w.drained, Stall::valu_drain);
  if (is_vector_alu(s.unit)) {
    if (t_.valu_queue > 0) return c;  // its place in the queue: queue_up
    c.after(s.unit == Unit::matrix ? simd.matrix_free : simd.valu_free, Stall::valu_queue);
  }
  if (s.unit == Unit::wait) {
    constexpr std::array reasons{Stall::vector_memory, Stall::vector_memory, Stall::lds,
                                 Stall::scalar_memory};
    for (std::size_t i = 0; i < counters; ++i)
      if (s.left[i] != no_wait) c.after(w.flight[i].when(s.left[i]), reasons[i]);
  }
  if (s.unit == Unit::barrier_wait && groups_[w.workgroup].arrived == 0)
    c.after(groups_[w.workgroup].released, Stall::barrier);
  if (s.unit != Unit::wait && s.unit != Unit::none)
    c.after(simd.slot[static_cast<std::size_t>(slot_of(s.unit))], Stall::issue);
  return c;
}

/// Barriers: false when the wave has to be parked until the last one comes.
bool Engine::meet(WaveState& w, const Step& s, Clock when) {
  if (s.unit != Unit::barrier && s.unit != Unit::barrier_wait) return true;
  WorkgroupState& g = groups_[w.workgroup];
  if (s.unit == Unit::barrier) {
    arrive(w, when);
    if (g.arrived != 0) {
      record(w, s, when, when, when, Stall::none);
      g.parked.push_back(w.workgroup * residency_.waves + w.number);
      return false;
    }
    return true;
  }
  if (g.arrived == 0) return true;
  g.parked.push_back(w.workgroup * residency_.waves + w.number);
  return false;
}

void Engine::arrive(WaveState& w, Clock when) {
  WorkgroupState& g = groups_[w.workgroup];
  if (++g.arrived < residency_.waves) return;
  g.arrived = 0;
  g.released = when + t_.barrier;
  for (const unsigned index : g.parked) {
    WaveState& other = waves_[index];
    const Step& s = step(other);
    const Clock waited = g.released - other.next;
    if (waited > 0) {
      statistics_.stalls[at(Stall::barrier)] += waited;
      if (other.stretch == 1)
        statistics_.by_step[other.step][at(Stall::barrier)] += static_cast<float>(waited);
    }
    other.next = g.released;
    other.resume = Stall::none;
    if (s.unit == Unit::barrier && !next_step(other, g.released)) continue;
    events_.emplace(other.next, index);
  }
  g.parked.clear();
}

void Engine::issue(WaveState& w, const Step& s, Clock when, Stall why) {
  Simd& simd = simds_[w.simd];
  if (why != Stall::none && when > w.next) {
    const double waited = when - w.next;
    statistics_.stalls[at(why)] += waited;
    if (w.stretch == 1) statistics_.by_step[w.step][at(why)] += static_cast<float>(waited);
  }
  simd.slot[static_cast<std::size_t>(slot_of(s.unit))] = when + gap_;
  const Clock before = w.next;
  w.next = when + gap_;
  w.resume = Stall::none;
  Clock start = when, end = when;
  const Steps& steps = this->steps(w);
  const auto write = [&](const Ready& r) {
    for (unsigned i = 0; i < s.writes; ++i) w.ready[steps.atoms[s.first_write + i]] = r;
  };
  switch (s.unit) {
    case Unit::valu:
    case Unit::trans:
    case Unit::matrix:
      start = execute(w, s, when);
      end = start + s.hold;
      write({start + s.latency, end + t_.scalar_after, end + t_.memory_after});
      w.drained = std::max(w.drained, end + t_.memory_after);
      break;
    case Unit::salu:
      statistics_.salu += 1;
      write({when + t_.valu_after_salu + (t_.valu_queue > 0 ? t_.valu_start : 0), when + t_.salu_dependent,
             when + t_.salu_dependent});
      break;
    case Unit::scalar_load:
      w.flight[at(Counter::scalar)].add(when +
                                        (w.stretch == 0 ? t_.scalar_cold_latency : t_.scalar_load_latency));
      break;
    case Unit::lds:
      end = access_lds(w, s, when);
      w.flight[at(Counter::lds)].add(end);
      break;
    case Unit::vmem_load:
    case Unit::vmem_store: {
      end = access_memory(w, s, when);
      const bool store = s.unit == Unit::vmem_store && target_.waits.vscnt > 0;
      w.flight[at(store ? Counter::vector_stores : Counter::vector_loads)].add(end);
      break;
    }
    case Unit::branch:
      w.next = when + (s.taken ? t_.branch_taken : t_.branch_passed);
      break;
    case Unit::barrier_signal:
      arrive(w, when);
      break;
    case Unit::barrier:
      w.next = std::max(w.next, groups_[w.workgroup].released);
      break;
    default:
      break;
  }
  if (trace_.size() < trace_limit_)
    trace_.push_back({before, when, start, end, static_cast<std::uint32_t>(s.index),
                      static_cast<std::uint16_t>(w.workgroup), static_cast<std::uint16_t>(w.number),
                      static_cast<std::uint16_t>(w.simd), s.unit, why});
}

/// Execution start in the VALU, transcendental or matrix pipe.
Clock Engine::execute(WaveState& w, const Step& s, Clock when) {
  Simd& simd = simds_[w.simd];
  const Steps& steps = this->steps(w);
  const bool queued = t_.valu_queue > 0;
  Clock start = when;
  if (queued) {
    start = std::max(when + t_.valu_start, simd.valu_free);
    for (unsigned i = 0; i < s.reads; ++i)
      start = std::max(start, w.ready[steps.atoms[s.first_read + i]].valu);
  }
  if (s.unit == Unit::trans) start = std::max(start, simd.trans_free);
  if (s.unit == Unit::matrix && !t_.matrix_holds_valu) {
    simd.matrix_free = start + s.hold;
    simd.valu_free = start + t_.valu_issue;
  } else {
    simd.valu_free = start + (s.unit == Unit::trans && queued ? t_.valu_issue : s.hold);
  }
  if (s.unit == Unit::trans) simd.trans_free = start + s.hold;
  simd.starts[simd.queued++ % queue_ring] = start;
  (s.unit == Unit::matrix ? statistics_.matrix : statistics_.valu) += s.hold;
  return start;
}

Clock Engine::access_lds(const WaveState& w, const Step& s, Clock when) {
  Clock& port = lds_free_[w.cu];
  port = std::max(port, when) + s.port;
  statistics_.lds += s.port;
  return port + t_.lds_latency - 1;
}

Clock Engine::access_memory(const WaveState& w, const Step& s, Clock when) {
  Clock& port = vmem_free_[w.cu];
  port = std::max(port, when) + s.port;
  statistics_.vmem += s.port;
  l2_free_ = std::max(l2_free_, static_cast<double>(port)) + s.bytes / l2_rate_;
  statistics_.l2 += s.bytes / l2_rate_;
  return static_cast<Clock>(l2_free_) + t_.vmem_loaded_latency;
}

/// Moves on; false when the wave has ended.
bool Engine::next_step(WaveState& w, Clock when) {
  ++w.step;
  if (w.stream != nullptr) return w.step < w.stream->list.size() || end_wave(w, when);
  for (;;) {
    const Steps* steps = w.stretch < 3 ? plan_.stretches[w.stretch] : nullptr;
    if (steps != nullptr && w.step < steps->list.size()) return true;
    if (w.stretch == 1 && w.step > 0) {
      if (w.number == 0 || every_wave_counts_) ++iterations_done_;
      ++w.iteration;
      if (plan_.iterations == 0 || w.iteration < plan_.iterations) {
        w.step = 0;
        return true;
      }
    }
    w.step = 0;
    if (w.stretch >= 2) break;
    ++w.stretch;
  }
  return end_wave(w, when);
}

/// The last wave of a workgroup makes place for the next one. Always false.
bool Engine::end_wave(const WaveState& w, Clock when) {
  WorkgroupState& g = groups_[w.workgroup];
  now_ = std::max(now_, when);
  if (--g.running == 0 && started_ < plan_.total) start_workgroup(w.workgroup, when + t_.workgroup_start);
  return false;
}

void Engine::record(const WaveState& w, const Step& s, Clock when, Clock start, Clock end, Stall why) {
  if (trace_.size() < trace_limit_)
    trace_.push_back({w.next, when, start, end, static_cast<std::uint32_t>(s.index),
                      static_cast<std::uint16_t>(w.workgroup), static_cast<std::uint16_t>(w.number),
                      static_cast<std::uint16_t>(w.simd), s.unit, why});
}

}  // namespace wavejit::model
