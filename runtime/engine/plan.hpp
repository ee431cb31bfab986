// SPDX-License-Identifier: MIT
// Internal: what a Plan refers to.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/cache/record.hpp"
#include "runtime/engine/engine.hpp"

namespace wavejit::engine {

/// A finished kernel, of no device in particular.
struct Code {
  cache::Key key;
  cache::Record record;
  Tier from = Tier::compiled;
};

struct Choice {
  templates::Config config;
  std::shared_ptr<const Code> code;
  std::shared_ptr<const device::Module> module;
  Layout layout;
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::uint32_t tile_m = 1, tiles_n = 1;
  bool rows_along_y = false;  ///< the fallback's grid
};

/// Rows up to `last` (from the previous interval's last + 1) take `choice`.
struct Interval {
  std::int64_t last = 0;
  std::uint32_t choice = 0;
};

/// Immutable once made.
struct PlanData {
  templates::Problem problem;  ///< normalised
  MRange range;
  std::shared_ptr<device::Device> device;
  std::shared_ptr<LiveCounters> counters;
  std::vector<Choice> choices;
  std::vector<Interval> intervals;  ///< by `last`

  /// nullptr outside the range.
  [[nodiscard]] const Choice* choice(std::int64_t m) const;
  Result<void> launch(device::Stream stream, const Arguments& arguments) const;
};

}  // namespace wavejit::engine
