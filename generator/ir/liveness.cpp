// SPDX-License-Identifier: MIT
#include "generator/ir/liveness.hpp"

#include <algorithm>

namespace wavejit::ir {
namespace {

constexpr std::size_t scalar_units = 2 * (scc_register + 1);

/// Per block: read before any ending write, and ended by a write.
struct Transfer {
  BitSet gen, kill;
};

Transfer block_transfer(const Kernel& kernel, std::uint32_t b, const RegisterUnits& units,
                        const UnitAccesses& accesses) {
  const Block& block = kernel.blocks[b];
  Transfer t{BitSet(units.count()), BitSet(units.count())};
  if (block.loop) {
    units.for_each({isa::sgpr(scc_register)}, [&](std::size_t u) { t.kill.set(u); });
    for (const Induction& induction : block.loop->inductions)
      units.for_each({induction.reg}, [&](std::size_t u) { t.gen.set(u); });
  }
  for (std::size_t end = block.insts.size(); end > 0;) {
    const std::size_t begin = end >= 2 && issue_group(block.insts, end - 2) == 2 ? end - 2 : end - 1;
    for (std::size_t i = begin; i < end; ++i)
      for (const UnitAccesses::Write& write : accesses.writes(b, i)) {
        if (!write.ends) continue;
        t.gen.reset(write.unit);
        t.kill.set(write.unit);
      }
    for (std::size_t i = begin; i < end; ++i)
      for (const std::uint32_t unit : accesses.reads(b, i)) t.gen.set(unit);
    end = begin;
  }
  return t;
}

/// Everything that each block writes.
std::vector<BitSet> definitions(const Kernel& kernel, const RegisterUnits& units,
                                const UnitAccesses& accesses) {
  std::vector<BitSet> result(kernel.blocks.size(), BitSet(units.count()));
  for (std::size_t b = 0; b < kernel.blocks.size(); ++b)
    for (std::size_t i = 0; i < kernel.blocks[b].insts.size(); ++i)
      for (const UnitAccesses::Write& write : accesses.writes(b, i)) result[b].set(write.unit);
  return result;
}

BitSet defined_at_entry(const Kernel& kernel, const RegisterUnits& units) {
  BitSet defined(units.count());
  const auto define = [&](const isa::Operand& o) {
    units.for_each({o}, [&](std::size_t u) { defined.set(u); });
  };
  for (const isa::Operand& o : entry_operands(kernel)) define(o);
  define(isa::exec(kernel.target->wave_size));
  return defined;
}

/// Per block, what may have been written on some path to its start.
std::vector<BitSet> maybe_defined_in(const Kernel& kernel, const Cfg& cfg, const RegisterUnits& units,
                                     const std::vector<BitSet>& defines) {
  std::vector<BitSet> in(kernel.blocks.size(), BitSet(units.count()));
  if (!in.empty()) in[0] = defined_at_entry(kernel, units);
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::uint32_t b : cfg.reverse_post_order) {
      BitSet out = in[b];
      out.unite(defines[b]);
      for (const std::uint32_t to : cfg.successors[b]) changed = in[to].unite(out) || changed;
    }
  }
  return in;
}

}  // namespace

RegisterUnits::RegisterUnits(const Kernel& kernel)
    : agpr_first_(scalar_units + 2 * std::size_t{kernel.target->addressable_vgprs}),
      count_(agpr_first_ + 2 * std::size_t{kernel.target->addressable_vgprs}) {
  for (const VirtualRegister& reg : kernel.vregs) {
    vreg_first_.push_back(count_);
    count_ += 2 * std::size_t{reg.width};
  }
}

std::size_t RegisterUnits::first(const isa::Operand& reg) const {
  if (reg.is_virtual) return vreg_first_[reg.index] + 2 * std::size_t{reg.sub};
  const std::size_t offset = 2 * std::size_t{reg.index};
  if (reg.cls == isa::RegClass::sgpr) return offset;
  return offset + (reg.cls == isa::RegClass::vgpr ? scalar_units : agpr_first_);
}

std::vector<isa::Operand> entry_operands(const Kernel& kernel) {
  std::vector<isa::Operand> result;
  const auto add = [&](const isa::Operand& o) {
    if (o.is_reg()) result.push_back(o);
  };
  add(kernel.entry.kernarg);
  for (const isa::Operand& o : kernel.entry.workgroup_id) add(o);
  add(kernel.entry.workitem_id);
  return result;
}

bool keeps_inactive_lanes(const isa::Instruction& inst, const isa::Operand& written, bool exec_full) {
  return !exec_full && written.cls != isa::RegClass::sgpr && !inst.has(isa::flag::no_exec);
}

UnitAccesses::UnitAccesses(const Kernel& kernel, const ExecMask& exec, const RegisterUnits& units) {
  for (std::uint32_t b = 0; b < kernel.blocks.size(); ++b) {
    first_.push_back(begin_.size());
    for (std::size_t i = 0; i < kernel.blocks[b].insts.size(); ++i) {
      const isa::Instruction& inst = kernel.blocks[b].insts[i].mi;
      begin_.push_back({reads_.size(), writes_.size()});
      const RegisterAccesses access = register_accesses(inst, *kernel.target);
      for (const RegisterAccess& read : access.reads())
        units.for_each(read, [&](std::size_t u) { reads_.push_back(static_cast<std::uint32_t>(u)); });
      for (const RegisterAccess& write : access.writes()) {
        const bool ends = !keeps_inactive_lanes(inst, write.reg, exec.full(b, i));
        units.for_each(write, [&](std::size_t u) {
          writes_.push_back({static_cast<std::uint32_t>(u), ends});
        });
      }
    }
  }
  begin_.push_back({reads_.size(), writes_.size()});
}

Liveness compute_liveness(const Kernel& kernel, const Cfg& cfg, const RegisterUnits& units,
                          const UnitAccesses& accesses) {
  const std::size_t n = kernel.blocks.size();
  std::vector<Transfer> transfer;
  for (std::uint32_t b = 0; b < n; ++b) transfer.push_back(block_transfer(kernel, b, units, accesses));
  Liveness result{std::vector<BitSet>(n, BitSet(units.count())),
                  std::vector<BitSet>(n, BitSet(units.count()))};
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = n; i-- > 0;) {
      for (const std::uint32_t to : cfg.successors[i]) result.live_out[i].unite(result.live_in[to]);
      BitSet in = result.live_out[i];
      in.subtract(transfer[i].kill);
      in.unite(transfer[i].gen);
      changed = result.live_in[i].unite(in) || changed;
    }
  }
  const std::vector<BitSet> defines = definitions(kernel, units, accesses);
  const std::vector<BitSet> defined = maybe_defined_in(kernel, cfg, units, defines);
  for (std::size_t b = 0; b < n; ++b) {
    BitSet out = defined[b];
    out.unite(defines[b]);
    result.live_in[b].intersect(defined[b]);
    result.live_out[b].intersect(out);
  }
  return result;
}

std::vector<BitSet> always_defined_in(const Kernel& kernel, const Cfg& cfg, const RegisterUnits& units) {
  const std::vector<BitSet> defines =
      definitions(kernel, units, UnitAccesses(kernel, ExecMask(kernel, cfg), units));
  std::vector<BitSet> in(kernel.blocks.size(), BitSet(units.count(), true));
  if (!in.empty()) in[0] = defined_at_entry(kernel, units);
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::uint32_t b : cfg.reverse_post_order) {
      BitSet out = in[b];
      out.unite(defines[b]);
      apply_loop_end(kernel.blocks[b], out, units);
      for (const std::uint32_t to : cfg.successors[b]) changed = in[to].intersect(out) || changed;
    }
  }
  return in;
}

void apply_loop_end(const Block& block, BitSet& defined, const RegisterUnits& units) {
  if (block.loop) units.for_each({isa::sgpr(scc_register)}, [&](std::size_t u) { defined.reset(u); });
}

}  // namespace wavejit::ir
