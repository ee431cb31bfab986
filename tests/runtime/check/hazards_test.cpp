// SPDX-License-Identifier: MIT
// One kernel per row of the hazard tables of hardware.md (§2.3, §2.5, §5.1 to §5.3) that is too early by
// one, and the same with exactly enough between. gfx12's SGPR rows are what LLVM 22's own pass
// (llc -run-pass=amdgpu-wait-sgpr-hazards) does with the same sequence.
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

namespace {

/// v[first:last] = 0.
std::string zero(unsigned first, unsigned last) {
  std::string text;
  for (unsigned v = first; v <= last; ++v) text += fmt::format("v_mov_b32 v{}, 0\n", v);
  return text;
}

std::string slots(unsigned n) { return n == 0 ? std::string{} : fmt::format("s_nop {}\n", n - 1); }

/// `first` and `second` with exactly `need` slots between are fine, with one less they are not.
void needs(const target::Target& t, std::string_view before, std::string_view first, std::string_view second,
           unsigned need, Kind kind = Kind::wait_states) {
  INFO(first << second << need << " slots on " << t.name);
  const auto body = [&](unsigned n) {
    return fmt::format("{}s_nop 15\ns_nop 15\n{}{}{}", before, first, slots(n), second);
  };
  CHECK(kinds(bare_report(body(need), t)) == nothing);
  if (need > 0) CHECK(kinds(bare_report(body(need - 1), t)) == only(kind));
}

}  // namespace

TEST_CASE("WMMA results rest for one VALU instruction before they are A or B", "[check][hazards]") {
  const std::string before = zero(1, 23);
  const std::string first = "v_wmma_f32_16x16x16_f16 v[8:15], v[0:7], v[0:7], v[8:15]\n";
  const std::string second = "v_wmma_f32_16x16x16_f16 v[16:23], v[8:15], v[0:7], v[16:23]\n";
  const std::string chain = "v_wmma_f32_16x16x16_f16 v[8:15], v[0:7], v[0:7], v[8:15]\n";
  CHECK(kinds(report(before + first + second)) == only(Kind::matrix_hazard));
  CHECK(kinds(report(before + first + "s_nop 3\n" + second)) == only(Kind::matrix_hazard));
  CHECK(kinds(report(before + first + "v_nop\n" + second)) == nothing);
  CHECK(kinds(report(before + first + chain)) == nothing);
}

TEST_CASE("a WMMA at a loop's end is near one at its start", "[check][hazards]") {
  const auto loop = [](std::string_view between) {
    return zero(1, 23) +
           "s_mov_b32 s4, 4\n.Lagain:\nv_wmma_f32_16x16x16_f16 v[16:23], v[8:15], v[0:7], v[16:23]\n"
           "v_wmma_f32_16x16x16_f16 v[8:15], v[0:7], v[0:7], v[8:15]\n" +
           std::string(between) + "s_sub_i32 s4, s4, 1\ns_cmp_lg_i32 s4, 0\ns_cbranch_scc1 .Lagain\n";
  };
  const check::Report r = report(loop(""));
  CHECK(kinds(r) == only(Kind::matrix_hazard));
  REQUIRE(r.findings.size() == 1);
  CHECK(r.findings[0].path.starts_with("from 0x"));
  CHECK(kinds(report(loop("v_nop\n"))) == nothing);
}

TEST_CASE("gfx1100: transcendental results rest for five VALU instructions", "[check][hazards]") {
  // Sixteen initialised SGPRs, as this target wants (hardware.md §5.1).
  const test::Frame gfx1100{.target = "gfx1100", .directives = "\t.amdhsa_user_sgpr_count 15\n"};
  const std::string trans = "v_exp_f32 v2, v0\n";
  const std::string use = "v_mov_b32 v3, v2\n";
  const auto with = [&](std::string_view between) {
    return kinds(report(trans + std::string(between) + use, gfx1100));
  };
  CHECK(with("") == only(Kind::trans_use));
  CHECK(with("v_nop\nv_nop\nv_nop\nv_nop\nv_nop\n") == only(Kind::trans_use));
  CHECK(with("v_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop\n") == nothing);
  CHECK(with("v_exp_f32 v4, v0\n") == only(Kind::trans_use));
  CHECK(with("v_exp_f32 v4, v0\nv_exp_f32 v5, v0\n") == nothing);
  CHECK(with("s_waitcnt_depctr 0xfff\n") == nothing);
  CHECK(with("s_waitcnt_depctr 0xff9f\n") == only(Kind::trans_use));
  CHECK(with("ds_load_b32 v6, v0\n") == nothing);
  CHECK(kinds(report(trans + use)) == nothing);  // gfx1151 has no such hazard
}

TEST_CASE("v_cmpx rests for a VALU instruction before v_permlane16", "[check][hazards]") {
  const std::string first = "v_cmpx_eq_u32 v0, v0\n";
  const std::string second = "v_permlane16_b32 v2, v0, s2, s2\n";
  CHECK(kinds(report(first + second)) == only(Kind::cmpx_permlane));
  CHECK(kinds(report(first + "v_nop\n" + second)) == only(Kind::cmpx_permlane));  // dropped before it issues
  CHECK(kinds(report(first + "v_mov_b32 v0, v0\n" + second)) == nothing);
}

TEST_CASE("dealloc_vgprs", "[check][hazards]") {
  const std::string dealloc = "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\n";
  CHECK(kinds(report("s_nop 0\n" + dealloc)) == nothing);
  CHECK(kinds(report(dealloc)) == only(Kind::dealloc));
  CHECK(kinds(report("s_nop 0\n" + dealloc + "v_mov_b32 v1, 0\n")) == only(Kind::use_after_dealloc));
  CHECK(kinds(report("s_nop 0\n" + dealloc + "global_store_b32 v0, v0, s[0:1]\n")) ==
        only(Kind::use_after_dealloc));
  CHECK(kinds(report("s_nop 0\n" + dealloc + "s_mov_b32 s4, 0\n")) == nothing);
  const std::string scratch = "scratch_store_b32 off, v0, off\n";
  CHECK(kinds(report(scratch + "s_nop 0\n" + dealloc)) == only(Kind::dealloc_scratch));
  CHECK(kinds(report(scratch + "s_waitcnt_vscnt null, 0x0\ns_nop 0\n" + dealloc)) == nothing);
}

TEST_CASE("gfx9 wait states", "[check][hazards]") {
  const target::Target& t = test::table("gfx942");
  const std::string pair =
      "v_mov_b32 v1, 0\ns_mov_b32 s4, 0\ns_mov_b32 s5, 0\ns_mov_b32 s6, 0\ns_mov_b32 s7, 0x27000\n"
      "s_mov_b32 s8, 0\ns_mov_b32 s9, 0\n" +
      zero(2, 5);
  needs(t, pair, "v_readfirstlane_b32 s4, v0\n", "v_mov_b32 v2, s4\n", 2);
  needs(t, pair, "v_cmp_eq_u32 vcc, v0, v1\n", "v_cndmask_b32 v2, v0, v1, vcc\n", 2);
  needs(t, pair, "v_readfirstlane_b32 s4, v0\n", "global_load_dword v2, v0, s[4:5]\n", 5);
  needs(t, pair, "v_readfirstlane_b32 s8, v0\n", "buffer_load_dword v2, off, s[4:7], s8\n", 5);
  needs(t, pair, "v_readfirstlane_b32 s4, v0\n", "s_mov_b32 s5, s4\n", 0);
  needs(t, pair, "v_readfirstlane_b32 s4, v0\n", "v_readlane_b32 s5, v1, s4\n", 4);
  needs(t, pair, "v_mov_b32 v2, 0\n", "v_readfirstlane_b32 s4, v2\n", 1);
  needs(t, pair, "v_mov_b32 v2, 0\n", "v_mov_b32_dpp v3, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n",
        2);
  needs(t, pair, "v_cmpx_eq_u32 vcc, v0, v1\n",
        "v_mov_b32_dpp v3, v0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n", 5);
  needs(t, pair, "v_cmpx_eq_u32 vcc, v0, v1\n", "v_readfirstlane_b32 s4, v0\n", 4);
  needs(t, pair, "v_cmpx_eq_u32 vcc, v0, v1\n", "v_mov_b32 v2, exec_lo\n", 2);
  needs(t, pair, "v_exp_f32 v2, v0\n", "v_mov_b32 v3, v2\n", 1);
  needs(t, pair, "v_exp_f32 v2, v0\n", "v_exp_f32 v3, v2\n", 0);
  needs(t, pair, "v_dot2_f32_f16 v2, v0, v1, v2\n", "v_dot2_f32_f16 v2, v0, v1, v2\n", 0);
  needs(t, pair, "v_dot2_f32_f16 v2, v0, v1, v2\n", "v_dot2_f32_f16 v3, v2, v1, v3\n", 3);
  needs(t, pair, "v_dot2_f32_f16 v2, v0, v1, v2\n", "v_mov_b32 v3, v2\n", 3);
  needs(t, pair, "v_dot2_f32_f16 v2, v0, v1, v2\n", "v_mov_b32 v2, 0\n", 3);
  needs(t, pair, "global_store_dwordx4 v0, v[2:5], s[4:5]\n", "v_mov_b32 v3, 0\n", 2);
  needs(t, pair, "global_store_dwordx4 v0, v[2:5], s[4:5]\n", "ds_read_b32 v3, v0\n", 1);
  needs(t, pair, "global_store_dwordx2 v0, v[2:3], s[4:5]\n", "v_mov_b32 v3, 0\n", 0);
  needs(t, pair, "buffer_store_dwordx4 v[2:5], off, s[4:7], 0\n", "v_mov_b32 v3, 0\n", 2);
  // With an SGPR the ISA manual and LLVM 22 ask for none; LLVM pull request 197267 measured one on MI350X.
  needs(t, pair, "buffer_store_dwordx4 v[2:5], off, s[4:7], s8\n", "v_mov_b32 v3, 0\n", 1);
  needs(t, pair, "buffer_store_dwordx3 v[2:4], off, s[4:7], s9\n", "v_mov_b32 v3, 0\n", 1);
  needs(t, pair, "buffer_store_dwordx4 v[2:5], off, s[4:7], s8\n", "ds_read_b32 v3, v0\n", 0);
  needs(t, pair, "buffer_store_dwordx2 v[2:3], off, s[4:7], s8\n", "v_mov_b32 v3, 0\n", 0);
  std::string accumulators = pair;
  for (const char* a : {"a0", "a1", "a2", "a3"})
    accumulators += fmt::format("v_accvgpr_write_b32 {}, 0\n", a);
  needs(t, accumulators, "buffer_store_dwordx4 a[0:3], off, s[4:7], s8\n", "v_accvgpr_write_b32 a1, 0\n", 1);
  needs(t, pair, "s_mov_b32 m0, 0\n", "global_load_lds_dword v0, s[4:5]\n", 1);
  needs(t, pair, "s_setreg_imm32_b32 hwreg(HW_REG_MODE), 0\n", "s_getreg_b32 s4, hwreg(HW_REG_MODE)\n", 2);
}

TEST_CASE("gfx9 wait states: the shortest path counts, whichever side of the branch it is",
          "[check][hazards]") {
  const target::Target& t = test::table("gfx942");
  const auto body = [](std::string_view taken, std::string_view fallen) {
    return fmt::format(
        "s_cmp_eq_u32 s2, 0\nv_readfirstlane_b32 s4, v0\ns_cbranch_scc1 .La\n{}s_branch .Lb\n.La:\n{}.Lb:\n"
        "v_readlane_b32 s5, v0, s4\n",
        fallen, taken);
  };
  // Four slots are needed. The branch takes one, s_branch another.
  CHECK(kinds(bare_report(body("s_nop 2\n", "s_nop 1\n"), t)) == nothing);
  CHECK(kinds(bare_report(body("s_nop 1\n", "s_nop 1\n"), t)) == only(Kind::wait_states));
  CHECK(kinds(bare_report(body("s_nop 2\n", "s_nop 0\n"), t)) == only(Kind::wait_states));
}

TEST_CASE("MFMA wait states by passes", "[check][hazards]") {
  struct Row {
    std::string_view target, name;
    unsigned width, ab;
    unsigned partial_c, other, overwrite_c;  // hardware.md §2.5
  };
  const Row rows[] = {
      {"gfx942", "v_mfma_f32_16x16x16_f16", 4, 2, 5, 7, 3},
      {"gfx942", "v_mfma_f32_32x32x8_f16", 16, 2, 9, 11, 7},
      {"gfx950", "v_mfma_f32_16x16x16_f16", 4, 2, 6, 8, 3},
      {"gfx950", "v_mfma_f32_16x16x32_bf16", 4, 4, 6, 8, 3},
      {"gfx950", "v_mfma_f32_32x32x16_bf16", 16, 4, 10, 12, 7},
  };
  for (const Row& row : rows) {
    const target::Target& t = test::table(row.target);
    const auto tuple = [](unsigned first, unsigned width) {
      return fmt::format("v[{}:{}]", first, first + width - 1);
    };
    // A v[0:], B v[4:], accumulator from v8, a second one behind it.
    const std::string a = tuple(0, row.ab), b = tuple(4, row.ab), c = tuple(8, row.width);
    const std::string before = zero(1, 31);
    const std::string first = fmt::format("{} {}, {}, {}, {}\n", row.name, c, a, b, c);
    const auto with = [&](std::string_view d, std::string_view x, std::string_view y, std::string_view z) {
      return fmt::format("{} {}, {}, {}, {}\n", row.name, d, x, y, z);
    };
    needs(t, before, first, first, 0);
    if (row.width == 4)
      needs(t, before, first, with(tuple(16, 4), a, b, tuple(10, 4)), row.partial_c, Kind::matrix_hazard);
    if (row.width == 4)
      needs(t, before, first, with(tuple(16, 4), tuple(8, row.ab), b, tuple(16, 4)), row.other,
            Kind::matrix_hazard);
    needs(t, before, first, "v_mov_b32 v30, v9\n", row.other, Kind::matrix_hazard);
    needs(t, before, first, "v_mov_b32 v9, 0\n", row.other, Kind::matrix_hazard);
    needs(t, before, first, "ds_write_b32 v0, v9\n", row.other, Kind::matrix_hazard);
    needs(t, before, first, "ds_read_b32 v9, v0\n", row.other, Kind::matrix_hazard);
    needs(t, before, "v_mov_b32 v0, 0\n", first, 2);
    needs(t, before, "v_cmpx_eq_u32 vcc, v0, v1\n", first, 4);
    if (row.width == 4)
      needs(t, before, with(tuple(16, 4), a, b, c), "v_mov_b32 v9, 0\n", row.overwrite_c,
            Kind::matrix_hazard);
    needs(t, before, first, "v_mov_b32 v0, 0\n", 0);
  }
}

TEST_CASE("gfx12: an SGPR that VALU read and SALU rewrote is fenced before it is read", "[check][hazards]") {
  const target::Target& t = test::table("gfx1200");
  const std::string read = "s_mov_b32 s4, 0\nv_mov_b32 v1, s4\n";
  const std::string write = "s_mov_b32 s4, 1\n";
  const std::string use = "v_mov_b32 v2, s4\n";
  CHECK(kinds(bare_report(read + write + use, t)) == only(Kind::sgpr_read_hazard));
  CHECK(kinds(bare_report(read + write + "s_add_co_u32 s5, s4, 1\n", t)) == only(Kind::sgpr_read_hazard));
  CHECK(kinds(bare_report(read + write + "s_wait_alu 0xff9e\n" + use, t)) == nothing);
  CHECK(kinds(bare_report(read + write + "s_wait_alu 0xf19f\n" + use, t)) == only(Kind::sgpr_read_hazard));
  // Reads count by pairs; another pair is free.
  CHECK(kinds(bare_report(read + "s_mov_b32 s5, 1\nv_mov_b32 v2, s5\n", t)) == only(Kind::sgpr_read_hazard));
  CHECK(kinds(bare_report(read + "s_mov_b32 s6, 1\nv_mov_b32 v2, s6\n", t)) == nothing);
  // A scalar load settles the write, other memory does not, and nothing settles the read.
  const std::string smem = "s_load_b32 s12, s[0:1], 0x0\n";
  const std::string vmem = "global_load_b32 v3, v0, s[0:1]\n";
  CHECK(kinds(bare_report(read + write + smem + use, t)) == nothing);
  CHECK(kinds(bare_report(read + write + vmem + use, t)) == only(Kind::sgpr_read_hazard));
  CHECK(kinds(bare_report(read + write + "ds_load_b32 v3, v0\n" + use, t)) == only(Kind::sgpr_read_hazard));
  CHECK(kinds(bare_report(read + smem + write + use, t)) == only(Kind::sgpr_read_hazard));
  CHECK(kinds(bare_report(read + vmem + write + use, t)) == only(Kind::sgpr_read_hazard));
  CHECK(kinds(bare_report("s_mov_b32 s4, 0\n" + write + use, t)) == nothing);  // VALU had not read it
  // VALU writes: va_sdst, and va_vcc for VCC.
  const std::string by_valu = read + "v_readfirstlane_b32 s4, v0\n";
  CHECK(kinds(bare_report(by_valu + use, t)) == only(Kind::sgpr_read_hazard));
  CHECK(kinds(bare_report(by_valu + "s_wait_alu 0xf19f\n" + use, t)) == nothing);
  CHECK(kinds(bare_report(by_valu + "s_mov_b32 s6, s4\n" + use, t)) == nothing);  // SALU waits by itself
  // And for all that VALU wrote, before and after what it reads; but one of another register waits for none.
  const std::string both = "s_mov_b32 s6, 0\nv_mov_b32 v1, s6\n" + by_valu + "v_cmp_eq_u32 s6, 2, v0\n",
                    masked = "v_cndmask_b32 v2, v0, v1, s6\n";
  CHECK(kinds(bare_report(both + masked, t)) == only(Kind::sgpr_read_hazard));
  CHECK(kinds(bare_report(both + "s_cmp_ge_u32 s4, 32\n" + masked, t)) == nothing);
  CHECK(kinds(bare_report(both + "s_cmp_ge_u32 s0, 32\n" + masked, t)) == only(Kind::sgpr_read_hazard));
  // A path on which VALU did not write what SALU reads does not wait.
  const std::string some = "s_mov_b32 s6, 0\nv_mov_b32 v1, s6\n" + read +
                           "v_cmp_eq_u32 s6, 2, v0\ns_cmp_eq_u32 s0, 0\ns_cbranch_scc1 .Lskip\n"
                           "v_readfirstlane_b32 s4, v0\n.Lskip:\ns_cmp_ge_u32 s4, 32\n";
  CHECK(kinds(bare_report(some + masked, t)) == only(Kind::sgpr_read_hazard));
  CHECK(kinds(bare_report(some + "s_wait_alu 0xf19f\n" + masked, t)) == nothing);
  const std::string vcc =
      "v_cmp_eq_u32 vcc_lo, v0, v0\nv_cndmask_b32 v1, v0, v0, vcc_lo\nv_cmp_eq_u32 vcc_lo, v0, v0\n";
  CHECK(kinds(bare_report(vcc + "v_cndmask_b32 v1, v0, v0, vcc_lo\n", t)) == only(Kind::sgpr_read_hazard));
  CHECK(kinds(bare_report(vcc + "s_wait_alu 0xff9d\nv_cndmask_b32 v1, v0, v0, vcc_lo\n", t)) == nothing);
}

TEST_CASE("a clause that XNACK may issue again overwrites none of its own sources",
          "[check][hazards][xnack]") {
  const std::string_view target = GENERATE("gfx942", "gfx950");
  const target::Target& t = test::table(target);
  const std::string before =
      "s_nop 15\ns_mov_b64 s[4:5], s[0:1]\ns_mov_b64 s[6:7], s[0:1]\n" + zero(1, 9) + "s_nop 4\n";
  const auto found = [&](std::string_view body) {
    return kinds(bare_report(before + std::string(body) + "s_waitcnt vmcnt(0) lgkmcnt(0)\n", t));
  };
  const std::string load = "global_load_dword v5, v[0:1], off\n";
  // LLVM 22 puts an s_nop in front of the second of each of these pairs.
  CHECK(found(load + "global_load_dword v0, v[2:3], off\n") == only(Kind::replayed_clause));
  CHECK(found(load + "global_load_dwordx4 v[0:3], v[2:3], off\n") == only(Kind::replayed_clause));
  CHECK(found("buffer_load_dword v5, v0, s[4:7], 0 offen\nbuffer_load_dword v0, v2, s[4:7], 0 offen\n") ==
        only(Kind::replayed_clause));
  CHECK(found("s_load_dword s8, s[4:5], 0x0\ns_load_dword s4, s[6:7], 0x0\n") == only(Kind::replayed_clause));
  CHECK(found(load + "global_load_dword v6, v[2:3], off\n" + "global_load_dword v1, v[2:3], off\n") ==
        only(Kind::replayed_clause));
  CHECK(found(load + "global_store_dword v[2:3], v6, off\n") == only(Kind::replayed_clause));
  CHECK(found("global_load_dword v0, v[0:1], off\nglobal_load_dword v6, v[2:3], off\n") ==
        only(Kind::replayed_clause));
  CHECK(found(load + "s_branch .Lnext\n.Lnext:\nglobal_load_dword v0, v[2:3], off\n") == nothing);
  CHECK(found(load + ".Lnext:\nglobal_load_dword v0, v[2:3], off\n") == only(Kind::replayed_clause));
  // … and in front of none of these.
  CHECK(found(load + "s_nop 0\nglobal_load_dword v0, v[2:3], off\n") == nothing);
  CHECK(found("global_load_dword v0, v[0:1], off\n") == nothing);
  CHECK(found("global_store_dword v[0:1], v4, off\nglobal_load_dword v4, v[2:3], off\n") == nothing);
  CHECK(found("ds_read_b32 v5, v0\nds_read_b32 v0, v2\n") == nothing);
}

TEST_CASE("XNACK off, or never there: clauses are as they like", "[check][hazards][xnack]") {
  const test::Frame gfx942{.target = "gfx942", .directives = "\t.amdhsa_accum_offset 24\n"};
  const std::string body = zero(1, 9) +
                           "s_nop 4\nglobal_load_dword v5, v[0:1], off\nglobal_load_dword v0, v[2:3], off\n"
                           "s_waitcnt vmcnt(0)\ns_endpgm\n";
  std::vector<std::uint8_t> object = test::code_object(body, gfx942);
  const auto found = [&] {
    const auto decoded = lower::decode(object);
    REQUIRE(decoded);
    return kinds(check::check(decoded->kernels.at(0), *decoded->target, test::snippet()));
  };
  // e_flags, at byte 48 of the file, bits 9:8 (LLVM AMDGPUUsage): 1 any, 2 off, 3 on. llvm-mc writes any.
  std::uint8_t& features = object.at(49);
  CHECK((features & 3) == 1);
  CHECK(found() == only(Kind::replayed_clause));
  features = static_cast<std::uint8_t>((features & ~3) | 3);
  CHECK(found() == only(Kind::replayed_clause));
  features = static_cast<std::uint8_t>((features & ~3) | 2);
  CHECK(found() == nothing);
  CHECK(kinds(report(zero(1, 9) + "global_load_b32 v5, v[0:1], off\nglobal_load_b32 v0, v[2:3], off\n"
                                  "s_waitcnt vmcnt(0)\n")) == nothing);  // gfx1151 has no XNACK
}
