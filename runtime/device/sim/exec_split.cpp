// SPDX-License-Identifier: MIT
// gfx12: a counter for each kind of operation with a wait of its own, the barrier in two halves, cache
// operations; and those of gfx940 that gfx11 has not. hardware.md §4.1 to §4.3.
#include <fmt/format.h>

#include "runtime/device/sim/handlers.hpp"
#include "runtime/device/sim/wave.hpp"

namespace wavejit::sim {
namespace {

using detail::Inst;
using isa::Opcode;

unsigned count_of(const Inst& inst) { return static_cast<unsigned>(inst.src[0].value & 0xFFFF); }

void wait_load(Wave& w, const Inst& inst) { wait_vm(w, count_of(inst)); }
void wait_store(Wave& w, const Inst& inst) { wait_vs(w, count_of(inst)); }
void wait_ds(Wave& w, const Inst& inst) { wait_lgkm(w, count_of(inst)); }
void wait_scalar(Wave& w, const Inst& inst) { wait_km(w, count_of(inst)); }

/// Two counters: the first in [13:8], LDS in [5:0].
void wait_load_ds(Wave& w, const Inst& inst) {
  wait_vm(w, count_of(inst) >> 8 & 63);
  wait_lgkm(w, count_of(inst) & 63);
}
void wait_store_ds(Wave& w, const Inst& inst) {
  wait_vs(w, count_of(inst) >> 8 & 63);
  wait_lgkm(w, count_of(inst) & 63);
}

void wait_idle(Wave& w, const Inst& /*inst*/) {
  wait_vm(w, 0);
  wait_vs(w, 0);
  wait_lgkm(w, 0);
  wait_km(w, 0);
}

void nothing(Wave& /*w*/, const Inst& /*inst*/) {}

void signal(Wave& w, const Inst& inst) {
  if (w.signals > w.passed) {
    report(w, inst, FaultKind::barrier_divergence, 0, std::nullopt,
           [] { return std::string("signals the barrier again before it has waited for it"); });
    return;
  }
  ++w.signals;
  carry_over_unwaited(w, w.passed + 1);
}

/// SCC: no other wave has signalled this barrier yet.
void signal_is_first(Wave& w, const Inst& inst) {
  bool first = true;
  for (const Wave& other : w.group->waves)
    first = first && (&other == &w || other.state == Wave::State::ended || other.signals <= w.passed);
  signal(w, inst);
  w.set_scc(first);
}

/// The wave goes on when all have signalled; run_group() decides.
void wait_barrier(Wave& w, const Inst& inst) {
  if (w.signals == w.passed) {
    report(w, inst, FaultKind::barrier_divergence, 0, std::nullopt,
           [] { return std::string("waits for a barrier that it has not signalled"); });
    return;
  }
  w.state = Wave::State::at_barrier;
  w.barrier_pc = w.pc - 1;
}

void trap(Wave& w, const Inst& inst) {
  report(w, inst, FaultKind::control_flow, 0, std::nullopt,
         [&] { return fmt::format("the kernel traps with code {}", count_of(inst)); });
  w.state = Wave::State::ended;
}

}  // namespace

void add_split(Handlers& h) {
  h.set(Opcode::s_wait_loadcnt, wait_load);
  h.set(Opcode::s_wait_storecnt, wait_store);
  h.set(Opcode::s_wait_dscnt, wait_ds);
  h.set(Opcode::s_wait_kmcnt, wait_scalar);
  h.set(Opcode::s_wait_loadcnt_dscnt, wait_load_ds);
  h.set(Opcode::s_wait_storecnt_dscnt, wait_store_ds);
  h.set(Opcode::s_wait_idle, wait_idle);
  // Counters of image instructions and exports, which no kernel here has, and caches, which the
  // simulator's memory does without.
  for (const Opcode op :
       {Opcode::s_wait_samplecnt, Opcode::s_wait_bvhcnt, Opcode::s_wait_expcnt, Opcode::global_inv,
        Opcode::global_wb, Opcode::global_wbinv, Opcode::buffer_inv, Opcode::buffer_wbl2}) {
    h.set(op, nothing);
  }
  h.set(Opcode::s_barrier_signal, signal);
  h.set(Opcode::s_barrier_signal_isfirst, signal_is_first);
  h.set(Opcode::s_barrier_wait, wait_barrier);
  h.set(Opcode::s_trap, trap);
}

}  // namespace wavejit::sim
