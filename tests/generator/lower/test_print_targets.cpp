// SPDX-License-Identifier: MIT
// A small kernel for every target that has a table: its text is accepted by a stock llvm-mc, gives the
// same bytes there, and decodes to the same instructions under the same name. Descriptor bits are those
// of hardware.md §9.1 and LLVM AMDGPUUsage, "Kernel Descriptor".
#include <catch2/catch.hpp>
#include <string>

#include "generator/ir/kernel.hpp"
#include "tests/generator/lower/stock_tools.hpp"
#include "tests/generator/lower/text_kernel.hpp"

namespace wavejit {
namespace {

using isa::Opcode;
using isa::Operand;
using target::Generation;

void append(ir::Block& block, Opcode op, std::vector<Operand> dst, std::vector<Operand> src) {
  ir::Instruction inst;
  inst.mi.op = op;
  for (const Operand& o : dst) inst.mi.dst[inst.mi.dst_count++] = o;
  for (const Operand& o : src) inst.mi.src[inst.mi.src_count++] = o;
  block.insts.push_back(inst);
}

/// Stores the workgroup's number, registers as after the last pass.
ir::Kernel small_kernel(const target::Target& target) {
  ir::Kernel k;
  k.name = "small";
  k.target = &target;
  k.args = {
      {.name = "output", .kind = ir::ArgKind::buffer, .offset = 0, .size = 8, .access = ir::Access::write}};
  k.kernarg_size = 8;
  k.workgroup_size = target.wave_size;
  k.entry.user_sgprs = target.hazards.user_sgpr_init16 ? 13 : 2;
  const Operand group =
      target.workgroup_ids_in_ttmp ? isa::sgpr(isa::sreg::ttmp0 + 9) : isa::sgpr(k.entry.user_sgprs);
  k.entry.kernarg = isa::sgpr(0, 2);
  k.entry.workgroup_id[0] = group;
  k.entry.workitem_id = isa::vgpr(0);
  k.blocks.resize(1);
  k.blocks[0].label = "entry";
  ir::Block& b = k.blocks[0];
  append(b, Opcode::s_load_b64, {isa::sgpr(4, 2)}, {isa::sgpr(0, 2), isa::imm(0)});
  append(b, Opcode::v_lshlrev_b32, {isa::vgpr(0)}, {isa::imm(2), isa::vgpr(0)});
  append(b, Opcode::v_mov_b32, {isa::vgpr(1)}, {group});
  if (target.has_split_counters()) {
    append(b, Opcode::s_wait_kmcnt, {}, {isa::imm(0)});
  } else {
    append(b, Opcode::s_waitcnt, {}, {isa::imm(isa::encode_waitcnt({.lgkmcnt = 0}, target))});
  }
  append(b, Opcode::global_store_b32, {}, {isa::vgpr(0), isa::vgpr(1), isa::sgpr(4, 2)});
  append(b, Opcode::s_endpgm, {}, {});
  k.registers_assigned = true;
  k.vgprs_used = 200;
  k.sgprs_used = 6;
  return k;
}

lower::DecodedKernel compiled(const ir::Kernel& kernel) {
  const lower::CodeObject object = test::build(lower::print_assembly(kernel), *kernel.target);
  CHECK(object.target == kernel.target);
  return object.kernels.at(0);
}

TEST_CASE("a small kernel of every target assembles and decodes back", "[lower]") {
  for (const target::Target& target : target::all()) {
    INFO(target.name);
    const ir::Kernel kernel = small_kernel(target);
    const lower::DecodedKernel k = compiled(kernel);
    CHECK(k.name == "small");
    CHECK(k.wavefront_size == target.wave_size);
    CHECK(k.vgpr_count == 200);
    CHECK((k.descriptor.rsrc1 & 63) == 200 / 8 - 1);  // granules of 8 on all of them
    CHECK((k.descriptor.properties >> 10 & 1) == (target.wave_size == 32 ? 1U : 0U));
    CHECK((k.descriptor.rsrc2 >> 7 & 7) == 1);
    REQUIRE(k.instructions.size() == kernel.blocks[0].insts.size());
    for (std::size_t i = 0; i < k.instructions.size(); ++i) {
      INFO(k.instructions[i].text);
      CHECK(k.instructions[i].inst == kernel.blocks[0].insts[i].mi);
    }
  }
}

TEST_CASE("stock llvm-mc agrees about every target", "[lower]") {
  for (const target::Target& target : target::all()) {
    INFO(target.name);
    const std::string text = lower::print_assembly(small_kernel(target));
    const auto ours = lower::assemble(text, target);
    REQUIRE(ours);
    const auto theirs = test::run_tool(
        "llvm-mc-22",
        "-triple=amdgcn-amd-amdhsa -mcpu=" + std::string(target.name) + " -filetype=obj {k.s} -o {out}",
        {{"k.s", test::to_bytes(text)}});
    CHECK(*ours == theirs);
  }
}

TEST_CASE("gfx12 descriptors hold the documented bits", "[lower]") {
  // hardware.md §9.1, "Checked values": 0xC00C0018 in CU mode, 0xE00C0018 in WGP mode with LLVM's default
  // of flushed f32 denormals; ours keeps them, bits [17:16].
  constexpr std::uint32_t keep_f32_denormals = 3U << 16;
  ir::Kernel kernel = small_kernel(test::table("gfx1201"));
  kernel.wgp_mode = true;
  CHECK(compiled(kernel).descriptor.rsrc1 == (0xE00C0018 | keep_f32_denormals));
  kernel.wgp_mode = false;
  CHECK(compiled(kernel).descriptor.rsrc1 == (0xC00C0018 | keep_f32_denormals));
  for (int i = 0; i < 9000; ++i) append(kernel.blocks[0], Opcode::s_nop, {}, {isa::imm(0)});
  CHECK((compiled(kernel).descriptor.rsrc3 >> 4 & 0xFF) == 255);  // prefetch lines, 8 bits here
}

TEST_CASE("CDNA descriptors say where the AGPRs are", "[lower]") {
  for (const char* name : {"gfx942", "gfx950"}) {
    ir::Kernel kernel = small_kernel(test::table(name));
    kernel.vgprs_used = 62;
    kernel.agprs_used = 30;
    const lower::DecodedKernel k = compiled(kernel);
    // accum_offset 64; 64 + 30 registers are 12 granules of 8.
    CHECK((k.descriptor.rsrc3 & 63) == 64 / 4 - 1);
    CHECK((k.descriptor.rsrc3 >> 16 & 1) == 0);  // no threadgroup split
    CHECK((k.descriptor.rsrc1 & 63) == 12 - 1);
    CHECK(k.vgpr_count == 94);
    CHECK(k.agpr_count == 30);
    CHECK((k.descriptor.rsrc1 >> 21 & 1) == 1);  // DX10_CLAMP
    CHECK((k.descriptor.rsrc1 >> 29) == 0);      // bits of gfx10 and later
    CHECK(k.descriptor.properties == 0x0008);
    kernel.agprs_used = 0;
    kernel.vgprs_used = 1;
    const lower::DecodedKernel small = compiled(kernel);
    CHECK((small.descriptor.rsrc3 & 63) == 0);
    CHECK(small.vgpr_count == 1);
  }
}

}  // namespace
}  // namespace wavejit
