// SPDX-License-Identifier: MIT
// What findings say: the registers, sizes and counters that they name, written out here from the code that is
// judged; and what a barrier's finding needs of the blocks behind it.
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

/// The message of the only finding, which is of that kind.
std::string message(const check::Report& r, Kind kind) {
  CHECK(kinds(r) == only(kind));
  return r.findings.empty() ? std::string() : r.findings.front().message;
}

bool says(const std::string& text, std::string_view part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

/// A kernel in which operand `change` was put after assembly: text cannot say it.
template <class F>
check::Report changed(std::string_view body, const target::Target& target, F&& change) {
  lower::DecodedKernel k = test::bare_kernel(std::string(body) + "s_endpgm\n", target);
  change(k.instructions.at(0).inst);
  return check::check(k, target, test::snippet());
}

}  // namespace

TEST_CASE("operand findings name the tuple, its limit and what gives it", "[check][wording]") {
  const target::Target& gfx11 = test::table("gfx1151");
  const target::Target& gfx942 = test::table("gfx942");
  const auto move_first = [](unsigned to) { return [to](isa::Instruction& i) { i.dst[0].index = to; }; };
  CHECK(says(message(changed("s_mov_b64 s[4:5], 0\n", gfx11, move_first(5)), Kind::tuple_alignment),
             "s[5:6] of s_mov_b64 must start at a multiple of 2"));
  CHECK(kinds(changed("s_mov_b64 s[4:5], 0\n", gfx11, move_first(6))) == nothing);
  CHECK(says(message(changed("s_load_b128 s[4:7], s[0:1], 0\ns_waitcnt lgkmcnt(0)\n", gfx11, move_first(6)),
                     Kind::tuple_alignment),
             "s[6:9] of s_load_b128 must start at a multiple of 4"));
  CHECK(says(message(changed("ds_read_b64 v[2:3], v0\ns_waitcnt lgkmcnt(0)\n", gfx942, move_first(3)),
                     Kind::tuple_alignment),
             "v[3:4] of ds_load_b64 must start at a multiple of 2"));
  // 64 VGPRs: the last is 63.
  CHECK(kinds(changed("v_mov_b32 v1, 0\n", gfx11, move_first(63))) == nothing);
  CHECK(says(message(changed("v_mov_b32 v1, 0\n", gfx11, move_first(64)), Kind::register_range),
             "VGPR 64 is beyond the 64 that RSRC1 gives the kernel"));
  // A register that was never assigned is one finding, whatever its number.
  const auto unassigned = changed("v_mov_b32 v1, 0\n", gfx11, [](isa::Instruction& i) {
    i.dst[0].is_virtual = true;
    i.dst[0].index = 500;
  });
  CHECK(says(message(unassigned, Kind::operand_rule), "a virtual register is left"));
  CHECK(unassigned.findings.size() == 1);
}

TEST_CASE("a barrier's findings look into the blocks behind it, to the next wait or barrier",
          "[check][wording]") {
  const std::string store = "v_mov_b32 v1, 0\nds_store_b32 v0, v1\ns_barrier\n";
  const std::string branch = "s_cmp_eq_u32 s2, 0\ns_cbranch_scc1 .Lb\n";
  const std::string load = "ds_load_b32 v2, v0\n";
  CHECK(kinds(report(store + load)) == only(Kind::lds_store_at_barrier));
  // On either side of a branch, and two blocks on.
  CHECK(kinds(report(store + branch + load + ".Lb:\ns_nop 0\n")) == only(Kind::lds_store_at_barrier));
  CHECK(kinds(report(store + branch + "s_nop 0\n.Lb:\n" + load)) == only(Kind::lds_store_at_barrier));
  CHECK(kinds(report(store + branch +
                     "s_nop 0\n.Lb:\ns_cmp_eq_u32 s2, 1\ns_cbranch_scc1 .Lc\ns_nop 0\n.Lc:\n" + load)) ==
        only(Kind::lds_store_at_barrier));
  // Around a loop.
  CHECK(kinds(report(".La:\n" + load + "s_waitcnt lgkmcnt(0)\n" + store +
                     "s_cmp_eq_u32 s2, 0\ns_cbranch_scc1 .La\n")) == only(Kind::lds_store_at_barrier));
  // Another barrier that is waited for stands between, in its own block or in a later one.
  const std::string done = "s_waitcnt lgkmcnt(0)\ns_barrier\n";
  CHECK(kinds(report(store + branch + "s_nop 0\n.Lb:\n" + done + load)) == nothing);
  CHECK(kinds(report(store + done + branch + load + ".Lb:\ns_nop 0\n")) == nothing);
  // Nobody touches LDS any more.
  CHECK(kinds(report(store + branch + "s_nop 0\n.Lb:\ns_nop 0\n")) == nothing);
}
