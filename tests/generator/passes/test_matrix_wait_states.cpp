// SPDX-License-Identifier: MIT
// Wait states of MFMA on gfx942 and gfx950. Expected: the numbers that llc 22.1.8's post-RA-hazard-rec gave
// for such pairs and that the CDNA3 ISA's table 37 has, as shared/hardware.md §2.5 lists them.
#include <catch2/catch.hpp>

#include "generator/passes/passes.hpp"
#include "tests/generator/passes/late_kernel.hpp"

using namespace wavejit;
using namespace wavejit::test;

namespace {

class Cdna : public LateKernel {
 public:
  explicit Cdna(std::string_view target) : LateKernel(*target::find(target)) {}

  /// D = v[d..] of 16 registers (32x32) or 4 (16x16); A and B are v[128..131].
  void mfma(unsigned d, bool big, unsigned c) {
    const unsigned width = big ? 16 : 4;
    add(big ? Opcode::v_mfma_f32_32x32x8_bf16 : Opcode::v_mfma_f32_16x16x16_bf16, {vgpr(d, width)},
        {vgpr(128, 2), vgpr(130, 2), vgpr(c, width)});
  }
  unsigned slots() {
    end();
    REQUIRE(passes::resolve_hazards(kernel));
    unsigned sum = 0;
    for (const ir::Block& block : kernel.blocks)
      for (const ir::Instruction& inst : block.insts)
        if (inst.mi.op == Opcode::s_nop) sum += static_cast<unsigned>(inst.mi.src[0].value) + 1;
    return sum;
  }
};

struct Expected {
  const char* target;
  bool big;
  unsigned use;      ///< D to anything but C
  unsigned overlap;  ///< D to a C that overlaps in part
};
const Expected table[] = {
    {"gfx942", false, 7, 5}, {"gfx942", true, 11, 9}, {"gfx950", false, 8, 6}, {"gfx950", true, 12, 10}};

}  // namespace

TEST_CASE("MFMA: who touches a result waits", "[wait_states][cdna]") {
  const Expected e = table[GENERATE(0, 1, 2, 3)];
  CAPTURE(e.target, e.big);
  Cdna k(e.target);
  k.mfma(0, e.big, 0);
  SECTION("VALU reads it") {
    k.move(100, 3);
    CHECK(k.slots() == e.use);
  }
  SECTION("VALU overwrites it") {
    k.move(3, 100);
    CHECK(k.slots() == e.use);
  }
  SECTION("a store takes it") {
    k.store(2, 1);
    CHECK(k.slots() == e.use);
  }
  SECTION("an LDS load overwrites it") {
    k.lds_load(0, 4);
    CHECK(k.slots() == e.use);
  }
  SECTION("another MFMA takes it as A") {
    k.add(Opcode::v_mfma_f32_16x16x16_bf16, {vgpr(64, 4)}, {vgpr(0, 2), vgpr(130, 2), vgpr(64, 4)});
    CHECK(k.slots() == e.use);
  }
  SECTION("the next MFMA accumulates on it") {
    k.mfma(0, e.big, 0);
    CHECK(k.slots() == 0);
  }
  SECTION("the next MFMA overlaps it in part") {
    k.mfma(2, e.big, 2);
    CHECK(k.slots() == e.overlap);
  }
  // The registers begin alike, but another size takes another number of passes: no forwarding.
  SECTION("an MFMA of the other size accumulates from the same first register") {
    k.mfma(0, !e.big, 0);
    CHECK(k.slots() == e.overlap);
  }
  SECTION("others do not") {
    k.mfma(32, e.big, 32);
    k.move(100, 101);
    CHECK(k.slots() == 0);
  }
  SECTION("instructions between count") {
    for (unsigned i = 0; i < 5; ++i) k.move(100 + i, 120);
    k.move(110, 3);
    CHECK(k.slots() == e.use - 5);
  }
}

TEST_CASE("MFMA: sources and C", "[wait_states][cdna]") {
  const Expected e = table[GENERATE(0, 1, 2, 3)];
  CAPTURE(e.target, e.big);
  Cdna k(e.target);
  SECTION("a VALU result is A two slots later") {
    k.move(128, 100);
    k.mfma(0, e.big, 0);
    CHECK(k.slots() == 2);
  }
  SECTION("A may be overwritten at once") {
    k.mfma(0, e.big, 0);
    k.move(128, 100);
    CHECK(k.slots() == 0);
  }
  SECTION("C that is not D is read late") {
    k.mfma(0, e.big, 32);
    k.move(33, 100);
    CHECK(k.slots() == (e.big ? 7U : 3U));
  }
}
