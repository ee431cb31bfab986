// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "generator/ir/builder.hpp"
#include "generator/ir/names.hpp"

namespace wavejit {
namespace {

using isa::imm;
using isa::Opcode;
using isa::Operand;
using isa::RegClass;

}  // namespace

TEST_CASE("print shows all that passes work with", "[print]") {
  ir::Kernel kernel;
  kernel.name = "example";
  kernel.target = target::find("gfx1151");
  kernel.header = {"an example"};
  kernel.args = {{"weights", ir::ArgKind::buffer, 0, 8, ir::Access::read},
                 {"m", ir::ArgKind::scalar, 8, 4, ir::Access::read}};
  kernel.kernarg_size = 12;
  kernel.lds = {{"tile", 0, 4096, 2, 2048}};
  kernel.workgroup_size = 256;
  kernel.vgpr_budget = 120;
  ir::Builder b(kernel);
  kernel.entry.kernarg = b.fixed(RegClass::sgpr, "kernarg", 0, 2);
  kernel.entry.workitem_id = b.fixed(RegClass::vgpr, "item", 0);
  const Operand data = b.vgpr("data", 4, 2), k = b.sgpr("k"), quad = b.sgpr("quad", 4);
  b.block("entry", "set up");
  b.note("the first column");
  b.emit(Opcode::s_mov_b32, {k}, {imm(0)});
  b.emit(Opcode::s_load_b128, {quad}, {kernel.entry.kernarg, imm(16)});
  b.block("loop");
  b.make_loop("k", 80).inductions.push_back({k, 64, 1, 0});
  b.set_stage(1);
  b.note("a fragment");
  b.emit(Opcode::ds_load_b128, {data}, {kernel.entry.workitem_id}).mem = {ir::MemoryTag::Space::lds, 0, true};
  b.emit(Opcode::v_add_nc_u32, {data.slice(1)}, {k, data.slice(3)});
  b.set_stage(0);
  b.block("end");
  b.emit(Opcode::s_endpgm, {}, {});

  CHECK(ir::print(kernel) ==
        "; an example\n"
        "kernel example for gfx1151, 256 work-items, budget 120 VGPRs, 104 SGPRs\n"
        "arg   weights: buffer, read, bytes 0..7\n"
        "arg   m: scalar, bytes 8..11\n"
        "lds   tile: bytes 0..4095, 2 buffers, distance 2048\n"
        "reg   kernarg%0: s[2] fixed s0\n"
        "reg   item%1: v[1] fixed v0\n"
        "reg   data%2: v[4] bank 2\n"
        "reg   k%3: s[1]\n"
        "reg   quad%4: s[4] align 4\n"
        "entry kernarg kernarg%0, workitem item%1\n"
        ".Lentry:                                                                ; set up\n"
        "    s_mov_b32 k%3, 0                                                    ; the first column\n"
        "    s_load_b128 quad%4, kernarg%0, 16\n"
        ".Lloop:  loop k, 80 times\n"
        "    induction k%3 += 64, stage 1, from 0\n"
        "    ds_load_b128 data%2, item%1                                         ; stage 1, tile ring: a "
        "fragment\n"
        "    v_add_nc_u32 data%2[1], k%3, data%2[3]                              ; stage 1\n"
        ".Lend:\n"
        "    s_endpgm\n");
}

TEST_CASE("after assignment print shows what is used in place of tuples", "[print]") {
  ir::Kernel kernel;
  kernel.name = "done";
  kernel.target = target::find("gfx1151");
  kernel.registers_assigned = true;
  kernel.vgprs_used = 3;
  kernel.sgprs_used = 2;
  kernel.uses_vcc = true;
  kernel.entry.kernarg = isa::sgpr(0, 2);
  ir::Builder b(kernel);
  b.block("body");
  b.current().is_loop_body = true;
  b.current().trip_count = 5;
  b.emit(Opcode::v_mov_b32, {isa::vgpr(2)}, {isa::vgpr(0)}).mi.dual = isa::Dual::x;
  b.emit(Opcode::v_mov_b32, {isa::vgpr(1)}, {isa::vgpr(1)}).mi.dual = isa::Dual::y;
  const std::string text = ir::print(kernel);
  CHECK_THAT(text, Catch::Contains("uses  3 VGPRs, 2 SGPRs, VCC\n"));
  CHECK_THAT(text, Catch::Contains("entry kernarg s[0:1]\n"));
  CHECK_THAT(text, Catch::Contains(".Lbody:  loop body, 5 times\n"));
  CHECK_THAT(text, Catch::Contains("; dual x\n"));
  CHECK_THAT(text, Catch::Contains("; dual y\n"));
  CHECK_THAT(text, !Catch::Contains("reg   "));
}

TEST_CASE("names of virtual registers are unique, and whole tuples need no range", "[print]") {
  ir::Kernel kernel;
  kernel.target = target::find("gfx1151");
  ir::Builder b(kernel);
  const Operand first = b.vgpr("acc", 8), second = b.vgpr("acc", 8);
  CHECK(ir::operand_text(kernel, first) == "acc%0");
  CHECK(ir::operand_text(kernel, second) == "acc%1");
  CHECK(ir::operand_text(kernel, second.slice(4, 4)) == "acc%1[4:7]");
  CHECK(ir::operand_text(kernel, second.slice(7)) == "acc%1[7]");
  Operand broken = first;
  broken.index = 9;
  CHECK(ir::operand_text(kernel, broken) == "%9?");
}

}  // namespace wavejit
