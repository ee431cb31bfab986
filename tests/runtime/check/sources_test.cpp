// SPDX-License-Identifier: MIT
// Whose rule a finding breaks, and what that makes of it outside of the strict set; what other people's gfx9
// code is made of. What the ISA manual asks for is quoted from the CDNA3 manual's tables 11 and 37.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/runtime/check/check_kernel.hpp"

using namespace wavejit;
using check::Kind;
using check::Severity;
using check::Source;
using test::bare_report;
using test::kinds;
using test::nothing;
using test::only;

namespace {

const std::string ready = [] {
  std::string text = "s_mov_b32 s4, 0\ns_mov_b32 s5, 0\ns_mov_b32 s6, 0\ns_mov_b32 s7, 0x27000\n";
  for (unsigned v = 1; v < 16; ++v) text += fmt::format("v_mov_b32 v{}, 0\n", v);
  return text + "s_nop 15\n";
}();

check::Options lenient() {
  check::Options options = test::snippet();
  options.strict = false;
  return options;
}

/// The one finding on `body`, strictly and not.
struct Both {
  check::Finding strict, lenient;
};
Both one_finding(std::string_view body, const target::Target& t) {
  INFO(body);
  const check::Report strict = bare_report(ready + std::string(body), t);
  const check::Report open = bare_report(ready + std::string(body), t, lenient());
  REQUIRE(strict.findings.size() == 1);
  REQUIRE(open.findings.size() == 1);
  CHECK_FALSE(strict.ok());
  CHECK(open.ok() == (open.findings[0].severity != Severity::error));
  return {strict.findings[0], open.findings[0]};
}

/// v[0:31] = 0, long ago.
std::string zeroed() {
  std::string text;
  for (unsigned v = 1; v < 32; ++v) text += fmt::format("v_mov_b32 v{}, 0\n", v);
  return text + "s_nop 15\n";
}

std::string repeated(unsigned n, std::string_view line) {
  std::string text;
  for (unsigned i = 0; i < n; ++i) text += line;
  return text;
}

}  // namespace

TEST_CASE("a rule of LLVM's alone is a warning outside of the strict set", "[check][sources]") {
  const target::Target& t = test::table("gfx942");
  const auto [body, source] = GENERATE(table<const char*, Source>({
      // "VALU reads SGPR as constant: 2, as carry-in: 0"; LLVM has 2 for both.
      {"v_cmp_eq_u32 vcc, v1, v2\nv_cndmask_b32 v3, v4, v5, vcc\n", Source::llvm},
      {"v_add_co_u32 v3, vcc, v1, v2\nv_addc_co_u32 v4, vcc, v5, v6, vcc\n", Source::llvm},
      {"v_readfirstlane_b32 s8, v1\nv_add_u32 v3, s8, v2\n", Source::isa},
      // "SALU writes M0, then LDS add-TID, buffer_store_LDS_dword, scratch or global with LDS=1: 1".
      {"s_mov_b32 m0, 0\nbuffer_load_dword v1, s[4:7], 0 offen lds\n", Source::llvm},
      {"s_mov_b32 m0, 0\nglobal_load_lds_dword v1, s[4:5]\n", Source::isa},
      // "VALU writes VGPR, VALU DPP reads that VGPR: 2"; what stays of the old result is not read with DPP.
      {"v_mov_b32 v3, v1\nv_mov_b32_dpp v3, v2 quad_perm:[1,0,3,2] row_mask:0x3 bank_mask:0xf\n",
       Source::llvm},
      {"v_mov_b32 v3, v1\nv_mul_f32_dpp v4, v2, v3 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf "
       "bound_ctrl:1\n",
       Source::llvm},
      {"v_mov_b32 v3, v1\nv_mov_b32_dpp v4, v3 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1\n",
       Source::isa},
      // "operations that use an SGPR for offset do not require any wait states": measured otherwise.
      {"buffer_store_dwordx4 v[4:7], off, s[4:7], s6\nv_mov_b32 v5, 0\n", Source::measured},
      {"buffer_store_dwordx4 v[4:7], off, s[4:7], 0\nv_mov_b32 v5, 0\n", Source::isa},
      // Table 37 names VALU and what reads the result, not the load that overwrites it.
      {"v_mfma_f32_16x16x16_f16 v[4:7], v[8:9], v[10:11], 0\nds_read_b32 v5, v1\n", Source::llvm},
      {"v_mfma_f32_16x16x16_f16 v[4:7], v[8:9], v[10:11], 0\nds_write_b32 v1, v5\n", Source::isa},
      {"global_load_dword v5, v[0:1], off\nglobal_load_dword v0, v[2:3], off\n", Source::llvm},
  }));
  const Both found = one_finding(body, t);
  CHECK(found.strict.source == source);
  CHECK(found.strict.severity == Severity::error);
  CHECK(found.lenient.source == source);
  CHECK(found.lenient.severity == (source == Source::llvm ? Severity::warning : Severity::error));
}

TEST_CASE("what addresses decide is a warning outside of the strict set", "[check][sources]") {
  const Both found =
      one_finding("ds_write_b32 v1, v2\ns_barrier\nds_read_b32 v3, v4\n", test::table("gfx942"));
  CHECK(found.strict.kind == Kind::lds_store_at_barrier);
  CHECK(found.lenient.severity == Severity::warning);
}

TEST_CASE("a descriptor that leaves the kernarg size 0 is a warning", "[check][sources][descriptor]") {
  const target::Target& t = test::table("gfx942");
  lower::DecodedKernel k = test::bare_kernel("s_load_dword s4, s[0:1], 0x1c\ns_endpgm\n", t);
  k.descriptor.kernarg_size = 0;
  k.args = {{.name = "a", .offset = 24, .size = 8, .value_kind = "global_buffer", .access = {}}};
  const check::Report report = check::check(k, t, lenient());
  CHECK(kinds(report) == only(Kind::metadata_mismatch));
  CHECK(report.ok());
  CHECK_FALSE(check::check(k, t, test::snippet()).ok());
  k.args[0].offset = 28;  // past the metadata's 32 bytes
  CHECK_FALSE(check::check(k, t, lenient()).ok());
  lower::DecodedKernel beyond = test::bare_kernel("s_load_dword s4, s[0:1], 0x20\ns_endpgm\n", t);
  beyond.descriptor.kernarg_size = 0;
  CHECK(check::check(beyond, t, lenient()).has(Kind::kernarg_range));
}

TEST_CASE("a counter that is full proves its oldest operation done", "[check][waits]") {
  // hardware.md §4.1: lgkmcnt has 4 bits on gfx9 and 6 on gfx11, vmcnt 6, gfx12's loadcnt and dscnt 6.
  const auto lds = [](std::string_view target, unsigned behind) {
    const bool gfx9 = target == "gfx942";
    const std::string body = std::string(gfx9 ? "ds_read_b32 v2, v0\n" : "ds_load_b32 v2, v0\n") +
                             repeated(behind, gfx9 ? "ds_write_b32 v0, v1\n" : "ds_store_b32 v0, v1\n");
    return kinds(bare_report("v_mov_b32 v1, 0\n" + body + "v_mov_b32 v3, v2\n", test::table(target)));
  };
  CHECK(lds("gfx942", 14) == only(Kind::read_in_flight));
  CHECK(lds("gfx942", 15) == nothing);
  for (const char* target : {"gfx1151", "gfx1201"}) {
    CHECK(lds(target, 62) == only(Kind::read_in_flight));
    CHECK(lds(target, 63) == nothing);
  }
  const auto vector = [](std::string_view target, unsigned behind) {
    const bool gfx9 = target == "gfx942";
    const std::string load = gfx9 ? "global_load_dword" : "global_load_b32";
    return kinds(bare_report("v_mov_b32 v1, 0\n" + load + " v2, v[0:1], off\n" +
                                 repeated(behind, load + " v3, v[0:1], off\n") + "v_mov_b32 v4, v2\n",
                             test::table(target)));
  };
  for (const char* target : {"gfx942", "gfx1151", "gfx1201"}) {
    CHECK(vector(target, 62) == only(Kind::read_in_flight));
    CHECK(vector(target, 63) == nothing);
  }
  // Scalar loads come back in any order: which of them a full counter has seen done is open.
  CHECK(kinds(bare_report("s_load_dword s8, s[0:1], 0x0\n" +
                              repeated(40, "s_load_dword s9, s[0:1], 0x0\ns_nop 0\n") + "v_mov_b32 v1, s8\n",
                          test::table("gfx942"), lenient().without(Kind::write_in_flight))) ==
        only(Kind::read_in_flight));
}

TEST_CASE("gfx950: matrix products of mixed formats take as long as their widest", "[check][hazards]") {
  // CDNA4 manual, table 38: 8 slots behind 4 passes, 12 behind 8, 20 behind 16. An 8-bit format doubles the
  // passes.
  const target::Target& t = test::table("gfx950");
  const auto need = [&](std::string_view mfma, unsigned slots) {
    INFO(mfma);
    const auto found = [&](unsigned n) {
      std::string gap;
      for (; n > 16; n -= 16) gap += "s_nop 15\n";
      if (n > 0) gap += fmt::format("s_nop {}\n", n - 1);
      return kinds(bare_report(zeroed() + std::string(mfma) + gap + "v_mov_b32 v31, v1\n", t));
    };
    CHECK(found(slots) == nothing);
    CHECK(found(slots - 1) == only(Kind::matrix_hazard));
  };
  need("v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:7], v[8:11], v[0:3] cbsz:4 blgp:4\n", 8);
  need("v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:9], v[10:13], v[0:3] cbsz:2 blgp:4\n", 8);
  need("v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:15], v[0:3] cbsz:0 blgp:4\n", 12);
  need("v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:9], v[10:17], v[0:3] cbsz:3 blgp:1\n", 12);
  need("v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:7], v[8:11], v[0:3], v20, v21 cbsz:4 blgp:4\n", 8);
  need("v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[16:19], v[20:23], v[0:15] cbsz:4 blgp:4\n", 12);
  need("v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[16:23], v[24:27], v[0:15] cbsz:0 blgp:4\n", 20);
  need("v_mfma_f32_16x16x32_fp8_bf8 v[0:3], v[4:5], v[6:7], v[0:3]\n", 8);
  // Scales are read as A and B are: two slots behind VALU.
  const std::string scaled =
      "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:7], v[8:11], v[0:3], v20, v21 cbsz:4 blgp:4\n";
  CHECK(kinds(bare_report(zeroed() + "v_mov_b32 v21, 0\ns_nop 0\n" + scaled, t)) == only(Kind::wait_states));
  CHECK(kinds(bare_report(zeroed() + "v_mov_b32 v21, 0\ns_nop 1\n" + scaled, t)) == nothing);
  // A result that op_sel puts into the upper bytes rests for a slot (table 11).
  const std::string upper = "v_cvt_scalef32_pk_fp4_f32 v1, v2, v3, v4 op_sel:[0,0,1,0]\n";
  CHECK(kinds(bare_report(zeroed() + upper + "v_mov_b32 v5, v1\n", t)) == only(Kind::wait_states));
  CHECK(kinds(bare_report(zeroed() + upper + "s_nop 0\nv_mov_b32 v5, v1\n", t)) == nothing);
}

TEST_CASE("gfx9: VGPRs picked by M0, scalar stores and atomics", "[check][registers]") {
  const target::Target& t = test::table("gfx942");
  const std::string on = "s_set_gpr_idx_on s0, gpr_idx(DST)\n";
  const std::string write = "v_mov_b32 v8, 0\n";
  CHECK(kinds(bare_report(on + write + "s_set_gpr_idx_off\nv_mov_b32 v1, v12\n", t)) == nothing);
  CHECK(kinds(bare_report(on + write + "s_set_gpr_idx_off\nv_mov_b32 v1, v7\n", t)) ==
        only(Kind::undefined_register));
  CHECK(kinds(bare_report(write + "v_mov_b32 v1, v12\n", t)) == only(Kind::undefined_register));
  CHECK(kinds(bare_report("s_set_gpr_idx_on s0, gpr_idx(SRC0)\nv_mov_b32 v1, v12\ns_set_gpr_idx_off\n", t)) ==
        nothing);
  const std::string load = "s_load_dword s8, s[0:1], 0x0\n";
  CHECK(kinds(bare_report(load + "s_nop 0\ns_store_dword s8, s[0:1], 0x0\n", t)) ==
        only(Kind::read_in_flight));
  CHECK(kinds(bare_report(load + "s_waitcnt lgkmcnt(0)\ns_atomic_inc s8, s[0:1], 0x0 glc\ns_mov_b32 s9, s8\n",
                          t)) == only(Kind::read_in_flight));
  CHECK(kinds(bare_report(load + "s_waitcnt lgkmcnt(0)\ns_atomic_inc s8, s[0:1], 0x0\ns_mov_b32 s9, s8\n",
                          t)) == nothing);
}

TEST_CASE("a VGPR from accum_offset on is an AGPR by another name", "[check][sources][registers]") {
  const target::Target& t = test::table("gfx942");  // the bare kernel has 32 and 32
  CHECK(bare_report("v_mov_b32 v63, 0\n", t, lenient()).ok());
  CHECK_FALSE(bare_report("v_mov_b32 v63, 0\n", t).ok());
  CHECK_FALSE(bare_report("v_mov_b32 v64, 0\n", t, lenient()).ok());
}
