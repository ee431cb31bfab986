// SPDX-License-Identifier: MIT
// gfx12's VALUReadSGPR (hardware.md §5.2): once VALU has read an SGPR, a later write of it by SALU
// must be waited for (s_wait_alu sa_sdst(0)) before VALU or SALU reads it, and a later write by VALU
// (va_sdst(0), va_vcc(0) for VCC) before VALU reads it. Reads count by aligned pairs. A scalar load settles
// all writes before it, vector memory and LDS settle none, and an SALU that reads what VALU wrote waits for
// all that VALU wrote; an overwrite settles nothing (LLVM 22's pass amdgpu-wait-sgpr-hazards, run on one MIR
// function per case). Where VALU's write lies on some paths only, the others do not wait there, which LLVM
// takes no account of.
#include <fmt/format.h>

#include <bitset>

#include "runtime/check/analyses.hpp"
#include "runtime/check/solver.hpp"

namespace wavejit::check {
namespace {

using Scalars = std::bitset<isa::sreg::exec_lo>;

struct SgprState {
  Scalars read;                         ///< VALU has read it
  Scalars by_salu;                      ///< then SALU wrote it
  Scalars by_valu;                      ///< then VALU wrote it
  Scalars surely_read, surely_by_valu;  ///< the same on every path
  bool operator==(const SgprState&) const = default;
};

class SgprHazards {
 public:
  using State = SgprState;

  SgprHazards(const Program& program, Reporter& reporter) : p_(program), reporter_(reporter) {}
  void report_now() { reporting_ = true; }

  State entry() { return {}; }
  void start(State&) {}
  void finish(State&) {}

  bool join(State& into, const State& from) {
    const State before = into;
    into.read |= from.read;
    into.by_salu |= from.by_salu;
    into.by_valu |= from.by_valu;
    into.surely_read &= from.surely_read;
    into.surely_by_valu &= from.surely_by_valu;
    return into != before;
  }

  void step(State& state, std::uint32_t index) {
    const Step& s = p_.steps[index];
    if (s.is(trait::wait)) return wait(state, s);
    if (s.is(trait::smem)) {
      state.by_salu.reset();
      state.by_valu.reset();
      state.surely_by_valu.reset();
    }
    if (s.is(trait::valu | trait::salu | trait::branch)) read(state, s, index);
    for (const Access& a : p_.writes(s))
      for (unsigned u = a.first; u < a.end(); ++u)
        if (tracked(u)) write(state, s, u);
  }

 private:
  static bool tracked(unsigned u) {
    namespace sreg = isa::sreg;
    return u < sreg::exec_lo && u != sreg::m0 && u != sreg::null;
  }

  void wait(State& state, const Step& s) const {
    const WaitLimits w = wait_limits(p_.instruction(s), *p_.target);
    if (w.salu_results) state.by_salu.reset();
    for (unsigned u = 0; u < state.by_valu.size(); ++u) {
      const bool is_vcc = u == isa::sreg::vcc_lo || u == isa::sreg::vcc_hi;
      if (!(is_vcc ? w.valu_vcc : w.valu_scalar)) continue;
      state.by_valu.reset(u);
      state.surely_by_valu.reset(u);
    }
  }

  void read(State& state, const Step& s, std::uint32_t index) {
    const bool valu = s.is(trait::valu);
    bool waits = false;
    for (const Access& a : p_.reads(s)) {
      if ((a.roles & role::keep) != 0) continue;
      for (unsigned u = a.first; u < a.end(); ++u) {
        if (!tracked(u)) continue;
        if (reporting_ && state.by_salu[u]) complain(index, u, "SALU", "sa_sdst(0)");
        if (reporting_ && valu && state.by_valu[u])
          complain(index, u, "VALU",
                   u == isa::sreg::vcc_lo || u == isa::sreg::vcc_hi ? "va_vcc(0)" : "va_sdst(0)");
        if (valu) continue;
        waits = waits || state.surely_by_valu[u];
        // Where it has, that path has waited; the others of VALU's writes may be of another.
        if (state.by_valu[u]) state.surely_by_valu.reset();
        state.by_valu.reset(u);
      }
    }
    if (waits) {
      state.by_valu.reset();
      state.surely_by_valu.reset();
    }
    if (!valu) return;
    for (const Access& a : p_.reads(s)) {
      for (unsigned u = a.first; u < a.end(); ++u) {
        if (!tracked(u)) continue;
        for (Scalars* read : {&state.read, &state.surely_read}) {
          read->set(u & ~1U);
          read->set(u | 1U);
        }
      }
    }
  }

  void write(State& state, const Step& s, unsigned u) const {
    if (!state.read[u]) return;
    if (s.is(trait::salu)) state.by_salu.set(u);
    if (!s.is(trait::valu)) return;
    state.by_valu.set(u);
    if (state.surely_read[u]) state.surely_by_valu.set(u);
  }

  void complain(std::uint32_t index, unsigned u, std::string_view writer, std::string_view wait) {
    reporter_.add(
        Kind::sgpr_read_hazard, p_.steps[index].instruction,
        fmt::format("{} is read after {} rewrote it and VALU had read it before: s_wait_alu {} must come "
                    "between",
                    unit_name(p_, u), writer, wait));
  }

  const Program& p_;
  Reporter& reporter_;
  bool reporting_ = false;
};

}  // namespace

void check_sgpr_hazards(const Program& program, Reporter& reporter) {
  if (!program.target->hazards.valu_read_sgpr || !reporter.enabled(Kind::sgpr_read_hazard)) return;
  SgprHazards hazards(program, reporter);
  Solver solver(program, hazards);
  if (!solver.solve())
    return reporter.add(Kind::too_complex, "SGPR hazards could not be followed to the end");
  hazards.report_now();
  solver.sweep();
}

}  // namespace wavejit::check
