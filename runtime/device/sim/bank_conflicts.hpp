// SPDX-License-Identifier: MIT
// LDS bank conflicts, by the rule of hardware.md §7: an access of W bytes per lane is served
// banks*4/W consecutive lanes at a time, one clock each when no two lanes of a group want different
// dwords of one bank; the same dword is broadcast.
#pragma once

#include <cstdint>
#include <span>

namespace wavejit::sim {

/// Clocks beyond the conflict-free ones of one wave's access. `address`: bytes, per lane; `active`: bit per
/// lane; `bytes` 1..16; `banks` of 4 bytes.
unsigned conflict_cycles(std::span<const std::uint32_t> address, std::uint64_t active, unsigned lanes,
                         unsigned bytes, unsigned banks);

}  // namespace wavejit::sim
