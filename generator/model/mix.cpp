// SPDX-License-Identifier: MIT
#include "generator/model/mix.hpp"

#include <algorithm>
#include <array>

#include "generator/ir/register_access.hpp"

namespace wavejit::model {
namespace {

using isa::Instruction;
using isa::Pipe;

bool is_mode(isa::Opcode op) { return op == isa::Opcode::s_round_mode || op == isa::Opcode::s_denorm_mode; }

void count_valu(const Instruction& inst, Mix& m) {
  if (inst.op == isa::Opcode::v_nop) {
    ++m.hint;
    return;
  }
  ++m.valu;
  const std::string_view name = inst.info().name;
  if (name.starts_with("v_cmp") || name.starts_with("v_cndmask")) ++m.compare_select;
}

void count_memory(const Instruction& inst, unsigned& load, unsigned& store, unsigned& rest) {
  const bool plain = !inst.has(isa::flag::atomic);
  ++(plain && inst.has(isa::flag::load) ? load : plain && inst.has(isa::flag::store) ? store : rest);
}

void count(const Instruction& inst, Mix& m) {
  switch (inst.pipe()) {
    case Pipe::matrix:
      ++m.matrix;
      break;
    case Pipe::valu:
      count_valu(inst, m);
      break;
    case Pipe::trans:
      ++m.trans;
      break;
    case Pipe::dot:
      ++m.dot;
      break;
    case Pipe::salu:
      ++(is_mode(inst.op) ? m.hint : m.salu);
      break;
    case Pipe::smem:
      ++m.smem;
      break;
    case Pipe::lds:
      count_memory(inst, m.lds_load, m.lds_store, m.lds_other);
      break;
    case Pipe::vmem:
      count_memory(inst, m.vmem_load, m.vmem_store, m.vmem_atomic);
      break;
    case Pipe::branch:
      ++m.branch;
      break;
    case Pipe::barrier:
      ++m.barrier;
      break;
    case Pipe::wait:
      ++m.wait;
      break;
    case Pipe::hint:
      ++m.hint;
      if (inst.op == isa::Opcode::s_delay_alu) ++m.delay;
      break;
    case Pipe::message:
      ++m.other;
      break;
    case Pipe::cache:
      ++m.cache;
      break;
  }
}

/// Vector sources of an instruction, an accumulating destination among them.
struct VectorSources {
  std::array<std::uint32_t, isa::max_src + 1> reg{};  ///< first registers of distinct tuples
  unsigned count = 0;                                 ///< of distinct ones
  unsigned operands = 0;                              ///< of all
};

VectorSources vector_sources(const Instruction& inst) {
  VectorSources v;
  const auto add = [&v](const isa::Operand& src) {
    if (!src.is_vgpr() || src.is_virtual) return;
    ++v.operands;
    const auto end = v.reg.begin() + v.count;
    if (std::find(v.reg.begin(), end, src.index) == end) v.reg[v.count++] = src.index;
  };
  for (unsigned i = 0; i < inst.src_count; ++i) add(inst.src[i]);
  if (ir::accumulates(inst.op)) add(inst.dst[0]);
  return v;
}

bool share_a_bank(const VectorSources& v, unsigned banks) {
  for (unsigned i = 0; i < v.count; ++i)
    for (unsigned j = i + 1; j < v.count; ++j)
      if (v.reg[i] % banks == v.reg[j] % banks) return true;
  return false;
}

}  // namespace

Mix mix(std::span<const Instruction> code) {
  Mix m;
  for (const Instruction& inst : code) {
    if (inst.dual == isa::Dual::x) ++m.dual;
    if (inst.dual != isa::Dual::y) count(inst, m);
  }
  return m;
}

BankConflicts bank_conflicts(std::span<const Instruction> code, const target::Target& target) {
  BankConflicts result;
  if (target.vgpr_banks == 0) return result;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const Instruction& inst = code[i];
    const bool matrix = inst.pipe() == Pipe::matrix;
    if (!matrix && inst.pipe() != Pipe::valu && inst.pipe() != Pipe::dot) continue;
    const VectorSources sources = vector_sources(inst);
    if (!matrix && sources.operands < 3) continue;
    const bool twice = matrix && sources.operands > sources.count;
    if (!twice && !share_a_bank(sources, target.vgpr_banks)) continue;
    ++(matrix ? result.matrix : result.valu);
    if (!result.first) result.first = i;
  }
  return result;
}

}  // namespace wavejit::model
