// SPDX-License-Identifier: MIT
#include "generator/passes/dependences.hpp"

#include <algorithm>
#include <vector>

namespace wavejit::passes {
namespace {

using isa::Pipe;

struct UnitState {
  std::int64_t last_write = -1;
  std::vector<std::uint32_t> reads_since;
};

class GraphBuilder {
 public:
  GraphBuilder(const ir::Kernel& kernel, const ir::Block& block, const ir::RegisterUnits& units)
      : kernel_(kernel), block_(block), units_(units) {
    state_.resize(units.count());
    graph_.successors.resize(block.insts.size());
    graph_.predecessor_count.resize(block.insts.size());
  }

  DependenceGraph run() {
    for (std::uint32_t i = 0; i < block_.insts.size(); ++i) {
      registers(i);
      memory(i);
      fixed_order(i);
    }
    return std::move(graph_);
  }

 private:
  void edge(std::int64_t from, std::uint32_t to, unsigned latency) {
    if (from < 0 || from == to) return;
    auto& out = graph_.successors[static_cast<std::size_t>(from)];
    for (Dependence& d : out) {
      if (d.to != to) continue;
      d.latency = std::max<std::uint16_t>(d.latency, static_cast<std::uint16_t>(latency));
      return;
    }
    out.push_back({to, static_cast<std::uint16_t>(latency)});
    ++graph_.predecessor_count[to];
  }

  void registers(std::uint32_t i) {
    const isa::Instruction& mi = block_.insts[i].mi;
    const ir::RegisterAccesses accesses = ir::register_accesses(mi, *kernel_.target);
    for (const ir::RegisterAccess& read : accesses.reads())
      units_.for_each(read, [&](std::size_t u) {
        UnitState& state = state_[u];
        if (state.last_write >= 0) {
          const auto& writer = block_.insts[static_cast<std::size_t>(state.last_write)].mi;
          edge(state.last_write, i, result_latency(writer, *kernel_.target));
        }
        state.reads_since.push_back(i);
      });
    for (const ir::RegisterAccess& write : accesses.writes())
      units_.for_each(write, [&](std::size_t u) {
        UnitState& state = state_[u];
        edge(state.last_write, i, 1);
        for (const std::uint32_t reader : state.reads_since) edge(reader, i, 0);
        state.reads_since.clear();
        state.last_write = i;
      });
    // A half write that starts a register afresh must still stay behind whatever uses its other half.
    if (mi.dst_count > 0 && mi.dst[0].undef) {
      ir::RegisterAccess whole{mi.dst[0], ir::both_halves};
      units_.for_each(whole, [&](std::size_t u) {
        UnitState& state = state_[u];
        edge(state.last_write, i, 1);
        for (const std::uint32_t reader : state.reads_since) edge(reader, i, 0);
      });
    }
  }

  /// LDS accesses keep order where one stores, except that a ring's stages work on different buffers
  /// between two barriers; global accesses keep order where one stores to the same object.
  void memory(std::uint32_t i) {
    const isa::Instruction& mi = block_.insts[i].mi;
    if (mi.pipe() == Pipe::lds || isa::loads_to_lds(mi)) lds_memory(i);
    if (mi.pipe() == Pipe::vmem) global_memory(i);
  }

  static bool reads_lds(const isa::Instruction& mi) {
    return mi.has(isa::flag::load) && !isa::loads_to_lds(mi);
  }

  void lds_memory(std::uint32_t i) {
    const ir::Instruction& inst = block_.insts[i];
    for (const std::uint32_t other : lds_) {
      const ir::Instruction& before = block_.insts[other];
      if (reads_lds(inst.mi) && reads_lds(before.mi)) continue;
      const bool other_buffer = inst.mem.ring && before.mem.ring && inst.stage != before.stage;
      if (!other_buffer) edge(other, i, 1);
    }
    edge(last_barrier_, i, 1);
    lds_.push_back(i);
  }

  void global_memory(std::uint32_t i) {
    const ir::Instruction& inst = block_.insts[i];
    const bool store = inst.mi.has(isa::flag::store | isa::flag::atomic);
    for (const std::uint32_t other : global_) {
      const ir::Instruction& before = block_.insts[other];
      const bool other_store = before.mi.has(isa::flag::store | isa::flag::atomic);
      const bool same = before.mem.space == inst.mem.space && before.mem.object == inst.mem.object;
      if ((store || other_store) && same) edge(other, i, 1);
    }
    if (store) edge(last_barrier_, i, 1);
    global_.push_back(i);
  }

  /// Clocks from an LDS access to the barrier behind it.
  [[nodiscard]] unsigned result_of(const isa::Instruction& access) const {
    if (isa::loads_to_lds(access)) return result_latency(access, *kernel_.target);
    return access.has(isa::flag::load) ? 1 : kernel_.target->timing.lds_latency;
  }

  void fixed_order(std::uint32_t i) {
    const isa::Instruction& mi = block_.insts[i].mi;
    if (mi.pipe() == Pipe::barrier) {
      for (const std::uint32_t access : lds_) edge(access, i, result_of(block_.insts[access].mi));
      for (const std::uint32_t access : global_)
        if (block_.insts[access].mi.has(isa::flag::store)) edge(access, i, 1);
      lds_.clear();
      last_barrier_ = i;
    }
    if (mi.has(isa::flag::side_effect)) {
      edge(last_side_effect_, i, 1);
      last_side_effect_ = i;
    }
    if (mi.has(isa::flag::terminator))
      for (std::uint32_t before = 0; before < i; ++before) edge(before, i, 0);
  }

  const ir::Kernel& kernel_;
  const ir::Block& block_;
  const ir::RegisterUnits& units_;
  DependenceGraph graph_;
  std::vector<UnitState> state_;  // by unit
  std::vector<std::uint32_t> lds_, global_;
  std::int64_t last_barrier_ = -1, last_side_effect_ = -1;
};

}  // namespace

std::vector<std::uint32_t> DependenceGraph::falling() const {
  std::vector<std::uint32_t> order, open = predecessor_count;
  order.reserve(open.size());
  for (std::uint32_t i = 0; i < open.size(); ++i)
    if (open[i] == 0) order.push_back(i);
  for (std::size_t at = 0; at < order.size(); ++at)
    for (const Dependence& d : successors[order[at]])
      if (--open[d.to] == 0) order.push_back(d.to);
  std::ranges::reverse(order);
  return order;
}

unsigned result_latency(const isa::Instruction& inst, const target::Target& target) {
  const target::Timing& t = target.timing;
  switch (inst.pipe()) {
    case Pipe::salu:
      return t.salu_dependent;
    case Pipe::smem:
      return 200;  // scalar cache miss to L2; the exact value only orders the prologue
    case Pipe::valu:
    case Pipe::dot:
      return t.valu_dependent;
    case Pipe::trans:
      return t.trans_issue + t.valu_dependent;
    case Pipe::matrix:
      return target.wmma16.cycles;
    case Pipe::lds:
      return t.lds_latency;
    case Pipe::vmem:
      return t.vmem_l2_latency;
    default:
      return 1;
  }
}

DependenceGraph build_dependences(const ir::Kernel& kernel, const ir::Block& block,
                                  const ir::RegisterUnits& units) {
  return GraphBuilder(kernel, block, units).run();
}

}  // namespace wavejit::passes
