// SPDX-License-Identifier: MIT
// The first choice of a Config, by rules that can be said in a sentence each.
#include <algorithm>
#include <array>
#include <map>

#include "templates/problem.hpp"

namespace wavejit::templates {
namespace {

/// Rows wasted by tiles of `bm`, as a fraction of the rows computed.
double wasted_rows(std::int64_t m, unsigned bm) {
  const std::int64_t computed = (m + bm - 1) / bm * bm;
  return static_cast<double>(computed - m) / static_cast<double>(computed);
}

/// The tile for `m` rows, before it is fitted to a problem.
Config tile_for(std::int64_t m) {
  Config c;
  c.bk = 32;
  c.bn = 64;
  if (m <= 64) {
    // Few rows: the smallest tile that holds them in one piece, and more columns per workgroup.
    c.bm = m <= 16 ? 16 : (m <= 32 ? 32 : 64);
    c.waves = 4;
    return c;
  }
  // Dequantised weights are reused by every row of the tile, so tall tiles save VALU; among the
  // heights that keep eight waves per SIMD, the one that wastes fewest rows of this M.
  constexpr std::array<unsigned, 3> heights{256, 192, 128};
  c.bm = *std::ranges::min_element(heights, {}, [&](unsigned bm) { return wasted_rows(m, bm); });
  c.waves = 8;
  c.lds_buffers = c.bm == 128 ? 2 : 1;
  return c;
}

std::unexpected<Error> bad_m(std::int64_t m) {
  return fail_field(ErrorCode::invalid_argument, "m", std::to_string(m), "at least 1");
}

}  // namespace

Result<Config> select_config(const Problem& problem, const target::Target& target, std::int64_t m) {
  auto p = normalise(problem, target);
  if (!p) return std::unexpected(p.error());
  if (m < 1) return bad_m(m);
  return normalise(tile_for(m), *p, target);
}

Result<std::vector<Selection>> select_configs(const Problem& problem, const target::Target& target,
                                              std::int64_t first, std::int64_t last) {
  auto p = normalise(problem, target);
  if (!p) return std::unexpected(p.error());
  if (first < 1) return bad_m(first);
  if (last < first)
    return fail_field(ErrorCode::invalid_argument, "last", std::to_string(last),
                      "at least first (" + std::to_string(first) + ")");
  std::map<unsigned, Config> by_height;  // the height says all of tile_for's answer
  std::vector<Selection> selections;
  for (std::int64_t m = first; m <= last; ++m) {
    const Config tile = tile_for(m);
    if (!selections.empty() && selections.back().config.bm == tile.bm) {
      selections.back().last = m;
      continue;
    }
    auto it = by_height.find(tile.bm);
    if (it == by_height.end()) {
      auto fitted = normalise(tile, *p, target);
      if (!fitted) return std::unexpected(fitted.error());
      it = by_height.emplace(tile.bm, *fitted).first;
    }
    selections.push_back({m, m, it->second});
  }
  return selections;
}

}  // namespace wavejit::templates
