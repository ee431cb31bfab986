// SPDX-License-Identifier: MIT
// Trackers of software-visible hazards (hardware.md §5.1, §2.3), each checked against what LLVM 22's
// post-RA-hazard-rec inserts for small MIR inputs. A tracker is the state of a forward analysis: it
// takes up issue groups (one instruction, or the two of a VOPD pair), joins at merges, and says which
// instruction must stand in front of the next group.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <span>

#include "generator/ir/kernel.hpp"
#include "generator/passes/register_set.hpp"

namespace wavejit::passes {

using IssueGroup = std::span<const ir::Instruction>;

/// simm16 of s_sendmsg that gives the VGPRs of an ending wave back.
inline constexpr std::int64_t msg_dealloc_vgprs = 3;

/// The D registers of a matrix instruction may not be A or B of the next VALU instruction when that
/// is a matrix instruction; any VALU instruction between them, v_nop too, is enough.
class MatrixResultHazard {
 public:
  [[nodiscard]] std::optional<isa::Instruction> fix(IssueGroup group) const;
  void issue(IssueGroup group);
  bool merge(const MatrixResultHazard& other);

 private:
  RegisterSet latest_result_;  ///< D of the latest VALU instruction, if that was a matrix one
};

/// A transcendental result is not forwarded to a VALU instruction with at most 5 VALU and at most 1
/// transcendental instruction between. Vector memory and LDS instructions drain the VALU by
/// themselves; otherwise s_waitcnt_depctr va_vdst(0) does.
class TransUseHazard {
 public:
  TransUseHazard();
  [[nodiscard]] std::optional<isa::Instruction> fix(IssueGroup group) const;
  void issue(IssueGroup group);
  bool merge(const TransUseHazard& other);

 private:
  /// Instructions behind the write of a register; `far` = out of reach.
  static constexpr std::uint8_t far = 0xFF;
  std::array<std::uint8_t, unit::agpr> valus_, transcendentals_;
};

/// v_permlane* needs a VALU instruction other than v_nop between itself and a v_cmpx; the fix moves
/// its first source onto itself.
class CmpxPermlaneHazard {
 public:
  [[nodiscard]] std::optional<isa::Instruction> fix(IssueGroup group) const;
  void issue(IssueGroup group);
  bool merge(const CmpxPermlaneHazard& other);

 private:
  bool after_cmpx_ = false;
};

/// gfx12 (hardware.md §5.2). Once VALU has read an SGPR, a later write of it by SALU is visible to VALU and
/// SALU only behind s_wait_alu sa_sdst(0), and a later write by VALU to VALU only behind va_sdst(0), for VCC
/// va_vcc(0). Reads count by aligned pairs. A scalar load settles every write before it, an SALU read of
/// VALU's value waits by itself; vector memory settles nothing. M0, null and EXEC are not concerned.
class SgprReadHazard {
 public:
  explicit SgprReadHazard(const target::Target& target) : target_(&target) {}
  [[nodiscard]] std::optional<isa::Instruction> fix(IssueGroup group) const;
  void issue(IssueGroup group);
  bool merge(const SgprReadHazard& other);

 private:
  static constexpr unsigned tracked = isa::sreg::exec_lo;
  using Scalars = std::bitset<tracked>;
  template <class F>
  void each_read(const isa::Instruction& inst, F&& f) const;
  [[nodiscard]] static bool concerned(unsigned reg) {
    return reg < tracked && reg != isa::sreg::m0 && reg != isa::sreg::null;
  }

  const target::Target* target_ = nullptr;
  Scalars read_, by_salu_, by_valu_;      ///< on some path
  Scalars surely_read_, surely_by_valu_;  ///< on every path: what an SALU read is known to wait for
};

/// XNACK: memory instructions that stand directly behind one another, all scalar or all vector, are a soft
/// clause, which may be issued again as a whole. So none may overwrite a register that another of it reads,
/// and a store behind a load is in another clause (their addresses may be the same). Anything else between
/// breaks the clause. LLVM's GCNHazardRecognizer::checkSoftClauseHazards has the same rule, which also
/// counts loads to LDS as stores and the half that a 16-bit load keeps as read.
class ReplayedClauseHazard {
 public:
  explicit ReplayedClauseHazard(const target::Target& target) : target_(&target) {}
  [[nodiscard]] std::optional<isa::Instruction> fix(IssueGroup group) const;
  void issue(IssueGroup group);
  bool merge(const ReplayedClauseHazard& other);

 private:
  struct Clause {
    RegisterSet reads, writes;
    void add(const isa::Instruction& inst, const target::Target& target);
  };
  static std::optional<unsigned> clause_of(const isa::Instruction& inst);

  const target::Target* target_;
  std::array<Clause, 2> clauses_;  ///< of scalar, of vector memory; on some path both may be open
};

}  // namespace wavejit::passes
