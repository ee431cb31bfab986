// SPDX-License-Identifier: MIT
// From a kernel's instructions and a launch to modelled time: what fits a WGP, the steady state of its hot
// loop, prologue and epilogue, rounds of workgroups with the last round's tail, the floor that DRAM sets.
//
// Formulas. W workgroups over U WGPs, R of them resident, I iterations of c(r) clocks at residency r
// (cycles.hpp), o clocks outside the loop of one workgroup alone (prologue, first loads, epilogue):
//   W / U >= R:  W / U * (I c(R) + o / R) + drain,  drain = sum over r < R of I / R * r * (c(r) - c(R))
//   else         r (I c(r) + o / r),  r = ceil(W / U)
// and never less than ceil(W / U) workgroups on the fullest WGP, nor what DRAM and MALL need for the launch's
// bytes (traffic.hpp). The
// workgroup dispatcher refills WGPs as they empty, so full rounds are not counted one by one. Time = clocks
// over Timing::clock_megahertz, which for gfx1151 is fitted (docs/model.md): ratios of times are better known
// than times.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "generator/model/cycles.hpp"
#include "generator/model/traffic.hpp"
#include "generator/support/error.hpp"

namespace wavejit::model {

/// What a code object says about itself.
struct KernelFacts {
  unsigned vgprs = 0, agprs = 0;
  unsigned lds_bytes = 0;
  unsigned waves = 1;  ///< per workgroup
  bool wgp_mode = true;
};

struct LaunchShape {
  std::uint64_t workgroups = 1;
  std::uint64_t iterations = 1;                 ///< of the hot loop, per workgroup
  double useful_flop = 0;                       ///< 2 M N K
  double dram_bytes = 0;                        ///< each tensor once
  std::optional<Tiling> tiling = std::nullopt;  ///< where known: what decides waste and traffic
};

/// Resident workgroups per WGP (CU on CDNA).
struct Occupancy {
  unsigned workgroups = 0;
  double waves_per_simd = 0;
  std::string_view limit;  ///< "registers", "LDS" or "waves"
};
Occupancy occupancy(const KernelFacts& facts, const target::Target& target);

/// What workgroups are dispatched to: WGPs, CUs on CDNA.
std::uint64_t workgroup_units(const target::Target& target);

/// Bytes of the launch with `resident` workgroups on each unit; where the order of the tiles is not
/// known each tensor once, all of it from DRAM.
Traffic launch_traffic(const LaunchShape& shape, unsigned resident, const target::Target& target);

/// Clocks that DRAM, or the MALL where its bandwidth is known and takes longer, needs for them.
double memory_cycles(const Traffic& traffic, const target::Target& target);

/// The busiest pipe when it is nearly always busy, else "latency": what the waves wait for.
std::string_view binding(const Busy& busy, const target::Target& target);

struct Estimate {
  Occupancy occupancy;
  SteadyState loop;  ///< at full residency
  double cycles_per_iteration = 0;
  double matrix_bound = 0;  ///< clocks per iteration if only matrix instructions ran
  std::uint64_t iterations = 0;
  double overhead_cycles = 0;                  ///< of a full round: prologue, first loads, epilogue
  double rounds = 0;                           ///< full rounds and the share of the last
  double wasted_rows = 0, wasted_columns = 0;  ///< shares of the tiles' outside the output
  Traffic traffic;
  double launch_cycles = 0, dram_cycles = 0;
  double computing_cycles = 0;  ///< launch_cycles if DRAM were no limit
  double time_us = 0, tflops = 0;
  double duty = 0;         ///< useful matrix clocks over launch clocks
  std::string_view binds;  ///< "matrix", "VALU", "LDS", "memory", "latency" or "DRAM"
};

/// `code`: all instructions of the kernel, labels holding indices; a kernel without a loop is its own body,
/// run once (hot_stretches). Errors: out_of_registers when no workgroup fits.
Result<Estimate> estimate(std::span<const isa::Instruction> code, const KernelFacts& facts,
                          const LaunchShape& shape, const target::Target& target,
                          std::span<const AccessNote> notes = {}, const RunOptions& options = {});

/// The same for stretches that the caller chose.
Result<Estimate> estimate(const Prepared& kernel, const KernelFacts& facts, const LaunchShape& shape,
                          const target::Target& target, const RunOptions& options = {});

/// One kernel and many launches: what a WGP takes at each residency is played once and kept. Kernels that
/// differ in strides and trip counts only take the same clocks per iteration, so one stands for them all.
class Estimator {
 public:
  Estimator(Prepared kernel, const KernelFacts& facts, const target::Target& target,
            const RunOptions& options = {})
      : kernel_(std::move(kernel)), facts_(facts), target_(target), options_(options) {}

  /// Errors: out_of_registers when no workgroup fits.
  Result<Estimate> estimate(const LaunchShape& shape);
  /// Steady state of `resident` workgroups on a WGP.
  const SteadyState& loop(unsigned resident);
  /// Clocks that one workgroup alone takes besides its loop.
  double outside();

 private:
  [[nodiscard]] Residency residency(unsigned workgroups) const {
    return {workgroups, facts_.waves, facts_.wgp_mode};
  }
  double drain(unsigned resident, std::uint64_t iterations);

  Prepared kernel_;
  KernelFacts facts_;
  const target::Target& target_;
  RunOptions options_;
  std::map<unsigned, SteadyState> loops_;
  std::optional<double> outside_;
};

}  // namespace wavejit::model
