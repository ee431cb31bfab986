// SPDX-License-Identifier: MIT
#include "runtime/check/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/check/accesses.hpp"

namespace wavejit::check {
namespace {

using isa::Instruction;
using isa::Operand;
using isa::RegClass;

bool known(isa::Opcode op) { return op > isa::Opcode::invalid && op < isa::Opcode::count_; }

bool countable(const Instruction& inst) {
  return inst.dst_count <= isa::max_dst && inst.src_count <= isa::max_src;
}

/// What is left of an instruction that cannot be understood: nothing.
const Instruction& blank() {
  static const Instruction instruction = [] {
    Instruction i;
    i.op = isa::Opcode::s_nop;
    return i;
  }();
  return instruction;
}

class Builder {
 public:
  Builder(const lower::DecodedKernel& kernel, const target::Target& target) {
    p_.kernel = &kernel;
    p_.target = &target;
  }

  Program build() && {
    const std::size_t count = p_.kernel->instructions.size();
    if (count > most_steps) {
      note(Oddity::What::size, whole);
      return std::move(p_);
    }
    for (std::uint32_t i = 0; i < count; ++i) survey(i);
    first_agpr_ = unit::first_vgpr + p_.vgprs;
    make_steps();
    make_blocks();
    if (p_.blocks.size() > most_blocks) {
      note(Oddity::What::size, whole);
      p_.steps.clear();
      p_.blocks.clear();
      return std::move(p_);
    }
    make_order();
    return std::move(p_);
  }

 private:
  static constexpr std::uint32_t whole = 0xFFFFFFFF;

  void note(Oddity::What what, std::uint32_t instruction) { p_.oddities.push_back({what, instruction}); }
  const Instruction& at(std::uint32_t i) const { return p_.instruction_at(i); }

  /// Finds how many registers are named, and what is malformed.
  void survey(std::uint32_t i) {
    const Instruction& raw = p_.kernel->instructions[i].inst;
    if (!known(raw.op)) return note(Oddity::What::opcode, i);
    if (!countable(raw)) return note(Oddity::What::operand_count, i);
    const auto look = [&](const Operand& op) {
      if (!op.is_reg()) return;
      if (op.is_virtual) return note(Oddity::What::virtual_register, i);
      if (is_wild(op)) return note(Oddity::What::register_index, i);
      const std::uint32_t end = op.index + op.width;
      if (op.cls == RegClass::vgpr) p_.vgprs = std::max(p_.vgprs, end);
      if (op.cls == RegClass::agpr) p_.agprs = std::max(p_.agprs, end);
    };
    for (unsigned k = 0; k < raw.dst_count; ++k) look(raw.dst[k]);
    for (unsigned k = 0; k < raw.src_count; ++k) look(raw.src[k]);
  }

  void make_steps() {
    const auto count = static_cast<std::uint32_t>(p_.kernel->instructions.size());
    p_.steps.reserve(count);
    p_.accesses.reserve(std::size_t{count} * 5);
    step_of_.assign(count, whole);
    for (std::uint32_t i = 0; i < count;) {
      const bool pair = at(i).dual == isa::Dual::x && i + 1 < count && at(i + 1).dual == isa::Dual::y;
      step_of_[i] = static_cast<std::uint32_t>(p_.steps.size());
      add_step(i, pair ? 2 : 1);
      i += pair ? 2 : 1;
    }
  }

  void add_step(std::uint32_t i, std::uint8_t parts) {
    Step s;
    s.instruction = i;
    s.count = parts;
    const Instruction fixed[2] = {without_indexed(at(i), s), parts > 1 ? at(i + 1) : blank()};
    s.reads = static_cast<std::uint32_t>(p_.accesses.size());
    for (unsigned k = 0; k < parts; ++k) {
      s.traits |= instance_traits(fixed[k], *p_.target);
      append_reads(fixed[k], *p_.target, first_agpr_, p_.accesses);
    }
    s.passes = passes(at(i));
    s.writes = static_cast<std::uint32_t>(p_.accesses.size());
    for (unsigned k = 0; k < parts; ++k) append_writes(fixed[k], *p_.target, first_agpr_, p_.accesses);
    s.end = static_cast<std::uint32_t>(p_.accesses.size());
    p_.steps.push_back(s);
  }

  /// gfx9: between s_set_gpr_idx_on and s_set_gpr_idx_off, M0 is added to the VGPR numbers of VALU operands:
  /// bits 0 to 2 for the sources, bit 3 for the destination. Those operands are taken away.
  Instruction without_indexed(Instruction inst, Step& s) {
    if (inst.op == isa::Opcode::s_set_gpr_idx_on) indexed_ = static_cast<unsigned>(inst.src[1].value);
    if (inst.op == isa::Opcode::s_set_gpr_idx_off) indexed_ = 0;
    if (indexed_ == 0 || (traits(inst.op).bits & trait::valu) == 0) return inst;
    constexpr unsigned sources = 3, destination = 1U << 3;
    for (unsigned k = 0; k < sources && k < inst.src_count; ++k)
      if ((indexed_ >> k & 1) != 0 && inst.src[k].is_vgpr()) inst.src[k] = {};
    if ((indexed_ & destination) != 0 && inst.dst_count > 0 && inst.dst[0].is_vgpr() &&
        !is_wild(inst.dst[0])) {
      s.indexed_write = static_cast<std::uint16_t>(unit::first_vgpr + inst.dst[0].index);
      inst.dst[0] = {};
    }
    return inst;
  }

  /// Step that a branch goes to; `whole` when it goes nowhere.
  std::uint32_t target_of(const Step& s) const {
    const Operand& op = at(s.instruction).src[0];
    if (op.kind != Operand::Kind::label || op.index >= step_of_.size()) return whole;
    return step_of_[op.index];
  }

  static bool leaves(const Step& s) {
    return s.is(trait::branch | trait::end | trait::indirect | trait::past_end);
  }

  void make_blocks() {
    const auto count = static_cast<std::uint32_t>(p_.steps.size());
    std::vector<std::uint8_t> leader(count + 1, 0);
    if (count > 0) leader[0] = 1;
    for (std::uint32_t s = 0; s < count; ++s) {
      if (!leaves(p_.steps[s])) continue;
      leader[s + 1] = 1;
      if (!p_.steps[s].is(trait::branch) || p_.steps[s].is(trait::end | trait::indirect)) continue;
      const std::uint32_t to = target_of(p_.steps[s]);
      if (to != whole) leader[to] = 1;
    }
    p_.block_of.resize(count);
    for (std::uint32_t s = 0; s < count; ++s) {
      if (leader[s] != 0) p_.blocks.push_back({.first = s, .end = s});
      p_.block_of[s] = static_cast<std::uint32_t>(p_.blocks.size() - 1);
      p_.blocks.back().end = s + 1;
    }
    for (Block& b : p_.blocks) connect(b);
  }

  void connect(Block& b) {
    const Step& last = p_.steps[b.end - 1];
    unsigned n = 0;
    if (last.is(trait::indirect)) note(Oddity::What::branch, last.instruction);
    const bool jumps = last.is(trait::branch) && !last.is(trait::end | trait::indirect);
    if (jumps) {
      const std::uint32_t to = target_of(last);
      if (to == whole) {
        note(Oddity::What::branch, last.instruction);
      } else {
        b.next[n++] = p_.block_of[to];
      }
    }
    const bool falls = jumps ? last.is(trait::conditional) : !leaves(last);
    if (falls && b.end < p_.steps.size()) b.next[n++] = p_.block_of[b.end];
  }

  /// Depth first from the entry, without recursion.
  void make_order() {
    p_.reachable.assign(p_.blocks.size(), 0);
    if (p_.blocks.empty()) return;
    std::vector<std::pair<std::uint32_t, unsigned>> stack{{0, 0}};
    p_.reachable[0] = 1;
    while (!stack.empty()) {
      auto& [block, edge] = stack.back();
      if (edge == 2) {
        p_.order.push_back(block);
        stack.pop_back();
        continue;
      }
      const std::uint32_t to = p_.blocks[block].next[edge++];
      if (to == no_block || p_.reachable[to] != 0) continue;
      p_.reachable[to] = 1;
      stack.emplace_back(to, 0);
    }
    std::ranges::reverse(p_.order);
  }

  Program p_;
  unsigned first_agpr_ = 0;
  unsigned indexed_ = 0;  ///< which operands M0 is added to
  std::vector<std::uint32_t> step_of_;
};

std::string tuple(std::string_view prefix, unsigned first, unsigned width) {
  return width == 1 ? fmt::format("{}{}", prefix, first)
                    : fmt::format("{}[{}:{}]", prefix, first, first + width - 1);
}

}  // namespace

const Instruction& Program::instruction_at(std::uint32_t index) const {
  const Instruction& inst = kernel->instructions[index].inst;
  return known(inst.op) && countable(inst) ? inst : blank();
}

Program make_program(const lower::DecodedKernel& kernel, const target::Target& target) {
  return Builder(kernel, target).build();
}

std::string unit_name(const Program& program, unsigned first, unsigned width) {
  namespace sreg = isa::sreg;
  if (first >= unit::first_vgpr + program.vgprs)
    return tuple("a", first - unit::first_vgpr - program.vgprs, width);
  if (first >= unit::first_vgpr) return tuple("v", first - unit::first_vgpr, width);
  if (first == unit::scc) return "scc";
  if (first == unit::lds_stores || first == unit::lds_loads) return "LDS";
  if (first == sreg::vcc_lo) return width == 1 ? "vcc_lo" : "vcc";
  if (first == sreg::vcc_hi) return "vcc_hi";
  if (first == sreg::exec_lo) return width == 1 ? "exec_lo" : "exec";
  if (first == sreg::exec_hi) return "exec_hi";
  if (first == sreg::m0) return "m0";
  if (first >= sreg::flat_scratch_lo)
    return tuple("flat_scratch/xnack ", first - sreg::flat_scratch_lo, width);
  if (first >= sreg::ttmp0) return tuple("ttmp", first - sreg::ttmp0, width);
  return tuple("s", first, width);
}

}  // namespace wavejit::check
