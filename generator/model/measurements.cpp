// SPDX-License-Identifier: MIT
#include "generator/model/measurements.hpp"

#include <array>

namespace wavejit::model {
namespace {

constexpr std::string_view valu_chain =
    "v_add_f32 v0, v1, v0\nv_add_f32 v0, v1, v0\nv_add_f32 v0, v1, v0\n"
    "v_add_f32 v0, v1, v0\nv_add_f32 v0, v1, v0\nv_add_f32 v0, v1, v0\n"
    "v_add_f32 v0, v1, v0\nv_add_f32 v0, v1, v0\nv_add_f32 v0, v1, v0\n"
    "v_add_f32 v0, v1, v0\nv_add_f32 v0, v1, v0\nv_add_f32 v0, v1, v0\n";
constexpr std::string_view valu_row =
    "v_add_f32 v0, v1, v2\nv_add_f32 v3, v1, v2\nv_add_f32 v4, v1, v2\n"
    "v_add_f32 v5, v1, v2\nv_add_f32 v6, v1, v2\nv_add_f32 v7, v1, v2\n"
    "v_add_f32 v8, v1, v2\nv_add_f32 v9, v1, v2\nv_add_f32 v10, v1, v2\n"
    "v_add_f32 v11, v1, v2\nv_add_f32 v12, v1, v2\nv_add_f32 v13, v1, v2\n";
constexpr std::string_view trans_row =
    "v_rcp_f32 v0, v1\nv_rcp_f32 v2, v1\nv_rcp_f32 v3, v1\nv_rcp_f32 v4, v1\nv_rcp_f32 v5, v1\n"
    "v_rcp_f32 v6, v1\nv_rcp_f32 v7, v1\nv_rcp_f32 v8, v1\nv_rcp_f32 v9, v1\nv_rcp_f32 v10, v1\n"
    "v_rcp_f32 v11, v1\nv_rcp_f32 v12, v1\n";
constexpr std::string_view shift_row =
    "v_lshlrev_b64 v[0:1], 2, v[20:21]\nv_lshlrev_b64 v[2:3], 2, v[20:21]\nv_lshlrev_b64 v[4:5], 2, "
    "v[20:21]\n"
    "v_lshlrev_b64 v[6:7], 2, v[20:21]\nv_lshlrev_b64 v[8:9], 2, v[20:21]\nv_lshlrev_b64 v[10:11], 2, "
    "v[20:21]\n"
    "v_lshlrev_b64 v[12:13], 2, v[20:21]\nv_lshlrev_b64 v[14:15], 2, v[20:21]\n"
    "v_lshlrev_b64 v[16:17], 2, v[20:21]\nv_lshlrev_b64 v[18:19], 2, v[20:21]\n"
    "v_lshlrev_b64 v[22:23], 2, v[20:21]\nv_lshlrev_b64 v[24:25], 2, v[20:21]\n";
constexpr std::string_view lds_pair =
    "ds_load_b128 v[4:7], v0\nds_load_b128 v[8:11], v0 offset:16\n"
    "s_waitcnt lgkmcnt(1)\ns_nop 0\n";
constexpr std::string_view lds_word = "ds_load_b32 v4, v0\ns_waitcnt lgkmcnt(0)\ns_nop 0\n";
constexpr std::string_view lds_store = "ds_store_b32 v0, v4\ns_waitcnt lgkmcnt(0)\ns_nop 0\n";
constexpr std::string_view valu_to_lds = "v_lshlrev_b32 v0, 2, v1\nds_store_b32 v0, v4\n";
constexpr std::string_view valu_to_memory = "v_add_nc_u32 v0, 4, v1\nglobal_load_b128 v[4:7], v0, s[0:1]\n";
constexpr std::string_view unread_to_memory =
    "v_add_nc_u32 v20, 4, v1\nglobal_load_b128 v[4:7], v0, s[0:1]\n";
constexpr std::string_view barrier4 = "s_barrier\ns_nop 0\n";

// wmma_simple: ten independent accumulators.
constexpr std::string_view wmma_row = R"(
v_wmma_f32_16x16x16_f16 v[68:75], v[60:63], v[64:67], v[68:75]
v_wmma_f32_16x16x16_f16 v[84:91], v[76:79], v[80:83], v[84:91]
v_wmma_f32_16x16x16_f16 v[100:107], v[92:95], v[96:99], v[100:107]
v_wmma_f32_16x16x16_f16 v[116:123], v[108:111], v[112:115], v[116:123]
v_wmma_f32_16x16x16_f16 v[132:139], v[124:127], v[128:131], v[132:139]
v_wmma_f32_16x16x16_f16 v[148:155], v[140:143], v[144:147], v[148:155]
v_wmma_f32_16x16x16_f16 v[164:171], v[156:159], v[160:163], v[164:171]
v_wmma_f32_16x16x16_f16 v[180:187], v[172:175], v[176:179], v[180:187]
v_wmma_f32_16x16x16_f16 v[196:203], v[188:191], v[192:195], v[196:203]
v_wmma_f32_16x16x16_f16 v[212:219], v[204:207], v[208:211], v[212:219]
s_add_co_i32 s1, s1, -1
s_cmp_eq_i32 s1, 0
s_cbranch_scc0 .Lbody
)";

// Matrix, transcendental and plain VALU in turn, eight waves on each SIMD.
constexpr std::string_view mixed_row = R"(
v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[8:11], 1
v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[8:11], 1
v_mov_b32 v20, 4.0
v_rcp_f32 v22, v20
s_mov_b32 s20, 0
s_mul_i32 s14, s12, 32
v_mov_b32 v21, 4.0
v_rcp_f32 v23, v21
s_mov_b32 s21, 1
s_mul_i32 s15, s13, 32
v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[8:11], 1
v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[8:11], 1
v_mov_b32 v20, 4.0
v_rcp_f32 v22, v20
s_mov_b32 s20, 0
s_mul_i32 s14, s12, 32
v_mov_b32 v21, 4.0
v_rcp_f32 v23, v21
s_mov_b32 s21, 1
s_mul_i32 s15, s13, 32
s_nop 1
s_nop 1
s_nop 1
s_nop 1
s_nop 1
s_nop 1
s_nop 1
s_nop 1
s_add_co_u32 s1, s1, -1
s_cmp_eq_i32 s1, 0
s_cbranch_scc0 .Lbody
)";

// Twenty scalar, ten plain and five 64-bit VALU, ten transcendental, ten matrix instructions.
constexpr std::string_view long_row = R"(
s_mov_b32 s20, 0
s_min_i32 s30, 0, s0
s_mov_b32 s40, 0
s_mul_i32 s14, s12, 32
s_mov_b32 s21, 1
s_min_i32 s31, 1, s0
s_mov_b32 s41, 1
s_mul_i32 s15, s13, 32
s_mov_b32 s22, 2
s_min_i32 s32, 2, s0
s_mov_b32 s42, 2
s_mul_i32 s16, s14, 32
s_mov_b32 s23, 3
s_min_i32 s33, 3, s0
s_mov_b32 s43, 3
s_mul_i32 s17, s15, 32
s_mov_b32 s24, 4
s_min_i32 s34, 4, s0
s_mov_b32 s44, 4
s_mul_i32 s18, s16, 32
v_mov_b32 v20, 0
v_lshlrev_b64 v[30:31], 2, v[12:13]
v_mad_co_u64_u32 v[40:41], null, v12, v13, v[14:15]
v_mov_b32 v21, 1
v_lshlrev_b64 v[32:33], 2, v[13:14]
v_mad_co_u64_u32 v[42:43], null, v13, v14, v[15:16]
v_mov_b32 v22, 2
v_lshlrev_b64 v[34:35], 2, v[14:15]
v_mad_co_u64_u32 v[44:45], null, v14, v15, v[16:17]
v_mov_b32 v23, 3
v_lshlrev_b64 v[36:37], 2, v[15:16]
v_mad_co_u64_u32 v[46:47], null, v15, v16, v[17:18]
v_mov_b32 v24, 4
v_lshlrev_b64 v[38:39], 2, v[16:17]
v_mad_co_u64_u32 v[48:49], null, v16, v17, v[18:19]
v_mov_b32 v20, 0
v_mul_f32 v60, v12, v12
v_rcp_f32 v30, v12
v_mul_f32 v65, v12, v12
v_mov_b32 v21, 1
v_mul_f32 v61, v13, v13
v_rcp_f32 v31, v13
v_mul_f32 v66, v13, v13
v_mov_b32 v22, 2
v_mul_f32 v62, v14, v14
v_rcp_f32 v32, v14
v_mul_f32 v67, v14, v14
v_mov_b32 v23, 3
v_mul_f32 v63, v15, v15
v_rcp_f32 v33, v15
v_mul_f32 v68, v15, v15
v_mov_b32 v24, 4
v_mul_f32 v64, v16, v16
v_rcp_f32 v34, v16
v_mul_f32 v69, v16, v16
v_wmma_f32_16x16x16_f16 v[38:45], v[30:33], v[34:37], v[38:45]
v_wmma_i32_16x16x16_iu8 v[50:57], v[46:47], v[48:49], v[50:57]
v_wmma_f32_16x16x16_f16 v[78:85], v[70:73], v[74:77], v[78:85]
v_wmma_i32_16x16x16_iu8 v[90:97], v[86:87], v[88:89], v[90:97]
v_wmma_f32_16x16x16_f16 v[118:125], v[110:113], v[114:117], v[118:125]
v_wmma_i32_16x16x16_iu8 v[130:137], v[126:127], v[128:129], v[130:137]
v_wmma_f32_16x16x16_f16 v[158:165], v[150:153], v[154:157], v[158:165]
v_wmma_i32_16x16x16_iu8 v[170:177], v[166:167], v[168:169], v[170:177]
v_wmma_f32_16x16x16_f16 v[198:205], v[190:193], v[194:197], v[198:205]
v_wmma_i32_16x16x16_iu8 v[210:217], v[206:207], v[208:209], v[210:217]
s_add_co_i32 s1, s1, -1
s_cmp_eq_i32 s1, 0
s_cbranch_scc0 .Lbody
)";

// Five matrix instructions into one accumulator.
constexpr std::string_view wmma_chain = R"(
v_wmma_f32_16x16x16_bf16 v[0:7], v[8:15], v[16:23], v[0:7]
v_wmma_f32_16x16x16_bf16 v[0:7], v[8:15], v[16:23], v[0:7]
v_wmma_f32_16x16x16_bf16 v[0:7], v[8:15], v[16:23], v[0:7]
v_wmma_f32_16x16x16_bf16 v[0:7], v[8:15], v[16:23], v[0:7]
v_wmma_f32_16x16x16_bf16 v[0:7], v[8:15], v[16:23], v[0:7]
)";

constexpr std::array loops{
    MeasuredLoop{"gfx1100", "VALU, independent", valu_row, 1, 1, 12 * 1},
    MeasuredLoop{"gfx1100", "VALU, dependent", valu_chain, 1, 1, 12 * 5, true},
    MeasuredLoop{"gfx1100", "transcendental", trans_row, 1, 1, 12 * 4, true},
    MeasuredLoop{"gfx1100", "64-bit shift", shift_row, 1, 1, 12 * 2, true},
    MeasuredLoop{"gfx1100", "WMMA bf16, one accumulator", wmma_chain, 1, 1, 5 * 34, true},
    MeasuredLoop{"gfx1100", "LDS b128 pair to first wait", lds_pair, 1, 1, 37, true, true, 0, 2},
    MeasuredLoop{"gfx1100", "LDS b32 to wait", lds_word, 1, 1, 32, false, true, 0, 1},
    MeasuredLoop{"gfx1100", "LDS store to wait", lds_store, 1, 1, 33, false, true, 0, 1},
    MeasuredLoop{"gfx1100", "VALU to LDS", valu_to_lds, 1, 1, 17, true, true, 0, 1},
    MeasuredLoop{"gfx1100", "VALU to memory", valu_to_memory, 1, 1, 18, false, true, 0, 1},
    MeasuredLoop{"gfx1100", "VALU to memory that does not read it", unread_to_memory, 1, 1, 17, false, true,
                 0, 1},
    MeasuredLoop{"gfx1100", "barrier of 4 waves", barrier4, 4, 1, 16, true, true, 0, 1},
    MeasuredLoop{"gfx1201", "VALU, independent", valu_row, 1, 1, 12 * 1},
    MeasuredLoop{"gfx1201", "VALU, dependent", valu_chain, 1, 1, 12 * 5},
    MeasuredLoop{"gfx1201", "transcendental", trans_row, 1, 1, 12 * 4},
    MeasuredLoop{"gfx1201", "ten WMMA, 1 wave", wmma_row, 1, 1, 160, true},
    MeasuredLoop{"gfx1201", "WMMA and transcendental, 8 waves a SIMD", mixed_row, 4, 8, 95.4},
    MeasuredLoop{"gfx1201", "scalar, 64-bit, transcendental, WMMA, 1 wave", long_row, 1, 1, 195},
    MeasuredLoop{"gfx1201", "scalar, 64-bit, transcendental, WMMA, 2 waves a SIMD", long_row, 4, 2, 188},
    MeasuredLoop{"gfx1201", "VALU to memory", valu_to_memory, 1, 1, 19, false, true, 0, 1},
    MeasuredLoop{"gfx950", "VALU, independent", valu_row, 1, 1, 12 * 4, true},
    MeasuredLoop{"gfx950", "VALU, dependent", valu_chain, 1, 1, 12 * 4},
    MeasuredLoop{
        "gfx950", "LDS b128, four in a row, to first wait",
        "ds_read_b128 v[4:7], v0\nds_read_b128 v[8:11], v0 offset:16\nds_read_b128 v[12:15], v0 offset:32\n"
        "ds_read_b128 v[16:19], v0 offset:48\ns_waitcnt lgkmcnt(3)\ns_nop 0\n",
        1, 1, 48, true, true, 0, 4},
    MeasuredLoop{"gfx950", "LDS store to wait", "ds_write_b32 v0, v4\ns_waitcnt lgkmcnt(0)\ns_nop 0\n", 1, 1,
                 52, false, true, 0, 1},
    MeasuredLoop{"gfx950", "VALU to LDS", "v_lshlrev_b32 v0, 2, v1\nds_write_b32 v0, v4\n", 1, 1, 12, true,
                 true, 0, 1},
};

}  // namespace

std::span<const MeasuredLoop> measured_loops() { return loops; }

double modelled_clocks(const MeasuredLoop& loop, std::span<const isa::Instruction> code,
                       const target::Target& target, const RunOptions& options) {
  const Residency residency{loop.workgroups, loop.waves, true};
  Stretches stretches;
  for (std::size_t i = 0; i + 1 < code.size(); ++i) stretches.body.push_back(i);
  const Prepared prepared = prepare(code, stretches, {}, target);
  if (!loop.gap) {
    const double waves_per_simd = loop.waves > 1 ? double(loop.waves) / target.simds_per_wgp : 1;
    return steady_state(prepared.body, residency, target, options).cycles / waves_per_simd;
  }
  std::vector<IssueEvent> trace;
  run_workgroups(prepared, 1, 1, residency, target, &trace, 64);
  Clock first = 0, last = 0;
  for (const IssueEvent& e : trace) {
    if (e.index == loop.from) first = std::max(first, e.issue);
    if (e.index == loop.to) last = std::max(last, e.issue);
  }
  return last - first;
}

}  // namespace wavejit::model
