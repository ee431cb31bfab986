// SPDX-License-Identifier: MIT
// LDS bank conflicts, by the rule of hardware.md §7: an access of W bytes per lane is served
// banks*4/W consecutive lanes at a time, one clock each when no two lanes of a group want different
// dwords of one bank; the same dword is broadcast.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "runtime/device/sim/code.hpp"

namespace wavejit::sim {

/// Clocks beyond the conflict-free ones of one wave's access. `address`: bytes, per lane; `active`: bit per
/// lane; `bytes` 1..16; `banks` of 4 bytes.
unsigned conflict_cycles(std::span<const std::uint32_t> address, std::uint64_t active, unsigned lanes,
                         unsigned bytes, unsigned banks);

/// The last pattern of addresses that an instruction had, and its clocks. Loops shift a pattern as a whole,
/// and a shift by whole dwords turns the banks without changing which lanes meet in one.
class ConflictMemo {
 public:
  /// As conflict_cycles.
  unsigned cycles(std::span<const std::uint32_t> address, std::uint64_t active, unsigned lanes,
                  unsigned bytes, unsigned banks);

 private:
  [[nodiscard]] bool same(std::span<const std::uint32_t> address, std::uint64_t active, unsigned lanes,
                          unsigned bytes) const;

  std::uint64_t active_ = 0;
  unsigned bytes_ = 0;  ///< 0 = nothing remembered
  unsigned cycles_ = 0;
  std::array<std::uint32_t, detail::max_lanes> address_{};
};

}  // namespace wavejit::sim
