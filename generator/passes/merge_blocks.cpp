// SPDX-License-Identifier: MIT
// Blocks that always run one after the other become one: where a short loop was peeled away whole, scheduling
// can then put its first loads in front of set-up that they do not need, and what comes behind it between its
// last steps.
#include <iterator>
#include <vector>

#include "generator/passes/passes.hpp"

namespace wavejit::passes {
namespace {

bool ends_for_good(const ir::Block& block) {
  return !block.insts.empty() && block.insts.back().mi.has(isa::flag::terminator);
}
bool repeats(const ir::Block& block) { return block.loop || (block.is_loop_body && block.trip_count > 1); }

std::vector<bool> branch_targets(const ir::Kernel& kernel) {
  std::vector<bool> targets(kernel.blocks.size(), false);
  for (const ir::Block& block : kernel.blocks)
    for (const ir::Instruction& inst : block.insts)
      for (unsigned i = 0; i < inst.mi.src_count; ++i)
        if (inst.mi.src[i].kind == isa::Operand::Kind::label) targets.at(inst.mi.src[i].index) = true;
  return targets;
}

}  // namespace

Result<void> merge_blocks(ir::Kernel& kernel) {
  const std::vector<bool> target = branch_targets(kernel);
  std::vector<ir::Block> merged;
  std::vector<std::uint32_t> place(kernel.blocks.size());
  for (std::size_t b = 0; b < kernel.blocks.size(); ++b) {
    ir::Block& block = kernel.blocks[b];
    const bool apart = merged.empty() || target[b] || repeats(block) || repeats(merged.back()) ||
                       ends_for_good(merged.back());
    if (apart) {
      merged.push_back(std::move(block));
    } else {
      std::ranges::move(block.insts, std::back_inserter(merged.back().insts));
      if (merged.back().comment.empty()) merged.back().comment = std::move(block.comment);
    }
    place[b] = static_cast<std::uint32_t>(merged.size() - 1);
  }
  kernel.blocks = std::move(merged);
  for (ir::Block& block : kernel.blocks)
    for (ir::Instruction& inst : block.insts)
      for (unsigned i = 0; i < inst.mi.src_count; ++i)
        if (inst.mi.src[i].kind == isa::Operand::Kind::label)
          inst.mi.src[i].index = place[inst.mi.src[i].index];
  return {};
}

}  // namespace wavejit::passes
