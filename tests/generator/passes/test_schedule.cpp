// SPDX-License-Identifier: MIT
// Scheduling, judged twice. What an order must keep is told by a trace that knows nothing of dependence
// graphs: each half register that an instruction reads was written by the same instruction before and after,
// and memory and barriers by the rules of the memory model. What order is wanted is worked out by hand from
// the headers' rules.
#include <catch2/catch.hpp>
#include <map>
#include <tuple>

#include "generator/ir/builder.hpp"
#include "generator/ir/register_access.hpp"
#include "generator/passes/dependences.hpp"
#include "generator/passes/passes.hpp"
#include "tests/generator/passes/tag_machine.hpp"
#include "tests/generator/passes/tuple_program.hpp"

namespace wavejit {
namespace {

using isa::imm;
using isa::Operand;
using enum isa::Opcode;

/// A half of one dword of a register.
using Half = std::tuple<bool, isa::RegClass, std::uint32_t, unsigned, unsigned>;

std::vector<Half> halves_of(std::span<const ir::RegisterAccess> accesses) {
  std::vector<Half> all;
  for (const ir::RegisterAccess& a : accesses)
    for (unsigned d = 0; d < a.reg.width; ++d)
      for (unsigned h = 0; h < 2; ++h) {
        if ((a.halves >> h & 1) == 0) continue;
        if (a.reg.is_virtual)
          all.emplace_back(true, a.reg.cls, a.reg.index, a.reg.sub + d, h);
        else
          all.emplace_back(false, a.reg.cls, a.reg.index + d, 0, h);
      }
  return all;
}

/// For each instruction, by its number, who wrote what it reads; under "end" who wrote what a block leaves.
using Writers = std::map<std::string, std::map<Half, std::string>>;
Writers writers(const ir::Kernel& kernel, const ir::Block& block) {
  Writers all;
  std::map<Half, std::string> last;
  for (const ir::Instruction& inst : block.insts) {
    const ir::RegisterAccesses accesses = ir::register_accesses(inst.mi, *kernel.target);
    for (const Half& half : halves_of(accesses.reads())) all[inst.comment][half] = last[half];
    for (const Half& half : halves_of(accesses.writes())) last[half] = inst.comment;
  }
  all["end"] = last;
  return all;
}

struct Fixture {
  ir::Kernel k;
  ir::Builder b{k};
  Operand desc, address;

  explicit Fixture(std::string_view target, unsigned budget = 256) {
    k.target = target::find(target);
    k.name = "k";
    k.workgroup_size = 64;
    k.vgpr_budget = budget;
    k.args.push_back({"a", ir::ArgKind::buffer, 0, 8, ir::Access::read});
    k.lds.push_back({.name = "l", .size = 4096});
    b.block("entry");
    desc = b.sgpr("desc", 4);
    for (unsigned i = 0; i < 4; ++i) b.emit(s_mov_b32, {desc.slice(i)}, {imm(0)});
    address = b.vgpr("address");
    b.emit(v_mov_b32, {address}, {imm(0)});
    b.block("body");
  }
  Operand value() {  ///< a VGPR that the entry writes
    const Operand v = b.vgpr("v");
    ir::Instruction inst;
    inst.mi.op = v_mov_b32;
    inst.mi.dst[inst.mi.dst_count++] = v;
    inst.mi.src[inst.mi.src_count++] = imm(1);
    k.blocks[0].insts.push_back(inst);
    return v;
  }
  ir::Instruction& add(const char* name, isa::Opcode op, std::initializer_list<Operand> dst,
                       std::initializer_list<Operand> src) {
    ir::Instruction& inst = b.emit(op, dst, src);
    inst.comment = name;
    return inst;
  }
  ir::Instruction& load(const char* name, const Operand& to) {
    ir::Instruction& inst = add(name, buffer_load_b32, {to}, {address, desc, imm(0)});
    inst.mi.mods.offen = true;
    inst.mem = {ir::MemoryTag::Space::global, 0, false};
    return inst;
  }
  ir::Instruction& store(const char* name, const Operand& from, std::int16_t object = 0) {
    ir::Instruction& inst = add(name, buffer_store_b32, {}, {from, address, desc, imm(0)});
    inst.mi.mods.offen = true;
    inst.mem = {ir::MemoryTag::Space::global, object, false};
    return inst;
  }
  ir::Instruction& lds_load(const char* name, const Operand& to) {
    ir::Instruction& inst = add(name, ds_load_b32, {to}, {address});
    inst.mem = {ir::MemoryTag::Space::lds, 0, false};
    return inst;
  }
  ir::Instruction& lds_store(const char* name, const Operand& from) {
    ir::Instruction& inst = add(name, ds_store_b32, {}, {address, from});
    inst.mem = {ir::MemoryTag::Space::lds, 0, false};
    return inst;
  }
  /// The names in the block "body" after scheduling.
  std::string order(int margin = 0) {
    b.block("end");
    b.emit(s_endpgm, {}, {});
    REQUIRE(passes::schedule(k, {.margin = margin}));
    std::string names;
    for (const ir::Instruction& inst : k.blocks[1].insts) names += (names.empty() ? "" : " ") + inst.comment;
    return names;
  }
  /// "a>b 5": b stays behind a, and 5 clocks.
  std::vector<std::string> edges() {
    const passes::DependenceGraph graph = passes::build_dependences(k, k.blocks[1], ir::RegisterUnits(k));
    std::vector<std::string> all;
    for (std::size_t i = 0; i < graph.successors.size(); ++i)
      for (const passes::Dependence& d : graph.successors[i])
        all.push_back(k.blocks[1].insts[i].comment + ">" + k.blocks[1].insts[d.to].comment + " " +
                      std::to_string(d.latency));
    std::ranges::sort(all);
    return all;
  }
};

using Edges = std::vector<std::string>;

TEST_CASE("scheduling changes no block's set of instructions and no value that one reads",
          "[passes][schedule]") {
  unsigned moved = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const target::Target& target = *target::find("gfx1151");
    ir::Kernel before = test::random_tuple_kernel(target, {.regions = 4}, seed);
    before.vgpr_budget = seed % 2 == 0 ? 256 : 24;
    test::number_instructions(before);
    ir::Kernel after = before;
    REQUIRE(passes::schedule(after, {.ordered_refills = seed % 4 < 2}));
    for (std::size_t i = 0; i < before.blocks.size(); ++i) {
      CAPTURE(seed, before.blocks[i].label);
      const auto& a = before.blocks[i].insts;
      const auto& b = after.blocks[i].insts;
      REQUIRE(a.size() == b.size());
      std::map<std::string, isa::Instruction> by_name;
      for (const ir::Instruction& inst : a) by_name[inst.comment] = inst.mi;
      for (std::size_t n = 0; n < b.size(); ++n) {
        const auto found = by_name.extract(b[n].comment);
        REQUIRE(!found.empty());
        CHECK(found.mapped() == b[n].mi);
        moved += a[n].comment != b[n].comment ? 1 : 0;
      }
      CHECK(writers(before, before.blocks[i]) == writers(after, after.blocks[i]));
    }
    const auto right = ir::verify(after);
    INFO((right ? std::string() : right.error().message));
    CHECK(right);
  }
  CHECK(moved > 1000);  // else nothing was tested
}

TEST_CASE("the longest path goes first, and among equals the earlier instruction", "[passes][schedule]") {
  Fixture f("gfx1151");
  const Operand a = f.value(), b = f.value(), c = f.value();
  f.add("short", v_add_nc_u32, {a}, {a, imm(1)});
  f.add("other", v_add_nc_u32, {b}, {b, imm(1)});
  f.add("long1", v_add_nc_u32, {c}, {c, imm(1)});
  f.add("long2", v_add_nc_u32, {c}, {c, imm(2)});
  f.store("s1", a);
  f.store("s2", b);
  f.store("s3", c);
  // long2 needs five clocks (valu_dependent): what is independent fills them. Stores to one tensor stay in
  // order.
  CHECK(f.order() == "long1 short other long2 s1 s2 s3");
}

TEST_CASE("a load that nothing in its block waits for goes out first", "[passes][schedule]") {
  Fixture f("gfx1151");
  const Operand a = f.value(), next = f.value();
  f.add("x1", v_add_nc_u32, {a}, {a, imm(1)});
  f.add("x2", v_add_nc_u32, {a}, {a, imm(2)});
  f.add("use", v_add_nc_u32, {a}, {a, next});
  f.load("load", next);
  // The load must wait for the reader of the old value; so that one's chain comes first.
  f.add("y", v_mov_b32, {f.b.vgpr("y")}, {imm(3)});
  CHECK(f.order() == "x1 y x2 use load");
  Fixture g("gfx1151");
  const Operand b = g.value();
  g.add("x1", v_add_nc_u32, {b}, {b, imm(1)});
  g.add("x2", v_add_nc_u32, {b}, {b, imm(2)});
  g.load("load", g.b.vgpr("n"));
  CHECK(g.order() == "load x1 x2");
}

TEST_CASE("a block of two instructions stays as it is, one of three does not", "[passes][schedule]") {
  const auto run = [](bool third) {
    Fixture f("gfx1151");
    const Operand a = f.value();
    f.add("alu", v_add_nc_u32, {a}, {a, imm(1)});
    if (third) f.add("alu2", v_add_nc_u32, {a}, {a, imm(1)});
    f.load("load", f.b.vgpr("n"));
    return f.order();
  };
  CHECK(run(false) == "alu load");
  CHECK(run(true) == "load alu alu2");
}

TEST_CASE("at the budget of registers what frees one goes before what takes one", "[passes][schedule]") {
  // Live on entry: the address and a, b. Each load takes a register, each store frees one.
  const auto run = [](unsigned budget, int margin) {
    Fixture f("gfx1151", budget);
    const Operand a = f.value(), b = f.value();
    const Operand n = f.b.vgpr("n"), m = f.b.vgpr("m");
    f.store("free1", a, 1);
    f.store("free2", b, 2);
    f.load("take1", n);
    f.load("take2", m);
    f.add("last", v_add_nc_u32, {n}, {n, m});
    f.store("out", n, 3);
    return f.order(margin);
  };
  CHECK(run(256, 0) == "take1 take2 free1 free2 last out");
  CHECK(run(5, 0) == "take1 take2 free1 free2 last out");  // three and two are five
  CHECK(run(4, 0) == "take1 free1 take2 free2 last out");  // the second has no room
  CHECK(run(3, 0) == "free1 take1 free2 take2 last out");  // not even the first
  CHECK(run(7, 2) == run(5, 0));
  CHECK(run(7, 3) == run(4, 0));
}

TEST_CASE("an order says how many registers it has alive", "[passes][schedule]") {
  // The address and two of a, b, n, m and their sum; with a and b kept for later, all four.
  const auto live = [](bool later, int limit) {
    Fixture f("gfx1151");
    const Operand a = f.value(), b = f.value(), n = f.b.vgpr("n"), m = f.b.vgpr("m");
    f.load("take1", n);
    f.load("take2", m);
    f.store("free1", a, 1);
    f.store("free2", b, 2);
    f.add("last", v_add_nc_u32, {n}, {n, m});
    f.store("out", n, 3);
    if (later) {
      f.store("a again", a, 4);
      f.store("b again", b, 5);
    }
    f.b.block("end");
    f.b.emit(s_endpgm, {}, {});
    return passes::Scheduler(f.k, false).order(limit).live;
  };
  CHECK(live(false, 5) == 5);
  CHECK(live(false, 4) == 4);
  CHECK(live(false, 3) == 3);
  CHECK(live(true, 256) == 5);

  // Dead results count where they are written, registers that pass a block untouched everywhere.
  Fixture f("gfx1151");
  const Operand passing = f.value();
  for (const char* name : {"one", "two", "three"}) f.add(name, v_mov_b32, {f.b.vgpr("dead")}, {imm(1)});
  f.b.block("end");
  f.store("keep", passing);
  f.b.emit(s_endpgm, {}, {});
  CHECK(passes::Scheduler(f.k, false).order(256).live == 3);
}

TEST_CASE("no order fits fewer registers than it says are alive", "[passes][schedule]") {
  unsigned tight = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    const ir::Kernel kernel = test::random_tuple_kernel(*target::find("gfx1151"), {.regions = 4}, seed);
    const auto order = passes::Scheduler(kernel, false).order(seed % 2 == 0 ? 256 : 24);
    const auto fits = [&](std::uint32_t budget) {
      ir::Kernel k = kernel;
      k.vgpr_budget = budget;
      passes::reorder(k, order);
      return passes::assign_registers(k, {.bank_aware = false}).has_value();
    };
    REQUIRE(order.live > 1);
    CHECK_FALSE(fits(order.live - 1));
    for (std::uint32_t more = 0; more < 4; ++more) tight += fits(order.live + more) ? 1 : 0;
  }
  CHECK(tight > 40);  // else the count would be of little use
}

TEST_CASE("over the budget the choice is what frees most", "[passes][schedule]") {
  Fixture f("gfx1151", 1);
  const Operand a = f.value(), b = f.value(), c = f.value(), d = f.value();
  f.add("takes", v_mov_b32, {f.b.vgpr("n")}, {imm(1)});
  f.add("takes two", v_mov_b32, {f.b.vgpr("p", 1)}, {imm(2)});
  f.add("even", v_add_nc_u32, {a}, {a, imm(1)});
  f.store("frees", b, 1);
  f.add("frees more", v_add_nc_u32, {c}, {c, d});
  f.store("a", a, 2);
  f.store("c", c, 3);
  const std::string order = f.order();
  // What takes registers comes last; nothing that frees is behind it.
  CHECK(order.find("takes") > order.find("frees more"));
  CHECK(order.find("takes") > order.find(" a"));
  CHECK(order.find("takes") > order.find(" c"));
}

TEST_CASE("other instructions go between matrix instructions that run beside the VALU",
          "[passes][schedule]") {
  // MI300: a 16x16x16 takes 8 issue slots of 4 clocks at most; one follows another after wmma16.cycles
  // clocks, in which VALU instructions (valu_issue clocks each) fit.
  Fixture f("gfx942");
  const Operand a = f.b.vgpr("a", 2), b = f.b.vgpr("b", 2);
  std::vector<Operand> sums;
  for (int i = 0; i < 2; ++i) sums.push_back(f.b.vgpr("c", 4));
  const Operand x = f.value(), y = f.value();
  const target::Timing& t = f.k.target->timing;
  REQUIRE(f.k.target->wmma16.cycles > 2 * t.valu_issue);
  f.add("m0", v_mfma_f32_16x16x16_f16, {sums[0]}, {a, b, sums[0]});
  f.add("m1", v_mfma_f32_16x16x16_f16, {sums[1]}, {a, b, sums[1]});
  f.add("x", v_add_nc_u32, {x}, {x, imm(1)});
  f.add("y", v_add_nc_u32, {y}, {y, imm(1)});
  CHECK(f.order() == "m0 x y m1");
}

TEST_CASE("dependences through registers carry the producer's latency", "[passes][dependences]") {
  Fixture f("gfx1151");
  const Operand a = f.value(), s = f.b.sgpr("s");
  const Operand x = f.b.vgpr("x"), y = f.b.vgpr("y"), z = f.b.vgpr("z");
  const target::Timing& t = f.k.target->timing;
  f.add("valu", v_add_nc_u32, {x}, {a, imm(1)});
  f.add("trans", v_exp_f32, {y}, {x});
  f.add("salu", s_mov_b32, {s}, {imm(1)});
  f.add("load", buffer_load_b32, {z}, {y, f.desc, s}).mi.mods.offen = true;
  f.add("use", v_add_nc_u32, {a}, {z, imm(0)});
  f.add("again", v_mov_b32, {a}, {imm(0)});
  const auto edge = [](const char* names, unsigned clocks) { return names + (" " + std::to_string(clocks)); };
  Edges expected{edge("valu>trans", t.valu_dependent),
                 edge("trans>load", t.trans_issue + t.valu_dependent),
                 edge("salu>load", t.salu_dependent),
                 edge("load>use", t.vmem_l2_latency),
                 "valu>use 0",    // a is read before it is written
                 "use>again 1"};  // written twice
  std::ranges::sort(expected);
  CHECK(f.edges() == expected);
}

TEST_CASE("LDS accesses keep their order where one stores, but for two buffers of a ring",
          "[passes][dependences]") {
  Fixture f("gfx1151");
  const Operand a = f.value();
  const auto staged = [](ir::Instruction& inst, bool ring, std::uint8_t stage) {
    inst.mem.ring = ring;
    inst.stage = stage;
  };
  staged(f.lds_load("r0", f.b.vgpr("p")), false, 0);
  staged(f.lds_load("r1", f.b.vgpr("q")), false, 0);
  staged(f.lds_store("w", a), false, 0);
  staged(f.lds_store("ring0", a), true, 0);
  staged(f.lds_load("ring1", f.b.vgpr("r")), true, 1);
  Edges expected{"r0>w 1", "r1>w 1", "r0>ring0 1", "r1>ring0 1", "w>ring0 1", "w>ring1 1"};
  std::ranges::sort(expected);
  CHECK(f.edges() == expected);
}

TEST_CASE("global accesses keep their order where one stores to the same tensor", "[passes][dependences]") {
  Fixture f("gfx1151");
  const Operand a = f.value();
  f.load("r0", f.b.vgpr("p"));
  f.load("r1", f.b.vgpr("q"));
  f.store("w0", a, 0);
  f.store("w1", a, 1);
  f.store("w2", a, 1);
  f.load("r2", f.b.vgpr("r"));
  Edges expected{"r0>w0 1", "r1>w0 1", "w1>w2 1", "w0>r2 1"};
  std::ranges::sort(expected);
  CHECK(f.edges() == expected);
}

TEST_CASE("a barrier parts LDS accesses and stores, not loads; a branch ends its block",
          "[passes][dependences]") {
  Fixture f("gfx1151");
  const Operand a = f.value();
  const unsigned lds = f.k.target->timing.lds_latency;
  f.lds_store("w", a);
  f.lds_load("r", f.b.vgpr("p"));
  f.store("out", a);
  f.load("in", f.b.vgpr("q")).mem.object = 1;
  f.add("barrier", s_barrier, {}, {});
  f.lds_load("r2", f.b.vgpr("t"));
  f.store("out2", a, 2);
  f.load("in2", f.b.vgpr("u")).mem.object = 1;
  f.add("end", s_branch, {}, {isa::label(0)});
  Edges expected{"w>r 1",        "w>barrier " + std::to_string(lds),
                 "r>barrier 1",  "out>barrier 1",
                 "barrier>r2 1", "barrier>out2 1",
                 "w>end 0",      "r>end 0",
                 "out>end 0",    "in>end 0",
                 "r2>end 0",     "out2>end 0",
                 "in2>end 0"};
  // The barrier is before the branch in any case; side effects stay in order among themselves.
  Edges found = f.edges();
  std::erase_if(found, [](const std::string& e) { return e.starts_with("barrier>end"); });
  std::ranges::sort(expected);
  CHECK(found == expected);
}

}  // namespace
}  // namespace wavejit
