// SPDX-License-Identifier: MIT
#include "generator/model/estimate.hpp"

#include <cmath>

#include "generator/model/loops.hpp"

namespace wavejit::model {
namespace {

unsigned round_up(unsigned value, unsigned step) { return (value + step - 1) / step * step; }

unsigned ports(const target::Target& target) {
  return target.generation == target::Generation::gfx9 ? 1 : target.simds_per_wgp / 2;
}

double matrix_bound(const Steps& body, unsigned waves, const target::Target& target) {
  double hold = 0;
  for (const Step& s : body.list)
    if (s.unit == Unit::matrix) hold += s.hold;
  return hold * waves / target.simds_per_wgp;
}

}  // namespace

std::string_view binding(const Busy& busy, const target::Target& target) {
  const double vector = target.timing.matrix_holds_valu ? busy.matrix + busy.valu : busy.valu;
  constexpr double full = 0.9;
  if (busy.matrix > full) return "matrix";
  if (vector > full) return target.timing.matrix_holds_valu ? "matrix + VALU" : "VALU";
  if (busy.lds > full) return "LDS";
  if (busy.l2 > full || busy.vmem > full) return "memory";
  return "latency";
}

Occupancy occupancy(const KernelFacts& facts, const target::Target& target) {
  const unsigned vgprs = target::unified_vgprs(target, facts.vgprs, facts.agprs);
  const unsigned units = facts.wgp_mode ? 1 : ports(target);  // CU mode: each CU by itself
  const unsigned simds = target.simds_per_wgp / units;
  const unsigned waves = std::max(facts.waves, 1U);
  const unsigned by_registers = target::waves_by_vgprs(target, vgprs) * simds / waves;
  const unsigned by_waves = target.max_waves_per_simd * simds / waves;
  Occupancy o{.workgroups = by_registers,
              .waves_per_simd = 0,
              .limit = by_registers < by_waves ? "registers" : "waves"};
  if (facts.lds_bytes > 0) {
    const unsigned by_lds = target.lds_per_wgp / units / round_up(facts.lds_bytes, target.lds_granule);
    if (by_lds < o.workgroups) {
      o.workgroups = by_lds;
      o.limit = "LDS";
    }
  }
  o.workgroups *= units;
  o.waves_per_simd = static_cast<double>(o.workgroups * waves) / target.simds_per_wgp;
  return o;
}

std::uint64_t workgroup_units(const target::Target& target) { return target.compute_units / ports(target); }

Traffic launch_traffic(const LaunchShape& shape, unsigned resident, const target::Target& target) {
  if (!shape.tiling || !shape.tiling->rows_fastest)
    return {shape.dram_bytes, shape.dram_bytes, shape.dram_bytes};
  return traffic(*shape.tiling, resident * workgroup_units(target), target::caches(target));
}

double memory_cycles(const Traffic& traffic, const target::Target& target) {
  const double hertz = target.timing.clock_megahertz * 1e6;
  const double dram = traffic.dram / (target.timing.dram_gigabytes * 1e9) * hertz;
  const double rate = target::caches(target).mall_gigabytes * 1e9;
  return rate > 0 ? std::max(dram, traffic.mall / rate * hertz) : dram;
}

const SteadyState& Estimator::loop(unsigned resident) {
  const auto [at, fresh] = loops_.try_emplace(resident);
  if (fresh) at->second = steady_state(kernel_.body, residency(resident), target_, options_);
  return at->second;
}

double Estimator::outside() {
  constexpr unsigned few = 2;
  if (!outside_) {
    const double whole = run_workgroups(kernel_, few, 1, residency(1), target_);
    outside_ = std::max(whole - few * loop(1).cycles, 0.0) + target_.timing.workgroup_start;
  }
  return *outside_;
}

/// What the drain costs beyond the same work at full residency: workgroups end evenly spaced, so each
/// residency r below full lasts iterations / R of r workgroups.
double Estimator::drain(unsigned resident, std::uint64_t iterations) {
  double extra = 0;
  // Decode kernels fit by dozens: then one residency stands for its neighbours.
  const unsigned step = (resident + 15) / 16;
  for (unsigned first = 1; first < resident; first += step) {
    const unsigned width = std::min(step, resident - first), r = first + width / 2;
    extra += width * static_cast<double>(iterations) / resident * r *
             std::max(loop(r).cycles - loop(resident).cycles, 0.0);
  }
  return extra;
}

Result<Estimate> Estimator::estimate(const LaunchShape& shape) {
  Estimate e;
  e.occupancy = occupancy(facts_, target_);
  const unsigned resident = e.occupancy.workgroups;
  if (resident == 0)
    return fail(ErrorCode::out_of_registers, "no workgroup of this kernel fits: its " +
                                                 std::string(e.occupancy.limit) + " exceed what a WGP has");
  const std::uint64_t units = workgroup_units(target_);
  const double per_unit = static_cast<double>(shape.workgroups) / static_cast<double>(units);
  const auto iterations = static_cast<double>(shape.iterations);
  // Fewer workgroups than fit: the fullest WGP decides.
  const unsigned most = per_unit < resident ? static_cast<unsigned>(std::ceil(per_unit)) : resident;
  e.loop = loop(most);
  e.cycles_per_iteration = e.loop.cycles;
  e.matrix_bound = matrix_bound(kernel_.body, facts_.waves, target_);
  e.iterations = shape.iterations;
  e.overhead_cycles = outside();
  e.rounds = per_unit / resident;
  const double around = e.overhead_cycles / most;
  const double each = iterations * e.loop.cycles + around;
  const double computing = per_unit < resident ? most * each
                                               : std::max(per_unit * each + drain(most, shape.iterations),
                                                          std::ceil(per_unit) * each);
  e.computing_cycles = computing;
  if (shape.tiling) {
    e.wasted_rows = shape.tiling->wasted_rows();
    e.wasted_columns = shape.tiling->wasted_columns();
  }
  e.traffic = launch_traffic(shape, most, target_);
  e.dram_cycles = memory_cycles(e.traffic, target_);
  e.launch_cycles = std::max(computing, e.dram_cycles);
  e.time_us = e.launch_cycles / target_.timing.clock_megahertz;
  e.tflops = shape.useful_flop / e.time_us * 1e-6;
  const double flop_per_clock = 2.0 * target_.wmma16.m * target_.wmma16.n * target_.wmma16.k /
                                target_.wmma16.cycles * target_.simds_per_wgp * static_cast<double>(units);
  e.duty = shape.useful_flop / flop_per_clock / e.launch_cycles;
  e.binds = computing < e.dram_cycles ? "DRAM" : binding(e.loop.busy, target_);
  return e;
}

Result<Estimate> estimate(const Prepared& kernel, const KernelFacts& facts, const LaunchShape& shape,
                          const target::Target& target, const RunOptions& options) {
  return Estimator(kernel, facts, target, options).estimate(shape);
}

Result<Estimate> estimate(std::span<const isa::Instruction> code, const KernelFacts& facts,
                          const LaunchShape& shape, const target::Target& target,
                          std::span<const AccessNote> notes, const RunOptions& options) {
  return estimate(prepare(code, hot_stretches(code), notes, target), facts, shape, target, options);
}

}  // namespace wavejit::model
