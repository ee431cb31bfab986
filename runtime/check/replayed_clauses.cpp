// SPDX-License-Identifier: MIT
// Soft clauses of targets with XNACK. Scalar memory instructions directly behind one another, and likewise
// vector memory instructions, may be issued again as a whole when a page is not there. The second time, each
// must find what it read the first time: none of them may write its registers, nor may it itself unless it is
// alone. A store behind a load must be in another clause, since it may write what the load reads (both rules
// are LLVM's, GCNHazardRecognizer::checkSoftClauseHazards). Any other instruction, s_nop too, ends a clause;
// so do branches, but not the border of blocks by itself. Of an object that says xnack- nothing is judged.
#include <fmt/format.h>

#include <array>
#include <bitset>

#include "runtime/check/analyses.hpp"
#include "runtime/check/solver.hpp"

namespace wavejit::check {
namespace {

using Units = std::bitset<unit::first_vgpr + 2 * most_registers>;

/// What the clause that is open at a step reads and writes.
struct Clause {
  Units reads, writes;
  friend bool operator==(const Clause&, const Clause&) = default;
};

/// 0 scalar, 1 vector, 2 no memory instruction.
unsigned clause_of(const Step& s) {
  if (s.is(trait::smem)) return 0;
  return s.is(trait::vmem) ? 1 : 2;
}

class ReplayedClauses {
 public:
  using State = std::array<Clause, 2>;  ///< on some path both may be open

  ReplayedClauses(const Program& program, Reporter& reporter) : p_(program), reporter_(reporter) {}
  void report_now() { reporting_ = true; }

  State entry() { return {}; }
  void start(State&) {}
  void finish(State&) {}

  bool join(State& into, const State& from) {
    const State before = into;
    for (std::size_t c = 0; c < into.size(); ++c) {
      into[c].reads |= from[c].reads;
      into[c].writes |= from[c].writes;
    }
    return into != before;
  }

  void step(State& state, std::uint32_t index) {
    const Step& s = p_.steps[index];
    const unsigned which = clause_of(s);
    for (unsigned c = 0; c < state.size(); ++c)
      if (c != which && state[c] != Clause{}) state[c] = {};
    if (which == state.size()) return;
    Clause mine;
    for (const Access& a : p_.reads(s))
      if ((a.roles & role::keep) == 0) put(mine.reads, a);
    for (const Access& a : p_.writes(s)) put(mine.writes, a);
    Clause& open = state[which];
    if (reporting_ && breaks(open, mine, s)) {
      complain(open, mine, index);
      open = {};  // told once; what follows is judged as if the clause had been broken here
    }
    open.reads |= mine.reads;
    open.writes |= mine.writes;
  }

 private:
  static void put(Units& units, const Access& a) {
    for (unsigned u = a.first; u < a.end(); ++u) units.set(u);
  }

  static Units overlap(const Clause& open, const Clause& mine) {
    return (open.writes | mine.writes) & (open.reads | mine.reads);
  }

  static bool breaks(const Clause& open, const Clause& mine, const Step& s) {
    return open.writes.any() && (s.is(trait::store) || overlap(open, mine).any());
  }

  void complain(const Clause& open, const Clause& mine, std::uint32_t index) {
    const Units shared = overlap(open, mine);
    unsigned u = 0;
    while (u < shared.size() && !shared[u]) ++u;
    const std::string why =
        u < shared.size()
            ? fmt::format("one instruction of the clause reads {} and one overwrites it", unit_name(p_, u))
            : "it stores in one clause with a load, which may read the same place";
    reporter_.add(
        Kind::replayed_clause, p_.steps[index].instruction,
        why + "; XNACK may issue both again, so that another instruction (s_nop) must come between");
  }

  const Program& p_;
  Reporter& reporter_;
  bool reporting_ = false;
};

}  // namespace

void check_replayed_clauses(const Program& program, Reporter& reporter) {
  if (!program.target->hazards.xnack_replay || program.kernel->xnack_off ||
      !reporter.enabled(Kind::replayed_clause))
    return;
  ReplayedClauses clauses(program, reporter);
  Solver solver(program, clauses);
  if (!solver.solve())
    return reporter.add(Kind::too_complex, "clauses of memory instructions could not be followed to the end");
  clauses.report_now();
  solver.sweep();
}

}  // namespace wavejit::check
