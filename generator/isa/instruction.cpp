// SPDX-License-Identifier: MIT
#include "generator/isa/instruction.hpp"

namespace wavejit::isa {
namespace {

bool is_vector(Pipe pipe) {
  switch (pipe) {
    case Pipe::valu:
    case Pipe::trans:
    case Pipe::dot:
    case Pipe::matrix:
    case Pipe::lds:
    case Pipe::vmem:
      return true;
    default:
      return false;
  }
}

/// DPP16 keeps the old destination in lanes that a mask switches off and, unless bound_ctrl makes
/// them zero, in lanes whose source lane does not exist. DPP8 always has a source lane.
bool dpp_keeps_lanes(const Dpp& dpp) {
  return dpp.kind == Dpp::Kind::dpp16 && (!dpp.bound_ctrl || dpp.row_mask != 0xF || dpp.bank_mask != 0xF);
}

bool sdwa_keeps_bytes(const Sdwa& sdwa) {
  return sdwa.on && sdwa.dst != Sdwa::Select::dword && sdwa.unused == Sdwa::Unused::preserve;
}

}  // namespace

Implicit implicit(const Instruction& inst) {
  const OpcodeInfo& op = inst.info();
  Implicit result;
  result.reads_scc = op.has(flag::scc_r);
  result.writes_scc = op.has(flag::scc_w);
  result.reads_vcc = op.has(flag::vcc_r);
  result.writes_vcc = op.has(flag::vcc_w);
  result.reads_exec = op.has(flag::exec_r) || (is_vector(op.pipe) && !op.has(flag::no_exec));
  result.writes_exec = op.has(flag::exec_w);
  result.reads_m0 = op.has(flag::m0_r) || inst.mods.lds;
  return result;
}

bool reads_destination(const Instruction& inst) {
  const OpcodeInfo& op = inst.info();
  if (inst.dst_count > 0 && inst.dst[0].undef) return false;
  if (op.has(flag::tied | flag::d16 | flag::d16_hi)) return true;
  if (inst.dst_count == 0) return false;
  if (inst.dst[0].half != Half::whole) return true;
  const bool names_half = !op.has(flag::vop3p) && op.pipe != Pipe::matrix;
  if (names_half && ((inst.mods.op_sel >> inst.src_count) & 1) != 0) return true;
  return dpp_keeps_lanes(inst.mods.dpp) || sdwa_keeps_bytes(inst.mods.sdwa);
}

}  // namespace wavejit::isa
