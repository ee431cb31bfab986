// SPDX-License-Identifier: MIT
// The points that `wavejit calibrate` compares: what was measured on GPUs, and the model's answer.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "generator/model/estimate.hpp"

namespace wavejit::tools {

struct Point {
  std::string set;  ///< "loops", "steps", "shapes", "MI350X"
  std::string name;
  std::string unit;  ///< "clocks", "TFLOP/s", "us"
  double measured = 0, modelled = 0;
  bool fitted = false;  ///< a parameter was chosen with this point
  std::string note;

  /// Relative error; of a time even where the unit is a rate.
  [[nodiscard]] double error() const { return modelled / measured - 1; }
};

/// A pair that was measured: the first is faster by more than 1 %, or they tie.
struct Order {
  std::string set, faster, slower;
  double measured = 0, modelled = 0;  ///< ratio of speeds
  [[nodiscard]] bool tie() const { return measured < 1.01; }
  [[nodiscard]] bool right() const {
    return tie() ? modelled > 0.99 && modelled < 1.0 / 0.99 + 0.01 : modelled > 1.0;
  }
};

struct Calibration {
  std::vector<Point> points;
  std::vector<Order> orders;
};

struct CalibrationOptions {
  std::filesystem::path shared;
  model::RunOptions run{.warm_iterations = 10, .iterations = 40, .trace_events = 0};
  /// Changes a target's numbers before it is used.
  void (*adjust)(target::Timing&, const void*) = nullptr;
  const void* adjust_with = nullptr;
};

/// Each adds to `out`. Errors: io for a missing peer object, and those of the model.
Result<void> calibrate_loops(const CalibrationOptions& options, Calibration& out);
Result<void> calibrate_steps(const CalibrationOptions& options, Calibration& out);
Result<void> calibrate_shapes(const CalibrationOptions& options, Calibration& out);
Result<void> calibrate_cdna(const CalibrationOptions& options, Calibration& out);

/// Our kernels' modelled launch beside that of Triton's best code object for the same work, for the named
/// shapes: every pair of activation type and zero points. Where Triton has several (fp16: 128x64 and
/// 128x256), the one that the model says is faster for the shape.
struct Comparison {
  std::string shape;
  std::string kind;  ///< "bf16 sym"
  std::string peer;
  std::int64_t m = 0;
  std::string config;
  model::Estimate ours, theirs;
};
Result<std::vector<Comparison>> compare_own(const CalibrationOptions& options);

/// The table of a target with the options' changes.
target::Target adjusted(const target::Target& target, const CalibrationOptions& options);

}  // namespace wavejit::tools
