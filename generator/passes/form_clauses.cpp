// SPDX-License-Identifier: MIT
// form_clauses: s_clause in front of each run of at least two vector loads, or of at least two
// scalar loads, that stand directly behind one another, so that the memory unit takes them from this
// wave without another wave's in between (hardware.md §5.5). Anything else between two loads, a wait
// or hint too, ends the run. A clause holds at most 63 instructions and stays in its block.
#include <algorithm>

#include "generator/passes/passes.hpp"

namespace wavejit::passes {
namespace {

constexpr std::size_t longest_clause = 63;

enum class Kind : std::uint8_t { none, vector_load, scalar_load };

Kind kind_of(const isa::Instruction& inst) {
  if (!inst.has(isa::flag::load) || inst.has(isa::flag::atomic)) return Kind::none;
  if (inst.pipe() == isa::Pipe::vmem) return Kind::vector_load;
  return inst.pipe() == isa::Pipe::smem ? Kind::scalar_load : Kind::none;
}

ir::Instruction make_clause(std::size_t length, const ir::Instruction& first) {
  ir::Instruction clause;
  clause.mi.op = isa::Opcode::s_clause;
  clause.mi.src_count = 1;
  clause.mi.src[0] = isa::imm(static_cast<std::int64_t>(length) - 1);
  clause.stage = first.stage;
  return clause;
}

/// Loads in insts[begin..] that can be one clause; 0 where none starts.
std::size_t run_length(const std::vector<ir::Instruction>& insts, std::size_t begin) {
  const Kind kind = kind_of(insts[begin].mi);
  if (kind == Kind::none) return 0;
  std::size_t end = begin + 1;
  while (end < insts.size() && kind_of(insts[end].mi) == kind) ++end;
  return end - begin;
}

/// Splits a run of more than 63 loads so that no clause is left with a single one.
std::size_t clause_length(std::size_t run) {
  if (run <= longest_clause) return run;
  return run == longest_clause + 1 ? longest_clause - 1 : longest_clause;
}

bool already_in_clause(const std::vector<ir::Instruction>& insts, std::size_t at) {
  return at > 0 && insts[at - 1].mi.op == isa::Opcode::s_clause;
}

void form_clauses_in(ir::Block& block) {
  std::vector<ir::Instruction> out;
  out.reserve(block.insts.size() + 8);
  for (std::size_t i = 0; i < block.insts.size();) {
    const bool clausable = !already_in_clause(block.insts, i);
    std::size_t run = run_length(block.insts, i);
    if (run == 0) out.push_back(std::move(block.insts[i++]));
    while (run > 0) {
      const std::size_t length = clause_length(run);
      if (length >= 2 && clausable) out.push_back(make_clause(length, block.insts[i]));
      std::move(block.insts.begin() + static_cast<std::ptrdiff_t>(i),
                block.insts.begin() + static_cast<std::ptrdiff_t>(i + length), std::back_inserter(out));
      i += length;
      run -= length;
    }
  }
  block.insts = std::move(out);
}

}  // namespace

Result<void> form_clauses(ir::Kernel& kernel) {
  if (!kernel.target->has_clause) return {};
  for (ir::Block& block : kernel.blocks) form_clauses_in(block);
  return {};
}

}  // namespace wavejit::passes
