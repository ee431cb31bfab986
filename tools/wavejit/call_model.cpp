// SPDX-License-Identifier: MIT
#include "tools/wavejit/call_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "generator/target/caches.hpp"
#include "tools/wavejit/streams.hpp"

namespace wavejit::tools {
namespace {

double microseconds(double clocks, const target::Target& target) {
  return clocks / target.timing.clock_megahertz;
}

/// The tensor whose first byte a stage waits for: weights, or the partial sums of a split-K's second stage.
int streamed_tensor(const PreparedKernel& kernel) {
  const auto& args = kernel.kernel.ir.args;
  for (const std::string_view name : {"weights", "workspace"}) {
    const auto at = std::ranges::find(args, name, &ir::KernelArg::name);
    if (at != args.end()) return static_cast<int>(at - args.begin());
  }
  return -1;
}

Result<AloneTimes> play_alone(const PreparedKernel& kernel, const RecordedUnit& unit,
                              const target::Target& target) {
  const auto tensors = tensors_of(kernel);
  if (!tensors) return std::unexpected(tensors.error());
  const std::vector<const model::Steps*>& first = unit.queue.front();
  std::size_t events = 0;
  for (const model::Steps* wave : first) events += wave->list.size();
  model::StreamDetails details;
  const std::array one{first};
  const model::Clock end =
      model::run_streams(one, {1, kernel.facts.waves, kernel.facts.wgp_mode}, target, &details,
                         2 * events);  // a barrier may be noted twice
  const AloneClocks clocks = alone_clocks(details.trace, end, *tensors, streamed_tensor(kernel));
  return AloneTimes{.ramp_us = microseconds(target.timing.workgroup_start + clocks.ramp, target),
                    .tail_us = microseconds(clocks.tail, target)};
}

Result<void> play(StageModel& s, const PreparedKernel& kernel, const target::Target& target) {
  const auto unit = record_unit(kernel, target);
  if (!unit) return std::unexpected(unit.error());
  model::StreamDetails details;
  const model::Clock clocks = model::run_streams(
      unit->queue, {unit->resident, kernel.facts.waves, kernel.facts.wgp_mode}, target, &details);
  s.computing_us = microseconds(target.timing.workgroup_start + clocks, target);
  s.resident = unit->resident;
  s.played = static_cast<unsigned>(unit->queue.size());
  s.busy = details.busy;
  const auto alone = play_alone(kernel, *unit, target);
  if (!alone) return std::unexpected(alone.error());
  s.alone = *alone;
  if (kernel.kernel.stage > 0) return {};
  const auto counts = count_weights(kernel, unit->executed, unit->kinds * kernel.facts.waves);
  if (!counts) return std::unexpected(counts.error());
  s.counts = *counts;
  return {};
}

Result<double> estimated_us(PreparedKernel& kernel, model::LaunchShape shape, const target::Target& target) {
  if (auto ok = measure_accesses(kernel); !ok) return std::unexpected(ok.error());
  shape.iterations = kernel.iterations;
  const auto e = model::estimate(kernel.stretches(), kernel.facts, shape, target);
  if (!e) return std::unexpected(e.error());
  return microseconds(e->computing_cycles, target);
}

/// A grouped launch's grid is an upper bound: the rest leave at once.
std::uint64_t workgroups_with_work(const CallModel& call, std::span<const std::int64_t> rows) {
  const auto tiles = [](std::int64_t all, unsigned tile) {
    return static_cast<std::uint64_t>((all + tile - 1) / tile);
  };
  std::uint64_t sum = 0;
  for (const std::int64_t r : rows) sum += tiles(r, call.config.bm) * tiles(call.problem.n, call.config.bn);
  return sum;
}

/// What a second stage moves: partial sums that the MALL holds come from there. Half of it is taken to be
/// theirs.
model::Traffic stage_traffic(const model::LaunchShape& shape, const PreparedKernel& kernel, unsigned resident,
                             const target::Target& target) {
  model::Traffic traffic = model::launch_traffic(shape, resident, target);
  const auto& tensors = kernel.launch.arguments;
  const auto partial = std::ranges::find(tensors, "workspace", &templates::Argument::name);
  if (partial == tensors.end() || partial->access != ir::Access::read) return traffic;
  if (static_cast<std::uint64_t>(partial->bytes) * 2 <= target::caches(target).mall_bytes)
    traffic.dram -= static_cast<double>(partial->bytes);
  return traffic;
}

Result<StageModel> model_stage(const CallModel& call, unsigned stage, const target::Target& target,
                               const CallOptions& options) {
  PrepareOptions prepare{.stage = stage, .contents = {}, .simulate = false};
  if (!options.group_rows.empty()) prepare.contents.push_back(group_rows(options.group_rows));
  auto kernel = prepare_generated(call.problem, call.config, target, call.m, prepare);
  if (!kernel) return std::unexpected(kernel.error());
  StageModel s;
  s.stage = stage;
  s.facts = kernel->facts;
  s.occupancy = model::occupancy(kernel->facts, target);
  model::LaunchShape shape =
      shape_of(kernel->kernel.problem, kernel->kernel.config, kernel->launch, call.m, kernel->iterations);
  if (!options.group_rows.empty()) shape.workgroups = workgroups_with_work(call, options.group_rows);
  s.workgroups = shape.workgroups;
  s.dram_bytes = shape.dram_bytes;
  if (auto ok = play(s, *kernel, target); !ok) return std::unexpected(ok.error());
  s.dram_us =
      microseconds(model::memory_cycles(stage_traffic(shape, *kernel, s.resident, target), target), target);
  s.binds = s.dram_us > s.computing_us ? "DRAM" : model::binding(s.busy, target);
  if (options.estimate && s.counts && s.counts->loop) {
    const auto us = estimated_us(*kernel, shape, target);
    if (!us) return std::unexpected(us.error());
    s.estimate_us = *us;
  }
  return s;
}

double sum(const std::vector<StageModel>& stages, double (StageModel::*of)() const) {
  return std::accumulate(stages.begin(), stages.end(), 0.0,
                         [of](double so_far, const StageModel& s) { return so_far + (s.*of)(); });
}

}  // namespace

double CallModel::time_us() const { return sum(stages, &StageModel::time_us); }
double CallModel::strict_sum_us() const { return sum(stages, &StageModel::strict_sum_us); }
double CallModel::strict_us() const { return sum(stages, &StageModel::strict_us); }

AloneClocks alone_clocks(std::span<const model::IssueEvent> trace, model::Clock end,
                         std::span<const int> tensors, int tensor) {
  std::optional<model::Clock> first;
  model::Clock last_load = 0, last = end;
  for (const model::IssueEvent& e : trace) {
    if (e.unit == model::Unit::vmem_store) last = std::max(last, e.end);
    if (e.unit != model::Unit::vmem_load) continue;
    last_load = std::max(last_load, e.end);
    if (tensors[e.index] == tensor) first = std::min(first.value_or(e.end), e.end);
  }
  return {.ramp = first.value_or(0), .tail = std::max(last - last_load, 0)};
}

Result<CallModel> model_call(const templates::Problem& problem, const templates::Config& config,
                             const target::Target& target, std::int64_t m, const CallOptions& options) {
  CallModel call;
  auto p = templates::normalise(problem, target);
  if (!p) return std::unexpected(p.error());
  auto c = templates::normalise(config, *p, target);
  if (!c) return std::unexpected(c.error());
  call.problem = *p;
  call.config = *c;
  call.m = m;
  const bool grouped = p->op == templates::Operation::int4_grouped;
  const auto sets = static_cast<double>(grouped ? p->groups : p->batch);
  const double product = static_cast<double>(p->n) * static_cast<double>(p->k);
  call.weight_bytes = sets * product / 2;
  call.flop = 2 * (grouped ? 1 : sets) * static_cast<double>(m) * product;
  for (unsigned stage = 0; stage < templates::stages(*p, *c); ++stage) {
    auto s = model_stage(call, stage, target, options);
    if (!s) return std::unexpected(s.error());
    call.stages.push_back(*std::move(s));
  }
  return call;
}

double peak_tflops(const target::Target& target) {
  const target::MatrixShape& s = target.wmma16;
  const double per_clock = 2.0 * s.m * s.n * s.k / s.cycles * target.simds_per_wgp *
                           static_cast<double>(model::workgroup_units(target));
  return per_clock * target.timing.clock_megahertz * 1e-6;
}

}  // namespace wavejit::tools
