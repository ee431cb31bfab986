// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "generator/ir/kernel.hpp"
#include "generator/lower/elf.hpp"
#include "tests/generator/lower/stock_tools.hpp"
#include "tests/generator/lower/text_kernel.hpp"

namespace wavejit {
namespace {

using isa::Opcode;
using isa::Operand;

void append(ir::Block& block, Opcode op, std::vector<Operand> dst, std::vector<Operand> src,
            std::string comment = {}) {
  ir::Instruction inst;
  inst.mi.op = op;
  for (const Operand& o : dst) inst.mi.dst[inst.mi.dst_count++] = o;
  for (const Operand& o : src) inst.mi.src[inst.mi.src_count++] = o;
  inst.comment = std::move(comment);
  block.insts.push_back(inst);
}

/// Adds 1.0 to v1 ten times and stores it; registers as after the last pass.
ir::Kernel small_kernel(const target::Target& target) {
  ir::Kernel k;
  k.name = "small";
  k.target = &target;
  k.header = {"a kernel for a test", "of two lines"};
  k.args = {
      {.name = "output", .kind = ir::ArgKind::buffer, .offset = 0, .size = 8, .access = ir::Access::write},
      {.name = "weights", .kind = ir::ArgKind::buffer, .offset = 8, .size = 8, .access = ir::Access::read},
      {.name = "m", .kind = ir::ArgKind::scalar, .offset = 16, .size = 4, .access = ir::Access::read}};
  k.kernarg_size = 20;
  k.workgroup_size = 128;
  k.lds = {{.name = "tile", .offset = 0, .size = 4096, .buffers = 1, .distance = 0}};
  k.entry.kernarg = isa::sgpr(0, 2);
  k.entry.workgroup_id[0] = isa::sgpr(2);
  k.entry.workitem_id = isa::vgpr(0);
  k.blocks.resize(3);
  k.blocks[0].label = "entry";
  append(k.blocks[0], Opcode::s_load_b64, {isa::sgpr(4, 2)}, {isa::sgpr(0, 2), isa::imm(0)}, "output");
  append(k.blocks[0], Opcode::s_mov_b32, {isa::sgpr(6)}, {isa::imm(10)});
  append(k.blocks[0], Opcode::v_mov_b32, {isa::vgpr(1)}, {isa::imm(0)});
  k.blocks[1].label = "loop";
  k.blocks[1].comment = "ten additions";
  k.blocks[1].is_loop_body = true;
  k.blocks[1].trip_count = 10;
  append(k.blocks[1], Opcode::v_add_f32, {isa::vgpr(1)}, {isa::fimm(0x3F800000), isa::vgpr(1)},
         "the only work");
  append(k.blocks[1], Opcode::s_sub_i32, {isa::sgpr(6)}, {isa::sgpr(6), isa::imm(1)});
  append(k.blocks[1], Opcode::s_cmp_lg_i32, {}, {isa::sgpr(6), isa::imm(0)});
  append(k.blocks[1], Opcode::s_cbranch_scc1, {}, {isa::label(1)});
  k.blocks[2].label = "end";
  append(k.blocks[2], Opcode::s_waitcnt, {}, {isa::imm(isa::encode_waitcnt({.lgkmcnt = 0}, target))});
  append(k.blocks[2], Opcode::global_store_b32, {}, {isa::vgpr(0), isa::vgpr(1), isa::sgpr(4, 2)});
  append(k.blocks[2], Opcode::s_endpgm, {}, {});
  k.registers_assigned = true;
  k.vgprs_used = 200;
  k.sgprs_used = 7;
  return k;
}

lower::DecodedKernel compiled(const ir::Kernel& kernel) {
  return test::build(lower::print_assembly(kernel), *kernel.target).kernels.at(0);
}

TEST_CASE("descriptors hold the documented bits", "[lower]") {
  // hardware.md §9.1, "Checked values", read off LLVM 22 for 200 VGPRs: RSRC1 0xC0AC0018 in CU mode
  // and 0xE0AC0018 in WGP mode with LLVM's default of flushed f32 denormals. Ours keeps them, which
  // sets the two bits [17:16] as well.
  constexpr std::uint32_t keep_f32_denormals = 3U << 16;
  ir::Kernel kernel = small_kernel(test::table("gfx1151"));
  kernel.wgp_mode = true;
  CHECK(compiled(kernel).descriptor.rsrc1 == (0xE0AC0018 | keep_f32_denormals));
  kernel.wgp_mode = false;
  const lower::DecodedKernel k = compiled(kernel);
  CHECK(k.descriptor.rsrc1 == (0xC0AC0018 | keep_f32_denormals));
  CHECK(k.descriptor.properties == 0x0408);
  CHECK(k.descriptor.kernarg_size == 20);
  CHECK(k.descriptor.group_segment_fixed_size == 4096);
  CHECK(k.descriptor.private_segment_fixed_size == 0);
  CHECK((k.descriptor.rsrc2 >> 1 & 31) == 2);  // user SGPRs
  CHECK((k.descriptor.rsrc2 >> 7 & 7) == 1);   // workgroup ids: x only
  CHECK((k.descriptor.rsrc2 >> 11 & 3) == 0);  // work-item id: x only
}

TEST_CASE("the prefetch size is the code's lines of 128 bytes, capped", "[lower]") {
  ir::Kernel kernel = small_kernel(test::table("gfx1151"));
  // s_load 8, s_mov 4, v_mov 4, v_add 4, s_sub 4, s_cmp 4, branch 4, wait 4, store 8, end 4 = 48 bytes.
  CHECK((compiled(kernel).descriptor.rsrc3 >> 4 & 63) == 1);
  for (int i = 0; i < 100; ++i) append(kernel.blocks[0], Opcode::s_nop, {}, {isa::imm(0)});
  CHECK((compiled(kernel).descriptor.rsrc3 >> 4 & 63) == 4);  // 448 bytes
  for (int i = 0; i < 3000; ++i) append(kernel.blocks[0], Opcode::s_nop, {}, {isa::imm(0)});
  CHECK((compiled(kernel).descriptor.rsrc3 >> 4 & 63) == 63);
}

TEST_CASE("user SGPRs are as many as the kernel says", "[lower]") {
  ir::Kernel kernel = small_kernel(test::table("gfx1100"));
  kernel.entry.user_sgprs = 13;  // UserSGPRInit16, hardware.md §5.1
  kernel.entry.workgroup_id[0] = isa::sgpr(13);
  kernel.entry.workgroup_id[1] = isa::sgpr(14);
  kernel.entry.workgroup_id[2] = isa::sgpr(15);
  const lower::DecodedKernel k = compiled(kernel);
  CHECK((k.descriptor.rsrc2 >> 1 & 31) == 13);
  CHECK((k.descriptor.rsrc2 >> 7 & 7) == 7);
  CHECK(k.sgpr_count == 16);
}

// AMDGPUUsage, "Code Object V3 Kernel Argument Metadata Map": readers of either key must find it.
TEST_CASE("an argument's access is printed under both keys", "[lower]") {
  const std::string text = lower::print_assembly(small_kernel(test::table("gfx1151")));
  for (const char* access : {"write_only", "read_only"})
    for (const char* key : {".access: ", ".actual_access: "}) {
      CAPTURE(access, key);
      CHECK(text.find(std::string("        ") + key + access + "\n") != std::string::npos);
    }
}

TEST_CASE("metadata carries the argument contract", "[lower]") {
  const lower::DecodedKernel k = compiled(small_kernel(test::table("gfx1151")));
  CHECK(k.name == "small");
  CHECK(k.max_flat_workgroup_size == 128);
  CHECK(k.vgpr_count == 200);
  CHECK(k.sgpr_count == 7);
  CHECK(k.kernarg_segment_size == 20);
  CHECK(k.group_segment_size == 4096);
  REQUIRE(k.args.size() == 3);
  CHECK(k.args[0].name == "output");
  CHECK(k.args[0].value_kind == "global_buffer");
  CHECK(k.args[0].access == "write_only");
  CHECK(k.args[1].access == "read_only");
  CHECK(k.args[2].name == "m");
  CHECK(k.args[2].value_kind == "by_value");
  CHECK(k.args[2].offset == 16);
  CHECK(k.args[2].size == 4);
}

TEST_CASE("the printed code is the kernel's code", "[lower]") {
  const target::Target& target = test::table("gfx1151");
  const ir::Kernel kernel = small_kernel(target);
  const lower::DecodedKernel k = compiled(kernel);
  std::vector<isa::Instruction> expected;
  for (const ir::Block& block : kernel.blocks)
    for (const ir::Instruction& inst : block.insts) expected.push_back(inst.mi);
  expected[6].src[0] = isa::label(3);  // block 1 starts at the fourth instruction
  REQUIRE(k.instructions.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO(k.instructions[i].text);
    CHECK(k.instructions[i].inst == expected[i]);
  }
}

TEST_CASE("stock llvm-mc makes the same bytes of the printed text", "[lower]") {
  const std::string name = GENERATE("gfx1100", "gfx1151");
  const target::Target& target = test::table(name);
  const std::string text = lower::print_assembly(small_kernel(target));
  const auto ours = lower::assemble(text, target);
  REQUIRE(ours);
  const auto theirs = test::run_tool(
      "llvm-mc-22", "-triple=amdgcn-amd-amdhsa -mcpu=" + name + " -filetype=obj {k.s} -o {out}",
      {{"k.s", test::to_bytes(text)}});
  CHECK(*ours == theirs);
}

TEST_CASE("the text is a whole file that a person can read", "[lower]") {
  const std::string text = lower::print_assembly(small_kernel(test::table("gfx1151")));
  CHECK(text == lower::print_assembly(small_kernel(test::table("gfx1151"))));
  CHECK(text.starts_with(
      "; a kernel for a test\n; of two lines\n\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx1151\"\n"));
  CHECK(text.find("\t.amdhsa_code_object_version 5\n") != std::string::npos);
  CHECK(text.find(".Lloop:\t; ten additions; 10 times\n") != std::string::npos);
  CHECK(text.find("\tv_add_f32 v1, 1.0, v1") != std::string::npos);
  CHECK(text.find("; the only work\n") != std::string::npos);
  CHECK(text.find("\ts_cbranch_scc1 .Lloop\n") != std::string::npos);
  CHECK(text.find("\ts_waitcnt lgkmcnt(0)\n") != std::string::npos);
}

TEST_CASE("code is padded so that prefetch stays inside it", "[lower]") {
  // hardware.md §9.4: aligned to 128 bytes, then 96 dwords of s_code_end.
  const target::Target& target = test::table("gfx1151");
  const auto bytes = test::build_object(lower::print_assembly(small_kernel(target)), target);
  const auto file = lower::elf::parse(bytes);
  REQUIRE(file);
  const lower::elf::Section* text = file->find(".text");
  REQUIRE(text != nullptr);
  CHECK(text->size == 128 + 96 * 4);
  for (std::uint64_t at = 48; at < text->size; at += 4)
    REQUIRE(*lower::elf::read<std::uint32_t>(text->contents, at) == 0xBF9F0000);
}

}  // namespace
}  // namespace wavejit
