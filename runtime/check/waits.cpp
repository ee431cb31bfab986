// SPDX-License-Identifier: MIT
// Loads in flight. For every register and every counter that a load of it may be counted on, the
// analysis keeps the fewest operations that were issued behind that load on any path ("age"): a wait
// that leaves at most N outstanding proves the load done iff its age is at least N, since operations of one
// class retire in order. Classes that retire out of order never age: only a wait for 0 proves them done.
// LDS and scalar loads share lgkmcnt before gfx12; scalar ones do not age the LDS ones, because they may
// retire first and prove nothing. Counters saturate: no more operations are outstanding than the counter can
// count, so that one behind which so many were issued is done, as if a wait for that count stood there.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <vector>

#include "runtime/check/analyses.hpp"
#include "runtime/check/solver.hpp"

namespace wavejit::check {
namespace {

/// What an outstanding load waits behind.
enum Class : unsigned {
  vector_class,
  lds_class,
  scalar_class,
  generic_vector,
  generic_lds,
  scratch_stores,
  class_count
};

/// Between blocks: age << 24 | step that issued the load; smaller = weaker guarantee.
constexpr std::uint32_t settled = 0xFFFFFFFF;
constexpr unsigned origin_bits = 24;
constexpr std::uint32_t origin_mask = (1U << origin_bits) - 1;
constexpr std::uint32_t oldest = 0xFE;
static_assert(most_steps <= origin_mask);

/// One class within a block: when each unit's last load was issued, on a clock of the class.
struct Lane {
  static constexpr std::uint32_t start = 0x100;
  std::uint32_t clock = start;
  std::uint32_t done = 0;             ///< loads issued at or before are finished
  std::vector<std::uint32_t> issued;  ///< per unit; 0 = nothing outstanding
  std::vector<std::uint32_t> origin;

  [[nodiscard]] bool pending(unsigned u) const { return issued[u] > done; }
};

class Waits {
 public:
  using State = std::vector<std::uint32_t>;  ///< active classes x units

  Waits(const Program& program, Reporter& reporter) : p_(program), reporter_(reporter) {
    units_ = program.units();
    for (const Step& s : program.steps) has_dealloc_ = has_dealloc_ || s.is(trait::dealloc_message);
    std::array<bool, class_count> used{};
    for (const Step& s : program.steps)
      for (unsigned c = 0; c < class_count; ++c) used[c] = used[c] || issues(s, static_cast<Class>(c));
    for (unsigned c = 0; c < class_count; ++c)
      if (used[c]) classes_.push_back(static_cast<Class>(c));
    for (const Class c : classes_) {
      lanes_[c].issued.assign(units_, 0);
      lanes_[c].origin.assign(units_, 0);
    }
    find_exposure();
  }

  [[nodiscard]] bool idle() const { return classes_.empty(); }
  void report_now() { reporting_ = true; }

  State entry() { return State(classes_.size() * units_, settled); }

  bool join(State& into, const State& from) {
    std::uint32_t changed = 0;
    for (std::size_t i = 0; i < into.size(); ++i) {
      const std::uint32_t weaker = std::min(into[i], from[i]);
      changed |= weaker ^ into[i];
      into[i] = weaker;
    }
    return changed != 0;
  }

  void start(State& state) {
    const std::uint32_t* key = state.data();
    for (const Class c : classes_) {
      Lane& lane = lanes_[c];
      lane.clock = Lane::start;
      lane.done = 0;
      for (std::size_t u = 0; u < units_; ++u, ++key) {
        lane.issued[u] = *key == settled ? 0 : Lane::start - (*key >> origin_bits);
        lane.origin[u] = *key & origin_mask;
      }
    }
  }

  void finish(State& state) {
    std::uint32_t* key = state.data();
    for (const Class c : classes_) {
      const Lane& lane = lanes_[c];
      for (std::size_t u = 0; u < units_; ++u, ++key) {
        const std::uint32_t age = std::min(lane.clock - lane.issued[u], oldest);
        *key = lane.issued[u] > lane.done ? age << origin_bits | lane.origin[u] : settled;
      }
    }
  }

  void step(State&, std::uint32_t index) {
    const Step& s = p_.steps[index];
    if (s.is(trait::wait)) apply_wait(wait_limits(p_.instruction(s), *p_.target));
    if (reporting_) {
      judge_accesses(s, index);
      if (s.is(trait::barrier)) judge_barrier(s, index);
      if (s.is(trait::dealloc_message)) judge_dealloc(s, index);
    }
    issue(s, index);
  }

 private:
  /// Whether the step puts an operation into class `c` (hardware.md §4.2).
  [[nodiscard]] bool issues(const Step& s, Class c) const {
    const bool stores_apart = p_.target->waits.vscnt != 0;
    const bool counted_store = s.is(trait::store) && !returns(s);
    switch (c) {
      case vector_class:
        return s.is(trait::vmem) && !s.is(trait::generic) && !(stores_apart && counted_store);
      case lds_class:
        return s.is(trait::lds);
      case scalar_class:
        return s.is(trait::smem) && returns(s);
      case generic_vector:
      case generic_lds:
        return s.is(trait::generic) && returns(s);
      case scratch_stores:
        return has_dealloc_ && s.is(trait::scratch) && s.is(trait::store);
      default:
        return false;
    }
  }
  [[nodiscard]] bool returns(const Step& s) const { return s.writes != s.end || s.is(trait::to_lds); }
  /// The most that the class's counter counts.
  [[nodiscard]] std::uint32_t capacity(Class c) const {
    return c == vector_class ? p_.target->waits.vmcnt : p_.target->waits.lgkmcnt;
  }
  static bool in_order(Class c) { return c == vector_class || c == lds_class; }

  void apply_wait(const WaitLimits& w) {
    const auto limit = [&](Class c, std::uint32_t n) {
      Lane& lane = lanes_[c];
      if (n == WaitLimits::none || lane.issued.empty()) return;
      if (in_order(c)) {
        if (n < lane.clock) lane.done = std::max(lane.done, lane.clock - n);
      } else if (n == 0) {
        lane.done = lane.clock;
      }
    };
    limit(vector_class, w.vector_load);
    limit(generic_vector, w.vector_load);
    limit(lds_class, w.lds);
    limit(generic_lds, w.lds);
    limit(scalar_class, w.scalar);
    limit(scratch_stores, p_.target->waits.vscnt != 0 ? w.vector_store : w.vector_load);
  }

  void issue(const Step& s, std::uint32_t index) {
    for (const Class c : classes_) {
      if (!issues(s, c)) continue;
      Lane& lane = lanes_[c];
      ++lane.clock;
      if (in_order(c)) lane.done = std::max(lane.done, lane.clock - capacity(c));
      for (const Access& a : p_.writes(s)) mark(lane, a.first, a.width, index);
      if (c == scratch_stores) mark(lane, unit::scratch, 1, index);
      if (c != lds_class) continue;
      if (s.is(trait::store)) mark(lane, unit::lds_stores, 1, index);
      if (s.is(trait::load)) mark(lane, unit::lds_loads, 1, index);
    }
  }
  void mark(Lane& lane, unsigned first, unsigned width, std::uint32_t index) {
    for (unsigned u = first; u < first + width; ++u) {
      lane.issued[u] = lane.clock;
      lane.origin[u] = index;
    }
  }

  void judge_accesses(const Step& s, std::uint32_t index) {
    for (const Access& a : p_.reads(s))
      if ((a.roles & role::keep) == 0) judge(s, index, a, Kind::read_in_flight);
    for (const Access& a : p_.writes(s)) judge(s, index, a, Kind::write_in_flight);
  }

  void judge(const Step& s, std::uint32_t index, const Access& a, Kind kind) {
    for (const Class c : classes_) {
      const Lane& lane = lanes_[c];
      // A second vector load to a register lands behind the first, where the target says so.
      if (kind == Kind::write_in_flight && c == vector_class && p_.target->waits.vmem_writes_in_order &&
          issues(s, vector_class)) {
        continue;
      }
      for (unsigned u = a.first; u < a.end(); ++u) {
        if (!lane.pending(u)) continue;
        if (reported_ == index && reported_class_ == c && reported_kind_ == kind) break;
        reported_ = index;
        reported_class_ = c;
        reported_kind_ = kind;
        complain(s, index, a, u, c, kind);
        break;
      }
    }
  }

  /// The counter that the class is waited for on, as the target's text names it.
  [[nodiscard]] std::string_view counter(Class c) const {
    const bool split = p_.target->waits.kmcnt != 0;
    switch (c) {
      case vector_class:
      case generic_vector:
        return split ? "loadcnt" : "vmcnt";
      case scalar_class:
        return split ? "kmcnt" : "lgkmcnt";
      default:
        return split ? "dscnt" : "lgkmcnt";
    }
  }

  /// "lgkmcnt(3) or less": the weakest wait here that would do.
  [[nodiscard]] std::string needed(Class c, unsigned u) const {
    const Lane& lane = lanes_[c];
    const std::uint32_t age = in_order(c) ? lane.clock - lane.issued[u] : 0;
    return age == 0 ? fmt::format("{}(0)", counter(c)) : fmt::format("{}({}) or less", counter(c), age);
  }

  void complain(const Step&, std::uint32_t index, const Access& a, unsigned u, Class c, Kind kind) {
    if (!reporter_.accepts(kind)) return;
    const std::uint32_t origin = lanes_[c].origin[u];
    std::string message = fmt::format(
        "{} is {} while the load at {} may not have written it; a wait for {} must come before on every path",
        unit_name(p_, a.first, a.width), kind == Kind::read_in_flight ? "read" : "overwritten",
        place(p_, p_.steps[origin]), needed(c, u));
    reporter_.add(kind, p_.steps[index].instruction, std::move(message), path_between(p_, origin, index));
  }

  // ---- barriers

  /// LDS operations that may be executed behind a point and before the next barrier.
  enum Exposure : std::uint8_t { exposes_load = 1, exposes_store = 2 };

  /// `ended` tells whether a barrier stops the scan inside [first, end).
  [[nodiscard]] std::uint8_t scan(std::uint32_t first, std::uint32_t end, bool& ended) const {
    std::uint8_t seen = 0;
    for (std::uint32_t s = first; s < end; ++s) {
      const Step& step = p_.steps[s];
      if (step.is(trait::barrier)) {
        ended = true;
        return seen;
      }
      if (step.is(trait::lds | trait::generic) && step.is(trait::load)) seen |= exposes_load;
      if ((step.is(trait::lds | trait::generic) && step.is(trait::store)) || step.is(trait::to_lds))
        seen |= exposes_store;
    }
    return seen;
  }

  /// Backwards over the blocks until nothing changes; sets only grow, by two bits each.
  void find_exposure() {
    exposure_.assign(p_.blocks.size(), 0);
    std::vector<std::uint8_t> closed(p_.blocks.size(), 0);
    for (const std::uint32_t b : p_.order) {
      bool ended = false;
      exposure_[b] = scan(p_.blocks[b].first, p_.blocks[b].end, ended);
      closed[b] = ended ? 1 : 0;
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::uint32_t b : std::views::reverse(p_.order)) {
        if (closed[b] != 0) continue;
        const std::uint8_t more = exposure_[b] | behind(b);
        changed = changed || more != exposure_[b];
        exposure_[b] = more;
      }
    }
  }
  [[nodiscard]] std::uint8_t behind(std::uint32_t b) const {
    std::uint8_t seen = 0;
    for (const std::uint32_t to : p_.blocks[b].next)
      if (to != no_block) seen |= exposure_[to];
    return seen;
  }

  /// A workgroup of one wave orders its own LDS operations.
  [[nodiscard]] bool one_wave() const {
    const std::uint32_t lanes = p_.kernel->max_flat_workgroup_size;
    return lanes != 0 && lanes <= p_.target->wave_size;
  }

  void judge_barrier(const Step& s, std::uint32_t index) {
    const Lane& lane = lanes_[lds_class];
    if (lane.issued.empty() || one_wave()) return;
    const bool stores = lane.pending(unit::lds_stores);
    const bool loads = lane.pending(unit::lds_loads);
    if (!stores && !loads) return;
    const std::uint32_t b = p_.block_of[index];
    bool ended = false;
    std::uint8_t seen = scan(index + 1, p_.blocks[b].end, ended);
    if (!ended) seen |= behind(b);
    const auto report = [&](Kind kind, unsigned u, std::string_view what, std::string_view then) {
      if (!reporter_.accepts(kind)) return;
      const std::uint32_t origin = lane.origin[u];
      reporter_.add(
          kind, s.instruction,
          fmt::format("the LDS {} at {} may not be done when other waves pass this barrier and {}; a wait "
                      "for {} must come before",
                      what, place(p_, p_.steps[origin]), then, needed(lds_class, u)),
          path_between(p_, origin, index));
    };
    if (stores && (seen & exposes_load) != 0) {
      report(Kind::lds_store_at_barrier, unit::lds_stores, "store", "load from LDS");
    } else if (stores && (seen & exposes_store) != 0) {
      report(Kind::lds_order_at_barrier, unit::lds_stores, "store", "store to LDS");
    }
    if (loads && (seen & exposes_store) != 0)
      report(Kind::lds_order_at_barrier, unit::lds_loads, "load", "store to LDS");
  }

  /// Scratch memory goes with the VGPRs: its stores must be done. They may retire behind other stores.
  void judge_dealloc(const Step& s, std::uint32_t index) {
    const Lane& lane = lanes_[scratch_stores];
    if (lane.issued.empty() || !lane.pending(unit::scratch)) return;
    if (!reporter_.accepts(Kind::dealloc_scratch)) return;
    const std::uint32_t origin = lane.origin[unit::scratch];
    reporter_.add(
        Kind::dealloc_scratch, s.instruction,
        fmt::format("the scratch store at {} may be in flight: a wait for {}(0) must come before",
                    place(p_, p_.steps[origin]), p_.target->waits.kmcnt != 0 ? "storecnt" : "vscnt"),
        path_between(p_, origin, index));
  }

  const Program& p_;
  Reporter& reporter_;
  bool has_dealloc_ = false;  ///< only then do scratch stores matter
  std::size_t units_ = 0;
  std::vector<Class> classes_;  ///< those that the kernel uses
  std::array<Lane, class_count> lanes_;
  std::vector<std::uint8_t> exposure_;  ///< per block, from its start
  bool reporting_ = false;
  std::uint32_t reported_ = 0xFFFFFFFF;  ///< one finding per step, class and kind
  Class reported_class_ = class_count;
  Kind reported_kind_ = Kind::count_;
};

}  // namespace

void check_waits(const Program& program, Reporter& reporter) {
  Waits waits(program, reporter);
  if (waits.idle()) return;
  Solver solver(program, waits);
  if (!solver.solve()) {
    reporter.add(Kind::too_complex,
                 "the waits could not be followed to the end: the control flow is too tangled");
    return;
  }
  waits.report_now();
  solver.sweep();
}

}  // namespace wavejit::check
