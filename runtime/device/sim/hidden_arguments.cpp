// SPDX-License-Identifier: MIT
#include "runtime/device/sim/hidden_arguments.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace wavejit::sim {
namespace {

struct Launch {
  std::array<std::uint32_t, 3> grid, block;
  std::uint32_t dynamic_lds_bytes;
};

std::uint64_t value_of(const std::string& kind, const Launch& launch) {
  constexpr std::array<std::string_view, 3> axes{"_x", "_y", "_z"};
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (!kind.ends_with(axes[axis])) continue;
    if (kind.starts_with("hidden_block_count")) return launch.grid[axis];
    if (kind.starts_with("hidden_group_size")) return launch.block[axis];
  }
  if (kind == "hidden_grid_dims") {
    const auto used = [&](unsigned axis) { return launch.grid[axis] > 1 || launch.block[axis] > 1; };
    return used(2) ? 3 : used(1) ? 2 : 1;
  }
  if (kind == "hidden_dynamic_lds_size") return launch.dynamic_lds_bytes;
  return 0;
}

}  // namespace

void fill_hidden_arguments(std::span<const lower::ArgMetadata> args, std::array<std::uint32_t, 3> grid,
                           std::array<std::uint32_t, 3> block, std::uint32_t dynamic_lds_bytes,
                           std::span<std::byte> kernarg) {
  const Launch launch{grid, block, dynamic_lds_bytes};
  for (const lower::ArgMetadata& a : args) {
    if (!a.value_kind.starts_with("hidden_") || a.offset > kernarg.size() ||
        a.size > kernarg.size() - a.offset)
      continue;
    const std::uint64_t value = value_of(a.value_kind, launch);
    const auto field = kernarg.subspan(a.offset, a.size);
    std::ranges::fill(field, std::byte{});
    std::memcpy(field.data(), &value, std::min(field.size(), sizeof value));
  }
}

}  // namespace wavejit::sim
