// SPDX-License-Identifier: MIT
// Rotation keeps a loop's meaning. The expected values come from running the loop as written,
// iteration by iteration, in an interpreter that knows no pass.
#include <catch2/catch.hpp>

#include "generator/ir/builder.hpp"
#include "generator/passes/passes.hpp"
#include "tests/generator/passes/scalar_interpreter.hpp"

using namespace wavejit;
using isa::imm;
using enum isa::Opcode;

namespace {

struct Loop {
  ir::Kernel kernel;
  isa::Operand sum, hash;
};

/// sum += lds[x(i)] with x loaded two stages earlier: loads (0), LDS stores (1), LDS loads and
/// arithmetic (2, or 1 with a single buffer).
Loop make_loop(std::int64_t trips, unsigned buffers) {
  Loop loop;
  ir::Kernel& k = loop.kernel;
  k.target = target::find("gfx1151");
  k.name = "loop";
  k.workgroup_size = 32;
  k.kernarg_size = 8;
  k.args.push_back({"x", ir::ArgKind::buffer, 0, 8, ir::Access::read});
  k.lds.push_back({"ring", 0, 256 * buffers, buffers, 256});
  ir::Builder b(k);
  k.entry.kernarg = b.fixed(isa::RegClass::sgpr, "kernarg", 0, 2);
  k.entry.workitem_id = b.fixed(isa::RegClass::vgpr, "item", 0);
  b.block("setup");
  const auto desc = b.sgpr("desc", 4);
  for (unsigned i = 0; i < 4; ++i) b.emit(s_mov_b32, {desc.slice(i)}, {imm(0)});
  const auto base = b.vgpr("base"), base2 = b.vgpr("base2"), write = b.vgpr("write"), read = b.vgpr("read");
  loop.sum = b.vgpr("sum");
  loop.hash = b.vgpr("hash");
  const auto k_offset = b.sgpr("k"), zero = b.vgpr("zero");
  b.emit(v_mov_b32, {base}, {imm(1000)});
  b.emit(v_mov_b32, {base2}, {imm(500000)});
  b.emit(v_mov_b32, {write}, {imm(16)});
  b.emit(v_mov_b32, {read}, {imm(16)});
  b.emit(v_mov_b32, {loop.sum}, {imm(0)});
  b.emit(v_mov_b32, {loop.hash}, {imm(0)});
  b.emit(v_mov_b32, {zero}, {imm(0)});
  b.emit(s_mov_b32, {k_offset}, {imm(0)});

  b.block("body");
  b.make_loop("body", trips);
  const auto x = b.vgpr("x"), y = b.vgpr("y"), ax = b.vgpr("ax"), ay = b.vgpr("ay");
  const auto load = [&](isa::Operand dst, isa::Operand address) {
    auto& inst = b.emit(buffer_load_b32, {dst}, {address, desc, imm(0)});
    inst.mi.mods.offen = true;
    inst.mem = {ir::MemoryTag::Space::global, 0, false};
  };
  b.emit(v_add_nc_u32, {ax}, {k_offset, base});
  load(x, ax);
  b.emit(v_add_nc_u32, {ay}, {k_offset, base2});
  load(y, ay);
  b.set_stage(1);
  const auto lds = [&](ir::Instruction& inst, int offset) {
    inst.mi.mods.offset = offset;
    inst.mem = {ir::MemoryTag::Space::lds, 0, buffers > 1};
  };
  lds(b.emit(ds_store_b32, {}, {write, x}), 0);
  lds(b.emit(ds_store_b32, {}, {write, y}), 4);
  b.emit(s_barrier, {}, {});
  b.set_stage(buffers > 1 ? 2 : 1);
  const auto u = b.vgpr("u"), v = b.vgpr("v"), mixed = b.vgpr("mixed");
  lds(b.emit(ds_load_b32, {u}, {read}), 0);
  lds(b.emit(ds_load_b32, {v}, {read}), 4);
  b.emit(v_xor_b32, {mixed}, {u, v});
  b.emit(v_add_nc_u32, {loop.sum}, {loop.sum, mixed});
  b.emit(v_mul_lo_u32, {loop.hash}, {loop.hash, imm(31)});
  b.emit(v_add_nc_u32, {loop.hash}, {loop.hash, u});
  if (buffers == 1) b.emit(s_barrier, {}, {});
  b.current().loop->inductions.push_back({k_offset, 24, 0, 0});
  b.set_stage(0);
  b.block("end");
  b.emit(s_endpgm, {}, {});
  return loop;
}

struct Outcome {
  std::uint32_t sum, hash;
  std::vector<std::uint32_t> loads;
};

Outcome reference(Loop loop) {
  test::ScalarInterpreter run(loop.kernel);
  run.run_unrotated();
  return {run.get(loop.sum), run.get(loop.hash), run.loads};
}

enum class Scheduled { no, by_path, ordered_refills };

Outcome rotated(Loop loop, unsigned depth, unsigned unroll, bool soffset, Scheduled scheduled) {
  if (soffset) REQUIRE(passes::scalar_offsets(loop.kernel));
  const auto piped = passes::pipeline(loop.kernel, {depth, unroll});
  if (!piped) FAIL(piped.error().message);
  REQUIRE(passes::lower_loops(loop.kernel));
  const auto legal = ir::verify(loop.kernel);
  if (!legal) FAIL(legal.error().message << "\n" << ir::print(loop.kernel));
  if (scheduled != Scheduled::no)
    REQUIRE(passes::schedule(loop.kernel, {.ordered_refills = scheduled == Scheduled::ordered_refills}));
  test::ScalarInterpreter run(loop.kernel);
  INFO(ir::print(loop.kernel));
  run.run();
  return {run.get(loop.sum), run.get(loop.hash), run.loads};
}

}  // namespace

TEST_CASE("rotation keeps results and loads exactly what the loop as written loads", "[passes][pipeline]") {
  for (const unsigned buffers : {1U, 2U})
    for (const std::int64_t trips : {1, 2, 3, 4, 5, 6, 7, 11, 12})
      for (const unsigned depth : {0U, 1U, 2U})
        for (const unsigned unroll : {1U, 2U, 3U, 4U})
          for (const bool soffset : {false, true})
            for (const auto scheduled : {Scheduled::no, Scheduled::by_path, Scheduled::ordered_refills}) {
              INFO("buffers " << buffers << " trips " << trips << " depth " << depth << " unroll " << unroll
                              << " soffset " << soffset << " scheduled " << static_cast<int>(scheduled));
              const Outcome want = reference(make_loop(trips, buffers));
              Outcome got = rotated(make_loop(trips, buffers), depth, unroll, soffset, scheduled);
              CHECK(got.sum == want.sum);
              CHECK(got.hash == want.hash);
              // The same loads, each once; only their order may change.
              auto sorted = want.loads;
              std::ranges::sort(sorted);
              std::ranges::sort(got.loads);
              CHECK(got.loads == sorted);
            }
}

TEST_CASE("the steady loop runs loads of a later iteration", "[passes][pipeline]") {
  // Stage 0 of iteration i + depth shares the body with stage 1 of iteration i: of 10 trips, depth 1
  // and two LDS buffers leave 8 for the loop, depth 0 leaves 9 (hand count: 10 - lag of stage 2).
  for (const auto& [depth, left] : {std::pair{0U, 9}, std::pair{1U, 8}}) {
    Loop loop = make_loop(10, 2);
    REQUIRE(passes::pipeline(loop.kernel, {depth, 1}));
    REQUIRE(passes::lower_loops(loop.kernel));
    const auto body =
        std::ranges::find_if(loop.kernel.blocks, [](const ir::Block& b) { return b.is_loop_body; });
    REQUIRE(body != loop.kernel.blocks.end());
    CHECK(body->trip_count == left);
  }
}

TEST_CASE("depth 2 gives loaded registers a second copy", "[passes][pipeline]") {
  Loop loop = make_loop(12, 1);
  const std::size_t before = loop.kernel.vregs.size();
  REQUIRE(passes::pipeline(loop.kernel, {2, 1}));
  // x and y live across two rotations; nothing else does.
  CHECK(loop.kernel.vregs.size() == before + 2);
}

TEST_CASE("impossible rotations are refused", "[passes][pipeline]") {
  Loop loop = make_loop(4, 1);
  const auto deep = passes::pipeline(loop.kernel, {3, 1});
  REQUIRE_FALSE(deep);
  CHECK(deep.error().field == "pipeline depth");
  const auto flat = passes::pipeline(loop.kernel, {1, 0});
  REQUIRE_FALSE(flat);
  CHECK(flat.error().field == "unroll");
}

TEST_CASE("scalar offsets leave no address arithmetic in the loop's VALU", "[passes][scalar_offsets]") {
  Loop loop = make_loop(5, 2);
  REQUIRE(passes::scalar_offsets(loop.kernel));
  for (const ir::Block& block : loop.kernel.blocks) {
    if (!block.loop) continue;
    unsigned loads = 0;
    for (const ir::Instruction& inst : block.insts) {
      if (inst.mi.op != buffer_load_b32) continue;
      ++loads;
      CHECK(inst.mi.src[2].is_sgpr());
    }
    CHECK(loads == 2);
    CHECK(std::ranges::count_if(block.insts, [](const ir::Instruction& i) { return i.stage == 0; }) == 2);
  }
}
