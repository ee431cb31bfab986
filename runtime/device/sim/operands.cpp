// SPDX-License-Identifier: MIT
#include "runtime/device/sim/operands.hpp"

#include <bit>
#include <string_view>

#include "runtime/device/sim/numerics.hpp"

namespace wavejit::sim::detail {
namespace {

using isa::Opcode;

/// Letter and width of source `i` in the opcode's signature, "x2"; letter 'k' = packed or 16-bit.
std::string_view source_spec(Opcode op, unsigned i) {
  std::string_view text = isa::info(op).signature;
  text.remove_prefix(text.find('=') + 1);
  for (; i > 0; --i) {
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) return "?";
    text.remove_prefix(comma + 1);
  }
  return text.empty() ? "?" : text.substr(0, text.find(','));
}

char source_class(Opcode op, unsigned i) { return source_spec(op, i).front(); }

bool is_mix(Opcode op) {
  return op == Opcode::v_fma_mix_f32 || op == Opcode::v_fma_mixlo_f16 || op == Opcode::v_fma_mixhi_f16;
}

/// VOP3 dot products whose first two sources are pairs although they are not VOP3P.
bool pairs_in_first_two(Opcode op) {
  return op == Opcode::v_dot2_bf16_bf16 || op == Opcode::v_dot2_f16_f16 || op == Opcode::v_dot2acc_f32_f16 ||
         op == Opcode::v_dot2acc_f32_bf16;
}

/// f16 and bf16 accumulators of which one half of each register takes part (gfx11).
bool is_half_matrix(Opcode op, const target::Target& target) {
  const bool half = op == Opcode::v_wmma_f16_16x16x16_f16 || op == Opcode::v_wmma_bf16_16x16x16_bf16;
  return half && target.wmma16.replicated_halves;
}

std::uint8_t part_halves(isa::Sdwa::Select part) {
  using Select = isa::Sdwa::Select;
  if (part == Select::dword) return both_halves;
  const bool low = part == Select::byte0 || part == Select::byte1 || part == Select::word0;
  return low ? low_half : high_half;
}

std::uint8_t half_of(bool high) { return high ? high_half : low_half; }

std::uint8_t packed_halves(const isa::Modifiers& mods, unsigned i) {
  const bool low_from_high = (mods.op_sel >> i & 1) != 0;
  const bool high_from_high = (mods.op_sel_hi >> i & 1) != 0;
  return static_cast<std::uint8_t>(half_of(low_from_high) | half_of(high_from_high));
}

}  // namespace

std::uint8_t source_halves(const isa::Instruction& inst, unsigned i, const target::Target& target) {
  const Opcode op = inst.op;
  if (inst.mods.sdwa.on && i < 2 && inst.mods.sdwa.src[i] != isa::Sdwa::Select::dword)
    return part_halves(inst.mods.sdwa.src[i]);
  switch (op) {
    case Opcode::v_cvt_f32_ubyte0:
    case Opcode::v_cvt_f32_ubyte1:
    case Opcode::v_cvt_off_f32_i4:
      return low_half;
    case Opcode::v_cvt_f32_ubyte2:
    case Opcode::v_cvt_f32_ubyte3:
      return high_half;
    case Opcode::ds_store_b8:
    case Opcode::ds_store_b16:
      return i == 1 ? low_half : both_halves;
    case Opcode::ds_store_b8_d16_hi:
    case Opcode::ds_store_b16_d16_hi:
      return i == 1 ? high_half : both_halves;
    case Opcode::buffer_store_b8:
    case Opcode::buffer_store_b16:
      return i == 0 ? low_half : both_halves;
    case Opcode::buffer_store_d16_hi_b16:
    case Opcode::buffer_store_d16_hi_b8:
      return i == 0 ? high_half : both_halves;
    case Opcode::global_store_b8:
    case Opcode::global_store_b16:
    case Opcode::flat_store_b8:
    case Opcode::flat_store_b16:
      return i == 1 ? low_half : both_halves;
    case Opcode::global_store_d16_hi_b16:
    case Opcode::global_store_d16_hi_b8:
      return i == 1 ? high_half : both_halves;
    default:
      break;
  }
  if (is_mix(op)) {
    if ((inst.mods.op_sel_hi >> i & 1) == 0) return both_halves;
    return half_of((inst.mods.op_sel >> i & 1) != 0);
  }
  if (op == Opcode::v_swap_b16) return half_of(inst.src[i].half == isa::Half::high);
  if (is_half_matrix(op, target) && i == 2) return half_of((inst.mods.op_sel >> 2 & 1) != 0);
  if (source_class(op, i) != 'k') return both_halves;
  if (inst.has(isa::flag::vop3p)) return packed_halves(inst.mods, i);
  if (pairs_in_first_two(op) && i < 2) return both_halves;
  return half_of(inst.src[i].half == isa::Half::high || (inst.mods.op_sel >> i & 1) != 0);
}

std::uint8_t destination_halves(const isa::Instruction& inst, const target::Target& target) {
  const Opcode op = inst.op;
  if (inst.mods.sdwa.on && inst.dst_count > 0 && inst.dst[0].is_vgpr()) {
    const bool keeps = inst.mods.sdwa.unused == isa::Sdwa::Unused::preserve;
    return keeps ? part_halves(inst.mods.sdwa.dst) : both_halves;
  }
  if (is_half_matrix(op, target)) return half_of((inst.mods.op_sel >> 2 & 1) != 0);
  if (clears_high_half(op, target)) return both_halves;
  if (op == Opcode::v_fma_mixhi_f16 || inst.has(isa::flag::d16_hi)) return high_half;
  if (op == Opcode::v_fma_mixlo_f16 || inst.has(isa::flag::d16)) return low_half;
  if (op == Opcode::v_swap_b16) return half_of(inst.dst[0].half == isa::Half::high);
  if (op == Opcode::v_dot2acc_f32_f16 || op == Opcode::v_dot2acc_f32_bf16) return both_halves;
  const bool half_result = op == Opcode::v_cvt_f16_f32 || op == Opcode::v_cvt_pk_fp8_f32 ||
                           op == Opcode::v_cvt_pk_bf8_f32 ||
                           (inst.has(isa::flag::tied) && source_class(op, 0) == 'k');
  if (!half_result) return both_halves;
  const bool high = inst.dst[0].half == isa::Half::high || (inst.mods.op_sel >> inst.src_count & 1) != 0;
  return half_of(high);
}

bool accumulates(Opcode op) {
  switch (op) {
    case Opcode::v_dot4c_i32_i8:
    case Opcode::v_dot8c_i32_i4:
    case Opcode::v_permlane16_swap_b32:
    case Opcode::v_permlane32_swap_b32:
    case Opcode::v_fmac_f32:
    case Opcode::v_fmac_f16:
    case Opcode::v_dot2acc_f32_f16:
    case Opcode::v_dot2acc_f32_bf16:
    case Opcode::v_swap_b32:
    case Opcode::v_swap_b16:
    case Opcode::s_bitset0_b64:
    case Opcode::s_bitset1_b64:
    case Opcode::s_addk_i32:
    case Opcode::s_mulk_i32:
    case Opcode::s_bitset0_b32:
    case Opcode::s_bitset1_b32:
    case Opcode::s_cmov_b32:
    case Opcode::s_cmovk_i32:
    case Opcode::s_fmac_f32:
      return true;
    default:
      return false;
  }
}

LaneUse lane_use(Opcode op) {
  switch (op) {
    case Opcode::v_readfirstlane_b32:
      return LaneUse::first_active;
    case Opcode::v_readlane_b32:
      return LaneUse::selected;
    case Opcode::v_permlane16_swap_b32:
    case Opcode::v_permlane32_swap_b32:
      return LaneUse::all;
    default:
      return isa::info(op).pipe == isa::Pipe::matrix ? LaneUse::all : LaneUse::exec;
  }
}

bool clears_high_half(Opcode op, const target::Target& target) {
  if (target.generation != target::Generation::gfx9) return false;
  switch (op) {
    // Long encodings only, with op_sel: they keep the other half.
    case Opcode::v_mad_u16:
    case Opcode::v_mad_i16:
    case Opcode::v_fma_f16:
    case Opcode::v_div_fixup_f16:
    case Opcode::v_add_nc_i16:
    case Opcode::v_sub_nc_i16:
    case Opcode::v_min3_u16:
    case Opcode::v_max3_u16:
    case Opcode::v_med3_u16:
    case Opcode::v_min3_i16:
    case Opcode::v_max3_i16:
    case Opcode::v_med3_i16:
    case Opcode::v_min3_f16:
    case Opcode::v_max3_f16:
    case Opcode::v_med3_f16:
    case Opcode::v_bitop3_b16:
    case Opcode::v_fma_mixlo_f16:
    case Opcode::v_fma_mixhi_f16:
    case Opcode::v_dot2acc_f32_f16:
    case Opcode::v_dot2acc_f32_bf16:
      return false;
    default:
      break;
  }
  const isa::OpcodeInfo& info = isa::info(op);
  if (op == Opcode::v_cvt_f16_f32 || op == Opcode::v_mad_legacy_u16 || op == Opcode::v_mad_legacy_i16)
    return true;
  return info.has(isa::flag::tied) && source_class(op, 0) == 'k';
}

OnUndefined on_undefined(Opcode op) {
  switch (op) {
    case Opcode::s_mov_b32:
    case Opcode::s_mov_b64:
    case Opcode::s_cselect_b32:
    case Opcode::s_cselect_b64:
    case Opcode::s_cmov_b32:
    case Opcode::v_mov_b32:
    case Opcode::v_mov_b16:
    case Opcode::v_mov_b64:
    case Opcode::v_pk_mov_b32:
    case Opcode::v_accvgpr_read_b32:
    case Opcode::v_accvgpr_write_b32:
    case Opcode::v_accvgpr_mov_b32:
    case Opcode::v_permlane16_swap_b32:
    case Opcode::v_permlane32_swap_b32:
    case Opcode::v_bitop3_b32:
    case Opcode::v_bitop3_b16:
    case Opcode::v_cndmask_b32:
    case Opcode::v_cndmask_b16:
    case Opcode::v_and_b32:
    case Opcode::v_or_b32:
    case Opcode::v_xor_b32:
    case Opcode::v_xnor_b32:
    case Opcode::v_not_b32:
    case Opcode::v_and_or_b32:
    case Opcode::v_or3_b32:
    case Opcode::v_xor3_b32:
    case Opcode::v_lshl_or_b32:
    case Opcode::v_lshlrev_b32:
    case Opcode::v_lshrrev_b32:
    case Opcode::v_ashrrev_i32:
    case Opcode::v_lshlrev_b64:
    case Opcode::v_lshrrev_b64:
    case Opcode::v_ashrrev_i64:
    case Opcode::v_bfe_u32:
    case Opcode::v_bfe_i32:
    case Opcode::v_bfi_b32:
    case Opcode::v_bfrev_b32:
    case Opcode::v_alignbit_b32:
    case Opcode::v_alignbyte_b32:
    case Opcode::v_perm_b32:
    case Opcode::v_and_b16:
    case Opcode::v_or_b16:
    case Opcode::v_xor_b16:
    case Opcode::v_not_b16:
    case Opcode::v_lshlrev_b16:
    case Opcode::v_lshrrev_b16:
    case Opcode::v_pack_b32_f16:
    case Opcode::v_cvt_u32_u16:
      return OnUndefined::propagate;
    default:
      return OnUndefined::report;
  }
}

MatrixWidths matrix_widths(const isa::Instruction& inst, const target::Target& target, unsigned lanes) {
  // MFMA: the signature says it all.
  if (target.has_agprs) return {inst.src[0].width, inst.dst[0].width};
  const bool halves_are_packed = !target.wmma16.replicated_halves;
  const bool half_result =
      inst.op == Opcode::v_wmma_f16_16x16x16_f16 || inst.op == Opcode::v_wmma_bf16_16x16x16_bf16;
  const unsigned cd = (halves_are_packed && half_result ? 4 : 8) * 32 / lanes;
  unsigned ab = 8;
  if (inst.op == Opcode::v_wmma_i32_16x16x16_iu8) ab = 4;
  if (inst.op == Opcode::v_wmma_i32_16x16x16_iu4) ab = 2;
  if (inst.op == Opcode::v_wmma_i32_16x16x32_iu4) ab = 4;
  return {halves_are_packed ? ab / 2 : ab, cd};
}

std::uint32_t dwords_read(const isa::Instruction& inst, unsigned i) {
  switch (inst.op) {
    case Opcode::v_pk_add_f32:
    case Opcode::v_pk_mul_f32:
    case Opcode::v_pk_fma_f32:
      return (1U << (inst.mods.op_sel >> i & 1)) | (1U << (inst.mods.op_sel_hi >> i & 1));
    case Opcode::v_pk_mov_b32:  // one dword of each
      return 1U << (inst.mods.op_sel >> i & 1);
    default:
      return ~0U;
  }
}

std::uint64_t constant_bits(const isa::Instruction& inst, unsigned i) {
  const isa::Operand& o = inst.src[i];
  const bool mix_half = is_mix(inst.op) && (inst.mods.op_sel_hi >> i & 1) != 0;
  // Packed integers see an inline float as the 32-bit number.
  const bool packed_int =
      inst.has(isa::flag::vop3p) && inst.info().name.find("f16") == std::string_view::npos;
  const bool half = mix_half || (source_class(inst.op, i) == 'k' && !packed_int);
  if (o.kind == isa::Operand::Kind::fimm && half) {
    const bool bf16 = inst.info().name.find("bf16") != std::string_view::npos;
    const auto bits = static_cast<std::uint32_t>(o.value);
    return bf16 ? bits >> 16 : f32_to_f16_nearest(bits);
  }
  if (o.kind == isa::Operand::Kind::fimm) {
    const auto bits = static_cast<std::uint32_t>(o.value);
    // A 64-bit operand has the number in its own format, except where it is two of 32 bits.
    const bool wide = source_spec(inst.op, i).ends_with('2') && !inst.has(isa::flag::vop3p);
    return wide ? std::bit_cast<std::uint64_t>(static_cast<double>(std::bit_cast<float>(bits))) : bits;
  }
  return static_cast<std::uint64_t>(o.value);
}

}  // namespace wavejit::sim::detail
