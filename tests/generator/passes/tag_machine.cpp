// SPDX-License-Identifier: MIT
#include "tests/generator/passes/tag_machine.hpp"

#include <fmt/format.h>

#include <map>
#include <random>
#include <tuple>

#include "generator/ir/names.hpp"

namespace wavejit::test {
namespace {

using isa::Opcode;
using isa::Operand;

/// Class, register or tuple id, dword within a tuple, lane, half.
using Place = std::tuple<isa::RegClass, bool, std::uint32_t, unsigned, unsigned, unsigned>;
using Values = std::map<Place, std::uint64_t>;

Place place(const Operand& o, unsigned dword, unsigned lane, unsigned half) {
  if (o.is_virtual) return {o.cls, true, o.index, o.sub + dword, lane, half};
  return {o.cls, false, o.index + dword, 0, lane, half};
}

bool is_copy(const isa::Instruction& inst) {
  return (inst.op == Opcode::v_mov_b32 || inst.op == Opcode::s_mov_b32) && inst.src[0].is_reg() &&
         inst.src[0].cls == inst.dst[0].cls;
}

bool is_named_exec(const Operand& o) { return o.is_physical(isa::RegClass::sgpr, isa::sreg::exec_lo); }

class Machine {
 public:
  Machine(const ir::Kernel& before, const ir::Kernel& after, unsigned seed)
      : before_(before), after_(after), random_(seed) {}

  std::optional<std::string> run(unsigned steps) {
    const ir::EntryState &v = before_.entry, &p = after_.entry;
    enter(v.kernarg, p.kernarg);
    for (unsigned i = 0; i < 3; ++i) enter(v.workgroup_id[i], p.workgroup_id[i]);
    enter(v.workitem_id, p.workitem_id);
    std::size_t block = 0;
    std::map<std::size_t, std::int64_t> trips;
    while (steps > 0) {
      const ir::Block& b = before_.blocks[block];
      if (!run_block(block, steps)) return failure_;
      const isa::Instruction* last = b.insts.empty() ? nullptr : &b.insts.back().mi;
      if (b.loop) {
        if (!update_inductions(*b.loop, *after_.blocks[block].loop)) return failure_;
        if (++trips[block] < b.loop->trip_count) continue;
        trips[block] = 0;
      }
      if (last != nullptr && last->op == Opcode::s_endpgm) return std::nullopt;
      const bool taken = last != nullptr && last->pipe() == isa::Pipe::branch &&
                         (last->op == Opcode::s_branch || random_() % 2 == 0);
      block = taken ? last->src[0].index : block + 1;
    }
    return std::nullopt;
  }

 private:
  void enter(const Operand& virt, const Operand& physical) {
    if (virt.is_reg()) define(virt, physical, 3, true);
  }

  bool update_inductions(const ir::CountedLoop& loop, const ir::CountedLoop& assigned) {
    for (std::size_t i = 0; i < loop.inductions.size(); ++i) {
      if (!read(loop.inductions[i].reg, assigned.inductions[i].reg, "induction")) return false;
      define(loop.inductions[i].reg, assigned.inductions[i].reg, 3, true);
    }
    return true;
  }

  bool fail(const std::string& text) {
    failure_ = text;
    return false;
  }

  bool run_block(std::size_t block, unsigned& steps) {
    const auto& others = after_.blocks[block].insts;
    std::size_t j = 0;
    for (const ir::Instruction& inst : before_.blocks[block].insts) {
      if (steps > 0) --steps;
      if (j < others.size() && others[j].comment == inst.comment) {
        if (!execute(inst.mi, others[j++].mi)) return false;
      } else if (is_copy(inst.mi)) {
        copy(virtual_, inst.mi.dst[0], inst.mi.src[0]);  // dropped: both sides are one register
      } else {
        return fail(ir::instruction_text(before_, inst.mi) + ": no copy, but it is gone");
      }
    }
    return j == others.size() || fail("the assigned block has more instructions");
  }

  bool execute(const isa::Instruction& inst, const isa::Instruction& other) {
    const std::string text = ir::instruction_text(before_, inst);
    if (!same_form(inst, other)) return fail(text + ": the assigned instruction differs");
    for (unsigned i = 0; i < inst.src_count; ++i)
      if (inst.src[i].is_reg() && !read(inst.src[i], other.src[i], text)) return false;
    if (inst.op == Opcode::v_fmac_f32 && !read(inst.dst[0], other.dst[0], text)) return false;
    if (!overlaps_rightly(other))
      return fail(text + ": the destination overlaps a source that is still read");
    if (is_copy(inst)) {
      copy(virtual_, inst.dst[0], inst.src[0]);
      copy(physical_, other.dst[0], other.src[0]);
      return true;
    }
    const unsigned halves = inst.op != Opcode::v_dot2_bf16_bf16 ? 3 : (inst.mods.op_sel & 8) != 0 ? 2 : 1;
    for (unsigned i = 0; i < inst.dst_count; ++i)
      if (inst.dst[i].is_reg()) define(inst.dst[i], other.dst[i], halves, inst.dst[i].is_sgpr());
    if (inst.op == Opcode::s_and_saveexec_b32) all_lanes_ = false;
    if (inst.dst_count > 0 && is_named_exec(inst.dst[0])) all_lanes_ = true;
    return true;
  }

  /// Equal but for the registers, which are all physical in the assigned one.
  static bool same_form(const isa::Instruction& a, const isa::Instruction& b) {
    isa::Instruction expected = a;
    const auto take_register = [](Operand& o, const Operand& assigned) {
      if (!o.is_reg() || !o.is_virtual) return;
      o.is_virtual = false;
      o.sub = 0;
      o.index = assigned.index;
    };
    for (unsigned i = 0; i < a.dst_count; ++i) take_register(expected.dst[i], b.dst[i]);
    for (unsigned i = 0; i < a.src_count; ++i) take_register(expected.src[i], b.src[i]);
    return expected == b;
  }

  /// Matrix instructions write D before A and B are read to the end.
  static bool overlaps_rightly(const isa::Instruction& inst) {
    if (inst.pipe() != isa::Pipe::matrix) return true;
    const Operand& d = inst.dst[0];
    const auto meet = [&](const Operand& o) {
      return d.index < o.index + o.width && o.index < d.index + d.width;
    };
    if (meet(inst.src[0]) || meet(inst.src[1])) return false;
    const Operand& c = inst.src[2];
    return !c.is_vgpr() || !meet(c) || c.index == d.index;
  }

  void define(const Operand& virt, const Operand& physical, unsigned halves, bool every_lane) {
    for (unsigned d = 0; d < virt.width; ++d)
      for (unsigned lane = 0; lane < (all_lanes_ || every_lane ? 2U : 1U); ++lane)
        for (unsigned h = 0; h < 2; ++h)
          if ((halves >> h & 1) != 0) {
            ++next_tag_;
            virtual_[place(virt, d, lane, h)] = next_tag_;
            physical_[place(physical, d, lane, h)] = next_tag_;
          }
  }

  void copy(Values& values, const Operand& to, const Operand& from) const {
    for (unsigned lane = 0; lane < (all_lanes_ || to.is_sgpr() ? 2U : 1U); ++lane)
      for (unsigned h = 0; h < 2; ++h) values[place(to, 0, lane, h)] = values[place(from, 0, lane, h)];
  }

  /// A tag of 0 is nothing written yet in that lane; the program does not depend on it.
  bool read(const Operand& virt, const Operand& physical, const std::string& text) {
    for (unsigned d = 0; d < virt.width; ++d)
      for (unsigned lane = 0; lane < (all_lanes_ || virt.is_sgpr() ? 2U : 1U); ++lane)
        for (unsigned h = 0; h < 2; ++h) {
          const std::uint64_t want = virtual_[place(virt, d, lane, h)];
          if (want != 0 && physical_[place(physical, d, lane, h)] != want)
            return fail(fmt::format("{}: {} in register {}, dword {}, lane {}, half {} was overwritten", text,
                                    ir::operand_text(before_, virt), physical.index, d, lane, h));
        }
    return true;
  }

  const ir::Kernel& before_;
  const ir::Kernel& after_;
  std::mt19937 random_;
  Values virtual_, physical_;
  std::uint64_t next_tag_ = 0;
  bool all_lanes_ = true;
  std::string failure_;
};

}  // namespace

void number_instructions(ir::Kernel& kernel) {
  unsigned number = 0;
  for (ir::Block& block : kernel.blocks)
    for (ir::Instruction& inst : block.insts) inst.comment = std::to_string(number++);
}

std::optional<std::string> compare_on_random_path(const ir::Kernel& before, const ir::Kernel& after,
                                                  unsigned seed, unsigned steps) {
  return Machine(before, after, seed).run(steps);
}

}  // namespace wavejit::test
