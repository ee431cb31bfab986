// SPDX-License-Identifier: MIT
#include "tools/wavejit/published_model.hpp"

#include <algorithm>

namespace wavejit::tools {
std::optional<double> PublishedResult::speedup(double us) const {
  if (!comparable()) return std::nullopt;
  return row.microseconds() / (us + launch_gap_us * static_cast<double>(call.stages.size()));
}

const StageModel& PublishedResult::longest() const {
  return *std::ranges::max_element(call.stages, {}, &StageModel::time_us);
}

templates::Problem problem_of(const PublishedRow& row, const PublishedOptions& options) {
  templates::Problem p;
  const bool grouped = row.table == PublishedTable::grouped;
  p.op = grouped ? templates::Operation::int4_grouped : templates::Operation::int4_gemm;
  p.layout = templates::WeightLayout::row_major_signed;
  p.zero_points = templates::ZeroPoints::additive;
  p.n = row.n;
  p.k = row.k;
  p.group = options.group;
  p.scale_type = options.scale_type;
  (grouped ? p.groups : p.batch) = row.sets;
  return p;
}

Result<PublishedResult> model_row(const PublishedRow& row, const target::Target& target,
                                  const PublishedOptions& options) {
  const templates::Problem problem = problem_of(row, options);
  const bool grouped = row.table == PublishedTable::grouped;
  const std::int64_t m = grouped ? row.sets * row.m : row.m;
  const auto config = options.config ? Result<templates::Config>(*options.config)
                                     : templates::select_config(problem, target, m);
  if (!config) return std::unexpected(config.error());
  CallOptions how;
  if (grouped) how.group_rows.assign(static_cast<std::size_t>(row.sets), row.m);
  auto call = model_call(problem, *config, target, m, how);
  if (!call) return std::unexpected(call.error());
  return PublishedResult{row, &target, *std::move(call), options.launch_gap_us};
}

}  // namespace wavejit::tools
