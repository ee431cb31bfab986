// SPDX-License-Identifier: MIT
#include "runtime/device/sim/lds_access.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace wavejit::sim {

using detail::Inst;

void report_lds_clash(Wave& w, const Inst& inst, unsigned lane, std::uint32_t address, bool store,
                      const Lds::Result& r) {
  const FaultKind kind = r.clash == Lds::Clash::race ? FaultKind::lds_race : FaultKind::unwaited_at_barrier;
  report(w, inst, kind, std::uint64_t{1} << lane, address, [&] {
    const std::string pair = fmt::format("{} bytes that wave {} {}", store ? "writes" : "reads", r.other,
                                         r.other_wrote ? "writes" : "reads");
    if (r.clash == Lds::Clash::race) return pair + " with no barrier between";
    const bool dma = w.code->target->lds_dma_dwords != 0;
    return pair +
           fmt::format("; the barrier between does not count, since that wave passed it without waiting ({})",
                       dma ? "lgkmcnt, or vmcnt for a load to LDS" : "lgkmcnt");
  });
}

std::uint32_t record_lds(Wave& w, const LdsAccess& a, bool store) {
  if (!w.worker->on(FaultKind::unwaited_at_barrier)) return ~0U;
  std::uint32_t slot = 0;
  if (w.free_lds_records.empty()) {
    slot = static_cast<std::uint32_t>(w.lds_records.size());
    w.lds_records.emplace_back();
  } else {
    slot = w.free_lds_records.back();
    w.free_lds_records.pop_back();
  }
  LdsRecord& r = w.lds_records[slot];
  r.lanes = a.lanes;
  r.bytes = static_cast<std::uint8_t>(a.bytes);
  r.store = store;
  r.in_use = true;
  r.dma = false;
  std::copy_n(a.address.begin(), w.lanes, r.address.begin());
  return slot;
}

namespace {

/// Lanes of `a` that touch a byte of `r`.
std::uint64_t overlap(const Wave& w, const LdsAccess& a, const LdsRecord& r) {
  std::uint64_t found = 0;
  for (unsigned l = 0; l < w.lanes; ++l) {
    if ((a.lanes >> l & 1) == 0) continue;
    for (unsigned d = 0; d < w.lanes; ++d) {
      const bool meets = (r.lanes >> d & 1) != 0 && a.address[l] < r.address[d] + r.bytes &&
                         r.address[d] < a.address[l] + a.bytes;
      if (meets) found |= std::uint64_t{1} << l;
    }
  }
  return found;
}

}  // namespace

void check_lds_dma(Wave& w, const Inst& inst, const LdsAccess& access) {
  if (!w.worker->on(FaultKind::in_flight)) return;
  for (const LdsRecord& r : w.lds_records) {
    if (!r.in_use || !r.dma) continue;
    const std::uint64_t lanes = overlap(w, access, r);
    if (lanes == 0) continue;
    report(w, inst, FaultKind::in_flight, lanes,
           access.address[static_cast<unsigned>(std::countr_zero(lanes))], [] {
             return std::string(
                 "touches LDS bytes that a load to LDS is still writing; a wait (vmcnt) must come first");
           });
    return;
  }
}

void transpose16(Wave& w, unsigned reg) {
  constexpr unsigned group = 16;
  constexpr unsigned elements = 4;  // per lane, two to a register
  std::array<std::array<std::uint32_t, detail::max_lanes>, 2> value{};
  std::array<std::array<std::uint64_t, 2>, 2> undefined{};  ///< [register][half]
  for (unsigned d = 0; d < 2; ++d) {
    std::copy_n(w.row(reg + d), w.lanes, value[d].begin());
    undefined[d] = {w.undefined_low[reg + d], w.undefined_high[reg + d]};
  }
  for (unsigned d = 0; d < 2; ++d) {
    std::array<std::uint64_t, 2> missing{};
    for (unsigned l = 0; l < w.lanes; ++l) {
      std::uint32_t result = 0;
      for (unsigned h = 0; h < 2; ++h) {
        const unsigned row = 2 * d + h;
        const unsigned from = l / group * group + row * (group / elements) + l % group / elements;
        const unsigned element = l % elements;
        const std::uint32_t half = value[element / 2][from] >> (16 * (element % 2)) & 0xFFFF;
        result |= half << (16 * h);
        missing[h] |= (undefined[element / 2][element % 2] >> from & 1) << l;
      }
      w.row(reg + d)[l] = result;
    }
    if (w.partial.test(reg) || w.partial.test(reg + 1) || (missing[0] | missing[1]) != 0)
      set_undefined(w, reg + d, w.all_lanes(), missing[0], missing[1], detail::both_halves);
  }
}

}  // namespace wavejit::sim
