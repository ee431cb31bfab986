// SPDX-License-Identifier: MIT
// Internal: data-parallel primitives. DPP routes source 0 of a VALU instruction between lanes.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/device/sim/code.hpp"

namespace wavejit::sim {

struct DppMap {
  static constexpr std::int8_t zero = -1;  ///< the lane reads 0
  std::array<std::int8_t, detail::max_lanes> source{};
  std::uint64_t enabled = 0;  ///< lanes that DPP lets write
};

/// Where each lane of a wave of `lanes` lanes reads, given EXEC. DPP_CTRL values as encoded for gfx9
/// to gfx12; the generations differ only in which of them exist, which the assembler has checked.
DppMap dpp_map(const isa::Dpp& dpp, unsigned lanes, std::uint64_t exec);

}  // namespace wavejit::sim
