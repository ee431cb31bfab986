// SPDX-License-Identifier: MIT
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "generator/ir/builder.hpp"
#include "generator/passes/passes.hpp"

namespace wavejit {
namespace {

using isa::imm;
using isa::Opcode;
using isa::Operand;
using isa::RegClass;

const target::Target& gfx1151() { return *target::find("gfx1151"); }

/// A kernel of one block to which a test appends; `finish` closes it and assigns registers.
struct Small {
  ir::Kernel kernel;
  ir::Builder b;
  Operand item, descriptor;

  explicit Small(const target::Target& target = gfx1151()) : b(kernel) {
    kernel.name = "small";
    kernel.target = &target;
    kernel.entry.kernarg = b.fixed(RegClass::sgpr, "kernarg", 0, 2);
    kernel.entry.workitem_id = item = b.fixed(RegClass::vgpr, "item", 0);
    b.block("entry");
    descriptor = b.sgpr("descriptor", 4);
    b.emit(Opcode::s_load_b128, {descriptor}, {kernel.entry.kernarg, imm(0)});
  }

  Operand load(const Operand& to) {
    const Opcode op = to.width == 4   ? Opcode::buffer_load_b128
                      : to.width == 2 ? Opcode::buffer_load_b64
                                      : Opcode::buffer_load_b32;
    b.emit(op, {to}, {item, descriptor, imm(0)}).mi.mods.offen = true;
    return to;
  }
  Operand fill(const Operand& wide) {
    for (unsigned d = 0; d < wide.width; d += 4) load(wide.slice(d, 4));
    return wide;
  }
  void store(const Operand& from) {
    b.emit(Opcode::buffer_store_b32, {}, {from, item, descriptor, imm(0)}).mi.mods.offen = true;
  }
  Operand wmma(const Operand& d, const Operand& a, const Operand& bb, const Operand& c) {
    b.emit(Opcode::v_wmma_f32_16x16x16_bf16, {d}, {a, bb, c});
    return d;
  }
  const ir::Instruction& inst(std::size_t i) const { return kernel.blocks[0].insts.at(i); }

  Result<void> assign(bool bank_aware = true) {
    b.emit(Opcode::s_endpgm, {}, {});
    const auto before = ir::verify(kernel);
    INFO((before ? std::string() : before.error().message));
    REQUIRE(before);
    auto result = passes::assign_registers(kernel, {bank_aware});
    if (!result) return result;
    const auto after = ir::verify(kernel);
    INFO((after ? std::string() : after.error().message));
    CHECK(after);
    return result;
  }
};

std::set<std::uint32_t> banks_of(const isa::Instruction& inst) {
  std::set<std::uint32_t> banks;
  for (unsigned i = 0; i < inst.src_count; ++i)
    if (inst.src[i].is_vgpr()) banks.insert(inst.src[i].index % 4);
  return banks;
}

}  // namespace

TEST_CASE("entry registers keep their places and are reused after their last use", "[registers]") {
  Small s;
  const Operand loaded = s.load(s.b.vgpr("loaded"));  // last use of the work-item id
  const Operand sum = s.b.vgpr("sum");
  s.b.emit(Opcode::v_add3_u32, {sum}, {loaded, loaded, loaded});
  s.b.emit(Opcode::v_readfirstlane_b32, {s.b.sgpr("first")}, {sum});
  REQUIRE(s.assign());
  CHECK(s.kernel.entry.kernarg == isa::sgpr(0, 2));
  CHECK(s.kernel.entry.workitem_id == isa::vgpr(0));
  CHECK(s.inst(1).mi.src[0] == isa::vgpr(0));
  CHECK(s.inst(1).mi.dst[0] == isa::vgpr(0));  // the load may overwrite its own address
  CHECK(s.kernel.vgprs_used == 1);
  CHECK(s.inst(3).mi.dst[0] == isa::sgpr(0));  // the kernel argument pointer is dead by then
  CHECK(s.kernel.sgprs_used == 8);             // s[4:7]: the load must not overwrite its base s[0:1]
  CHECK_FALSE(s.kernel.uses_vcc);
}

TEST_CASE("scalar tuples are aligned, pairs to 2 and wider ones to 4", "[registers]") {
  Small s;
  const Operand pair = s.b.sgpr("pair", 2), eight = s.b.sgpr("eight", 8), one = s.b.sgpr("one");
  s.b.emit(Opcode::s_mov_b32, {one}, {imm(1)});
  s.b.emit(Opcode::s_load_b64, {pair}, {s.kernel.entry.kernarg, imm(0)});
  s.b.emit(Opcode::s_load_b256, {eight}, {pair, imm(0)});
  s.b.emit(Opcode::s_add_u32, {one}, {one, eight.slice(7)});
  s.b.emit(Opcode::s_add_u32, {one}, {one, pair.slice(0)});
  s.b.emit(Opcode::s_add_u32, {one}, {one, s.descriptor.slice(1)});
  REQUIRE(s.assign());
  CHECK(s.inst(2).mi.dst[0].index % 2 == 0);
  CHECK(s.inst(3).mi.dst[0].index % 4 == 0);
  CHECK(s.inst(3).mi.dst[0].width == 8);
}

TEST_CASE("vector tuples are aligned where the target asks for it", "[registers]") {
  target::Target even = gfx1151();
  even.vgpr_tuple_align = 2;
  Small s(even);
  const Operand a = s.load(s.b.vgpr("a"));
  const Operand pair = s.load(s.b.vgpr("pair", 2));
  s.store(a);
  s.store(pair.slice(1));
  REQUIRE(s.assign(GENERATE(true, false)));
  CHECK(s.inst(2).mi.dst[0].index % 2 == 0);
  CHECK(s.inst(4).mi.src[0].index == s.inst(2).mi.dst[0].index + 1);
}

TEST_CASE("a kernel over its budget is refused with the count it needs", "[registers]") {
  SECTION("as many as are live at once") {
    Small s;
    std::vector<Operand> live;
    for (int i = 0; i < 9; ++i) live.push_back(s.load(s.b.vgpr("x")));
    for (const Operand& x : live) s.store(x);  // 9 values and the address
    s.kernel.vgpr_budget = 9;
    const auto result = s.assign();
    REQUIRE_FALSE(result);
    CHECK(result.error().code == ErrorCode::out_of_registers);
    CHECK(result.error().field == "vgprs");
    CHECK(result.error().given == "10");
    CHECK(result.error().allowed == "at most 9");
    CHECK(result.error().message.find("vgprs is 10, but must be at most 9") != std::string::npos);
    s.kernel.vgpr_budget = 10;
    CHECK(passes::assign_registers(s.kernel, {true}));
    CHECK(s.kernel.vgprs_used == 10);
  }
  SECTION("more than are live, when a gap is too small for a tuple") {
    target::Target even = gfx1151();
    even.vgpr_tuple_align = 2;
    even.vgpr_banks = 0;
    Small s(even);  // v0 is taken, so four aligned registers are v[2:5]: six for five values
    const Operand quad = s.load(s.b.vgpr("quad", 4));
    for (unsigned d = 0; d < 4; ++d) s.store(quad.slice(d));
    s.kernel.vgpr_budget = 5;
    const auto result = s.assign();
    REQUIRE_FALSE(result);
    CHECK(result.error().given == "6");
    CHECK(result.error().message.find("smallest count found to fit; 5 are live at one point") !=
          std::string::npos);
  }
  SECTION("scalar registers") {
    Small s;
    std::vector<Operand> live;
    for (int i = 0; i < 20; ++i) {
      live.push_back(s.b.sgpr("x"));
      s.b.emit(Opcode::s_mov_b32, {live.back()}, {imm(i)});
    }
    for (const Operand& x : live) s.b.emit(Opcode::s_add_u32, {live[0]}, {live[0], x});
    s.kernel.sgpr_budget = 16;
    const auto result = s.assign();
    REQUIRE_FALSE(result);
    CHECK(result.error().field == "sgprs");
    CHECK(result.error().given == "20");
  }
}

TEST_CASE("a matrix destination of its own avoids A and B although they die there", "[registers]") {
  Small s;
  const Operand a = s.fill(s.b.vgpr("a", 8)), b = s.fill(s.b.vgpr("b", 8)), c = s.fill(s.b.vgpr("c", 8));
  const Operand d = s.wmma(s.b.vgpr("d", 8), a, b, c);
  for (unsigned i = 0; i < 8; ++i) s.store(d.slice(i));
  REQUIRE(s.assign());  // verify refuses overlaps afterwards too
  const isa::Instruction& inst = s.inst(7).mi;
  REQUIRE(inst.op == Opcode::v_wmma_f32_16x16x16_bf16);
  for (unsigned i = 0; i < 3; ++i) {
    const bool apart =
        inst.dst[0].index + 8 <= inst.src[i].index || inst.src[i].index + 8 <= inst.dst[0].index;
    CHECK(apart);
  }
}

TEST_CASE("a matrix instruction's sources start in three banks", "[registers][banks]") {
  Small s;
  std::vector<Operand> a, b, c;
  for (int i = 0; i < 2; ++i) a.push_back(s.fill(s.b.vgpr("a", 8)));
  for (int i = 0; i < 2; ++i) b.push_back(s.fill(s.b.vgpr("b", 16)));
  for (int i = 0; i < 4; ++i) c.push_back(s.fill(s.b.vgpr("c", 8)));
  for (unsigned half = 0; half < 2; ++half)
    for (unsigned i = 0; i < 2; ++i)
      for (unsigned j = 0; j < 2; ++j) s.wmma(c[2 * i + j], a[i], b[j].slice(8 * half, 8), c[2 * i + j]);
  for (const Operand& x : c) s.store(x.slice(0));

  SECTION("with banks in mind") {
    s.kernel.vgpr_budget = 83;  // 16 + 32 + 32 live registers, the address, and two gaps
    REQUIRE(s.assign());
    for (const ir::Instruction& inst : s.kernel.blocks[0].insts)
      if (inst.mi.pipe() == isa::Pipe::matrix) CHECK(banks_of(inst.mi).size() == 3);
  }
  SECTION("first fit otherwise") {
    REQUIRE(s.assign(false));
    const auto conflict = [](const ir::Instruction& inst) {
      return inst.mi.pipe() == isa::Pipe::matrix && banks_of(inst.mi).size() < 3;
    };
    CHECK(std::ranges::any_of(s.kernel.blocks[0].insts, conflict));
    CHECK(s.kernel.vgprs_used == 81);
  }
}

TEST_CASE("banks count from the slice that an instruction names", "[registers][banks]") {
  Small s;
  // Parts of wider tuples that begin 1, 2 and 3 registers after a multiple of four.
  const Operand a = s.fill(s.b.vgpr("a", 12)).slice(1, 8), b = s.fill(s.b.vgpr("b", 12)).slice(2, 8),
                c = s.fill(s.b.vgpr("c", 12)).slice(3, 8), d = s.fill(s.b.vgpr("d", 8));
  s.wmma(c, a, b, c);
  s.wmma(d, b, a, d);
  s.wmma(c, b, a, c);
  for (unsigned i = 0; i < 8; ++i) s.store(c.slice(i));
  s.store(d.slice(0));
  REQUIRE(s.assign());
  for (const ir::Instruction& inst : s.kernel.blocks[0].insts)
    if (inst.mi.pipe() == isa::Pipe::matrix) CHECK(banks_of(inst.mi).size() == 3);
}

TEST_CASE("bank wishes are followed, unless the matrix rule forbids them", "[registers][banks]") {
  Small s;
  SECTION("followed") {
    const Operand a = s.fill(s.b.vgpr("a", 8, 3)), b = s.fill(s.b.vgpr("b", 8, 1)),
                  c = s.fill(s.b.vgpr("c", 8, 0));
    const Operand lone = s.load(s.b.vgpr("lone", 1, 2));
    s.wmma(c, a, b, c);
    s.store(c.slice(0));
    s.store(lone);
    REQUIRE(s.assign());
    const isa::Instruction& inst = s.inst(8).mi;
    REQUIRE(inst.pipe() == isa::Pipe::matrix);
    CHECK(inst.src[0].index % 4 == 3);
    CHECK(inst.src[1].index % 4 == 1);
    CHECK(inst.src[2].index % 4 == 0);
    CHECK(s.inst(7).mi.dst[0].index % 4 == 2);
  }
  SECTION("overruled") {
    const Operand a = s.fill(s.b.vgpr("a", 8, 1)), b = s.fill(s.b.vgpr("b", 8, 1)),
                  c = s.fill(s.b.vgpr("c", 8, 1));
    s.wmma(c, a, b, c);
    s.store(c.slice(0));
    REQUIRE(s.assign());
    CHECK(banks_of(s.inst(7).mi).size() == 3);
  }
  SECTION("ignored when off") {
    const Operand lone = s.load(s.b.vgpr("lone", 1, 3));
    s.store(lone);
    REQUIRE(s.assign(false));
    CHECK(s.inst(1).mi.dst[0].index == 1);
  }
}

TEST_CASE("sources of a three-operand instruction spread over the banks", "[registers][banks]") {
  Small s;
  // Nine values used in threes; first fit in order of birth would put 0, 4 and 8 into one bank.
  std::vector<Operand> x;
  for (int i = 0; i < 9; ++i) x.push_back(s.load(s.b.vgpr("x")));
  const Operand sum = s.b.vgpr("sum");
  for (unsigned i = 0; i < 9; i += 3)
    s.b.emit(Opcode::v_add3_u32, {sum}, {x[i % 9], x[(i + 4) % 9], x[(i + 8) % 9]});
  for (const Operand& o : x) s.store(o);
  REQUIRE(s.assign());
  for (const ir::Instruction& inst : s.kernel.blocks[0].insts)
    if (inst.mi.op == Opcode::v_add3_u32) CHECK(banks_of(inst.mi).size() == 3);
}

TEST_CASE("registers of a tuple are given back one by one", "[registers]") {
  Small s;
  const Operand quad = s.load(s.b.vgpr("quad", 4));
  std::vector<Operand> out;
  for (unsigned d = 0; d < 4; ++d) {
    out.push_back(s.b.vgpr("out"));
    s.b.emit(Opcode::v_add3_u32, {out.back()}, {quad.slice(d), quad.slice(d), imm(1)});
  }
  for (const Operand& o : out) s.store(o);
  REQUIRE(s.assign(false));
  CHECK(s.kernel.vgprs_used == 5);  // four values at a time and the address, never eight
}

TEST_CASE("separate lives of one tuple are placed apart", "[registers]") {
  // `x` lives twice; between its lives five others are live, and a fixed quad holds v[1:4] during
  // the second. Whole, it would need a register that is free in both; in two lives it needs no more
  // than are live at once.
  Small s;
  const Operand x = s.b.vgpr("x"), first = s.b.fixed(RegClass::vgpr, "first", 1, 1);
  s.load(x);
  s.load(first);
  s.store(first);
  s.store(x);  // first life: beside v0 and v1
  const Operand second = s.b.fixed(RegClass::vgpr, "second", 2, 1);
  s.load(second);
  s.load(x);
  s.store(second);
  s.store(x);  // second life: beside v0 and v2
  REQUIRE(s.assign(false));
  CHECK(s.kernel.vgprs_used == 3);  // x in v2, then in v1
  CHECK(s.inst(1).mi.dst[0] == isa::vgpr(2));
  CHECK(s.inst(6).mi.dst[0] == isa::vgpr(1));
}

TEST_CASE("lives that meet around a branch stay one", "[registers]") {
  Small s;
  const Operand x = s.load(s.b.vgpr("x"));
  s.b.emit(Opcode::s_cmp_lt_u32, {}, {s.descriptor.slice(0), imm(3)});
  s.b.emit(Opcode::s_cbranch_scc1, {}, {isa::label(2)});
  s.b.block("middle");
  s.store(x);
  const Operand y = s.load(s.b.vgpr("y"));
  s.store(y);
  s.load(x);  // a new value on this path, the old one on the other
  s.b.block("end");
  s.store(x);
  REQUIRE(s.assign(false));
  const ir::Instruction& again = s.kernel.blocks[1].insts[3];
  CHECK(again.mi.dst[0] == s.inst(1).mi.dst[0]);
  CHECK(s.kernel.blocks[2].insts[0].mi.src[0] == again.mi.dst[0]);
}

TEST_CASE("a register filled half by half in a loop is not carried around it", "[registers]") {
  Small s;
  const Operand x = s.load(s.b.vgpr("x"));
  s.b.block("loop");
  s.b.make_loop("k", 4);
  // Two halves each of two temporaries, one after the other: they can share one register.
  for (int i = 0; i < 2; ++i) {
    const Operand t = s.b.vgpr("t");
    for (const unsigned sel : {0U, 8U})
      s.b.emit(Opcode::v_dot2_bf16_bf16, {t}, {x, x, imm(0)}).mi.mods.op_sel = static_cast<std::uint8_t>(sel);
    s.store(t);
  }
  s.b.block("end");
  REQUIRE(s.assign(false));
  CHECK(s.kernel.vgprs_used == 3);
}

TEST_CASE("a copy whose sides can share registers disappears", "[registers]") {
  Small s;
  const Operand early = s.load(s.b.vgpr("early"));
  const Operand quad = s.load(s.b.fixed(RegClass::vgpr, "quad", 2, 4)), other = s.b.vgpr("other", 4);
  s.store(early);  // v1 is free from here on: the first fit for `other`
  for (unsigned d = 0; d < 4; ++d) s.b.emit(Opcode::v_mov_b32, {other.slice(d)}, {quad.slice(d)});
  for (unsigned d = 0; d < 4; ++d) s.store(other.slice(d));
  REQUIRE(s.assign(GENERATE(true, false)));
  CHECK(std::ranges::none_of(s.kernel.blocks[0].insts,
                             [](const ir::Instruction& i) { return i.mi.op == Opcode::v_mov_b32; }));
  CHECK(s.inst(4).mi.src[0] == isa::vgpr(2));
}

TEST_CASE("a move that changes its value is no copy", "[registers]") {
  Small s;
  const Operand quad = s.load(s.b.fixed(RegClass::vgpr, "quad", 2, 4)), other = s.b.vgpr("other", 4);
  for (unsigned d = 0; d < 4; ++d) {
    ir::Instruction& move = s.b.emit(Opcode::v_mov_b32, {other.slice(d)}, {quad.slice(d)});
    if (d == 1) move.mi.src[0].abs = true;
    if (d == 2) move.mi.src[0].neg = true;
    if (d == 3) {  // a lane's neighbour
      move.mi.mods.dpp.kind = isa::Dpp::Kind::dpp16;
      move.mi.mods.dpp.ctrl = 0xB1;
      move.mi.mods.dpp.bound_ctrl = true;
    }
  }
  for (unsigned d = 0; d < 4; ++d) s.store(other.slice(d));
  REQUIRE(s.assign(false));
  CHECK(std::ranges::count_if(s.kernel.blocks[0].insts,
                              [](const ir::Instruction& i) { return i.mi.op == Opcode::v_mov_b32; }) == 3);
}

TEST_CASE("an induction follows its register", "[registers]") {
  Small s;
  const Operand k = s.load(s.b.vgpr("k")), other = s.b.vgpr("other");
  s.load(other);
  s.store(k);  // an earlier life of k, in v1
  s.load(k);
  s.store(other);
  s.b.emit(Opcode::v_mov_b32, {k}, {imm(0)});
  s.load(other);
  s.b.block("loop");
  s.b.make_loop("k", 2).inductions.push_back({k, 4, 0, 0});
  s.store(k);
  s.b.block("end");
  s.store(other);
  REQUIRE(s.assign(false));
  CHECK(s.kernel.blocks[1].loop->inductions[0].reg == s.kernel.blocks[1].insts[0].mi.src[0]);
}

TEST_CASE("masked lanes keep what the register held before", "[registers]") {
  Small s;
  const Operand kept = s.load(s.b.vgpr("kept"));
  const Operand saved = s.b.sgpr("saved"), other = s.b.vgpr("other");
  s.b.emit(Opcode::v_cmp_lt_u32, {isa::vcc(32)}, {s.item, imm(3)});
  s.b.emit(Opcode::s_and_saveexec_b32, {saved}, {isa::vcc(32)});
  s.load(other);  // would take the register of `kept` if the next write ended its life
  s.store(other);
  s.load(kept);
  s.b.emit(Opcode::s_or_b32, {isa::exec(32)}, {isa::exec(32), saved});
  s.store(kept);
  REQUIRE(s.assign(false));
  CHECK(s.kernel.uses_vcc);
  CHECK(s.inst(4).mi.dst[0] != s.inst(1).mi.dst[0]);
  CHECK(s.inst(6).mi.dst[0] == s.inst(1).mi.dst[0]);
}

TEST_CASE("fixed registers that collide are refused", "[registers]") {
  Small s;
  const Operand mine = s.load(s.b.fixed(RegClass::vgpr, "mine", 0));
  s.store(mine);  // the address is v0 as well
  const auto result = s.assign();
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::invalid_ir);
  CHECK(result.error().message.find("fixed register 0") != std::string::npos);
}

TEST_CASE("assigned kernels are not assigned again", "[registers]") {
  Small s;
  REQUIRE(s.assign());
  const auto again = passes::assign_registers(s.kernel, {});
  REQUIRE_FALSE(again);
  CHECK(again.error().field == "registers_assigned");
}

}  // namespace wavejit
