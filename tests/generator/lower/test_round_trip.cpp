// SPDX-License-Identifier: MIT
// Text and machine code keep an instruction as it was. For every opcode and several choices of
// operands and modifiers: print, let LLVM assemble and disassemble, parse, compare. LLVM is the
// independent side: what we print wrongly it refuses or encodes as something else.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <random>

#include "generator/isa/instruction.hpp"
#include "tests/generator/lower/text_kernel.hpp"

namespace wavejit {
namespace {

using isa::Dual;
using isa::Half;
using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Pipe;

/// Draws operands and modifiers that the hardware encodes; what it cannot encode is not drawn.
class Generator {
 public:
  Generator(const target::Target& target, unsigned seed) : target_(target), random_(seed) {}

  Instruction draw(Opcode op) {
    Instruction inst;
    inst.op = op;
    const isa::Signature sig = isa::signature(op, target_);
    inst.dst_count = sig.dst_count;
    inst.src_count = sig.src_count;
    literal_used_ = false;
    scalars_left_ = 1;
    no_literal_ = mentions(inst, "fma_mix");  // its sources may be f16
    has_immediate_literal_ = has_literal(inst);
    for (unsigned i = 0; i < sig.dst_count; ++i) inst.dst[i] = operand(inst, sig.dst[i], true);
    for (unsigned i = 0; i < sig.src_count; ++i) inst.src[i] = operand(inst, sig.src[i], false);
    special_forms(inst);
    modifiers(inst);
    return inst;
  }

 private:
  unsigned below(unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(random_); }

  static bool sopk(const Instruction& inst) {
    return inst.pipe() == Pipe::salu && inst.info().signature.ends_with("i1") && mentions(inst, "k_");
  }

  static bool has_literal(const Instruction& inst) {
    return mentions(inst, "fmaak") || mentions(inst, "fmamk");
  }

  static bool mentions(const Instruction& inst, std::string_view part) {
    return inst.info().name.find(part) != std::string_view::npos;
  }

  Operand operand(const Instruction& inst, const isa::OperandSpec& spec, bool is_dst) {
    const unsigned width = spec.width == 0 ? default_width(inst) : spec.width;
    switch (spec.cls) {
      case 'v':
      case 'a':
      case 'A':
        return isa::vgpr(below(registers(inst)), width);
      case 'S':
        return isa::sgpr(below(20) * 4, width);
      case 'n':
        return isa::sgpr(below(20) * 4, width);
      case 'M':
        return mask(inst, is_dst);
      case 'i':
        return immediate(inst);
      case 's':
        return scalar(inst, width);
      default:
        return vector_source(inst, spec.cls, width);
    }
  }

  /// These have only the short encoding, in which halves reach the first 128 registers.
  static unsigned registers(const Instruction& inst) {
    const bool short_only = (has_literal(inst) && mentions(inst, "f16")) || inst.op == Opcode::v_swap_b16;
    return short_only ? 128 : 200;
  }

  static unsigned default_width(const Instruction& inst) {
    if (inst.pipe() != Pipe::matrix) return 2;
    if (mentions(inst, "iu4")) return 2;
    return mentions(inst, "iu8") ? 4 : 8;
  }

  /// Only VOP3 forms take a mask other than VCC, and not every opcode has one for both.
  Operand mask(const Instruction& inst, bool is_dst) {
    const bool plain = !is_dst && inst.pipe() == Pipe::valu;
    return plain || below(2) == 0 ? isa::sgpr(below(100)) : isa::vcc(target_.wave_size);
  }

  Operand immediate(const Instruction& inst) {
    if (has_immediate_literal_) return isa::imm(mentions(inst, "f16") ? 0x4248 : 0x40490FDB);
    if (inst.op == Opcode::s_setreg_b32 || inst.op == Opcode::s_getreg_b32) return isa::imm(0x1801);
    if (inst.op == Opcode::s_setreg_imm32_b32)
      return isa::imm(inst.src[0].kind == Operand::Kind::imm ? 3 : 0x0801);
    if (inst.op == Opcode::s_waitcnt) return isa::imm(below(8) | below(64) << 4 | below(64) << 10);
    if (inst.op == Opcode::s_delay_alu) return isa::imm(below(12) | below(6) << 4 | below(12) << 7);
    if (inst.op == Opcode::s_waitcnt_depctr) return isa::imm(0xFF9F & ~(1U << below(5)) & ~(below(16) << 12));
    if (inst.op == Opcode::s_sendmsg) return isa::imm(3);
    if (mentions(inst, "u32")) return isa::imm(below(65536));
    if (sopk(inst)) return isa::imm(static_cast<std::int64_t>(below(65536)) - 32768);
    return isa::imm(below(4));
  }

  Operand constant(unsigned width) {
    const unsigned kind = below(3);
    if (kind == 0) return isa::imm(static_cast<std::int64_t>(below(81)) - 16);
    static constexpr std::uint32_t floats[] = {0x3F000000, 0xBF000000, 0x3F800000, 0xBF800000, 0x40000000,
                                               0xC0000000, 0x40800000, 0xC0800000, 0x3E22F983};
    if (kind == 1) return isa::fimm(floats[below(9)]);
    // 64-bit operands take the literal in ways that depend on their type; a small one is the same in all.
    if (literal_used_ || has_immediate_literal_ || no_literal_ || width > 1) return isa::imm(7);
    literal_used_ = true;
    return isa::imm(0x12340000 + below(1000));
  }

  Operand scalar(const Instruction& inst, unsigned width) {
    if (inst.has(isa::flag::buffer) || inst.pipe() == Pipe::smem) return memory_offset(inst);
    const bool lane_select = inst.pipe() == Pipe::valu;
    const unsigned kind = below(5);
    if (kind == 0 && !lane_select) return constant(width);
    if (kind == 1 && width == 1) return lane_select ? isa::imm(below(32)) : isa::sgpr(isa::sreg::vcc_hi);
    if (kind == 2 && width == 1) return isa::m0();
    return isa::sgpr(below(50) * 2, width);
  }

  Operand memory_offset(const Instruction& inst) {
    if (inst.pipe() == Pipe::smem) return below(2) == 0 ? isa::imm(below(1000) * 4) : isa::sgpr(below(100));
    switch (below(3)) {
      case 0:
        return isa::null_reg();
      case 1:
        return isa::imm(below(65));
      default:
        return isa::sgpr(below(100));
    }
  }

  Operand vector_source(const Instruction& inst, char cls, unsigned width) {
    // A 16-bit source takes constants of its own size; those are tested by themselves.
    const bool must_be_vector = cls == 'k' || inst.has(isa::flag::tied) || has_immediate_literal_ ||
                                mentions(inst, "co_ci") || width > 1;
    const unsigned kind = below(4);
    if (kind < 2 || must_be_vector) return isa::vgpr(below(registers(inst)), width);
    // The second source of the short encodings must be a VGPR; the long one allows a scalar but
    // some opcodes have only one of them. One scalar or constant per instruction fits all.
    if (scalars_left_ == 0) return isa::vgpr(below(registers(inst)), width);
    scalars_left_ = 0;
    return kind == 2 ? isa::sgpr(below(100), width) : constant(width);
  }

  void special_forms(Instruction& inst) {
    if (inst.has(isa::flag::buffer)) buffer_form(inst);
    if (inst.has(isa::flag::flat)) flat_form(inst);
    if (inst.op == Opcode::s_waitcnt_vscnt) inst.src[0] = isa::null_reg();
    if (inst.op == Opcode::v_permlane16_b32 || inst.op == Opcode::v_permlanex16_b32) {
      inst.src[1] = isa::sgpr(below(100));
      inst.src[2] = isa::imm(below(60));
    }
    if (inst.op == Opcode::v_readlane_b32) inst.src[1] = isa::imm(below(32));
    if (inst.op == Opcode::v_writelane_b32) inst.src[0] = isa::sgpr(below(100));
  }

  void buffer_form(Instruction& inst) {
    const unsigned address = inst.src_count - 3U;
    switch (below(3)) {
      case 0:
        inst.src[address] = Operand{};
        break;
      case 1:
        inst.mods.offen = true;
        break;
      default:
        inst.mods.offen = inst.mods.idxen = true;
        inst.src[address].width = 2;
    }
    inst.mods.offset = static_cast<std::int32_t>(below(4096));
    inst.mods.slc = below(2) == 0;
    inst.mods.dlc = below(2) == 0;
    return_form(inst);
  }

  /// Atomics return the old value exactly when GLC is set.
  void return_form(Instruction& inst) {
    inst.mods.glc = below(2) == 0;
    if (inst.has(isa::flag::atomic) && !inst.mods.glc) {
      inst.dst_count = 0;
      inst.dst[0] = Operand{};
    }
    if (inst.has(isa::flag::atomic) && inst.has(isa::flag::buffer) && inst.mods.glc)
      inst.dst[0] = inst.src[0];
  }

  void flat_form(Instruction& inst) {
    inst.mods.offset = static_cast<std::int32_t>(below(4096));
    if (inst.info().name.starts_with("flat")) return;
    const bool scratch = mentions(inst, "scratch");
    Operand& base = inst.src[inst.src_count - 1U];
    Operand& address = inst.src[0];
    if (below(2) == 0) base = isa::null_reg();
    const bool based = base != isa::null_reg();
    if (scratch) {
      if (based || below(2) == 0) address = Operand{};
    } else {
      address.width = based ? 1 : 2;
    }
    if (below(2) == 0) inst.mods.offset -= 4096;
    return_form(inst);
  }

  void modifiers(Instruction& inst) {
    isa::Modifiers& m = inst.mods;
    if (inst.pipe() == Pipe::lds) {
      if (mentions(inst, "2addr")) {
        m.offset0 = static_cast<std::uint8_t>(below(256));
        m.offset1 = static_cast<std::uint8_t>(below(256));
      } else {
        m.offset = static_cast<std::int32_t>(below(65536));
      }
    }
    if (inst.pipe() == Pipe::smem && inst.src[1].is_reg() && below(2) == 0) m.offset = 64;
    if (inst.op == Opcode::v_permlane16_b32) m.op_sel = static_cast<std::uint8_t>(below(4));
    if (mentions(inst, "fma_mix")) {
      m.op_sel = static_cast<std::uint8_t>(below(8));
      m.op_sel_hi = static_cast<std::uint8_t>(below(8));
      inst.src[0].neg = below(2) == 0;
      inst.src[1].abs = inst.src[1].is_reg();
    } else if (mentions(inst, "v_pk_")) {
      const unsigned sources = 1U << inst.src_count;
      m.op_sel = static_cast<std::uint8_t>(below(sources));
      m.op_sel_hi = static_cast<std::uint8_t>((7U & ~(sources - 1)) | below(sources));
      if (mentions(inst, "f16")) m.neg_lo = static_cast<std::uint8_t>(below(sources));
      if (mentions(inst, "f16")) m.neg_hi = static_cast<std::uint8_t>(below(sources));
    } else if (mentions(inst, "iu8") || mentions(inst, "iu4")) {
      m.neg_lo = static_cast<std::uint8_t>(below(4));
      m.clamp = below(2) == 0;
    } else if (float_math(inst)) {
      float_modifiers(inst);
    }
  }

  /// Opcodes whose long encoding takes signs, clamp and output scale.
  static bool float_math(const Instruction& inst) {
    const std::string_view name = inst.info().name;
    if (inst.pipe() != Pipe::valu || !name.ends_with("_f32") || mentions(inst, "cvt") ||
        mentions(inst, "cmp"))
      return false;
    return !has_literal(inst) && name != "v_ldexp_f32" && !name.starts_with("v_frexp") &&
           name != "v_div_scale_f32";
  }

  void float_modifiers(Instruction& inst) {
    const unsigned kind = below(6);
    // The long encoding of these takes any source but on gfx11 one literal at most, which stays.
    Operand& first = inst.src[0];
    if (kind == 0 && first.is_reg()) first.neg = true;
    if (kind == 1 && first.is_reg()) first.neg = first.abs = true;
    if (kind == 2) inst.mods.clamp = true;
    if (kind == 3) inst.mods.omod = static_cast<std::uint8_t>(1 + below(3));
    const bool dpp = inst.src[0].is_vgpr() && inst.src[1].is_vgpr() && inst.src_count == 2 &&
                     inst.mods.omod == 0 && !inst.mods.clamp && !inst.has(isa::flag::tied);
    if (kind == 4 && dpp) inst.mods.dpp = row_operation();
    if (kind == 5 && dpp) {
      inst.mods.dpp.kind = isa::Dpp::Kind::dpp8;
      inst.mods.dpp.lanes = below(1U << 24);
    }
  }

  isa::Dpp row_operation() {
    static constexpr std::uint16_t controls[] = {0x000, 0x0E4, 0x0B1, 0x101, 0x10F, 0x111, 0x11F, 0x121,
                                                 0x12F, 0x140, 0x141, 0x150, 0x15F, 0x160, 0x16F};
    isa::Dpp dpp;
    dpp.kind = isa::Dpp::Kind::dpp16;
    dpp.ctrl = controls[below(15)];
    dpp.row_mask = static_cast<std::uint8_t>(below(16));
    dpp.bank_mask = static_cast<std::uint8_t>(below(16));
    dpp.bound_ctrl = below(2) == 0;
    dpp.fi = below(2) == 0;
    return dpp;
  }

  const target::Target& target_;
  std::mt19937 random_;
  bool literal_used_ = false, has_immediate_literal_ = false, no_literal_ = false;
  unsigned scalars_left_ = 1;
};

std::vector<Instruction> reparse(const std::vector<Instruction>& instructions, const target::Target& target) {
  std::string body;
  for (const Instruction& inst : instructions) body += "\t" + isa::to_text(inst, target) + "\n";
  const lower::CodeObject object = test::build(test::kernel_text("k", body, target), target);
  std::vector<Instruction> result;
  for (const lower::DecodedInstruction& d : object.kernels.at(0).instructions) result.push_back(d.inst);
  return result;
}

/// LLVM names the low half of a 16-bit operand; the printer may leave it out.
Instruction without_low(Instruction inst) {
  for (Operand& o : inst.dst)
    if (o.half == Half::low) o.half = Half::whole;
  for (Operand& o : inst.src)
    if (o.half == Half::low) o.half = Half::whole;
  return inst;
}

std::vector<Opcode> printable_opcodes(const target::Target& target) {
  std::vector<Opcode> result;
  for (unsigned i = 1; i < static_cast<unsigned>(Opcode::count_); ++i) {
    const auto op = static_cast<Opcode>(i);
    // Branches are tested with labels; they cannot stand alone.
    if (isa::info(op).pipe == Pipe::branch && op != Opcode::s_endpgm) continue;
    if (!isa::spelling(op, target.generation).empty()) result.push_back(op);
  }
  return result;
}

TEST_CASE("every opcode survives printing, assembling, disassembling and parsing", "[isa][lower]") {
  const target::Target& target = test::table("gfx1151");
  const unsigned seed = GENERATE(1U, 2U, 3U, 4U, 5U, 6U);
  Generator generator(target, seed);
  std::vector<Instruction> drawn;
  for (const Opcode op : printable_opcodes(target)) drawn.push_back(generator.draw(op));
  const std::vector<Instruction> parsed = reparse(drawn, target);
  REQUIRE(parsed.size() == drawn.size());
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    INFO(isa::to_text(drawn[i], target) << "  ->  " << isa::to_text(parsed[i], target));
    CHECK(without_low(parsed[i]) == drawn[i]);
  }
}

TEST_CASE("16-bit halves survive the round trip", "[isa][lower]") {
  const target::Target& target = test::table("gfx1151");
  Generator generator(target, 7);
  std::mt19937 random(8);
  std::vector<Instruction> drawn;
  for (const Opcode op : printable_opcodes(target)) drawn.push_back(generator.draw(op));
  std::vector<Instruction> halves;
  for (Instruction inst : reparse(drawn, target)) {
    if (without_low(inst) == inst) continue;
    const auto flip = [&](Operand& o, unsigned bit) {
      if (o.half != Half::low || random() % 2 == 0) return;
      // Short encodings reach only the first 128 registers; the assembler takes the long one then.
      o.half = Half::high;
      inst.mods.op_sel |= static_cast<std::uint8_t>(1U << bit);
    };
    for (unsigned i = 0; i < inst.src_count; ++i) flip(inst.src[i], i);
    for (unsigned i = 0; i < inst.dst_count; ++i) flip(inst.dst[i], inst.src_count);
    halves.push_back(inst);
  }
  REQUIRE(halves.size() > 30);  // v_add_f16 and its like
  const std::vector<Instruction> parsed = reparse(halves, target);
  REQUIRE(parsed.size() == halves.size());
  for (std::size_t i = 0; i < halves.size(); ++i) {
    INFO(isa::to_text(halves[i], target) << "  ->  " << isa::to_text(parsed[i], target));
    CHECK(parsed[i] == halves[i]);
  }
}

TEST_CASE("dual pairs survive the round trip", "[isa][lower]") {
  const target::Target& target = test::table("gfx1151");
  const auto make = [](Opcode op, Dual dual, std::vector<Operand> operands) {
    Instruction inst;
    inst.op = op;
    inst.dual = dual;
    inst.dst_count = 1;
    inst.dst[0] = operands[0];
    for (std::size_t i = 1; i < operands.size(); ++i) inst.src[inst.src_count++] = operands[i];
    return inst;
  };
  const auto v = [](unsigned i) { return isa::vgpr(i); };
  const Instruction pairs[][2] = {
      {make(Opcode::v_fmac_f32, Dual::x, {v(0), v(1), v(2)}),
       make(Opcode::v_mul_f32, Dual::y, {v(3), v(6), v(5)})},
      {make(Opcode::v_mov_b32, Dual::x, {v(0), isa::imm(0)}),
       make(Opcode::v_mov_b32, Dual::y, {v(1), isa::sgpr(4)})},
      {make(Opcode::v_cndmask_b32, Dual::x, {v(0), v(1), v(2), isa::vcc(32)}),
       make(Opcode::v_add_nc_u32, Dual::y, {v(3), v(6), v(5)})},
      {make(Opcode::v_fmaak_f32, Dual::x, {v(0), v(1), v(2), isa::imm(0x40490FDB)}),
       make(Opcode::v_lshlrev_b32, Dual::y, {v(3), isa::imm(4), v(5)})},
  };
  std::string body;
  for (const auto& pair : pairs) body += isa::print_dual(pair[0], pair[1], target) + "\n";
  const lower::CodeObject object = test::build(test::kernel_text("k", body, target), target);
  const auto& instructions = object.kernels.at(0).instructions;
  REQUIRE(instructions.size() == 2 * std::size(pairs));
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    INFO(instructions[i].text);
    CHECK(instructions[i].inst == pairs[i / 2][i % 2]);
    CHECK((instructions[i].size == 0) == (i % 2 == 1));
    CHECK(instructions[i].address == instructions[i / 2 * 2].address);
  }
}

}  // namespace
}  // namespace wavejit
