// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "generator/ir/cfg.hpp"
#include "generator/ir/liveness.hpp"
#include "generator/ir/names.hpp"
#include "generator/ir/verify_rules.hpp"

namespace wavejit::ir::rules {
namespace {

using isa::Operand;

/// The first dword of `access` with an undefined half, or -1.
int undefined_dword(const RegisterAccess& access, const BitSet& defined, const RegisterUnits& units) {
  std::size_t unit = units.first(access.reg);
  for (int d = 0; d < access.reg.width; ++d, unit += 2) {
    if ((access.halves & low_half) != 0 && !defined.test(unit)) return d;
    if ((access.halves & high_half) != 0 && !defined.test(unit + 1)) return d;
  }
  return -1;
}

std::unexpected<Error> undefined(const Place& place, const Operand& reg, int dword,
                                 std::string_view allowed) {
  Operand part = reg.slice(static_cast<unsigned>(dword));
  if (!reg.is_virtual && reg.cls == isa::RegClass::sgpr && reg.index >= isa::sreg::vcc_lo) part = reg;
  return broken(place, fmt::format("register {}", operand_text(place.kernel, part)),
                "not written on every path to its use", std::string(allowed));
}

/// A write of the high half keeps the low one, which therefore must hold something.
Result<void> half_write(const Place& place, const RegisterAccess& write, const BitSet& defined,
                        const RegisterUnits& units) {
  if (write.halves != high_half || write.reg.undef) return {};
  const int dword = undefined_dword({write.reg, low_half}, defined, units);
  if (dword < 0) return {};
  return undefined(place, write.reg, dword, "written in its low half before its high half");
}

/// Reads of all instructions of an issue group, then their writes.
Result<void> group(const Kernel& kernel, const Block& block, std::size_t begin, std::size_t end,
                   BitSet& defined, const RegisterUnits& units) {
  for (std::size_t i = begin; i < end; ++i) {
    const Place place{kernel, &block, &block.insts[i].mi};
    const RegisterAccesses access = register_accesses(block.insts[i].mi, *kernel.target);
    for (const RegisterAccess& read : access.reads()) {
      const int dword = undefined_dword(read, defined, units);
      if (dword >= 0) return undefined(place, read.reg, dword, "written before");
    }
    for (const RegisterAccess& write : access.writes())
      if (auto r = half_write(place, write, defined, units); !r) return r;
  }
  for (std::size_t i = begin; i < end; ++i) {
    const RegisterAccesses access = register_accesses(block.insts[i].mi, *kernel.target);
    for (const RegisterAccess& write : access.writes())
      units.for_each(write, [&](std::size_t u) { defined.set(u); });
  }
  return {};
}

Result<void> branch(const Kernel& kernel, const Block& block, const Instruction& inst) {
  for (unsigned i = 0; i < inst.mi.src_count; ++i) {
    const Operand& o = inst.mi.src[i];
    if (o.kind == Operand::Kind::label && o.index >= kernel.blocks.size())
      return broken({kernel, &block, &inst.mi}, "the branch target", fmt::format("block {}", o.index),
                    fmt::format("below {}", kernel.blocks.size()));
  }
  return {};
}

Result<void> counted_loop(const Kernel& kernel, const Block& block) {
  const Place place{kernel, &block, nullptr};
  if (block.loop->trip_count < 1)
    return broken(place, "the trip count", std::to_string(block.loop->trip_count), "at least 1");
  if (terminator(block) != nullptr)
    return broken(place, "a counted loop's last instruction", "a branch", "none");
  for (const Induction& i : block.loop->inductions) {
    if (!i.reg.is_reg() || i.reg.cls == isa::RegClass::agpr || i.reg.width != 1)
      return broken(place, "an induction", "no register of one dword", "one SGPR or one VGPR");
    if (i.step < INT32_MIN || i.step > INT32_MAX)
      return broken(place, "an induction's step", std::to_string(i.step), "a signed 32-bit number");
    if (i.reg.is_virtual &&
        (i.reg.index >= kernel.vregs.size() || i.reg.sub >= kernel.vregs[i.reg.index].width))
      return broken(place, "an induction's register", fmt::format("%{}", i.reg.index), "a virtual register");
  }
  return {};
}

Result<void> block_form(const Kernel& kernel, const Block& block) {
  for (std::size_t i = 0; i < block.insts.size(); ++i) {
    const Instruction& inst = block.insts[i];
    if (inst.mi.has(isa::flag::terminator) && i + 1 != block.insts.size())
      return broken({kernel, &block, &inst.mi}, "a branch's place",
                    fmt::format("instruction {} of {}", i, block.insts.size()), "the last of its block");
    if (auto r = branch(kernel, block, inst); !r) return r;
  }
  return block.loop ? counted_loop(kernel, block) : Result<void>{};
}

Result<void> assigned_operand(const Place& place, const Operand& o) {
  const Kernel& kernel = place.kernel;
  if (!o.is_reg()) return {};
  if (o.is_virtual) return broken(place, "an operand", "virtual", "physical after register assignment");
  const std::uint32_t end = o.index + o.width;
  if (o.cls == isa::RegClass::vgpr && end > kernel.vgprs_used)
    return broken(place, "the highest VGPR", std::to_string(end - 1),
                  fmt::format("below vgprs_used = {}", kernel.vgprs_used));
  if (o.cls == isa::RegClass::sgpr && o.index < isa::sreg::vcc_lo && end > kernel.sgprs_used)
    return broken(place, "the highest SGPR", std::to_string(end - 1),
                  fmt::format("below sgprs_used = {}", kernel.sgprs_used));
  return {};
}

Result<void> entry_form(const Kernel& kernel) {
  for (const Operand& o : entry_operands(kernel)) {
    if (!o.is_virtual) continue;
    if (o.index >= kernel.vregs.size() || o.sub + o.width > kernel.vregs[o.index].width)
      return broken({kernel}, "an entry operand", fmt::format("%{}", o.index),
                    "a virtual register of its width");
    if (!kernel.vregs[o.index].fixed)
      return broken({kernel}, "an entry operand", operand_text(kernel, o),
                    "fixed to the register that hardware sets");
  }
  return {};
}

}  // namespace

Result<void> control_flow(const Kernel& kernel) {
  if (kernel.blocks.empty()) return broken({kernel}, "the number of blocks", "0", "at least 1");
  std::set<std::string_view> labels;
  for (const Block& block : kernel.blocks) {
    if (!labels.insert(block.label).second)
      return broken({kernel, &block}, "the block label", block.label, "unique in its kernel");
    if (auto r = block_form(kernel, block); !r) return r;
  }
  if (falls_through(kernel.blocks.back()))
    return broken({kernel, &kernel.blocks.back()}, "the last block's end", "open", "s_endpgm or s_branch");
  return entry_form(kernel);
}

Result<void> definitions(const Kernel& kernel) {
  const RegisterUnits units(kernel);
  const Cfg cfg = build_cfg(kernel);
  std::vector<BitSet> in = always_defined_in(kernel, cfg, units);
  for (const std::uint32_t b : cfg.reverse_post_order) {
    const Block& block = kernel.blocks[b];
    BitSet& defined = in[b];
    if (block.loop)
      for (const Induction& i : block.loop->inductions)
        if (undefined_dword({i.reg}, defined, units) >= 0)
          return undefined({kernel, &block}, i.reg, 0, "an induction with a start written before its loop");
    for (std::size_t i = 0; i < block.insts.size();) {
      const std::size_t end = i + issue_group(block.insts, i);
      if (auto r = group(kernel, block, i, end, defined, units); !r) return r;
      i = end;
    }
  }
  return {};
}

Result<void> assignment(const Kernel& kernel) {
  if (!kernel.registers_assigned) return {};
  if (kernel.vgprs_used > kernel.vgpr_budget)
    return broken({kernel}, "vgprs_used", std::to_string(kernel.vgprs_used),
                  fmt::format("at most {}", kernel.vgpr_budget));
  if (kernel.sgprs_used > kernel.sgpr_budget)
    return broken({kernel}, "sgprs_used", std::to_string(kernel.sgprs_used),
                  fmt::format("at most {}", kernel.sgpr_budget));
  for (const Operand& o : entry_operands(kernel))
    if (auto r = assigned_operand({kernel}, o); !r) return r;
  for (const Block& block : kernel.blocks) {
    for (const Instruction& inst : block.insts) {
      const Place place{kernel, &block, &inst.mi};
      for (unsigned i = 0; i < inst.mi.dst_count; ++i)
        if (auto r = assigned_operand(place, inst.mi.dst[i]); !r) return r;
      for (unsigned i = 0; i < inst.mi.src_count; ++i)
        if (auto r = assigned_operand(place, inst.mi.src[i]); !r) return r;
    }
  }
  return {};
}

}  // namespace wavejit::ir::rules
