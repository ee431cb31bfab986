// SPDX-License-Identifier: MIT
#include "generator/passes/bank_plan.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <tuple>

#include "generator/ir/cfg.hpp"
#include "generator/ir/register_access.hpp"

namespace wavejit::passes {
namespace {

using isa::Operand;

struct Node {
  std::vector<BankEdge> edges;
  unsigned allowed = 0;  ///< bit b: the tuple may start in bank b
  bool used = false;     ///< takes part in a matrix instruction
};

class Graph {
 public:
  Graph(const ir::Kernel& kernel, unsigned banks)
      : kernel_(kernel), banks_(banks), nodes_(kernel.vregs.size()) {
    for (std::size_t id = 0; id < nodes_.size(); ++id) nodes_[id].allowed = placeable(kernel.vregs[id]);
    for (const ir::Block& block : kernel.blocks)
      for (const ir::Instruction& inst : block.insts)
        if (inst.mi.pipe() == isa::Pipe::matrix) add(inst.mi);
  }

  /// Banks per tuple, or nothing when the search found none.
  std::vector<std::int8_t> colour(bool keep_wishes) {
    colours_.assign(nodes_.size(), -1);
    order_.clear();
    masks_.clear();
    for (std::uint32_t id = 0; id < nodes_.size(); ++id) {
      masks_.push_back(nodes_[id].allowed);
      const int wish = kernel_.vregs[id].bank;
      if (nodes_[id].used && keep_wishes && wish >= 0)
        masks_[id] &= 1U << (static_cast<unsigned>(wish) % banks_);
      if (nodes_[id].used) order_.push_back(id);
    }
    steps_ = 0;
    return search(0) ? colours_ : std::vector<std::int8_t>{};
  }

  /// The fewest contradictions that one greedy sweep leaves.
  std::vector<std::int8_t> colour_greedily() {
    colours_.assign(nodes_.size(), -1);
    for (std::uint32_t id = 0; id < nodes_.size(); ++id) {
      if (!nodes_[id].used) continue;
      int best = -1, best_cost = 0;
      for (unsigned b = 0; b < banks_; ++b) {
        if ((nodes_[id].allowed >> b & 1) == 0) continue;
        const int cost = violations(id, b);
        if (best < 0 || cost < best_cost) std::tie(best, best_cost) = std::pair(static_cast<int>(b), cost);
      }
      colours_[id] = static_cast<std::int8_t>(best);
    }
    return colours_;
  }

  /// Hands the graph over; the masks are those of the last colour().
  void export_to(BankPlan& plan) const {
    for (std::size_t id = 0; id < nodes_.size(); ++id) {
      plan.edges.push_back(nodes_[id].edges);
      plan.open.push_back(static_cast<std::uint8_t>(masks_[id]));
    }
  }

 private:
  unsigned placeable(const ir::VirtualRegister& reg) const {
    if (reg.fixed) return 1U << (*reg.fixed % banks_);
    unsigned mask = 0;
    for (unsigned base = 0; base < banks_ * std::max<unsigned>(reg.align, 1);
         base += std::max<unsigned>(reg.align, 1))
      mask |= 1U << (base % banks_);
    return mask;
  }

  void add(const isa::Instruction& inst) {
    for (unsigned i = 0; i < inst.src_count; ++i) {
      if (!inst.src[i].is_vgpr()) continue;
      if (inst.src[i].is_virtual) nodes_[inst.src[i].index].used = true;
      for (unsigned j = i + 1; j < inst.src_count; ++j)
        if (inst.src[j].is_vgpr()) add(inst.src[i], inst.src[j]);
    }
  }

  void add(const Operand& a, const Operand& b) {
    if (a.is_virtual && b.is_virtual) {
      if (a.index == b.index) return;  // the distance is fixed already
      const unsigned apart = (b.sub + banks_ * 64 - a.sub) % banks_;
      if (!seen_.insert(std::tuple(a.index, b.index, apart)).second) return;
      nodes_[a.index].edges.push_back({b.index, static_cast<std::uint8_t>(apart)});
      nodes_[b.index].edges.push_back({a.index, static_cast<std::uint8_t>((banks_ - apart) % banks_)});
    } else if (a.is_virtual != b.is_virtual) {
      const Operand& reg = a.is_virtual ? a : b;
      const Operand& physical = a.is_virtual ? b : a;
      const unsigned forbidden = 1U << ((physical.index + banks_ * 64 - reg.sub) % banks_);
      if (nodes_[reg.index].allowed != forbidden) nodes_[reg.index].allowed &= ~forbidden;
    }
  }

  int violations(std::uint32_t id, unsigned bank) const {
    int count = 0;
    for (const BankEdge& e : nodes_[id].edges)
      count +=
          colours_[e.other] >= 0 && (static_cast<unsigned>(colours_[e.other]) + e.distance) % banks_ == bank
              ? 1
              : 0;
    return count;
  }

  /// Banks still open to `id` beside its coloured neighbours.
  unsigned open_banks(std::uint32_t id) const {
    unsigned mask = masks_[id];
    for (const BankEdge& e : nodes_[id].edges)
      if (colours_[e.other] >= 0)
        mask &= ~(1U << ((static_cast<unsigned>(colours_[e.other]) + e.distance) % banks_));
    return mask;
  }

  /// Most constrained tuple first, lowest bank first; a bounded depth-first search.
  bool search(std::size_t depth) {
    if (depth == order_.size()) return true;
    if (++steps_ > max_steps) return false;
    std::size_t pick = depth;
    for (std::size_t i = depth; i < order_.size(); ++i) {
      const auto rank = [&](std::size_t at) {
        return std::tuple(std::popcount(open_banks(order_[at])),
                          -static_cast<int>(nodes_[order_[at]].edges.size()));
      };
      if (rank(i) < rank(pick)) pick = i;
    }
    std::swap(order_[depth], order_[pick]);
    const std::uint32_t id = order_[depth];
    for (unsigned mask = open_banks(id); mask != 0; mask &= mask - 1) {
      colours_[id] = static_cast<std::int8_t>(std::countr_zero(mask));
      if (search(depth + 1)) return true;
    }
    colours_[id] = -1;
    return false;
  }

  static constexpr unsigned max_steps = 4000;
  const ir::Kernel& kernel_;
  unsigned banks_;
  std::vector<Node> nodes_;
  std::set<std::tuple<std::uint32_t, std::uint32_t, unsigned>> seen_;
  std::vector<std::int8_t> colours_;
  std::vector<std::uint32_t> order_;
  std::vector<unsigned> masks_;
  unsigned steps_ = 0;
};

/// VGPRs that a three-source VALU instruction reads, a tied destination among them.
std::array<const Operand*, 3> register_sources(const isa::Instruction& inst, unsigned& count) {
  std::array<const Operand*, 3> result{};
  count = 0;
  const isa::Pipe pipe = inst.pipe();
  if (pipe != isa::Pipe::valu && pipe != isa::Pipe::trans && pipe != isa::Pipe::dot) return result;
  for (unsigned i = 0; i < inst.src_count && count < 3; ++i)
    if (inst.src[i].is_vgpr()) result[count++] = &inst.src[i];
  const bool accumulates = ir::accumulates(inst.op);
  if (accumulates && count < 3 && inst.dst[0].is_vgpr()) result[count++] = &inst.dst[0];
  if (inst.src_count < 3 && !accumulates) count = 0;
  return result;
}

void add_partner(BankPlan& plan, const Operand& own, const Operand& other, std::uint16_t weight) {
  if (!own.is_virtual) return;
  BankPartner p;
  p.vreg = other.is_virtual ? static_cast<std::int32_t>(other.index) : -1;
  p.register_or_sub = other.is_virtual ? other.sub : other.index;
  p.own_sub = own.sub;
  p.weight = weight;
  if (other.is_virtual && other.index == own.index) return;  // the distance is fixed already
  plan.partners[own.index].push_back(p);
}

void list_partners(const ir::Kernel& kernel, BankPlan& plan) {
  const ir::Cfg cfg = ir::build_cfg(kernel);
  plan.partners.resize(kernel.vregs.size());
  for (std::size_t b = 0; b < kernel.blocks.size(); ++b) {
    constexpr std::array<std::uint16_t, 4> weights{1, 16, 64, 256};
    const std::uint16_t weight = weights[std::min<std::size_t>(cfg.loop_depth[b], 3)];
    for (const ir::Instruction& inst : kernel.blocks[b].insts) {
      unsigned count = 0;
      const auto sources = register_sources(inst.mi, count);
      for (unsigned i = 0; i < count; ++i)
        for (unsigned j = 0; j < count; ++j)
          if (i != j) add_partner(plan, *sources[i], *sources[j], weight);
    }
  }
}

}  // namespace

BankPlan plan_banks(const ir::Kernel& kernel) {
  BankPlan plan;
  plan.banks = kernel.target->vgpr_banks;
  plan.matrix_bank.assign(kernel.vregs.size(), -1);
  if (plan.banks == 0) return plan;
  Graph graph(kernel, plan.banks);
  bool keep_wishes = true;
  std::vector<std::int8_t> colours = graph.colour(keep_wishes);
  if (colours.empty() && !kernel.vregs.empty()) {
    keep_wishes = false;
    colours = graph.colour(keep_wishes);
  }
  if (colours.empty()) colours = graph.colour_greedily();
  plan.matrix_bank = std::move(colours);
  graph.export_to(plan);
  list_partners(kernel, plan);
  return plan;
}

}  // namespace wavejit::passes
