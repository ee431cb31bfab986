// SPDX-License-Identifier: MIT
#include "generator/ir/builder.hpp"

#include <cassert>

namespace wavejit::ir {
namespace {

isa::Operand virtual_operand(isa::RegClass cls, std::size_t id, unsigned width) {
  isa::Operand o = isa::phys(cls, static_cast<std::uint32_t>(id), width);
  o.is_virtual = true;
  return o;
}

}  // namespace

isa::Operand Builder::vgpr(std::string name, unsigned width, int bank) {
  VirtualRegister reg;
  reg.cls = isa::RegClass::vgpr;
  reg.width = static_cast<std::uint8_t>(width);
  reg.align = width >= 2 ? kernel_.target->vgpr_tuple_align : std::uint8_t{1};
  reg.bank = static_cast<std::int8_t>(bank);
  reg.name = std::move(name);
  kernel_.vregs.push_back(std::move(reg));
  return virtual_operand(isa::RegClass::vgpr, kernel_.vregs.size() - 1, width);
}

isa::Operand Builder::sgpr(std::string name, unsigned width) {
  VirtualRegister reg;
  reg.cls = isa::RegClass::sgpr;
  reg.width = static_cast<std::uint8_t>(width);
  reg.align = static_cast<std::uint8_t>(width >= 4 ? 4 : width);
  reg.name = std::move(name);
  kernel_.vregs.push_back(std::move(reg));
  return virtual_operand(isa::RegClass::sgpr, kernel_.vregs.size() - 1, width);
}

isa::Operand Builder::fixed(isa::RegClass cls, std::string name, std::uint32_t reg, unsigned width) {
  VirtualRegister vreg;
  vreg.cls = cls;
  vreg.width = static_cast<std::uint8_t>(width);
  vreg.fixed = reg;
  vreg.name = std::move(name);
  kernel_.vregs.push_back(std::move(vreg));
  return virtual_operand(cls, kernel_.vregs.size() - 1, width);
}

std::uint32_t Builder::block(std::string label, std::string comment) {
  Block block;
  block.label = std::move(label);
  block.comment = std::move(comment);
  kernel_.blocks.push_back(std::move(block));
  current_ = static_cast<std::uint32_t>(kernel_.blocks.size() - 1);
  return current_;
}

CountedLoop& Builder::make_loop(std::string name, std::int64_t trip_count) {
  CountedLoop loop;
  loop.name = std::move(name);
  loop.trip_count = trip_count;
  current().loop = std::move(loop);
  return *current().loop;
}

Instruction& Builder::emit(isa::Opcode op, std::initializer_list<isa::Operand> dst,
                           std::initializer_list<isa::Operand> src) {
  assert(dst.size() <= isa::max_dst && src.size() <= isa::max_src);
  Instruction inst;
  inst.mi.op = op;
  for (const isa::Operand& d : dst) inst.mi.dst[inst.mi.dst_count++] = d;
  for (const isa::Operand& s : src) inst.mi.src[inst.mi.src_count++] = s;
  inst.stage = stage_;
  inst.comment = std::exchange(pending_comment_, {});
  current().insts.push_back(std::move(inst));
  return current().insts.back();
}

}  // namespace wavejit::ir
