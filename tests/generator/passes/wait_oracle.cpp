// SPDX-License-Identifier: MIT
#include "tests/generator/passes/wait_oracle.hpp"

#include "tests/generator/passes/paths.hpp"

namespace wavejit::test {
namespace {

using isa::Opcode;
using isa::Pipe;

std::set<std::uint32_t> numbers(const isa::Operand& o) {
  std::set<std::uint32_t> result;
  if (o.is_reg())
    for (unsigned i = 0; i < o.width; ++i)
      result.insert((static_cast<std::uint32_t>(o.cls) << 16) + o.index + i);
  return result;
}

bool meet(const std::set<std::uint32_t>& a, const std::set<std::uint32_t>& b) {
  for (const std::uint32_t x : a)
    if (b.contains(x)) return true;
  return false;
}

bool in_name(const isa::Instruction& mi, std::string_view part) {
  return mi.info().name.find(part) != std::string_view::npos;
}

}  // namespace

void WaitOracle::wait(Queue& queue, unsigned count, unsigned field_max) {
  if (count >= field_max) return;
  bool ordered = true;
  for (const Operation& op : queue) ordered = ordered && op.ordered;
  if (!ordered && count != 0) return;
  while (queue.size() > count) queue.pop_front();
}

bool WaitOracle::shared_global(const ir::MemoryTag& tag) const {
  return tag.space == ir::MemoryTag::Space::global && tag.object >= 0 &&
         kernel_.args.at(static_cast<std::size_t>(tag.object)).access == ir::Access::read_write;
}

std::optional<std::string> WaitOracle::check_registers(const isa::Instruction& mi) const {
  for (const Queue* queue : {&vm_, &lgkm_, &km_})
    for (const Operation& op : *queue) {
      for (unsigned i = 0; i < mi.src_count; ++i)
        if (meet(numbers(mi.src[i]), op.registers)) return "reads a register in flight";
      const bool lands_in_order = queue == &vm_ && mi.pipe() == Pipe::vmem && in_name(mi, "load") &&
                                  kernel_.target->waits.vmem_writes_in_order;
      for (unsigned i = 0; i < mi.dst_count && !lands_in_order; ++i)
        if (meet(numbers(mi.dst[i]), op.registers)) return "writes a register in flight";
    }
  return std::nullopt;
}

std::optional<std::string> WaitOracle::check_barrier() const {
  for (const Operation& op : lgkm_)
    if (op.lds) return "LDS access in flight at a barrier";
  for (const Queue* queue : {&vm_, &vs_})
    for (const Operation& op : *queue)
      if (op.shared_global) return "shared global access in flight at a barrier";
  return std::nullopt;
}

void WaitOracle::enqueue(const ir::Instruction& inst) {
  Operation op;
  for (unsigned i = 0; i < inst.mi.dst_count; ++i) op.registers.merge(numbers(inst.mi.dst[i]));
  op.ordered = inst.mi.pipe() == Pipe::vmem || inst.mi.pipe() == Pipe::lds;
  op.lds = inst.mi.pipe() == Pipe::lds && (in_name(inst.mi, "load") || in_name(inst.mi, "store"));
  op.shared_global = inst.mi.pipe() == Pipe::vmem && shared_global(inst.mem);
  const bool separate_stores = kernel_.target->waits.vscnt != 0;
  const bool scalar = inst.mi.pipe() == Pipe::smem || inst.mi.pipe() == Pipe::message;
  if (scalar && kernel_.target->waits.kmcnt != 0)
    km_.push_back(std::move(op));
  else if (inst.mi.pipe() == Pipe::smem || inst.mi.pipe() == Pipe::lds || inst.mi.pipe() == Pipe::message)
    lgkm_.push_back(std::move(op));
  else if (inst.mi.pipe() == Pipe::vmem && in_name(inst.mi, "store") && separate_stores)
    vs_.push_back(std::move(op));
  else if (inst.mi.pipe() == Pipe::vmem)
    vm_.push_back(std::move(op));
}

bool WaitOracle::split_wait(const isa::Instruction& mi) {
  const std::string_view name = mi.info().name;
  if (!name.starts_with("s_wait_")) return false;
  const auto value = static_cast<unsigned>(mi.src[0].value);
  const bool two = name.ends_with("cnt_dscnt");
  const unsigned first = two ? value >> 8 : value;
  const target::WaitCounterLimits& most = kernel_.target->waits;
  if (name.starts_with("s_wait_load")) wait(vm_, first, most.vmcnt);
  if (name.starts_with("s_wait_store")) wait(vs_, first, most.vscnt);
  if (name == "s_wait_kmcnt") wait(km_, value, most.kmcnt);
  if (two || name == "s_wait_dscnt") wait(lgkm_, value & 0xFF, most.lgkmcnt);
  return true;
}

std::optional<std::string> WaitOracle::step(const ir::Instruction& inst) {
  const isa::Instruction& mi = inst.mi;
  if (mi.op == Opcode::s_waitcnt) {
    const isa::WaitCounts counts =
        isa::decode_waitcnt(static_cast<std::uint16_t>(mi.src[0].value), *kernel_.target);
    wait(vm_, counts.vmcnt, kernel_.target->waits.vmcnt);
    wait(lgkm_, counts.lgkmcnt, kernel_.target->waits.lgkmcnt);
    return std::nullopt;
  }
  if (mi.op == Opcode::s_waitcnt_vscnt) {
    wait(vs_, static_cast<unsigned>(mi.src[1].value), kernel_.target->waits.vscnt);
    return std::nullopt;
  }
  if (split_wait(mi)) return std::nullopt;
  if (mi.op == Opcode::s_barrier || mi.op == Opcode::s_barrier_signal) return check_barrier();
  if (mi.op == Opcode::s_barrier_wait) return std::nullopt;
  std::optional<std::string> fault = check_registers(mi);
  if (!fault) enqueue(inst);
  return fault;
}

std::optional<std::string> fault_on_some_path(const ir::Kernel& kernel, unsigned edge_limit) {
  return Paths<WaitOracle>(kernel, edge_limit).walk(0, WaitOracle(kernel));
}

}  // namespace wavejit::test
