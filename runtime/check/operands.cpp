// SPDX-License-Identifier: MIT
// What can be said of each instruction by itself: that the target has it, that its registers exist and
// are allocated, that tuples start where they may and operands do not overlap as they must not.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/check/accesses.hpp"
#include "runtime/check/analyses.hpp"

namespace wavejit::check {
namespace {

using isa::Opcode;
using isa::Operand;
using isa::RegClass;

class Operands {
 public:
  Operands(const Program& program, Reporter& reporter)
      : p_(program),
        t_(*program.target),
        reporter_(reporter),
        setup_(read_setup(program.kernel->descriptor, t_)) {}

  void oddities() {
    for (const Oddity& o : p_.oddities) {
      switch (o.what) {
        case Oddity::What::opcode:
          reporter_.add(Kind::foreign_instruction, o.instruction, "the opcode is none of the vocabulary");
          break;
        case Oddity::What::operand_count:
          reporter_.add(Kind::operand_rule, o.instruction, "more operands than an instruction can have");
          break;
        case Oddity::What::virtual_register:
          reporter_.add(Kind::operand_rule, o.instruction,
                        "a virtual register is left: registers were not assigned");
          break;
        case Oddity::What::register_index:
          reporter_.add(Kind::register_range, o.instruction, "a register that no register file has");
          break;
        case Oddity::What::branch:
          reporter_.add(Kind::branch_target, o.instruction,
                        "the branch goes where no instruction of the kernel is known to start");
          break;
        case Oddity::What::size:
          reporter_.add(Kind::too_complex,
                        fmt::format("kernels of more than {} instructions or {} basic blocks are not checked",
                                    most_steps, most_blocks));
          break;
      }
    }
  }

  void judge(const Step& s) {
    for (unsigned part = 0; part < s.count; ++part) {
      at_ = s.instruction + part;
      const isa::Instruction& inst = p_.instruction(s, part);
      belongs(inst);
      for (unsigned i = 0; i < inst.dst_count; ++i) look(inst, inst.dst[i]);
      for (unsigned i = 0; i < inst.src_count; ++i) look(inst, inst.src[i]);
      if (inst.pipe() == isa::Pipe::matrix) overlap(inst);
    }
    if (s.is(trait::dual)) pair(s);
  }

 private:
  void belongs(const isa::Instruction& inst) {
    const auto foreign = [&](std::string_view what) {
      reporter_.add(Kind::foreign_instruction, at_, fmt::format("{} has no {}", t_.name, what));
    };
    if (isa::spelling(inst.op, t_.generation).empty()) return foreign(inst.info().name);
    if (inst.op == Opcode::v_dot2_f32_bf16 && !t_.has_v_dot2_f32_bf16) foreign("v_dot2_f32_bf16");
    if (inst.op == Opcode::v_cvt_pk_bf16_f32 && !t_.has_cvt_pk_bf16_f32) foreign("v_cvt_pk_bf16_f32");
    if (inst.op == Opcode::v_dot2_bf16_bf16 && t_.dot2_bf16 == target::Dot2Bf16Rounding::absent)
      foreign("v_dot2_bf16_bf16");
    if (inst.op == Opcode::s_delay_alu && !t_.has_delay_alu) foreign("s_delay_alu");
    if (inst.op == Opcode::s_clause && !t_.has_clause) foreign("s_clause");
    if (inst.dual != isa::Dual::none && !t_.has_vopd) foreign("paired VALU instructions");
    if (inst.mods.lds || inst.has(isa::flag::to_lds)) to_lds(inst, foreign);
  }

  /// Vector loads to LDS are of some widths only.
  template <class Foreign>
  void to_lds(const isa::Instruction& inst, Foreign&& foreign) {
    const std::string_view name = inst.info().name;
    unsigned dwords = 1;  // bytes and words are stored as dwords
    if (name.ends_with("b64")) dwords = 2;
    if (name.ends_with("b96")) dwords = 3;
    if (name.ends_with("b128")) dwords = 4;
    if ((t_.lds_dma_dwords >> (dwords - 1) & 1) == 0)
      foreign(fmt::format("loads of {} dwords to LDS", dwords));
  }

  void look(const isa::Instruction& inst, const Operand& op) {
    if (!op.is_reg() || op.is_virtual || is_wild(op)) return;
    switch (op.cls) {
      case RegClass::vgpr:
        vgpr_range(op);
        break;
      case RegClass::agpr:
        if (!t_.has_agprs) {
          reporter_.add(Kind::foreign_instruction, at_, fmt::format("{} has no AGPRs", t_.name));
          return;
        }
        range(op, "AGPR", setup_.agprs, "RSRC1 behind accum_offset");
        break;
      case RegClass::sgpr:
        if (op.index < isa::sreg::vcc_lo) range(op, "SGPR", setup_.sgprs, "the target");
        break;
    }
    aligned(inst, op);
  }

  /// With AGPRs, v[accum_offset] is a0 by another name: LLVM refuses to assemble that, AMD's kernels do it.
  void vgpr_range(const Operand& op) {
    const unsigned all = std::min<unsigned>(setup_.allocated, t_.addressable_vgprs);
    if (std::uint64_t{op.index} + op.width > all || !t_.has_agprs) return range(op, "VGPR", all, "RSRC1");
    if (op.index + op.width <= setup_.vgprs) return;
    reporter_.add(Kind::register_range,
                  RuleName{.text = "a VGPR from accum_offset on", .source = Source::llvm}, at_,
                  fmt::format("VGPR {} is an AGPR by another name: accum_offset is {}",
                              op.index + op.width - 1, setup_.vgprs));
  }

  void range(const Operand& op, std::string_view what, unsigned limit, std::string_view by) {
    const std::uint64_t last = std::uint64_t{op.index} + op.width - 1;
    if (last < limit) return;
    reporter_.add(Kind::register_range, at_,
                  fmt::format("{} {} is beyond the {} that {} gives the kernel", what, last, limit, by));
  }

  void aligned(const isa::Instruction& inst, const Operand& op) {
    if (op.width < 2) return;
    unsigned need = t_.vgpr_tuple_align;
    if (op.is_sgpr()) need = op.width == 2 ? 2 : 4;
    // TTMPs count from their own base, which is a multiple of 4.
    if (op.index % need == 0) return;
    const char letter = op.is_sgpr() ? 's' : op.is_vgpr() ? 'v' : 'a';
    reporter_.add(Kind::tuple_alignment, at_,
                  fmt::format("{}[{}:{}] of {} must start at a multiple of {}", letter, op.index,
                              op.index + op.width - 1, inst.info().name, need));
  }

  static bool meets(const Operand& a, const Operand& b) {
    if (!a.is_reg() || !b.is_reg() || a.cls != b.cls) return false;
    return std::uint64_t{a.index} < std::uint64_t{b.index} + b.width &&
           std::uint64_t{b.index} < std::uint64_t{a.index} + a.width;
  }

  /// hardware.md §2.1, §2.4: D is C, or apart from it; D is apart from A and B. LLVM leaves MFMA results
  /// of four registers free of both.
  void overlap(const isa::Instruction& inst) {
    constexpr unsigned free_width = 4;
    const Operand& d = inst.dst[0];
    if (inst.dst_count == 0 || !d.is_reg()) return;
    if (t_.generation == target::Generation::gfx9 && d.width <= free_width) return;
    const auto complain = [&](std::string_view what) {
      reporter_.add(Kind::operand_rule, at_, fmt::format("the result overlaps {}", what));
    };
    if (inst.src_count > 0 && meets(d, inst.src[0])) complain("A; they must be apart");
    if (inst.src_count > 1 && meets(d, inst.src[1])) complain("B; they must be apart");
    if (inst.src_count < 3 || !meets(d, inst.src[2])) return;
    if (d.index != inst.src[2].index || d.width != inst.src[2].width)
      complain("a part of C; it must be C itself or apart");
  }

  /// hardware.md §3.1: the halves of a pair read their sources from different banks and write one even
  /// and one odd register.
  void pair(const Step& s) {
    at_ = s.instruction;
    if (s.count != 2) {
      reporter_.add(Kind::operand_rule, at_, "half of a pair of VALU instructions stands alone");
      return;
    }
    const isa::Instruction& x = p_.instruction(s, 0);
    const isa::Instruction& y = p_.instruction(s, 1);
    const auto clash = [](const Operand& a, const Operand& b, unsigned banks) {
      return a.is_vgpr() && b.is_vgpr() && a.index % banks == b.index % banks;
    };
    const unsigned banks = t_.vgpr_banks == 0 ? 4 : t_.vgpr_banks;
    for (unsigned i = 0; i < 2; ++i) {
      if (!clash(x.src[i], y.src[i], banks)) continue;
      reporter_.add(Kind::operand_rule, at_,
                    fmt::format("source {} of both halves, v{} and v{}, lies in one bank of {}", i,
                                x.src[i].index, y.src[i].index, banks));
    }
    if (clash(x.dst[0], y.dst[0], 2))
      reporter_.add(Kind::operand_rule, at_,
                    fmt::format("the halves write v{} and v{}: one must be even and one odd", x.dst[0].index,
                                y.dst[0].index));
  }

  const Program& p_;
  const target::Target& t_;
  Reporter& reporter_;
  Setup setup_;
  std::uint32_t at_ = 0;
};

}  // namespace

void check_operands(const Program& program, Reporter& reporter) {
  Operands operands(program, reporter);
  operands.oddities();
  for (const Step& s : program.steps) operands.judge(s);
}

}  // namespace wavejit::check
