// SPDX-License-Identifier: MIT
// Internal: one access of a wave to LDS, lane by lane, shared by LDS instructions and by loads that write
// LDS themselves.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/device/sim/wave.hpp"

namespace wavejit::sim {

/// Byte addresses of the lanes that take part.
struct LdsAccess {
  std::uint64_t lanes = 0;
  unsigned bytes = 4;
  bool aligned = false;  ///< all are multiples of `bytes`; false = not known
  std::array<std::uint32_t, detail::max_lanes> address;
};

/// Remembers what a pending access touches, for the barrier that may come before its wait; ~0 when no
/// check asks for it.
std::uint32_t record_lds(Wave& w, const LdsAccess& access, bool store);

void report_lds_clash(Wave& w, const detail::Inst& inst, unsigned lane, std::uint32_t address, bool store,
                      const Lds::Result& result);

/// Reports lanes whose bytes an earlier load to LDS of the same wave is still writing.
void check_lds_dma(Wave& w, const detail::Inst& inst, const LdsAccess& access);

/// Exchanges elements among 16 lanes each, of the two dwords from `reg` on, after a load of 8 bytes a lane:
/// lane b of a group has loaded elements 4*(b%4).. of row b/4, and is left with column b of the rows.
void transpose16(Wave& w, unsigned reg);

/// Accesses between a wave's signal of a barrier and its wait count on both sides of it.
template <class F>
Lds::Result in_epochs(const Wave& w, F&& access) {
  Lds::Result r = access(w.passed);
  if (w.signals == w.passed) [[likely]]
    return r;
  const Lds::Result after = access(w.signals);
  return r.clash != Lds::Clash::none ? r : after;
}

}  // namespace wavejit::sim
