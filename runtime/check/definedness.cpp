// SPDX-License-Identifier: MIT
// Registers that are read before anything wrote them. Two sets per point: written on some path, and
// written on every path. Each VGPR counts as two halves, so that a 16-bit result defines its half
// only; a read is fine when one of the halves it reads is written, because code may mask the other
// away; the unwritten upper half of a 64-bit VALU source is only a warning, because the lower half of the
// result may be all that is wanted. EXEC is not followed: a write counts for all lanes. What the packet
// processor fills at entry comes from the descriptor (hardware.md §9.2).
#include <fmt/format.h>

#include <algorithm>

#include "generator/support/bitset.hpp"
#include "runtime/check/analyses.hpp"
#include "runtime/check/solver.hpp"

namespace wavejit::check {
namespace {

struct Written {
  BitSet on_some, on_every;  ///< 2 * unit + half
};

class Definedness {
 public:
  using State = Written;

  Definedness(const Program& program, Reporter& reporter)
      : p_(program), reporter_(reporter), reported_(program.units()) {}
  void report_now() { reporting_ = true; }

  State entry() {
    BitSet set(2 * std::size_t{p_.units()});
    const Setup setup = read_setup(p_.kernel->descriptor, *p_.target);
    const auto define = [&](unsigned first, unsigned count) {
      for (unsigned u = first; u < first + count && u < p_.units(); ++u) put(set, u, both_halves);
    };
    define(0, std::min<unsigned>(setup.enabled_sgprs, p_.target->addressable_sgprs));
    unsigned next = setup.user_sgprs;
    if (!p_.target->workgroup_ids_in_ttmp) {
      for (const bool enabled : setup.workgroup_id)
        if (enabled) define(next++, 1);
      if (setup.workgroup_info) define(next++, 1);
    } else {
      constexpr unsigned id_yz = 7, id_x = 9;
      define(isa::sreg::ttmp0 + id_yz, 1);
      define(isa::sreg::ttmp0 + id_x, 1);
    }
    define(isa::sreg::exec_lo, 2);
    define(isa::sreg::flat_scratch_lo, 4);  // and xnack_mask
    if (p_.vgprs > 0) define(unit::first_vgpr, 1);
    return {.on_some = set, .on_every = set};
  }

  void start(State&) {}
  void finish(State&) {}
  bool join(State& into, const State& from) {
    const bool some = into.on_some.unite(from.on_some);
    return into.on_every.intersect(from.on_every) || some;
  }

  void step(State& state, std::uint32_t index) {
    const Step& s = p_.steps[index];
    if (reporting_)
      for (const Access& a : p_.reads(s))
        if ((a.roles & role::keep) == 0) judge(state, a, index);
    for (const Access& a : p_.writes(s)) write(state, a.first, a.end(), a.halves);
    // Any of the VGPRs from there on: code that indexes is trusted with what it reads back.
    if (s.indexed_write != 0) write(state, s.indexed_write, unit::first_vgpr + p_.vgprs, both_halves);
  }

 private:
  static void write(State& state, unsigned first, unsigned end, std::uint8_t halves) {
    for (unsigned u = first; u < end; ++u) {
      put(state.on_some, u, halves);
      put(state.on_every, u, halves);
    }
  }
  static void put(BitSet& set, unsigned u, std::uint8_t halves) {
    if ((halves & low_half) != 0) set.set(2 * std::size_t{u});
    if ((halves & high_half) != 0) set.set(2 * std::size_t{u} + 1);
  }
  static bool any(const BitSet& set, unsigned u, std::uint8_t halves) {
    return ((halves & low_half) != 0 && set.test(2 * std::size_t{u})) ||
           ((halves & high_half) != 0 && set.test(2 * std::size_t{u} + 1));
  }

  /// One finding per register and kernel.
  void judge(const State& state, const Access& a, std::uint32_t index) {
    const unsigned first = (a.roles & role::second_only) != 0 ? a.first + 1U : a.first;
    const unsigned end = (a.roles & role::first_only) != 0 ? a.first + 1U : a.end();
    for (unsigned u = first; u < end; ++u) {
      if (any(state.on_every, u, a.halves) || reported_.test(u)) continue;
      reported_.set(u);
      const char* half = a.halves == both_halves ? "" : a.halves == low_half ? " (low half)" : " (high half)";
      const Step& s = p_.steps[index];
      const bool wide_source = s.is(trait::valu) && (a.roles & role::data) != 0 && a.width == 2 &&
                               u > first && any(state.on_every, first, both_halves);
      if (any(state.on_some, u, a.halves)) {
        if (!reporter_.accepts(Kind::partly_written)) continue;
        reporter_.add(Kind::partly_written, s.instruction,
                      fmt::format("{}{} is read, but not every path has written it", unit_name(p_, u), half),
                      path_without_write(p_, index, u));
      } else {
        reporter_.add(wide_source ? Kind::partly_written : Kind::undefined_register, s.instruction,
                      fmt::format("{}{} is read, but nothing has written it", unit_name(p_, u), half));
      }
    }
  }

  const Program& p_;
  Reporter& reporter_;
  BitSet reported_;
  bool reporting_ = false;
};

}  // namespace

void check_definedness(const Program& program, Reporter& reporter) {
  if (!reporter.enabled(Kind::undefined_register) && !reporter.enabled(Kind::partly_written)) return;
  Definedness definedness(program, reporter);
  Solver solver(program, definedness);
  if (!solver.solve()) return reporter.add(Kind::too_complex, "definedness could not be followed to the end");
  definedness.report_now();
  solver.sweep();
}

}  // namespace wavejit::check
