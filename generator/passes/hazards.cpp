// SPDX-License-Identifier: MIT
#include "generator/passes/hazards.hpp"

#include <algorithm>

namespace wavejit::passes {
namespace {

using isa::Opcode;
using isa::Pipe;

/// depctr immediates: every field at its maximum but the one waited for (hardware.md §4.1).
constexpr std::uint16_t depctr_va_vdst_0 = 0x0F9F;
constexpr std::uint16_t depctr_va_sdst_0 = 0xF19F;
constexpr std::uint16_t depctr_va_vcc_0 = 0xFF9D;
constexpr std::uint16_t depctr_sa_sdst_0 = 0xFF9E;
constexpr unsigned va_vdst_shift = 12;

constexpr unsigned trans_reach_valus = 5;
constexpr unsigned trans_reach_transcendentals = 1;

bool any_of_group(IssueGroup group, auto&& test) {
  return std::ranges::any_of(group, [&](const ir::Instruction& i) { return test(i.mi); });
}

isa::Instruction make(Opcode op, std::initializer_list<isa::Operand> dst,
                      std::initializer_list<isa::Operand> src) {
  isa::Instruction inst;
  inst.op = op;
  for (const isa::Operand& o : dst) inst.dst[inst.dst_count++] = o;
  for (const isa::Operand& o : src) inst.src[inst.src_count++] = o;
  return inst;
}

bool is_cmpx(const isa::Instruction& inst) { return inst.has(isa::flag::exec_w) && is_valu(inst); }

bool is_permlane(const isa::Instruction& inst) {
  return inst.op == Opcode::v_permlane16_b32 || inst.op == Opcode::v_permlanex16_b32 ||
         inst.op == Opcode::v_permlane64_b32;
}

/// Instructions that do not issue before all VALU results of the wave are written.
bool drains_valu(const isa::Instruction& inst) {
  if (inst.pipe() == Pipe::vmem || inst.pipe() == Pipe::lds) return true;
  return inst.op == Opcode::s_waitcnt_depctr && (inst.src[0].value >> va_vdst_shift & 0xF) == 0;
}

}  // namespace

std::optional<isa::Instruction> MatrixResultHazard::fix(IssueGroup group) const {
  const isa::Instruction& mi = group.front().mi;
  if (mi.pipe() != Pipe::matrix) return std::nullopt;
  bool hit = false;
  for (unsigned i = 0; i < 2; ++i)
    if (mi.src[i].is_reg()) for_each_unit(mi.src[i], [&](unsigned u) { hit = hit || latest_result_[u]; });
  if (!hit) return std::nullopt;
  return make(Opcode::v_nop, {}, {});
}

void MatrixResultHazard::issue(IssueGroup group) {
  if (!any_of_group(group, is_valu)) return;
  latest_result_.reset();
  const isa::Instruction& mi = group.front().mi;
  if (mi.pipe() == Pipe::matrix) for_each_unit(mi.dst[0], [&](unsigned u) { latest_result_.set(u); });
}

bool MatrixResultHazard::merge(const MatrixResultHazard& other) {
  const RegisterSet before = latest_result_;
  latest_result_ |= other.latest_result_;
  return latest_result_ != before;
}

TransUseHazard::TransUseHazard() {
  valus_.fill(far);
  transcendentals_.fill(far);
}

std::optional<isa::Instruction> TransUseHazard::fix(IssueGroup group) const {
  bool hit = false;
  for (const ir::Instruction& inst : group) {
    if (!is_valu(inst.mi)) continue;
    isa::for_each_use(inst.mi, [&](const isa::Operand& o) {
      if (!o.is_vgpr()) return;
      for_each_unit(o, [&](unsigned u) {
        hit = hit || (valus_[u] <= trans_reach_valus && transcendentals_[u] <= trans_reach_transcendentals);
      });
    });
  }
  if (!hit) return std::nullopt;
  return make(Opcode::s_waitcnt_depctr, {}, {isa::imm(depctr_va_vdst_0)});
}

void TransUseHazard::issue(IssueGroup group) {
  if (any_of_group(group, drains_valu)) {
    *this = TransUseHazard();
    return;
  }
  if (!any_of_group(group, is_valu)) return;
  const isa::Instruction& mi = group.front().mi;
  const bool trans = mi.pipe() == Pipe::trans;
  for (unsigned u = 0; u < valus_.size(); ++u) {
    if (valus_[u] == far) continue;
    if (trans) ++transcendentals_[u];
    if (++valus_[u] > trans_reach_valus || transcendentals_[u] > trans_reach_transcendentals)
      valus_[u] = transcendentals_[u] = far;
  }
  if (trans) for_each_unit(mi.dst[0], [&](unsigned u) { valus_[u] = transcendentals_[u] = 0; });
}

bool TransUseHazard::merge(const TransUseHazard& other) {
  bool changed = false;
  for (unsigned u = 0; u < valus_.size(); ++u) {
    changed = changed || other.valus_[u] < valus_[u] || other.transcendentals_[u] < transcendentals_[u];
    valus_[u] = std::min(valus_[u], other.valus_[u]);
    transcendentals_[u] = std::min(transcendentals_[u], other.transcendentals_[u]);
  }
  return changed;
}

std::optional<isa::Instruction> CmpxPermlaneHazard::fix(IssueGroup group) const {
  const isa::Instruction& mi = group.front().mi;
  if (!after_cmpx_ || !is_permlane(mi)) return std::nullopt;
  return make(Opcode::v_mov_b32, {mi.src[0]}, {mi.src[0]});
}

void CmpxPermlaneHazard::issue(IssueGroup group) {
  const isa::Instruction& mi = group.front().mi;
  if (is_valu(mi) && mi.op != Opcode::v_nop) after_cmpx_ = is_cmpx(mi);
}

bool CmpxPermlaneHazard::merge(const CmpxPermlaneHazard& other) {
  const bool changed = other.after_cmpx_ && !after_cmpx_;
  after_cmpx_ = after_cmpx_ || other.after_cmpx_;
  return changed;
}

template <class F>
void SgprReadHazard::each_read(const isa::Instruction& inst, F&& f) const {
  for_each_read_unit(inst, *target_, [&](unsigned u) {
    if (u >= unit::sgpr && concerned(u - unit::sgpr)) f(u - unit::sgpr);
  });
}

std::optional<isa::Instruction> SgprReadHazard::fix(IssueGroup group) const {
  std::optional<std::uint16_t> wait;
  for (const ir::Instruction& inst : group) {
    const bool valu = is_valu(inst.mi),
               salu = inst.mi.pipe() == Pipe::salu || inst.mi.has(isa::flag::terminator);
    if (!valu && !salu) continue;
    each_read(inst.mi, [&](unsigned r) {
      if (by_salu_[r]) {
        wait = depctr_sa_sdst_0;
      } else if (valu && by_valu_[r] && !wait) {
        wait = r == isa::sreg::vcc_lo || r == isa::sreg::vcc_hi ? depctr_va_vcc_0 : depctr_va_sdst_0;
      }
    });
  }
  if (!wait) return std::nullopt;
  return make(Opcode::s_waitcnt_depctr, {}, {isa::imm(*wait)});
}

void SgprReadHazard::issue(IssueGroup group) {
  for (const ir::Instruction& inst : group) {
    const isa::Instruction& mi = inst.mi;
    if (mi.op == Opcode::s_waitcnt_depctr) {
      const auto fields = static_cast<std::uint64_t>(mi.src[0].value);
      if ((fields & 1) == 0) by_salu_.reset();
      for (unsigned r = 0; r < tracked; ++r) {
        const bool vcc = r == isa::sreg::vcc_lo || r == isa::sreg::vcc_hi;
        if ((vcc ? fields >> 1 & 1 : fields >> 9 & 7) != 0) continue;
        by_valu_.reset(r);
        surely_by_valu_.reset(r);
      }
      continue;
    }
    if (mi.pipe() == Pipe::smem) {
      by_salu_.reset();
      by_valu_.reset();
      surely_by_valu_.reset();
      continue;
    }
    const bool valu = is_valu(mi);
    if (!valu && mi.pipe() != Pipe::salu) continue;
    bool waited = false, surely_waited = false;
    each_read(mi, [&](unsigned r) {
      waited = waited || (!valu && by_valu_[r]);
      surely_waited = surely_waited || (!valu && surely_by_valu_[r]);
      if (!valu) return;
      for (Scalars* read : {&read_, &surely_read_}) {
        read->set(r & ~1U);
        read->set(r | 1U);
      }
    });
    // Where the wait happens on some paths only, the others still have what VALU wrote under way.
    if (surely_waited) by_valu_.reset();
    if (waited) surely_by_valu_.reset();
    for_each_written_unit(mi, *target_, [&](unsigned u) {
      if (u < unit::sgpr || !concerned(u - unit::sgpr) || !read_[u - unit::sgpr]) return;
      (valu ? by_valu_ : by_salu_).set(u - unit::sgpr);
      if (valu && surely_read_[u - unit::sgpr]) surely_by_valu_.set(u - unit::sgpr);
    });
  }
}

bool SgprReadHazard::merge(const SgprReadHazard& other) {
  const Scalars read = read_, by_salu = by_salu_, by_valu = by_valu_, surely_read = surely_read_,
                surely_by_valu = surely_by_valu_;
  surely_read_ &= other.surely_read_;
  surely_by_valu_ &= other.surely_by_valu_;
  read_ |= other.read_;
  by_salu_ |= other.by_salu_;
  by_valu_ |= other.by_valu_;
  return read != read_ || by_salu != by_salu_ || by_valu != by_valu_ || surely_read != surely_read_ ||
         surely_by_valu != surely_by_valu_;
}

std::optional<unsigned> ReplayedClauseHazard::clause_of(const isa::Instruction& inst) {
  if (inst.pipe() == Pipe::smem) return 0;
  if (inst.pipe() == Pipe::vmem) return 1;
  return std::nullopt;
}

void ReplayedClauseHazard::Clause::add(const isa::Instruction& inst, const target::Target& target) {
  for_each_read_unit(inst, target, [&](unsigned u) { reads.set(u); });
  for_each_written_unit(inst, target, [&](unsigned u) {
    writes.set(u);
    if (inst.has(isa::flag::d16 | isa::flag::d16_hi)) reads.set(u);
  });
}

std::optional<isa::Instruction> ReplayedClauseHazard::fix(IssueGroup group) const {
  const isa::Instruction& mi = group.front().mi;
  const std::optional<unsigned> which = clause_of(mi);
  if (!which || clauses_[*which].writes.none()) return std::nullopt;
  bool hit = mi.has(isa::flag::store | isa::flag::to_lds) || mi.mods.lds;
  if (!hit) {
    Clause longer = clauses_[*which];
    longer.add(mi, *target_);
    hit = (longer.reads & longer.writes).any();
  }
  if (!hit) return std::nullopt;
  return make(Opcode::s_nop, {}, {isa::imm(0)});
}

void ReplayedClauseHazard::issue(IssueGroup group) {
  const isa::Instruction& mi = group.front().mi;
  const std::optional<unsigned> which = clause_of(mi);
  for (unsigned c = 0; c < clauses_.size(); ++c)
    if (c != which) clauses_[c] = {};
  if (which) clauses_[*which].add(mi, *target_);
}

bool ReplayedClauseHazard::merge(const ReplayedClauseHazard& other) {
  bool changed = false;
  for (unsigned c = 0; c < clauses_.size(); ++c) {
    const Clause before = clauses_[c];
    clauses_[c].reads |= other.clauses_[c].reads;
    clauses_[c].writes |= other.clauses_[c].writes;
    changed = changed || before.reads != clauses_[c].reads || before.writes != clauses_[c].writes;
  }
  return changed;
}

}  // namespace wavejit::passes
