// SPDX-License-Identifier: MIT
// When registers are given back early (hardware.md §5.5; LLVM 22's own condition, looked at with llc).
#include <catch2/catch.hpp>

#include "generator/passes/passes.hpp"
#include "tests/generator/passes/late_kernel.hpp"

using namespace wavejit;
using namespace wavejit::test;

namespace {

std::size_t messages(LateKernel& k) {
  REQUIRE(passes::dealloc_vgprs(k.kernel));
  return lines_with(k.kernel, "s_sendmsg").size();
}

}  // namespace

TEST_CASE("registers are given back while stores are in flight", "[dealloc_vgprs]") {
  LateKernel k;
  k.kernel.vgprs_used = 97;  // 16 waves up to 96
  SECTION("stores in flight") {
    k.store(0);
    k.end();
    REQUIRE(messages(k) == 1);
    CHECK(lines_of(k.kernel)[2] == "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)");
    CHECK(messages(k) == 1);  // a second run adds none
  }
  SECTION("registers that do not limit the waves") {
    k.kernel.vgprs_used = 96;
    k.store(0);
    k.end();
    CHECK(messages(k) == 0);
  }
  SECTION("no store") {
    k.end();
    CHECK(messages(k) == 0);
  }
  SECTION("stores that are complete") {
    k.store(0);
    k.add(Opcode::s_waitcnt_vscnt, {}, {isa::null_reg(), imm(0)});
    k.end();
    CHECK(messages(k) == 0);
  }
  SECTION("a load in flight would write a register of another wave") {
    k.load(4);
    k.store(0);
    k.end();
    CHECK(messages(k) == 0);
  }
  SECTION("a target without the message") {
    target::Target target = *k.kernel.target;
    target.has_dealloc_vgprs = false;
    k.kernel.target = &target;
    k.store(0);
    k.end();
    CHECK(messages(k) == 0);
  }
}

TEST_CASE("stores of an earlier block count, and each end is judged alone", "[dealloc_vgprs]") {
  LateKernel k;
  k.branch_if_scc1(2);
  k.block("store");
  k.store(0);
  k.block("end");
  k.end();
  CHECK(messages(k) == 1);

  LateKernel two;
  two.branch_if_scc1(2);
  two.block("store");
  two.store(0);
  two.end();
  two.block("plain");
  two.end();
  CHECK(messages(two) == 1);
  CHECK(two.kernel.blocks[2].insts.size() == 1);
}
