// SPDX-License-Identifier: MIT
#include "templates/w4a16/entry.hpp"

#include <algorithm>
#include <bit>

namespace wavejit::templates::w4a16 {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

void enter(ir::Builder& b) {
  ir::Kernel& k = b.kernel();
  k.entry.kernarg = b.fixed(isa::RegClass::sgpr, "kernarg", 0, 2);
  if (k.target->workgroup_ids_in_ttmp) {
    k.entry.workgroup_id[0] = isa::sgpr(isa::sreg::ttmp0 + 9);
    k.entry.workgroup_id[1] = isa::sgpr(isa::sreg::ttmp0 + 7);
    k.entry.workitem_id = b.fixed(isa::RegClass::vgpr, "workitem", 0);
    return;
  }
  // gfx1100 in wave32 wants at least 16 initialised SGPRs; the unused user SGPRs stand in front of
  // the workgroup ids.
  k.entry.user_sgprs = k.target->hazards.user_sgpr_init16 ? 14 : 2;
  for (unsigned i = 0; i < 2; ++i)
    k.entry.workgroup_id[i] =
        b.fixed(isa::RegClass::sgpr, i == 0 ? "workgroup_m" : "workgroup_n", k.entry.user_sgprs + i);
  k.entry.workitem_id = b.fixed(isa::RegClass::vgpr, "workitem", 0);
}

WorkgroupIds workgroup_ids(ir::Builder& b) {
  const ir::EntryState& entry = b.kernel().entry;
  WorkgroupIds ids{entry.workgroup_id[0], entry.workgroup_id[1]};
  if (!b.kernel().target->workgroup_ids_in_ttmp) return ids;
  ids.y = b.sgpr("workgroup_n");
  b.note("workgroup id y; z is above it").emit(s_and_b32, {ids.y}, {entry.workgroup_id[1], imm(0xFFFF)});
  return ids;
}

std::vector<Operand> load_pointers(ir::Builder& b) {
  const std::vector<ir::KernelArg>& args = b.kernel().args;
  const auto count =
      static_cast<unsigned>(std::ranges::count(args, ir::ArgKind::buffer, &ir::KernelArg::kind));
  std::vector<Operand> pointers;
  while (pointers.size() < count) {
    const auto first = static_cast<unsigned>(pointers.size());
    const unsigned some = std::bit_floor(std::min(count - first, 4U));
    const Operand tuple = b.sgpr("pointers", 2 * some);
    std::string names;
    for (unsigned i = 0; i < some; ++i) {
      names += (i == 0 ? "" : ", ") + args[first + i].name;
      pointers.push_back(tuple.slice(2 * i, 2));
    }
    const isa::Opcode op = some == 4 ? s_load_b256 : some == 2 ? s_load_b128 : s_load_b64;
    b.note(names).emit(op, {tuple}, {b.kernel().entry.kernarg, imm(args[first].offset)});
  }
  return pointers;
}

}  // namespace wavejit::templates::w4a16
