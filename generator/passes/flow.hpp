// SPDX-License-Identifier: MIT
// The forward dataflow solver that the late passes of this folder share.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/ir/cfg.hpp"

namespace wavejit::passes {

/// Forward dataflow to a fixpoint. `transfer(block, state)` turns the state at the block's entry
/// into the state at its end; `State::merge(const State&)` joins and says whether anything changed,
/// and must only ever move one way. Returns the entry state of every block; one that nothing
/// reaches keeps `at_entry`.
template <class State, class Transfer>
std::vector<State> solve_forward(const ir::Cfg& cfg, const State& at_entry, Transfer&& transfer) {
  const std::size_t count = cfg.successors.size();
  std::vector<State> entry(count, at_entry);
  std::vector<char> known(count, 0);
  std::vector<char> dirty(count, 0);
  if (count == 0) return entry;
  known[0] = dirty[0] = 1;
  for (bool again = true; again;) {
    again = false;
    for (const std::uint32_t b : cfg.reverse_post_order) {
      if (!dirty[b]) continue;
      dirty[b] = 0;
      State state = entry[b];
      transfer(b, state);
      for (const std::uint32_t s : cfg.successors[b]) {
        const bool changed = known[s] ? entry[s].merge(state) : (entry[s] = state, true);
        known[s] = 1;
        if (!changed) continue;
        dirty[s] = 1;
        again = true;
      }
    }
  }
  return entry;
}

}  // namespace wavejit::passes
