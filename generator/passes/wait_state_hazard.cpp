// SPDX-License-Identifier: MIT
#include "generator/passes/wait_state_hazard.hpp"

#include <algorithm>

namespace wavejit::passes {
namespace {

using isa::Opcode;
using isa::Pipe;
using target::Consumer;
using target::Producer;
namespace flag = isa::flag;

constexpr unsigned longest_nop = 8;
constexpr unsigned wave = 64;  ///< the targets with such a table have no other wave size

unsigned slots_of(const isa::Instruction& inst) {
  return inst.op == Opcode::s_nop ? static_cast<unsigned>(inst.src[0].value) + 1 : 1;
}

bool is_readlane(Opcode op) { return op == Opcode::v_readlane_b32 || op == Opcode::v_readfirstlane_b32; }

bool is_lane_select(const isa::Instruction& inst, unsigned source) {
  return source == 1 && (inst.op == Opcode::v_readlane_b32 || inst.op == Opcode::v_writelane_b32);
}

bool is_exec(const isa::Operand& o) {
  return o.is_sgpr() && (o.index == isa::sreg::exec_lo || o.index == isa::sreg::exec_hi);
}

bool writes_upper_half(const isa::Instruction& inst) {
  return inst.dst_count > 0 && inst.dst[0].is_vgpr() && ir::written_halves(inst) == ir::high_half;
}

bool is_vector(const isa::Operand& o) { return o.is_reg() && !o.is_sgpr(); }

/// The data of a store wider than 64 bits a lane, which hardware reads late, or none.
isa::Operand late_store_data(const isa::Instruction& inst) {
  if (inst.pipe() != Pipe::vmem || !inst.has(flag::store)) return {};
  const isa::Operand& data = inst.src[inst.has(flag::buffer) ? 0 : 1];
  return is_vector(data) && data.width > 2 ? data : isa::Operand{};
}

/// … and how late: earlier with soffset in an SGPR.
Producer late_store_read(const isa::Instruction& inst) {
  const bool scalar_offset = inst.has(flag::buffer) && inst.src[3].is_sgpr();
  return scalar_offset ? Producer::scalar_offset_store_read : Producer::wide_store_read;
}

/// What a VALU instruction does with one of its sources.
template <class F>
void valu_source_roles(const isa::Instruction& inst, unsigned i, F&& f) {
  const isa::Operand& o = inst.src[i];
  if (o.kind == isa::Operand::Kind::special) {
    const bool vcc = o.index == static_cast<std::uint32_t>(isa::Special::vccz);
    const bool exec = o.index == static_cast<std::uint32_t>(isa::Special::execz);
    if (vcc || exec) f(Consumer::condition_flag, vcc ? isa::vcc(wave) : isa::exec(wave));
  } else if (o.is_sgpr()) {
    f(is_lane_select(inst, i) ? Consumer::lane_select
      : is_exec(o)            ? Consumer::exec_data
                              : Consumer::valu_scalar_source,
      o);
  } else if (o.is_vgpr()) {
    f(Consumer::valu_source, o);
    if (inst.pipe() != Pipe::trans) f(Consumer::plain_valu_source, o);
    if (is_readlane(inst.op)) f(Consumer::readlane_source, o);
    if (i == 0 && inst.mods.dpp.kind != isa::Dpp::Kind::none) f(Consumer::dpp_source, o);
  }
}

template <class F>
void valu_roles(const isa::Instruction& inst, F&& f) {
  for (unsigned i = 0; i < inst.src_count; ++i) valu_source_roles(inst, i, f);
  if (isa::implicit(inst).reads_vcc) f(Consumer::valu_scalar_source, isa::vcc(wave));
  if (inst.mods.dpp.kind != isa::Dpp::Kind::none) f(Consumer::dpp_exec, isa::exec(wave));
  if (is_readlane(inst.op) || inst.op == Opcode::v_writelane_b32)
    f(Consumer::cross_lane_exec, isa::exec(wave));
}

/// Calls f(consumer, register) for every role that the table may ask about, dot products apart.
template <class F>
void for_each_role(const isa::Instruction& inst, F&& f) {
  if (is_valu(inst)) valu_roles(inst, f);
  if (inst.pipe() == Pipe::vmem)
    for (unsigned i = 0; i < inst.src_count; ++i)
      if (inst.src[i].is_sgpr()) f(Consumer::vmem_scalar_source, inst.src[i]);
  isa::for_each_def(inst, [&](const isa::Operand& o) {
    if (is_vector(o)) f(is_valu(inst) ? Consumer::valu_overwrite : Consumer::other_overwrite, o);
  });
  if (inst.op == Opcode::v_swap_b32) f(Consumer::valu_overwrite, inst.src[0]);
  const bool to_lds = inst.has(flag::to_lds) || inst.mods.lds;
  if (inst.pipe() == Pipe::message || to_lds || inst.has(flag::m0_r)) f(Consumer::m0_user, isa::m0());
}

bool is_matrix(const isa::Instruction& inst) { return inst.pipe() == Pipe::matrix; }

/// Names the registers of an accumulator; matrix instructions of one size take equally many passes.
std::uint32_t sum_id(const isa::Operand& o) {
  std::uint32_t first = 0;
  bool found = false;
  for_each_unit(o, [&](unsigned u) {
    if (!found) first = u;
    found = true;
  });
  return (first + 1) << 8 | o.width;
}
constexpr std::uint32_t any_sum = ~0U;

/// 16x16 accumulators are 4 registers, 32x32 ones 16.
bool is_long_matrix(const isa::Instruction& inst) { return inst.dst[0].width > 4; }

/// Calls f(consumer, register) for what the rows of matrix instructions ask about; `sum` tells the C and D
/// of a matrix instruction from the rest.
template <class F>
void for_each_matrix_role(const isa::Instruction& inst, F&& f) {
  if (is_matrix(inst)) {
    for (unsigned i = 0; i < 3; ++i) {
      if (!inst.src[i].is_reg()) continue;
      f(Consumer::matrix_source, inst.src[i]);
      f(i < 2 ? Consumer::matrix_result_use : Consumer::matrix_other_sum, inst.src[i]);
    }
    f(Consumer::matrix_other_sum, inst.dst[0]);
    return;
  }
  isa::for_each_use(inst, [&](const isa::Operand& o) {
    if (is_vector(o)) f(Consumer::matrix_result_use, o);
  });
  isa::for_each_def(inst, [&](const isa::Operand& o) {
    if (!is_vector(o)) return;
    f(Consumer::matrix_result_use, o);
    f(Consumer::matrix_c_overwrite, o);
  });
}

bool accesses_mode(Opcode op) {
  return op == Opcode::s_setreg_b32 || op == Opcode::s_setreg_imm32_b32 || op == Opcode::s_getreg_b32;
}

}  // namespace

WaitStateHazard::WaitStateHazard(const target::Target& target) : target_(&target) {
  dot_.fill(Opcode::invalid);
}

unsigned WaitStateHazard::missing_slots(const isa::Instruction& inst) const {
  unsigned missing = 0;
  const auto consider = [&](Consumer consumer, unsigned u) {
    for (const target::WaitStates& row : target::wait_states(*target_)) {
      if (row.second != consumer) continue;
      const unsigned slots = age(static_cast<unsigned>(row.first), u);
      if (slots < row.slots) missing = std::max(missing, row.slots - slots);
    }
  };
  for_each_role(inst, [&](Consumer consumer, const isa::Operand& reg) {
    for_each_unit(reg, [&](unsigned u) { consider(consumer, u); });
  });
  if (accesses_mode(inst.op)) consider(Consumer::mode_access, mode);
  for_each_matrix_role(inst, [&](Consumer consumer, const isa::Operand& reg) {
    const std::uint32_t id = consumer == Consumer::matrix_other_sum ? sum_id(reg) : 0;
    for_each_unit(reg, [&](unsigned u) {
      if (id == 0 || sum_[u] != id) consider(consumer, u);
    });
  });

  // A v_dot* may take the result of the same v_dot* as its third source at once, and write it again.
  const auto touches_dot = [&](const isa::Operand& o, bool allowed_to_same) {
    if (!o.is_vgpr()) return;
    for_each_unit(o, [&](unsigned u) {
      if (!allowed_to_same || dot_[u] != inst.op) consider(Consumer::dot_other, u);
    });
  };
  for (unsigned i = 0; i < inst.src_count; ++i) touches_dot(inst.src[i], i == 2);
  isa::for_each_def(inst, [&](const isa::Operand& o) { touches_dot(o, true); });
  return missing;
}

std::optional<isa::Instruction> WaitStateHazard::fix(IssueGroup group) const {
  unsigned missing = 0;
  for (const ir::Instruction& inst : group) missing = std::max(missing, missing_slots(inst.mi));
  if (missing == 0) return std::nullopt;
  isa::Instruction nop;
  nop.op = Opcode::s_nop;
  nop.src_count = 1;
  nop.src[0] = isa::imm(std::min(missing, longest_nop) - 1);
  return nop;
}

void WaitStateHazard::mark_valu(const isa::Instruction& inst) {
  for_each_written_unit(inst, *target_, [&](unsigned u) {
    mark(Producer::valu_write, u);
    if (!unit::is_vector(u)) return;
    if (inst.pipe() == Pipe::trans) mark(Producer::trans_write, u);
    if (writes_upper_half(inst)) mark(Producer::shifted_write, u);
    if (inst.pipe() != Pipe::dot) return;
    mark(Producer::dot_write, u);
    dot_[u] = inst.op;
  });
}

void WaitStateHazard::issue(IssueGroup group) {
  const isa::Instruction& inst = group.front().mi;
  now_ += slots_of(inst);
  for (const ir::Instruction& member : group) {
    if (is_matrix(member.mi)) {
      mark_matrix(member.mi);
    } else if (is_valu(member.mi)) {
      mark_valu(member.mi);
    }
  }
  const isa::Operand data = late_store_data(inst);
  if (data.is_reg()) for_each_unit(data, [&](unsigned u) { mark(late_store_read(inst), u); });
  if (inst.pipe() == Pipe::salu)
    for_each_written_unit(inst, *target_, [&](unsigned u) { mark(Producer::salu_write, u); });
  if (accesses_mode(inst.op) && inst.op != Opcode::s_getreg_b32) mark(Producer::mode_write, mode);
}

void WaitStateHazard::mark_matrix(const isa::Instruction& inst) {
  const bool is_long = is_long_matrix(inst);
  const std::uint32_t id = sum_id(inst.dst[0]);
  if (inst.src[2].is_reg())
    for_each_unit(inst.src[2], [&](unsigned u) {
      mark(is_long ? Producer::matrix8_c_read : Producer::matrix4_c_read, u);
    });
  for_each_unit(inst.dst[0], [&](unsigned u) {
    mark(is_long ? Producer::matrix8_write : Producer::matrix4_write, u);
    sum_[u] = id;
  });
}

bool WaitStateHazard::merge(const WaitStateHazard& other) {
  bool changed = false;
  for (std::size_t p = 0; p < times_.size(); ++p)
    for (std::size_t u = 0; u < times_[p].size(); ++u) {
      const unsigned other_age = other.age(p, u);
      if (other_age >= age(p, u)) continue;
      changed = true;
      times_[p][u] = now_ - other_age;
    }
  for (std::size_t u = 0; u < dot_.size(); ++u) {
    if (dot_[u] == other.dot_[u] || other.dot_[u] == Opcode::invalid || dot_[u] == Opcode::count_) continue;
    dot_[u] = dot_[u] == Opcode::invalid ? other.dot_[u] : Opcode::count_;
    changed = true;
  }
  for (std::size_t u = 0; u < sum_.size(); ++u) {
    if (sum_[u] == other.sum_[u] || other.sum_[u] == 0 || sum_[u] == any_sum) continue;
    sum_[u] = sum_[u] == 0 ? other.sum_[u] : any_sum;
    changed = true;
  }
  return changed;
}

}  // namespace wavejit::passes
