// SPDX-License-Identifier: MIT
// Which blocks may become one is told by the control flow alone: expected by hand.
#include <catch2/catch.hpp>

#include "generator/ir/builder.hpp"
#include "generator/passes/passes.hpp"

using namespace wavejit;
using isa::imm;
using enum isa::Opcode;

namespace {

std::vector<std::string> labels(const ir::Kernel& k) {
  std::vector<std::string> all;
  for (const ir::Block& block : k.blocks) all.push_back(block.label);
  return all;
}

}  // namespace

TEST_CASE("blocks that always follow each other become one", "[passes][merge_blocks]") {
  ir::Kernel k;
  k.target = target::find("gfx942");
  ir::Builder b(k);
  const isa::Operand s = b.sgpr("s");
  b.block("entry");
  b.emit(s_mov_b32, {s}, {imm(1)});
  b.block("setup", "comes to entry");
  b.emit(s_add_u32, {s}, {s, imm(2)});
  b.emit(s_cmp_lg_u32, {}, {s, imm(3)});
  b.emit(s_cbranch_scc1, {}, {isa::label(4)});  // to `target`
  b.block("behind a branch");
  b.emit(s_add_u32, {s}, {s, imm(4)});
  b.block("falls in");
  b.emit(s_add_u32, {s}, {s, imm(5)});
  b.block("target");
  b.emit(s_add_u32, {s}, {s, imm(6)});
  b.block("repeats");
  b.emit(s_add_u32, {s}, {s, imm(7)});
  b.make_loop("repeats", 3);
  b.block("behind a loop");
  b.emit(s_endpgm, {}, {});
  b.block("behind the end");
  b.emit(s_branch, {}, {isa::label(4)});
  REQUIRE(passes::merge_blocks(k));
  CHECK(labels(k) == std::vector<std::string>{"entry", "behind a branch", "target", "repeats",
                                              "behind a loop", "behind the end"});
  CHECK(k.blocks[0].insts.size() == 4);
  CHECK(k.blocks[0].comment == "comes to entry");
  CHECK(k.blocks[1].insts.size() == 2);
  // Branches name the same block by its new number.
  CHECK(k.blocks[0].insts.back().mi.src[0].index == 2);
  CHECK(k.blocks[5].insts.back().mi.src[0].index == 2);
}

TEST_CASE("a block that branches to itself stays by itself", "[passes][merge_blocks]") {
  ir::Kernel k;
  k.target = target::find("gfx942");
  ir::Builder b(k);
  const isa::Operand s = b.sgpr("s");
  b.block("entry");
  b.emit(s_mov_b32, {s}, {imm(0)});
  b.block("loop");
  b.emit(s_add_u32, {s}, {s, imm(1)});
  b.make_loop("loop", 4);
  b.block("once");
  b.emit(s_add_u32, {s}, {s, imm(1)});
  b.make_loop("once", 1);
  b.block("end");
  b.emit(s_endpgm, {}, {});
  REQUIRE(passes::lower_loops(k));
  REQUIRE(passes::merge_blocks(k));
  // A loop that runs once has no branch.
  CHECK(labels(k) == std::vector<std::string>{"entry", "loop", "once"});
  CHECK(k.blocks[2].insts.size() == 2);
}
