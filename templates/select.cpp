// SPDX-License-Identifier: MIT
// The first choice of a Config, by rules that can be said in a sentence each.
#include <algorithm>
#include <array>

#include "templates/problem.hpp"

namespace wavejit::templates {
namespace {

/// Rows wasted by tiles of `bm`, as a fraction of the rows computed.
double wasted_rows(std::int64_t m, unsigned bm) {
  const std::int64_t computed = (m + bm - 1) / bm * bm;
  return static_cast<double>(computed - m) / static_cast<double>(computed);
}

}  // namespace

Result<Config> select_config(const Problem& problem, const target::Target& target, std::int64_t m) {
  auto p = normalise(problem, target);
  if (!p) return std::unexpected(p.error());
  if (m < 1) return fail_field(ErrorCode::invalid_argument, "m", std::to_string(m), "at least 1");
  Config c;
  c.bk = 32;
  if (m <= 64) {
    // Few rows: the smallest tile that holds them in one piece, and more columns per workgroup.
    c.bm = m <= 16 ? 16 : (m <= 32 ? 32 : 64);
    c.bn = 64;
    c.waves = 4;
  } else {
    // Dequantised weights are reused by every row of the tile, so tall tiles save VALU; among the
    // heights that keep eight waves per SIMD, the one that wastes fewest rows of this M.
    constexpr std::array<unsigned, 3> heights{256, 192, 128};
    c.bm = *std::ranges::min_element(heights, {}, [&](unsigned bm) { return wasted_rows(m, bm); });
    c.bn = 64;
    c.waves = 8;
    c.lds_buffers = c.bm == 128 ? 2 : 1;
  }
  return normalise(c, *p, target);
}

}  // namespace wavejit::templates
