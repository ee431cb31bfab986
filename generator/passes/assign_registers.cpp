// SPDX-License-Identifier: MIT
// Technique 4: virtual tuples to physical registers.
//
// Independent lives of a tuple are told apart (split_webs); then live intervals per dword (live_ranges), what
// the banks ask for (bank_plan), a search for places (tuple_allocator), then every operand is rewritten.
// Copies whose two sides landed in one register are dropped. Nothing is ever spilled: a kernel that does not
// fit is refused with a count.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "generator/ir/names.hpp"
#include "generator/ir/register_access.hpp"
#include "generator/passes/passes.hpp"
#include "generator/passes/split_webs.hpp"
#include "generator/passes/tuple_allocator.hpp"

namespace wavejit::passes {
namespace {

using isa::Opcode;
using isa::Operand;
using isa::RegClass;

constexpr std::array all_classes{RegClass::sgpr, RegClass::vgpr, RegClass::agpr};

/// Calls f(Operand&) for every operand of the kernel that may name a virtual register.
template <class F>
void for_each_operand(ir::Kernel& kernel, F&& f) {
  f(kernel.entry.kernarg);
  for (Operand& o : kernel.entry.workgroup_id) f(o);
  f(kernel.entry.workitem_id);
  for (ir::Block& block : kernel.blocks) {
    if (block.loop)
      for (ir::Induction& i : block.loop->inductions) f(i.reg);
    for (ir::Instruction& inst : block.insts) {
      for (unsigned i = 0; i < inst.mi.dst_count; ++i) f(inst.mi.dst[i]);
      for (unsigned i = 0; i < inst.mi.src_count; ++i) f(inst.mi.src[i]);
    }
  }
}

std::uint8_t alignment(const ir::VirtualRegister& reg, const target::Target& target) {
  unsigned needed = 1;
  if (reg.cls == RegClass::sgpr) {
    needed = reg.width >= 3 ? 4 : reg.width;
  } else if (reg.width >= 2) {
    needed = target.vgpr_tuple_align;
  }
  return static_cast<std::uint8_t>(std::max<unsigned>({needed, reg.align, 1}));
}

/// A whole-register move without side effects, which is nothing once both sides are one register.
bool is_plain_copy(const isa::Instruction& inst) {
  if (inst.op != Opcode::v_mov_b32 && inst.op != Opcode::s_mov_b32 && inst.op != Opcode::s_mov_b64)
    return false;
  const Operand &d = inst.dst[0], &s = inst.src[0];
  return inst.dual == isa::Dual::none && inst.mods == isa::Modifiers{} && s.is_reg() && d.is_reg() &&
         s.cls == d.cls && s.width == d.width && s.half == isa::Half::whole && d.half == isa::Half::whole &&
         !s.neg && !s.abs;
}

struct Counts {
  std::uint32_t needed, allowed, live;  ///< live: at one point
};

std::unexpected<Error> refuse(const ir::Kernel& kernel, RegClass cls, const Counts& counts,
                              std::string_view how) {
  constexpr std::array<std::string_view, 3> fields{"sgprs", "vgprs", "agprs"};
  auto failure = fail_field(ErrorCode::out_of_registers, std::string(fields[static_cast<unsigned>(cls)]),
                            std::to_string(counts.needed), fmt::format("at most {}", counts.allowed));
  failure.error().message = fmt::format("kernel {}: {} ({}; {} are live at one point)", kernel.name,
                                        failure.error().message, how, counts.live);
  return failure;
}

/// Most VGPRs that are live at one point.
std::uint32_t live_vgprs(const ir::Kernel& kernel, const LiveRanges& ranges) {
  std::vector<const Segments*> lives;
  for (std::uint32_t r = 0; r < kernel.target->addressable_vgprs; ++r)
    lives.push_back(&ranges.of_physical(RegClass::vgpr, r));
  for (std::uint32_t id = 0; id < kernel.vregs.size(); ++id)
    for (unsigned d = 0; d < kernel.vregs[id].width && kernel.vregs[id].cls == RegClass::vgpr; ++d)
      lives.push_back(&ranges.of_vreg(id, d));
  return peak_pressure(ranges.positions(), lives);
}

class Assigner {
 public:
  Assigner(ir::Kernel& kernel, const RegisterOptions& options)
      : kernel_(kernel), ranges_(kernel), measure_need_(options.measure_need) {
    if (options.bank_aware) banks_ = plan_banks(kernel);
    mentioned_.resize(kernel.vregs.size());
    for_each_operand(kernel, [&](Operand& o) {
      if (o.is_reg() && o.is_virtual) mentioned_[o.index] = true;
    });
    base_.assign(kernel.vregs.size(), -1);
  }

  Result<void> run() {
    for (const RegClass cls : all_classes)
      if (auto r = assign(cls); !r) return r;
    rewrite();
    drop_copies();
    kernel_.uses_vcc = uses_vcc();
    kernel_.registers_assigned = true;
    return {};
  }

 private:
  [[nodiscard]] std::uint32_t addressable(RegClass cls) const {
    if (cls == RegClass::sgpr) return kernel_.target->addressable_sgprs;
    return kernel_.target->addressable_vgprs;  // as many AGPRs, where there are any
  }

  [[nodiscard]] std::uint32_t limit(RegClass cls) const {
    if (cls == RegClass::sgpr) return std::min(kernel_.sgpr_budget, addressable(cls));
    if (cls == RegClass::vgpr) return std::min(kernel_.vgpr_budget, addressable(cls));
    if (!kernel_.target->has_agprs) return addressable(cls);
    // AGPRs, which come last, have what the VGPRs leave of the file.
    const unsigned taken = target::unified_vgprs(*kernel_.target, kernel_.vgprs_used, 1) - 1;
    return std::min(kernel_.vgpr_budget - std::min(kernel_.vgpr_budget, taken), addressable(cls));
  }

  AllocationProblem problem(RegClass cls) const {
    AllocationProblem p;
    p.positions = ranges_.positions();
    p.vreg_count = kernel_.vregs.size();
    if (cls == RegClass::vgpr && banks_.banks > 0) p.banks = &banks_;
    if (cls == RegClass::vgpr) p.granule = kernel_.target->vgpr_alloc_granule;
    for (std::uint32_t r = 0; r < addressable(cls); ++r) p.occupied.push_back(&ranges_.of_physical(cls, r));
    for (std::uint32_t id = 0; id < kernel_.vregs.size(); ++id)
      if (mentioned_[id] && kernel_.vregs[id].cls == cls) p.tuples.push_back(request(id));
    for (const ir::Block& block : kernel_.blocks)
      for (const ir::Instruction& inst : block.insts) {
        const Operand &d = inst.mi.dst[0], &s = inst.mi.src[0];
        if (is_plain_copy(inst.mi) && d.cls == cls && d.is_virtual && s.is_virtual && d.index != s.index)
          p.copies.push_back({d.index, s.index, std::int32_t{s.sub} - std::int32_t{d.sub}});
      }
    return p;
  }

  TupleRequest request(std::uint32_t id) const {
    const ir::VirtualRegister& reg = kernel_.vregs[id];
    TupleRequest t;
    t.vreg = id;
    t.width = reg.width;
    t.fixed = reg.fixed;
    t.align = reg.fixed ? std::uint8_t{1} : alignment(reg, *kernel_.target);
    t.wish = reg.bank;
    t.begin = ranges_.positions();
    for (unsigned d = 0; d < reg.width; ++d) {
      const Segments& segments = ranges_.of_vreg(id, d);
      t.dwords.push_back(&segments);
      for (const Segment& s : segments) t.length += s.end - s.begin;
      if (!segments.empty()) t.begin = std::min(t.begin, segments.front().begin);
    }
    return t;
  }

  Result<void> assign(RegClass cls) {
    const AllocationProblem p = problem(cls);
    if (const auto conflict = fixed_conflict(p)) {
      const ir::VirtualRegister& reg = kernel_.vregs[conflict->first];
      return fail_field(
          ErrorCode::invalid_ir,
          fmt::format("fixed register {} of {}%{}", conflict->second, reg.name, conflict->first),
          "taken at the same time by another", "free while it is live");
    }
    const bool physical_fit = std::all_of(p.occupied.begin() + limit(cls), p.occupied.end(),
                                          [](const Segments* s) { return s->empty(); });
    const bool may_fit = physical_fit && peak_pressure(p) <= limit(cls);
    const std::optional<Placement> placed = may_fit ? place(p, limit(cls)) : std::nullopt;
    if (!placed) return does_not_fit(p, cls);
    for (const TupleRequest& t : p.tuples) base_[t.vreg] = placed->base[t.vreg];
    if (cls == RegClass::vgpr) kernel_.vgprs_used = placed->used;
    if (cls == RegClass::sgpr) kernel_.sgprs_used = placed->used;
    if (cls == RegClass::agpr) kernel_.agprs_used = placed->used;
    return {};
  }

  /// The least register count that the search can do with, or else the peak as a lower bound.
  std::unexpected<Error> does_not_fit(AllocationProblem p, RegClass cls) const {
    p.banks = nullptr;  // banks are given up before a kernel is refused
    p.granule = 0;
    const std::uint32_t peak = peak_pressure(p);
    std::uint32_t low = std::max(peak, limit(cls) + 1), high = addressable(cls);
    std::optional<Placement> widest = measure_need_ && low <= high ? place(p, high) : std::nullopt;
    if (widest) high = std::max(low, widest->used);
    while (widest && low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (place(p, middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    const std::uint32_t needed = widest ? high : std::max(peak, limit(cls) + 1);
    std::string how = "a lower bound";
    if (widest)
      how = "the smallest count found to fit";
    else if (measure_need_)
      how += fmt::format(": none up to {} fits", addressable(cls));
    return refuse(kernel_, cls, {needed, limit(cls), peak}, how);
  }

  void rewrite() {
    for_each_operand(kernel_, [&](Operand& o) {
      if (!o.is_reg() || !o.is_virtual) return;
      o.index = static_cast<std::uint32_t>(base_[o.index]) + o.sub;
      o.sub = 0;
      o.is_virtual = false;
    });
    for (std::size_t id = 0; id < base_.size(); ++id)
      if (base_[id] >= 0) kernel_.vregs[id].fixed = static_cast<std::uint32_t>(base_[id]);
  }

  void drop_copies() {
    for (ir::Block& block : kernel_.blocks)
      std::erase_if(block.insts, [](const ir::Instruction& inst) {
        return is_plain_copy(inst.mi) && inst.mi.dst[0].index == inst.mi.src[0].index;
      });
  }

  bool uses_vcc() const {
    const auto is_vcc = [](const Operand& o) {
      return o.is_physical(RegClass::sgpr, isa::sreg::vcc_lo) ||
             o.is_physical(RegClass::sgpr, isa::sreg::vcc_hi);
    };
    for (const ir::Block& block : kernel_.blocks)
      for (const ir::Instruction& inst : block.insts) {
        const ir::RegisterAccesses access = ir::register_accesses(inst.mi, *kernel_.target);
        for (const ir::RegisterAccess& a : access.reads())
          if (is_vcc(a.reg)) return true;
        for (const ir::RegisterAccess& a : access.writes())
          if (is_vcc(a.reg)) return true;
      }
    return false;
  }

  ir::Kernel& kernel_;
  LiveRanges ranges_;
  bool measure_need_;
  BankPlan banks_;
  std::vector<bool> mentioned_;
  std::vector<std::int32_t> base_;
};

}  // namespace

Result<void> assign_registers(ir::Kernel& kernel, const RegisterOptions& options) {
  if (kernel.registers_assigned)
    return fail_field(ErrorCode::invalid_ir, "registers_assigned", "true", "false before assign_registers");
  const LiveRanges whole(kernel);
  // Of many schedules that are tried, most end here.
  if (!options.measure_need) {
    const std::uint32_t live = live_vgprs(kernel, whole);
    const std::uint32_t allowed =
        std::min<std::uint32_t>(kernel.vgpr_budget, kernel.target->addressable_vgprs);
    if (live > allowed) return refuse(kernel, RegClass::vgpr, {live, allowed, live}, "a lower bound");
  }
  split_webs(kernel, whole);
  return Assigner(kernel, options).run();
}

}  // namespace wavejit::passes
