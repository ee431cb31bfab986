// SPDX-License-Identifier: MIT
// What a launch moves through the level-2 cache, the MALL and DRAM, by the order of its workgroups.
//
// A working-set model. The grid of tiles is walked with rows fastest; `concurrent` workgroups at a time are
// under way, a front. Within a front all workgroups of a row of tiles read the same activations and all of a
// column of tiles the same weights at about the same time: each band of rows or columns crosses a level-2
// cache once per front. From front to front a band is found again where no more than the cache's size of
// other bands and outputs came between its uses; outputs are written through to DRAM once. The level-2 cache
// may be sliced (XCDs): workgroup i belongs to slice i mod slices, and slices share nothing. What it leaves
// out: workgroups of a front that drift apart by more than the cache holds, associativity, other tenants.
#pragma once

#include <cstdint>

#include "generator/target/caches.hpp"

namespace wavejit::model {

/// A launch as a grid of tiles over its output.
struct Tiling {
  std::uint64_t rows = 0, columns = 0;            ///< of the output
  std::uint64_t tile_rows = 1, tile_columns = 1;  ///< of a workgroup
  double row_bytes = 0;                           ///< inputs of one row along K: activations
  double column_bytes = 0;                        ///< … of one column: weights, scales, zero points
  double output_bytes = 2;                        ///< of one element
  bool rows_fastest = true;  ///< workgroups walk the tiles so; false: in an order of their own, not known

  [[nodiscard]] std::uint64_t grid_rows() const { return (rows + tile_rows - 1) / tile_rows; }
  [[nodiscard]] std::uint64_t grid_columns() const { return (columns + tile_columns - 1) / tile_columns; }
  /// Shares of the tiles' rows and columns that lie outside the output.
  [[nodiscard]] double wasted_rows() const {
    return 1 - static_cast<double>(rows) / static_cast<double>(grid_rows() * tile_rows);
  }
  [[nodiscard]] double wasted_columns() const {
    return 1 - static_cast<double>(columns) / static_cast<double>(grid_columns() * tile_columns);
  }
};

/// Bytes of a whole launch.
struct Traffic {
  double asked = 0;  ///< of the level-2 cache: inputs of every workgroup
  double mall = 0;   ///< that the level-2 caches do not hold
  double dram = 0;   ///< that the MALL does not hold either, and outputs
};

/// `concurrent`: workgroups under way at once on the whole GPU, at least 1.
Traffic traffic(const Tiling& tiling, std::uint64_t concurrent, const target::Caches& caches);

}  // namespace wavejit::model
