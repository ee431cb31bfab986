// SPDX-License-Identifier: MIT
// The free numbers of gfx1151's timing, fitted to one half of the published points and judged on the other.
#pragma once

#include <string>
#include <vector>

#include "tools/wavejit/calibrate_points.hpp"

namespace wavejit::tools {

/// What has no measurement of its own, so that it may be chosen to fit.
struct FreeNumbers {
  double clock_megahertz = 0, l2_bytes_per_clock = 0, loaded_latency = 0;
};

struct Fit {
  std::string fitted_on, judged_on;  ///< sets of Point
  FreeNumbers numbers;
  std::vector<Point> fitted, judged;
};

/// Least mean error over `fitted_on` ("steps" or "shapes"), by turns over the two numbers that shape a loop;
/// the clock scales all alike and follows. Judged on the other set. Errors: those of the calibration.
Result<Fit> fit_gfx1151(const CalibrationOptions& options, const std::string& fitted_on);

}  // namespace wavejit::tools
