// SPDX-License-Identifier: MIT
#include "tests/harness/tiles.hpp"

#include <algorithm>
#include <random>

namespace wavejit::harness {
namespace {

std::int64_t tiles_of(std::int64_t extent, std::int64_t tile) { return (extent + tile - 1) / tile; }

}  // namespace

TileGrid::TileGrid(const templates::Problem& problem, const templates::Config& config,
                   const templates::Launch& launch, std::int64_t m)
    : m_(m),
      n_(problem.n),
      bm_(config.bm),
      bn_(config.bn),
      rows_(tiles_of(m, bm_)),
      columns_(tiles_of(problem.n, bn_)),
      grid_x_(launch.grid[0]) {}

Tile TileGrid::tile(TileIndex index) const {
  // Kernels of this project take tile rows from workgroup id x and tile columns from y. A kernel that
  // did otherwise would be caught: the harness checks which elements each run wrote.
  return {.workgroup = static_cast<std::uint64_t>(index.row + grid_x_ * index.column),
          .block = {.row_begin = index.row * bm_,
                    .row_end = std::min((index.row + 1) * bm_, m_),
                    .column_begin = index.column * bn_,
                    .column_end = std::min((index.column + 1) * bn_, n_)}};
}

std::vector<Tile> TileGrid::all() const {
  std::vector<Tile> tiles;
  tiles.reserve(static_cast<std::size_t>(count()));
  for (std::int64_t column = 0; column < columns_; ++column)
    for (std::int64_t row = 0; row < rows_; ++row) tiles.push_back(tile({.row = row, .column = column}));
  return tiles;
}

std::vector<Tile> TileGrid::sample(std::size_t count, std::uint64_t seed) const {
  if (static_cast<std::int64_t>(count) >= this->count()) return all();
  std::vector<TileIndex> chosen;
  const auto add = [&](TileIndex index) {
    if (chosen.size() < count && std::ranges::find(chosen, index) == chosen.end()) chosen.push_back(index);
  };
  const TileIndex last{.row = rows_ - 1, .column = columns_ - 1};
  add(last);
  add({.row = 0, .column = 0});
  add({.row = last.row / 2, .column = last.column / 2});
  add({.row = last.row, .column = 0});
  add({.row = 0, .column = last.column});
  std::mt19937_64 bits(seed);
  while (chosen.size() < count)
    add({.row = std::uniform_int_distribution(std::int64_t{0}, last.row)(bits),
         .column = std::uniform_int_distribution(std::int64_t{0}, last.column)(bits)});
  std::vector<Tile> tiles;
  tiles.reserve(chosen.size());
  for (const TileIndex index : chosen) tiles.push_back(tile(index));
  return tiles;
}

}  // namespace wavejit::harness
