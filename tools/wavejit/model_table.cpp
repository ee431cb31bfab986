// SPDX-License-Identifier: MIT
#include "tools/wavejit/model_table.hpp"

#include <fmt/format.h>

#include <cmath>

namespace wavejit::tools {
namespace {

/// One shape that stands for all of a kind: its rows of tensors are more than a line apart, as large ones
/// are.
templates::Problem representative(const templates::Problem& p) {
  templates::Problem small = p;
  small.n = 1024;
  small.k = std::max<std::int64_t>(2048, 2 * p.group);
  if (p.k % p.group == 0 && p.group != p.k) small.k = small.k / p.group * p.group;
  if (p.group == p.k) small.group = small.k;
  small.activation_stride = small.weight_stride = small.scale_stride = small.output_stride = 0;
  small.zero_point_stride = 0;
  // Scale rows as far apart as the problem's: what is closer shares lines.
  small.scale_stride = std::max(p.scale_stride, small.k / small.group);
  if (p.zero_points == templates::ZeroPoints::packed)
    small.zero_point_stride = std::max(p.zero_point_stride, small.k / small.group);
  return small;
}

}  // namespace

Result<double> ModelTable::time_us(const templates::Problem& problem, const templates::Config& config,
                                   std::int64_t m) {
  const templates::Problem stand_in = representative(problem);
  const std::int64_t rows = std::min<std::int64_t>(m, config.bm);
  // Strides beyond a line cost the same.
  constexpr std::int64_t line = 64;
  const std::string key = fmt::format(
      "{} {} {} {} {} {} {}", templates::name(problem.activation), static_cast<int>(problem.zero_points),
      static_cast<int>(problem.rounding), problem.group == problem.k ? -1 : problem.group,
      std::min(problem.scale_stride, line), templates::canonical(config), rows);
  Entry* entry = nullptr;
  {
    const std::lock_guard lock(mutex_);
    entry = &entries_[key];
  }
  const std::lock_guard lock(entry->mutex);
  if (!entry->estimator) {
    const auto make = [&]() -> Result<model::Estimator> {
      auto kernel = prepare_generated(stand_in, config, target_, rows);
      if (!kernel) return std::unexpected(kernel.error());
      auto stretches = kernel->stretches();
      if (!stretches) return std::unexpected(stretches.error());
      return model::Estimator(*std::move(stretches), kernel->facts, target_);
    };
    entry->estimator.emplace(make());
  }
  if (!*entry->estimator) return std::unexpected(entry->estimator->error());
  const auto shape = launch_shape(problem, config, target_, m);
  if (!shape) return std::unexpected(shape.error());
  const auto e = (*entry->estimator)->estimate(*shape);
  if (!e) return std::unexpected(e.error());
  return e->time_us;
}

Result<double> ModelTable::played_clocks(const templates::Problem& problem, const templates::Config& config,
                                         std::int64_t m) {
  const auto kernel = prepare_generated(problem, config, target_, m);
  if (!kernel) return std::unexpected(kernel.error());
  const auto stretches = kernel->stretches();
  if (!stretches) return std::unexpected(stretches.error());
  const auto shape = launch_shape(problem, config, target_, m);
  if (!shape) return std::unexpected(shape.error());
  const model::Occupancy occupancy = model::occupancy(kernel->facts, target_);
  const double units = 2.0 * target_.compute_units / target_.simds_per_wgp;
  const auto fullest = static_cast<unsigned>(std::ceil(static_cast<double>(shape->workgroups) / units));
  return model::run_workgroups(
      *stretches, static_cast<unsigned>(kernel->iterations), fullest,
      {std::min(occupancy.workgroups, fullest), kernel->facts.waves, kernel->facts.wgp_mode}, target_);
}

}  // namespace wavejit::tools
