// SPDX-License-Identifier: MIT
#include "generator/model/mix.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace wavejit::model {
namespace {

using isa::Instruction;
using isa::Pipe;

/// Index that a branch goes to, if its label is in the code.
std::optional<std::size_t> destination(const Instruction& inst) {
  if (inst.pipe() != Pipe::branch) return std::nullopt;
  for (unsigned i = 0; i < inst.src_count; ++i)
    if (inst.src[i].kind == isa::Operand::Kind::label) return inst.src[i].index;
  return std::nullopt;
}

void count(const Instruction& inst, Mix& m) {
  const bool store = inst.has(isa::flag::store);
  switch (inst.pipe()) {
    case Pipe::matrix:
      ++m.matrix;
      break;
    case Pipe::valu: {
      ++m.valu;
      const std::string_view name = inst.info().name;
      if (name.starts_with("v_cmp") || name.starts_with("v_cndmask")) ++m.compare_select;
      break;
    }
    case Pipe::trans:
      ++m.trans;
      break;
    case Pipe::dot:
      ++m.dot;
      break;
    case Pipe::salu:
      ++m.salu;
      break;
    case Pipe::smem:
      ++m.smem;
      break;
    case Pipe::lds:
      ++(store ? m.lds_store : m.lds_load);
      break;
    case Pipe::vmem:
      ++(store ? m.vmem_store : m.vmem_load);
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
      break;
    case Pipe::message:
    case Pipe::cache:
      ++m.other;
      break;
  }
}

/// Vector sources of an instruction: first registers of the distinct tuples.
struct VectorSources {
  std::array<std::uint32_t, isa::max_src> reg{};
  unsigned count = 0;     ///< of distinct ones
  unsigned operands = 0;  ///< of all
};

VectorSources vector_sources(const Instruction& inst) {
  VectorSources v;
  for (unsigned i = 0; i < inst.src_count; ++i) {
    const isa::Operand& src = inst.src[i];
    if (!src.is_vgpr() || src.is_virtual) continue;
    ++v.operands;
    const auto end = v.reg.begin() + v.count;
    if (std::find(v.reg.begin(), end, src.index) == end) v.reg[v.count++] = src.index;
  }
  return v;
}

bool share_a_bank(const VectorSources& v, unsigned banks) {
  for (unsigned i = 0; i < v.count; ++i)
    for (unsigned j = i + 1; j < v.count; ++j)
      if (v.reg[i] % banks == v.reg[j] % banks) return true;
  return false;
}

}  // namespace

std::vector<Loop> innermost_loops(std::span<const Instruction> code) {
  std::vector<Loop> loops;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const auto target = destination(code[i]);
    if (target && *target <= i) loops.push_back({.begin = *target, .end = i + 1});
  }
  std::vector<Loop> innermost;
  for (const Loop& loop : loops) {
    const bool holds_another = std::ranges::any_of(loops, [&loop](const Loop& other) {
      return other != loop && other.begin >= loop.begin && other.end <= loop.end;
    });
    if (!holds_another) innermost.push_back(loop);
  }
  std::ranges::sort(innermost, {}, &Loop::begin);
  return innermost;
}

std::optional<Loop> hot_loop(std::span<const Instruction> code) {
  const auto weight = [code](const Loop& loop) {
    const Mix m = mix(code.subspan(loop.begin, loop.end - loop.begin));
    return std::tuple(m.matrix, m.dot, m.total());
  };
  const std::vector<Loop> loops = innermost_loops(code);
  if (loops.empty()) return std::nullopt;
  return *std::ranges::max_element(loops, {}, weight);
}

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
    if (!share_a_bank(sources, target.vgpr_banks)) continue;
    ++(matrix ? result.matrix : result.valu);
    if (!result.first) result.first = i;
  }
  return result;
}

}  // namespace wavejit::model
