// SPDX-License-Identifier: MIT
#include "templates/cdna/dequant.hpp"

#include <array>

#include "templates/round.hpp"

namespace wavejit::templates::cdna {
namespace {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

/// Where k = 2i and k = 2i + 1 of a word are: byte, and which nibble of it.
struct At {
  unsigned byte;
  bool high;
};
constexpr std::array<std::array<At, 2>, 4> signed_order{{{{{0, false}, {0, true}}},
                                                         {{{1, false}, {1, true}}},
                                                         {{{2, false}, {2, true}}},
                                                         {{{3, false}, {3, true}}}}};
constexpr std::array<std::array<At, 2>, 4> exllama_order{{{{{0, false}, {2, false}}},
                                                          {{{0, true}, {2, true}}},
                                                          {{{1, false}, {3, false}}},
                                                          {{{1, true}, {3, true}}}}};

constexpr std::array converts{v_cvt_f32_ubyte0, v_cvt_f32_ubyte1, v_cvt_f32_ubyte2, v_cvt_f32_ubyte3};

/// v_bitop3_b32: (a & b) ^ c, bit (a << 2 | b << 1 | c).
constexpr std::uint8_t and_xor = 0b01101010;

}  // namespace

Dequantiser::Dequantiser(const Problem& problem)
    : p_(problem),
      scale_type_(problem.op == Operation::w4a16 ? problem.activation : problem.scale_type),
      signed_(problem.layout == WeightLayout::row_major_signed),
      half_rounder_(DataType::f16, false) {}

void Dequantiser::setup(ir::Builder& b) {
  if (p_.zero_points == ZeroPoints::additive)
    minus_eight_ = scalar_constant(b, "minus_eight", 0xC1000000, "-8.0: unsigned nibbles are q + 8");
  if (!signed_) {
    mask_ = scalar_constant(b, "mask", 0x0F0F0F0F);
  } else if (fused(b)) {
    flip_ = scalar_constant(b, "flip", 0x08080808, "bit 3 of each nibble: two's complement to q + 8");
    mask_ = b.vgpr("mask");
    b.emit(v_mov_b32, {mask_}, {imm(0x0F0F0F0F)});
  } else {
    flip_ = scalar_constant(b, "flip", 0x88888888, "bit 3 of each nibble: two's complement to q + 8");
    mask_ = scalar_constant(b, "mask", 0x0F0F0F0F);
  }
  if (fused(b) || p_.activation == DataType::f16) return;
  pack_ = scalar_constant(b, "pack_weights", 0x07060302, "v_perm_b32: the upper halves of both");
  if (p_.rounding == WeightRounding::nearest) {
    round_up_ = scalar_constant(b, "round_up_weights", 0x7FFF);
    return;
  }
  half_ = b.sgpr("half_place", 2);
  b.note("half of bf16's last place in both").emit(s_mov_b32, {half_.slice(0)}, {imm(0x8000)});
  b.emit(s_mov_b32, {half_.slice(1)}, {imm(0x8000)});
}

Operand Dequantiser::as_f32(ir::Builder& b, const char* name, const Operand& raw) const {
  if (scale_type_ == DataType::f32) return raw;
  const Operand value = b.vgpr(name);
  if (scale_type_ == DataType::f16) {
    b.emit(v_cvt_f32_f16, {value}, {raw});
  } else {
    b.emit(v_lshlrev_b32, {value}, {imm(16), raw});
  }
  return value;
}

Operand Dequantiser::terms(ir::Builder& b, const Source& source) const {
  const Operand pair = b.vgpr("scale_term", 2), s = pair.slice(0), t = pair.slice(1);
  if (scale_type_ == DataType::f32) {
    b.emit(v_mov_b32, {s}, {source.scale});
  } else if (scale_type_ == DataType::f16) {
    b.emit(v_cvt_f32_f16, {s}, {source.scale});
  } else {
    b.emit(v_lshlrev_b32, {s}, {imm(16), source.scale});
  }
  switch (p_.zero_points) {
    case ZeroPoints::symmetric:
      b.note("-8 * scale").emit(v_mul_f32, {t}, {imm(0xC1000000), s});
      break;
    case ZeroPoints::additive:
      b.note("zero - 8 * scale").emit(v_fma_f32, {t}, {s, minus_eight_, as_f32(b, "zero_f32", source.zero)});
      break;
    case ZeroPoints::packed: {
      const Operand nibble = b.vgpr("zero"), value = b.vgpr("zero_f32");
      b.emit(v_bfe_u32, {nibble}, {source.zero, source.zero_bit, imm(4)});
      b.emit(v_cvt_f32_ubyte0, {value}, {nibble});
      b.note("-zero * scale").emit(v_mul_f32, {t}, {-value, s});
      break;
    }
  }
  return pair;
}

Dequantiser::Nibbles Dequantiser::split(ir::Builder& b, const Operand& word) const {
  const Nibbles n{b.vgpr("low_nibbles"), b.vgpr("high_nibbles")};
  const Operand shifted = b.vgpr("shifted");
  if (!signed_) {
    b.emit(v_lshrrev_b32, {shifted}, {imm(4), word});
    b.emit(v_and_b32, {n.low}, {mask_, word});
    b.emit(v_and_b32, {n.high}, {mask_, shifted});
    return n;
  }
  if (fused(b)) {
    b.emit(v_lshrrev_b32, {shifted}, {imm(4), word});
    b.emit(v_bitop3_b32, {n.low}, {word, mask_, flip_}).mi.mods.bitop3 = and_xor;
    b.emit(v_bitop3_b32, {n.high}, {shifted, mask_, flip_}).mi.mods.bitop3 = and_xor;
    return n;
  }
  const Operand flipped = b.vgpr("flipped");
  b.emit(v_xor_b32, {flipped}, {flip_, word});
  b.emit(v_lshrrev_b32, {shifted}, {imm(4), flipped});
  b.emit(v_and_b32, {n.low}, {mask_, flipped});
  b.emit(v_and_b32, {n.high}, {mask_, shifted});
  return n;
}

void Dequantiser::round(ir::Builder& b, const Operand& pair, const Operand& dst) const {
  const Operand low = pair.slice(0), high = pair.slice(1);
  if (p_.activation == DataType::f16) {
    half_rounder_.round(b, low, high, dst);
    return;
  }
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
    for (unsigned half = 0; half < 2; ++half) {
      const At at = (signed_ ? signed_order : exllama_order)[i][half];
      b.emit(converts[at.byte], {pair.slice(half)}, {at.high ? n.high : n.low});
    }
    isa::Modifiers& mods = b.emit(v_pk_fma_f32, {pair}, {pair, terms, terms}).mi.mods;
    mods.op_sel = 0b100;     // low result: pair.low * scale + term
    mods.op_sel_hi = 0b101;  // high result: pair.high * scale + term
    round(b, pair, quad.slice(i));
  }
}

std::string Dequantiser::describe(const target::Target& target) const {
  const std::string rounding =
      p_.activation == DataType::f16 ? "v_cvt_f16_f32 and v_pack_b32_f16 (nearest even)"
      : target.has_cvt_pk_bf16_f32   ? "v_cvt_pk_bf16_f32 (nearest even)"
      : p_.rounding == WeightRounding::nearest
          ? "integer adds and v_perm_b32 (nearest even)"
          : "one v_lshl_add_u64 a pair and v_perm_b32 (nearest, ties away from zero)";
  return "v_cvt_f32_ubyte of unsigned nibbles, v_pk_fma_f32 by scale and zero term, rounded by " + rounding;
}

}  // namespace wavejit::templates::cdna
