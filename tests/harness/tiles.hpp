// SPDX-License-Identifier: MIT
// Which part of the output a workgroup computes, and which workgroups to run when all are too many.
#pragma once

#include <cstdint>
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

/// The tile grid of a launch: ceil(M / bm) rows of ceil(N / bn) tiles.
class TileGrid {
 public:
  TileGrid(const templates::Problem& problem, const templates::Config& config,
           const templates::Launch& launch, std::int64_t m);

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  [[nodiscard]] std::int64_t count() const { return rows_ * columns_; }
  [[nodiscard]] Tile tile(TileIndex index) const;

  /// Every tile, in the order of the grid.
  [[nodiscard]] std::vector<Tile> all() const;

  /// `count` different tiles: the corner that is a tail both ways first, then the origin, the middle,
  /// the two other corners, then tiles drawn from `seed`. All of them when there are no more.
  [[nodiscard]] std::vector<Tile> sample(std::size_t count, std::uint64_t seed) const;

 private:
  std::int64_t m_, n_, bm_, bn_, rows_, columns_, grid_x_;
};

}  // namespace wavejit::harness
