// SPDX-License-Identifier: MIT
// What the simulator reports. A fault is one rule broken by one instruction; occurrences of the same
// rule at the same instruction are counted, and the first (by workgroup, wave) is described. A fault
// never stops a wave: the access is dropped or the value taken as it lies, and the run goes on, so
// that one run shows all distinct faults.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wavejit::sim {

/// Each kind is also the name of the check that finds it (Options::checks).
enum class FaultKind : std::uint8_t {
  out_of_bounds,        ///< memory or LDS access outside every allocation, or a store to read-only memory
  undefined_value,      ///< arithmetic, address, branch, mask or store data made of what nobody wrote
  in_flight,            ///< a pending load's destination read or overwritten before a wait that covers it
  lds_race,             ///< two waves, one LDS byte, no barrier between, one of them writing
  unwaited_at_barrier,  ///< as lds_race, but the barrier is there: the wait before it is missing
  global_race,          ///< two waves, one global byte, no order between, one of them writing another value
  hazard,               ///< a wait state or fix that the target requires is missing
  descriptor,           ///< a buffer descriptor that is malformed for the target
  soffset_dependent,    ///< a bounds verdict that differs between soffset counted and not counted
  misaligned,           ///< LDS, scalar or vector access not aligned as its width asks
  wmma_replication,     ///< lanes 16..31 of A or B do not copy lanes 0..15 where the target needs it
  partial_exec,         ///< a matrix instruction with lanes switched off
  register_range,       ///< a register beyond the kernel descriptor's allocation
  after_dealloc,        ///< a VGPR used after s_sendmsg dealloc_vgprs
  barrier_divergence,   ///< waves of a workgroup wait at different s_barrier instructions
  watchdog,             ///< a wave executed more instructions than the limit
  control_flow,         ///< execution ran past the last instruction
  reserved_bits,        ///< bits set that must be 0, in an instruction or in the kernel descriptor
  count_
};
inline constexpr std::size_t fault_kinds = static_cast<std::size_t>(FaultKind::count_);

std::string_view name(FaultKind kind);
std::string_view describe(FaultKind kind);  ///< what the check of that name finds, in a line
std::optional<FaultKind> find_fault(std::string_view name);

/// A set of fault kinds: which checks are on.
class Checks {
 public:
  static constexpr Checks all() { return Checks((1U << fault_kinds) - 1); }
  static constexpr Checks none() { return Checks(0); }
  [[nodiscard, gnu::always_inline]] constexpr bool on(FaultKind kind) const {
    return (bits_ >> static_cast<unsigned>(kind) & 1) != 0;
  }
  constexpr Checks with(FaultKind kind) const { return Checks(bits_ | 1U << static_cast<unsigned>(kind)); }
  constexpr Checks without(FaultKind kind) const {
    return Checks(bits_ & ~(1U << static_cast<unsigned>(kind)));
  }
  friend constexpr bool operator==(Checks, Checks) = default;

 private:
  constexpr explicit Checks(std::uint32_t bits) : bits_(bits) {}
  std::uint32_t bits_;
};

struct Fault {
  FaultKind kind = FaultKind::out_of_bounds;
  std::string instruction;         ///< LLVM's disassembly
  std::uint32_t index = 0;         ///< in DecodedKernel::instructions
  std::uint64_t code_address = 0;  ///< in the code object
  std::string source;              ///< "file:line" of the instruction, where known
  std::array<std::uint32_t, 3> workgroup{};
  std::uint32_t wave = 0;                ///< in its workgroup
  std::uint64_t lanes = 0;               ///< bit per lane concerned; 0 = the whole wave
  std::optional<std::uint64_t> address;  ///< memory or LDS byte address
  std::string nearest;                   ///< nearest allocation, for memory
  std::string detail;                    ///< what was found and what was expected
  std::uint64_t count = 1;               ///< occurrences at this instruction
};

/// One line: kind, instruction and its address, workgroup, wave, lanes, memory address, detail.
std::string to_string(const Fault& fault);

}  // namespace wavejit::sim
