// SPDX-License-Identifier: MIT
// dealloc_vgprs: s_sendmsg(MSG_DEALLOC_VGPRS) frees a wave's registers for the next wave while its
// last stores travel. Worth its slot only if registers limit the number of waves and stores are in
// flight at the end; wrong while a load is in flight, which would write a register of somebody else
// (hardware.md §5.5). The s_nop that must stand in front is resolve_hazards' business.
#include <algorithm>

#include "generator/passes/flow.hpp"
#include "generator/passes/hazards.hpp"
#include "generator/passes/passes.hpp"
#include "generator/passes/pending.hpp"

namespace wavejit::passes {
namespace {

bool uses_scratch(const ir::Kernel& kernel) {
  return std::ranges::any_of(kernel.blocks, [](const ir::Block& block) {
    return std::ranges::any_of(
        block.insts, [](const ir::Instruction& inst) { return inst.mi.info().name.starts_with("scratch_"); });
  });
}

bool already_deallocates(const std::vector<ir::Instruction>& insts) {
  return insts.size() >= 2 && insts[insts.size() - 2].mi.op == isa::Opcode::s_sendmsg &&
         insts[insts.size() - 2].mi.src[0].value == msg_dealloc_vgprs;
}

}  // namespace

Result<void> dealloc_vgprs(ir::Kernel& kernel) {
  const target::Target& target = *kernel.target;
  if (!target.has_dealloc_vgprs || uses_scratch(kernel)) return {};
  if (target::waves_by_vgprs(target, kernel.vgprs_used) >= target.max_waves_per_simd) return {};

  const auto play = [&](std::uint32_t b, Pending& state) {
    for (const ir::Instruction& inst : kernel.blocks[b].insts) state.issue(inst);
  };
  const std::vector<Pending> entry = solve_forward(ir::build_cfg(kernel), Pending(&kernel, {}), play);
  for (std::uint32_t b = 0; b < kernel.blocks.size(); ++b) {
    std::vector<ir::Instruction>& insts = kernel.blocks[b].insts;
    if (insts.empty() || insts.back().mi.op != isa::Opcode::s_endpgm || already_deallocates(insts)) continue;
    Pending state = entry[b];
    play(b, state);
    if (!state.outstanding(Counter::vs) || state.outstanding(Counter::vm)) continue;
    ir::Instruction message;
    message.mi.op = isa::Opcode::s_sendmsg;
    message.mi.src_count = 1;
    message.mi.src[0] = isa::imm(msg_dealloc_vgprs);
    message.comment = "give the VGPRs back while the last stores travel";
    insts.insert(insts.end() - 1, std::move(message));
  }
  return {};
}

}  // namespace wavejit::passes
