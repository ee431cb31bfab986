// SPDX-License-Identifier: MIT
// What LDS may hold when it is loaded. Addresses are not known here, so only the coarse order is judged:
// with no store on any path the load reads nothing that was ever written; with stores but, on some path,
// no barrier since the first of them, waves cannot have exchanged anything, and the load is right only if
// each wave reads what it stored itself. A barrier too few inside a loop is beyond this; the simulator
// sees it.
#include "runtime/check/analyses.hpp"
#include "runtime/check/solver.hpp"

namespace wavejit::check {
namespace {

/// How paths to a point may have treated LDS so far; a bit set.
enum History : std::uint8_t {
  untouched = 1,  ///< no store
  stored = 2,     ///< stores, no barrier behind any
  exchanged = 4,  ///< a store and a barrier behind it
};

class LdsFlow {
 public:
  using State = std::uint8_t;

  LdsFlow(const Program& program, Reporter& reporter) : p_(program), reporter_(reporter) {
    const std::uint32_t lanes = program.kernel->max_flat_workgroup_size;
    one_wave_ = lanes != 0 && lanes <= program.target->wave_size;
  }
  void report_now() { reporting_ = true; }

  State entry() { return untouched; }
  void start(State&) {}
  void finish(State&) {}
  bool join(State& into, const State& from) {
    const State before = into;
    into |= from;
    return into != before;
  }

  void step(State& state, std::uint32_t index) {
    const Step& s = p_.steps[index];
    // A generic access may go to LDS or elsewhere: it counts as a store, but its loads are not judged.
    const bool stores = (s.is(trait::lds | trait::generic) && s.is(trait::store)) || s.is(trait::to_lds);
    const bool loads = s.is(trait::lds) && s.is(trait::load) && !s.is(trait::store);
    if (loads && reporting_) judge(state, s);
    if (stores && (state & untouched) != 0) state = static_cast<State>((state & ~untouched) | stored);
    if (s.is(trait::barrier) && (state & stored) != 0)
      state = static_cast<State>((state & ~stored) | exchanged);
  }

 private:
  void judge(State state, const Step& s) {
    if (state == untouched) {
      reporter_.add(Kind::undefined_lds, s.instruction, "LDS is loaded, but no path has stored to it");
    } else if ((state & stored) != 0 && !one_wave_) {
      reporter_.add(
          Kind::lds_without_barrier, s.instruction,
          "LDS is loaded, and on a path to here there are stores but no barrier behind any of them");
    }
  }

  const Program& p_;
  Reporter& reporter_;
  bool one_wave_ = false;
  bool reporting_ = false;
};

}  // namespace

void check_lds_flow(const Program& program, Reporter& reporter) {
  LdsFlow flow(program, reporter);
  Solver solver(program, flow);
  if (!solver.solve()) return reporter.add(Kind::too_complex, "LDS could not be followed to the end");
  flow.report_now();
  solver.sweep();
}

}  // namespace wavejit::check
