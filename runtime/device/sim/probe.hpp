// SPDX-License-Identifier: MIT
// One wave under a microscope: set registers, run, look at registers. For tests of single
// instructions and for debuggers; run() in simulator.hpp is how kernels are launched.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/device/sim/simulator.hpp"

namespace wavejit::sim {

struct Worker;

class Probe {
 public:
  /// Starts the only wave of workgroup 0 of the launch as hardware would. `program` and `memory` must
  /// outlive the probe. Errors: as run(); invalid_argument if the workgroup has more than one wave.
  static Result<Probe> start(const Program& program, Memory& memory, LaunchParams launch);

  Probe(Probe&&) noexcept;
  Probe& operator=(Probe&&) noexcept;
  ~Probe();

  /// Setting makes defined. Registers and lanes out of range are ignored; reading them gives 0.
  void set_vgpr(unsigned reg, unsigned lane, std::uint32_t value);
  void set_sgpr(unsigned reg, std::uint32_t value);  ///< isa::sreg numbers: VCC, EXEC and M0 too
  /// Makes all registers but EXEC undefined, those that hardware initialises included.
  void forget();
  void set_scc(bool value);
  void set_mode(std::uint32_t value);  ///< the MODE register

  /// Runs to the end of the wave, or `instructions` of it.
  void run(std::uint64_t instructions = ~std::uint64_t{0});
  [[nodiscard]] bool ended() const;
  /// The instruction that runs next, in DecodedKernel::instructions; their number once it ran off the end.
  [[nodiscard]] std::uint32_t next() const;

  [[nodiscard]] std::uint32_t vgpr(unsigned reg, unsigned lane) const;
  [[nodiscard]] bool vgpr_defined(unsigned reg, unsigned lane) const;
  [[nodiscard]] std::uint32_t sgpr(unsigned reg) const;
  [[nodiscard]] bool sgpr_defined(unsigned reg) const;
  [[nodiscard]] bool scc() const;
  [[nodiscard]] std::vector<Fault> faults() const;  ///< so far

 private:
  Probe();
  std::unique_ptr<LaunchParams> launch_;
  std::unique_ptr<Worker> worker_;
  std::shared_ptr<const detail::Code> code_;
};

}  // namespace wavejit::sim
