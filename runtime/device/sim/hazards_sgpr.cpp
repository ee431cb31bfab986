// SPDX-License-Identifier: MIT
// gfx12, VALUReadSGPR (hardware.md §5.2). Once VALU has read an SGPR (or VCC), a later SALU write of it must
// be waited for with s_wait_alu sa_sdst(0) before VALU or SALU reads it, and a later VALU write with
// va_sdst(0) (va_vcc(0) for VCC) before VALU reads it. What settles them besides, from LLVM 22's pass for
// this hazard, run on one case each: a scalar load waits for all scalar writes before it; an SALU that reads
// a value of VALU waits for all of VALU's; vector memory settles nothing. M0 and EXEC are not concerned.
#include "runtime/device/sim/hazards_sgpr.hpp"

#include <fmt/format.h>

#include "runtime/device/sim/wave.hpp"

namespace wavejit::sim {
namespace {

using detail::Inst;
using detail::ScalarSet;
using detail::Source;
using isa::Opcode;
using isa::Pipe;

bool is_vcc(unsigned reg) { return reg == isa::sreg::vcc_lo || reg == isa::sreg::vcc_hi; }
bool concerned(unsigned reg) { return reg <= isa::sreg::vcc_hi; }

bool is_valu(Pipe p) { return p == Pipe::valu || p == Pipe::trans || p == Pipe::dot || p == Pipe::matrix; }

template <class F>
void each(const ScalarSet& set, F&& f) {
  for (unsigned r = 0; r <= isa::sreg::vcc_hi; ++r)
    if (set.test(r)) f(r);
}

void report_read(Wave& w, const Inst& inst, unsigned reg, bool by_salu) {
  report(w, inst, FaultKind::hazard, 0, std::nullopt, [&] {
    const std::string name = is_vcc(reg) ? "vcc" : fmt::format("s{}", reg);
    const char* wait = by_salu ? "sa_sdst(0)" : is_vcc(reg) ? "va_vcc(0)" : "va_sdst(0)";
    return fmt::format(
        "reads {}, which {} has written after VALU had read it; s_wait_alu depctr_{} must come first", name,
        by_salu ? "SALU" : "VALU", wait);
  });
}

/// s_wait_alu: sa_sdst [0], va_vcc [1], va_sdst [11:9]; 0 waits.
void settle(SgprHazards& h, std::uint64_t immediate) {
  if ((immediate & 1) == 0) h.by_salu = {};
  if ((immediate >> 9 & 7) == 0)
    each(h.by_valu, [&](unsigned r) {
      if (!is_vcc(r)) h.by_valu.reset(r);
    });
  if ((immediate >> 1 & 1) == 0) {
    h.by_valu.reset(isa::sreg::vcc_lo);
    h.by_valu.reset(isa::sreg::vcc_hi);
  }
}

}  // namespace

void check_sgpr_hazards(Wave& w, const Inst& inst) {
  SgprHazards& h = w.hazard.sgpr;
  if (inst.op == Opcode::s_waitcnt_depctr) return settle(h, inst.src[0].value);
  if (inst.pipe == Pipe::smem) {
    h.by_salu = {};
    h.by_valu = {};
    return;
  }
  const bool valu = is_valu(inst.pipe);
  const bool salu = inst.pipe == Pipe::salu;
  if (!valu && !salu) return;
  if (inst.sread.meets(h.by_salu) || inst.sread.meets(h.by_valu)) {
    bool waited = false;
    each(inst.sread, [&](unsigned r) {
      if (h.by_salu.test(r)) report_read(w, inst, r, true);
      if (!h.by_valu.test(r)) return;
      valu ? report_read(w, inst, r, false) : void(waited = true);
    });
    if (waited) h.by_valu = {};
  }
  if (valu) {
    each(inst.sread, [&](unsigned r) {
      h.read.set(r & ~1U);
      h.read.set(r | 1U);
    });
  }
  each(inst.swrite, [&](unsigned r) {
    if (h.read.test(r) && concerned(r)) (valu ? h.by_valu : h.by_salu).set(r);
  });
}

}  // namespace wavejit::sim
