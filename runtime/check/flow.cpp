// SPDX-License-Identifier: MIT
// The shape of the code: every path ends in s_endpgm, nothing runs past the end, clauses hold what they
// say, and nothing needs VGPRs once they were given back.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <vector>

#include "runtime/check/analyses.hpp"
#include "runtime/check/solver.hpp"

namespace wavejit::check {
namespace {

bool runs_out(const Program& p, const Block& b) {
  const Step& last = p.steps[b.end - 1];
  if (last.is(trait::past_end)) return true;
  const bool may_fall = !last.is(trait::branch | trait::end | trait::indirect) ||
                        (last.is(trait::branch) && last.is(trait::conditional));
  return may_fall && b.end == p.steps.size();
}

bool ends(const Program& p, const Block& b) { return p.steps[b.end - 1].is(trait::end); }

void check_ends(const Program& p, Reporter& reporter) {
  if (p.steps.empty()) return reporter.add(Kind::missing_end, "the kernel has no instructions");
  // A path that stops with a finding of its own counts as an end here.
  std::vector<std::uint8_t> finishes(p.blocks.size(), 0);
  for (const std::uint32_t b : p.order) {
    const Block& block = p.blocks[b];
    const Step& last = p.steps[block.end - 1];
    const bool out = runs_out(p, block);
    const bool lost = last.is(trait::indirect) || (last.is(trait::branch) && !last.is(trait::end) &&
                                                   block.next[0] == no_block && block.next[1] == no_block);
    if (out)
      reporter.add(Kind::missing_end, last.instruction,
                   "execution runs past this last instruction; s_endpgm must end every path");
    finishes[b] = ends(p, block) || out || lost ? 1 : 0;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::uint32_t b : std::views::reverse(p.order)) {
      if (finishes[b] != 0) continue;
      for (const std::uint32_t to : p.blocks[b].next) {
        if (to == no_block || finishes[to] == 0) continue;
        finishes[b] = 1;
        changed = true;
      }
    }
  }
  for (const std::uint32_t b : p.order) {
    if (finishes[b] != 0) continue;
    reporter.add(Kind::endless_path, p.steps[p.blocks[b].first].instruction,
                 "no s_endpgm can be reached from here");
    break;  // the rest of the loop says the same
  }
}

void check_unreachable(const Program& p, Reporter& reporter) {
  for (std::size_t b = 0; b < p.blocks.size(); ++b) {
    const bool continues = b > 0 && p.reachable[b - 1] == 0;
    if (p.reachable[b] != 0 || continues) continue;
    std::size_t last = b;
    while (last + 1 < p.blocks.size() && p.reachable[last + 1] == 0) ++last;
    const auto padding = [](const Step& s) { return s.is(trait::nop | trait::past_end); };
    const auto begin = p.steps.begin() + p.blocks[b].first;
    const auto end = p.steps.begin() + p.blocks[last].end;
    if (std::all_of(begin, end, padding)) continue;
    reporter.add(Kind::unreachable_code, begin->instruction,
                 fmt::format("no path reaches this and the {} instructions behind it", end - begin - 1));
  }
}

/// What a clause may be made of (hardware.md §5.5).
trait::Bits clause_class(const Step& s) {
  if (s.is(trait::vmem)) return s.is(trait::store) ? trait::store : trait::vmem;
  return s.traits & (trait::lds | trait::smem | trait::valu);
}

void check_clause(const Program& p, std::uint32_t index, Reporter& reporter) {
  const Step& clause = p.steps[index];
  const auto length = static_cast<std::uint32_t>(p.instruction(clause).src[0].value & 0x3F) + 1;
  const std::uint32_t block_end = p.blocks[p.block_of[index]].end;
  trait::Bits cls = 0;
  std::uint32_t found = 0;
  for (std::uint32_t s = index + 1; found < length; ++s) {
    const bool inside = s < block_end;
    const trait::Bits mine = inside ? clause_class(p.steps[s]) : 0;
    if (inside && p.instruction(p.steps[s]).pipe() == isa::Pipe::hint && !p.steps[s].is(trait::clause)) {
      ++found;  // hints take a place in the clause and belong to every kind
      continue;
    }
    if (cls == 0) cls = mine;
    if (mine == 0 || mine != cls) {
      reporter.add(Kind::clause_content, clause.instruction,
                   fmt::format("the clause is to hold {} instructions of one kind, but only {} follow",
                               length, found));
      return;
    }
    ++found;
  }
}

/// Whether VGPRs may have been given back.
class Dealloc {
 public:
  using State = std::uint8_t;

  Dealloc(const Program& program, Reporter& reporter) : p_(program), reporter_(reporter) {}
  void report_now() { reporting_ = true; }

  State entry() { return 0; }
  void start(State&) {}
  void finish(State&) {}
  bool join(State& into, const State& from) {
    const State before = into;
    into |= from;
    return into != before;
  }
  void step(State& gone, std::uint32_t index) {
    const Step& s = p_.steps[index];
    if (gone != 0 && reporting_ && needs_vgprs(s))
      reporter_.add(Kind::use_after_dealloc, s.instruction,
                    "VGPRs were given back by s_sendmsg MSG_DEALLOC_VGPRS on a path to here");
    if (s.is(trait::dealloc_message)) gone = 1;
  }

 private:
  [[nodiscard]] bool needs_vgprs(const Step& s) const {
    const auto vector = [&](const Access& a) { return p_.is_vector(a.first); };
    return s.is(trait::valu | trait::vmem | trait::lds) || std::ranges::any_of(p_.reads(s), vector) ||
           std::ranges::any_of(p_.writes(s), vector);
  }

  const Program& p_;
  Reporter& reporter_;
  bool reporting_ = false;
};

void check_dealloc(const Program& p, Reporter& reporter) {
  bool any = false;
  constexpr std::uint16_t dynamic_stack = 1U << 11;
  const lower::KernelDescriptor& d = p.kernel->descriptor;
  for (std::uint32_t i = 0; i < p.steps.size(); ++i) {
    const Step& s = p.steps[i];
    if (!s.is(trait::dealloc_message)) continue;
    any = true;
    const bool led = i > p.blocks[p.block_of[i]].first && p.steps[i - 1].is(trait::nop);
    if (p.target->hazards.nop_before_dealloc && !led)
      reporter.add(Kind::dealloc, s.instruction, "s_nop must come directly before it");
    if ((d.properties & dynamic_stack) != 0)
      reporter.add(Kind::dealloc, s.instruction, "a kernel with a dynamic stack may not give its VGPRs back");
  }
  if (!any) return;
  Dealloc dealloc(p, reporter);
  Solver solver(p, dealloc);
  if (!solver.solve()) return reporter.add(Kind::too_complex, "dealloc could not be followed to the end");
  dealloc.report_now();
  solver.sweep();
}

}  // namespace

void check_flow(const Program& program, Reporter& reporter) {
  check_ends(program, reporter);
  check_unreachable(program, reporter);
  for (std::uint32_t s = 0; s < program.steps.size(); ++s)
    if (program.steps[s].is(trait::clause)) check_clause(program, s, reporter);
  check_dealloc(program, reporter);
}

}  // namespace wavejit::check
