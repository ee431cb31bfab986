// SPDX-License-Identifier: MIT
// The pass list. Each pass is one file and turns IR into IR; ir::verify holds before and after.
// Order: scalar_offsets, pipeline, lower_loops, merge_blocks, schedule, assign_registers, insert_waits,
// dealloc_vgprs, resolve_hazards, form_clauses, insert_delay_alu.
#pragma once

#include <functional>
#include <string_view>

#include "generator/ir/kernel.hpp"
#include "generator/passes/scheduler.hpp"

namespace wavejit::passes {

/// Technique 5. VGPR inductions that only feed the address of buffer loads with a uniform step
/// become loop-invariant VGPRs plus an SGPR induction in soffset; equal SGPR inductions merge.
Result<void> scalar_offsets(ir::Kernel& kernel);

struct PipelineOptions {
  unsigned depth = 1;   ///< iterations that stage 0 runs ahead of stage 1: 0, 1 or 2
  unsigned unroll = 1;  ///< copies of the body in the steady loop; depth 2 needs a multiple of 2
};

/// Technique 2. Rotates every counted loop by its stage marks: prologue peeled in front, the steady
/// loop, epilogue peeled behind, so that no load is issued for an iteration that does not exist.
/// Registers that live across more than one rotation get further copies.
Result<void> pipeline(ir::Kernel& kernel, const PipelineOptions& options);

/// Writes induction updates, the compare and the branch of every counted loop.
Result<void> lower_loops(ir::Kernel& kernel);

/// Joins blocks that always run one after the other, so that scheduling sees them as one.
Result<void> merge_blocks(ir::Kernel& kernel);

/// List scheduling inside each block: loads early, dequantisation in the shadow of matrix
/// instructions, register pressure held under the kernel's budget.
struct ScheduleOptions {
  int margin = 4;  ///< VGPRs of the budget that are left free for tuple alignment and bank wishes
  /// In loops loads go out in the order of their use, each before the next one's registers are read, so that
  /// no wait is for all loads (refill_order.hpp).
  bool ordered_refills = false;
};
Result<void> schedule(ir::Kernel& kernel, const ScheduleOptions& options = {});

struct RegisterOptions {
  bool bank_aware = true;  ///< technique 4; off = first fit without bank wishes
  /// On failure search for the count that would do; off = report the number live at one point.
  bool measure_need = true;
};

/// Technique 4. Virtual tuples to physical registers within the budgets; never spills:
/// out_of_registers with needed and allowed counts.
Result<void> assign_registers(ir::Kernel& kernel, const RegisterOptions& options);

struct WaitOptions {
  /// Wait for every store to global memory before a barrier. Off: only for accesses whose
  /// MemoryTag names a read_write argument, the ones that other waves of the workgroup may read.
  bool publish_global = false;
};

/// The weakest waits that are right, per counter, from def-use over the control flow graph. Waits
/// that the IR holds already count. LDS accesses are complete before each barrier (before its signal,
/// where barriers come in two halves). Errors: unsupported for flat_* instructions.
Result<void> insert_waits(ir::Kernel& kernel, const WaitOptions& options = {});

/// Gives the registers back before s_endpgm while stores are still in flight, where the number of
/// VGPRs limits the waves of a SIMD. Needs the waits in place.
Result<void> dealloc_vgprs(ir::Kernel& kernel);

/// Instructions that the target's hazard table asks for.
Result<void> resolve_hazards(ir::Kernel& kernel);

/// s_clause before runs of loads of one type.
Result<void> form_clauses(ir::Kernel& kernel);

/// s_delay_alu for dependent VALU, transcendental and SALU results.
Result<void> insert_delay_alu(ir::Kernel& kernel);

struct Options {
  bool scalar_offsets = true;
  PipelineOptions pipeline;
  bool bank_aware = true;
  bool measure_register_need = true;
  bool merge_blocks = false;
  bool schedule = true;
  ScheduleOptions scheduling;
  bool delay_alu = true;
  bool clauses = true;
  bool dealloc_vgprs = true;
};

/// Called after each pass with its name. The IR is verified there, too: an error says which pass broke a
/// rule. Without an observer nothing is verified.
using Observer = std::function<void(std::string_view pass, const ir::Kernel&)>;
/// The observer for those who only want the verifier.
const Observer& verifying();

/// What does not depend on the budget of registers: all before `schedule`.
Result<void> prepare(ir::Kernel& kernel, const Options& options, const Observer& observer = verifying());
/// The rest. Who finishes several copies of a kernel, with other budgets, may give the order of a Scheduler
/// that they share; else schedule() makes it.
Result<void> finish(ir::Kernel& kernel, const Options& options, const Observer& observer = verifying(),
                    const Scheduler::Order* order = nullptr);
/// The whole list.
Result<void> run(ir::Kernel& kernel, const Options& options, const Observer& observer = verifying());

}  // namespace wavejit::passes
