// SPDX-License-Identifier: MIT
// Internal: one access of a wave to global memory, lane by lane, shared by all instruction forms.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/device/sim/wave.hpp"

namespace wavejit::sim {

/// Addresses of the lanes that take part, and the shape of what each moves.
struct GlobalAccess {
  std::uint64_t lanes = 0;       ///< lanes that access memory
  std::uint64_t zero_lanes = 0;  ///< loads: lanes that read 0 because their descriptor says out of bounds
  unsigned bytes = 4;            ///< per lane: 1, 2, 4, 8, 12, 16
  std::array<std::uint64_t, detail::max_lanes> address;
  /// Where bounds cut per dword: how many leading dwords of a lane are in; the rest reads 0 and is not
  /// stored. Valid only if `cut`.
  bool cut = false;
  std::array<std::uint8_t, detail::max_lanes> dwords;

  [[nodiscard]] unsigned lane_bytes(unsigned lane) const {
    return cut && bytes >= 4 ? dwords[lane] * 4U : bytes;
  }
};

/// What a load does with the bytes of one lane.
struct LoadShape {
  std::uint16_t reg = 0;
  bool sign_extend = false;                   ///< sub-dword loads
  std::uint8_t halves = detail::both_halves;  ///< d16: which half is written
};

/// Loads into VGPRs, marks their definedness and makes them pending on `w.vm`.
void load_global(Wave& w, const detail::Inst& inst, const GlobalAccess& access, const LoadShape& shape);

/// Stores from VGPR `reg`; `high` takes the upper 16 bits of a sub-dword store.
void store_global(Wave& w, const detail::Inst& inst, const GlobalAccess& access, unsigned reg, bool high);

/// 4-byte read-modify-write per lane, in lane order, with data from VGPR `data_reg` (and the value to
/// compare with from the next one). The old values go to the instruction's destination if it has one.
void atomic_global(Wave& w, const detail::Inst& inst, const GlobalAccess& access, unsigned data_reg);

/// The same of 8 bytes, for addition.
void atomic_add64(Wave& w, const detail::Inst& inst, const GlobalAccess& access, unsigned data_reg);

/// Where a buffer load (its descriptor's bounds applied) or a global load reads; sources in the order of
/// their opcodes' signatures.
GlobalAccess resolve_buffer(Wave& w, const detail::Inst& inst, unsigned bytes);
GlobalAccess resolve_global(const Wave& w, const detail::Inst& inst, unsigned bytes);

/// Finds the allocation of [address, address + bytes), reporting out_of_bounds, misaligned and
/// read-only stores for `lane`. nullptr = the lane does not access.
Allocation* check_global(Wave& w, const detail::Inst& inst, unsigned lane, std::uint64_t address,
                         unsigned bytes, bool store);

/// Element size and shape of a load or store opcode.
struct MemoryShape {
  unsigned bytes = 4;
  bool sign_extend = false;
  std::uint8_t halves = detail::both_halves;
};
MemoryShape memory_shape(isa::Opcode op);

}  // namespace wavejit::sim
