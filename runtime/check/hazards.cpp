// SPDX-License-Identifier: MIT
// Walks every path with the short list of instructions that may still be too near: each entry is a
// step that is the first of some rule, with its least distance from here on any path. An entry leaves the
// list when no rule asks for more distance. Lists are short (windows are at most 20 slots), so a step
// compares its registers with a handful of others.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "runtime/check/analyses.hpp"
#include "runtime/check/hazard_rules.hpp"
#include "runtime/check/solver.hpp"

namespace wavejit::check {
namespace {

using RuleSet = std::uint64_t;

/// A step that was issued a short while ago. Distances saturate.
struct Recent {
  std::uint32_t step = 0;
  RuleSet rules = 0;
  std::uint8_t slots = 0, valu = 0, real_valu = 0, trans = 0;
};

constexpr std::size_t most_recent = 256;
constexpr unsigned trans_gap_valu = 6, trans_gap_trans = 2;  // hardware.md §5.1

class Hazards {
 public:
  using State = std::vector<Recent>;  ///< by step, each once

  Hazards(const Program& program, Reporter& reporter) : p_(program), reporter_(reporter) {
    const auto all = hazard_rules();
    for (std::size_t r = 0; r < all.size(); ++r)
      if (program.target->hazards.*all[r].flag && reporter.enabled(all[r].kind)) active_ |= RuleSet{1} << r;
    if (active_ == 0) return;
    first_.resize(program.steps.size());
    second_.resize(program.steps.size());
    for (std::size_t s = 0; s < program.steps.size(); ++s) {
      for_each(active_, [&](unsigned r) {
        if (fits(all[r].first, program.steps[s])) first_[s] |= RuleSet{1} << r;
        if (fits(all[r].second, program.steps[s])) second_[s] |= RuleSet{1} << r;
      });
    }
  }

  [[nodiscard]] bool idle() const { return active_ == 0; }
  [[nodiscard]] bool overflowed() const { return overflowed_; }
  void report_now() { reporting_ = true; }

  State entry() { return {}; }
  void start(State&) {}
  void finish(State&) {}

  bool join(State& into, const State& from) {
    bool changed = false;
    for (const Recent& r : from) {
      const auto it = std::ranges::lower_bound(into, r.step, {}, &Recent::step);
      if (it == into.end() || it->step != r.step) {
        if (into.size() >= most_recent) {
          overflowed_ = true;
          continue;
        }
        into.insert(it, r);
        changed = true;
      } else {
        changed = weaken(*it, r) || changed;
      }
    }
    return changed;
  }

  void step(State& state, std::uint32_t index) {
    const Step& s = p_.steps[index];
    if (reporting_ && second_[index] != 0)
      for (const Recent& r : state) judge(r, index);
    advance(state, s);
    if (first_[index] == 0) return;
    const auto it = std::ranges::lower_bound(state, index, {}, &Recent::step);
    const Recent now{.step = index, .rules = first_[index]};
    if (it != state.end() && it->step == index) {
      *it = now;
    } else {
      state.insert(it, now);
    }
  }

 private:
  template <class F>
  static void for_each(RuleSet rules, F&& f) {
    for (; rules != 0; rules &= rules - 1) f(static_cast<unsigned>(std::countr_zero(rules)));
  }

  [[nodiscard]] bool in_file(const Access& a, Side::File file) const {
    namespace sreg = isa::sreg;
    switch (file) {
      case Side::File::vector:
        return p_.is_vector(a.first);
      case Side::File::scalar:
        return a.first < sreg::exec_lo && a.first != sreg::m0;
      case Side::File::exec:
        return a.first == sreg::exec_lo || a.first == sreg::exec_hi;
      case Side::File::m0:
        return a.first == sreg::m0;
      case Side::File::vcc:
        return a.first == sreg::vcc_lo || a.first == sreg::vcc_hi;
      default:
        return true;
    }
  }

  /// Calls f(access) for each register of `s` that `side` is about.
  template <class F>
  void each_access(const Side& side, const Step& s, F&& f) const {
    if (side.reads != 0)
      for (const Access& a : p_.reads(s))
        if ((a.roles & side.reads) != 0 && in_file(a, side.file)) f(a);
    if (side.writes)
      for (const Access& a : p_.writes(s))
        if (in_file(a, side.file)) f(a);
  }

  [[nodiscard]] bool fits(const Side& side, const Step& s) const {
    if (!s.is(side.any) || s.is(side.none)) return false;
    if (side.reads == 0 && !side.writes) return true;
    bool found = false;
    each_access(side, s, [&](const Access&) { found = true; });
    return found;
  }

  static bool weaken(Recent& into, const Recent& from) {
    const Recent before = into;
    into.slots = std::min(into.slots, from.slots);
    into.valu = std::min(into.valu, from.valu);
    into.real_valu = std::min(into.real_valu, from.real_valu);
    into.trans = std::min(into.trans, from.trans);
    into.rules |= from.rules;
    return into.slots != before.slots || into.valu != before.valu || into.real_valu != before.real_valu ||
           into.trans != before.trans || into.rules != before.rules;
  }

  static void add(std::uint8_t& count, unsigned n) {
    count = static_cast<std::uint8_t>(std::min(count + n, 255U));
  }

  [[nodiscard]] static unsigned distance(const Recent& r, Clock clock) {
    switch (clock) {
      case Clock::slots:
        return r.slots;
      case Clock::valu:
        return r.valu;
      case Clock::real_valu:
        return r.real_valu;
      case Clock::trans_gap:
        return r.valu >= trans_gap_valu || r.trans >= trans_gap_trans ? 1 : 0;
    }
    return 0;
  }

  [[nodiscard]] bool too_near(const Recent& r, unsigned rule) const {
    const Rule& row = hazard_rules()[rule];
    return distance(r, row.clock) < needed_distance(row, p_.steps[r.step], *p_.target);
  }

  void advance(State& state, const Step& s) {
    unsigned slots = 1;
    if (s.is(trait::nop)) slots += static_cast<unsigned>(p_.instruction(s).src[0].value & 0xFF);
    const bool flushes_valu = s.is(trait::vmem | trait::lds) ||
                              (s.is(trait::wait) && wait_limits(p_.instruction(s), *p_.target).valu_results);
    for (Recent& r : state) {
      add(r.slots, slots);
      if (s.is(trait::valu)) add(r.valu, 1);
      if (s.is(trait::valu) && !s.is(trait::v_nop)) add(r.real_valu, 1);
      if (s.is(trait::trans)) add(r.trans, 1);
      // Vector memory waits for all earlier VALU results before it issues (hardware.md §4.2).
      if (flushes_valu) add(r.trans, trans_gap_trans);
      RuleSet keep = 0;
      for_each(r.rules, [&](unsigned rule) {
        if (too_near(r, rule)) keep |= RuleSet{1} << rule;
      });
      r.rules = keep;
    }
    std::erase_if(state, [](const Recent& r) { return r.rules == 0; });
  }

  /// The register of the second that brings the rule about; nullptr when it does not apply.
  const Access* meeting_access(const Rule& rule, const Step& first, const Step& second) const {
    const Access* found = nullptr;
    const bool chains = rule.same_opcode_c_is_free && p_.instruction(first).op == p_.instruction(second).op;
    each_access(rule.second, second, [&](const Access& b) {
      if (found != nullptr) return;
      each_access(rule.first, first, [&](const Access& a) {
        if (found != nullptr || !a.overlaps(b)) return;
        const bool same = a.same(b);
        if (rule.meeting == Meeting::same && !same) return;
        if (rule.meeting == Meeting::different && same) return;
        if (chains && is_chain(second, b)) return;
        found = &b;
      });
    });
    return found;
  }

  /// Whether `b` is only the accumulator of a dot product.
  [[nodiscard]] bool is_chain(const Step& s, const Access& b) const {
    return (b.roles & role::matrix_c) != 0 || &b >= p_.writes(s).data();
  }

  void judge(const Recent& r, std::uint32_t index) {
    for_each(r.rules & second_[index], [&](unsigned rule) {
      if (!too_near(r, rule)) return;
      const Rule& row = hazard_rules()[rule];
      const Step& first = p_.steps[r.step];
      const Step& second = p_.steps[index];
      std::string where;
      if (row.meeting != Meeting::always) {
        const Access* a = meeting_access(row, first, second);
        if (a == nullptr) return;
        where = fmt::format(" ({})", unit_name(p_, a->first, a->width));
      }
      complain(row, r, index, where);
    });
  }

  void complain(const Rule& row, const Recent& r, std::uint32_t index, std::string_view where) {
    if (!reporter_.accepts(row.kind, row.source)) return;
    const Step& first = p_.steps[r.step];
    const unsigned need = needed_distance(row, first, *p_.target);
    std::string expected;
    switch (row.clock) {
      case Clock::slots:
        expected = fmt::format("{} wait states are needed between, {} are there", need, r.slots);
        break;
      case Clock::trans_gap:
        expected = fmt::format(
            "{} VALU or {} transcendental instructions or a wait for va_vdst(0) are needed between, "
            "{} and {} are there",
            trans_gap_valu, trans_gap_trans, r.valu, r.trans);
        break;
      default:
        expected = "a VALU instruction is needed between";
        break;
    }
    reporter_.add(row.kind, RuleName{.text = row.what, .source = row.source}, p_.steps[index].instruction,
                  fmt::format("{}{} too early behind {}: {}", row.what, where, place(p_, first), expected),
                  path_between(p_, r.step, index));
  }

  const Program& p_;
  Reporter& reporter_;
  RuleSet active_ = 0;
  std::vector<RuleSet> first_, second_;  ///< per step: rules that it may be a side of
  bool overflowed_ = false;
  bool reporting_ = false;
};

}  // namespace

void check_hazards(const Program& program, Reporter& reporter) {
  Hazards hazards(program, reporter);
  if (hazards.idle()) return;
  Solver solver(program, hazards);
  const bool solved = solver.solve();
  if (!solved || hazards.overflowed()) {
    reporter.add(Kind::too_complex,
                 "the hazards could not be followed to the end: the control flow is too tangled");
    if (!solved) return;
  }
  hazards.report_now();
  solver.sweep();
}

}  // namespace wavejit::check
