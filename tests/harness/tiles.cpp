// SPDX-License-Identifier: MIT
#include "tests/harness/tiles.hpp"

#include <algorithm>
#include <optional>
#include <random>

#include "templates/cdna/launch.hpp"

namespace wavejit::harness {
namespace {

std::int64_t tiles_of(std::int64_t extent, std::int64_t tile) { return (extent + tile - 1) / tile; }

}  // namespace

std::vector<Product> products_of(const templates::Problem& problem, std::int64_t m,
                                 std::span<const std::int64_t> group_rows) {
  std::vector<Product> products;
  std::int64_t row = 0;
  const auto add = [&](std::int64_t rows, std::int64_t set) {
    if (rows > 0) products.push_back({.row_begin = row, .row_end = row + rows, .set = set});
    row += rows;
  };
  if (problem.op == templates::Operation::int4_grouped) {
    for (std::size_t g = 0; g < group_rows.size(); ++g) add(group_rows[g], static_cast<std::int64_t>(g));
  } else {
    for (std::int64_t b = 0; b < problem.batch; ++b) add(m, b);
  }
  return products;
}

TileGrid::TileGrid(const templates::Problem& problem, const templates::Config& config,
                   const target::Target& target, const templates::Launch& launch, std::int64_t m,
                   std::span<const std::int64_t> group_rows)
    : n_(problem.n),
      bm_(config.bm),
      bn_(config.bn),
      columns_(tiles_of(problem.n, bn_)),
      grid_x_(launch.grid[0]),
      products_(products_of(problem, m, group_rows)) {
  for (const Product& p : products_) first_.push_back(first_.back() + tiles_of(p.row_end - p.row_begin, bm_));
  const bool numbered_alike =
      config.path == templates::Path::decode && problem.op == templates::Operation::int4_grouped;
  if (config.path != templates::Path::mfma && !numbered_alike) return;
  // The order of a CDNA launch: a wrong one would be caught by what each run wrote.
  namespace cdna = templates::cdna;
  const cdna::Schedule schedule = cdna::schedule_of(problem, config, target);
  for (std::int64_t id = 0; id < grid_x_; ++id) {
    const auto place = schedule.grouped ? cdna::place(schedule, group_rows, m, id)
                                        : std::optional(cdna::place(schedule, m, id));
    if (place) workgroups_[{place->row0, place->tile_n * bn_}] = static_cast<std::uint64_t>(id);
  }
}

Tile TileGrid::tile(TileIndex index) const {
  const auto product = std::ranges::upper_bound(first_, index.row) - first_.begin() - 1;
  const Product& p = products_[static_cast<std::size_t>(product)];
  // Kernels of this project take tile rows from workgroup id x, tile columns from y and products from z. A
  // kernel that did otherwise would be caught: the harness checks which elements each run wrote.
  const std::int64_t in_product = index.row - first_[static_cast<std::size_t>(product)];
  const std::int64_t row = p.row_begin + in_product * bm_;
  const auto numbered = workgroups_.find({row, index.column * bn_});
  return {.workgroup =
              numbered != workgroups_.end()
                  ? numbered->second
                  : static_cast<std::uint64_t>(in_product + grid_x_ * (index.column + columns_ * product)),
          .block = {.row_begin = row,
                    .row_end = std::min(row + bm_, p.row_end),
                    .column_begin = index.column * bn_,
                    .column_end = std::min((index.column + 1) * bn_, n_),
                    .set = p.set}};
}

std::vector<Tile> TileGrid::all() const {
  std::vector<Tile> tiles;
  tiles.reserve(static_cast<std::size_t>(count()));
  for (std::int64_t column = 0; column < columns_; ++column)
    for (std::int64_t row = 0; row < rows(); ++row) tiles.push_back(tile({.row = row, .column = column}));
  return tiles;
}

std::vector<Tile> TileGrid::sample(std::size_t count, std::uint64_t seed) const {
  if (static_cast<std::int64_t>(count) >= this->count()) return all();
  std::vector<TileIndex> chosen;
  const auto add = [&](TileIndex index) {
    if (chosen.size() < count && std::ranges::find(chosen, index) == chosen.end()) chosen.push_back(index);
  };
  const TileIndex last{.row = rows() - 1, .column = columns_ - 1};
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
