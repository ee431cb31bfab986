// SPDX-License-Identifier: MIT
#include "generator/ir/exec_mask.hpp"

#include <algorithm>

#include "generator/ir/register_access.hpp"

namespace wavejit::ir {
namespace {

using isa::Opcode;
using isa::Operand;

bool is_exec(const Operand& o) {
  return o.is_physical(isa::RegClass::sgpr, isa::sreg::exec_lo) ||
         o.is_physical(isa::RegClass::sgpr, isa::sreg::exec_hi);
}

bool overlap(const Operand& a, const Operand& b) {
  if (a.cls != b.cls || a.is_virtual != b.is_virtual) return false;
  if (!a.is_virtual) return a.index < b.index + b.width && b.index < a.index + a.width;
  return a.index == b.index && a.sub < b.sub + b.width && b.sub < a.sub + a.width;
}

bool same(const Operand& a, const Operand& b) {
  return a.cls == b.cls && a.is_virtual == b.is_virtual && a.index == b.index && a.sub == b.sub &&
         a.width == b.width;
}

bool is_move(Opcode op) { return op == Opcode::s_mov_b32 || op == Opcode::s_mov_b64; }
bool is_or(Opcode op) { return op == Opcode::s_or_b32 || op == Opcode::s_or_b64; }

/// dst[0] receives EXEC as it was before the instruction.
bool saves_exec(const isa::Instruction& inst) {
  if (inst.dst_count == 0 || !inst.dst[0].is_sgpr() || is_exec(inst.dst[0])) return false;
  return inst.has(isa::flag::exec_w) || (is_move(inst.op) && is_exec(inst.src[0]));
}

/// Forward state: EXEC full, and which of the registers that ever save EXEC hold a full mask.
struct State {
  bool exec_full = false;
  std::vector<bool> saved_full;

  bool meet(const State& other) {
    bool changed = exec_full && !other.exec_full;
    exec_full = exec_full && other.exec_full;
    for (std::size_t i = 0; i < saved_full.size(); ++i) {
      changed = changed || (saved_full[i] && !other.saved_full[i]);
      saved_full[i] = saved_full[i] && other.saved_full[i];
    }
    return changed;
  }
};

class Analysis {
 public:
  Analysis(const Kernel& kernel, const Cfg& cfg) : kernel_(kernel), cfg_(cfg) { collect_saves(); }

  /// State before each block, met over all paths.
  std::vector<State> solve() const {
    std::vector<State> in(kernel_.blocks.size(), State{true, std::vector<bool>(saves_.size(), true)});
    if (in.empty()) return in;
    in[0].saved_full.assign(saves_.size(), false);
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::uint32_t b : cfg_.reverse_post_order) {
        State state = in[b];
        for (const Instruction& inst : kernel_.blocks[b].insts) step(state, inst.mi);
        for (const std::uint32_t to : cfg_.successors[b]) changed = in[to].meet(state) || changed;
      }
    }
    return in;
  }

  void step(State& state, const isa::Instruction& inst) const {
    const bool before = state.exec_full;
    const bool restored = restores(state, inst);
    bool wrote_exec = false;
    const RegisterAccesses access = register_accesses(inst, *kernel_.target);
    for (const RegisterAccess& write : access.writes()) {
      wrote_exec = wrote_exec || is_exec(write.reg);
      for (std::size_t i = 0; i < saves_.size(); ++i)
        if (overlap(write.reg, saves_[i])) state.saved_full[i] = false;
    }
    if (wrote_exec) state.exec_full = restored;
    if (!saves_exec(inst)) return;
    for (std::size_t i = 0; i < saves_.size(); ++i)
      if (same(inst.dst[0], saves_[i])) state.saved_full[i] = before;
  }

 private:
  void collect_saves() {
    for (const Block& block : kernel_.blocks)
      for (const Instruction& inst : block.insts)
        if (saves_exec(inst.mi) &&
            std::ranges::none_of(saves_, [&](const Operand& o) { return same(o, inst.mi.dst[0]); }))
          saves_.push_back(inst.mi.dst[0]);
  }

  bool is_full_mask(const State& state, const Operand& o) const {
    if (o.kind == Operand::Kind::imm) return o.value == -1;
    if (!o.is_reg()) return false;
    if (is_exec(o)) return state.exec_full;
    for (std::size_t i = 0; i < saves_.size(); ++i)
      if (same(o, saves_[i])) return state.saved_full[i];
    return false;
  }

  bool restores(const State& state, const isa::Instruction& inst) const {
    if (inst.dst_count == 0 || !is_exec(inst.dst[0]) || inst.dst[0].width * 32U != kernel_.target->wave_size)
      return false;
    if (is_move(inst.op)) return is_full_mask(state, inst.src[0]);
    return is_or(inst.op) && (is_full_mask(state, inst.src[0]) || is_full_mask(state, inst.src[1]));
  }

  const Kernel& kernel_;
  const Cfg& cfg_;
  std::vector<Operand> saves_;
};

bool writes_exec(const Kernel& kernel) {
  for (const Block& block : kernel.blocks)
    for (const Instruction& inst : block.insts) {
      if (inst.mi.has(isa::flag::exec_w)) return true;
      for (unsigned i = 0; i < inst.mi.dst_count; ++i)
        if (inst.mi.dst[i].is_reg() && is_exec(inst.mi.dst[i])) return true;
    }
  return false;
}

}  // namespace

ExecMask::ExecMask(const Kernel& kernel, const Cfg& cfg) : always_full_(!writes_exec(kernel)) {
  if (always_full_) return;
  const Analysis analysis(kernel, cfg);
  std::vector<State> in = analysis.solve();
  full_.resize(kernel.blocks.size());
  for (std::size_t b = 0; b < kernel.blocks.size(); ++b) {
    for (const Instruction& inst : kernel.blocks[b].insts) {
      full_[b].push_back(in[b].exec_full && cfg.reachable[b]);
      analysis.step(in[b], inst.mi);
    }
  }
}

}  // namespace wavejit::ir
