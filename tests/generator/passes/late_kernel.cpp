// SPDX-License-Identifier: MIT
#include "tests/generator/passes/late_kernel.hpp"

#include <algorithm>

namespace wavejit::test {
namespace {

constexpr unsigned address_vgpr = 250;
constexpr unsigned descriptor_sgpr = 96;
constexpr unsigned base_sgpr = 100;

class Labels : public isa::OperandNames {
 public:
  explicit Labels(const ir::Kernel& kernel) : kernel_(kernel) {}
  [[nodiscard]] std::string virtual_register(const Operand&) const override { return "?"; }
  [[nodiscard]] std::string label(std::uint32_t index) const override { return kernel_.blocks[index].label; }

 private:
  const ir::Kernel& kernel_;
};

}  // namespace

LateKernel::LateKernel(const target::Target& target) {
  kernel.name = "test";
  kernel.target = &target;
  kernel.registers_assigned = true;
  kernel.vgprs_used = 251;
  kernel.sgprs_used = 104;
  kernel.workgroup_size = 256;
  block("entry");
}

LateKernel::LateKernel(std::string_view target_name) : LateKernel(*target::find(target_name)) {}

std::uint32_t LateKernel::block(std::string label) {
  ir::Block b;
  b.label = std::move(label);
  kernel.blocks.push_back(std::move(b));
  return static_cast<std::uint32_t>(kernel.blocks.size() - 1);
}

ir::Instruction& LateKernel::add(Opcode op, std::initializer_list<Operand> dst,
                                 std::initializer_list<Operand> src) {
  ir::Instruction inst;
  inst.mi.op = op;
  for (const Operand& o : dst) inst.mi.dst[inst.mi.dst_count++] = o;
  for (const Operand& o : src) inst.mi.src[inst.mi.src_count++] = o;
  kernel.blocks.back().insts.push_back(std::move(inst));
  return kernel.blocks.back().insts.back();
}

ir::Instruction& LateKernel::load(unsigned v, unsigned width) {
  ir::Instruction& inst =
      add(buffer_load_of(width), {vgpr(v, width)}, {vgpr(address_vgpr), sgpr(descriptor_sgpr, 4), imm(0)});
  inst.mi.mods.offen = true;
  inst.mem.space = ir::MemoryTag::Space::global;
  return inst;
}

ir::Instruction& LateKernel::store(unsigned v, unsigned width) {
  ir::Instruction& inst =
      add(buffer_store_of(width), {}, {vgpr(v, width), vgpr(address_vgpr), sgpr(descriptor_sgpr, 4), imm(0)});
  inst.mi.mods.offen = true;
  inst.mem.space = ir::MemoryTag::Space::global;
  return inst;
}

ir::Instruction& LateKernel::lds_load(unsigned v, unsigned width) {
  ir::Instruction& inst = add(lds_load_of(width), {vgpr(v, width)}, {vgpr(address_vgpr)});
  inst.mem.space = ir::MemoryTag::Space::lds;
  return inst;
}

ir::Instruction& LateKernel::lds_store(unsigned v, unsigned width) {
  ir::Instruction& inst = add(lds_store_of(width), {}, {vgpr(address_vgpr), vgpr(v, width)});
  inst.mem.space = ir::MemoryTag::Space::lds;
  return inst;
}

ir::Instruction& LateKernel::scalar_load(unsigned s, unsigned width) {
  return add(scalar_load_of(width), {sgpr(s, width)}, {sgpr(base_sgpr, 2), imm(0)});
}

ir::Instruction& LateKernel::move(unsigned to, unsigned from) {
  return add(Opcode::v_mov_b32, {vgpr(to)}, {vgpr(from)});
}

ir::Instruction& LateKernel::add3(unsigned to, unsigned a, unsigned b) {
  return add(Opcode::v_add_nc_u32, {vgpr(to)}, {vgpr(a), vgpr(b)});
}

ir::Instruction& LateKernel::wmma(unsigned d, unsigned a, unsigned b) {
  return add(Opcode::v_wmma_f32_16x16x16_bf16, {vgpr(d, 8)}, {vgpr(a, 8), vgpr(b, 8), vgpr(d, 8)});
}

void LateKernel::barrier() {
  if (!kernel.target->has_split_barrier) {
    add(Opcode::s_barrier, {}, {});
    return;
  }
  add(Opcode::s_barrier_signal, {}, {imm(-1)});
  add(Opcode::s_barrier_wait, {}, {imm(-1)});
}

Opcode buffer_load_of(unsigned width) {
  return width == 4   ? Opcode::buffer_load_b128
         : width == 2 ? Opcode::buffer_load_b64
                      : Opcode::buffer_load_b32;
}
Opcode buffer_store_of(unsigned width) {
  return width == 4   ? Opcode::buffer_store_b128
         : width == 2 ? Opcode::buffer_store_b64
                      : Opcode::buffer_store_b32;
}
Opcode lds_load_of(unsigned width) {
  return width == 4 ? Opcode::ds_load_b128 : width == 2 ? Opcode::ds_load_b64 : Opcode::ds_load_b32;
}
Opcode lds_store_of(unsigned width) {
  return width == 4 ? Opcode::ds_store_b128 : width == 2 ? Opcode::ds_store_b64 : Opcode::ds_store_b32;
}
Opcode scalar_load_of(unsigned width) {
  return width == 4 ? Opcode::s_load_b128 : width == 2 ? Opcode::s_load_b64 : Opcode::s_load_b32;
}

std::vector<std::string> lines_of(const ir::Kernel& kernel) {
  const Labels labels(kernel);
  std::vector<std::string> lines;
  for (const ir::Block& block : kernel.blocks) {
    lines.push_back(block.label + ":");
    for (const ir::Instruction& inst : block.insts)
      lines.push_back(isa::to_text(inst.mi, *kernel.target, &labels));
  }
  return lines;
}

std::vector<std::string> lines_with(const ir::Kernel& kernel, std::string_view prefix) {
  std::vector<std::string> lines = lines_of(kernel);
  std::erase_if(lines, [&](const std::string& line) { return !line.starts_with(prefix); });
  return lines;
}

}  // namespace wavejit::test
