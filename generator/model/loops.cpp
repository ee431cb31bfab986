// SPDX-License-Identifier: MIT
#include "generator/model/loops.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <ranges>
#include <set>
#include <tuple>

namespace wavejit::model {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::Pipe;

std::optional<std::size_t> destination(const Instruction& inst) {
  if (!inst.has(isa::flag::terminator)) return std::nullopt;
  for (unsigned i = 0; i < inst.src_count; ++i)
    if (inst.src[i].kind == isa::Operand::Kind::label) return inst.src[i].index;
  return std::nullopt;
}

bool falls_through(const Instruction& inst) {
  return !inst.has(isa::flag::terminator) || inst.has(isa::flag::conditional);
}

/// Basic blocks over instruction indices, with one more block, the root, in front of all entries.
class Graph {
 public:
  explicit Graph(std::span<const Instruction> code) : code_(code) {
    cut();
    connect();
    order();
    dominate();
  }

  /// Members of each natural loop by the block of its header.
  [[nodiscard]] std::map<std::size_t, std::set<std::size_t>> natural_loops() const {
    std::map<std::size_t, std::set<std::size_t>> result;
    for (std::size_t from = 0; from < root(); ++from)
      for (const std::size_t to : successors_[from])
        if (dominates(to, from)) collect(result[to], to, from);
    return result;
  }
  [[nodiscard]] std::size_t begin(std::size_t block) const { return starts_[block]; }
  [[nodiscard]] std::size_t end(std::size_t block) const {
    return block + 1 < starts_.size() ? starts_[block + 1] : code_.size();
  }

 private:
  static constexpr std::size_t unknown = ~std::size_t{0};
  [[nodiscard]] std::size_t root() const { return starts_.size(); }

  void cut() {
    std::set<std::size_t> starts;
    if (!code_.empty()) starts.insert(0);
    for (std::size_t i = 0; i < code_.size(); ++i) {
      if (!code_[i].has(isa::flag::terminator)) continue;
      if (i + 1 < code_.size()) starts.insert(i + 1);
      const auto to = destination(code_[i]);
      if (to && *to < code_.size()) starts.insert(*to);
    }
    starts_.assign(starts.begin(), starts.end());
  }

  void connect() {
    successors_.resize(root() + 1);
    predecessors_.resize(root() + 1);
    const auto add = [&](std::size_t from, std::size_t to) {
      if (std::ranges::find(successors_[from], to) != successors_[from].end()) return;
      successors_[from].push_back(to);
      predecessors_[to].push_back(from);
    };
    for (std::size_t b = 0; b < root(); ++b) {
      const Instruction& last = code_[end(b) - 1];
      const auto to = destination(last);
      if (to && *to < code_.size())
        add(b, static_cast<std::size_t>(std::ranges::lower_bound(starts_, *to) - starts_.begin()));
      if (falls_through(last) && b + 1 < root()) add(b, b + 1);
    }
    for (std::size_t b = 0; b < root(); ++b)
      if (b == 0 || predecessors_[b].empty()) add(root(), b);
  }

  /// Post-order numbers from the root.
  void order() {
    number_.assign(root() + 1, unknown);
    std::vector<bool> seen(root() + 1);
    std::vector<std::pair<std::size_t, std::size_t>> stack{{root(), 0}};
    seen[root()] = true;
    while (!stack.empty()) {
      auto& [b, next] = stack.back();
      if (next < successors_[b].size()) {
        const std::size_t to = successors_[b][next++];
        if (!seen[to]) {
          seen[to] = true;
          stack.emplace_back(to, 0);
        }
        continue;
      }
      number_[b] = post_order_.size();
      post_order_.push_back(b);
      stack.pop_back();
    }
  }

  /// Immediate dominators by the iterative scheme of Cooper, Harvey and Kennedy.
  void dominate() {
    dominator_.assign(root() + 1, unknown);
    dominator_[root()] = root();
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::size_t at : std::views::reverse(post_order_)) {
        if (at == root()) continue;
        std::size_t common = unknown;
        for (const std::size_t p : predecessors_[at])
          if (dominator_[p] != unknown) common = common == unknown ? p : meet(common, p);
        changed = changed || common != dominator_[at];
        dominator_[at] = common;
      }
    }
  }

  [[nodiscard]] std::size_t meet(std::size_t a, std::size_t b) const {
    while (a != b) {
      while (number_[a] < number_[b]) a = dominator_[a];
      while (number_[b] < number_[a]) b = dominator_[b];
    }
    return a;
  }

  [[nodiscard]] bool dominates(std::size_t a, std::size_t b) const {
    if (dominator_[b] == unknown) return false;
    while (b != a && b != root()) b = dominator_[b];
    return b == a;
  }

  void collect(std::set<std::size_t>& members, std::size_t header, std::size_t latch) const {
    members.insert(header);
    std::vector<std::size_t> work{latch};
    while (!work.empty()) {
      const std::size_t b = work.back();
      work.pop_back();
      if (!members.insert(b).second) continue;
      work.insert(work.end(), predecessors_[b].begin(), predecessors_[b].end());
    }
  }

  std::span<const Instruction> code_;
  std::vector<std::size_t> starts_, number_, post_order_, dominator_;
  std::vector<std::vector<std::size_t>> successors_, predecessors_;
};

bool is_vector_alu(Pipe pipe) { return pipe == Pipe::valu || pipe == Pipe::trans || pipe == Pipe::dot; }

bool is_long_dot(Opcode op) {
  return op == Opcode::v_dot4_i32_iu8 || op == Opcode::v_dot4_u32_u8 || op == Opcode::v_dot8_i32_iu4;
}

/// Matrix instructions, long dot products, VALU; a VOPD pair is one.
std::tuple<unsigned, unsigned, unsigned> weight(std::span<const Instruction> code, const Loop& loop) {
  unsigned matrix = 0, dots = 0, valu = 0;
  for (const std::size_t i : loop.own) {
    if (code[i].pipe() == Pipe::matrix) ++matrix;
    if (is_long_dot(code[i].op)) ++dots;
    if (is_vector_alu(code[i].pipe()) && code[i].dual != isa::Dual::y && code[i].op != Opcode::v_nop) ++valu;
  }
  return {matrix, dots, valu};
}

}  // namespace

std::vector<Loop> loops(std::span<const Instruction> code) {
  const Graph graph(code);
  const auto natural = graph.natural_loops();
  std::vector<Loop> result;
  for (const auto& [header, members] : natural) {
    std::set<std::size_t> own = members;
    Loop loop{graph.begin(header), {}, 0};
    for (const auto& [inner, blocks] : natural) {
      if (inner == header || !members.contains(inner) || blocks.size() >= members.size()) continue;
      if (!std::ranges::includes(members, blocks)) continue;
      for (const std::size_t b : blocks) own.erase(b);
      ++loop.nested;
    }
    for (const std::size_t b : own)
      for (std::size_t i = graph.begin(b); i < graph.end(b); ++i) loop.own.push_back(i);
    result.push_back(std::move(loop));
  }
  return result;
}

namespace {

/// Behind a kernel's end, and going back in front of it: what is put out of the way because it rarely runs.
bool out_of_line(std::span<const Instruction> code, const Loop& loop) {
  std::size_t end = loop.header;
  while (end > 0 && code[end].op != isa::Opcode::s_endpgm) --end;
  if (code[end].op != isa::Opcode::s_endpgm || end == loop.header) return false;
  for (std::size_t i = loop.own.back(); i < code.size(); ++i)
    for (unsigned s = 0; s < code[i].src_count; ++s)
      if (code[i].src[s].kind == isa::Operand::Kind::label && code[i].src[s].index <= end) return true;
  return false;
}

}  // namespace

std::optional<Loop> hot_loop(std::span<const Instruction> code) {
  std::vector<Loop> all = loops(code);
  std::erase_if(all, [&](const Loop& l) { return out_of_line(code, l); });
  if (all.empty()) return std::nullopt;
  return *std::ranges::max_element(all, {}, [&](const Loop& l) { return weight(code, l); });
}

std::vector<Instruction> body(std::span<const Instruction> code, const Loop& loop) {
  std::vector<Instruction> result;
  result.reserve(loop.own.size());
  for (const std::size_t i : loop.own) result.push_back(code[i]);
  return result;
}

Stretches hot_stretches(std::span<const Instruction> code) {
  if (const auto loop = hot_loop(code)) return split(code, loop->own);
  Stretches whole = split(code, {});
  whole.body.swap(whole.prologue);
  // A wave's end repeats nothing.
  if (!whole.body.empty() && code[whole.body.back()].op == Opcode::s_endpgm) {
    whole.epilogue.push_back(whole.body.back());
    whole.body.pop_back();
  }
  return whole;
}

std::vector<Instruction> flatten(const ir::Kernel& kernel) {
  std::vector<std::uint32_t> first;
  std::vector<Instruction> code;
  for (const ir::Block& block : kernel.blocks) {
    first.push_back(static_cast<std::uint32_t>(code.size()));
    for (const ir::Instruction& inst : block.insts) code.push_back(inst.mi);
  }
  for (Instruction& inst : code)
    for (unsigned i = 0; i < inst.src_count; ++i)
      if (inst.src[i].kind == isa::Operand::Kind::label) inst.src[i].index = first[inst.src[i].index];
  return code;
}

}  // namespace wavejit::model
