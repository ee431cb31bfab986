// SPDX-License-Identifier: MIT
#include "generator/model/traffic.hpp"

#include <algorithm>
#include <list>
#include <set>
#include <vector>

namespace wavejit::model {
namespace {

/// Which bands a cache holds, the latest used first.
class Cache {
 public:
  explicit Cache(double size) : size_(size) {}

  /// Uses a band; whether it was there.
  bool use(std::uint64_t band, double bytes) {
    const auto found = std::ranges::find(bands_, band, &Entry::band);
    const bool hit = found != bands_.end();
    if (hit) {
      used_ -= found->bytes;
      bands_.erase(found);
    }
    bands_.push_front({band, bytes});
    used_ += bytes;
    shrink();
    return hit;
  }
  /// Bytes that pass through and are not asked for again.
  void pollute(double bytes) {
    if (bytes <= 0) return;
    bands_.push_front({nothing, bytes});
    used_ += bytes;
    shrink();
  }

 private:
  struct Entry {
    std::uint64_t band;
    double bytes;
  };
  static constexpr std::uint64_t nothing = ~std::uint64_t{0};
  /// A band that does not fit whole is gone: by the time its end is read, its beginning has left.
  void shrink() {
    while (used_ > size_ && !bands_.empty()) {
      used_ -= bands_.back().bytes;
      bands_.pop_back();
    }
  }
  double size_, used_ = 0;
  std::list<Entry> bands_;
};

/// The bands that one slice's workgroups of a front read, and what they write.
struct Front {
  std::set<std::uint64_t> rows, columns;
  double outputs = 0;
};

}  // namespace

Traffic traffic(const Tiling& t, std::uint64_t concurrent, const target::Caches& caches) {
  const std::uint64_t across = t.grid_rows(), all = across * t.grid_columns();
  concurrent = std::max<std::uint64_t>(concurrent, 1);
  const unsigned slices = std::max(caches.l2_slices, 1U);
  std::vector<Cache> level2(slices, Cache(static_cast<double>(caches.l2_bytes)));
  Cache mall(static_cast<double>(caches.mall_bytes));
  const auto part = [](std::uint64_t band, std::uint64_t tile, std::uint64_t of) {
    return static_cast<double>(std::min(tile, of - band * tile));
  };
  Traffic result;
  for (std::uint64_t first = 0; first < all; first += concurrent) {
    std::vector<Front> fronts(slices);
    for (std::uint64_t id = first; id < std::min(first + concurrent, all); ++id) {
      const std::uint64_t x = id % across, y = id / across;
      Front& f = fronts[id % slices];
      f.rows.insert(x);
      f.columns.insert(y);
      const double rows = part(x, t.tile_rows, t.rows), columns = part(y, t.tile_columns, t.columns);
      result.asked += rows * t.row_bytes + columns * t.column_bytes;
      f.outputs += rows * columns * t.output_bytes;
    }
    std::set<std::uint64_t> this_front;
    const auto read = [&](Cache& slice, std::uint64_t band, double bytes) {
      if (slice.use(band, bytes)) return;
      result.mall += bytes;
      // Other slices of the front ask for it at about the same time.
      if (this_front.insert(band).second && !mall.use(band, bytes)) result.dram += bytes;
    };
    for (unsigned s = 0; s < slices; ++s) {
      for (const std::uint64_t x : fronts[s].rows)
        read(level2[s], 2 * x, part(x, t.tile_rows, t.rows) * t.row_bytes);
      for (const std::uint64_t y : fronts[s].columns)
        read(level2[s], 2 * y + 1, part(y, t.tile_columns, t.columns) * t.column_bytes);
      level2[s].pollute(fronts[s].outputs);
      mall.pollute(fronts[s].outputs);
      result.dram += fronts[s].outputs;
    }
  }
  return result;
}

}  // namespace wavejit::model
