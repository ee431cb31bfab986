// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "generator/ir/verify_rules.hpp"

namespace wavejit::ir::rules {
namespace {

using isa::Opcode;
using isa::Operand;
using isa::Pipe;
namespace flag = isa::flag;

/// 0.5, 1, 2, 4, their negatives and 1/(2 pi), as f32 bits: encoded without a literal.
constexpr std::array inline_floats{0x3F000000U, 0xBF000000U, 0x3F800000U, 0xBF800000U, 0x40000000U,
                                   0xC0000000U, 0x40800000U, 0xC0800000U, 0x3E22F983U};

bool is_inline_float(std::int64_t bits) {
  return std::ranges::any_of(inline_floats,
                             [&](std::uint32_t f) { return static_cast<std::uint32_t>(bits) == f; });
}

/// fmaak, fmamk: their constant is always a literal dword.
bool has_literal_slot(Opcode op) { return op == Opcode::v_fmaak_f32 || op == Opcode::v_fmamk_f32; }

bool is_valu(Pipe pipe) {
  return pipe == Pipe::valu || pipe == Pipe::trans || pipe == Pipe::dot || pipe == Pipe::matrix;
}

/// Distinct values among at most isa::max_src.
class DistinctSet {
 public:
  void add(const Operand& o) {
    const auto same = [&](const Operand& other) {
      return o.kind == other.kind && o.index == other.index && o.sub == other.sub && o.width == other.width &&
             o.is_virtual == other.is_virtual && o.value == other.value;
    };
    if (std::none_of(members_.begin(), members_.begin() + count_, same)) members_[count_++] = o;
  }
  [[nodiscard]] unsigned count() const { return count_; }

 private:
  std::array<Operand, isa::max_src> members_{};
  unsigned count_ = 0;
};

Operand literal(std::int64_t value) { return isa::imm(static_cast<std::uint32_t>(value)); }

struct Sources {
  DistinctSet literals, scalars;
};

Sources classify(const isa::Instruction& inst, const target::Target& target) {
  Sources result;
  const isa::Signature sig = isa::signature(inst.op, target);
  for (unsigned i = 0; i < inst.src_count; ++i) {
    const Operand& o = inst.src[i];
    const bool immediate = sig.src[i].cls == 'i' && !has_literal_slot(inst.op);
    const bool needs_literal =
        sig.src[i].cls == 'i' || (!isa::is_inline_integer(o.value) && !is_inline_float(o.value));
    if (o.kind == Operand::Kind::imm && !immediate && needs_literal) {
      result.literals.add(literal(o.value));
      result.scalars.add(literal(o.value));
    }
    if ((o.is_sgpr() && !o.is_physical(isa::RegClass::sgpr, isa::sreg::null)) ||
        o.kind == Operand::Kind::special)
      result.scalars.add(o);
  }
  return result;
}

Result<void> constant_values(const Place& place) {
  const isa::Signature sig = isa::signature(place.inst->op, *place.kernel.target);
  for (unsigned i = 0; i < place.inst->src_count; ++i) {
    const Operand& o = place.inst->src[i];
    if (o.kind == Operand::Kind::fimm && !is_inline_float(o.value))
      return broken(place, "a float constant", fmt::format("{:#x}", o.value), "one of the inline floats");
    if (o.kind != Operand::Kind::imm) continue;
    const bool simm16 = sig.src[i].cls == 'i' && place.inst->pipe() != Pipe::valu &&
                        place.inst->op != Opcode::s_setreg_imm32_b32;
    const std::int64_t low = simm16 ? -0x8000 : -0x80000000LL;
    const std::int64_t high = simm16 ? 0xFFFF : 0xFFFFFFFFLL;
    if (o.value < low || o.value > high)
      return broken(place, "a constant", std::to_string(o.value), fmt::format("{}..{}", low, high));
  }
  return {};
}

/// Why a literal has no room in the instruction's encoding; empty if it has.
std::string_view literal_refused(const isa::Instruction& inst, const target::Target& target) {
  if (inst.pipe() == Pipe::matrix) return "matrix instructions take inline constants only";
  if (inst.has(flag::buffer)) return "soffset takes an SGPR or an inline constant";
  if (inst.mods.dpp.kind != isa::Dpp::Kind::none) return "DPP instructions take no literal";
  if (inst.op == Opcode::v_readlane_b32) return "a lane select takes an SGPR or an inline constant";
  const bool vop3 =
      inst.has(flag::vop3p) || (is_valu(inst.pipe()) && inst.src_count >= 3 && !has_literal_slot(inst.op));
  if (vop3 && !target.vop3_literal) return "the target's VOP3 encoding takes no literal";
  return {};
}

/// Source that the encoding can only take from a VGPR, or -1.
int vgpr_only_source(const isa::Instruction& inst) {
  if (inst.mods.dpp.kind != isa::Dpp::Kind::none) return 0;
  switch (inst.op) {
    case Opcode::v_fmaak_f32:
    case Opcode::v_dot2acc_f32_f16:
    case Opcode::v_dot2acc_f32_bf16:
      return 1;
    case Opcode::v_fmamk_f32:
      return 2;
    default:
      return -1;
  }
}

}  // namespace

Result<void> constants(const Place& place) {
  const isa::Instruction& inst = *place.inst;
  const target::Target& target = *place.kernel.target;
  if (auto r = constant_values(place); !r) return r;
  const Sources sources = classify(inst, target);
  if (sources.literals.count() > 1)
    return broken(place, "the number of literals", std::to_string(sources.literals.count()), "at most 1");
  const std::string_view refused = literal_refused(inst, target);
  if (sources.literals.count() > 0 && !refused.empty())
    return broken(place, "the number of literals", "1", fmt::format("0: {}", refused));
  if (is_valu(inst.pipe()) && sources.scalars.count() > target.valu_scalar_reads)
    return broken(place, "the number of distinct scalar operands (SGPRs and literals)",
                  std::to_string(sources.scalars.count()),
                  fmt::format("at most {}", target.valu_scalar_reads));
  const int only = vgpr_only_source(inst);
  if (only >= 0 && !inst.src[static_cast<unsigned>(only)].is_vgpr())
    return broken(place, fmt::format("source operand {}", only), "not a VGPR", "a VGPR in this encoding");
  return {};
}

}  // namespace wavejit::ir::rules
