// SPDX-License-Identifier: MIT
#include "tools/wavejit/calibrate_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wavejit::tools {
namespace {

/// Puts the numbers under trial into a table; what the caller wanted changed comes first.
struct Trial {
  FreeNumbers numbers;
  const CalibrationOptions* outer = nullptr;
};

void put(target::Timing& t, const void* with) {
  const Trial& trial = *static_cast<const Trial*>(with);
  if (trial.outer->adjust != nullptr) trial.outer->adjust(t, trial.outer->adjust_with);
  t.clock_megahertz = trial.numbers.clock_megahertz;
  t.l2_bytes_per_clock = trial.numbers.l2_bytes_per_clock;
  t.vmem_loaded_latency = static_cast<std::uint16_t>(trial.numbers.loaded_latency);
}

Result<std::vector<Point>> points_of(const std::string& set, const FreeNumbers& numbers,
                                     const CalibrationOptions& options) {
  const Trial trial{numbers, &options};
  CalibrationOptions with = options;
  with.adjust = put;
  with.adjust_with = &trial;
  Calibration c;
  const auto ok = set == "steps" ? calibrate_steps(with, c) : calibrate_shapes(with, c);
  if (!ok) return std::unexpected(ok.error());
  return c.points;
}

/// Mean error after the clock that suits the points best: rates are in proportion to it (none of these
/// launches is bound by DRAM), so that it is the median of measured over modelled.
double mean_error(const std::vector<Point>& points, double& scale) {
  std::vector<double> ratios;
  for (const Point& p : points) ratios.push_back(p.measured / p.modelled);
  std::ranges::sort(ratios);
  const std::size_t half = ratios.size() / 2;
  scale = ratios.size() % 2 == 1 ? ratios[half] : (ratios[half - 1] + ratios[half]) / 2;
  double sum = 0;
  for (const Point& p : points) sum += std::abs(scale * p.modelled / p.measured - 1);
  return sum / static_cast<double>(points.size());
}

}  // namespace

Result<Fit> fit_gfx1151(const CalibrationOptions& options, const std::string& fitted_on) {
  const target::Timing& table = target::find("gfx1151")->timing;
  Fit fit;
  fit.fitted_on = fitted_on;
  fit.judged_on = fitted_on == "steps" ? "shapes" : "steps";
  fit.numbers = {table.clock_megahertz, table.l2_bytes_per_clock,
                 static_cast<double>(table.vmem_loaded_latency)};
  double best = std::numeric_limits<double>::infinity();
  const auto attempt = [&](FreeNumbers n) -> Result<void> {
    const auto points = points_of(fitted_on, n, options);
    if (!points) return std::unexpected(points.error());
    double scale = 1;
    if (const double error = mean_error(*points, scale); error < best) {
      best = error;
      n.clock_megahertz = std::round(n.clock_megahertz * scale);
      fit.numbers = n;
    }
    return {};
  };
  struct Stride {
    double bytes, clocks;
  };
  for (const Stride s : {Stride{3, 200}, Stride{1, 100}, Stride{0.5, 50}})
    for (const bool latency : {true, false}) {
      const FreeNumbers centre = fit.numbers;
      for (const int step : {-2, -1, 0, 1, 2}) {
        FreeNumbers n = centre;
        (latency ? n.loaded_latency : n.l2_bytes_per_clock) += step * (latency ? s.clocks : s.bytes);
        if (auto ok = attempt(n); !ok) return std::unexpected(ok.error());
      }
    }
  auto fitted = points_of(fit.fitted_on, fit.numbers, options);
  if (!fitted) return std::unexpected(fitted.error());
  auto judged = points_of(fit.judged_on, fit.numbers, options);
  if (!judged) return std::unexpected(judged.error());
  fit.fitted = *std::move(fitted);
  fit.judged = *std::move(judged);
  return fit;
}

}  // namespace wavejit::tools
