// SPDX-License-Identifier: MIT
#include "runtime/engine/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace wavejit {
namespace engine {
namespace {

std::unexpected<Error> not_prepared(std::int64_t m, MRange range) {
  return fail_field(ErrorCode::not_prepared, "M", std::to_string(m),
                    fmt::format("{} to {}, for which this plan was prepared; prepare another outside of any "
                                "stream capture",
                                range.first, range.last));
}

}  // namespace

const Choice* PlanData::choice(std::int64_t m) const {
  if (m < range.first || m > range.last) return nullptr;
  const auto it = std::ranges::lower_bound(intervals, m, {}, &Interval::last);
  return it == intervals.end() ? nullptr : &choices[it->choice];
}

Result<void> PlanData::launch(device::Stream stream, const Arguments& arguments) const {
  const auto m = rows_of(arguments);
  if (!m) return std::unexpected(m.error());
  if (*m == 0) {
    if (auto ok = check_empty(choices.front().layout, arguments); !ok) return ok;
    LiveCounters::add(counters->empty_launches);
    return {};
  }
  const Choice* c = choice(*m);
  if (c == nullptr) return not_prepared(*m, range);
  std::array<std::byte, max_kernarg_bytes> kernarg{};
  if (auto ok = bind(c->layout, arguments, *m, kernarg); !ok) return ok;
  device::Geometry geometry;
  const auto tiles_m = static_cast<std::uint32_t>((*m + c->tile_m - 1) / c->tile_m);
  geometry.grid = {tiles_m, c->tiles_n, 1};
  if (c->rows_along_y) std::swap(geometry.grid[0], geometry.grid[1]);
  geometry.block = c->block;
  return device->launch(*c->module, geometry, std::span(kernarg).first(c->layout.kernarg_bytes), stream);
}

}  // namespace engine

const templates::Problem& Plan::problem() const { return data_->problem; }
MRange Plan::range() const { return data_->range; }
const device::Device& Plan::device() const { return *data_->device; }

std::vector<Variant> Plan::variants() const {
  std::vector<Variant> all;
  if (!data_) return all;
  std::int64_t first = data_->range.first;
  for (const engine::Interval& interval : data_->intervals) {
    const engine::Choice& c = data_->choices[interval.choice];
    all.push_back({{first, interval.last},
                   c.config,
                   c.code->record.kernel,
                   to_hex(c.code->key.digest),
                   c.code->from,
                   c.layout.workspace_bytes});
    first = interval.last + 1;
  }
  return all;
}

Result<std::uint64_t> Plan::workspace_bytes(std::int64_t m) const {
  if (!data_) return fail(ErrorCode::not_prepared, "this plan is empty; prepare() makes one");
  if (m == 0) return std::uint64_t{0};
  const engine::Choice* c = data_->choice(m);
  if (c == nullptr) return engine::not_prepared(m, data_->range);
  return c->layout.workspace_bytes;
}

Result<void> Plan::launch(device::Stream stream, const Arguments& arguments) const {
  if (!data_) return fail(ErrorCode::not_prepared, "this plan is empty; prepare() makes one");
  auto launched = data_->launch(stream, arguments);
  engine::LiveCounters::add(launched ? data_->counters->launches : data_->counters->launch_failures);
  return launched;
}

}  // namespace wavejit
