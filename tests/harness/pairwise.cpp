// SPDX-License-Identifier: MIT
#include "tests/harness/pairwise.hpp"

#include <set>
#include <tuple>

namespace wavejit::harness {
namespace {

using Pair = std::tuple<std::size_t, int, std::size_t, int>;  // factor, level, later factor, level

Pair pair_of(std::size_t f, int a, std::size_t g, int b) {
  return f < g ? Pair{f, a, g, b} : Pair{g, b, f, a};
}

/// Pairs of `row` that `open` still has, with factor f at its level.
std::size_t gain(const std::set<Pair>& open, const Row& row, std::size_t f) {
  std::size_t count = 0;
  for (std::size_t g = 0; g < row.size(); ++g)
    if (g != f && row[g] >= 0) count += open.count(pair_of(f, row[f], g, row[g]));
  return count;
}

void complete(const std::set<Pair>& open, const std::vector<int>& levels, const Admits& admits, Row& row) {
  for (std::size_t f = 0; f < row.size(); ++f) {
    if (row[f] >= 0) continue;
    int best = -1;
    std::size_t best_gain = 0;
    for (int level = 0; level < levels[f]; ++level) {
      row[f] = level;
      if (!admits(row)) continue;
      const std::size_t here = gain(open, row, f);
      if (best < 0 || here > best_gain) {
        best = level;
        best_gain = here;
      }
    }
    row[f] = best;
  }
}

}  // namespace

std::vector<Row> pairwise(const std::vector<int>& levels, const Admits& admits) {
  std::set<Pair> open;
  for (std::size_t f = 0; f < levels.size(); ++f)
    for (std::size_t g = f + 1; g < levels.size(); ++g)
      for (int a = 0; a < levels[f]; ++a)
        for (int b = 0; b < levels[g]; ++b) {
          Row row(levels.size(), -1);
          row[f] = a;
          row[g] = b;
          if (admits(row)) open.insert({f, a, g, b});
        }
  std::vector<Row> rows;
  while (!open.empty()) {
    const auto [f, a, g, b] = *open.begin();
    Row row(levels.size(), -1);
    row[f] = a;
    row[g] = b;
    complete(open, levels, admits, row);
    for (std::size_t i = 0; i < row.size(); ++i)
      for (std::size_t j = i + 1; j < row.size(); ++j) open.erase({i, row[i], j, row[j]});
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace wavejit::harness
