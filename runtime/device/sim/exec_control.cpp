// SPDX-License-Identifier: MIT
// Branches, barriers, waits, MODE, messages and hints.

#include "runtime/device/sim/handlers.hpp"
#include "runtime/device/sim/wave.hpp"

namespace wavejit::sim {

void Mode::set(std::uint32_t value) {
  bits = value;
  round32 = value & 3;
  round16 = value >> 2 & 3;
  // Per format two bits: 1 = inputs kept, 2 = results kept.
  flush_in32 = (value >> 4 & 1) == 0;
  flush_out32 = (value >> 5 & 1) == 0;
  flush_in16 = (value >> 6 & 1) == 0;
  flush_out16 = (value >> 7 & 1) == 0;
  dx10_clamp = (value >> 8 & 1) != 0;
  ieee = (value >> 9 & 1) != 0;
  plain32 = round32 == 0 && !flush_in32 && !flush_out32;
}

namespace {

using detail::Inst;
using isa::Opcode;

void hint(Wave& /*w*/, const Inst& /*inst*/) {}

void branch(Wave& w, const Inst& inst) { w.pc = inst.target; }

template <bool (*Condition)(const Wave&)>
void branch_if(Wave& w, const Inst& inst) {
  if (Condition(w)) w.pc = inst.target;
}

bool scc0(const Wave& w) { return !w.scc(); }
bool scc1(const Wave& w) { return w.scc(); }
bool vccz(const Wave& w) { return w.mask(isa::sreg::vcc_lo) == 0; }
bool vccnz(const Wave& w) { return w.mask(isa::sreg::vcc_lo) != 0; }
bool execz(const Wave& w) { return w.exec() == 0; }
bool execnz(const Wave& w) { return w.exec() != 0; }

void endpgm(Wave& w, const Inst& /*inst*/) { w.state = Wave::State::ended; }

/// Padding after the last instruction: nothing may run into it.
void code_end(Wave& w, const Inst& inst) {
  report(w, inst, FaultKind::control_flow, 0, std::nullopt,
         [] { return std::string("execution ran past the last instruction; s_endpgm was expected"); });
  w.state = Wave::State::ended;
}

void barrier(Wave& w, const Inst& /*inst*/) {
  w.state = Wave::State::at_barrier;
  w.barrier_pc = w.pc - 1;
}

void waitcnt(Wave& w, const Inst& inst) {
  const auto simm = static_cast<std::uint16_t>(inst.src[0].value);
  const isa::WaitCounts counts = isa::decode_waitcnt(simm, *w.code->target);
  if (counts.vmcnt != isa::WaitCounts::unlimited) wait_vm(w, counts.vmcnt);
  if (counts.lgkmcnt != isa::WaitCounts::unlimited) wait_lgkm(w, counts.lgkmcnt);
}

void waitcnt_vscnt(Wave& w, const Inst& inst) {
  wait_vs(w, w.scalar(inst.src[0]) + static_cast<unsigned>(inst.src[1].value & 0xFFFF));
}

/// va_vdst [15:12] = 0: all earlier VALU results are there.
void waitcnt_depctr(Wave& w, const Inst& inst) {
  if ((inst.src[0].value >> 12 & 0xF) == 0) w.hazard.trans_used = 0;
}

/// hwreg: id [5:0], offset [10:6], size - 1 [15:11].
struct HwReg {
  unsigned id, offset, mask;
};
HwReg hwreg(const Inst& inst) {
  const auto bits = static_cast<unsigned>(inst.src[0].value);
  const unsigned size = (bits >> 11 & 31) + 1;
  return {bits & 63, bits >> 6 & 31, size >= 32 ? ~0U : (1U << size) - 1};
}
constexpr unsigned hwreg_mode = 1;

void setreg(Wave& w, const Inst& inst) {
  const HwReg r = hwreg(inst);
  if (r.id != hwreg_mode) return;  // nothing else that can be written changes a result
  const std::uint32_t value = w.scalar(inst.src[1]);
  w.mode.set((w.mode.bits & ~(r.mask << r.offset)) | (value & r.mask) << r.offset);
}

void getreg(Wave& w, const Inst& inst) {
  const HwReg r = hwreg(inst);
  w.set_scalar(inst.dst, r.id == hwreg_mode ? w.mode.bits >> r.offset & r.mask : 0);
}

void round_mode(Wave& w, const Inst& inst) {
  w.mode.set((w.mode.bits & ~0xFU) | (static_cast<std::uint32_t>(inst.src[0].value) & 0xF));
}

void denorm_mode(Wave& w, const Inst& inst) {
  w.mode.set((w.mode.bits & ~0xF0U) | (static_cast<std::uint32_t>(inst.src[0].value) & 0xF) << 4);
}

void sendmsg(Wave& w, const Inst& inst) {
  constexpr std::uint64_t dealloc_vgprs = 3;
  if (inst.src[0].value == dealloc_vgprs) {
    w.deallocated = true;
  } else {
    add_pending(w, scalar_queue(w), {.type = Pending::Type::message});
  }
}

}  // namespace

void add_control(Handlers& h) {
  h.set(Opcode::s_branch, branch);
  h.set(Opcode::s_cbranch_scc0, branch_if<scc0>);
  h.set(Opcode::s_cbranch_scc1, branch_if<scc1>);
  h.set(Opcode::s_cbranch_vccz, branch_if<vccz>);
  h.set(Opcode::s_cbranch_vccnz, branch_if<vccnz>);
  h.set(Opcode::s_cbranch_execz, branch_if<execz>);
  h.set(Opcode::s_cbranch_execnz, branch_if<execnz>);
  h.set(Opcode::s_endpgm, endpgm);
  h.set(Opcode::s_code_end, code_end);
  h.set(Opcode::s_barrier, barrier);
  h.set(Opcode::s_waitcnt, waitcnt);
  h.set(Opcode::s_waitcnt_vscnt, waitcnt_vscnt);
  h.set(Opcode::s_waitcnt_depctr, waitcnt_depctr);
  for (const Opcode op : {Opcode::s_delay_alu, Opcode::s_clause, Opcode::s_nop, Opcode::s_setprio,
                          Opcode::s_sleep, Opcode::s_set_inst_prefetch_distance, Opcode::buffer_gl0_inv,
                          Opcode::buffer_gl1_inv, Opcode::s_icache_inv, Opcode::s_dcache_inv}) {
    h.set(op, hint);
  }
  h.set(Opcode::s_setreg_b32, setreg);
  h.set(Opcode::s_setreg_imm32_b32, setreg);
  h.set(Opcode::s_getreg_b32, getreg);
  h.set(Opcode::s_round_mode, round_mode);
  h.set(Opcode::s_denorm_mode, denorm_mode);
  h.set(Opcode::s_sendmsg, sendmsg);
}

}  // namespace wavejit::sim
