// SPDX-License-Identifier: MIT
#include "templates/cdna/decode/unpack.hpp"

#include <array>
#include <bit>

#include "templates/round.hpp"

namespace wavejit::templates::cdna::decode {
namespace {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

/// v_bitop3_b32: (a & b) ^ c, bit (a << 2 | b << 1 | c).
constexpr std::uint8_t and_xor = 0b01101010;

/// Bits by which a word moves right (left, where negative) so that nibble i of each half lies under the mask.
constexpr std::array<int, 4> bf16_shift{0, 4, 8, 12}, f16_shift{-6, -2, 2, 6};

bool fused(const ir::Builder& b) { return b.kernel().target->has_cvt_pk_bf16_f32; }

}  // namespace

Unpacker::Unpacker(const Problem& problem)
    : p_(problem),
      scale_type_(problem.op == Operation::w4a16 ? problem.activation : problem.scale_type),
      signed_(problem.layout == WeightLayout::row_major_signed) {}

void Unpacker::setup(ir::Builder& b, unsigned operand_dwords) {
  mask_ = scalar_constant(b, "nibbles", half() ? 0x03C003C0 : 0x000F000F, "one nibble of each half");
  const std::uint32_t plain = half() ? 0x4C004C00 : 0x43004300, bit3 = half() ? 0x02000200 : 0x00080008;
  const bool flips_with_mask = signed_ && fused(b);
  exponent_ = b.vgpr("exponent");
  b.note(half() ? "f16 16 + n" : "bf16 128 + n")
      .emit(v_mov_b32, {exponent_}, {imm(flips_with_mask ? plain ^ bit3 : plain)});
  if (signed_ && !fused(b))
    flip_ = scalar_constant(b, "flip", 0x88888888, "bit 3 of each nibble: two's complement to q + 8");
  minus_base_ = b.vgpr("minus_base", operand_dwords);
  for (unsigned i = 0; i < operand_dwords; ++i)
    b.note(half() ? "-24, twice" : "-136, twice")
        .emit(v_mov_b32, {minus_base_.slice(i)}, {imm(half() ? 0xCE00CE00 : 0xC308C308)});
  if (signed_) {
    low_halves_ = scalar_constant(b, "low_halves", 0x05040100, "v_perm_b32: the lower halves of both");
    high_halves_ = scalar_constant(b, "high_halves", 0x07060302, "v_perm_b32: the upper halves of both");
  }
  if (p_.zero_points == ZeroPoints::symmetric) return;
  factor_ = scalar_constant(b, "per_base", std::bit_cast<std::uint32_t>(-1.0F / (half() ? 24.0F : 136.0F)),
                            "1 / -base");
  if (p_.zero_points == ZeroPoints::packed) eight_ = scalar_constant(b, "eight", 0x41000000, "8.0");
}

void Unpacker::weights(ir::Builder& b, const Operand& word, const Operand& quad) const {
  Operand source = word;
  if (flip_.is_reg()) {
    source = b.vgpr("flipped");
    b.emit(v_xor_b32, {source}, {flip_, word});
  }
  for (unsigned i = 0; i < 4; ++i) {
    const int shift = (half() ? f16_shift : bf16_shift)[i];
    Operand moved = source;
    if (shift != 0) {
      moved = b.vgpr("moved");
      b.emit(shift > 0 ? v_lshrrev_b32 : v_lshlrev_b32, {moved}, {imm(shift > 0 ? shift : -shift), source});
    }
    if (fused(b)) {
      b.emit(v_bitop3_b32, {quad.slice(i)}, {moved, mask_, exponent_}).mi.mods.bitop3 = and_xor;
    } else {
      b.emit(v_and_or_b32, {quad.slice(i)}, {moved, mask_, exponent_});
    }
  }
}

Operand Unpacker::pair_rows(ir::Builder& b, const Operand& natural) const {
  if (!signed_) return natural;
  const Operand paired = b.vgpr("paired", 4);
  for (unsigned i = 0; i < 4; ++i)
    b.emit(v_perm_b32, {paired.slice(i)},
           {natural.slice(2 + i / 2), natural.slice(i / 2), i % 2 == 0 ? low_halves_ : high_halves_});
  return paired;
}

Operand Unpacker::as_f32(ir::Builder& b, const Operand& raw) const {
  if (scale_type_ == DataType::f32) return raw;
  const Operand value = b.vgpr("zero_f32");
  if (scale_type_ == DataType::f16) {
    b.emit(v_cvt_f32_f16, {value}, {raw});
  } else {
    b.emit(v_lshlrev_b32, {value}, {imm(16), raw});
  }
  return value;
}

void Unpacker::scale(ir::Builder& b, const Operand& raw, const Operand& dst) const {
  if (scale_type_ == DataType::f32) {
    b.emit(v_mov_b32, {dst}, {raw});
  } else if (scale_type_ == DataType::f16) {
    b.emit(v_cvt_f32_f16, {dst}, {raw});
  } else {
    b.emit(v_lshlrev_b32, {dst}, {imm(16), raw});
  }
}

void Unpacker::zero_term(ir::Builder& b, const Operand& raw, const Operand& zero_bit, const Operand& scale,
                         const Operand& dst) const {
  if (p_.zero_points == ZeroPoints::additive) {
    b.note("zero / -base").emit(v_mul_f32, {dst}, {factor_, as_f32(b, raw)});
    return;
  }
  const Operand nibble = b.vgpr("zero"), value = b.vgpr("zero_f32");
  b.emit(v_bfe_u32, {nibble}, {raw, zero_bit, imm(4)});
  b.emit(v_cvt_f32_ubyte0, {value}, {nibble});
  b.emit(v_sub_f32, {value}, {eight_, value});
  b.emit(v_mul_f32, {value}, {factor_, value});
  b.note("(8 - zero) * scale / -base").emit(v_mul_f32, {dst}, {value, scale});
}

}  // namespace wavejit::templates::cdna::decode
