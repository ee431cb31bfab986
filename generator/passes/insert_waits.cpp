// SPDX-License-Identifier: MIT
// insert_waits: the weakest waits that are right. Three steps:
//  1. a forward analysis that assumes, at each instruction, the wait which that instruction needs;
//     entry states only grow stricter, so it ends, and its waits are right but can be too many,
//     because states of early rounds linger;
//  2. with those waits taken as fixed, the exact states, and from them the waits that are needed
//     still; kept when they are right by themselves, and repeated until nothing changes;
//  3. the waits are written, each directly in front of the instruction that needs it, vmcnt and
//     lgkmcnt in one s_waitcnt; where counters are split, one s_wait_*cnt each, loads or stores together
//     with LDS in one.
// Differs from LLVM 22's SIInsertWaitcnts, looked at on small MIR inputs, in one thing: step 2
// drops waits that LLVM keeps behind a loop for a load from before the loop that every iteration
// has already waited for.
#include <algorithm>
#include <string>

#include "generator/passes/flow.hpp"
#include "generator/passes/passes.hpp"
#include "generator/passes/pending.hpp"

namespace wavejit::passes {
namespace {

using isa::Opcode;

/// waits[block][instruction] = what to wait for in front of it.
using Waits = std::vector<std::vector<Need>>;

class WaitPlacement {
 public:
  WaitPlacement(const ir::Kernel& kernel, const WaitOptions& options)
      : kernel_(kernel), cfg_(ir::build_cfg(kernel)), start_(&kernel, options) {}

  [[nodiscard]] Waits solve() const {
    const auto assume_needed = [&](std::uint32_t b, Pending& state) {
      walk(b, state, [](std::size_t, const Need& needed) { return needed; });
    };
    Waits waits = needed_with(solve_forward(cfg_, start_, assume_needed), nullptr);
    for (int round = 0; round < max_rounds; ++round) {
      Waits fewer = needed_with(exact_states(waits), &waits);
      if (fewer == waits || !sufficient(fewer)) break;
      waits = std::move(fewer);
    }
    return waits;
  }

 private:
  static constexpr int max_rounds = 8;

  /// Plays one block; `choose(i, needed)` says what is waited for in front of instruction i. The
  /// second half of a VOPD pair issues with the first, so the first waits for both.
  template <class Choose>
  void walk(std::uint32_t block, Pending& state, Choose&& choose) const {
    const std::vector<ir::Instruction>& insts = kernel_.blocks[block].insts;
    for (std::size_t i = 0; i < insts.size(); ++i) {
      Need needed;
      if (insts[i].mi.dual != isa::Dual::y) needed = state.required(insts[i]);
      if (insts[i].mi.dual == isa::Dual::x && i + 1 < insts.size())
        needed.tighten(state.required(insts[i + 1]));
      state.retire(choose(i, needed));
      state.issue(insts[i]);
    }
  }

  /// Entry states when exactly `waits` are made.
  [[nodiscard]] std::vector<Pending> exact_states(const Waits& waits) const {
    return solve_forward(cfg_, start_, [&](std::uint32_t b, Pending& state) {
      walk(b, state, [&](std::size_t i, const Need&) { return waits[b][i]; });
    });
  }

  /// What each instruction needs given entry states, when `made` (nullptr: the needed ones) are the
  /// waits in front of the instructions before it.
  [[nodiscard]] Waits needed_with(const std::vector<Pending>& entry, const Waits* made) const {
    Waits result(kernel_.blocks.size());
    for (std::uint32_t b = 0; b < kernel_.blocks.size(); ++b) {
      result[b].resize(kernel_.blocks[b].insts.size());
      Pending state = entry[b];
      walk(b, state, [&](std::size_t i, const Need& needed) {
        result[b][i] = needed;
        return made == nullptr ? needed : (*made)[b][i];
      });
    }
    return result;
  }

  [[nodiscard]] bool sufficient(const Waits& waits) const {
    const Waits needed = needed_with(exact_states(waits), &waits);
    for (std::size_t b = 0; b < waits.size(); ++b)
      for (std::size_t i = 0; i < waits[b].size(); ++i)
        if (!waits[b][i].covers(needed[b][i])) return false;
    return true;
  }

  const ir::Kernel& kernel_;
  ir::Cfg cfg_;
  Pending start_;
};

ir::Instruction make(Opcode op, std::initializer_list<isa::Operand> sources, const ir::Instruction& next) {
  ir::Instruction inst;
  inst.mi.op = op;
  for (const isa::Operand& s : sources) inst.mi.src[inst.mi.src_count++] = s;
  inst.stage = next.stage;
  return inst;
}

/// gfx12: a counter each, or loads or stores and LDS in one.
void append_split_wait(std::vector<ir::Instruction>& out, const Need& need, const ir::Instruction& next) {
  const auto put = [&](Opcode op, unsigned count) { out.push_back(make(op, {isa::imm(count)}, next)); };
  const auto together = [&](Counter c) { return need[c] << 8 | need[Counter::lgkm]; };
  bool lds = need[Counter::lgkm] != Need::none;
  if (need[Counter::vm] != Need::none) {
    lds ? put(Opcode::s_wait_loadcnt_dscnt, together(Counter::vm))
        : put(Opcode::s_wait_loadcnt, need[Counter::vm]);
    lds = false;
  }
  if (need[Counter::vs] != Need::none) {
    lds ? put(Opcode::s_wait_storecnt_dscnt, together(Counter::vs))
        : put(Opcode::s_wait_storecnt, need[Counter::vs]);
    lds = false;
  }
  if (lds) put(Opcode::s_wait_dscnt, need[Counter::lgkm]);
  if (need[Counter::km] != Need::none) put(Opcode::s_wait_kmcnt, need[Counter::km]);
}

/// Appends the wait; an s_waitcnt that already stands there is made stricter instead.
void append_wait(std::vector<ir::Instruction>& out, const Need& need, const ir::Instruction& next,
                 const target::Target& target) {
  if (target.has_split_counters()) return append_split_wait(out, need, next);
  if (need[Counter::vm] != Need::none || need[Counter::lgkm] != Need::none) {
    isa::WaitCounts counts{.vmcnt = need[Counter::vm], .lgkmcnt = need[Counter::lgkm]};
    if (!out.empty() && out.back().mi.op == Opcode::s_waitcnt) {
      const isa::WaitCounts old =
          isa::decode_waitcnt(static_cast<std::uint16_t>(out.back().mi.src[0].value), target);
      counts = {.vmcnt = std::min(counts.vmcnt, old.vmcnt),
                .expcnt = old.expcnt,
                .lgkmcnt = std::min(counts.lgkmcnt, old.lgkmcnt)};
      out.back().mi.src[0] = isa::imm(isa::encode_waitcnt(counts, target));
    } else {
      out.push_back(make(Opcode::s_waitcnt, {isa::imm(isa::encode_waitcnt(counts, target))}, next));
    }
  }
  if (need[Counter::vs] != Need::none)
    out.push_back(make(Opcode::s_waitcnt_vscnt, {isa::null_reg(), isa::imm(need[Counter::vs])}, next));
}

Result<void> check_supported(const ir::Kernel& kernel) {
  for (const ir::Block& block : kernel.blocks)
    for (const ir::Instruction& inst : block.insts)
      if (inst.mi.info().name.starts_with("flat_"))
        return fail(
            ErrorCode::unsupported,
            std::string(inst.mi.info().name) + " counts in two wait counters; use a global_ or buffer_ form");
  return {};
}

}  // namespace

Result<void> insert_waits(ir::Kernel& kernel, const WaitOptions& options) {
  if (const Result<void> ok = check_supported(kernel); !ok) return ok;
  const Waits waits = WaitPlacement(kernel, options).solve();
  for (std::size_t b = 0; b < kernel.blocks.size(); ++b) {
    std::vector<ir::Instruction> out;
    std::vector<ir::Instruction>& insts = kernel.blocks[b].insts;
    out.reserve(insts.size() + 8);
    for (std::size_t i = 0; i < insts.size(); ++i) {
      append_wait(out, waits[b][i], insts[i], *kernel.target);
      out.push_back(std::move(insts[i]));
    }
    insts = std::move(out);
  }
  return {};
}

}  // namespace wavejit::passes
