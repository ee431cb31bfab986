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
#include <optional>

#include "generator/passes/dependences.hpp"
#include "generator/passes/passes.hpp"
#include "generator/passes/refill_order.hpp"

namespace wavejit::passes {
namespace {

using isa::Pipe;

class BlockScheduler {
 public:
  BlockScheduler(const ir::Kernel& kernel, const ir::Block& block, const ir::RegisterUnits& units,
                 const BitSet& live_in, const BitSet& live_out, const ScheduleOptions& options)
      : kernel_(kernel),
        block_(block),
        units_(units),
        graph_(build_dependences(kernel, block, units)),
        live_(live_in),
        live_out_(live_out),
        limit_(static_cast<int>(kernel.vgpr_budget) - options.margin) {
    const target::Timing& time = kernel.target->timing;
    if (time.valu_queue == 0) gap_ = time.valu_issue;
    if (!options.ordered_refills) return;
    if (block.is_loop_body) {
      order_refills(graph_, kernel, block, units);
    } else if (&block != &kernel.blocks.back() && (&block + 1)->is_loop_body) {
      keep_load_order(graph_, block);
    }
  }

  std::vector<ir::Instruction> run();

 private:
  void path_lengths();
  void count_uses();
  [[nodiscard]] bool is_vector(std::size_t unit) const { return vector_unit_[unit]; }
  /// Change of the number of live vector half registers if `i` were issued now.
  [[nodiscard]] int pressure_change(std::uint32_t i);
  [[nodiscard]] int count_pressure_change(std::uint32_t i) const;
  void find_touching();
  /// What pressure_change said of whoever touches `unit` may be true no longer.
  void forget_changes(std::size_t unit);
  void issue(std::uint32_t i);
  [[nodiscard]] bool runs_beside_valu(std::uint32_t i) const {
    return block_.insts[i].mi.pipe() == Pipe::matrix && !kernel_.target->timing.matrix_holds_valu;
  }
  [[nodiscard]] std::int64_t available(std::uint32_t i) const {
    return runs_beside_valu(i) ? std::max(ready_at_[i], matrix_free_) : ready_at_[i];
  }
  [[nodiscard]] std::size_t pick(const std::vector<std::uint32_t>& ready);

  const ir::Kernel& kernel_;
  const ir::Block& block_;
  const ir::RegisterUnits& units_;
  DependenceGraph graph_;
  BitSet live_;
  const BitSet& live_out_;
  int limit_;
  std::vector<bool> vector_unit_;
  std::vector<std::uint32_t> uses_left_;
  std::vector<std::int64_t> path_, ready_at_;
  std::vector<ir::RegisterAccesses> accesses_;
  // Instructions that touch vector unit u: touching_[touching_begin_[u]] up to that of u + 1.
  std::vector<std::uint32_t> touching_begin_, touching_;
  std::vector<std::optional<int>> changes_;  ///< pressure_change, where it is known
  std::int64_t clock_ = 0, gap_ = 1;
  std::int64_t matrix_free_ = 0;  ///< where matrix instructions run beside the VALU: when the next one can
  int pressure_ = 0;              // halves
};

void BlockScheduler::path_lengths() {
  path_.assign(block_.insts.size(), 0);
  for (const std::uint32_t i : graph_.falling()) {
    const isa::Instruction& mi = block_.insts[i].mi;
    if (graph_.successors[i].empty() || (mi.pipe() == Pipe::vmem && mi.has(isa::flag::load)))
      path_[i] =
          mi.pipe() == Pipe::vmem && mi.has(isa::flag::load) ? kernel_.target->timing.vmem_l2_latency : 1;
    for (const Dependence& d : graph_.successors[i]) path_[i] = std::max(path_[i], path_[d.to] + d.latency);
  }
}

void BlockScheduler::count_uses() {
  uses_left_.assign(units_.count(), 0);
  vector_unit_.assign(units_.count(), false);
  accesses_.reserve(block_.insts.size());
  for (const ir::Instruction& inst : block_.insts) {
    accesses_.push_back(ir::register_accesses(inst.mi, *kernel_.target));
    for (const ir::RegisterAccess& read : accesses_.back().reads())
      units_.for_each(read, [&](std::size_t u) { ++uses_left_[u]; });
  }
  for (std::uint32_t id = 0; id < kernel_.vregs.size(); ++id) {
    if (kernel_.vregs[id].cls != isa::RegClass::vgpr) continue;
    const std::size_t first = units_.first_of_vreg(id);
    for (std::size_t u = first; u < first + 2UL * kernel_.vregs[id].width; ++u) vector_unit_[u] = true;
  }
  live_.for_each([&](std::size_t u) { pressure_ += is_vector(u) ? 1 : 0; });
}

void BlockScheduler::find_touching() {
  const auto visit = [&](auto&& f) {
    for (std::uint32_t i = 0; i < accesses_.size(); ++i)
      for (const auto& list : {accesses_[i].reads(), accesses_[i].writes()})
        for (const ir::RegisterAccess& access : list)
          units_.for_each(access, [&](std::size_t u) {
            if (is_vector(u)) f(u, i);
          });
  };
  touching_begin_.assign(units_.count() + 1, 0);
  visit([&](std::size_t u, std::uint32_t) { ++touching_begin_[u + 1]; });
  for (std::size_t u = 0; u < units_.count(); ++u) touching_begin_[u + 1] += touching_begin_[u];
  touching_.resize(touching_begin_.back());
  std::vector<std::uint32_t> next = touching_begin_;
  visit([&](std::size_t u, std::uint32_t i) { touching_[next[u]++] = i; });
  changes_.resize(accesses_.size());
}

void BlockScheduler::forget_changes(std::size_t unit) {
  for (std::uint32_t at = touching_begin_[unit]; at < touching_begin_[unit + 1]; ++at)
    changes_[touching_[at]].reset();
}

int BlockScheduler::pressure_change(std::uint32_t i) {
  if (!changes_[i]) changes_[i] = count_pressure_change(i);
  return *changes_[i];
}

int BlockScheduler::count_pressure_change(std::uint32_t i) const {
  int change = 0;
  for (const ir::RegisterAccess& write : accesses_[i].writes())
    units_.for_each(write, [&](std::size_t u) { change += is_vector(u) && !live_.test(u) ? 1 : 0; });
  for (const ir::RegisterAccess& read : accesses_[i].reads())
    units_.for_each(read, [&](std::size_t u) {
      if (!is_vector(u) || uses_left_[u] != 1 || live_out_.test(u) || !live_.test(u)) return;
      for (const ir::RegisterAccess& write : accesses_[i].writes()) {
        bool rewritten = false;
        units_.for_each(write, [&](std::size_t w) { rewritten = rewritten || w == u; });
        if (rewritten) return;
      }
      --change;
    });
  return change;
}

void BlockScheduler::issue(std::uint32_t i) {
  for (const ir::RegisterAccess& read : accesses_[i].reads())
    units_.for_each(read, [&](std::size_t u) {
      if (--uses_left_[u] <= 1) forget_changes(u);
      if (uses_left_[u] == 0 && !live_out_.test(u) && live_.test(u)) {
        live_.reset(u);
        pressure_ -= is_vector(u) ? 1 : 0;
      }
    });
  for (const ir::RegisterAccess& write : accesses_[i].writes())
    units_.for_each(write, [&](std::size_t u) {
      if (live_.test(u)) return;
      live_.set(u);
      forget_changes(u);
      pressure_ += is_vector(u) ? 1 : 0;
    });
  clock_ = std::max(clock_ + gap_, available(i));
  if (runs_beside_valu(i)) matrix_free_ = clock_ + kernel_.target->wmma16.cycles;
  for (const Dependence& d : graph_.successors[i]) {
    ready_at_[d.to] = std::max(ready_at_[d.to], clock_ + d.latency);
    --graph_.predecessor_count[d.to];
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
      better = path_[i] > best_path || (path_[i] == best_path && i < ready[best]);
    }
    if (better) {
      best = r;
      best_fits = fits;
      best_path = path_[i];
      best_wait = wait;
      best_change = change;
    }
  }
  return best;
}

std::vector<ir::Instruction> BlockScheduler::run() {
  count_uses();
  find_touching();
  path_lengths();
  const std::size_t n = block_.insts.size();
  ready_at_.assign(n, 0);
  std::vector<std::uint32_t> ready;
  for (std::uint32_t i = 0; i < n; ++i)
    if (graph_.predecessor_count[i] == 0) ready.push_back(i);
  std::vector<ir::Instruction> out;
  out.reserve(n);
  while (!ready.empty()) {
    const std::size_t r = pick(ready);
    const std::uint32_t i = ready[r];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(r));
    issue(i);
    for (const Dependence& d : graph_.successors[i])
      if (graph_.predecessor_count[d.to] == 0) ready.push_back(d.to);
    out.push_back(block_.insts[i]);
  }
  assert(out.size() == n);
  return out;
}

}  // namespace

Result<void> schedule(ir::Kernel& kernel, const ScheduleOptions& options) {
  const ir::Cfg cfg = ir::build_cfg(kernel);
  const ir::RegisterUnits units(kernel);
  const ir::ExecMask exec(kernel, cfg);
  const ir::Liveness live = ir::compute_liveness(kernel, cfg, exec, units);
  for (std::size_t b = 0; b < kernel.blocks.size(); ++b) {
    if (kernel.blocks[b].insts.size() < 3) continue;
    kernel.blocks[b].insts =
        BlockScheduler(kernel, kernel.blocks[b], units, live.live_in[b], live.live_out[b], options).run();
  }
  return {};
}

}  // namespace wavejit::passes
