// SPDX-License-Identifier: MIT
// Internal: order of global-memory accesses among waves. Nothing orders two workgroups, and within
// one only a barrier (with its waits) orders two waves, so one wave writing a byte that another
// writes with another value, or reads, is a race. For each two bytes the last writer is kept:
// [63:32] wave of the whole launch + 1 (0 = nobody), [31:8] barriers its workgroup had passed, bit 2:
// written by atomics, [1:0] which of the two bytes. A writer of the other byte replaces it, so for
// byte stores that interleave the check is incomplete, never wrong.
#pragma once

#include <cstdint>

#include "runtime/device/sim/access.hpp"
#include "runtime/device/sim/wave.hpp"

namespace wavejit::sim {

/// Called before the bytes are written.
void check_global_write(Wave& w, const detail::Inst& inst, Allocation& a, std::uint64_t offset,
                        unsigned bytes, unsigned lane, const std::uint8_t* value);
void check_global_reads(Wave& w, const detail::Inst& inst, const Allocation& a, const GlobalAccess& access);
void note_atomic(Allocation& a, std::uint64_t offset);

}  // namespace wavejit::sim
