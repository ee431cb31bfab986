// SPDX-License-Identifier: MIT
#include "tests/generator/lower/instruction_generator.hpp"

#include <string_view>

namespace wavejit::test {

using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Pipe;

InstructionGenerator::InstructionGenerator(const target::Target& target, unsigned seed)
    : target_(target), random_(seed), old_rules_(target.generation == target::Generation::gfx9) {}

Instruction InstructionGenerator::draw(Opcode op) {
  Instruction inst;
  inst.op = op;
  const isa::Signature sig = isa::signature(op, target_);
  inst.dst_count = sig.dst_count;
  inst.src_count = sig.src_count;
  literal_used_ = false;
  scalars_left_ = 1;
  // Whether a VALU instruction gets its short encoding depends on operands yet to be drawn.
  long_encoding_ = inst.pipe() != Pipe::salu;
  no_literal_ = mentions(inst, "fma_mix");  // its sources may be f16
  has_immediate_literal_ = has_literal(inst);
  for (unsigned i = 0; i < sig.dst_count; ++i) inst.dst[i] = operand(inst, sig.dst[i], true);
  for (unsigned i = 0; i < sig.src_count; ++i) inst.src[i] = operand(inst, sig.src[i], false);
  special_forms(inst);
  modifiers(inst);
  return inst;
}

unsigned InstructionGenerator::below(unsigned n) {
  return std::uniform_int_distribution<unsigned>(0, n - 1)(random_);
}

bool InstructionGenerator::sopk(const Instruction& inst) {
  return inst.pipe() == Pipe::salu && inst.info().signature.ends_with("i1") && mentions(inst, "k_");
}

bool InstructionGenerator::has_literal(const Instruction& inst) {
  return mentions(inst, "fmaak") || mentions(inst, "fmamk");
}

bool InstructionGenerator::mentions(const Instruction& inst, std::string_view part) {
  return inst.info().name.find(part) != std::string_view::npos;
}

Operand InstructionGenerator::operand(const Instruction& inst, const isa::OperandSpec& spec, bool is_dst) {
  const unsigned width = spec.width == 0 ? default_width(inst) : spec.width;
  switch (spec.cls) {
    case 'v':
      return vector(inst, width);
    case 'A':  // C of a matrix product: in the same file as D
      return vector(inst, width, inst.dst[0].cls);
    case 'a':
      return vector(inst, width, accumulation_class(inst, is_dst));
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

unsigned InstructionGenerator::registers(const Instruction& inst) {
  const bool short_only = (has_literal(inst) && mentions(inst, "f16")) || inst.op == Opcode::v_swap_b16;
  return short_only ? 128 : 200;
}

/// gfx90a and later want tuples to start at an even register.
Operand InstructionGenerator::vector(const Instruction& inst, unsigned width, isa::RegClass cls) {
  const unsigned first = below(registers(inst));
  return isa::phys(cls, old_rules_ && width > 1 ? first & ~1U : first, width);
}

isa::RegClass InstructionGenerator::accumulation_class(const Instruction& inst, bool is_dst) {
  if (inst.pipe() == Pipe::matrix) return is_dst && below(2) == 0 ? isa::RegClass::agpr : isa::RegClass::vgpr;
  return isa::RegClass::agpr;
}

unsigned InstructionGenerator::default_width(const Instruction& inst) const {
  if (inst.pipe() != Pipe::matrix) return 2;
  // gfx11 keeps A and B twice, in both halves of the wave; gfx12 once.
  const unsigned copies = target_.generation == target::Generation::gfx11 ? 2 : 1;
  if (mentions(inst, "v_wmma_f16") || mentions(inst, "v_wmma_bf16")) return 4 * copies;
  if (mentions(inst, "iu4")) return copies;
  return (mentions(inst, "iu8") ? 2 : 4) * copies;
}

Operand InstructionGenerator::mask(const Instruction& inst, bool is_dst) {
  const bool plain = !is_dst && inst.pipe() == Pipe::valu;
  const unsigned width = target_.wave_size / 32;
  return plain || below(2) == 0 ? isa::sgpr(below(50) * 2, width) : isa::vcc(target_.wave_size);
}

Operand InstructionGenerator::immediate(const Instruction& inst) {
  if (has_immediate_literal_) return isa::imm(mentions(inst, "f16") ? 0x4248 : 0x40490FDB);
  if (inst.op == Opcode::s_setreg_b32 || inst.op == Opcode::s_getreg_b32) return isa::imm(0x1801);
  if (inst.op == Opcode::s_setreg_imm32_b32)
    return isa::imm(inst.src[0].kind == Operand::Kind::imm ? 3 : 0x0801);
  if (inst.op == Opcode::s_waitcnt) return wait_counts();
  if (inst.op == Opcode::s_delay_alu) return isa::imm(below(12) | below(6) << 4 | below(12) << 7);
  if (inst.op == Opcode::s_waitcnt_depctr) return isa::imm(0xFF9F & ~(1U << below(5)) & ~(below(16) << 12));
  if (inst.op == Opcode::s_sendmsg) return isa::imm(3);
  if (mentions(inst, "u32")) return isa::imm(below(65536));
  if (sopk(inst)) return isa::imm(static_cast<std::int64_t>(below(65536)) - 32768);
  return isa::imm(below(4));
}

Operand InstructionGenerator::wait_counts() {
  return isa::imm(isa::encode_waitcnt({.vmcnt = static_cast<std::uint8_t>(below(64)),
                                       .expcnt = static_cast<std::uint8_t>(below(8)),
                                       .lgkmcnt = static_cast<std::uint8_t>(below(16))},
                                      target_));
}

Operand InstructionGenerator::constant(unsigned width) {
  const unsigned kind = below(3);
  if (kind == 0) return isa::imm(static_cast<std::int64_t>(below(81)) - 16);
  static constexpr std::uint32_t floats[] = {0x3F000000, 0xBF000000, 0x3F800000, 0xBF800000, 0x40000000,
                                             0xC0000000, 0x40800000, 0xC0800000, 0x3E22F983};
  if (kind == 1) return isa::fimm(floats[below(9)]);
  // 64-bit operands take the literal in ways that depend on their type; a small one is the same in all.
  if (literal_used_ || has_immediate_literal_ || no_literal_ || width > 1) return isa::imm(7);
  if (old_rules_ && long_encoding_) return isa::imm(9);
  literal_used_ = true;
  return isa::imm(0x12340000 + below(1000));
}

Operand InstructionGenerator::scalar(const Instruction& inst, unsigned width) {
  if (inst.has(isa::flag::buffer) || inst.pipe() == Pipe::smem) return memory_offset(inst);
  const bool lane_select = inst.pipe() == Pipe::valu;
  const unsigned kind = below(5);
  if (kind == 0 && !lane_select) return constant(width);
  if (kind == 1 && width == 1) return lane_select ? isa::imm(below(32)) : isa::sgpr(isa::sreg::vcc_hi);
  if (kind == 2 && width == 1) return isa::m0();
  return isa::sgpr(below(50) * 2, width);
}

bool InstructionGenerator::new_rules() const { return target_.generation == target::Generation::gfx12; }

Operand InstructionGenerator::memory_offset(const Instruction& inst) {
  if (inst.pipe() == Pipe::smem) return below(2) == 0 ? isa::imm(below(1000) * 4) : isa::sgpr(below(100));
  switch (below(3)) {
    case 0:
      return old_rules_ ? isa::m0() : isa::null_reg();
    case 1:
      if (new_rules()) return isa::null_reg();
      return isa::imm(below(65));
    default:
      return isa::sgpr(below(100));
  }
}

Operand InstructionGenerator::vector_source(const Instruction& inst, char cls, unsigned width) {
  // A 16-bit source takes constants of its own size; those are tested by themselves.
  // gfx9 reads one scalar at most, and these read a mask.
  const bool reads_mask = old_rules_ && (mentions(inst, "cndmask") || inst.has(isa::flag::vcc_r));
  const bool must_be_vector = cls == 'k' || inst.has(isa::flag::tied) || has_immediate_literal_ ||
                              mentions(inst, "co_ci") || width > 1 || reads_mask;
  const unsigned kind = below(4);
  if (kind < 2 || must_be_vector) return vector(inst, width);
  // The second source of the short encodings must be a VGPR; the long one allows a scalar but
  // some opcodes have only one of them. One scalar or constant per instruction fits all.
  if (scalars_left_ == 0) return vector(inst, width);
  scalars_left_ = 0;
  return kind == 2 ? isa::sgpr(below(100), width) : constant(width);
}

void InstructionGenerator::special_forms(Instruction& inst) {
  if (inst.has(isa::flag::buffer)) buffer_form(inst);
  if (inst.has(isa::flag::flat)) flat_form(inst);
  if (mentions(inst, "s_barrier_signal")) inst.src[0] = isa::imm(-1);
  if (inst.op == Opcode::s_barrier_wait) inst.src[0] = isa::imm(-1);
  if (inst.op == Opcode::s_waitcnt_vscnt) inst.src[0] = isa::null_reg();
  if (inst.op == Opcode::v_permlane16_b32 || inst.op == Opcode::v_permlanex16_b32) {
    inst.src[1] = isa::sgpr(below(100));
    inst.src[2] = isa::imm(below(60));
  }
  if (inst.op == Opcode::v_readlane_b32) inst.src[1] = isa::imm(below(32));
  if (inst.op == Opcode::v_writelane_b32) {
    inst.src[0] = isa::sgpr(below(100));
    inst.src[1] = isa::imm(below(32));
  }
  if (mentions(inst, "f8f6f4")) mixed_formats(inst);
  // C overlaps D either wholly or not at all.
  if (inst.pipe() == Pipe::matrix && old_rules_) inst.src[2] = below(4) == 0 ? isa::imm(0) : inst.dst[0];
  // gfx9's v_cmpx names the mask that it writes besides EXEC.
  if (old_rules_ && mentions(inst, "v_cmpx")) {
    inst.dst_count = 1;
    inst.dst[0] = mask(inst, true);
  }
}

/// A and B are 8 dwords of fp8 or bf8 (formats 0, 1), 6 of fp6 or bf6 (2, 3) or 4 of fp4 (4).
void InstructionGenerator::mixed_formats(Instruction& inst) {
  static constexpr unsigned dwords[] = {8, 8, 6, 6, 4};
  inst.mods.cbsz = static_cast<std::uint8_t>(below(5));
  inst.mods.blgp = static_cast<std::uint8_t>(below(5));
  inst.src[0] = vector(inst, dwords[inst.mods.cbsz]);
  inst.src[1] = vector(inst, dwords[inst.mods.blgp]);
  if (inst.src_count == 3) return;
  // Which byte of each scale; the third entry of both lists is 0.
  inst.mods.op_sel = static_cast<std::uint8_t>(below(4));
  inst.mods.op_sel_hi = static_cast<std::uint8_t>(below(4));
}

void InstructionGenerator::buffer_form(Instruction& inst) {
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
      inst.src[address] = vector(inst, 2);
  }
  inst.mods.offset = static_cast<std::int32_t>(below(4096));
  inst.mods.slc = !new_rules() && below(2) == 0;
  inst.mods.dlc = !new_rules() && below(2) == 0;
  return_form(inst);
}

void InstructionGenerator::return_form(Instruction& inst) {
  const bool returns = below(2) == 0;
  if (new_rules()) {
    inst.mods.th = returns ? 1 : 0;  // "return", and for loads and stores "non-temporal"
    inst.mods.scope = static_cast<std::uint8_t>(below(4));
  } else {
    inst.mods.glc = returns;
  }
  if (inst.has(isa::flag::atomic) && !returns) {
    inst.dst_count = 0;
    inst.dst[0] = Operand{};
  }
  if (inst.has(isa::flag::atomic) && inst.has(isa::flag::buffer) && returns) inst.dst[0] = inst.src[0];
}

void InstructionGenerator::flat_form(Instruction& inst) {
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
    address = vector(inst, based ? 1 : 2);
  }
  if (below(2) == 0) inst.mods.offset -= 4096;
  return_form(inst);
}

void InstructionGenerator::modifiers(Instruction& inst) {
  isa::Modifiers& m = inst.mods;
  if (inst.pipe() == Pipe::lds) {
    if (mentions(inst, "2addr")) {
      m.offset0 = static_cast<std::uint8_t>(below(256));
      m.offset1 = static_cast<std::uint8_t>(below(256));
    } else {
      m.offset = static_cast<std::int32_t>(below(65536));
    }
  }
  if (inst.pipe() == Pipe::smem && inst.src[inst.src_count - 1U].is_reg() && below(2) == 0) m.offset = 64;
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

bool InstructionGenerator::float_math(const Instruction& inst) {
  const std::string_view name = inst.info().name;
  if (inst.pipe() != Pipe::valu || !name.ends_with("_f32") || mentions(inst, "cvt") || mentions(inst, "cmp"))
    return false;
  return !has_literal(inst) && name != "v_ldexp_f32" && !name.starts_with("v_frexp") &&
         name != "v_div_scale_f32";
}

void InstructionGenerator::float_modifiers(Instruction& inst) {
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
  if (kind == 5 && dpp && !old_rules_) {
    inst.mods.dpp.kind = isa::Dpp::Kind::dpp8;
    inst.mods.dpp.lanes = below(1U << 24);
  }
}

isa::Dpp InstructionGenerator::row_operation() {
  static constexpr std::uint16_t controls[] = {0x000, 0x0E4, 0x0B1, 0x101, 0x10F, 0x111, 0x11F, 0x121,
                                               0x12F, 0x140, 0x141, 0x150, 0x15F, 0x160, 0x16F};
  isa::Dpp dpp;
  dpp.kind = isa::Dpp::Kind::dpp16;
  // gfx9 has no row_xmask; its 0x15x is row_newbcast.
  dpp.ctrl = controls[below(old_rules_ ? 13 : 15)];
  dpp.row_mask = static_cast<std::uint8_t>(below(16));
  dpp.bank_mask = static_cast<std::uint8_t>(below(16));
  dpp.bound_ctrl = below(2) == 0;
  dpp.fi = !old_rules_ && below(2) == 0;
  return dpp;
}

}  // namespace wavejit::test
