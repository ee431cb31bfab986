// SPDX-License-Identifier: MIT
// Wait counters (hardware.md §4.2). Vector memory returns in order within a counter, and so does
// LDS; scalar loads and messages return in any order, so where one is outstanding only a wait for 0
// promises anything. A counter that is full proves its oldest operation done, too.
#include <algorithm>

#include "runtime/device/sim/wave.hpp"

namespace wavejit::sim {
namespace {

void settle(Wave& w, const Pending& p) {
  for (unsigned r = p.reg; r < static_cast<unsigned>(p.reg) + p.count; ++r) {
    if (p.to_sgpr) {
      if (w.spending_count[r] > 0 && --w.spending_count[r] == 0) w.spending.reset(r);
    } else {
      if (w.vpending_count[r] > 0 && --w.vpending_count[r] == 0) w.vpending.reset(r);
    }
  }
  for (const std::uint32_t record : {p.lds_record, p.lds_record2}) {
    if (record == ~0U) continue;
    w.lds_records[record].in_use = false;
    if (w.lds_records[record].dma) --w.dma_in_flight;
    w.free_lds_records.push_back(record);
  }
}

void settle_to(Wave& w, PendingQueue& queue, unsigned count) {
  while (queue.size() > count) {
    settle(w, queue[0]);
    queue.pop_front();
  }
}

bool only_lds(const PendingQueue& queue) {
  for (std::size_t i = 0; i < queue.size(); ++i)
    if (queue[i].type != Pending::Type::lds) return false;
  return true;
}

/// A counter counts no further than its field goes: an operation is not issued until an older one is done.
void saturate(Wave& w, PendingQueue& queue) {
  const target::WaitCounterLimits& most = w.code->target->waits;
  const unsigned limit = &queue == &w.vm ? most.vmcnt : &queue == &w.vs ? most.vscnt : most.lgkmcnt;
  if (queue.size() <= limit || &queue == &w.km) return;
  if (&queue == &w.lgkm && !only_lds(queue)) return;
  settle_to(w, queue, limit);
}

}  // namespace

void add_pending(Wave& w, PendingQueue& queue, const Pending& pending) {
  queue.push(pending);
  saturate(w, queue);
  for (unsigned r = pending.reg; r < static_cast<unsigned>(pending.reg) + pending.count; ++r) {
    if (pending.to_sgpr) {
      ++w.spending_count[r];
      w.spending.set(r);
    } else {
      ++w.vpending_count[r];
      w.vpending.set(r);
    }
  }
}

void wait_vm(Wave& w, unsigned count) { settle_to(w, w.vm, count); }

void wait_vs(Wave& w, unsigned count) { settle_to(w, w.vs, count); }

void wait_km(Wave& w, unsigned count) {
  if (count == 0) settle_to(w, w.km, 0);  // they return in any order
}

PendingQueue& scalar_queue(Wave& w) { return w.code->target->has_split_counters() ? w.km : w.lgkm; }

void carry_over_unwaited(Wave& w, std::uint32_t epoch) {
  for (const LdsRecord& r : w.lds_records) {
    if (!r.in_use) continue;
    for (unsigned l = 0; l < w.lanes; ++l)
      if ((r.lanes >> l & 1) != 0) w.group->lds.carry_over(w.id, epoch, r.address[l], r.bytes, r.store);
  }
}

void wait_lgkm(Wave& w, unsigned count) {
  if (count == 0) return settle_to(w, w.lgkm, 0);
  if (only_lds(w.lgkm)) settle_to(w, w.lgkm, count);
}

}  // namespace wavejit::sim
