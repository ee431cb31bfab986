// SPDX-License-Identifier: MIT
// List scheduling inside each block, before registers are assigned.
//
// The instruction issued next is the ready one with the longest path of latencies behind it. A load
// that nothing in the block waits for (the next iteration's) counts as if a memory latency lay
// behind it: it goes out as soon as its registers are free, and so do the instructions that free
// them. So in a pipelined GEMM loop the staged weights are dequantised and stored while the
// fragments are on their way from LDS, the next global loads leave, and the matrix instructions run
// in the shadow of all of these. Where matrix instructions run beside the VALU, one follows another after the
// clocks of the smallest of them, and other instructions go between: larger ones take twice as long, but
// the waves of a SIMD share its pipe.
//
// Register pressure: while the live VGPRs stay under the budget less a margin (for bank and tuple
// fragmentation) the order is by path; above it, by what frees most registers.
#include <algorithm>
#include <cassert>
#include <limits>
#include <ranges>

#include "generator/passes/passes.hpp"
#include "generator/passes/refill_order.hpp"
#include "generator/passes/scheduler.hpp"

namespace wavejit::passes {
namespace {

using isa::Pipe;
using BlockPlan = Scheduler::BlockPlan;

constexpr std::int32_t not_known = std::numeric_limits<std::int32_t>::min();

bool is_load(const isa::Instruction& mi) { return mi.pipe() == Pipe::vmem && mi.has(isa::flag::load); }

std::vector<std::int64_t> path_lengths(const ir::Kernel& kernel, const ir::Block& block,
                                       const DependenceGraph& graph) {
  std::vector<std::int64_t> path(block.insts.size(), 0);
  for (const std::uint32_t i : graph.falling()) {
    const isa::Instruction& mi = block.insts[i].mi;
    if (graph.successors[i].empty() || is_load(mi))
      path[i] = is_load(mi) ? kernel.target->timing.vmem_l2_latency : 1;
    for (const Dependence& d : graph.successors[i]) path[i] = std::max(path[i], path[d.to] + d.latency);
  }
  return path;
}

/// Numbers the halves of VGPRs that a block touches from 0, in order of their first access.
class LocalUnits {
 public:
  LocalUnits(const ir::Kernel& kernel, const ir::RegisterUnits& units)
      : vector_(units.count(), false), local_(units.count(), none) {
    for (std::uint32_t id = 0; id < kernel.vregs.size(); ++id) {
      if (kernel.vregs[id].cls != isa::RegClass::vgpr) continue;
      const std::size_t first = units.first_of_vreg(id);
      for (std::size_t u = first; u < first + 2UL * kernel.vregs[id].width; ++u) vector_[u] = true;
    }
  }

  void fill(BlockPlan& plan, const ir::Block& block, const ir::UnitAccesses& accesses,
            const ir::Liveness& live, std::size_t b);

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t local(BlockPlan& plan, std::size_t unit, const ir::Liveness& live, std::size_t b) {
    if (local_[unit] != none) return local_[unit];
    local_[unit] = static_cast<std::uint32_t>(plan.units.size());
    touched_.push_back(unit);
    // Halves of one register have neighbouring numbers, the even one first.
    const std::uint32_t other = local_[unit ^ 1];
    const std::uint32_t reg = other != none ? plan.units[other].reg : plan.registers++;
    plan.units.push_back({live.live_in[b].test(unit), live.live_out[b].test(unit), reg, 0, 0, 0});
    return local_[unit];
  }

  std::vector<bool> vector_;
  std::vector<std::uint32_t> local_;
  std::vector<std::size_t> touched_;
};

void LocalUnits::fill(BlockPlan& plan, const ir::Block& block, const ir::UnitAccesses& accesses,
                      const ir::Liveness& live, std::size_t b) {
  const auto add = [&](std::size_t u) {
    if (vector_[u]) plan.accesses.push_back({local(plan, u, live, b), false});
  };
  for (std::size_t i = 0; i < block.insts.size(); ++i) {
    plan.reads_begin.push_back(static_cast<std::uint32_t>(plan.accesses.size()));
    for (const std::uint32_t unit : accesses.reads(b, i)) add(unit);
    plan.writes_begin.push_back(static_cast<std::uint32_t>(plan.accesses.size()));
    for (const ir::UnitAccesses::Write& write : accesses.writes(b, i)) add(write.unit);
    const std::span all = std::span(plan.accesses).subspan(plan.reads_begin.back());
    const std::size_t reads = plan.writes_begin.back() - plan.reads_begin.back();
    for (BlockPlan::Access& read : all.first(reads)) {
      ++plan.units[read.unit].uses;
      read.rewritten =
          std::ranges::find(all.subspan(reads), read.unit, &BlockPlan::Access::unit) != all.end();
    }
  }
  plan.reads_begin.push_back(static_cast<std::uint32_t>(plan.accesses.size()));
  std::size_t counted = vector_.size();
  live.live_in[b].for_each([&](std::size_t u) {
    if (!vector_[u]) return;
    ++plan.pressure;
    if (local_[u] != none || local_[u ^ 1] != none || u / 2 == counted) return;
    counted = u / 2;
    ++plan.passing;
  });
  for (const std::size_t unit : touched_) local_[unit] = none;
  touched_.clear();
}

/// Who touches which unit.
void list_touching(BlockPlan& plan) {
  for (const BlockPlan::Access& a : plan.accesses) ++plan.units[a.unit].touching_end;
  std::uint32_t at = 0;
  for (BlockPlan::Unit& u : plan.units) {
    const std::uint32_t count = u.touching_end;
    u.touching_begin = u.touching_end = at;
    at += count;
  }
  plan.touching.resize(at);
  for (std::uint32_t i = 0; i < plan.writes_begin.size(); ++i)
    for (std::uint32_t a = plan.reads_begin[i]; a < plan.reads_begin[i + 1]; ++a)
      plan.touching[plan.units[plan.accesses[a].unit].touching_end++] = i;
}

/// One schedule of one block.
class BlockScheduler {
 public:
  BlockScheduler(const ir::Kernel& kernel, const ir::Block& block, const BlockPlan& plan, int limit)
      : kernel_(kernel),
        block_(block),
        plan_(plan),
        waiting_for_(plan.graph.predecessor_count),
        ready_at_(block.insts.size(), 0),
        changes_(block.insts.size(), not_known),
        limit_(limit),
        pressure_(plan.pressure) {
    for (const BlockPlan::Unit& u : plan.units) units_.push_back({u.live_in, u.uses});
    if (kernel.target->timing.valu_queue == 0) gap_ = kernel.target->timing.valu_issue;
  }

  std::vector<std::uint32_t> run();

 private:
  struct Unit {
    bool live;
    std::uint32_t uses_left;
  };
  using Accesses = std::span<const BlockPlan::Access>;

  /// Change of the number of live vector half registers if `i` were issued now.
  [[nodiscard]] int pressure_change(std::uint32_t i);
  [[nodiscard]] int count_pressure_change(std::uint32_t i) const;
  /// What pressure_change said of whoever touches `unit` may be true no longer.
  void forget_changes(std::uint32_t unit);
  void issue(std::uint32_t i);
  [[nodiscard]] Accesses reads(std::uint32_t i) const {
    return {plan_.accesses.data() + plan_.reads_begin[i], plan_.writes_begin[i] - plan_.reads_begin[i]};
  }
  [[nodiscard]] Accesses writes(std::uint32_t i) const {
    return {plan_.accesses.data() + plan_.writes_begin[i], plan_.reads_begin[i + 1] - plan_.writes_begin[i]};
  }
  [[nodiscard]] bool runs_beside_valu(std::uint32_t i) const {
    return block_.insts[i].mi.pipe() == Pipe::matrix && !kernel_.target->timing.matrix_holds_valu;
  }
  [[nodiscard]] std::int64_t available(std::uint32_t i) const {
    return runs_beside_valu(i) ? std::max(ready_at_[i], matrix_free_) : ready_at_[i];
  }
  [[nodiscard]] std::size_t pick(const std::vector<std::uint32_t>& ready);

  const ir::Kernel& kernel_;
  const ir::Block& block_;
  const BlockPlan& plan_;
  std::vector<Unit> units_;
  std::vector<std::uint32_t> waiting_for_;
  std::vector<std::int64_t> ready_at_;
  std::vector<std::int32_t> changes_;  ///< pressure_change, where it is known
  int limit_;
  int pressure_;  ///< halves
  std::int64_t clock_ = 0, gap_ = 1;
  std::int64_t matrix_free_ = 0;  ///< where matrix instructions run beside the VALU: when the next one can
};

void BlockScheduler::forget_changes(std::uint32_t unit) {
  const BlockPlan::Unit& u = plan_.units[unit];
  for (std::uint32_t at = u.touching_begin; at < u.touching_end; ++at)
    changes_[plan_.touching[at]] = not_known;
}

int BlockScheduler::pressure_change(std::uint32_t i) {
  if (changes_[i] == not_known) changes_[i] = count_pressure_change(i);
  return changes_[i];
}

int BlockScheduler::count_pressure_change(std::uint32_t i) const {
  int change = 0;
  for (const BlockPlan::Access& write : writes(i)) change += units_[write.unit].live ? 0 : 1;
  for (const BlockPlan::Access& read : reads(i)) {
    const Unit& u = units_[read.unit];
    if (!read.rewritten && u.live && u.uses_left == 1 && !plan_.units[read.unit].live_out) --change;
  }
  return change;
}

void BlockScheduler::issue(std::uint32_t i) {
  for (const BlockPlan::Access& read : reads(i)) {
    Unit& u = units_[read.unit];
    if (--u.uses_left <= 1) forget_changes(read.unit);
    if (u.uses_left > 0 || !u.live || plan_.units[read.unit].live_out) continue;
    u.live = false;
    --pressure_;
  }
  for (const BlockPlan::Access& write : writes(i)) {
    Unit& u = units_[write.unit];
    if (u.live) continue;
    u.live = true;
    forget_changes(write.unit);
    ++pressure_;
  }
  clock_ = std::max(clock_ + gap_, available(i));
  if (runs_beside_valu(i)) matrix_free_ = clock_ + kernel_.target->wmma16.cycles;
  for (const Dependence& d : plan_.graph.successors[i]) {
    ready_at_[d.to] = std::max(ready_at_[d.to], clock_ + d.latency);
    --waiting_for_[d.to];
  }
}

std::size_t BlockScheduler::pick(const std::vector<std::uint32_t>& ready) {
  std::size_t best = 0;
  bool best_fits = false;
  std::int64_t best_path = -1, best_wait = 0;
  int best_change = 0;
  for (std::size_t r = 0; r < ready.size(); ++r) {
    const std::uint32_t i = ready[r];
    const int change = pressure_change(i);
    const bool fits = change <= 0 || (pressure_ + change + 1) / 2 <= limit_;
    const std::int64_t wait = std::max<std::int64_t>(available(i) - clock_ - gap_, 0);
    bool better = false;
    if (best_path < 0 || fits != best_fits) {
      better = best_path < 0 || fits;
    } else if (!fits && change != best_change) {
      better = change < best_change;
    } else if ((wait == 0) != (best_wait == 0)) {
      better = wait == 0;
    } else if (wait != best_wait && wait != 0) {
      better = wait < best_wait;
    } else {
      better = plan_.path[i] > best_path || (plan_.path[i] == best_path && i < ready[best]);
    }
    if (better) {
      best = r;
      best_fits = fits;
      best_path = plan_.path[i];
      best_wait = wait;
      best_change = change;
    }
  }
  return best;
}

std::vector<std::uint32_t> BlockScheduler::run() {
  const std::size_t n = block_.insts.size();
  std::vector<std::uint32_t> ready;
  for (std::uint32_t i = 0; i < n; ++i)
    if (waiting_for_[i] == 0) ready.push_back(i);
  std::vector<std::uint32_t> out;
  out.reserve(n);
  while (!ready.empty()) {
    const std::size_t r = pick(ready);
    const std::uint32_t i = ready[r];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(r));
    issue(i);
    for (const Dependence& d : plan_.graph.successors[i])
      if (waiting_for_[d.to] == 0) ready.push_back(d.to);
    out.push_back(i);
  }
  assert(out.size() == n);
  return out;
}

/// VGPRs that are alive at one point of the block in that order, as LiveRanges counts them or fewer: what
/// masked lanes, matrix instructions and physical registers add is left out.
std::uint32_t live_registers(const BlockPlan& plan, const std::vector<std::uint32_t>& order) {
  std::vector<bool> live(plan.units.size(), false);
  std::vector<std::uint8_t> halves(plan.registers, 0);
  std::uint32_t count = 0, most = 0;
  const auto set = [&](std::uint32_t unit, bool now) {
    if (live[unit] == now) return;
    live[unit] = now;
    std::uint8_t& h = halves[plan.units[unit].reg];
    if (now && h++ == 0) ++count;
    if (!now && --h == 0) --count;
  };
  for (std::uint32_t u = 0; u < plan.units.size(); ++u) set(u, plan.units[u].live_out);
  for (const std::uint32_t i : std::views::reverse(order)) {
    for (std::uint32_t a = plan.writes_begin[i]; a < plan.reads_begin[i + 1]; ++a)
      set(plan.accesses[a].unit, true);
    most = std::max(most, count);
    for (std::uint32_t a = plan.writes_begin[i]; a < plan.reads_begin[i + 1]; ++a)
      set(plan.accesses[a].unit, false);
    for (std::uint32_t a = plan.reads_begin[i]; a < plan.writes_begin[i]; ++a)
      set(plan.accesses[a].unit, true);
    most = std::max(most, count);
  }
  return plan.passing + most;
}

}  // namespace

Scheduler::Scheduler(const ir::Kernel& kernel, bool ordered_refills)
    : kernel_(kernel), blocks_(kernel.blocks.size()) {
  const ir::Cfg cfg = ir::build_cfg(kernel);
  const ir::RegisterUnits units(kernel);
  const ir::UnitAccesses accesses(kernel, ir::ExecMask(kernel, cfg), units);
  const ir::Liveness live = ir::compute_liveness(kernel, cfg, units, accesses);
  LocalUnits local(kernel, units);
  for (std::size_t b = 0; b < kernel.blocks.size(); ++b) {
    const ir::Block& block = kernel.blocks[b];
    if (block.insts.size() < 3) continue;
    BlockPlan& plan = blocks_[b];
    plan.graph = build_dependences(kernel, block, units);
    if (ordered_refills) {
      if (block.is_loop_body)
        order_refills(plan.graph, kernel, block, units);
      else if (b + 1 < kernel.blocks.size() && kernel.blocks[b + 1].is_loop_body)
        keep_load_order(plan.graph, block);
    }
    plan.path = path_lengths(kernel, block, plan.graph);
    local.fill(plan, block, accesses, live, b);
    list_touching(plan);
  }
}

Scheduler::Order Scheduler::order(int limit) const {
  Order result{std::vector<std::vector<std::uint32_t>>(blocks_.size()), 0};
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const ir::Block& block = kernel_.blocks[b];
    if (block.insts.size() < 3) continue;
    result.blocks[b] = BlockScheduler(kernel_, block, blocks_[b], limit).run();
    // Both of a VOPD pair read before either writes, which is not how the count goes.
    const auto paired = [](const ir::Instruction& inst) { return inst.mi.dual != isa::Dual::none; };
    if (std::ranges::none_of(block.insts, paired))
      result.live = std::max(result.live, live_registers(blocks_[b], result.blocks[b]));
  }
  return result;
}

void reorder(ir::Kernel& kernel, const Scheduler::Order& order) {
  assert(kernel.blocks.size() == order.blocks.size());
  for (std::size_t b = 0; b < order.blocks.size(); ++b) {
    if (order.blocks[b].empty()) continue;
    std::vector<ir::Instruction>& insts = kernel.blocks[b].insts;
    std::vector<ir::Instruction> ordered;
    ordered.reserve(insts.size());
    for (const std::uint32_t i : order.blocks[b]) ordered.push_back(std::move(insts[i]));
    insts = std::move(ordered);
  }
}

Result<void> schedule(ir::Kernel& kernel, const ScheduleOptions& options) {
  reorder(kernel, Scheduler(kernel, options.ordered_refills)
                      .order(static_cast<int>(kernel.vgpr_budget) - options.margin));
  return {};
}

}  // namespace wavejit::passes
