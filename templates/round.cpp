// SPDX-License-Identifier: MIT
#include "templates/round.hpp"

namespace wavejit::templates {

using isa::imm;
using enum isa::Opcode;

isa::Operand scalar_constant(ir::Builder& b, std::string name, std::uint32_t bits, std::string comment) {
  const isa::Operand s = b.sgpr(std::move(name));
  b.note(std::move(comment)).emit(s_mov_b32, {s}, {imm(bits)});
  return s;
}

isa::Operand half_to_f32(ir::Builder& b, DataType type, const isa::Operand& packed, bool upper) {
  const isa::Operand value = b.vgpr("half_f32");
  if (type == DataType::bf16) {
    if (upper) {
      b.emit(v_and_b32, {value}, {imm(0xFFFF0000LL), packed});
    } else {
      b.emit(v_lshlrev_b32, {value}, {imm(16), packed});
    }
    return value;
  }
  isa::Operand half = packed;
  if (upper) {
    half = b.vgpr("upper_half");
    b.emit(v_lshrrev_b32, {half}, {imm(16), packed});
  }
  b.emit(v_cvt_f32_f16, {value}, {half});
  return value;
}

void PairRounder::setup(ir::Builder& b) {
  if (type_ != DataType::bf16 || b.kernel().target->has_cvt_pk_bf16_f32) return;
  round_up_ = scalar_constant(b, "round_up", 0x7FFF);
  if (keep_nan_ && b.kernel().target->valu_scalar_reads > 1) {
    nan_ = scalar_constant(b, "quiet_nan", 0x7FC00000);
  } else if (keep_nan_) {
    nan_ = b.vgpr("quiet_nan");  // beside the mask there is room for no other SGPR
    b.emit(v_mov_b32, {nan_}, {imm(0x7FC00000)});
  }
  pack_ = scalar_constant(b, "pack", 0x07060302, "v_perm_b32: the upper halves of both");
}

/// The rounded value in the upper half; what lies below it is left over from rounding.
isa::Operand PairRounder::to_bf16(ir::Builder& b, const isa::Operand& value) const {
  const isa::Operand odd = b.vgpr("lsb"), rounded = b.vgpr("rounded");
  b.emit(v_bfe_u32, {odd}, {value, imm(16), imm(1)});
  b.emit(v_add3_u32, {rounded}, {value, odd, round_up_});
  if (!keep_nan_) return rounded;
  const isa::Operand is_nan = b.sgpr("is_nan", b.kernel().target->wave_size / 32U), kept = b.vgpr("kept");
  b.emit(v_cmp_u_f32, {is_nan}, {value, value});
  b.emit(v_cndmask_b32, {kept}, {rounded, nan_, is_nan});
  return kept;
}

void PairRounder::round(ir::Builder& b, const isa::Operand& low, const isa::Operand& high,
                        const isa::Operand& dst) const {
  if (type_ == DataType::bf16 && b.kernel().target->has_cvt_pk_bf16_f32) {
    b.emit(v_cvt_pk_bf16_f32, {dst}, {low, high});
    return;
  }
  if (type_ == DataType::bf16) {
    const isa::Operand rounded_low = to_bf16(b, low);
    const isa::Operand rounded_high = to_bf16(b, high);
    b.emit(v_perm_b32, {dst}, {rounded_high, rounded_low, pack_});
    return;
  }
  const isa::Operand half_low = b.vgpr("half_low"), half_high = b.vgpr("half_high");
  b.emit(v_cvt_f16_f32, {half_low}, {low}).mi.dst[0].undef = true;
  b.emit(v_cvt_f16_f32, {half_high}, {high}).mi.dst[0].undef = true;
  b.emit(v_pack_b32_f16, {dst}, {half_low, half_high});
}

}  // namespace wavejit::templates
