// SPDX-License-Identifier: MIT
#include "templates/cdna/dequant.hpp"

#include <array>

#include "templates/round.hpp"

namespace wavejit::templates::cdna {
namespace {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

constexpr std::array converts{v_cvt_f32_ubyte0, v_cvt_f32_ubyte1, v_cvt_f32_ubyte2, v_cvt_f32_ubyte3};

/// v_bitop3_b32: (a & b) ^ c, bit (a << 2 | b << 1 | c).
constexpr std::uint8_t and_xor = 0b01101010;

}  // namespace

void Dequantiser::setup(ir::Builder& b) {
  if (p_.zero_points == ZeroPoints::additive)
    minus_eight_ = scalar_constant(b, "minus_eight", 0xC1000000, "-8.0: unsigned nibbles are q + 8");
  if (fused(b)) {
    flip_ = scalar_constant(b, "flip", 0x08080808, "bit 3 of each nibble: two's complement to q + 8");
    mask_ = b.vgpr("mask");
    b.emit(v_mov_b32, {mask_}, {imm(0x0F0F0F0F)});
    return;
  }
  flip_ = scalar_constant(b, "flip", 0x88888888, "bit 3 of each nibble: two's complement to q + 8");
  mask_ = scalar_constant(b, "mask", 0x0F0F0F0F);
  pack_ = scalar_constant(b, "pack_weights", 0x07060302, "v_perm_b32: the upper halves of both");
  if (p_.rounding == WeightRounding::nearest) {
    round_up_ = scalar_constant(b, "round_up_weights", 0x7FFF);
    return;
  }
  half_ = b.sgpr("half_place", 2);
  b.note("half of bf16's last place in both").emit(s_mov_b32, {half_.slice(0)}, {imm(0x8000)});
  b.emit(s_mov_b32, {half_.slice(1)}, {imm(0x8000)});
}

Operand Dequantiser::terms(ir::Builder& b, const Operand& scale, const Operand& zero) const {
  const Operand pair = b.vgpr("scale_term", 2), s = pair.slice(0), t = pair.slice(1);
  const bool wide = p_.scale_type == DataType::f32;
  if (wide) {
    b.emit(v_mov_b32, {s}, {scale});
  } else {
    b.emit(v_lshlrev_b32, {s}, {imm(16), scale});
  }
  if (p_.zero_points != ZeroPoints::additive) {
    b.note("-8 * scale").emit(v_mul_f32, {t}, {imm(0xC1000000), s});
    return pair;
  }
  Operand z = zero;
  if (!wide) {
    z = b.vgpr("zero_f32");
    b.emit(v_lshlrev_b32, {z}, {imm(16), zero});
  }
  b.note("zero - 8 * scale").emit(v_fma_f32, {t}, {s, minus_eight_, z});
  return pair;
}

Dequantiser::Nibbles Dequantiser::split(ir::Builder& b, const Operand& word) const {
  const Nibbles n{b.vgpr("even"), b.vgpr("odd")};
  const Operand shifted = b.vgpr("shifted");
  if (fused(b)) {
    b.emit(v_lshrrev_b32, {shifted}, {imm(4), word});
    b.emit(v_bitop3_b32, {n.even}, {word, mask_, flip_}).mi.mods.bitop3 = and_xor;
    b.emit(v_bitop3_b32, {n.odd}, {shifted, mask_, flip_}).mi.mods.bitop3 = and_xor;
    return n;
  }
  const Operand flipped = b.vgpr("flipped");
  b.emit(v_xor_b32, {flipped}, {flip_, word});
  b.emit(v_lshrrev_b32, {shifted}, {imm(4), flipped});
  b.emit(v_and_b32, {n.even}, {mask_, flipped});
  b.emit(v_and_b32, {n.odd}, {mask_, shifted});
  return n;
}

void Dequantiser::round(ir::Builder& b, const Operand& pair, const Operand& dst) const {
  const Operand low = pair.slice(0), high = pair.slice(1);
  if (fused(b)) {
    b.emit(v_cvt_pk_bf16_f32, {dst}, {low, high});
    return;
  }
  if (p_.rounding != WeightRounding::nearest) {
    b.emit(v_lshl_add_u64, {pair}, {pair, imm(0), half_});
    b.emit(v_perm_b32, {dst}, {high, low, pack_});
    return;
  }
  for (const Operand& value : {low, high}) {
    const Operand odd = b.vgpr("lsb");
    b.emit(v_bfe_u32, {odd}, {value, imm(16), imm(1)});
    b.emit(v_add3_u32, {value}, {value, odd, round_up_});
  }
  b.emit(v_perm_b32, {dst}, {high, low, pack_});
}

void Dequantiser::weights(ir::Builder& b, const Operand& word, const Operand& terms,
                          const Operand& quad) const {
  const Nibbles n = split(b, word);
  for (unsigned i = 0; i < 4; ++i) {
    const Operand pair = b.vgpr("weights_f32", 2);
    b.emit(converts[i], {pair.slice(0)}, {n.even});
    b.emit(converts[i], {pair.slice(1)}, {n.odd});
    isa::Modifiers& mods = b.emit(v_pk_fma_f32, {pair}, {pair, terms, terms}).mi.mods;
    mods.op_sel = 0b100;     // low result: pair.low * scale + term
    mods.op_sel_hi = 0b101;  // high result: pair.high * scale + term
    round(b, pair, quad.slice(i));
  }
}

std::string_view Dequantiser::describe(const target::Target& target) const {
  if (target.has_cvt_pk_bf16_f32)
    return "v_cvt_f32_ubyte of nibbles q + 8, v_pk_fma_f32 by scale and (zero - 8 scale), v_cvt_pk_bf16_f32 "
           "(nearest even)";
  if (p_.rounding == WeightRounding::nearest)
    return "v_cvt_f32_ubyte of nibbles q + 8, v_pk_fma_f32 by scale and (zero - 8 scale), rounded to nearest "
           "even by integer adds, packed by v_perm_b32";
  return "v_cvt_f32_ubyte of nibbles q + 8, v_pk_fma_f32 by scale and (zero - 8 scale), rounded to nearest "
         "(ties away from zero) by one v_lshl_add_u64 a pair, packed by v_perm_b32";
}

}  // namespace wavejit::templates::cdna
