// SPDX-License-Identifier: MIT
#include "templates/quick_cost.hpp"

#include <algorithm>
#include <cmath>

namespace wavejit::templates {
namespace {

double norm12(double a, double b, double c, double d) {
  const double top = std::max({a, b, c, d});
  const auto power = [top](double x) {
    const double q = x / top, q2 = q * q, q4 = q2 * q2;
    return q4 * q4 * q4;
  };
  return top * std::cbrt(std::sqrt(std::sqrt(power(a) + power(b) + power(c) + power(d))));
}

/// Clocks of one workgroup outside its loop, by form: prologue with cold loads and the pipeline's peeled
/// steps, epilogue with its stores. Fitted to run_workgroups() of the same kernels (mean error 6 %).
double outside_loop(const Config& c, double latency, double stores, double level2, double matrix) {
  struct Fit {
    double latencies, per_store, level2, matrix;
  };
  constexpr std::array<Fit, 4> fits{
      {{2.2, 0.81, 1.03, 1.03}, {3.5, 1.63, 0.52, 1.39}, {2.3, 0.66, 1.80, 2.52}, {3.8, 2.93, 1.58, 2.40}}};
  const Fit& f = fits[(c.pipeline_depth > 1 ? 2 : 0) + (c.lds_buffers > 1 ? 1 : 0)];
  return f.latencies * latency + f.per_store * stores + f.level2 * level2 + f.matrix * matrix;
}

}  // namespace

unsigned rows_loaded(const Candidate& candidate, std::int64_t m) {
  return static_cast<unsigned>(std::min<std::int64_t>(m, candidate.footprint.rows));
}

QuickCost::QuickCost(const Candidate& candidate, const Problem& p, const target::Target& target,
                     unsigned rows)
    : timing_(&target.timing), bm_(candidate.config.bm) {
  const Config& c = candidate.config;
  const Footprint& f = candidate.footprint;
  const target::Timing& t = target.timing;
  const double simds = target.simds_per_wgp, cus = simds / 2;
  const double matrix = f.matrix * target.wmma16.cycles / simds, valu = f.valu / simds;
  const double b128 = 16.0 * target.wave_size / t.lds_bytes_per_clock;
  const double lds = (f.lds_loads + f.lds_stores) * b128 / cus;
  level2_ = 128 * (f.activation_lines * rows + f.other_lines) / (t.l2_bytes_per_clock * cus);
  lds_ = 1.36 * lds;
  busy_ = matrix + 1.38 * valu + 1.4;
  // A workgroup of fewer waves than SIMDs leaves some idle while it is alone.
  const double own = 314 + 0.75 * matrix * std::max(1.0, simds / c.waves) + 0.64 * lds;
  const double latency = 0.74 * t.vmem_loaded_latency;
  const double overlap = c.waves <= simds ? 0.55 : 0.32;
  wait_ = c.pipeline_depth > 1 ? std::max(own, (latency + 0.07 * level2_ + 1.15 * own) / 2)
                               : latency + 0.36 * level2_ + overlap * own;
  workgroups_ = std::clamp(f.workgroups, 1U, most_resident);
  for (unsigned r = 1; r <= workgroups_; ++r)
    per_step_[r] = norm12(busy_ * std::max(1.0, simds / (c.waves * r)), lds_, level2_, wait_ / r);
  units_ = target.compute_units / cus;
  columns_ = std::ceil(static_cast<double>(p.n) / c.bn);
  // The pipeline's first and last steps lie outside the loop, where outside_ counts them.
  const double peeled = c.pipeline_depth + c.lds_buffers - 1.0;
  steps_ = std::max(static_cast<double>(p.k) / c.bk - peeled, 0.0);
  for (unsigned r = 1; r < workgroups_; ++r)
    drain_ += steps_ / workgroups_ * r * std::max(per_step_[r] - per_step_[workgroups_], 0.0);
  outside_ = outside_loop(c, t.vmem_loaded_latency, f.matrix / (c.bk / 16) * 8, level2_, matrix);
  const double clocks_per_byte = t.clock_megahertz * 1e6 / (t.dram_gigabytes * 1e9);
  const auto n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  dram_fixed_ = (n * k / 2 + n * k / static_cast<double>(p.group) * 2) * clocks_per_byte;
  dram_per_row_ = 2 * (k + n) * clocks_per_byte;
}

double QuickCost::clocks(std::int64_t m, unsigned& resident, double& dram) const {
  const double rows_of_groups = static_cast<double>((m + bm_ - 1) / bm_);
  const double per_unit = rows_of_groups * columns_ / units_, fullest = std::ceil(per_unit);
  resident = per_unit < workgroups_ ? static_cast<unsigned>(fullest) : workgroups_;
  const double each = steps_ * per_step_[resident] + outside_ / resident;
  const double computing =
      per_unit < workgroups_ ? resident * each : std::max(per_unit * each + drain_, fullest * each);
  dram = dram_fixed_ + static_cast<double>(m) * dram_per_row_;
  return computing;
}

double QuickCost::time_us(std::int64_t m) const {
  unsigned resident = 0;
  double dram = 0;
  const double computing = clocks(m, resident, dram);
  return std::max(computing, dram) / timing_->clock_megahertz;
}

QuickCost::Launch QuickCost::launch(std::int64_t m) const {
  Launch l;
  double dram = 0;
  const double computing = clocks(m, l.resident, dram);
  l.clocks = std::max(computing, dram);
  l.time_us = l.clocks / timing_->clock_megahertz;
  l.per_step = per_step_[l.resident];
  const double wait = wait_ / l.resident, most = std::max({busy_, lds_, level2_, wait});
  l.binds = dram > computing ? "DRAM"
            : most == busy_  ? "matrix + VALU"
            : most == wait   ? "latency"
            : most == lds_   ? "LDS"
                             : "memory";
  return l;
}

}  // namespace wavejit::templates
