// SPDX-License-Identifier: MIT
// Walks every path through a small kernel that takes no edge more than a given number of times.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "generator/ir/kernel.hpp"

namespace wavejit::test {

/// `State::step(inst)` executes an instruction and may report a fault; the state is copied where a
/// path splits. The walk ends at the first fault, which comes with its place.
template <class State>
class Paths {
 public:
  Paths(const ir::Kernel& kernel, unsigned edge_limit) : kernel_(kernel), limit_(edge_limit) {}

  std::optional<std::string> walk(std::size_t block, State state) {
    const std::vector<ir::Instruction>& insts = kernel_.blocks[block].insts;
    for (std::size_t i = 0; i < insts.size(); ++i)
      if (const auto fault = state.step(insts[i]))
        return kernel_.blocks[block].label + "[" + std::to_string(i) + "]: " + *fault;
    const isa::Instruction* last = insts.empty() ? nullptr : &insts.back().mi;
    const bool branches = last != nullptr && last->pipe() == isa::Pipe::branch;
    if (branches && last->op == isa::Opcode::s_endpgm) return std::nullopt;
    if (branches) {
      if (const auto fault = follow(block, last->src[0].index, state)) return fault;
      if (last->op == isa::Opcode::s_branch) return std::nullopt;
    }
    return block + 1 < kernel_.blocks.size() ? follow(block, block + 1, state) : std::nullopt;
  }

 private:
  std::optional<std::string> follow(std::size_t from, std::size_t to, const State& state) {
    unsigned& count = taken_[{from, to}];
    if (count >= limit_) return std::nullopt;
    ++count;
    std::optional<std::string> fault = walk(to, state);
    --taken_[{from, to}];
    return fault;
  }

  const ir::Kernel& kernel_;
  unsigned limit_;
  std::map<std::pair<std::size_t, std::size_t>, unsigned> taken_;
};

}  // namespace wavejit::test
