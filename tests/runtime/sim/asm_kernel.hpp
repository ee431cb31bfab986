// SPDX-License-Identifier: MIT
// A few lines of assembly as a kernel: assembled, linked, decoded and made a Program, with everything
// that the simulator's tests need around it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/device/sim/probe.hpp"
#include "runtime/device/sim/simulator.hpp"

namespace wavejit::test {

/// s[0:1] is the kernarg pointer, s2, s3, s4 the workgroup id, v0 the packed work-item id.
struct AsmKernel {
  std::string_view body;  ///< without s_endpgm, which is appended
  std::string_view target = "gfx1151";
  unsigned vgprs = 64, sgprs = 64;
  unsigned kernarg_bytes = 0, lds_bytes = 0, private_bytes = 0;
  std::string descriptor = {};  ///< further .amdhsa_ lines
};

std::string assembly(const AsmKernel& kernel);
/// Errors of any step.
Result<sim::Program> try_program(const AsmKernel& kernel);
/// Fails the running test when a step does.
sim::Program make_program(const AsmKernel& kernel);

/// One wave of a kernel without arguments, not yet run.
struct Bench {
  sim::Program program;
  sim::Memory memory;
  std::optional<sim::Probe> probe;
};
/// `options` as for run(); all lanes of one wave unless `lanes` is given.
std::unique_ptr<Bench> make_bench(const AsmKernel& kernel, const sim::Options& options = {},
                                  unsigned lanes = 0);

/// Makes four SGPRs from `reg` on a raw buffer descriptor of the target.
void set_descriptor(sim::Probe& probe, unsigned reg, std::uint64_t base, std::uint32_t records,
                    std::uint32_t word3 = 0x31027000);
void set_pair(sim::Probe& probe, unsigned reg, std::uint64_t value);

/// Allocates and writes.
std::uint64_t upload(sim::Memory& memory, std::span<const std::uint32_t> words,
                     const std::string& name = "data");

/// The faults of one wave that runs `body`; `setup` sets registers first.
using Setup = std::function<void(Bench&)>;
std::vector<sim::Fault> faults_of(const AsmKernel& kernel, const Setup& setup = {},
                                  const sim::Options& options = {});

std::string text(const std::vector<sim::Fault>& faults);
/// How often faults of this kind were found, by distinct place.
std::size_t count(const std::vector<sim::Fault>& faults, sim::FaultKind kind);

}  // namespace wavejit::test
