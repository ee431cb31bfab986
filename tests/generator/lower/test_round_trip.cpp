// SPDX-License-Identifier: MIT
// Text and machine code keep an instruction as it was. For every opcode and several choices of
// operands and modifiers: print, let LLVM assemble and disassemble, parse, compare. LLVM is the
// independent side: what we print wrongly it refuses or encodes as something else.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <random>

#include "generator/isa/instruction.hpp"
#include "generator/lower/disassemble.hpp"
#include "generator/lower/elf.hpp"
#include "tests/generator/lower/instruction_generator.hpp"
#include "tests/generator/lower/text_kernel.hpp"

namespace wavejit {
namespace {

using isa::Dual;
using isa::Half;
using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Pipe;

std::vector<Instruction> reparse(const std::vector<Instruction>& instructions, const target::Target& target) {
  std::string text;
  for (const Instruction& inst : instructions) text += "\t" + isa::to_text(inst, target) + "\n";
  const std::vector<std::uint8_t> object = test::assembled(text, target);
  const auto file = lower::elf::parse(object);
  REQUIRE(file);
  const lower::elf::Section* code = file->find(".text");
  REQUIRE(code != nullptr);
  const auto decoded = lower::disassemble(code->contents, 0, target, "k");
  INFO((decoded ? std::string() : decoded.error().message));
  REQUIRE(decoded);
  std::vector<Instruction> result;
  for (const lower::DecodedInstruction& d : *decoded) result.push_back(d.inst);
  return result;
}

/// LLVM names the low half of a 16-bit operand; the printer may leave it out.
Instruction without_low(Instruction inst) {
  for (Operand& o : inst.dst)
    if (o.half == Half::low) o.half = Half::whole;
  for (Operand& o : inst.src)
    if (o.half == Half::low) o.half = Half::whole;
  return inst;
}

std::vector<Opcode> printable_opcodes(const target::Target& target) {
  std::vector<Opcode> result;
  for (unsigned i = 1; i < static_cast<unsigned>(Opcode::count_); ++i) {
    const auto op = static_cast<Opcode>(i);
    // Branches are tested with labels; they cannot stand alone.
    if (isa::info(op).pipe == Pipe::branch && op != Opcode::s_endpgm) continue;
    const std::string_view name = isa::spelling(op, target.generation);
    if (!name.empty() && test::assembler_knows(name, target)) result.push_back(op);
  }
  return result;
}

TEST_CASE("every opcode survives printing, assembling, disassembling and parsing", "[isa][lower]") {
  const std::string name = GENERATE("gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1201");
  const target::Target target = test::any_table(name);
  INFO(target.name);
  test::InstructionGenerator generator(target, 1);
  std::vector<Instruction> drawn;
  const std::vector<Opcode> opcodes = printable_opcodes(target);
  CHECK(opcodes.size() > 500);
  for (const Opcode op : opcodes)
    for (int repeat = 0; repeat < 6; ++repeat) drawn.push_back(generator.draw(op));
  const std::vector<Instruction> parsed = reparse(drawn, target);
  REQUIRE(parsed.size() == drawn.size());
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    INFO(isa::to_text(drawn[i], target) << "  ->  " << isa::to_text(parsed[i], target));
    CHECK(without_low(parsed[i]) == drawn[i]);
  }
}

TEST_CASE("16-bit halves survive the round trip", "[isa][lower]") {
  const target::Target& target = test::table("gfx1151");
  test::InstructionGenerator generator(target, 7);
  std::mt19937 random(8);
  std::vector<Instruction> drawn;
  for (const Opcode op : printable_opcodes(target)) drawn.push_back(generator.draw(op));
  std::vector<Instruction> halves;
  for (Instruction inst : reparse(drawn, target)) {
    if (without_low(inst) == inst) continue;
    const auto flip = [&](Operand& o, unsigned bit) {
      if (o.half != Half::low || random() % 2 == 0) return;
      // Short encodings reach only the first 128 registers; the assembler takes the long one then.
      o.half = Half::high;
      inst.mods.op_sel |= static_cast<std::uint8_t>(1U << bit);
    };
    for (unsigned i = 0; i < inst.src_count; ++i) flip(inst.src[i], i);
    for (unsigned i = 0; i < inst.dst_count; ++i) flip(inst.dst[i], inst.src_count);
    halves.push_back(inst);
  }
  REQUIRE(halves.size() > 30);  // v_add_f16 and its like
  const std::vector<Instruction> parsed = reparse(halves, target);
  REQUIRE(parsed.size() == halves.size());
  for (std::size_t i = 0; i < halves.size(); ++i) {
    INFO(isa::to_text(halves[i], target) << "  ->  " << isa::to_text(parsed[i], target));
    CHECK(parsed[i] == halves[i]);
  }
}

TEST_CASE("dual pairs survive the round trip", "[isa][lower]") {
  const target::Target& target = test::table("gfx1151");
  const auto make = [](Opcode op, Dual dual, std::vector<Operand> operands) {
    Instruction inst;
    inst.op = op;
    inst.dual = dual;
    inst.dst_count = 1;
    inst.dst[0] = operands[0];
    for (std::size_t i = 1; i < operands.size(); ++i) inst.src[inst.src_count++] = operands[i];
    return inst;
  };
  const auto v = [](unsigned i) { return isa::vgpr(i); };
  const Instruction pairs[][2] = {
      {make(Opcode::v_fmac_f32, Dual::x, {v(0), v(1), v(2)}),
       make(Opcode::v_mul_f32, Dual::y, {v(3), v(6), v(5)})},
      {make(Opcode::v_mov_b32, Dual::x, {v(0), isa::imm(0)}),
       make(Opcode::v_mov_b32, Dual::y, {v(1), isa::sgpr(4)})},
      {make(Opcode::v_cndmask_b32, Dual::x, {v(0), v(1), v(2), isa::vcc(32)}),
       make(Opcode::v_add_nc_u32, Dual::y, {v(3), v(6), v(5)})},
      {make(Opcode::v_fmaak_f32, Dual::x, {v(0), v(1), v(2), isa::imm(0x40490FDB)}),
       make(Opcode::v_lshlrev_b32, Dual::y, {v(3), isa::imm(4), v(5)})},
  };
  std::string body;
  for (const auto& pair : pairs) body += isa::print_dual(pair[0], pair[1], target) + "\n";
  const lower::CodeObject object = test::build(test::kernel_text("k", body, target), target);
  const auto& instructions = object.kernels.at(0).instructions;
  REQUIRE(instructions.size() == 2 * std::size(pairs));
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    INFO(instructions[i].text);
    CHECK(instructions[i].inst == pairs[i / 2][i % 2]);
    CHECK((instructions[i].size == 0) == (i % 2 == 1));
    CHECK(instructions[i].address == instructions[i / 2 * 2].address);
  }
}

}  // namespace
}  // namespace wavejit
