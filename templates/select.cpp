// SPDX-License-Identifier: MIT
// The first choice of a Config, by rules that can be said in a sentence each.
#include <array>
#include <map>
#include <ranges>

#include "templates/problem.hpp"

namespace wavejit::templates {
namespace {

std::int64_t tiles(std::int64_t extent, unsigned tile) { return (extent + tile - 1) / tile; }

/// Dequantised weights are reused by every row of the tile, so tall tiles spare VALU: its share beside
/// one matrix instruction goes with 1 / bm, for either type. Of the heights that still give every WGP a
/// workgroup, the one that computes fewest rows of this M; of equal ones the tallest. Accumulators take
/// at most a twelfth of the SIMD's registers: about as many again go to fragments and loads in flight,
/// and a handful of waves must fit.
unsigned choose_height(const Problem& p, const target::Target& target, std::int64_t m, const Config& c) {
  constexpr std::array<unsigned, 6> heights{448, 384, 256, 224, 192, 128};
  const std::int64_t wgps = target.compute_units / 2;
  unsigned best = heights.back();
  for (const unsigned bm : std::views::reverse(heights)) {
    const bool fills = tiles(m, bm) * tiles(p.n, c.bn) >= wgps;
    const unsigned accumulators = bm * c.bn / (c.waves * target.wave_size);
    const bool fits = accumulators * 12 <= target.vgprs_per_simd;
    if (fills && fits && tiles(m, bm) * bm <= tiles(m, best) * best) best = bm;
  }
  return best;
}

/// The tile for `m` rows, before it is fitted to a problem.
Config tile_for(const Problem& problem, const target::Target& target, std::int64_t m) {
  Config c;
  c.bk = 32;
  c.bn = 64;
  if (m <= 64) {
    // Few rows: the smallest tile that holds them in one piece, and more columns per workgroup.
    c.bm = m <= 16 ? 16 : (m <= 32 ? 32 : 64);
    c.waves = 4;
    return c;
  }
  c.waves = 8;
  c.bm = choose_height(problem, target, m, c);
  // Two LDS buffers spare a barrier, but tall tiles pay for them in waves per SIMD.
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
  return normalise(tile_for(*p, target, m), *p, target);
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
    const Config tile = tile_for(*p, target, m);
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
