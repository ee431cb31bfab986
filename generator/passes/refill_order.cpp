// SPDX-License-Identifier: MIT
#include "generator/passes/refill_order.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace wavejit::passes {
namespace {

/// A vector load and the instructions before it that read its registers; of one to LDS the barrier behind
/// which the waves read what the one before brought.
struct Refill {
  std::uint32_t load;
  std::vector<std::uint32_t> readers;
};

bool is_register_load(const isa::Instruction& mi) {
  return mi.pipe() == isa::Pipe::vmem && mi.has(isa::flag::load) && mi.dst_count > 0;
}

std::vector<Refill> refills(const ir::Kernel& kernel, const ir::Block& block,
                            const ir::RegisterUnits& units) {
  std::vector<Refill> result;
  std::unordered_map<std::size_t, std::vector<std::uint32_t>> reads;  // of values from before the block
  std::unordered_map<std::size_t, bool> written;
  std::optional<std::uint32_t> barrier;
  for (std::uint32_t i = 0; i < block.insts.size(); ++i) {
    const isa::Instruction& mi = block.insts[i].mi;
    const ir::RegisterAccesses accesses = ir::register_accesses(mi, *kernel.target);
    for (const ir::RegisterAccess& read : accesses.reads())
      units.for_each(read, [&](std::size_t u) {
        if (!written[u]) reads[u].push_back(i);
      });
    Refill refill{i, {}};
    for (const ir::RegisterAccess& write : accesses.writes())
      units.for_each(write, [&](std::size_t u) {
        if (!written[u]) refill.readers.insert(refill.readers.end(), reads[u].begin(), reads[u].end());
        written[u] = true;
      });
    if (mi.pipe() == isa::Pipe::barrier && !barrier) barrier = i;
    if (isa::loads_to_lds(mi) && barrier) refill.readers = {*barrier};
    if (!is_register_load(mi) && !isa::loads_to_lds(mi)) continue;
    std::erase(refill.readers, i);
    std::ranges::sort(refill.readers);
    const auto repeated = std::ranges::unique(refill.readers);
    refill.readers.erase(repeated.begin(), repeated.end());
    if (!refill.readers.empty()) result.push_back(std::move(refill));
  }
  return result;
}

bool reaches(const DependenceGraph& graph, std::uint32_t from, std::uint32_t to) {
  std::vector<bool> seen(graph.successors.size());
  std::vector<std::uint32_t> stack{from};
  while (!stack.empty()) {
    const std::uint32_t i = stack.back();
    stack.pop_back();
    if (i == to) return true;
    if (seen[i]) continue;
    seen[i] = true;
    for (const Dependence& d : graph.successors[i]) stack.push_back(d.to);
  }
  return false;
}

/// Unless `to` has to come first, or `from` does already.
void add(DependenceGraph& graph, std::uint32_t from, std::uint32_t to) {
  auto& out = graph.successors[from];
  if (std::ranges::find(out, to, &Dependence::to) != out.end() || reaches(graph, to, from)) return;
  out.push_back({to, 0});
  ++graph.predecessor_count[to];
}

}  // namespace

void keep_load_order(DependenceGraph& graph, const ir::Block& block) {
  std::optional<std::uint32_t> last;
  for (std::uint32_t i = 0; i < block.insts.size(); ++i) {
    const isa::Instruction& mi = block.insts[i].mi;
    if (!is_register_load(mi) && !isa::loads_to_lds(mi)) continue;
    if (last) add(graph, *last, i);
    last = i;
  }
}

void order_refills(DependenceGraph& graph, const ir::Kernel& kernel, const ir::Block& block,
                   const ir::RegisterUnits& units) {
  const std::vector<Refill> all = refills(kernel, block, units);
  const auto tensor = [&](const Refill& r) {
    const ir::MemoryTag& tag = block.insts[r.load].mem;
    return std::pair(tag.space, tag.object);
  };
  for (std::size_t later = 1; later < all.size(); ++later) {
    // Loads of one tensor are free among themselves; those of the tensor before go first.
    std::size_t end = later;
    while (end > 0 && tensor(all[end - 1]) == tensor(all[later])) --end;
    for (std::size_t before = end; before > 0 && tensor(all[before - 1]) == tensor(all[end - 1]); --before)
      for (const std::uint32_t reader : all[later].readers) add(graph, all[before - 1].load, reader);
  }
}

}  // namespace wavejit::passes
