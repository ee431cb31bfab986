// SPDX-License-Identifier: MIT
// Executes a code object's kernel as lower::decode gives it: ours, hand-edited, or anybody's. What
// the ISA does not promise is poisoned or reported (fault.hpp lists the rules).
//
//   auto object  = lower::decode(elf);
//   auto program = Program::create(object->kernels[0], *object->target);
//   Memory memory;  // allocate, write inputs
//   auto report  = run(*program, memory, launch);
//   report->faults.empty() ? ... : to_string(report->faults[0])
//
// Numerics. Floating point follows MODE (rounding, denormals, IEEE, DX10_CLAMP) from COMPUTE_PGM_RSRC1
// and s_setreg/s_round_mode/s_denorm_mode. Transcendentals are correctly rounded, hence within the
// ISA's error. The ISA leaves the order of sums inside matrix instructions open; here each
// output is C plus the products in k order, every step a fused multiply-add in f32, round to
// nearest even. v_dot2_f32_* adds S2, low product, high product in that order, likewise.
//
// Order. A wave's loads read memory when issued; their destinations may not be touched until a
// wait covers them. LDS accesses count as done when waited for. Waves of a workgroup take turns;
// workgroups run in parallel over host threads.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "generator/lower/lower.hpp"
#include "generator/support/error.hpp"
#include "generator/target/target.hpp"
#include "runtime/device/sim/fault.hpp"
#include "runtime/device/sim/memory.hpp"

namespace wavejit::sim {

/// Which soffset rule a raw buffer's bounds check follows.
enum class SoffsetRule : std::uint8_t {
  of_target,  ///< the target table's; disputed = both
  excluded,
  included,
  both,  ///< in bounds as `excluded` says; a verdict that differs is a soffset_dependent fault
};

struct Options {
  Checks checks = Checks::all();
  SoffsetRule soffset = SoffsetRule::of_target;
  /// Rounding of v_dot2_bf16_bf16; unset = the target table's.
  std::optional<target::Dot2Bf16Rounding> dot2_bf16;
  bool flush_bf16_denormals = false;   ///< inputs and results of bf16 dot products
  bool lds_unaligned_mode = false;     ///< LDS accesses of 8 bytes and more need 4-byte alignment only
  bool global_unaligned_mode = false;  ///< vector memory takes any address (SH_MEM_CONFIG), LDS does not
  bool count_bank_conflicts = true;
  bool count_memory_lines = false;  ///< AccessStatistics::lines
  /// Of the lines that a workgroup loaded last, how many a level-1 cache keeps for it: those count once.
  std::uint32_t kept_lines = 0;
  std::uint64_t max_instructions_per_wave = 100'000'000;  ///< watchdog; 0 = none
  std::uint32_t max_faults = 64;                          ///< distinct faults described; counts go on
  std::uint32_t threads = 0;                              ///< 0 = as many as the host has
  /// Called after each workgroup with (done, all), from any thread, one at a time.
  std::function<void(std::uint64_t, std::uint64_t)> progress;
};

struct LaunchParams {
  std::array<std::uint32_t, 3> grid{1, 1, 1};    ///< workgroups
  std::array<std::uint32_t, 3> block{32, 1, 1};  ///< work-items of a workgroup
  std::span<const std::byte> kernarg{};          ///< copied before the run
  std::uint32_t dynamic_lds_bytes = 0;           ///< beyond the kernel's own
  /// Linear ids (x + grid.x * (y + grid.y * z)) to run; empty = all.
  std::vector<std::uint64_t> workgroups{};
  Options options{};
};

/// What one LDS or memory instruction did over the whole run.
struct AccessStatistics {
  std::uint32_t index = 0;            ///< in DecodedKernel::instructions
  std::uint64_t executed = 0;         ///< wave-instructions
  std::uint64_t bytes = 0;            ///< bytes moved by active, in-bounds lanes
  std::uint64_t conflict_cycles = 0;  ///< LDS: clocks beyond the conflict-free ones
  std::uint64_t lines = 0;  ///< memory: 128-byte lines that each wave's access touches, summed; if asked for
};

struct RunReport {
  std::vector<Fault> faults;  ///< distinct, most of the launch order first; at most max_faults
  std::uint64_t distinct_faults = 0;
  std::array<std::uint64_t, fault_kinds> totals{};  ///< occurrences per kind
  std::uint64_t wave_instructions = 0;
  std::array<std::uint64_t, 16> per_pipe{};  ///< wave-instructions, by isa::Pipe
  std::vector<std::uint64_t> executed;       ///< per instruction of the kernel
  std::vector<AccessStatistics> accesses;    ///< LDS and memory instructions that ran
  std::uint64_t lds_conflict_cycles = 0;
  std::uint64_t workgroups = 0, waves = 0;
  double seconds = 0;      ///< wall clock
  double cpu_seconds = 0;  ///< of all threads together

  [[nodiscard]] bool clean() const { return distinct_faults == 0; }
};

namespace detail {
struct Code;
}

/// A kernel made ready to run: immutable, shareable among threads and runs.
class Program {
 public:
  /// Errors: unknown_instruction (text and address of one that is not simulated), unsupported
  /// (something the launch model lacks), invalid_code_object (operands that cannot be).
  static Result<Program> create(const lower::DecodedKernel& kernel, const target::Target& target);

  [[nodiscard]] const detail::Code& code() const { return *code_; }
  [[nodiscard]] std::shared_ptr<const detail::Code> shared_code() const { return code_; }

 private:
  explicit Program(std::shared_ptr<const detail::Code> code) : code_(std::move(code)) {}
  std::shared_ptr<const detail::Code> code_;
};

/// Runs the launch. Faults of the kernel are in the report, not errors. Errors: invalid_argument
/// (grid, block, kernarg or LDS that cannot be launched, workgroup ids outside the grid).
Result<RunReport> run(const Program& program, Memory& memory, const LaunchParams& launch);

}  // namespace wavejit::sim
