// SPDX-License-Identifier: MIT
#include "generator/ir/cfg.hpp"

#include <algorithm>

namespace wavejit::ir {
namespace {

std::vector<std::uint32_t> successors_of(const Kernel& kernel, std::uint32_t b) {
  const Block& block = kernel.blocks[b];
  std::vector<std::uint32_t> result;
  const auto add = [&](std::uint32_t to) {
    if (to < kernel.blocks.size() && std::ranges::find(result, to) == result.end()) result.push_back(to);
  };
  if (block.loop && block.loop->trip_count > 1) add(b);
  if (const Instruction* last = terminator(block))
    for (unsigned i = 0; i < last->mi.src_count; ++i)
      if (last->mi.src[i].kind == isa::Operand::Kind::label) add(last->mi.src[i].index);
  if (falls_through(block)) add(b + 1);
  return result;
}

/// Depth-first from the entry, without recursion: kernels come from callers.
std::vector<std::uint32_t> post_order(const Cfg& cfg) {
  std::vector<std::uint32_t> order;
  std::vector<bool> seen(cfg.successors.size());
  std::vector<std::pair<std::uint32_t, std::size_t>> stack;
  if (!seen.empty()) {
    stack.emplace_back(0, 0);
    seen[0] = true;
  }
  while (!stack.empty()) {
    auto& [b, next] = stack.back();
    if (next == cfg.successors[b].size()) {
      order.push_back(b);
      stack.pop_back();
      continue;
    }
    const std::uint32_t to = cfg.successors[b][next++];
    if (seen[to]) continue;
    seen[to] = true;
    stack.emplace_back(to, 0);
  }
  return order;
}

/// Members of the loop that the edge latch -> header closes: all that reaches the latch without
/// passing the header.
std::vector<bool> loop_members(const Cfg& cfg, std::uint32_t header, std::uint32_t latch) {
  std::vector<bool> inside(cfg.successors.size());
  inside[header] = true;
  std::vector<std::uint32_t> work{latch};
  while (!work.empty()) {
    const std::uint32_t b = work.back();
    work.pop_back();
    if (inside[b]) continue;
    inside[b] = true;
    work.insert(work.end(), cfg.predecessors[b].begin(), cfg.predecessors[b].end());
  }
  return inside;
}

/// A retreating edge closes a loop. Edges to one header are one loop.
void count_loops(Cfg& cfg) {
  const std::size_t n = cfg.successors.size();
  std::vector<std::size_t> rank(n);
  for (std::size_t i = 0; i < cfg.reverse_post_order.size(); ++i) rank[cfg.reverse_post_order[i]] = i;
  cfg.loop_depth.assign(n, 0);
  for (const std::uint32_t header : cfg.reverse_post_order) {
    std::vector<bool> members(n);
    for (const std::uint32_t latch : cfg.predecessors[header]) {
      if (!cfg.reachable[latch] || rank[latch] < rank[header]) continue;
      const std::vector<bool> body = loop_members(cfg, header, latch);
      for (std::size_t b = 0; b < n; ++b) members[b] = members[b] || body[b];
    }
    for (std::size_t b = 0; b < n; ++b)
      cfg.loop_depth[b] = static_cast<std::uint8_t>(cfg.loop_depth[b] + (members[b] ? 1 : 0));
  }
}

}  // namespace

const Instruction* terminator(const Block& block) {
  if (block.insts.empty() || !block.insts.back().mi.has(isa::flag::terminator)) return nullptr;
  return &block.insts.back();
}

bool falls_through(const Block& block) {
  const Instruction* last = terminator(block);
  return last == nullptr || last->mi.has(isa::flag::conditional);
}

Cfg build_cfg(const Kernel& kernel) {
  Cfg cfg;
  const std::size_t n = kernel.blocks.size();
  cfg.predecessors.resize(n);
  for (std::uint32_t b = 0; b < n; ++b) cfg.successors.push_back(successors_of(kernel, b));
  for (std::uint32_t b = 0; b < n; ++b)
    for (const std::uint32_t to : cfg.successors[b]) cfg.predecessors[to].push_back(b);
  cfg.reverse_post_order = post_order(cfg);
  std::ranges::reverse(cfg.reverse_post_order);
  cfg.reachable.resize(n);
  for (const std::uint32_t b : cfg.reverse_post_order) cfg.reachable[b] = true;
  count_loops(cfg);
  return cfg;
}

}  // namespace wavejit::ir
