// SPDX-License-Identifier: MIT
// Which part of the output a workgroup computes, and which workgroups to run when all are too many.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "templates/kernel.hpp"
#include "tests/oracle/product.hpp"

namespace wavejit::harness {

/// One workgroup and its part of the output, cut at the output's edges.
struct Tile {
  std::uint64_t workgroup = 0;  ///< linear id in the grid
  oracle::Block block;
};

/// Tile (row, column) of the tile grid.
struct TileIndex {
  std::int64_t row = 0, column = 0;
  friend bool operator==(const TileIndex&, const TileIndex&) = default;
};

/// Rows of the output that one set of weights makes.
struct Product {
  std::int64_t row_begin = 0, row_end = 0, set = 0;
};

/// The products of a launch that have rows; `group_rows` of a grouped problem.
std::vector<Product> products_of(const templates::Problem& problem, std::int64_t m,
                                 std::span<const std::int64_t> group_rows);

/// The tile grid of a launch: rows of tiles, product after product, each of ceil(rows / bm), times ceil(N /
/// bn).
class TileGrid {
 public:
  /// `group_rows`: sizes of a grouped problem's groups, which fit into m.
  TileGrid(const templates::Problem& problem, const templates::Config& config, const target::Target& target,
           const templates::Launch& launch, std::int64_t m, std::span<const std::int64_t> group_rows = {});

  /// Those that have rows.
  [[nodiscard]] const std::vector<Product>& products() const { return products_; }
  [[nodiscard]] std::int64_t rows() const { return first_.back(); }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  [[nodiscard]] std::int64_t count() const { return rows() * columns_; }
  [[nodiscard]] Tile tile(TileIndex index) const;

  /// Every tile, in the order of the grid.
  [[nodiscard]] std::vector<Tile> all() const;

  /// `count` different tiles: the corner that is a tail both ways first, then the origin, the middle,
  /// the two other corners, then tiles drawn from `seed`. All of them when there are no more.
  [[nodiscard]] std::vector<Tile> sample(std::size_t count, std::uint64_t seed) const;

 private:
  std::int64_t n_, bm_, bn_, columns_, grid_x_;
  std::vector<Product> products_;
  std::vector<std::int64_t> first_{0};  ///< row of tiles that a product begins with; one more than products
  /// Workgroup of the tile at (row, column) of the output, where it is not simply numbered.
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint64_t> workgroups_;
};

}  // namespace wavejit::harness
