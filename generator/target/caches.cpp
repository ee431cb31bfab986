// SPDX-License-Identifier: MIT
#include "generator/target/caches.hpp"

#include <algorithm>
#include <array>

namespace wavejit::target {
namespace {

constexpr std::uint64_t mib = 1 << 20;
struct Row {
  std::string_view name;
  Caches caches;
};
constexpr std::array rows{Row{"gfx1100", {6 * mib, 1, 96 * mib, 4240}},
                          Row{"gfx1101", {4 * mib, 1, 64 * mib, 0}},
                          Row{"gfx1102", {2 * mib, 1, 32 * mib, 0}},
                          Row{"gfx1103", {2 * mib, 1, 0, 0}},
                          Row{"gfx1150", {2 * mib, 1, 0, 0}},
                          Row{"gfx1151", {2 * mib, 1, 32 * mib, 1130}},
                          Row{"gfx1152", {1 * mib, 1, 0, 0}},
                          Row{"gfx1153", {1 * mib, 1, 0, 0}},
                          Row{"gfx1200", {4 * mib, 1, 32 * mib, 1770}},
                          Row{"gfx1201", {8 * mib, 1, 64 * mib, 2940}},
                          Row{"gfx11-generic", {1 * mib, 1, 0, 0}},
                          Row{"gfx12-generic", {4 * mib, 1, 32 * mib, 1770}},
                          Row{"gfx942", {4 * mib, 8, 256 * mib, 7300, 32 << 10}},
                          Row{"gfx950", {4 * mib, 8, 256 * mib, 8500, 32 << 10}}};

}  // namespace

Caches caches(const Target& target) {
  const auto* row = std::ranges::find(rows, target.name, &Row::name);
  return row == rows.end() ? Caches{} : row->caches;
}

}  // namespace wavejit::target
