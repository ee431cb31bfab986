// SPDX-License-Identifier: MIT
// resolve_hazards: runs the trackers that the target's hazard table asks for, one after another, and
// writes their fixes. Branches and loop back edges are followed: a hazard may begin in another block.
#include "generator/passes/flow.hpp"
#include "generator/passes/hazards.hpp"
#include "generator/passes/passes.hpp"
#include "generator/passes/wait_state_hazard.hpp"

namespace wavejit::passes {
namespace {

ir::Instruction wrap(const isa::Instruction& mi, const ir::Instruction& next, std::string_view why) {
  ir::Instruction inst;
  inst.mi = mi;
  inst.stage = next.stage;
  inst.comment = why;
  return inst;
}

/// Plays one block; `on_fix(position, fix)` hears of each fix before it is issued.
template <class Tracker, class OnFix>
void play(const ir::Block& block, Tracker& state, OnFix&& on_fix) {
  for (std::size_t i = 0; i < block.insts.size();) {
    const unsigned size = ir::issue_group(block.insts, i);
    const IssueGroup group(block.insts.data() + i, size);
    while (const std::optional<isa::Instruction> fix = state.fix(group)) {
      on_fix(i, *fix);
      ir::Instruction issued;
      issued.mi = *fix;
      state.issue(IssueGroup(&issued, 1));
    }
    state.issue(group);
    i += size;
  }
}

template <class Tracker>
void resolve(ir::Kernel& kernel, const ir::Cfg& cfg, const Tracker& start, std::string_view why) {
  const std::vector<Tracker> entry = solve_forward(cfg, start, [&](std::uint32_t b, Tracker& state) {
    play(kernel.blocks[b], state, [](std::size_t, const isa::Instruction&) {});
  });
  for (std::uint32_t b = 0; b < kernel.blocks.size(); ++b) {
    std::vector<ir::Instruction> out;
    std::vector<ir::Instruction>& insts = kernel.blocks[b].insts;
    std::size_t copied = 0;
    Tracker state = entry[b];
    play(kernel.blocks[b], state, [&](std::size_t at, const isa::Instruction& fix) {
      for (; copied < at; ++copied) out.push_back(insts[copied]);
      out.push_back(wrap(fix, insts[at], why));
    });
    if (out.empty()) continue;
    for (; copied < insts.size(); ++copied) out.push_back(std::move(insts[copied]));
    insts = std::move(out);
  }
}

void separate_dealloc(ir::Kernel& kernel) {
  isa::Instruction nop;
  nop.op = isa::Opcode::s_nop;
  nop.src_count = 1;
  nop.src[0] = isa::imm(0);
  for (ir::Block& block : kernel.blocks)
    for (std::size_t i = 0; i < block.insts.size(); ++i) {
      const isa::Instruction& mi = block.insts[i].mi;
      if (mi.op != isa::Opcode::s_sendmsg || mi.src[0].value != msg_dealloc_vgprs) continue;
      if (i > 0 && block.insts[i - 1].mi.op == isa::Opcode::s_nop) continue;
      const ir::Instruction fix = wrap(nop, block.insts[i], {});
      block.insts.insert(block.insts.begin() + static_cast<std::ptrdiff_t>(i++), fix);
    }
}

}  // namespace

Result<void> resolve_hazards(ir::Kernel& kernel) {
  const target::Hazards& hazards = kernel.target->hazards;
  const ir::Cfg cfg = ir::build_cfg(kernel);
  if (hazards.vcmpx_permlane) resolve(kernel, cfg, CmpxPermlaneHazard(), "hazard: v_permlane behind v_cmpx");
  if (hazards.wmma_d_to_ab)
    resolve(kernel, cfg, MatrixResultHazard(), "hazard: matrix result is the next one's A or B");
  if (hazards.trans_use) resolve(kernel, cfg, TransUseHazard(), "hazard: transcendental result used early");
  if (hazards.valu_read_sgpr)
    resolve(kernel, cfg, SgprReadHazard(*kernel.target), "hazard: SGPR written again after VALU read it");
  if (!target::wait_states(*kernel.target).empty())
    resolve(kernel, cfg, WaitStateHazard(*kernel.target), "hazard: wait states");
  if (hazards.xnack_replay)
    resolve(kernel, cfg, ReplayedClauseHazard(*kernel.target), "hazard: XNACK may issue the clause again");
  if (hazards.nop_before_dealloc) separate_dealloc(kernel);
  return {};
}

}  // namespace wavejit::passes
