// SPDX-License-Identifier: MIT
// Judges a final kernel without running it: on every path, is each register that a load fills
// waited for before it is touched, are the target's hazards kept, do registers, LDS and kernel
// arguments stay inside what the descriptor asks for, is each register written before it is read, are
// descriptor and metadata sane. It is the gate before a generated or edited kernel is loaded, so it
// shares nothing with the passes that it judges: own def/use, own control flow, own hazard table.
//
// What a finding means: on the path that it names (CFG paths are taken to be possible), the ISA does
// not promise what the kernel needs. Errors are such breaches. Warnings are patterns that are a fault
// or not depending on values that no static check knows; notes are only odd.
// Each rule has a source. The strict set, which gates our own kernels, takes every rule as it is. Without it,
// what LLVM's compiler alone asks for is at most a warning: AMD's own kernels do without, and its instruction
// set manuals say nothing of it. docs/simulator.md lists such rules.
// Limits: s_setvskip is taken to skip nothing, and a VGPR that s_set_gpr_idx_on picks by M0 is not followed.
// LDS at barriers (hardware.md §4.3: a barrier waits for no counter). A store of this wave in flight at a
// barrier is an error when, before the next barrier, some path loads from LDS: whether it loads those very
// bytes depends on addresses, but nothing else orders them. A load in flight with LDS stores behind the
// barrier, and a store with only stores behind it, are warnings: double-buffered loops may mean that. Loads
// that write LDS themselves may be in flight at barriers by design and are not judged; nor is a barrier that
// is missing inside a loop, nor soffset in bounds checks: those need addresses, which the simulator has.
// Total: any input, however malformed, gives a report in time bounded by its size; nothing throws but
// for lack of memory. Facts: shared/hardware.md §2 (matrix), §4 (counters), §5 (hazards), §9 (descriptor).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/lower/lower.hpp"
#include "generator/target/target.hpp"

namespace wavejit::check {

/// What can be wrong. Each has a name ("read-in-flight") and can be switched off.
enum class Kind : std::uint8_t {
  // Waits.
  read_in_flight,        ///< a register is read while a load may not have filled it yet
  write_in_flight,       ///< a register is overwritten while a load may still write it
  lds_store_at_barrier,  ///< LDS stores not waited for at a barrier, LDS loads behind it
  lds_order_at_barrier,  ///< LDS operations not waited for at a barrier, LDS stores behind it
  lds_without_barrier,   ///< an LDS load that a path reaches from stores without any barrier
  undefined_lds,         ///< an LDS load that no LDS store precedes on any path
  // Hazards.
  matrix_hazard,      ///< a matrix instruction's registers used too early
  trans_use,          ///< a transcendental result used too early
  wait_states,        ///< too few instructions between two that the target keeps apart
  replayed_clause,    ///< memory instructions that XNACK may issue again overwrite their own sources
  sgpr_read_hazard,   ///< an SGPR that VALU read, rewritten, read again without s_wait_alu
  cmpx_permlane,      ///< v_cmpx directly before v_permlane*
  dealloc,            ///< s_sendmsg MSG_DEALLOC_VGPRS where it is not allowed
  dealloc_scratch,    ///< … with scratch stores that may be in flight (LLVM emits this, too)
  use_after_dealloc,  ///< VGPRs or vector memory used after they were given back
  // Registers and memory.
  register_range,      ///< a register beyond what the descriptor allocates or the target has
  lds_range,           ///< an LDS access beyond the workgroup's LDS
  kernarg_range,       ///< a load beyond the kernel arguments
  kernarg_padding,     ///< … but within the 16 bytes that they end in, as LLVM widens loads
  undefined_register,  ///< a register is read that no path has written
  partly_written,      ///< … that some path, or only in part another instruction, has written
  buffer_descriptor,   ///< a constant word 3 of a buffer descriptor is wrong for the target
  // Instructions and control flow.
  foreign_instruction,  ///< an instruction or form that the target does not have
  operand_rule,         ///< operands that overlap or combine as they must not
  tuple_alignment,      ///< a register tuple that starts at a register it must not
  branch_target,        ///< a branch whose target is unknown or outside the kernel
  missing_end,          ///< execution runs past the last instruction
  endless_path,         ///< code from which no s_endpgm can be reached
  clause_content,       ///< s_clause over instructions of different kinds
  unreachable_code,     ///< instructions that no path reaches
  // The kernel around the code.
  descriptor_field,   ///< a field of the kernel descriptor is not sane
  metadata_mismatch,  ///< metadata and descriptor disagree
  too_complex,        ///< the kernel is beyond the checker's limits: not everything was checked
  count_
};

enum class Severity : std::uint8_t { note, warning, error };

/// Whose rule a finding breaks.
enum class Source : std::uint8_t {
  isa,       ///< AMD's instruction set manuals
  abi,       ///< LLVM's AMDGPUUsage, the only definition of code objects: descriptor, metadata
  llvm,      ///< LLVM's code generator alone
  measured,  ///< people who saw hardware break it; not in the manuals
};

std::string_view name(Kind kind);
std::string_view name(Severity severity);
std::string_view name(Source source);
/// Severity of findings of this kind in the strict set, and of one rule's with the set said.
Severity severity(Kind kind);
Severity severity(Kind kind, Source source, bool strict);
/// Source of findings of this kind; hazards have one by rule.
Source source(Kind kind);
std::optional<Kind> find_kind(std::string_view name);

inline constexpr std::uint32_t whole_kernel = 0xFFFFFFFF;

struct Finding {
  Kind kind = Kind::too_complex;
  Severity severity = Severity::error;
  Source source = Source::isa;
  std::string_view rule;  ///< which of a kind's rules, in words without registers; or empty
  std::uint32_t instruction = whole_kernel;  ///< index into DecodedKernel::instructions
  std::uint64_t address = 0;                 ///< of that instruction, else of the descriptor
  std::string text;                          ///< its disassembly; empty for the whole kernel
  std::string message;                       ///< what is wrong and what was expected
  std::string path;                          ///< how execution gets there; empty where every way does
};

struct Options {
  bool strict = true;              ///< false: what LLVM alone asks for is no error
  std::uint64_t disabled = 0;      ///< bit k = no findings of Kind k
  std::size_t max_findings = 100;  ///< more are only counted
  /// LDS bytes that the launch adds to the descriptor's; unknown when empty: then a kernel that has
  /// no LDS of its own may use as much as the target gives a workgroup.
  std::optional<std::uint32_t> dynamic_lds_bytes;

  [[nodiscard]] bool enabled(Kind kind) const { return (disabled >> static_cast<unsigned>(kind) & 1) == 0; }
  Options& without(Kind kind) {
    disabled |= std::uint64_t{1} << static_cast<unsigned>(kind);
    return *this;
  }
};

struct Report {
  std::string kernel;
  std::vector<Finding> findings;  ///< by instruction, the whole kernel's first
  std::size_t dropped = 0;        ///< findings beyond max_findings
  std::size_t dropped_errors = 0;

  /// Findings of that severity or worse.
  [[nodiscard]] std::size_t count(Severity at_least) const;
  [[nodiscard]] bool ok() const { return count(Severity::error) == 0; }
  [[nodiscard]] bool has(Kind kind) const;
};

Report check(const lower::DecodedKernel& kernel, const target::Target& target, const Options& options = {});
/// Every kernel of the object, in its order. An object without a target gives no report.
std::vector<Report> check(const lower::CodeObject& object, const Options& options = {});

/// "error read-in-flight at 0x1a40 `v_add_f32 …`: …; path: …" and one such line per finding.
std::string to_string(const Finding& finding);
std::string to_string(const Report& report);

}  // namespace wavejit::check
