// SPDX-License-Identifier: MIT
#include "generator/model/cycles.hpp"

#include "generator/model/engine.hpp"

namespace wavejit::model {
std::string_view name(Stall stall) {
  switch (stall) {
    case Stall::none:
      return "none";
    case Stall::issue:
      return "issue";
    case Stall::valu_queue:
      return "VALU queue";
    case Stall::dependency:
      return "dependency";
    case Stall::valu_drain:
      return "VALU drain";
    case Stall::vector_memory:
      return "vector memory";
    case Stall::lds:
      return "LDS";
    case Stall::scalar_memory:
      return "scalar memory";
    case Stall::barrier:
      return "barrier";
    case Stall::branch:
      return "branch";
    case Stall::count_:
      break;
  }
  return "";
}

double valu_bound(const Steps& body, const Residency& r, const target::Target& target) {
  double hold = 0;
  for (const Step& s : body.list)
    if (s.unit == Unit::valu || s.unit == Unit::matrix) hold += s.hold;
  return hold * r.waves / target.simds_per_wgp;
}

namespace {

Busy busy_of(const Engine::Statistics& s, double window, const target::Target& target) {
  const double simds = target.simds_per_wgp;
  const double cus = target.generation == target::Generation::gfx9 ? 1 : simds / 2;
  return {s.matrix / (window * simds), s.valu / (window * simds), s.salu / (window * simds),
          s.lds / (window * cus),      s.vmem / (window * cus),   s.l2 / window};
}

}  // namespace

SteadyState steady_state(const Steps& body, const Residency& residency, const target::Target& target,
                         const RunOptions& options) {
  SteadyState result;
  if (body.list.empty() || residency.workgroups == 0) return result;
  const auto stagger =
      options.stagger >= 0 ? options.stagger : static_cast<Clock>(valu_bound(body, residency, target));
  Engine engine({.stretches = {nullptr, &body, nullptr}, .iterations = 0, .total = 0, .stagger = stagger},
                residency, target, options.trace_events);
  const std::uint64_t warm = std::uint64_t{residency.workgroups} * options.warm_iterations;
  const std::uint64_t counted = std::uint64_t{residency.workgroups} * options.iterations;
  const Clock begin = engine.run(warm);
  engine.reset_statistics(begin);
  const Clock end = engine.run(warm + counted);
  const double window = std::max(end - begin, 1);
  result.begin = begin;
  result.end = end;
  result.cycles = window / static_cast<double>(counted);
  result.latency = result.cycles * residency.workgroups;
  const Engine::Statistics& s = engine.statistics();
  result.busy = busy_of(s, window, target);
  const double wave_iterations = static_cast<double>(counted) * residency.waves;
  for (std::size_t i = 0; i < stall_kinds; ++i) result.stalls[i] = s.stalls[i] / wave_iterations;
  for (const auto& by_kind : s.by_step) {
    const auto worst = std::ranges::max_element(by_kind);
    double clocks = 0;
    for (const float f : by_kind) clocks += f;
    result.step_stalls.push_back(
        {clocks / wave_iterations, static_cast<Stall>(std::distance(by_kind.begin(), worst))});
  }
  if (options.trace_events > 0) {  // what the waves wait for at the window's end shows when they go on
    engine.run(warm + counted + residency.workgroups);
    result.trace = engine.take_trace();
  }
  return result;
}

Clock run_workgroups(const Prepared& kernel, unsigned iterations, unsigned total, const Residency& residency,
                     const target::Target& target, std::vector<IssueEvent>* trace, std::size_t trace_events) {
  Engine engine({.stretches = {&kernel.prologue, &kernel.body, &kernel.epilogue},
                 .iterations = std::max(iterations, 1U),
                 .total = total,
                 .stagger = 0},
                residency, target, trace_events);
  const Clock end = engine.run(~std::uint64_t{0});
  if (trace != nullptr) *trace = engine.take_trace();
  return end;
}

Clock run_streams(std::span<const std::vector<const Steps*>> workgroups, const Residency& residency,
                  const target::Target& target, StreamDetails* details, std::size_t trace_events) {
  if (workgroups.empty()) return 0;
  Engine engine({.stretches = {},
                 .iterations = 1,
                 .total = static_cast<unsigned>(workgroups.size()),
                 .stagger = 0,
                 .streams = workgroups},
                residency, target, trace_events);
  const Clock end = engine.run(~std::uint64_t{0});
  if (details != nullptr)
    *details = {busy_of(engine.statistics(), std::max(end, 1), target), engine.take_trace()};
  return end;
}

}  // namespace wavejit::model
