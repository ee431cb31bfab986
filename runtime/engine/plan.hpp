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

/// One kernel of a choice.
struct Stage {
  std::shared_ptr<const Code> code;
  std::shared_ptr<const device::Module> module;
  Layout layout;
  device::Geometry geometry;    ///< for some M
  templates::RowGrid row_grid;  ///< what another M changes of it

  [[nodiscard]] device::Geometry geometry_for(std::int64_t m) const;
};

struct Choice {
  templates::Config config;
  std::vector<Stage> stages;  ///< launched in this order on one stream; never empty
  std::uint64_t workspace_bytes = 0;
};

/// Rows from `first` to `last` take `choice`.
struct Interval {
  std::int64_t first = 1, last = 0;
  std::uint32_t choice = 0;
};

/// Immutable once made.
struct PlanData {
  templates::Problem problem;  ///< normalised
  MRange range;
  std::shared_ptr<device::Device> device;
  std::shared_ptr<LiveCounters> counters;
  std::int64_t most_rows = 0;  ///< of one launch of the stages; more rows are several
  std::vector<Choice> choices;
  std::vector<Interval> intervals;  ///< by `last`

  /// nullptr outside the range.
  [[nodiscard]] const Choice* choice(std::int64_t m) const;
  /// For up to most_rows rows of a launch that is in the range.
  [[nodiscard]] const Choice& piece(std::int64_t m) const;
  Result<void> launch(device::Stream stream, const Arguments& arguments) const;
};

}  // namespace wavejit::engine
