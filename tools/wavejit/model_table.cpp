// SPDX-License-Identifier: MIT
#include "tools/wavejit/model_table.hpp"

#include <fmt/format.h>

#include <algorithm>

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
      entry->peeled = stand_in.k / config.bk - static_cast<std::int64_t>(kernel->iterations * config.unroll);
      return model::Estimator(kernel->stretches(), kernel->facts, target_);
    };
    entry->estimator.emplace(make());
  }
  if (!*entry->estimator) return std::unexpected(entry->estimator->error());
  const auto launch = templates::launch(problem, config, target_, m);
  if (!launch) return std::unexpected(launch.error());
  const std::int64_t iterations = (problem.k / config.bk - entry->peeled) / config.unroll;
  const auto e = (*entry->estimator)
                     ->estimate(shape_of(problem, config, *launch, m,
                                         static_cast<std::uint64_t>(std::max<std::int64_t>(iterations, 1))));
  if (!e) return std::unexpected(e.error());
  return e->time_us;
}

}  // namespace wavejit::tools
