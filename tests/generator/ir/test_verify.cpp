// SPDX-License-Identifier: MIT
// One broken rule per section. The allowed values are those of shared/hardware.md (§2.1 matrix
// registers, §3.1 VOPD) or what llvm-mc-22 accepts for gfx1151 (literals, scalar operands, offsets).
#include <catch2/catch.hpp>
#include <functional>

#include "generator/ir/builder.hpp"

namespace wavejit {
namespace {

using isa::imm;
using isa::Opcode;
using isa::Operand;
using isa::RegClass;
using isa::sgpr;
using isa::vgpr;

/// A right kernel to break: registers with values, one LDS region, one argument.
struct Fixture {
  ir::Kernel kernel;
  ir::Builder b{kernel};
  Operand v0, v1, v2, pair, s0, s1, s2, descriptor, a, bb, c;

  Fixture() {
    kernel.name = "fixture";
    kernel.target = target::find("gfx1151");
    kernel.args = {{"weights", ir::ArgKind::buffer, 0, 8, ir::Access::read}};
    kernel.kernarg_size = 8;
    kernel.lds = {{"tile", 0, 1024, 1, 0}};
    kernel.entry.kernarg = b.fixed(RegClass::sgpr, "kernarg", 0, 2);
    kernel.entry.workitem_id = b.fixed(RegClass::vgpr, "item", 0);
    b.block("start");
    for (Operand* o : {&v0, &v1, &v2})
      b.emit(Opcode::v_mov_b32, {* o = b.vgpr("v")}, {kernel.entry.workitem_id});
    pair = b.vgpr("pair", 2);
    for (unsigned d = 0; d < 2; ++d) b.emit(Opcode::v_mov_b32, {pair.slice(d)}, {imm(0)});
    for (Operand* o : {&s0, &s1, &s2}) b.emit(Opcode::s_mov_b32, {* o = b.sgpr("s")}, {imm(1)});
    b.emit(Opcode::s_load_b128, {descriptor = b.sgpr("descriptor", 4)}, {kernel.entry.kernarg, imm(0)});
    for (Operand* o : {&a, &bb, &c}) {
      *o = b.vgpr("m", 8);
      for (unsigned d = 0; d < 8; d += 4)
        b.emit(Opcode::buffer_load_b128, {o->slice(d, 4)}, {v0, descriptor, imm(0)}).mi.mods.offen = true;
    }
    b.block("body");
  }

  isa::Instruction& emit(Opcode op, std::initializer_list<Operand> dst, std::initializer_list<Operand> src) {
    return b.emit(op, dst, src).mi;
  }
  isa::Instruction& buffer_load(const Operand& dst, const Operand& soffset = imm(0)) {
    isa::Instruction& inst = emit(Opcode::buffer_load_b32, {dst}, {v0, descriptor, soffset});
    inst.mods.offen = true;
    return inst;
  }
  void end() {
    b.block("last");
    b.emit(Opcode::s_endpgm, {}, {});
  }
};

/// Checks that the fixture with `change` is refused, and with what words.
void refused(const std::function<void(Fixture&)>& change, const std::string& message) {
  Fixture f;
  change(f);
  if (f.kernel.blocks.back().label != "last") f.end();
  const auto result = ir::verify(f.kernel);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::invalid_ir);
  CHECK_THAT(result.error().message, Catch::Contains(message));
}

void accepted(const std::function<void(Fixture&)>& change) {
  Fixture f;
  change(f);
  if (f.kernel.blocks.back().label != "last") f.end();
  const auto result = ir::verify(f.kernel);
  INFO((result ? std::string() : result.error().message));
  CHECK(result);
}

}  // namespace

TEST_CASE("verify accepts a right kernel and names what is wrong in another", "[verify]") {
  accepted([](Fixture&) {});
  Fixture f;
  f.emit(Opcode::v_add3_u32, {f.v0}, {f.s0, f.s1, f.s2});
  f.end();
  const auto result = ir::verify(f.kernel);
  REQUIRE_FALSE(result);
  CHECK(result.error().message ==
        "kernel fixture, block body, `v_add3_u32 v%2, s%6, s%7, s%8`: the number of distinct scalar operands "
        "(SGPRs and literals) is 3, but must be at most 2");
  CHECK(result.error().given == "3");
  CHECK(result.error().allowed == "at most 2");
}

TEST_CASE("verify: operands match the signature", "[verify]") {
  refused([](Fixture& f) { f.emit(Opcode::invalid, {}, {}); }, "opcode is 0");
  refused(
      [](Fixture& f) {
        f.emit(Opcode::v_cvt_pk_bf16_f32, {f.v0}, {f.v1, f.v2});
      },
      "opcode is v_cvt_pk_bf16_f32, but must be one that gfx1151 has");
  refused(
      [](Fixture& f) {
        f.emit(Opcode::v_add3_u32, {f.v0}, {f.v1, f.v2});
      },
      "the number of sources is 2, but must be 3");
  refused([](Fixture& f) { f.emit(Opcode::v_mov_b32, {}, {f.v1}); },
          "the number of destinations is 0, but must be 1");
  refused([](Fixture& f) { f.emit(Opcode::v_mov_b32, {f.s0}, {f.v1}); },
          "destination operand 0 is an SGPR, but must be a VGPR");
  refused([](Fixture& f) { f.emit(Opcode::s_mov_b32, {f.s0}, {f.v1}); },
          "source operand 0 is a VGPR, but must be an SGPR or a constant");
  refused(
      [](Fixture& f) {
        f.emit(Opcode::v_lshlrev_b64, {f.pair}, {f.v0, f.v1});
      },
      "source operand 1's width is 1 dwords, but must be 2");
  refused([](Fixture& f) { f.emit(Opcode::v_mov_b32, {f.v0}, {isa::phys(RegClass::agpr, 0)}); },
          "source operand 0 is an AGPR");
  refused([](Fixture& f) { f.emit(Opcode::s_branch, {}, {imm(0)}); },
          "source operand 0 is a constant, but must be a label");
  accepted([](Fixture& f) { f.emit(Opcode::v_add_co_u32, {f.v0, isa::null_reg()}, {f.v1, f.v2}); });
}

TEST_CASE("verify: registers are within their tuple, their class and their file", "[verify]") {
  refused([](Fixture& f) { f.emit(Opcode::v_mov_b32, {f.v0}, {f.a.slice(8)}); },
          "dwords 8..8 of m%10, but must be within its 8 dwords");
  refused(
      [](Fixture& f) {
        Operand wrong = f.v1;
        wrong.cls = RegClass::sgpr;
        f.emit(Opcode::s_mov_b32, {f.s0}, {wrong});
      },
      "source operand 0's class");
  refused(
      [](Fixture& f) {
        Operand unknown = f.v1;
        unknown.index = 999;
        f.emit(Opcode::v_mov_b32, {f.v0}, {unknown});
      },
      "source operand 0 is %999, but must be below");
  refused([](Fixture& f) { f.emit(Opcode::v_mov_b32, {vgpr(256)}, {f.v0}); },
          "destination operand 0 is v256, but must be below 256");
  refused([](Fixture& f) { f.emit(Opcode::s_mov_b64, {sgpr(105, 2)}, {imm(0)}); }, "must be below s106");
  refused([](Fixture& f) { f.emit(Opcode::s_mov_b64, {sgpr(7, 2)}, {imm(0)}); }, "must be a multiple of 2");
  refused([](Fixture& f) { f.emit(Opcode::s_mov_b64, {f.descriptor.slice(1, 2)}, {imm(0)}); },
          "first dword is 1, but must be a multiple of 2");
  refused(
      [](Fixture& f) {
        f.emit(Opcode::s_load_b128, {sgpr(10, 4)}, {f.kernel.entry.kernarg, imm(0)});
      },
      "must be a multiple of 4");
  refused(
      [](Fixture& f) {
        Operand half = f.s0;
        half.half = isa::Half::high;
        f.emit(Opcode::v_mov_b32, {f.v0}, {half});
      },
      "half is named, but must be named only on one VGPR");
}

TEST_CASE("verify: vector tuples are aligned where the target asks for it", "[verify]") {
  target::Target even = *target::find("gfx1151");
  even.vgpr_tuple_align = 2;
  refused(
      [&](Fixture& f) {
        f.kernel.target = &even;
        f.emit(Opcode::v_lshlrev_b64, {vgpr(2, 2)}, {f.v0, f.a.slice(1, 2)});
      },
      "source operand 1's first dword is 1, but must be a multiple of 2");
  refused(
      [&](Fixture& f) {
        f.kernel.target = &even;
        f.emit(Opcode::v_lshlrev_b64, {vgpr(3, 2)}, {f.v0, f.a.slice(2, 2)});
      },
      "destination operand 0's register is v[3:4], but must be a multiple of 2");
  accepted([&](Fixture& f) { f.emit(Opcode::v_lshlrev_b64, {vgpr(3, 2)}, {f.v0, f.a.slice(1, 2)}); });
}

TEST_CASE("verify: literals and scalar operands", "[verify]") {
  const auto add3 = [](Operand x, Operand y, Operand z) {
    return [=](Fixture& f) { f.emit(Opcode::v_add3_u32, {f.v0}, {x, y, z}); };
  };
  const std::string scalars = "the number of distinct scalar operands";
  accepted([](Fixture& f) { f.emit(Opcode::v_add3_u32, {f.v0}, {f.s0, f.s1, f.s0}); });
  accepted([](Fixture& f) { f.emit(Opcode::v_add3_u32, {f.v0}, {f.s0, imm(0x12345), f.s0}); });
  accepted(add3(imm(0x12345), imm(0x12345), imm(64)));
  refused([](Fixture& f) { f.emit(Opcode::v_add3_u32, {f.v0}, {f.s0, f.s1, imm(65)}); }, scalars);
  refused(
      [](Fixture& f) {
        f.emit(Opcode::v_cndmask_b32, {f.v0}, {f.s0, f.s1, f.s2});
      },
      scalars + " (SGPRs and literals) is 3");
  refused(add3(imm(100), imm(101), imm(0)), "the number of literals is 2, but must be at most 1");
  refused(
      [](Fixture& f) {
        f.emit(Opcode::s_add_u32, {f.s0}, {imm(100), imm(101)});
      },
      "the number of literals is 2");
  accepted([](Fixture& f) { f.emit(Opcode::s_add_u32, {f.s0}, {imm(100), imm(100)}); });
  refused([](Fixture& f) { f.emit(Opcode::v_mov_b32, {f.v0}, {isa::fimm(0x12345678)}); },
          "a float constant is 0x12345678");
  accepted([](Fixture& f) { f.emit(Opcode::v_mov_b32, {f.v0}, {isa::fimm(0x3F800000)}); });
  refused([](Fixture& f) { f.emit(Opcode::v_mov_b32, {f.v0}, {imm(0x123456789)}); },
          "a constant is 4886718345");
  refused([](Fixture& f) { f.emit(Opcode::s_movk_i32, {f.s0}, {imm(70000)}); },
          "a constant is 70000, but must be -32768..65535");
  refused(
      [](Fixture& f) {
        f.emit(Opcode::v_fmaak_f32, {f.v0}, {f.v1, f.s0, imm(5)});
      },
      "source operand 1 is not a VGPR");
  refused(
      [](Fixture& f) {
        f.emit(Opcode::v_fmaak_f32, {f.v0}, {imm(100), f.v1, imm(5)});
      },
      "the number of literals is 2");
  refused(
      [](Fixture& f) {
        f.emit(Opcode::v_readlane_b32, {f.s0}, {f.v1, imm(100)});
      },
      "the number of literals is 1, but must be 0");
  refused(
      [](Fixture& f) {
        isa::Instruction& inst = f.emit(Opcode::v_mov_b32, {f.v0}, {f.s0});
        inst.mods.dpp = {isa::Dpp::Kind::dpp16, 0, 0, 0xF, 0xF, true, false};
      },
      "source operand 0 is not a VGPR");
}

TEST_CASE("verify: the target's table decides about literals and scalar operands", "[verify]") {
  target::Target strict = *target::find("gfx1151");
  strict.valu_scalar_reads = 1;
  strict.vop3_literal = false;
  refused(
      [&](Fixture& f) {
        f.kernel.target = &strict;
        f.emit(Opcode::v_add_nc_u32, {f.v0}, {f.s0, f.s1});
      },
      "is 2, but must be at most 1");
  refused(
      [&](Fixture& f) {
        f.kernel.target = &strict;
        f.emit(Opcode::v_add3_u32, {f.v0}, {f.v1, f.v2, imm(100)});
      },
      "the target's VOP3 encoding takes no literal");
}

TEST_CASE("verify: memory offsets and addresses", "[verify]") {
  accepted([](Fixture& f) { f.buffer_load(f.v1, f.s0).mods.offset = 4095; });
  refused([](Fixture& f) { f.buffer_load(f.v1).mods.offset = 4096; },
          "the buffer offset is 4096, but must be 0..4095");
  refused([](Fixture& f) { f.buffer_load(f.v1).mods.offset = -1; }, "the buffer offset is -1");
  refused([](Fixture& f) { f.buffer_load(f.v1, imm(100)); }, "soffset takes an SGPR or an inline constant");
  refused([](Fixture& f) { f.buffer_load(f.v1).src[0] = {}; },
          "source operand 0 is absent, but must be a VGPR");
  accepted([](Fixture& f) {
    isa::Instruction& inst = f.buffer_load(f.v1);
    inst.src[0] = {};
    inst.mods.offen = false;
  });
  accepted([](Fixture& f) { f.emit(Opcode::ds_load_b32, {f.v0}, {f.v1}).mods.offset = 65535; });
  refused([](Fixture& f) { f.emit(Opcode::ds_load_b32, {f.v0}, {f.v1}).mods.offset = 65536; },
          "the LDS offset is 65536, but must be 0..65535");
  accepted([](Fixture& f) {
    f.emit(Opcode::global_load_b32, {f.v0}, {f.v1, f.kernel.entry.kernarg}).mods.offset = -4096;
  });
  refused(
      [](Fixture& f) {
        f.emit(Opcode::global_load_b32, {f.v0}, {f.v1, f.kernel.entry.kernarg}).mods.offset = 4096;
      },
      "the global offset is 4096, but must be -4096..4095");
  refused(
      [](Fixture& f) {
        f.emit(Opcode::global_load_b32, {f.v0}, {f.v1, isa::null_reg()});
      },
      "the address's width is 1 dwords, but must be 2 without a base");
  refused(
      [](Fixture& f) {
        f.emit(Opcode::global_load_b32, {f.v0}, {f.pair, f.kernel.entry.kernarg});
      },
      "must be 1 beside an SGPR base");
  accepted([](Fixture& f) { f.emit(Opcode::global_load_b32, {f.v0}, {f.pair, isa::null_reg()}); });
  refused(
      [](Fixture& f) {
        f.emit(Opcode::s_load_b32, {f.s0}, {f.kernel.entry.kernarg, imm(0x100000)});
      },
      "the scalar load's offset is 1048576");
  refused(
      [](Fixture& f) {
        f.emit(Opcode::s_load_b32, {f.s0}, {f.kernel.entry.kernarg, imm(6)});
      },
      "must be a multiple of 4 bytes");
}

TEST_CASE("verify: memory tags name an object of the right memory", "[verify]") {
  const auto tagged = [](ir::MemoryTag tag) {
    return [tag](Fixture& f) {
      f.emit(Opcode::ds_load_b32, {f.v0}, {f.v1});
      f.b.current().insts.back().mem = tag;
    };
  };
  accepted(tagged({ir::MemoryTag::Space::lds, 0, true}));
  refused(tagged({ir::MemoryTag::Space::global, 0, false}), "the memory tag is global");
  refused(tagged({ir::MemoryTag::Space::lds, 1, false}), "the memory tag's object is 1, but must be below 1");
  refused(
      [](Fixture& f) {
        f.buffer_load(f.v1);
        f.b.current().insts.back().mem = {ir::MemoryTag::Space::global, 0, true};
      },
      "the memory tag's ring");
}

TEST_CASE("verify: matrix registers", "[verify]") {
  const auto wmma = [](Fixture& f, Operand d, Operand a, Operand b, Operand c) {
    f.emit(Opcode::v_wmma_f32_16x16x16_bf16, {d}, {a, b, c});
  };
  accepted([&](Fixture& f) { wmma(f, f.c, f.a, f.bb, f.c); });
  accepted([&](Fixture& f) { wmma(f, f.b.vgpr("d", 8), f.a, f.bb, f.c); });
  accepted([&](Fixture& f) { wmma(f, f.c, f.a, f.bb, imm(0)); });
  refused([&](Fixture& f) { wmma(f, f.a, f.a, f.bb, f.c); },
          "the matrix destination is overlapping source 0, but must be disjoint from A and B");
  refused([&](Fixture& f) { wmma(f, f.bb, f.a, f.bb, f.bb); }, "overlapping source 1");
  refused([&](Fixture& f) { wmma(f, f.c, f.a, f.bb, imm(100)); },
          "matrix instructions take inline constants only");
  refused([&](Fixture& f) { wmma(f, f.c, f.a.slice(0, 4), f.bb, f.c); },
          "matrix source 0's width is 4, but must be 8");
  refused([&](Fixture& f) { wmma(f, f.c, f.a, f.bb, f.s0); }, "source operand 2 is an SGPR");
  refused(
      [&](Fixture& f) {
        const Operand wide = f.b.vgpr("wide", 12);
        for (unsigned d = 0; d < 12; ++d) f.emit(Opcode::v_mov_b32, {wide.slice(d)}, {imm(0)});
        wmma(f, wide.slice(4, 8), f.a, f.bb, wide.slice(0, 8));
      },
      "equal to the accumulator or disjoint from it");
}

TEST_CASE("verify: VOPD pairs", "[verify]") {
  const auto pair = [](Operand dx, Operand x0, Operand dy, Operand y0) {
    return [=](Fixture& f) {
      for (const unsigned r : {1U, 2U, 3U, 4U, 5U, 6U}) f.emit(Opcode::v_mov_b32, {vgpr(r)}, {imm(0)});
      f.emit(Opcode::v_add_f32, {dx}, {x0, vgpr(1)}).dual = isa::Dual::x;
      f.emit(Opcode::v_mul_f32, {dy}, {y0, vgpr(2)}).dual = isa::Dual::y;
    };
  };
  accepted(pair(vgpr(10), vgpr(3), vgpr(11), vgpr(4)));
  refused(pair(vgpr(10), vgpr(3), vgpr(12), vgpr(4)),
          "destinations is both even or both odd, but must be one even, one odd");
  refused(pair(vgpr(10), vgpr(2), vgpr(11), vgpr(6)),
          "a dual pair's sources 0 is in one bank, but must be in different banks");
  refused(pair(vgpr(10), vgpr(3), vgpr(10), vgpr(4)),
          "a dual pair's destinations is one register, but must be different");
  refused(
      [](Fixture& f) {
        f.emit(Opcode::v_add_f32, {f.v0}, {f.v1, f.v2}).dual = isa::Dual::x;
      },
      "a dual x half is alone");
  refused(
      [](Fixture& f) {
        f.emit(Opcode::v_add_f32, {f.v0}, {f.v1, f.v2}).dual = isa::Dual::y;
      },
      "a dual y half is alone");
}

TEST_CASE("verify: arguments and LDS regions", "[verify]") {
  refused([](Fixture& f) { f.kernel.kernarg_size = 4; },
          "the end of argument weights is 8, but must be at most kernarg_size = 4");
  refused(
      [](Fixture& f) {
        f.kernel.args.push_back({"output", ir::ArgKind::buffer, 4, 8, ir::Access::write});
        f.kernel.kernarg_size = 16;
      },
      "argument output is at bytes 4..11, but must be outside weights (bytes 0..7)");
  refused(
      [](Fixture& f) {
        f.kernel.lds.push_back({"other", 1020, 64, 1, 0});
      },
      "LDS region other is at bytes 1020..1083");
  accepted([](Fixture& f) { f.kernel.lds.push_back({"other", 1024, 64512, 1, 0}); });
  refused(
      [](Fixture& f) {
        f.kernel.lds.push_back({"other", 1024, 64513, 1, 0});
      },
      "the end of LDS region other is 65537, but must be at most 65536");
  refused([](Fixture& f) { f.kernel.lds[0].buffers = 0; }, "the ring of LDS region tile");
  refused(
      [](Fixture& f) {
        f.kernel.lds[0].buffers = 3;
        f.kernel.lds[0].distance = 512;
      },
      "3 buffers 512 bytes apart, but must be within its 1024 bytes");
}

TEST_CASE("verify: blocks, branches and loops", "[verify]") {
  refused([](Fixture& f) { f.b.block("body"); }, "the block label is body, but must be unique");
  refused(
      [](Fixture& f) {
        f.emit(Opcode::s_branch, {}, {isa::label(2)});
        f.emit(Opcode::v_mov_b32, {f.v0}, {f.v1});
      },
      "a branch's place is instruction 0 of 2, but must be the last of its block");
  refused([](Fixture& f) { f.emit(Opcode::s_branch, {}, {isa::label(9)}); },
          "the branch target is block 9, but must be below 3");
  refused([](Fixture& f) { f.b.block("last"); },
          "the last block's end is open, but must be s_endpgm or s_branch");
  refused([](Fixture& f) { f.b.make_loop("k", 0); }, "the trip count is 0, but must be at least 1");
  refused(
      [](Fixture& f) {
        f.b.make_loop("k", 2);
        f.emit(Opcode::s_branch, {}, {isa::label(2)});
      },
      "a counted loop's last instruction is a branch");
  refused(
      [](Fixture& f) {
        f.b.make_loop("k", 2).inductions.push_back({f.pair, 1, 0, {}});
      },
      "an induction is no register of one dword");
  refused(
      [](Fixture& f) {
        f.b.make_loop("k", 2).inductions.push_back({f.s0, 1LL << 40, 0, {}});
      },
      "an induction's step");
  refused([](Fixture& f) { f.kernel.entry.workitem_id = f.v0; },
          "an entry operand is v%2, but must be fixed");
}

TEST_CASE("verify: a register is written before it is read, on every path", "[verify][definitions]") {
  const std::string not_written = "not written on every path to its use";
  refused([](Fixture& f) { f.emit(Opcode::v_mov_b32, {f.v0}, {f.b.vgpr("never")}); },
          "register never%13 is " + not_written + ", but must be written before");
  refused(
      [](Fixture& f) {  // one dword of two is missing
        const Operand p = f.b.vgpr("p", 2);
        f.emit(Opcode::v_mov_b32, {p.slice(0)}, {imm(0)});
        f.emit(Opcode::v_lshlrev_b64, {f.pair}, {f.v0, p});
      },
      "register p%13[1] is " + not_written);
  refused(
      [](Fixture& f) {  // only one side of a branch writes it
        const Operand x = f.b.vgpr("x");
        f.emit(Opcode::s_cmp_eq_u32, {}, {f.s0, imm(0)});
        f.emit(Opcode::s_cbranch_scc1, {}, {isa::label(3)});
        f.b.block("side");
        f.emit(Opcode::v_mov_b32, {x}, {imm(0)});
        f.b.block("join");
        f.emit(Opcode::v_mov_b32, {f.v0}, {x});
      },
      "register x%13 is " + not_written);
  refused(
      [](Fixture& f) {  // written later in the loop, read in its first iteration
        const Operand x = f.b.vgpr("x");
        f.b.make_loop("k", 3);
        f.emit(Opcode::v_mov_b32, {f.v0}, {x});
        f.emit(Opcode::v_mov_b32, {x}, {imm(0)});
      },
      "register x%13");
  refused([](Fixture& f) { f.emit(Opcode::s_cbranch_scc1, {}, {isa::label(2)}); }, "register scc is");
  refused(
      [](Fixture& f) {
        f.emit(Opcode::v_cndmask_b32, {f.v0}, {f.v1, f.v2, isa::vcc(32)});
      },
      "register vcc is");
  refused([](Fixture& f) { f.emit(Opcode::v_fmac_f32, {f.b.vgpr("acc")}, {f.v1, f.v2}); }, "register acc%13");
  refused(
      [](Fixture& f) {
        f.b.make_loop("k", 2).inductions.push_back({f.b.sgpr("k"), 4, 0, {}});
      },
      "but must be an induction with a start written before its loop");
  refused(
      [](Fixture& f) {  // the compare that ends a counted loop destroys SCC
        f.emit(Opcode::s_cmp_eq_u32, {}, {f.s0, imm(0)});
        f.b.block("loop");
        f.b.make_loop("k", 2);
        f.b.block("after");
        f.emit(Opcode::s_cselect_b32, {f.s1}, {f.s0, imm(0)});
      },
      "register scc is");
}

TEST_CASE("verify: halves of a register", "[verify][definitions]") {
  const auto dot2 = [](Fixture& f, const Operand& d, unsigned op_sel) -> isa::Instruction& {
    isa::Instruction& inst = f.emit(Opcode::v_dot2_bf16_bf16, {d}, {f.v0, f.v1, imm(0)});
    inst.mods.op_sel = static_cast<std::uint8_t>(op_sel);
    return inst;
  };
  accepted([&](Fixture& f) {
    const Operand t = f.b.vgpr("t");
    dot2(f, t, 0);
    dot2(f, t, 8);
    f.emit(Opcode::v_mov_b32, {f.v2}, {t});
  });
  refused([&](Fixture& f) { dot2(f, f.b.vgpr("t"), 8); },
          "but must be written in its low half before its high half");
  accepted([&](Fixture& f) { dot2(f, f.b.vgpr("t"), 8).dst[0].undef = true; });
  refused(
      [&](Fixture& f) {
        const Operand t = f.b.vgpr("t");
        dot2(f, t, 0);
        f.emit(Opcode::v_mov_b32, {f.v2}, {t});  // its high half holds nothing
      },
      "register t%13 is not written");
  accepted([&](Fixture& f) {
    const Operand t = f.b.vgpr("t");
    dot2(f, t, 0);
    f.emit(Opcode::ds_store_b16, {}, {f.v0, t});  // stores the low half only
  });
}

TEST_CASE("verify: after register assignment", "[verify]") {
  Fixture f;
  f.end();
  f.kernel.registers_assigned = true;
  const auto virtual_left = ir::verify(f.kernel);
  REQUIRE_FALSE(virtual_left);
  CHECK_THAT(virtual_left.error().message,
             Catch::Contains("is virtual, but must be physical after register assignment"));

  ir::Kernel k;
  k.name = "done";
  k.target = target::find("gfx1151");
  k.registers_assigned = true;
  k.vgprs_used = 4;
  k.sgprs_used = 2;
  ir::Builder b(k);
  b.block("only");
  b.emit(Opcode::v_mov_b32, {vgpr(3)}, {imm(0)});
  b.emit(Opcode::s_mov_b32, {sgpr(1)}, {imm(0)});
  b.emit(Opcode::s_endpgm, {}, {});
  CHECK(ir::verify(k));
  k.vgprs_used = 3;
  CHECK_THAT(ir::verify(k).error().message,
             Catch::Contains("the highest VGPR is 3, but must be below vgprs_used = 3"));
  k.vgprs_used = 4;
  k.sgprs_used = 1;
  CHECK_THAT(ir::verify(k).error().message, Catch::Contains("the highest SGPR is 1"));
  k.sgprs_used = 2;
  k.vgpr_budget = 3;
  CHECK_THAT(ir::verify(k).error().message, Catch::Contains("vgprs_used is 4, but must be at most 3"));
}

}  // namespace wavejit
