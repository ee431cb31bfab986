// SPDX-License-Identifier: MIT
// Forward data flow to a fixpoint. An analysis gives:
//   using State;                        what holds between two steps; a bounded lattice, not bool
//   State entry();                      at the kernel's first step
//   bool join(State& into, const State& from);   into := weaker of both; whether it changed
//   void step(State&, uint32_t step);   effect of one step; in the second sweep it also reports
//   void start(State&), finish(State&)  (may do nothing) around a block's steps
// solve() runs until nothing changes, or gives up (false) after a number of visits that no real kernel
// needs; then sweep() walks every reachable block once more from its final state.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/check/program.hpp"

namespace wavejit::check {

template <class Analysis>
class Solver {
 public:
  using State = typename Analysis::State;

  Solver(const Program& program, Analysis& analysis) : program_(program), analysis_(analysis) {}

  /// False when the visits ran out.
  bool solve() {
    const std::size_t count = program_.blocks.size();
    in_.assign(count, State{});
    known_.assign(count, 0);
    if (count == 0) return true;
    std::vector<std::uint8_t> waiting(count, 0);
    in_[0] = analysis_.entry();
    known_[0] = 1;
    waiting[0] = 1;
    constexpr std::size_t sweeps = 32;
    for (std::size_t sweep = 0; sweep < sweeps; ++sweep) {
      bool any = false;
      for (const std::uint32_t b : program_.order) {
        if (waiting[b] == 0) continue;
        waiting[b] = 0;
        any = true;
        visit(b, waiting);
      }
      if (!any) return true;
    }
    return false;
  }

  void sweep() {
    for (const std::uint32_t b : program_.order) {
      if (known_[b] == 0) continue;
      State state = in_[b];
      walk(state, b);
    }
  }

 private:
  void walk(State& state, std::uint32_t b) {
    analysis_.start(state);
    for (std::uint32_t s = program_.blocks[b].first; s < program_.blocks[b].end; ++s)
      analysis_.step(state, s);
    analysis_.finish(state);
  }

  void visit(std::uint32_t b, std::vector<std::uint8_t>& waiting) {
    State state = in_[b];
    walk(state, b);
    for (const std::uint32_t to : program_.blocks[b].next) {
      if (to == no_block) continue;
      if (known_[to] == 0) {
        in_[to] = state;
        known_[to] = 1;
        waiting[to] = 1;
      } else if (analysis_.join(in_[to], state)) {
        waiting[to] = 1;
      }
    }
  }

  const Program& program_;
  Analysis& analysis_;
  std::vector<State> in_;            ///< per block, before its first step
  std::vector<std::uint8_t> known_;  ///< per block: in_ holds something
};

}  // namespace wavejit::check
