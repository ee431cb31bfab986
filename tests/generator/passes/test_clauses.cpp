// SPDX-License-Identifier: MIT
// Rules: hardware.md §5.5.
#include <catch2/catch.hpp>

#include "generator/passes/passes.hpp"
#include "tests/generator/passes/random_kernel.hpp"

using namespace wavejit;
using namespace wavejit::test;

namespace {

using Lines = std::vector<std::string>;

Lines clauses_of(LateKernel& k) {
  REQUIRE(passes::form_clauses(k.kernel));
  return lines_with(k.kernel, "s_clause");
}

enum class Kind { other, vector_load, scalar_load };

Kind kind(const isa::Instruction& mi) {
  if (mi.info().name.starts_with("buffer_load")) return Kind::vector_load;
  return mi.info().name.starts_with("s_load") ? Kind::scalar_load : Kind::other;
}

}  // namespace

TEST_CASE("runs of loads of one kind become clauses", "[form_clauses]") {
  LateKernel k;
  SECTION("vector loads; stores and LDS loads stay out") {
    k.load(0);
    k.load(1, 4);
    k.load(8);
    k.store(0);
    k.store(1);
    k.lds_load(0);
    k.lds_load(1);
    CHECK(clauses_of(k) == Lines{"s_clause 2"});
    CHECK(k.kernel.blocks[0].insts[0].mi.op == Opcode::s_clause);
  }
  SECTION("kinds do not mix") {
    k.load(0);
    k.scalar_load(0);
    k.load(1);
    k.scalar_load(4);
    k.scalar_load(8);
    CHECK(clauses_of(k) == Lines{"s_clause 1"});
    CHECK(k.kernel.blocks[0].insts[3].mi.op == Opcode::s_clause);
  }
  SECTION("a wait or a hint ends a run") {
    k.load(0);
    k.add(Opcode::s_waitcnt, {}, {imm(0x03F7)});
    k.load(1);
    k.add(Opcode::s_setprio, {}, {imm(1)});
    k.load(2);
    CHECK(clauses_of(k).empty());
  }
  SECTION("a block's end too") {
    k.load(0);
    k.block("next");
    k.load(1);
    CHECK(clauses_of(k).empty());
  }
  SECTION("a second run adds none") {
    k.load(0);
    k.load(1);
    CHECK(clauses_of(k).size() == 1);
    CHECK(clauses_of(k).size() == 1);
  }
}

TEST_CASE("a clause holds at most 63 and never one", "[form_clauses]") {
  const auto loads = [](unsigned count) {
    LateKernel k;
    for (unsigned i = 0; i < count; ++i) k.load(i);
    return clauses_of(k);
  };
  CHECK(loads(63) == Lines{"s_clause 62"});
  CHECK(loads(64) == Lines{"s_clause 61", "s_clause 1"});
  CHECK(loads(65) == Lines{"s_clause 62", "s_clause 1"});
  CHECK(loads(126) == Lines{"s_clause 62", "s_clause 62"});
}

TEST_CASE("targets without s_clause get none", "[form_clauses]") {
  target::Target target = *target::find("gfx1151");
  target.has_clause = false;
  LateKernel k(target);
  k.load(0);
  k.load(1);
  CHECK(clauses_of(k).empty());
}

TEST_CASE("random programs: clauses cover exactly what they may", "[form_clauses]") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    LateKernel k = random_kernel(*target::find("gfx1151"), {.blocks = 2, .instructions = 40}, seed);
    const std::size_t before = k.kernel.blocks[0].insts.size();
    REQUIRE(passes::form_clauses(k.kernel));
    INFO("seed " << seed);
    for (const ir::Block& block : k.kernel.blocks) {
      std::size_t inside = 0;  // instructions that the current clause still holds
      Kind open = Kind::other;
      for (std::size_t i = 0; i < block.insts.size(); ++i) {
        const isa::Instruction& mi = block.insts[i].mi;
        if (mi.op == Opcode::s_clause) {
          REQUIRE(inside == 0);
          inside = static_cast<std::size_t>(mi.src[0].value) + 1;
          REQUIRE(i + inside < block.insts.size() + 0);
          open = kind(block.insts[i + 1].mi);
          REQUIRE(open != Kind::other);
          continue;
        }
        const bool pair =
            i + 1 < block.insts.size() && kind(mi) != Kind::other && kind(mi) == kind(block.insts[i + 1].mi);
        if (inside > 0) {
          CHECK(kind(mi) == open);
          --inside;
        } else {
          CHECK_FALSE(pair);
        }
      }
      CHECK(inside == 0);
    }
    CHECK(k.kernel.blocks[0].insts.size() >= before);
  }
}
