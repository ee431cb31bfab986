// SPDX-License-Identifier: MIT
#include "generator/passes/pending.hpp"

#include <algorithm>

namespace wavejit::passes {
namespace {

using isa::Opcode;
using isa::Pipe;
namespace flag = isa::flag;

std::uint8_t counter_max(const target::Target& target, Counter c) {
  switch (c) {
    case Counter::vm:
      return target.waits.vmcnt;
    case Counter::vs:
      return target.waits.vscnt;
    case Counter::km:
      return target.waits.kmcnt;
    case Counter::lgkm:
      break;
  }
  return target.waits.lgkmcnt;
}

bool touches_lds_memory(const isa::Instruction& inst) {
  return inst.pipe() == Pipe::lds && inst.has(flag::load | flag::store | flag::atomic);
}

/// A vector memory operation that returns data to registers, in order with its like.
bool is_vector_load(const isa::Instruction& inst) {
  return inst.pipe() == Pipe::vmem && inst.has(flag::load | flag::atomic) && inst.dst_count > 0;
}

/// The counter of scalar loads and messages.
Counter scalar_counter(const target::Target& target) {
  return target.has_split_counters() ? Counter::km : Counter::lgkm;
}

}  // namespace

bool Need::covers(const Need& other) const {
  for (unsigned c = 0; c < counter_count; ++c)
    if (count[c] > other.count[c]) return false;
  return true;
}

void Need::tighten(const Need& other) {
  for (unsigned c = 0; c < counter_count; ++c) count[c] = std::min(count[c], other.count[c]);
}

Need wait_of(const isa::Instruction& inst, const target::Target& target) {
  Need need;
  const auto count = [&inst](unsigned source) { return static_cast<std::uint8_t>(inst.src[source].value); };
  // The two-counter forms: load or store in [13:8], LDS in [5:0] (hardware.md §4.1).
  const auto high = [&inst] { return static_cast<std::uint8_t>(inst.src[0].value >> 8 & 63); };
  const auto low = [&inst] { return static_cast<std::uint8_t>(inst.src[0].value & 63); };
  switch (inst.op) {
    case Opcode::s_waitcnt: {
      const isa::WaitCounts counts =
          isa::decode_waitcnt(static_cast<std::uint16_t>(inst.src[0].value), target);
      need[Counter::vm] = counts.vmcnt;
      need[Counter::lgkm] = counts.lgkmcnt;
      break;
    }
    case Opcode::s_waitcnt_vscnt:
      need[Counter::vs] = count(1);
      break;
    case Opcode::s_wait_loadcnt:
      need[Counter::vm] = count(0);
      break;
    case Opcode::s_wait_storecnt:
      need[Counter::vs] = count(0);
      break;
    case Opcode::s_wait_dscnt:
      need[Counter::lgkm] = count(0);
      break;
    case Opcode::s_wait_kmcnt:
      need[Counter::km] = count(0);
      break;
    case Opcode::s_wait_loadcnt_dscnt:
      need[Counter::vm] = high();
      need[Counter::lgkm] = low();
      break;
    case Opcode::s_wait_storecnt_dscnt:
      need[Counter::vs] = high();
      need[Counter::lgkm] = low();
      break;
    default:
      break;
  }
  return need;
}

Pending::Pending(const ir::Kernel* kernel, WaitOptions options) : kernel_(kernel), options_(options) {
  for (Ages& ages : ages_) ages.fill(absent);
}

Counter Pending::vector_counter(const isa::Instruction& inst) const {
  const bool returns = is_vector_load(inst) || isa::loads_to_lds(inst);
  return returns || kernel_->target->waits.vscnt == 0 ? Counter::vm : Counter::vs;
}

bool Pending::is_shared_global(const ir::MemoryTag& tag) const {
  if (options_.publish_global) return true;
  return tag.space == ir::MemoryTag::Space::global && tag.object >= 0 &&
         static_cast<std::size_t>(tag.object) < kernel_->args.size() &&
         kernel_->args[static_cast<std::size_t>(tag.object)].access == ir::Access::read_write;
}

void Pending::require(Need& need, Counter c, unsigned slot) const {
  if (age(c, slot) == absent) return;
  // Behind an unordered operation no count but 0 names a particular one.
  const std::uint8_t count = age(c, unordered) != absent ? std::uint8_t{0} : age(c, slot);
  need[c] = std::min(need[c], count);
}

Need Pending::required(const ir::Instruction& inst) const {
  const isa::Instruction& mi = inst.mi;
  Need need;
  if (std::ranges::none_of(all_counters, [this](Counter c) { return outstanding(c); })) return need;
  const ir::RegisterAccesses touched = ir::register_accesses(mi, *kernel_->target);
  for (const ir::RegisterAccess& a : touched.reads())
    for_each_unit(a.reg, [&](unsigned u) {
      require(need, Counter::vm, u);
      require(need, Counter::lgkm, u);
      require(need, Counter::km, u);
    });
  // Two vector loads to one register land in order; any other second writer must wait. (LDS loads
  // return in order too, but LLVM waits between them: rule kept, never weaker than LLVM.)
  const bool lands_in_order = is_vector_load(mi) && kernel_->target->waits.vmem_writes_in_order;
  for (const ir::RegisterAccess& a : touched.writes())
    for_each_unit(a.reg, [&](unsigned u) {
      if (!lands_in_order) require(need, Counter::vm, u);
      require(need, Counter::lgkm, u);
      require(need, Counter::km, u);
    });
  if (touches_lds_memory(mi)) {
    require(need, Counter::vm, lds_dma);
    // The other stages of a ring are at other buffers.
    for (unsigned stage = 0; stage < stages; ++stage)
      if (!inst.mem.ring || stage == std::min<unsigned>(inst.stage, stages - 1))
        require(need, Counter::vm, ring_dma + stage);
  }
  // Of a barrier in two halves the signal says that this wave's accesses are done.
  if (mi.pipe() == Pipe::barrier && mi.op != Opcode::s_barrier_wait) {
    require(need, Counter::lgkm, lds_access);
    require(need, Counter::vm, lds_dma);
    for (unsigned stage = 0; stage < stages; ++stage) require(need, Counter::vm, ring_dma + stage);
    require(need, Counter::vm, shared_global);
    require(need, Counter::vs, shared_global);
  }
  return need;
}

void Pending::advance(Counter c) {
  // An age is never let grow to the counter's maximum: there a wait would be no wait at all.
  const std::uint8_t limit = static_cast<std::uint8_t>(counter_max(*kernel_->target, c) - 1);
  for (std::uint8_t& a : ages_[static_cast<unsigned>(c)])
    if (a < limit) ++a;
  mark(c, any_operation);
}

void Pending::issue(const ir::Instruction& inst) {
  const isa::Instruction& mi = inst.mi;
  switch (mi.pipe()) {
    case Pipe::wait:
      retire(wait_of(mi, *kernel_->target));
      return;
    case Pipe::smem:
    case Pipe::message:
    case Pipe::lds: {
      const Counter c = mi.pipe() == Pipe::lds ? Counter::lgkm : scalar_counter(*kernel_->target);
      advance(c);
      if (mi.pipe() != Pipe::lds) mark(c, unordered);
      if (touches_lds_memory(mi)) mark(c, lds_access);
      isa::for_each_def(mi,
                        [&](const isa::Operand& o) { for_each_unit(o, [&](unsigned u) { mark(c, u); }); });
      return;
    }
    case Pipe::vmem: {
      const Counter c = vector_counter(mi);
      advance(c);
      if (isa::loads_to_lds(mi))
        mark(c, inst.mem.ring ? ring_dma + std::min<unsigned>(inst.stage, stages - 1) : unsigned{lds_dma});
      if (is_shared_global(inst.mem)) mark(c, shared_global);
      isa::for_each_def(mi,
                        [&](const isa::Operand& o) { for_each_unit(o, [&](unsigned u) { mark(c, u); }); });
      return;
    }
    default:
      return;
  }
}

void Pending::retire(Counter c, std::uint8_t count) {
  if (age(c, unordered) != absent && count != 0) return;
  for (std::uint8_t& a : ages_[static_cast<unsigned>(c)])
    if (a >= count) a = absent;
}

void Pending::retire(const Need& wait) {
  for (const Counter c : all_counters)
    if (wait[c] != Need::none) retire(c, wait[c]);
}

bool Pending::merge(const Pending& other) {
  const auto before = ages_;
  for (unsigned c = 0; c < counter_count; ++c)
    for (unsigned i = 0; i < slot_count; ++i) ages_[c][i] = std::min(ages_[c][i], other.ages_[c][i]);
  return ages_ != before;
}

}  // namespace wavejit::passes
