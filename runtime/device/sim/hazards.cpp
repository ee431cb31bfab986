// SPDX-License-Identifier: MIT
// Hazards that software must resolve, as the hardware manual and LLVM's recogniser state them
// (hardware.md §5), judged on the instructions as they were executed. The wait pass has its own
// table; this one shares nothing with it.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/device/sim/wave.hpp"

namespace wavejit::sim {
namespace {

using detail::Inst;
using isa::Opcode;
using isa::Pipe;

bool is_valu(Pipe p) { return p == Pipe::valu || p == Pipe::trans || p == Pipe::dot || p == Pipe::matrix; }

bool reads_any(const Inst& inst, unsigned reg, unsigned count) {
  for (unsigned r = reg; r < reg + count; ++r)
    if (inst.vread.test(r)) return true;
  return false;
}

bool source_meets(const detail::Source& s, unsigned reg, unsigned count) {
  return s.kind == detail::Source::Kind::vgpr && s.reg < reg + count &&
         reg < static_cast<unsigned>(s.reg) + s.width;
}

void check_wmma(Wave& w, const Inst& inst) {
  HazardState& h = w.hazard;
  if (inst.pipe == Pipe::matrix && h.wmma_dst_count != 0 &&
      (source_meets(inst.src[0], h.wmma_dst, h.wmma_dst_count) ||
       source_meets(inst.src[1], h.wmma_dst, h.wmma_dst_count))) {
    report(w, inst, FaultKind::hazard, 0, std::nullopt, [&] {
      return fmt::format(
          "reads v{}..v{} as A or B right after the matrix instruction that writes it; one VALU "
          "instruction must lie between",
          h.wmma_dst, h.wmma_dst + h.wmma_dst_count - 1);
    });
  }
  if (inst.pipe == Pipe::matrix) {
    h.wmma_dst = inst.dst;
    h.wmma_dst_count = inst.dst_width;
  } else if (is_valu(inst.pipe)) {
    h.wmma_dst_count = 0;
  }
}

/// A transcendental result used by VALU within 5 VALU and 1 transcendental instructions needs
/// s_waitcnt_depctr va_vdst(0), which clears the list (exec_control.cpp).
void check_trans(Wave& w, const Inst& inst) {
  HazardState& h = w.hazard;
  if (!is_valu(inst.pipe)) return;
  for (unsigned i = 0; i < h.trans_used; ++i) {
    const HazardState::Trans& t = h.trans[i];
    const std::uint32_t valu_between = h.valu_count - t.valu_at;
    const std::uint32_t trans_between = h.trans_count - t.trans_at;
    if (valu_between > 5 || trans_between > 1 || !reads_any(inst, t.reg, 1)) continue;
    report(w, inst, FaultKind::hazard, 0, std::nullopt, [&] {
      return fmt::format(
          "uses v{}, a transcendental result {} VALU instructions old; s_waitcnt_depctr "
          "depctr_va_vdst(0) must come first",
          t.reg, valu_between);
    });
  }
  if (inst.pipe == Pipe::trans) {
    ++h.trans_count;
    if (h.trans_used == h.trans.size()) {
      std::ranges::move(h.trans.begin() + 1, h.trans.end(), h.trans.begin());
      --h.trans_used;
    }
    h.trans[h.trans_used++] = {inst.dst, h.valu_count, h.trans_count};
  } else {
    ++h.valu_count;
    // Overwriting the result ends the hazard.
    for (unsigned i = 0; i < h.trans_used;) {
      if (inst.vwrite.test(h.trans[i].reg)) {
        h.trans[i] = h.trans[--h.trans_used];
      } else {
        ++i;
      }
    }
  }
}

void check_permlane(Wave& w, const Inst& inst) {
  HazardState& h = w.hazard;
  const bool permlane = inst.op == Opcode::v_permlane16_b32 || inst.op == Opcode::v_permlanex16_b32;
  if (permlane && h.cmpx_pending) {
    report(w, inst, FaultKind::hazard, 0, std::nullopt, [] {
      return std::string(
          "follows v_cmpx; a VALU instruction (not v_nop's encoding as s_nop) must lie between");
    });
  }
  if (!is_valu(inst.pipe)) return;
  const bool cmpx = inst.swrite.test(isa::sreg::exec_lo) && !inst.has_dst;
  h.cmpx_pending = cmpx;
}

void check_dealloc(Wave& w, const Inst& inst) {
  constexpr std::uint64_t dealloc_vgprs = 3;
  if (inst.op == Opcode::s_sendmsg && inst.src[0].value == dealloc_vgprs && !w.hazard.last_was_nop) {
    report(w, inst, FaultKind::hazard, 0, std::nullopt,
           [] { return std::string("s_sendmsg dealloc_vgprs needs s_nop 0 right before it"); });
  }
  w.hazard.last_was_nop = inst.op == Opcode::s_nop;
}

/// Whether the clause now reads what it writes.
bool add_to_clause(HazardState::Clause& c, const Inst& inst) {
  for (unsigned i = 0; i < detail::VectorSet::words; ++i) {
    c.vread.w[i] |= inst.vread.w[i];
    c.vwrite.w[i] |= inst.vwrite.w[i];
  }
  for (unsigned i = 0; i < detail::ScalarSet::words; ++i) {
    c.sread.w[i] |= inst.sread.w[i];
    c.swrite.w[i] |= inst.swrite.w[i];
  }
  return c.vwrite.meets(c.vread) || c.swrite.meets(c.sread);
}

/// A soft clause may be issued again as a whole (XNACK): none of its instructions writes what one reads, and
/// a store is not in one clause with loads before it. As LLVM has it (checkSoftClauseHazards), a clause that
/// has written nothing yet may go on in any way.
void check_clause(Wave& w, const Inst& inst) {
  HazardState::Clause& c = w.hazard.clause;
  const bool memory = inst.pipe == Pipe::smem || inst.pipe == Pipe::vmem;
  if (inst.pipe != c.pipe) c = {};
  if (!memory) return;
  const bool stores = isa::info(inst.op).has(isa::flag::store);
  const bool written = c.vwrite.any() || c.swrite.any();
  const bool shares = add_to_clause(c, inst);
  if (written && (shares || stores)) {
    report(w, inst, FaultKind::hazard, 0, std::nullopt, [&] {
      return fmt::format(
          "{}; XNACK may issue both again, so that another instruction (s_nop) must come between",
          shares ? "of it and the memory instructions directly before it, one overwrites what "
                   "one reads"
                 : "stores directly behind a load");
    });
    c = {};
    add_to_clause(c, inst);
  }
  c.pipe = inst.pipe;
}

}  // namespace

void check_hazards(Wave& w, const Inst& inst) {
  const target::Hazards& rules = w.code->target->hazards;
  if (rules.wmma_d_to_ab) check_wmma(w, inst);
  if (rules.trans_use) check_trans(w, inst);
  if (rules.vcmpx_permlane) check_permlane(w, inst);
  if (rules.nop_before_dealloc) check_dealloc(w, inst);
  if (rules.valu_read_sgpr) check_sgpr_hazards(w, inst);
  if (rules.xnack_replay && !w.code->xnack_off) check_clause(w, inst);
  if (rules.gfx9_wait_states) w.gfx9.check(w, inst);
}

}  // namespace wavejit::sim
