// SPDX-License-Identifier: MIT
#include "templates/cdna/ranking.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "templates/cdna/candidates.hpp"
#include "templates/cdna/decode/choose.hpp"

namespace wavejit::templates::cdna {
namespace {

constexpr std::int64_t first_end = 4, last_end = 16384;

/// Grouped products: of groups that are equally large.
std::int64_t rows_of_a_product(const Problem& p, std::int64_t m) {
  if (p.op != Operation::int4_grouped) return m;
  return (m + std::max<std::int64_t>(p.groups, 1) - 1) / std::max<std::int64_t>(p.groups, 1);
}

}  // namespace

std::int64_t bucket_end(std::int64_t m) {
  std::int64_t end = first_end;
  while (end < m && end < last_end) end *= 2;
  return end;
}

std::vector<Ranked> ranking(const Problem& problem, const target::Target& target, std::int64_t m,
                            std::size_t top) {
  const std::int64_t end = bucket_end(m);
  const std::vector<Candidate> tiles = candidates(problem, target, end).legal;
  const std::vector<decode::Choice> few = decode::ranking(problem, target, rows_of_a_product(problem, end));
  // Time, and the place among tiles and then decode kernels, which orders equals.
  std::vector<std::pair<double, std::size_t>> order;
  order.reserve(tiles.size() + few.size());
  for (const Candidate& c : tiles) order.emplace_back(quick_time_us(c, problem, target, end), order.size());
  for (const decode::Choice& c : few) order.emplace_back(c.time_us, order.size());
  const std::size_t count = std::min(top, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<Ranked> ranked;
  for (const auto& [time, place] : std::span(order).first(count)) {
    if (place < tiles.size()) {
      ranked.push_back({tiles[place].config, time, tiles[place].workgroups});
    } else {
      ranked.push_back({few[place - tiles.size()].config, time, 0});
    }
  }
  return ranked;
}

}  // namespace wavejit::templates::cdna
