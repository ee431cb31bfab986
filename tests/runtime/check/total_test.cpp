// SPDX-License-Identifier: MIT
// The checker takes any decoded kernel: nothing that a decoder or a person may hand over makes it read
// outside, loop or crash. Sanitizer builds make these tests sharp.
#include <catch2/catch.hpp>
#include <random>

#include "tests/runtime/check/check_kernel.hpp"

using namespace wavejit;
using check::Kind;
using test::kinds;
using test::only;

namespace {

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine_() % n); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

 private:
  std::mt19937 engine_;
};

isa::Operand any_operand(Random& random, std::uint32_t instructions) {
  isa::Operand op;
  op.kind = static_cast<isa::Operand::Kind>(random.below(6));
  op.cls = static_cast<isa::RegClass>(random.below(3));
  op.is_virtual = random.one_in(50);
  op.half = static_cast<isa::Half>(random.below(3));
  op.width = static_cast<std::uint8_t>(random.one_in(20) ? random.below(256) : 1 + random.below(8));
  op.index = random.one_in(20) ? 0xFFFFFFFFU - random.below(4) : random.below(140);
  if (op.kind == isa::Operand::Kind::label) op.index = random.below(instructions + 2);
  op.value = static_cast<std::int64_t>(random.below(0xFFFFFFFF)) - 0x7FFFFFFF;
  return op;
}

lower::DecodedInstruction any_instruction(Random& random, std::uint32_t instructions) {
  lower::DecodedInstruction d;
  isa::Instruction& inst = d.inst;
  // One opcode in a hundred lies outside the table.
  const auto count = static_cast<std::uint32_t>(isa::Opcode::count_);
  inst.op = static_cast<isa::Opcode>(random.one_in(100) ? count + random.below(50) : random.below(count));
  inst.dual = static_cast<isa::Dual>(random.one_in(10) ? random.below(3) : 0);
  inst.dst_count = static_cast<std::uint8_t>(random.one_in(100) ? random.below(256) : random.below(3));
  inst.src_count = static_cast<std::uint8_t>(random.one_in(100) ? random.below(256) : random.below(7));
  for (isa::Operand& op : inst.dst) op = any_operand(random, instructions);
  for (isa::Operand& op : inst.src) op = any_operand(random, instructions);
  inst.mods.offset = static_cast<std::int32_t>(random.below(0xFFFFFFFF));
  inst.mods.offset0 = static_cast<std::uint8_t>(random.below(256));
  inst.mods.op_sel = static_cast<std::uint8_t>(random.below(256));
  inst.mods.lds = random.one_in(8);
  inst.mods.dpp.kind = static_cast<isa::Dpp::Kind>(random.below(3));
  d.size = 4;
  return d;
}

lower::DecodedKernel any_kernel(Random& random) {
  lower::DecodedKernel k;
  const std::uint32_t count = random.below(200);
  for (std::uint32_t i = 0; i < count; ++i) k.instructions.push_back(any_instruction(random, count));
  k.descriptor.rsrc1 = random.below(0xFFFFFFFF);
  k.descriptor.rsrc2 = random.below(0xFFFFFFFF);
  k.descriptor.rsrc3 = random.below(0xFFFFFFFF);
  k.descriptor.properties = static_cast<std::uint16_t>(random.below(0x10000));
  k.descriptor.preload = static_cast<std::uint16_t>(random.below(0x10000));
  k.descriptor.kernarg_size = random.below(256);
  k.descriptor.group_segment_fixed_size = random.below(0xFFFFFFFF);
  k.descriptor.entry_byte_offset = -static_cast<std::int64_t>(random.below(4096));
  k.max_flat_workgroup_size = random.below(2048);
  return k;
}

}  // namespace

TEST_CASE("any decoded kernel gets a report", "[check][total]") {
  Random random(1);
  std::size_t findings = 0;
  for (unsigned round = 0; round < 300; ++round) {
    const lower::DecodedKernel k = any_kernel(random);
    for (const target::Target& t : target::all()) {
      const check::Report report = check::check(k, t);
      CHECK(report.findings.size() <= check::Options{}.max_findings);
      for (const check::Finding& f : report.findings) {
        const bool placed = f.instruction == check::whole_kernel || f.instruction < k.instructions.size();
        if (!placed || f.message.empty()) FAIL(check::to_string(f));
      }
      findings += report.findings.size() + report.dropped;
    }
  }
  CHECK(findings > 2000);
}

TEST_CASE("kernels beyond the limits are refused, those at the limits checked", "[check][total]") {
  const target::Target& t = test::table("gfx1151");
  // Every block loads and branches back to some earlier one.
  const lower::DecodedKernel piece =
      test::kernel("s_cmp_eq_u32 s2, 0\n.Lx:\nds_load_b32 v1, v0\ns_cbranch_scc1 .Lx\ns_endpgm\n");
  lower::DecodedKernel k = piece;
  k.instructions.clear();
  k.instructions.push_back(piece.instructions[0]);
  const auto add = [&](unsigned blocks) {
    while (blocks-- > 0) {
      k.instructions.push_back(piece.instructions[1]);
      k.instructions.push_back(piece.instructions[2]);
      k.instructions.back().inst.src[0].index = static_cast<std::uint32_t>(k.instructions.size() / 2);
    }
  };
  add(2000);
  k.instructions.push_back(piece.instructions[3]);
  CHECK_FALSE(check::check(k, t).has(Kind::too_complex));
  add(4000);
  k.instructions.push_back(piece.instructions[3]);
  CHECK(check::check(k, t).has(Kind::too_complex));
  k.instructions.assign((1U << 20) + 1, piece.instructions[0]);
  CHECK(check::check(k, t).has(Kind::too_complex));
}
