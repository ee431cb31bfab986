// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <set>

#include "generator/ir/builder.hpp"
#include "generator/ir/liveness.hpp"

namespace wavejit {
namespace {

using isa::imm;
using isa::label;
using isa::Opcode;
using isa::Operand;
using isa::RegClass;

struct Fixture {
  ir::Kernel kernel;
  ir::Builder b{kernel};
  Operand item;

  Fixture() {
    kernel.target = target::find("gfx1151");
    kernel.entry.workitem_id = item = b.fixed(RegClass::vgpr, "item", 0);
  }
  void mov(const Operand& to, const Operand& from) {
    b.emit(to.is_sgpr() ? Opcode::s_mov_b32 : Opcode::v_mov_b32, {to}, {from});
  }
  void use(const Operand& o) { mov(o.is_sgpr() ? b.sgpr("sink") : b.vgpr("sink"), o); }
};

/// Whether each half of a one-dword register is live into a block, as bits.
unsigned live_in(const Fixture& f, std::size_t block, const Operand& o) {
  const ir::Cfg cfg = ir::build_cfg(f.kernel);
  const ir::RegisterUnits units(f.kernel);
  const ir::Liveness live = ir::compute_liveness(
      f.kernel, cfg, units, ir::UnitAccesses(f.kernel, ir::ExecMask(f.kernel, cfg), units));
  const std::size_t u = units.first(o);
  return (live.live_in[block].test(u) ? 1U : 0U) | (live.live_in[block].test(u + 1) ? 2U : 0U);
}

}  // namespace

TEST_CASE("control flow graph", "[cfg]") {
  Fixture f;
  f.b.block("entry");
  f.b.emit(Opcode::s_cbranch_scc1, {}, {label(3)});
  f.b.block("loop");
  f.b.make_loop("k", 3);
  f.b.block("jump");
  f.b.emit(Opcode::s_branch, {}, {label(4)});
  f.b.block("side");
  f.b.emit(Opcode::s_cbranch_scc0, {}, {label(0)});
  f.b.block("end");
  f.b.emit(Opcode::s_endpgm, {}, {});
  f.b.block("dead");
  f.b.emit(Opcode::s_branch, {}, {label(77)});
  const ir::Cfg cfg = ir::build_cfg(f.kernel);
  using Blocks = std::vector<std::uint32_t>;
  CHECK(cfg.successors == std::vector<Blocks>{{3, 1}, {1, 2}, {4}, {0, 4}, {}, {}});
  CHECK(cfg.predecessors == std::vector<Blocks>{{3}, {0, 1}, {1}, {0}, {2, 3}, {}});
  CHECK(cfg.reachable == std::vector<bool>{true, true, true, true, true, false});
  CHECK(cfg.loop_depth == std::vector<std::uint8_t>{1, 1, 0, 1, 0, 0});
  CHECK(cfg.reverse_post_order.front() == 0);
  CHECK(cfg.reverse_post_order.size() == 5);
  f.kernel.blocks[1].loop->trip_count = 1;
  CHECK(ir::build_cfg(f.kernel).successors[1] == Blocks{2});
}

TEST_CASE("loops nest in the loop depth", "[cfg]") {
  Fixture f;
  f.b.block("outer");
  f.b.block("inner");
  f.b.make_loop("k", 2);
  f.b.block("latch");
  f.b.emit(Opcode::s_cbranch_scc1, {}, {label(0)});
  f.b.block("end");
  f.b.emit(Opcode::s_endpgm, {}, {});
  CHECK(ir::build_cfg(f.kernel).loop_depth == std::vector<std::uint8_t>{1, 2, 1, 0});
}

TEST_CASE("a value lives from its write to its last read, through blocks between", "[liveness]") {
  Fixture f;
  const Operand x = f.b.vgpr("x"), y = f.b.vgpr("y");
  f.b.block("a");
  f.mov(x, f.item);
  f.b.block("b");
  f.mov(y, f.item);
  f.b.block("c");
  f.use(x);
  f.b.block("d");
  f.mov(y, f.item);
  f.use(y);
  CHECK(live_in(f, 0, f.item) == 3);
  CHECK(live_in(f, 0, x) == 0);
  CHECK(live_in(f, 1, x) == 3);
  CHECK(live_in(f, 2, x) == 3);
  CHECK(live_in(f, 3, x) == 0);
  CHECK(live_in(f, 2, y) == 0);  // written again before it is read
}

TEST_CASE("a counted loop carries values and inductions around", "[liveness]") {
  Fixture f;
  const Operand carried = f.b.vgpr("carried"), local = f.b.vgpr("local"), k = f.b.sgpr("k");
  f.b.block("before");
  f.mov(carried, f.item);
  f.mov(k, imm(0));
  f.b.block("loop");
  f.b.make_loop("k", 4).inductions.push_back({k, 8, 0, 0});
  f.mov(local, carried);
  f.mov(carried, local);
  f.b.block("after");
  f.b.emit(Opcode::s_endpgm, {}, {});
  CHECK(live_in(f, 1, carried) == 3);
  CHECK(live_in(f, 1, local) == 0);
  CHECK(live_in(f, 1, k) == 3);  // its update reads it although no instruction does
  CHECK(live_in(f, 2, carried) == 0);
  CHECK(live_in(f, 2, k) == 0);
}

TEST_CASE("halves live apart", "[liveness]") {
  Fixture f;
  const Operand t = f.b.vgpr("t");
  f.b.block("a");
  f.mov(t, f.item);
  f.b.block("low");
  f.b.emit(Opcode::v_dot2_bf16_bf16, {t}, {f.item, f.item, imm(0)});
  f.b.block("both");
  f.use(t);
  CHECK(live_in(f, 1, t) == 2);  // the low half is about to be written
  CHECK(live_in(f, 2, t) == 3);
}

TEST_CASE("masked writes do not end a life", "[liveness][exec]") {
  Fixture f;
  const Operand x = f.b.vgpr("x"), temporary = f.b.vgpr("temporary"), saved = f.b.sgpr("saved");
  f.b.block("a");
  f.mov(x, f.item);
  f.b.emit(Opcode::v_cmp_lt_u32, {isa::vcc(32)}, {f.item, imm(3)});
  f.b.emit(Opcode::s_and_saveexec_b32, {saved}, {isa::vcc(32)});
  f.b.block("masked");
  f.mov(temporary, f.item);
  f.mov(x, temporary);
  f.b.emit(Opcode::s_or_b32, {isa::exec(32)}, {isa::exec(32), saved});
  f.b.block("full");
  f.use(x);
  f.mov(x, f.item);
  f.use(x);
  CHECK(live_in(f, 1, x) == 3);
  CHECK(live_in(f, 1, temporary) == 0);  // nothing can have written it before
  CHECK(live_in(f, 1, saved) == 3);
}

TEST_CASE("where EXEC is full", "[exec]") {
  Fixture f;
  const Operand saved = f.b.sgpr("saved"), other = f.b.sgpr("other");
  const Operand exec = isa::exec(32), vcc = isa::vcc(32);
  f.b.block("a");
  f.mov(isa::vcc(32), imm(1));
  const auto full = [&] {
    f.mov(f.b.vgpr("probe"), f.item);
    const ir::Cfg cfg = ir::build_cfg(f.kernel);
    const auto block = static_cast<std::uint32_t>(f.kernel.blocks.size() - 1);
    return ir::ExecMask(f.kernel, cfg).full(block, f.kernel.blocks.back().insts.size() - 1);
  };
  CHECK(full());
  f.b.emit(Opcode::s_and_saveexec_b32, {saved}, {vcc});
  CHECK_FALSE(full());
  f.b.emit(Opcode::s_and_saveexec_b32, {other}, {vcc});  // saves a partial mask
  f.b.emit(Opcode::s_mov_b32, {exec}, {other});
  CHECK_FALSE(full());
  f.b.emit(Opcode::s_or_b32, {exec}, {exec, saved});
  CHECK(full());
  f.b.emit(Opcode::v_cmpx_lt_u32, {}, {f.item, imm(3)});
  CHECK_FALSE(full());
  f.b.emit(Opcode::s_mov_b32, {exec}, {imm(-1)});
  CHECK(full());
  f.b.emit(Opcode::s_mov_b32, {saved}, {imm(7)});  // no full mask any more
  f.b.emit(Opcode::s_mov_b32, {exec}, {saved});
  CHECK_FALSE(full());
}

TEST_CASE("EXEC is full behind a join only if it is on both paths", "[exec]") {
  Fixture f;
  const Operand saved = f.b.sgpr("saved");
  f.b.block("a");
  f.b.emit(Opcode::s_and_saveexec_b32, {saved}, {isa::vcc(32)});
  f.b.emit(Opcode::s_cbranch_execz, {}, {label(2)});
  f.b.block("masked");
  f.b.block("join");
  f.mov(f.b.vgpr("probe"), f.item);
  f.b.emit(Opcode::s_mov_b32, {isa::exec(32)}, {saved});
  f.mov(f.b.vgpr("probe"), f.item);
  const ir::Cfg cfg = ir::build_cfg(f.kernel);
  const ir::ExecMask mask(f.kernel, cfg);
  CHECK_FALSE(mask.full(2, 0));
  CHECK(mask.full(2, 2));
}

TEST_CASE("VOPD halves read before either writes", "[liveness]") {
  Fixture f;
  const Operand x = f.b.vgpr("x"), y = f.b.vgpr("y");
  f.b.block("a");
  f.mov(x, f.item);
  f.mov(y, f.item);
  f.b.block("swap");
  f.b.emit(Opcode::v_mov_b32, {x}, {y}).mi.dual = isa::Dual::x;
  f.b.emit(Opcode::v_mov_b32, {y}, {x}).mi.dual = isa::Dual::y;  // the old x
  f.b.block("end");
  f.use(x);
  f.use(y);
  CHECK(live_in(f, 1, x) == 3);
  CHECK(live_in(f, 1, y) == 3);
}

}  // namespace wavejit
