// SPDX-License-Identifier: MIT
// Ends, branches, clauses, the descriptor and the metadata around the code.
#include <catch2/catch.hpp>

#include "tests/runtime/check/check_kernel.hpp"

using namespace wavejit;
using check::Kind;
using test::bare_report;
using test::kernel;
using test::kinds;
using test::nothing;
using test::only;
using test::report;

namespace {
const target::Target& gfx1151() { return test::table("gfx1151"); }
}  // namespace

TEST_CASE("every path ends in s_endpgm", "[check][flow]") {
  CHECK(kinds(check::check(kernel("s_nop 0\ns_endpgm\n"), gfx1151())) == nothing);
  CHECK(kinds(check::check(kernel("s_nop 0\n"), gfx1151())) == only(Kind::missing_end));
  const std::string one_side = "s_cmp_eq_u32 s2, 0\ns_cbranch_scc1 .Lx\ns_endpgm\n.Lx:\ns_nop 0\n";
  CHECK(kinds(check::check(kernel(one_side), gfx1151())) == only(Kind::missing_end));
  CHECK(kinds(check::check(kernel(one_side + "s_endpgm\n"), gfx1151())) == nothing);
  lower::DecodedKernel empty = kernel("s_endpgm\n");
  empty.instructions.clear();
  CHECK(kinds(check::check(empty, gfx1151())) == only(Kind::missing_end));
}

TEST_CASE("from everywhere an end can be reached", "[check][flow]") {
  CHECK(kinds(report(".Lx:\ns_nop 0\ns_branch .Lx\n", {},
                     check::Options{}.without(Kind::unreachable_code))) == only(Kind::endless_path));
  CHECK(kinds(report("s_cmp_eq_u32 s2, 0\n.Lx:\ns_nop 0\ns_cbranch_scc1 .Lx\n")) == nothing);
}

TEST_CASE("branches go to instructions of the kernel", "[check][flow]") {
  lower::DecodedKernel k = kernel("s_branch .Lx\n.Lx:\ns_endpgm\n");
  CHECK(kinds(check::check(k, gfx1151())) == nothing);
  const check::Options options = check::Options{}.without(Kind::unreachable_code);
  k.instructions[0].inst.src[0].index = 2;
  CHECK(kinds(check::check(k, gfx1151(), options)) == only(Kind::branch_target));
  k.instructions[0].inst.src[0] = isa::imm(4);
  CHECK(kinds(check::check(k, gfx1151(), options)) == only(Kind::branch_target));
  // The second half of a pair is no place to go to.
  lower::DecodedKernel pair =
      kernel("s_branch .Lx\n.Lx:\nv_dual_mov_b32 v2, 0 :: v_dual_mov_b32 v3, 0\ns_endpgm\n");
  CHECK(kinds(check::check(pair, gfx1151(), options)) == nothing);
  pair.instructions[0].inst.src[0].index = 2;
  CHECK(kinds(check::check(pair, gfx1151(), options)) == only(Kind::branch_target));
}

TEST_CASE("code that no path reaches is noted", "[check][flow]") {
  const check::Report r = report("s_branch .Lx\nv_mov_b32 v1, 0\nv_mov_b32 v1, 0\n.Lx:\n");
  CHECK(kinds(r) == only(Kind::unreachable_code));
  CHECK(r.findings.size() == 1);
  CHECK(r.count(check::Severity::warning) == 0);
  CHECK(kinds(report("s_branch .Lx\ns_nop 0\n.Lx:\n")) == nothing);  // padding
}

TEST_CASE("a clause holds as many instructions of one kind as it says", "[check][flow]") {
  const std::string loads = "global_load_b32 v2, v0, s[0:1]\nglobal_load_b32 v3, v0, s[0:1]\n";
  CHECK(kinds(report("s_clause 0x1\n" + loads)) == nothing);
  CHECK(kinds(report("s_clause 0x2\n" + loads + "ds_load_b32 v4, v0\n")) == only(Kind::clause_content));
  CHECK(kinds(report("s_clause 0x2\n" + loads)) == only(Kind::clause_content));
  CHECK(kinds(report("s_clause 0x1\nglobal_load_b32 v2, v0, s[0:1]\nglobal_store_b32 v0, v0, s[0:1]\n")) ==
        only(Kind::clause_content));
}

TEST_CASE("descriptor fields", "[check][descriptor]") {
  const lower::DecodedKernel good = kernel("s_endpgm\n");
  CHECK(kinds(check::check(good, gfx1151())) == nothing);
  const auto with = [&](auto change, const target::Target& t) {
    lower::DecodedKernel k = good;
    change(k);
    return kinds(check::check(k, t));
  };
  using K = lower::DecodedKernel;
  const auto field = only(Kind::descriptor_field);
  CHECK(with([](K& k) { k.descriptor.rsrc1 |= 1U << 20; }, gfx1151()) == field);  // privilege
  CHECK(with([](K& k) { k.descriptor.rsrc1 |= 1U << 6; }, gfx1151()) == field);   // SGPR granules
  CHECK(with([](K& k) { k.descriptor.rsrc2 |= 1U << 6; }, gfx1151()) == field);   // trap handler
  CHECK(with([](K& k) { k.descriptor.rsrc2 |= 8U << 15; }, gfx1151()) == field);  // LDS size
  CHECK(with([](K& k) { k.descriptor.rsrc3 |= 1U << 16; }, gfx1151()) == field);
  CHECK(with([](K& k) { k.descriptor.properties |= 1U << 12; }, gfx1151()) == field);
  CHECK(with([](K& k) { k.descriptor.properties ^= 1U << 10; }, gfx1151()) == field);  // wave32
  CHECK(with(
            [](K& k) {
              k.descriptor.preload = 2;
              k.descriptor.rsrc2 += 2U << 1;
            },
            gfx1151()) == field);
  CHECK(with([](K& k) { k.descriptor.rsrc2 &= ~(0x1FU << 1); }, gfx1151()) == field);  // fewer than enabled
  CHECK(with([](K& k) { k.descriptor.rsrc2 |= 0x1FU << 1; }, gfx1151()) == field);     // more than 16
  CHECK(with([](K& k) { k.descriptor.entry_byte_offset += 4; }, gfx1151()) == field);
  CHECK(with([](K& k) { k.descriptor.group_segment_fixed_size = k.group_segment_size = 65540; }, gfx1151()) ==
        field);
  CHECK(with([](K& k) { k.descriptor.group_segment_fixed_size = k.group_segment_size = 65536; }, gfx1151()) ==
        nothing);
  CHECK(with(
            [](K& k) {
              k.descriptor.rsrc1 |= 63;
              k.vgpr_count = 512;
            },
            gfx1151()) == field);
  // gfx1100 wants 16 initialised SGPRs, counting the workgroup ids (hardware.md §5.1).
  const target::Target& gfx1100 = test::table("gfx1100");
  CHECK(with([](K&) {}, gfx1100) == field);
  CHECK(with([](K& k) { k.descriptor.rsrc2 |= 15U << 1; }, gfx1100) == nothing);
}

TEST_CASE("gfx9: accum_offset lies in the allocation, no bit of wave32", "[check][descriptor]") {
  const target::Target& t = test::table("gfx942");
  lower::DecodedKernel k = test::bare_kernel("s_endpgm\n", t);
  CHECK(kinds(check::check(k, t)) == nothing);
  k.descriptor.rsrc3 = 68 / 4 - 1;
  CHECK(kinds(check::check(k, t)) == only(Kind::descriptor_field));
  k.descriptor.rsrc3 = 64 / 4 - 1;
  CHECK(kinds(check::check(k, t)) == nothing);
  k.descriptor.rsrc1 |= 1U << 29;  // WGP mode
  CHECK(kinds(check::check(k, t)) == only(Kind::descriptor_field));
}

TEST_CASE("metadata says what the descriptor says", "[check][descriptor]") {
  const lower::DecodedKernel good = kernel("s_endpgm\n");
  const auto with = [&](auto change) {
    lower::DecodedKernel k = good;
    change(k);
    return kinds(check::check(k, gfx1151()));
  };
  using K = lower::DecodedKernel;
  const auto mismatch = only(Kind::metadata_mismatch);
  CHECK(with([](K& k) { k.group_segment_size = 0; }) == mismatch);
  CHECK(with([](K& k) { k.private_segment_size = 4; }) == mismatch);
  CHECK(with([](K& k) { k.kernarg_segment_size = 8; }) == mismatch);
  CHECK(with([](K& k) { k.vgpr_count = 25; }) == mismatch);
  CHECK(with([](K& k) { k.vgpr_count = 16; }) == mismatch);
  CHECK(with([](K& k) { k.vgpr_count = 17; }) == nothing);  // the same granule
  CHECK(with([](K& k) { k.wavefront_size = 64; }) == mismatch);
  CHECK(with([](K& k) { k.max_flat_workgroup_size = 1025; }) == mismatch);
  CHECK(with([](K& k) { k.max_flat_workgroup_size = 0; }) == mismatch);
  CHECK(with([](K& k) {
          k.args = {{.name = "a", .offset = 24, .size = 8, .value_kind = {}, .access = {}}};
        }) == nothing);
  CHECK(with([](K& k) {
          k.args = {{.name = "a", .offset = 28, .size = 8, .value_kind = {}, .access = {}}};
        }) == mismatch);
}

TEST_CASE("kinds have names and can be switched off", "[check]") {
  for (unsigned i = 0; i < static_cast<unsigned>(Kind::count_); ++i) {
    const auto kind = static_cast<Kind>(i);
    CHECK_FALSE(check::name(kind).empty());
    CHECK(check::find_kind(check::name(kind)) == kind);
  }
  CHECK_FALSE(check::find_kind("no-such-kind"));
  const std::string body = "v_mov_b32 v2, v1\nv_mov_b32 v24, 0\n";
  CHECK(report(body).findings.size() == 2);
  CHECK(kinds(report(body, {}, check::Options{}.without(Kind::undefined_register))) ==
        only(Kind::register_range));
}

TEST_CASE("findings beyond the most that is asked for are counted", "[check]") {
  check::Options options;
  options.max_findings = 2;
  const check::Report r = report("v_mov_b32 v24, 0\nv_mov_b32 v25, 0\nv_mov_b32 v26, 0\n", {}, options);
  CHECK(r.findings.size() == 2);
  CHECK(r.dropped == 1);
  CHECK(r.count(check::Severity::error) == 3);
  CHECK_FALSE(r.ok());
  CHECK(check::to_string(r).find("1 more findings") != std::string::npos);
}

TEST_CASE("all kernels of an object are checked, with its target", "[check]") {
  lower::CodeObject object;
  CHECK(check::check(object).empty());
  object.target = &gfx1151();
  object.kernels = {kernel("s_endpgm\n"), kernel("s_nop 0\n")};
  const auto reports = check::check(object);
  REQUIRE(reports.size() == 2);
  CHECK(reports[0].ok());
  CHECK(reports[1].has(Kind::missing_end));
}
