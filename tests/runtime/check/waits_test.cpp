// SPDX-License-Identifier: MIT
// Loads in flight and LDS at barriers. Every expectation is from hardware.md §4: which counter an
// operation is counted on, and in which order it retires.
#include <catch2/catch.hpp>

#include "tests/runtime/check/check_kernel.hpp"

using namespace wavejit;
using check::Kind;
using test::bare_report;
using test::kinds;
using test::nothing;
using test::only;
using test::report;

TEST_CASE("a scalar load is waited for with lgkmcnt(0)", "[check]") {
  CHECK(kinds(report("s_load_b32 s4, s[0:1], 0x0\ns_add_u32 s5, s4, 1\n")) == only(Kind::read_in_flight));
  CHECK(kinds(report("s_load_b32 s4, s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_add_u32 s5, s4, 1\n")) == nothing);
}
