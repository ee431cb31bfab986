// SPDX-License-Identifier: MIT
// Loads that write LDS themselves, through the passes that must know: waits, order, hazards. Expected text
// by hand from hardware.md §4.2 (they count in vmcnt, in order with other loads) and §5.
#include <catch2/catch.hpp>

#include "generator/ir/liveness.hpp"
#include "generator/passes/dependences.hpp"
#include "generator/passes/passes.hpp"
#include "tests/generator/passes/late_kernel.hpp"

using namespace wavejit;
using namespace wavejit::test;

namespace {

using Lines = std::vector<std::string>;

/// buffer_load … lds of `stage` of a ring, or outside any.
void direct(LateKernel& k, std::uint8_t stage, bool ring) {
  ir::Instruction& inst = k.load(0, 4);
  inst.mi.dst_count = 0;
  inst.mi.mods.lds = true;
  inst.stage = stage;
  inst.mem = {ir::MemoryTag::Space::lds, 0, ring};
}

void read(LateKernel& k, std::uint8_t stage, bool ring) {
  ir::Instruction& inst = k.lds_load(30);
  inst.stage = stage;
  inst.mem = {ir::MemoryTag::Space::lds, 0, ring};
}

Lines waits_of(LateKernel& k) {
  REQUIRE(passes::insert_waits(k.kernel));
  return lines_with(k.kernel, "s_waitcnt");
}

bool follows(const LateKernel& k, std::uint32_t first, std::uint32_t second) {
  const ir::RegisterUnits units(k.kernel);
  const auto graph = passes::build_dependences(k.kernel, k.kernel.blocks[0], units);
  const auto& out = graph.successors[first];
  return std::ranges::find(out, second, &passes::Dependence::to) != out.end();
}

}  // namespace

TEST_CASE("a barrier waits for loads to LDS and leaves younger loads in flight", "[insert_waits][lds_dma]") {
  LateKernel k("gfx950");
  const bool ring = GENERATE(false, true);
  direct(k, 0, ring);
  k.load(8, 4);
  k.load(12);
  k.barrier();
  CHECK(waits_of(k) == Lines{"s_waitcnt vmcnt(2)"});
}

TEST_CASE("LDS reads wait for loads to LDS, except those of a ring's other buffer",
          "[insert_waits][lds_dma]") {
  LateKernel k("gfx950");
  SECTION("no ring") {
    direct(k, 0, false);
    read(k, 1, false);
    CHECK(waits_of(k) == Lines{"s_waitcnt vmcnt(0)"});
  }
  SECTION("another stage of the ring") {
    direct(k, 0, true);
    read(k, 1, true);
    CHECK(waits_of(k).empty());
  }
  SECTION("the same stage") {
    direct(k, 1, true);
    k.load(8);
    read(k, 1, true);
    CHECK(waits_of(k) == Lines{"s_waitcnt vmcnt(1)"});
  }
  SECTION("a read that is not of the ring") {
    direct(k, 0, true);
    read(k, 1, false);
    CHECK(waits_of(k) == Lines{"s_waitcnt vmcnt(0)"});
  }
}

TEST_CASE("loads to LDS keep their side of a barrier, and of reads of the same buffer",
          "[schedule][lds_dma]") {
  LateKernel k("gfx950");
  k.barrier();          // 0
  direct(k, 0, true);   // 1
  read(k, 1, true);     // 2
  read(k, 0, true);     // 3
  direct(k, 0, false);  // 4
  k.load(8);            // 5: to a register
  k.barrier();          // 6
  CHECK(follows(k, 0, 1));
  CHECK_FALSE(follows(k, 1, 2));
  CHECK(follows(k, 1, 3));
  CHECK(follows(k, 2, 4));
  CHECK(follows(k, 1, 6));
  CHECK(follows(k, 4, 6));
  CHECK_FALSE(follows(k, 5, 6));
}

TEST_CASE("a scalar write of M0 and a load to LDS need a slot between", "[hazards][lds_dma]") {
  LateKernel k("gfx950");
  k.add(Opcode::s_mov_b32, {isa::m0()}, {imm(64)});
  direct(k, 0, true);
  k.end();
  REQUIRE(passes::resolve_hazards(k.kernel));
  CHECK(lines_with(k.kernel, "s_nop") == Lines{"s_nop 0"});
}
