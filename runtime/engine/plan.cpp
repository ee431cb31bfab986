// SPDX-License-Identifier: MIT
#include "runtime/engine/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/support/guarded.hpp"

namespace wavejit {
namespace engine {
namespace {

std::unexpected<Error> not_prepared(std::int64_t m, MRange range) {
  return fail_field(ErrorCode::not_prepared, "M", std::to_string(m),
                    fmt::format("{} to {}, for which this plan was prepared; prepare another outside of any "
                                "stream capture",
                                range.first, range.last));
}

Result<void> check(const Choice& choice, const Arguments& arguments, std::int64_t m) {
  Used used;
  for (const Stage& stage : choice.stages)
    if (auto ok = engine::check(stage.layout, arguments, m, used); !ok) return ok;
  return check_together(used, arguments);
}

/// A grouped product without groups: arguments are checked, nothing runs.
bool nothing_to_do(const templates::Problem& p) {
  return p.op == templates::Operation::int4_grouped && p.groups == 0;
}

}  // namespace

device::Geometry Stage::geometry_for(std::int64_t m) const {
  device::Geometry g = geometry;
  if (row_grid.rows != 0) g.grid[row_grid.axis] = static_cast<std::uint32_t>(row_grid.workgroups(m));
  return g;
}

const Choice& PlanData::piece(std::int64_t m) const {
  return choices[std::ranges::lower_bound(intervals, m, {}, &Interval::last)->choice];
}

const Choice* PlanData::choice(std::int64_t m) const {
  return m < range.first || m > range.last ? nullptr : &piece(m);
}

Result<void> PlanData::launch(device::Stream stream, const Arguments& arguments) const {
  const auto m = rows_of(arguments, problem.batch);
  if (!m) return std::unexpected(m.error());
  if (*m == 0) {
    for (const Stage& stage : choices.front().stages)
      if (auto ok = check_empty(stage.layout, arguments); !ok) return ok;
    LiveCounters::add(counters->empty_launches);
    return {};
  }
  const Choice* whole = choice(*m);
  if (whole == nullptr) return not_prepared(*m, range);
  if (auto ok = check(*whole, arguments, *m); !ok) return ok;
  std::array<std::byte, max_kernarg_bytes> kernarg{};
  if (nothing_to_do(problem)) {
    LiveCounters::add(counters->empty_launches);
    return {};
  }
  for (std::int64_t first = 0, rows = 0; first < *m; first += rows) {
    rows = std::min(most_rows, *m - first);
    for (const Stage& stage : piece(rows).stages) {
      pack(stage.layout, arguments, first, rows, kernarg);
      auto ok = device->launch(*stage.module, stage.geometry_for(rows),
                               std::span(kernarg).first(stage.layout.kernarg_bytes), stream);
      if (!ok) return ok;
    }
  }
  return {};
}

}  // namespace engine

const templates::Problem& Plan::problem() const { return data_->problem; }
MRange Plan::range() const { return data_->range; }
const device::Device& Plan::device() const { return *data_->device; }

std::vector<Variant> Plan::variants() const {
  std::vector<Variant> all;
  if (!data_) return all;
  for (const engine::Interval& interval : data_->intervals) {
    const engine::Choice& c = data_->choices[interval.choice];
    Variant v;
    v.range = {interval.first, interval.last};
    v.config = c.config;
    for (const engine::Stage& stage : c.stages)
      v.stages.push_back({stage.code->record.kernel, to_hex(stage.code->key.digest), stage.code->from});
    v.kernel = v.stages.back().kernel;
    v.key = v.stages.back().key;
    v.from = v.stages.back().from;
    v.workspace_bytes = c.workspace_bytes;
    all.push_back(std::move(v));
  }
  return all;
}

Result<std::uint64_t> Plan::workspace_bytes(std::int64_t m) const {
  if (!data_) return fail(ErrorCode::not_prepared, "this plan is empty; prepare() makes one");
  if (m == 0) return std::uint64_t{0};
  const engine::Choice* c = data_->choice(m);
  if (c == nullptr) return engine::not_prepared(m, data_->range);
  return c->workspace_bytes;
}

Result<void> Plan::launch(device::Stream stream, const Arguments& arguments) const {
  if (!data_) return fail(ErrorCode::not_prepared, "this plan is empty; prepare() makes one");
  auto launched = guarded([&] { return data_->launch(stream, arguments); });
  engine::LiveCounters::add(launched ? data_->counters->launches : data_->counters->launch_failures);
  return launched;
}

}  // namespace wavejit
