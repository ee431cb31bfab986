// SPDX-License-Identifier: MIT
// Technique 5: uniform address arithmetic leaves the VALU.
//
// Two forms are recognised in a counted loop, both only where the register feeds nothing but the
// address of buffer accesses whose soffset is still 0:
//   (a) a VGPR induction        address(i) = base + i * step   ->  vaddr = base, soffset = SGPR induction
//   (b) t = v_add_nc_u32 u, base with uniform u                ->  vaddr = base, soffset = u
// The bytes that decide a row's bounds stay in the VGPR, so the access is right whether or not
// hardware counts soffset in the bounds check (hardware.md §6): a row is in or out by vaddr alone.
#include <algorithm>
#include <vector>

#include "generator/ir/builder.hpp"
#include "generator/passes/passes.hpp"

namespace wavejit::passes {
namespace {

/// Position of the address operand of a buffer access among its sources (loads: 0, stores: 1).
unsigned address_index(const isa::Instruction& mi) { return mi.has(isa::flag::store) ? 1 : 0; }
unsigned soffset_index(const isa::Instruction& mi) { return address_index(mi) + 2; }

bool same_register(const isa::Operand& a, const isa::Operand& b) {
  return a.is_reg() && b.is_reg() && a.is_virtual == b.is_virtual && a.cls == b.cls && a.index == b.index &&
         a.sub == b.sub;
}

bool overlaps(const isa::Operand& a, const isa::Operand& b) {
  return a.is_reg() && b.is_reg() && a.is_virtual == b.is_virtual && a.cls == b.cls && a.index == b.index;
}

bool is_zero(const isa::Operand& soffset) {
  return (soffset.kind == isa::Operand::Kind::imm && soffset.value == 0) ||
         soffset.is_physical(isa::RegClass::sgpr, isa::sreg::null);
}

bool takes_scalar_offset(const isa::Instruction& mi, const isa::Operand& address) {
  if (!mi.has(isa::flag::buffer) || !mi.mods.offen) return false;
  return same_register(mi.src[address_index(mi)], address) && is_zero(mi.src[soffset_index(mi)]);
}

/// True when every use of `reg` in the kernel outside instruction `except` is such an address.
bool only_addresses(const ir::Kernel& kernel, const ir::Block& loop_block, const isa::Operand& reg,
                    const ir::Instruction* except) {
  bool any = false;
  for (const ir::Block& block : kernel.blocks) {
    for (const ir::Instruction& inst : block.insts) {
      if (&inst == except) continue;
      bool used = false;
      isa::for_each_use(inst.mi, [&](const isa::Operand& o) { used = used || overlaps(o, reg); });
      if (!used) continue;
      if (&block != &loop_block || !takes_scalar_offset(inst.mi, reg)) return false;
      any = true;
    }
  }
  return any;
}

unsigned definitions(const ir::Kernel& kernel, const isa::Operand& reg) {
  unsigned count = 0;
  for (const ir::Block& block : kernel.blocks)
    for (const ir::Instruction& inst : block.insts)
      isa::for_each_def(inst.mi, [&](const isa::Operand& o) { count += overlaps(o, reg) ? 1 : 0; });
  return count;
}

void replace_address(ir::Block& block, const isa::Operand& old_address, const isa::Operand& new_address,
                     const isa::Operand& soffset) {
  for (ir::Instruction& inst : block.insts) {
    if (!takes_scalar_offset(inst.mi, old_address)) continue;
    inst.mi.src[address_index(inst.mi)] = new_address;
    inst.mi.src[soffset_index(inst.mi)] = soffset;
  }
}

/// An SGPR induction that starts at 0 with this step and stage, made on first use.
isa::Operand scalar_induction(ir::Kernel& kernel, std::size_t loop_block, const ir::Induction& model) {
  ir::CountedLoop& loop = *kernel.blocks[loop_block].loop;
  for (const ir::Induction& existing : loop.inductions) {
    if (existing.reg.is_sgpr() && existing.step == model.step && existing.stage == model.stage &&
        existing.constant_start == 0)
      return existing.reg;
  }
  ir::Builder builder(kernel);
  const isa::Operand reg = builder.sgpr("k_offset" + std::to_string(model.step));
  ir::Induction induction = model;
  induction.reg = reg;
  induction.constant_start = 0;
  loop.inductions.push_back(induction);
  ir::Instruction init;
  init.mi.op = isa::Opcode::s_mov_b32;
  init.mi.dst_count = init.mi.src_count = 1;
  init.mi.dst[0] = reg;
  init.mi.src[0] = isa::imm(0);
  init.comment = "bytes along K, in soffset";
  kernel.blocks[loop_block - 1].insts.push_back(std::move(init));
  return reg;
}

void rewrite_inductions(ir::Kernel& kernel, std::size_t b) {
  const std::vector<ir::Induction> inductions = kernel.blocks[b].loop->inductions;
  for (const ir::Induction& induction : inductions) {
    if (!induction.reg.is_vgpr() || !only_addresses(kernel, kernel.blocks[b], induction.reg, nullptr))
      continue;
    const isa::Operand soffset = scalar_induction(kernel, b, induction);
    replace_address(kernel.blocks[b], induction.reg, induction.reg, soffset);
    std::erase_if(kernel.blocks[b].loop->inductions,
                  [&](const ir::Induction& i) { return same_register(i.reg, induction.reg); });
  }
}

/// True when nothing between the add at `position` and the last access through its result redefines
/// the add's inputs.
bool inputs_survive(const ir::Block& block, std::size_t position, const isa::Instruction& add) {
  std::size_t last = position;
  for (std::size_t i = position + 1; i < block.insts.size(); ++i)
    if (takes_scalar_offset(block.insts[i].mi, add.dst[0])) last = i;
  for (std::size_t i = position + 1; i < last; ++i) {
    bool redefined = false;
    isa::for_each_def(block.insts[i].mi, [&](const isa::Operand& o) {
      redefined = redefined || overlaps(o, add.src[0]) || overlaps(o, add.src[1]);
    });
    if (redefined) return false;
  }
  return true;
}

void rewrite_uniform_adds(ir::Kernel& kernel, std::size_t b) {
  ir::Block& block = kernel.blocks[b];
  for (std::size_t i = 0; i < block.insts.size(); ++i) {
    const isa::Instruction add = block.insts[i].mi;
    if (add.op != isa::Opcode::v_add_nc_u32 || !add.src[0].is_sgpr() || !add.src[1].is_vgpr()) continue;
    if (definitions(kernel, add.dst[0]) != 1 || !inputs_survive(block, i, add) ||
        !only_addresses(kernel, block, add.dst[0], &block.insts[i]))
      continue;
    replace_address(block, add.dst[0], add.src[1], add.src[0]);
    block.insts.erase(block.insts.begin() + static_cast<std::ptrdiff_t>(i--));
  }
}

}  // namespace

Result<void> scalar_offsets(ir::Kernel& kernel) {
  for (std::size_t b = 1; b < kernel.blocks.size(); ++b) {
    if (!kernel.blocks[b].loop) continue;
    rewrite_inductions(kernel, b);
    rewrite_uniform_adds(kernel, b);
  }
  return {};
}

}  // namespace wavejit::passes
