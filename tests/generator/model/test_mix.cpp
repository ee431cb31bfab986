// SPDX-License-Identifier: MIT
// The instruction mix against counts by hand and against those that loop_stats.py, a separate program
// over LLVM's disassembly, printed for Triton's code objects (shared/peers/triton_baseline.md).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "generator/ir/builder.hpp"
#include "generator/model/mix.hpp"
#include "tests/generator/lower/text_kernel.hpp"
#include "tests/skip.hpp"

using namespace wavejit;

namespace {

std::vector<isa::Instruction> instructions(const lower::DecodedKernel& kernel) {
  std::vector<isa::Instruction> code;
  for (const lower::DecodedInstruction& d : kernel.instructions) code.push_back(d.inst);
  return code;
}

std::vector<isa::Instruction> decoded(std::string_view body) {
  const target::Target& target = test::table("gfx1151");
  return instructions(test::build(test::kernel_text("k", body, target), target).kernels.at(0));
}

model::Mix hot_mix(std::span<const isa::Instruction> code) {
  const auto loop = model::hot_loop(code);
  REQUIRE(loop);
  return model::mix(model::body(code, *loop));
}

std::vector<std::uint8_t> triton_object(const std::string& name) {
  std::ifstream stream(test::shared("peers/triton/" + name + ".hsaco"), std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

constexpr std::string_view two_loops = R"(
  s_mov_b32 s2, 0
.Louter:
  v_mov_b32 v0, v1
.Linner:
  s_add_u32 s2, s2, 1
  v_add_f32 v0, v0, v1
  v_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v5, v6
  v_cmp_gt_u32 vcc_lo, v0, v1
  v_cndmask_b32 v0, v1, v2, vcc_lo
  v_exp_f32 v0, v0
  v_dot2_f32_f16 v0, v1, v2, v3
  v_wmma_f32_16x16x16_bf16 v[8:15], v[16:23], v[24:31], v[8:15]
  ds_load_b32 v0, v1
  ds_store_b32 v0, v1
  buffer_load_b32 v0, v1, s[4:7], 0 offen
  buffer_store_b32 v0, v1, s[4:7], 0 offen
  s_load_b32 s3, s[0:1], null
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_nop 0
  s_barrier
  s_cmp_lt_u32 s2, 8
  s_cbranch_scc1 .Linner
  s_cmp_lt_u32 s2, 80
  s_cbranch_scc1 .Louter
.Lshort:
  s_sub_u32 s2, s2, 1
  s_cbranch_scc0 .Lshort
  s_endpgm
)";

}  // namespace

TEST_CASE("the mix of a loop, counted by hand", "[model]") {
  const auto code = decoded(two_loops);
  const model::Mix m = hot_mix(code);
  CHECK(m.matrix == 1);
  CHECK(m.dot == 1);
  CHECK(m.trans == 1);
  CHECK(m.valu == 4);  // add, a VOPD pair, compare, select
  CHECK(m.other_valu() == 6);
  CHECK(m.dual == 1);
  CHECK(m.compare_select == 2);
  CHECK(m.salu == 2);
  CHECK(m.smem == 1);
  CHECK(m.lds_load == 1);
  CHECK(m.lds_store == 1);
  CHECK(m.vmem_load == 1);
  CHECK(m.vmem_store == 1);
  CHECK(m.wait == 1);
  CHECK(m.hint == 1);
  CHECK(m.barrier == 1);
  CHECK(m.branch == 1);
  CHECK(m.total() == 18);
}

TEST_CASE("every loop is found, with what is its own", "[model]") {
  const auto code = decoded(two_loops);
  const auto loops = model::loops(code);
  REQUIRE(loops.size() == 3);  // outer, inner, short
  CHECK(code[loops[0].header].op == isa::Opcode::v_mov_b32);
  CHECK(loops[0].nested == 1);
  CHECK(loops[0].own.size() == 3);  // v_mov, s_cmp, branch
  CHECK(code[loops[1].header].op == isa::Opcode::s_add_u32);
  CHECK(loops[1].nested == 0);
  CHECK(code[loops[2].header].op == isa::Opcode::s_sub_u32);
  CHECK(loops[2].own.size() == 2);
  CHECK_FALSE(model::hot_loop(decoded("  v_mov_b32 v0, v1\n  s_endpgm\n")));
  CHECK(model::loops({}).empty());
}

TEST_CASE("a loop behind the kernel's end is hot only where it does not go back", "[model][loops]") {
  const std::string loop = R"(
.Lagain:
  v_mov_b32 v0, v1
  s_sub_u32 s0, s0, 1
  s_cmp_lg_u32 s0, 0
  s_cbranch_scc1 .Lagain
)";
  // A rare case: computed again, then on with what was left.
  const std::string rare =
      "  s_cbranch_vccnz .Lrare\n.Lfinish:\n  s_endpgm\n.Lrare:\n" + loop + "  s_branch .Lfinish\n";
  CHECK_FALSE(model::hot_loop(decoded(rare)));
  // An early end, with the kernel behind it.
  const std::string early = "  s_cbranch_vccnz .Lgo\n  s_endpgm\n.Lgo:\n" + loop + "  s_endpgm\n";
  const auto found = model::hot_loop(decoded(early));
  REQUIRE(found);
  CHECK(found->header == 2);
}

TEST_CASE("a body of several blocks counts without the loop inside it", "[model]") {
  // loop_stats.py --all-loops on the same text: .Lhead matrix 1, valu 3, 11 instructions; .Lwait and
  // .Lover 3 instructions each.
  const auto code = decoded(R"(
  s_mov_b32 s2, 0
.Lhead:
  v_add_f32 v0, v0, v1
  s_and_saveexec_b32 s3, vcc_lo
  s_cbranch_execz .Ljoin
  v_mul_f32 v2, v0, v1
.Lwait:
  v_readfirstlane_b32 s4, v3
  v_xor_b32 v4, v4, v5
  s_cbranch_scc1 .Lwait
  v_mul_f32 v2, v0, v1
.Ljoin:
  s_or_b32 exec_lo, exec_lo, s3
  v_wmma_f32_16x16x16_bf16 v[8:15], v[16:23], v[24:31], v[8:15]
  v_nop
  s_delay_alu instid0(VALU_DEP_1)
  ds_bpermute_b32 v6, v7, v6
  s_cbranch_scc0 .Lhead
  s_cbranch_scc1 .Lover
.Lend:
  s_endpgm
.Lover:
  v_mov_b32 v0, v1
  v_mov_b32 v0, v2
  s_cbranch_vccz .Lover
  s_branch .Lend
)");
  const auto loop = model::hot_loop(code);
  REQUIRE(loop);
  CHECK(code[loop->header].op == isa::Opcode::v_add_f32);
  CHECK(loop->nested == 1);
  const model::Mix m = model::mix(model::body(code, *loop));
  CHECK(m.total() == 11);
  CHECK(m.matrix == 1);
  CHECK(m.other_valu() == 3);
  CHECK(m.salu == 2);
  CHECK(m.lds_other == 1);
  CHECK(m.lds_load == 0);
  CHECK(m.branch == 2);
  CHECK(m.delay == 1);
  CHECK(m.hint == 2);  // s_delay_alu and v_nop
  const auto loops = model::loops(code);
  REQUIRE(loops.size() == 3);
  CHECK(loops[1].own.size() == 3);
  CHECK(loops[2].own.size() == 3);
}

TEST_CASE("matrix instructions decide which loop is hot, then long dot products, then VALU", "[model]") {
  const std::string valu = "  v_mov_b32 v0, v1\n  v_mov_b32 v2, v3\n  v_mov_b32 v4, v5\n";
  const std::string dot = "  v_dot4_i32_iu8 v0, v1, v2, v3\n";
  const std::string matrix = "  v_wmma_f32_16x16x16_bf16 v[8:15], v[16:23], v[24:31], v[8:15]\n";
  const auto hottest = [](const std::string& first, const std::string& second) {
    const auto code = decoded(".Lone:\n" + first + "  s_cbranch_scc0 .Lone\n.Ltwo:\n" + second +
                              "  s_cbranch_scc0 .Ltwo\n  s_endpgm\n");
    return model::hot_loop(code)->header == 0 ? 1 : 2;
  };
  CHECK(hottest(valu + dot, matrix) == 2);
  CHECK(hottest(matrix, valu + dot) == 1);
  CHECK(hottest(valu, dot) == 2);
  CHECK(hottest(dot, valu) == 1);
  CHECK(hottest(valu, valu + valu) == 2);
  CHECK(hottest(valu, valu) == 1);
}

TEST_CASE("atomics are neither loads nor stores", "[model]") {
  const model::Mix m = model::mix(decoded(R"(
  buffer_atomic_add_u32 v0, v1, s[4:7], 0 offen
  global_atomic_add_f32 v0, v1, s[0:1]
  ds_swizzle_b32 v0, v1 offset:0x8000
  s_endpgm
)"));
  CHECK(m.vmem_atomic == 2);
  CHECK(m.vmem_load == 0);
  CHECK(m.vmem_store == 0);
  CHECK(m.lds_other == 1);
}

TEST_CASE("a kernel's blocks flatten to one list with instruction labels", "[model]") {
  ir::Kernel kernel;
  kernel.target = &test::table("gfx1151");
  ir::Builder b(kernel);
  b.block("entry");
  for (unsigned r = 0; r < 3; ++r) b.emit(isa::Opcode::s_mov_b32, {isa::sgpr(r)}, {isa::imm(0)});
  b.block("empty");
  b.block("loop");
  b.emit(isa::Opcode::s_add_u32, {isa::sgpr(0)}, {isa::sgpr(0), isa::imm(1)});
  b.emit(isa::Opcode::s_cbranch_scc0, {}, {isa::label(1)});
  b.block("end");
  b.emit(isa::Opcode::s_endpgm, {}, {});
  const auto code = model::flatten(kernel);
  REQUIRE(code.size() == 6);
  CHECK(code[4].src[0] == isa::label(3));  // block 1 is empty: its first instruction is that of block 2
  const auto loops = model::loops(code);
  REQUIRE(loops.size() == 1);
  CHECK(loops[0].own == std::vector<std::size_t>{3, 4});
}

TEST_CASE("bank conflicts: register mod 4 of sources that are not one register", "[model]") {
  const target::Target& target = test::table("gfx1151");
  const auto conflicts = [&](std::string_view body) {
    return model::bank_conflicts(decoded(std::string(body) + "\n  s_endpgm\n"), target);
  };
  // Banks 0, 1, 2.
  CHECK(conflicts("  v_wmma_f32_16x16x16_bf16 v[16:23], v[1:8], v[34:41], v[16:23]").matrix == 0);
  // A in bank 1 and B in bank 1.
  CHECK(conflicts("  v_wmma_f32_16x16x16_bf16 v[16:23], v[1:8], v[33:40], v[16:23]").matrix == 1);
  // B in bank 0 as the accumulator.
  CHECK(conflicts("  v_wmma_f32_16x16x16_bf16 v[16:23], v[1:8], v[32:39], v[16:23]").matrix == 1);
  // One tuple as A and B.
  CHECK(conflicts("  v_wmma_f32_16x16x16_bf16 v[16:23], v[1:8], v[1:8], v[16:23]").matrix == 1);
  CHECK(conflicts("  v_fmac_f32 v4, v1, v8").valu == 1);  // the accumulator is in bank 0 as v8
  CHECK(conflicts("  v_fmac_f32 v4, v1, v7").valu == 0);
  CHECK(conflicts("  v_fma_f32 v0, v1, v2, v3").valu == 0);
  CHECK(conflicts("  v_fma_f32 v0, v1, v2, v5").valu == 1);
  CHECK(conflicts("  v_fma_f32 v0, v1, v2, v1").valu == 0);  // one register read twice
  CHECK(conflicts("  v_add_f32 v0, v1, v5").valu == 0);      // two sources have two ports
  CHECK(conflicts("  v_fma_f32 v0, v1, s2, v5").valu == 0);
  target::Target unbanked = target;
  unbanked.vgpr_banks = 0;
  CHECK(model::bank_conflicts(decoded("  v_fma_f32 v0, v1, v2, v5\n  s_endpgm\n"), unbanked).valu == 0);
}

TEST_CASE("hot loops of Triton's gfx1151 objects count as loop_stats.py counts them", "[model]") {
  struct Row {
    const char* name;
    unsigned total, matrix, valu, dual, long_dots, lds_load, lds_store, vmem_load, salu, wait, barrier, delay,
        branch, cache;
  };
  // `loop_stats.py --json` on the objects themselves.
  constexpr Row rows[] = {
      {"A01_bf16_shuf_g32_128x64x32_s2", 140, 8, 75, 0, 0, 16, 3, 4, 22, 6, 2, 1, 1, 2},
      {"A02_bf16_shuf_g32_128x64x32_s1", 144, 8, 74, 0, 0, 16, 3, 4, 22, 8, 4, 0, 1, 4},
      {"A08_bf16_shuf_g32_asym_s2", 146, 8, 80, 0, 0, 16, 3, 5, 22, 6, 2, 0, 1, 2},
      {"A09_bf16_shuf_g32_asym_s1", 149, 8, 78, 0, 0, 16, 3, 5, 22, 8, 4, 0, 1, 4},
      {"A12_bf16_g32_const_nomask_s1", 115, 8, 65, 0, 0, 16, 3, 4, 2, 8, 4, 0, 1, 4},
      {"A18_bf16_g32_down_128x512x32_w16_s2", 527, 32, 233, 5, 0, 144, 33, 3, 23, 52, 2, 2, 1, 2},
      {"B1_fp16_packed_asym_128x256x32_s1", 613, 32, 459, 0, 0, 22, 5, 5, 25, 16, 8, 31, 1, 8},
      {"B1_fp16_packed_sym_128x256x32_s1", 368, 32, 251, 0, 0, 21, 4, 4, 25, 15, 6, 2, 1, 6},
      {"B5_fp16_scalar_asym_128x64x32_s1", 111, 8, 40, 0, 0, 16, 3, 5, 22, 8, 4, 0, 1, 4},
      {"B5_fp16_scalar_sym_128x64x32_s1", 104, 8, 34, 0, 0, 16, 3, 4, 22, 8, 4, 0, 1, 4},
      {"D1_q4k_gemv_bf16_sb4", 250, 0, 209, 20, 0, 0, 0, 13, 2, 8, 0, 13, 1, 0},
      {"D2_q4k_gemv_q8_1_sb4", 117, 0, 77, 6, 8, 0, 0, 12, 2, 11, 0, 12, 1, 0}};
  for (const Row& row : rows) {
    const auto object = lower::decode(triton_object(row.name));
    REQUIRE(object);
    const auto code = instructions(object->kernels.at(0));
    const auto loop = model::hot_loop(code);
    REQUIRE(loop);
    const auto body = model::body(code, *loop);
    const model::Mix m = model::mix(body);
    CAPTURE(row.name);
    CHECK(m.total() == row.total);
    CHECK(m.matrix == row.matrix);
    CHECK(m.other_valu() == row.valu);
    CHECK(m.dual == row.dual);
    CHECK(static_cast<unsigned>(
              std::ranges::count(body, isa::Opcode::v_dot4_i32_iu8, &isa::Instruction::op)) == row.long_dots);
    CHECK(m.lds_load == row.lds_load);
    CHECK(m.lds_store == row.lds_store);
    CHECK(m.lds_other == 0);
    CHECK(m.vmem_load == row.vmem_load);
    CHECK(m.vmem_store == 0);
    CHECK(m.salu == row.salu);
    CHECK(m.wait == row.wait);
    CHECK(m.barrier == row.barrier);
    CHECK(m.delay == row.delay);
    CHECK(m.branch == row.branch);
    CHECK(m.cache == row.cache);
  }
}
