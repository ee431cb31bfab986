// SPDX-License-Identifier: MIT
// Mnemonics by generation. An opcode carries its gfx11 name; the lists below hold, for each other
// generation, the names that differ and the names that do not exist. Both were read off LLVM 22's
// assembler, and a test asks that assembler again.
#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <span>

#include "generator/isa/opcode.hpp"

namespace wavejit::isa {
namespace {

struct Name {
  std::string_view text;
  Opcode op;
  constexpr bool operator<(const Name& other) const { return text < other.text; }
};

template <std::size_t n>
constexpr std::array<Name, n> sorted(std::array<Name, n> names) {
  std::sort(names.begin(), names.end());
  return names;
}

template <std::size_t n>
constexpr std::array<Opcode, n> sorted(std::array<Opcode, n> ops) {
  std::sort(ops.begin(), ops.end());
  return ops;
}

constexpr auto canonical = sorted(std::to_array<Name>({
#define WJ_OP(name, pipe, sig, flags) {#name, Opcode::name},
#include "generator/isa/opcodes.def"
#undef WJ_OP
}));

#define WJ_NAME(text, op) {text, Opcode::op}
constexpr auto gfx9_names = sorted(std::to_array<Name>({
    WJ_NAME("s_andn2_b32", s_and_not1_b32),
    WJ_NAME("s_andn2_b64", s_and_not1_b64),
    WJ_NAME("s_orn2_b32", s_or_not1_b32),
    WJ_NAME("s_orn2_b64", s_or_not1_b64),
    WJ_NAME("s_andn2_saveexec_b64", s_and_not1_saveexec_b64),
    WJ_NAME("s_ff1_i32_b32", s_ctz_i32_b32),
    WJ_NAME("s_ff1_i32_b64", s_ctz_i32_b64),
    WJ_NAME("s_flbit_i32_b32", s_clz_i32_u32),
    WJ_NAME("s_flbit_i32_b64", s_clz_i32_u64),
    WJ_NAME("s_load_dword", s_load_b32),
    WJ_NAME("s_load_dwordx2", s_load_b64),
    WJ_NAME("s_load_dwordx4", s_load_b128),
    WJ_NAME("s_load_dwordx8", s_load_b256),
    WJ_NAME("s_load_dwordx16", s_load_b512),
    WJ_NAME("s_buffer_load_dword", s_buffer_load_b32),
    WJ_NAME("s_buffer_load_dwordx2", s_buffer_load_b64),
    WJ_NAME("s_buffer_load_dwordx4", s_buffer_load_b128),
    WJ_NAME("v_add_u32", v_add_nc_u32),
    WJ_NAME("v_sub_u32", v_sub_nc_u32),
    WJ_NAME("v_subrev_u32", v_subrev_nc_u32),
    WJ_NAME("v_add_i32", v_add_nc_i32),
    WJ_NAME("v_sub_i32", v_sub_nc_i32),
    WJ_NAME("v_addc_co_u32", v_add_co_ci_u32),
    WJ_NAME("v_subb_co_u32", v_sub_co_ci_u32),
    WJ_NAME("v_add_u16", v_add_nc_u16),
    WJ_NAME("v_sub_u16", v_sub_nc_u16),
    WJ_NAME("v_cvt_pkrtz_f16_f32", v_cvt_pk_rtz_f16_f32),
    WJ_NAME("v_dot2c_f32_f16", v_dot2acc_f32_f16),
    WJ_NAME("v_dot2c_f32_bf16", v_dot2acc_f32_bf16),
    WJ_NAME("ds_read_b32", ds_load_b32),
    WJ_NAME("ds_read_b64", ds_load_b64),
    WJ_NAME("ds_read_b96", ds_load_b96),
    WJ_NAME("ds_read_b128", ds_load_b128),
    WJ_NAME("ds_read_u8", ds_load_u8),
    WJ_NAME("ds_read_i8", ds_load_i8),
    WJ_NAME("ds_read_u16", ds_load_u16),
    WJ_NAME("ds_read_i16", ds_load_i16),
    WJ_NAME("ds_read_u16_d16", ds_load_u16_d16),
    WJ_NAME("ds_read_u16_d16_hi", ds_load_u16_d16_hi),
    WJ_NAME("ds_read2_b32", ds_load_2addr_b32),
    WJ_NAME("ds_read2_b64", ds_load_2addr_b64),
    WJ_NAME("ds_read2st64_b32", ds_load_2addr_stride64_b32),
    WJ_NAME("ds_read2st64_b64", ds_load_2addr_stride64_b64),
    WJ_NAME("ds_write_b8", ds_store_b8),
    WJ_NAME("ds_write_b16", ds_store_b16),
    WJ_NAME("ds_write_b16_d16_hi", ds_store_b16_d16_hi),
    WJ_NAME("ds_write_b8_d16_hi", ds_store_b8_d16_hi),
    WJ_NAME("ds_write_b32", ds_store_b32),
    WJ_NAME("ds_write_b64", ds_store_b64),
    WJ_NAME("ds_write_b96", ds_store_b96),
    WJ_NAME("ds_write_b128", ds_store_b128),
    WJ_NAME("ds_write2_b32", ds_store_2addr_b32),
    WJ_NAME("ds_write2_b64", ds_store_2addr_b64),
    WJ_NAME("ds_write2st64_b32", ds_store_2addr_stride64_b32),
    WJ_NAME("ds_write2st64_b64", ds_store_2addr_stride64_b64),
    WJ_NAME("buffer_load_ubyte", buffer_load_u8),
    WJ_NAME("buffer_load_sbyte", buffer_load_i8),
    WJ_NAME("buffer_load_ushort", buffer_load_u16),
    WJ_NAME("buffer_load_sshort", buffer_load_i16),
    WJ_NAME("buffer_load_dword", buffer_load_b32),
    WJ_NAME("buffer_load_dwordx2", buffer_load_b64),
    WJ_NAME("buffer_load_dwordx3", buffer_load_b96),
    WJ_NAME("buffer_load_dwordx4", buffer_load_b128),
    WJ_NAME("buffer_load_short_d16", buffer_load_d16_b16),
    WJ_NAME("buffer_load_short_d16_hi", buffer_load_d16_hi_b16),
    WJ_NAME("buffer_store_byte", buffer_store_b8),
    WJ_NAME("buffer_store_short", buffer_store_b16),
    WJ_NAME("buffer_store_short_d16_hi", buffer_store_d16_hi_b16),
    WJ_NAME("buffer_store_dword", buffer_store_b32),
    WJ_NAME("buffer_store_dwordx2", buffer_store_b64),
    WJ_NAME("buffer_store_dwordx3", buffer_store_b96),
    WJ_NAME("buffer_store_dwordx4", buffer_store_b128),
    WJ_NAME("global_load_ubyte", global_load_u8),
    WJ_NAME("global_load_sbyte", global_load_i8),
    WJ_NAME("global_load_ushort", global_load_u16),
    WJ_NAME("global_load_sshort", global_load_i16),
    WJ_NAME("global_load_dword", global_load_b32),
    WJ_NAME("global_load_dwordx2", global_load_b64),
    WJ_NAME("global_load_dwordx3", global_load_b96),
    WJ_NAME("global_load_dwordx4", global_load_b128),
    WJ_NAME("global_load_short_d16", global_load_d16_b16),
    WJ_NAME("global_load_short_d16_hi", global_load_d16_hi_b16),
    WJ_NAME("global_store_byte", global_store_b8),
    WJ_NAME("global_store_short", global_store_b16),
    WJ_NAME("global_store_short_d16_hi", global_store_d16_hi_b16),
    WJ_NAME("global_store_dword", global_store_b32),
    WJ_NAME("global_store_dwordx2", global_store_b64),
    WJ_NAME("global_store_dwordx3", global_store_b96),
    WJ_NAME("global_store_dwordx4", global_store_b128),
    WJ_NAME("scratch_load_dword", scratch_load_b32),
    WJ_NAME("scratch_load_dwordx2", scratch_load_b64),
    WJ_NAME("scratch_load_dwordx3", scratch_load_b96),
    WJ_NAME("scratch_load_dwordx4", scratch_load_b128),
    WJ_NAME("scratch_store_dword", scratch_store_b32),
    WJ_NAME("scratch_store_dwordx2", scratch_store_b64),
    WJ_NAME("scratch_store_dwordx3", scratch_store_b96),
    WJ_NAME("scratch_store_dwordx4", scratch_store_b128),
    WJ_NAME("global_atomic_add", global_atomic_add_u32),
    WJ_NAME("buffer_atomic_add", buffer_atomic_add_u32),
}));

constexpr auto gfx12_names = sorted(std::to_array<Name>({
    WJ_NAME("s_add_co_u32", s_add_u32),
    WJ_NAME("s_add_co_i32", s_add_i32),
    WJ_NAME("s_add_co_ci_u32", s_addc_u32),
    WJ_NAME("s_sub_co_u32", s_sub_u32),
    WJ_NAME("s_sub_co_i32", s_sub_i32),
    WJ_NAME("s_sub_co_ci_u32", s_subb_u32),
    WJ_NAME("s_addk_co_i32", s_addk_i32),
    WJ_NAME("s_min_num_f32", s_min_f32),
    WJ_NAME("s_max_num_f32", s_max_f32),
    WJ_NAME("s_wait_alu", s_waitcnt_depctr),
    WJ_NAME("v_min_num_f32", v_min_f32),
    WJ_NAME("v_max_num_f32", v_max_f32),
    WJ_NAME("v_max3_num_f32", v_max3_f32),
    WJ_NAME("v_min3_num_f32", v_min3_f32),
    WJ_NAME("v_med3_num_f32", v_med3_f32),
    WJ_NAME("v_min_num_f16", v_min_f16),
    WJ_NAME("v_max_num_f16", v_max_f16),
    WJ_NAME("v_pk_min_num_f16", v_pk_min_f16),
    WJ_NAME("v_pk_max_num_f16", v_pk_max_f16),
}));
#undef WJ_NAME

/// Opcodes that no member of the generation has under any name.
constexpr auto gfx9_absent = sorted(std::to_array<Opcode>({
    Opcode::buffer_gl0_inv,
    Opcode::buffer_gl1_inv,
    Opcode::s_add_f32,
    Opcode::s_and_not1_saveexec_b32,
    Opcode::s_and_saveexec_b32,
    Opcode::s_ceil_f32,
    Opcode::s_clause,
    Opcode::s_code_end,
    Opcode::s_cvt_f32_i32,
    Opcode::s_cvt_f32_u32,
    Opcode::s_cvt_i32_f32,
    Opcode::s_cvt_u32_f32,
    Opcode::s_delay_alu,
    Opcode::s_denorm_mode,
    Opcode::s_floor_f32,
    Opcode::s_fmac_f32,
    Opcode::s_max_f32,
    Opcode::s_min_f32,
    Opcode::s_mul_f32,
    Opcode::s_or_saveexec_b32,
    Opcode::s_rndne_f32,
    Opcode::s_round_mode,
    Opcode::s_set_inst_prefetch_distance,
    Opcode::s_sub_f32,
    Opcode::s_trunc_f32,
    Opcode::s_waitcnt_depctr,
    Opcode::s_waitcnt_vscnt,
    Opcode::v_and_b16,
    Opcode::v_cndmask_b16,
    Opcode::v_cvt_i32_i16,
    Opcode::v_cvt_u32_u16,
    Opcode::v_dot2_bf16_bf16,
    Opcode::v_dot2_f16_f16,
    Opcode::v_dot4_i32_iu8,
    Opcode::v_dot8_i32_iu4,
    Opcode::v_fmac_f16,
    Opcode::v_mov_b16,
    Opcode::v_not_b16,
    Opcode::v_or_b16,
    Opcode::v_permlane16_b32,
    Opcode::v_permlane64_b32,
    Opcode::v_permlanex16_b32,
    Opcode::v_wmma_f32_16x16x16_bf16,
    Opcode::v_wmma_f32_16x16x16_f16,
    Opcode::v_wmma_i32_16x16x16_iu4,
    Opcode::v_wmma_i32_16x16x16_iu8,
    Opcode::v_xor3_b32,
    Opcode::v_xor_b16,
}));

constexpr auto gfx11_absent = sorted(std::to_array<Opcode>({
    Opcode::v_cvt_pk_bf16_f32,
    Opcode::v_dot2acc_f32_bf16,
}));

constexpr auto gfx12_absent = sorted(std::to_array<Opcode>({
    Opcode::buffer_gl0_inv,
    Opcode::buffer_gl1_inv,
    Opcode::s_barrier,
    Opcode::s_cmpk_eq_i32,
    Opcode::s_cmpk_eq_u32,
    Opcode::s_cmpk_ge_i32,
    Opcode::s_cmpk_ge_u32,
    Opcode::s_cmpk_gt_i32,
    Opcode::s_cmpk_gt_u32,
    Opcode::s_cmpk_le_i32,
    Opcode::s_cmpk_le_u32,
    Opcode::s_cmpk_lg_i32,
    Opcode::s_cmpk_lg_u32,
    Opcode::s_cmpk_lt_i32,
    Opcode::s_cmpk_lt_u32,
    Opcode::s_set_inst_prefetch_distance,
    Opcode::s_waitcnt_vscnt,
    Opcode::v_cvt_pk_bf16_f32,
    Opcode::v_dot2acc_f32_bf16,
    Opcode::v_dot2acc_f32_f16,
}));

struct Vocabulary {
  std::span<const Name> renamed;   ///< sorted by text
  std::span<const Opcode> absent;  ///< sorted
};

Vocabulary vocabulary(target::Generation generation) {
  switch (generation) {
    case target::Generation::gfx9:
      return {gfx9_names, gfx9_absent};
    case target::Generation::gfx12:
      return {gfx12_names, gfx12_absent};
    case target::Generation::gfx11:
      break;
  }
  return {{}, gfx11_absent};
}

std::optional<Opcode> look_up(std::span<const Name> names, std::string_view text) {
  const auto it = std::ranges::lower_bound(names, text, {}, &Name::text);
  if (it == names.end() || it->text != text) return std::nullopt;
  return it->op;
}

}  // namespace

std::optional<Opcode> find_opcode(std::string_view mnemonic, target::Generation generation) {
  const Vocabulary words = vocabulary(generation);
  if (const auto renamed = look_up(words.renamed, mnemonic)) return renamed;
  const auto op = look_up(canonical, mnemonic);
  if (op && std::ranges::binary_search(words.absent, *op)) return std::nullopt;
  return op;
}

std::string_view spelling(Opcode op, target::Generation generation) {
  const Vocabulary words = vocabulary(generation);
  const auto it = std::ranges::find(words.renamed, op, &Name::op);
  if (it != words.renamed.end()) return it->text;
  if (std::ranges::binary_search(words.absent, op)) return {};
  return info(op).name;
}

}  // namespace wavejit::isa
