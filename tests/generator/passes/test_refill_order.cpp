// SPDX-License-Identifier: MIT
// Loads of a pipelined loop in the order of their use: no wait of the loop is for all of them.
#include <catch2/catch.hpp>

#include "generator/ir/builder.hpp"
#include "generator/passes/passes.hpp"

using namespace wavejit;
using isa::imm;
using enum isa::Opcode;

namespace {

/// Sums of a[i], b[i] and f(c[i]), each loaded one pass ahead.
ir::Kernel three_tensors() {
  ir::Kernel k;
  k.target = target::find("gfx942");
  k.name = "three";
  k.workgroup_size = 64;
  k.kernarg_size = 24;
  for (const char* name : {"a", "b", "c"})
    k.args.push_back(
        {name, ir::ArgKind::buffer, static_cast<std::uint32_t>(8 * k.args.size()), 8, ir::Access::read});
  ir::Builder b(k);
  k.entry.kernarg = b.fixed(isa::RegClass::sgpr, "kernarg", 0, 2);
  k.entry.workitem_id = b.fixed(isa::RegClass::vgpr, "item", 0);
  b.block("setup");
  const auto desc = b.sgpr("desc", 4), offset = b.sgpr("k");
  for (unsigned i = 0; i < 4; ++i) b.emit(s_mov_b32, {desc.slice(i)}, {imm(0)});
  const auto base = b.vgpr("base");
  b.emit(v_mov_b32, {base}, {imm(0)});
  std::vector<isa::Operand> sum;
  for (int t = 0; t < 3; ++t) {
    sum.push_back(b.vgpr("sum"));
    b.emit(v_mov_b32, {sum.back()}, {imm(0)});
  }
  b.emit(s_mov_b32, {offset}, {imm(0)});
  b.block("body");
  b.make_loop("body", 10);
  std::vector<isa::Operand> data;
  for (std::int16_t t = 0; t < 3; ++t) {
    data.push_back(b.vgpr("x"));
    auto& inst = b.emit(buffer_load_b32, {data.back()}, {base, desc, offset});
    inst.mi.mods.offen = true;
    inst.mem = {ir::MemoryTag::Space::global, t, false};
  }
  b.set_stage(1);
  // A long path behind the last tensor: a scheduler that goes by paths alone begins with it.
  const auto deep = b.vgpr("deep");
  b.emit(v_mul_lo_u32, {deep}, {data[2], imm(3)});
  for (int i = 0; i < 4; ++i) b.emit(v_mul_lo_u32, {deep}, {deep, imm(3)});
  b.emit(v_add_nc_u32, {sum[2]}, {sum[2], deep});
  b.emit(v_add_nc_u32, {sum[1]}, {sum[1], data[1]});
  b.emit(v_add_nc_u32, {sum[0]}, {sum[0], data[0]});
  b.current().loop->inductions.push_back({offset, 4, 0, 0});
  b.set_stage(0);
  b.block("end");
  b.emit(s_endpgm, {}, {});
  return k;
}

/// vmcnt of each wait in the loop.
std::vector<unsigned> waits(bool ordered) {
  ir::Kernel k = three_tensors();
  passes::Options options;
  options.scheduling.ordered_refills = ordered;
  REQUIRE(passes::run(k, options));
  std::vector<unsigned> result;
  for (const ir::Block& block : k.blocks) {
    if (!block.is_loop_body) continue;
    for (const ir::Instruction& inst : block.insts)
      if (inst.mi.op == s_waitcnt)
        result.push_back(
            isa::decode_waitcnt(static_cast<std::uint16_t>(inst.mi.src[0].value), *k.target).vmcnt);
  }
  return result;
}

}  // namespace

TEST_CASE("ordered refills leave two of three loads in flight at every wait", "[passes][refill_order]") {
  CHECK(waits(true) == std::vector<unsigned>{2, 2, 2});
}

TEST_CASE("without them a wait of the loop is for all loads", "[passes][refill_order]") {
  const std::vector<unsigned> found = waits(false);
  CHECK(std::ranges::count(found, 0U) > 0);
}
