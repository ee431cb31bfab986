// SPDX-License-Identifier: MIT
#include "runtime/device/sim/dpp.hpp"

namespace wavejit::sim {
namespace {

constexpr unsigned row = 16;

/// Source lane of a DPP_CTRL value; negative where there is none.
int dpp16_source(unsigned ctrl, unsigned lane, unsigned lanes) {
  const unsigned base = lane / row * row;
  const unsigned in_row = lane % row;
  const unsigned amount = ctrl & 0xF;
  if (ctrl <= 0xFF) return static_cast<int>(lane / 4 * 4 + (ctrl >> (2 * (lane % 4)) & 3));
  switch (ctrl & 0x1F0) {
    case 0x100:  // row_shl: from a higher lane
      return in_row + amount < row ? static_cast<int>(lane + amount) : -1;
    case 0x110:  // row_shr
      return in_row >= amount ? static_cast<int>(lane - amount) : -1;
    case 0x120:  // row_ror
      return static_cast<int>(base + (in_row + row - amount) % row);
    case 0x150:  // row_share (gfx9: row_newbcast)
      return static_cast<int>(base + amount);
    case 0x160:  // row_xmask
      return static_cast<int>(base + (in_row ^ amount));
    default:
      break;
  }
  const int self = static_cast<int>(lane);
  const int count = static_cast<int>(lanes);
  switch (ctrl) {
    case 0x130:  // wave_shl:1
      return self + 1 < count ? self + 1 : -1;
    case 0x134:  // wave_rol:1
      return (self + 1) % count;
    case 0x138:  // wave_shr:1
      return self - 1;
    case 0x13C:  // wave_ror:1
      return (self + count - 1) % count;
    case 0x140:  // row_mirror
      return static_cast<int>(base + row - 1 - in_row);
    case 0x141:  // row_half_mirror
      return static_cast<int>(lane / 8 * 8 + 7 - lane % 8);
    case 0x142:  // row_bcast:15: the last lane of the row before
      return base >= row ? static_cast<int>(base - 1) : -1;
    case 0x143:  // row_bcast:31
      return lane >= 32 ? 31 : -1;
    default:
      return -1;
  }
}

}  // namespace

DppMap dpp_map(const isa::Dpp& dpp, unsigned lanes, std::uint64_t exec) {
  DppMap map;
  for (unsigned l = 0; l < lanes; ++l) {
    if (dpp.kind == isa::Dpp::Kind::dpp8) {
      const unsigned from = l / 8 * 8 + (dpp.lanes >> (3 * (l % 8)) & 7);
      const bool readable = dpp.fi || (exec >> from & 1) != 0;
      map.source[l] = readable ? static_cast<std::int8_t>(from) : DppMap::zero;
      map.enabled |= std::uint64_t{1} << l;
      continue;
    }
    const bool masked = (dpp.row_mask >> (l / row) & 1) == 0 || (dpp.bank_mask >> (l / 4 % 4) & 1) == 0;
    const int from = dpp16_source(dpp.ctrl, l, lanes);
    const bool exists = from >= 0;
    const bool readable = exists && (dpp.fi || (exec >> from & 1) != 0);
    map.source[l] = readable ? static_cast<std::int8_t>(from) : DppMap::zero;
    if (!masked && (readable || dpp.bound_ctrl)) map.enabled |= std::uint64_t{1} << l;
  }
  return map;
}

}  // namespace wavejit::sim
