// SPDX-License-Identifier: MIT
// Registers: within the allocation, written before they are read, aligned, not overlapping.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/runtime/check/check_kernel.hpp"

using namespace wavejit;
using check::Kind;
using test::bare_report;
using test::kinds;
using test::nothing;
using test::only;
using test::report;

TEST_CASE("VGPRs lie below what RSRC1 allocates", "[check][registers]") {
  // 24 are asked for; the granule of the encoding is 8 (hardware.md §1).
  CHECK(kinds(report("v_mov_b32 v23, 0\n")) == nothing);
  CHECK(kinds(report("v_mov_b32 v24, 0\n")) == only(Kind::register_range));
  CHECK(kinds(report("v_mov_b32 v24, 0\n", {.vgprs = 25})) == nothing);
  CHECK(kinds(report("global_load_b64 v[23:24], v0, s[0:1]\n")) == only(Kind::register_range));
}

TEST_CASE("gfx9: VGPRs end at accum_offset, AGPRs at the allocation", "[check][registers]") {
  const target::Target& t = test::table("gfx942");  // the bare kernel has 32 and 32
  CHECK(kinds(bare_report("v_mov_b32 v31, 0\n", t)) == nothing);
  CHECK(kinds(bare_report("v_mov_b32 v32, 0\n", t)) == only(Kind::register_range));
  CHECK(kinds(bare_report("v_accvgpr_write_b32 a31, v0\n", t)) == nothing);
  CHECK(kinds(bare_report("v_accvgpr_write_b32 a32, v0\n", t)) == only(Kind::register_range));
}

TEST_CASE("registers are written before they are read", "[check][registers]") {
  CHECK(kinds(report("v_mov_b32 v2, v1\n")) == only(Kind::undefined_register));
  CHECK(kinds(report("v_mov_b32 v1, 0\nv_mov_b32 v2, v1\n")) == nothing);
  CHECK(kinds(report("s_mov_b32 s5, s4\n")) == only(Kind::undefined_register));
  CHECK(kinds(report("s_cbranch_scc1 .Lx\n.Lx:\n")) == only(Kind::undefined_register));
  CHECK(kinds(report("s_cmp_eq_u32 s2, 0\ns_cbranch_scc1 .Lx\n.Lx:\n")) == nothing);
  CHECK(kinds(report("v_cndmask_b32 v1, v0, v0, vcc_lo\n")) == only(Kind::undefined_register));
  CHECK(kinds(report("v_cmp_eq_u32 vcc_lo, v0, v0\nv_cndmask_b32 v1, v0, v0, vcc_lo\n")) == nothing);
  CHECK(kinds(report("s_mov_b32 s4, exec_lo\n")) == nothing);
  CHECK(kinds(report("s_mov_b32 s4, m0\n")) == only(Kind::undefined_register));
}

TEST_CASE("one finding per register", "[check][registers]") {
  CHECK(report("v_mov_b32 v2, v1\nv_mov_b32 v3, v1\n").findings.size() == 1);
  CHECK(report("v_mov_b32 v2, v1\nv_mov_b32 v3, v4\n").findings.size() == 2);
}

TEST_CASE("the descriptor says what is defined at entry", "[check][registers]") {
  // s[0:1] kernel arguments, s2 workgroup id X, then nothing (hardware.md §9.2).
  CHECK(kinds(report("s_mov_b32 s4, s0\ns_mov_b32 s4, s1\ns_mov_b32 s4, s2\nv_mov_b32 v1, v0\n")) == nothing);
  CHECK(kinds(report("s_mov_b32 s4, s3\n")) == only(Kind::undefined_register));
  CHECK(kinds(report("s_mov_b32 s4, s3\n", {.directives = "\t.amdhsa_system_sgpr_workgroup_id_y 1\n"})) ==
        nothing);
  CHECK(kinds(report("s_mov_b32 s4, s3\n", {.directives = "\t.amdhsa_user_sgpr_dispatch_ptr 1\n"})) ==
        nothing);
  // The private segment size is one SGPR, so the workgroup id comes in s3.
  const test::Frame scratch_size{.directives = "\t.amdhsa_user_sgpr_private_segment_size 1\n"};
  CHECK(kinds(report("s_mov_b32 s4, s2\ns_mov_b32 s4, s3\n", scratch_size)) == nothing);
  CHECK(kinds(report("s_mov_b32 s5, s4\n", scratch_size)) == only(Kind::undefined_register));
  CHECK(kinds(bare_report("s_mov_b32 s4, ttmp9\ns_mov_b32 s4, ttmp7\n", test::table("gfx1200"))) == nothing);
  CHECK(kinds(bare_report("s_mov_b32 s4, ttmp8\n", test::table("gfx1200"))) ==
        only(Kind::undefined_register));
}

TEST_CASE("a register that only some path writes is doubtful", "[check][registers]") {
  const auto body = [](std::string_view before) {
    return fmt::format(
        "{}"
        "s_cmp_eq_u32 s2, 0\ns_cbranch_scc1 .Lskip\nv_mov_b32 v1, 0\n.Lskip:\nv_mov_b32 v2, v1\n",
        before);
  };
  const check::Report r = report(body(""));
  CHECK(kinds(r) == only(Kind::partly_written));
  CHECK(r.ok());
  REQUIRE(r.findings.size() == 1);
  CHECK(r.findings[0].path.find(" -> 0x") != std::string::npos);
  CHECK(kinds(report(body("v_mov_b32 v1, 0\n"))) == nothing);
}

TEST_CASE("16-bit results define their half", "[check][registers]") {
  CHECK(kinds(report("v_cvt_f16_f32 v1, v0\nv_cvt_f32_f16 v2, v1\n")) == nothing);
  CHECK(kinds(report("v_cvt_f16_f32 v1.l, v0\nv_cvt_f32_f16 v2, v1.h\n")) == only(Kind::undefined_register));
  CHECK(kinds(report("v_cvt_f16_f32 v1.h, v0\nv_cvt_f32_f16 v2, v1.h\n")) == nothing);
  CHECK(kinds(report(
            "global_load_d16_hi_b16 v1, v0, s[0:1]\ns_waitcnt vmcnt(0)\nv_lshrrev_b32 v2, 16, v1\n")) ==
        nothing);
}

TEST_CASE("an unwritten upper half of a 64-bit source is doubtful", "[check][registers]") {
  CHECK(kinds(report("v_mad_u64_u32 v[2:3], null, v0, v0, v[0:1]\n")) == only(Kind::partly_written));
  CHECK(kinds(report("v_mov_b32 v1, 0\nv_mad_u64_u32 v[2:3], null, v0, v0, v[0:1]\n")) == nothing);
}

TEST_CASE("op_sel picks one register of a pair", "[check][registers]") {
  const target::Target& t = test::table("gfx942");
  const auto with = [&](std::string_view op_sel) {
    return kinds(bare_report(
        "v_mov_b32 v2, 0\nv_mov_b32 v3, 0\nv_pk_mul_f32 v[4:5], v[0:1], v[2:3] " + std::string(op_sel) + "\n",
        t));
  };
  CHECK(with("") == only(Kind::partly_written));                  // v1 is the upper operand
  CHECK(with("op_sel_hi:[0,1]") == nothing);                      // v0 twice
  CHECK(with("op_sel:[1,0]") == only(Kind::undefined_register));  // v1 twice
}

TEST_CASE("tuples start where they may", "[check][registers]") {
  // The assembler refuses such tuples, so the decoded instruction is changed.
  lower::DecodedKernel k = test::kernel("s_load_b128 s[4:7], s[0:1], 0x0\ns_endpgm\n");
  const target::Target& gfx1151 = test::table("gfx1151");
  CHECK(kinds(check::check(k, gfx1151)) == nothing);
  k.instructions[0].inst.dst[0].index = 6;
  CHECK(kinds(check::check(k, gfx1151)) == only(Kind::tuple_alignment));

  const target::Target& gfx942 = test::table("gfx942");
  lower::DecodedKernel v = test::bare_kernel("global_load_dwordx2 v[2:3], v0, s[0:1]\ns_endpgm\n", gfx942);
  CHECK(kinds(check::check(v, gfx942)) == nothing);
  v.instructions[0].inst.dst[0].index = 3;
  CHECK(kinds(check::check(v, gfx942)) == only(Kind::tuple_alignment));
  // gfx11 has no such rule for VGPRs.
  CHECK(kinds(report("global_load_b64 v[3:4], v0, s[0:1]\n")) == nothing);
}

TEST_CASE("a WMMA's result is its C, or apart from all operands", "[check][registers]") {
  lower::DecodedKernel k = test::kernel(
      [] {
        std::string text;
        for (int v = 1; v < 32; ++v) text += "v_mov_b32 v" + std::to_string(v) + ", 0\n";
        return text + "v_wmma_f32_16x16x16_f16 v[24:31], v[0:7], v[8:15], v[16:23]\ns_endpgm\n";
      }(),
      {.vgprs = 48});
  const target::Target& t = test::table("gfx1151");
  isa::Instruction& wmma = k.instructions[k.instructions.size() - 2].inst;
  const auto at = [&](unsigned d, unsigned c) {
    wmma.dst[0].index = d;
    wmma.src[2].index = c;
    return kinds(check::check(k, t));
  };
  CHECK(at(24, 16) == nothing);
  CHECK(at(16, 16) == nothing);
  CHECK(at(17, 16) == only(Kind::operand_rule));
  CHECK(at(0, 16) == only(Kind::operand_rule));
  CHECK(at(5, 16) == only(Kind::operand_rule));
  CHECK(at(15, 24) == only(Kind::operand_rule));
}

TEST_CASE("the halves of a VALU pair use different banks", "[check][registers]") {
  const std::string before = "v_mov_b32 v1, 0\nv_mov_b32 v2, 0\nv_mov_b32 v3, 0\nv_mov_b32 v4, 0\n";
  lower::DecodedKernel k =
      test::kernel(before + "v_dual_add_f32 v6, v0, v2 :: v_dual_mul_f32 v7, v1, v3\ns_endpgm\n");
  const target::Target& t = test::table("gfx1151");
  isa::Instruction& y = k.instructions[5].inst;
  REQUIRE(y.dual == isa::Dual::y);
  CHECK(kinds(check::check(k, t)) == nothing);
  y.src[0].index = 4;  // bank 0, as v0
  CHECK(kinds(check::check(k, t)) == only(Kind::operand_rule));
  y.src[0].index = 1;
  y.dst[0].index = 8;  // even, as v6
  CHECK(kinds(check::check(k, t)) == only(Kind::operand_rule));
  y.dst[0].index = 7;
  k.instructions.erase(k.instructions.begin() + 5);  // a half without the other
  CHECK(kinds(check::check(k, t)) == only(Kind::operand_rule));
}

TEST_CASE("instructions and forms that the target does not have", "[check][registers]") {
  const target::Target& t = test::table("gfx1151");
  lower::DecodedKernel k = test::kernel("v_mov_b32 v1, 0\ns_endpgm\n");
  isa::Instruction& inst = k.instructions[0].inst;
  CHECK(kinds(check::check(k, t)) == nothing);
  inst.op = isa::Opcode::v_cvt_pk_bf16_f32;
  CHECK(kinds(check::check(k, t)) == only(Kind::foreign_instruction));
  inst.op = isa::Opcode::v_mov_b32;
  inst.dst[0].cls = isa::RegClass::agpr;
  CHECK(kinds(check::check(k, t)) == only(Kind::foreign_instruction));
  inst.dst[0].cls = isa::RegClass::vgpr;
  inst.dst[0].is_virtual = true;
  CHECK(kinds(check::check(k, t)) == only(Kind::operand_rule));
  inst.op = isa::Opcode::invalid;
  CHECK(kinds(check::check(k, t)) == only(Kind::foreign_instruction));
}
