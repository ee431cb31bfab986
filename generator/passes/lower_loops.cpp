// SPDX-License-Identifier: MIT
// Counted loops become a compare and a backward branch. The induction updates are already in the
// body (pipeline wrote them); an SGPR induction with a known start doubles as the counter, so the
// usual loop pays one s_cmp and no counter of its own.
#include <algorithm>

#include "generator/ir/builder.hpp"
#include "generator/passes/passes.hpp"

namespace wavejit::passes {
namespace {

ir::Instruction scalar(isa::Opcode op, std::initializer_list<isa::Operand> dst,
                       std::initializer_list<isa::Operand> src, std::string comment = {}) {
  ir::Instruction inst;
  inst.mi.op = op;
  for (const isa::Operand& d : dst) inst.mi.dst[inst.mi.dst_count++] = d;
  for (const isa::Operand& s : src) inst.mi.src[inst.mi.src_count++] = s;
  inst.comment = std::move(comment);
  return inst;
}

/// A 32-bit value that the counter takes for the first time when the loop is over.
std::optional<std::int64_t> end_value(const ir::Induction& induction, std::int64_t trips) {
  if (!induction.reg.is_sgpr() || !induction.constant_start || induction.step == 0) return std::nullopt;
  const std::int64_t end = *induction.constant_start + trips * induction.step;
  if (end < 0 || end > INT32_MAX) return std::nullopt;
  return end;
}

void lower(ir::Kernel& kernel, std::size_t b) {
  const ir::CountedLoop loop = *kernel.blocks[b].loop;
  kernel.blocks[b].loop.reset();
  kernel.blocks[b].is_loop_body = true;
  kernel.blocks[b].trip_count = loop.trip_count;
  if (loop.trip_count == 1) return;

  isa::Operand counter;
  std::int64_t end = 0;
  for (const ir::Induction& induction : loop.inductions) {
    if (const auto value = end_value(induction, loop.trip_count)) {
      counter = induction.reg;
      end = *value;
      break;
    }
  }
  std::vector<ir::Instruction>& body = kernel.blocks[b].insts;
  if (counter.kind == isa::Operand::Kind::none) {
    ir::Builder builder(kernel);
    counter = builder.sgpr("trips");
    kernel.blocks[b - 1].insts.push_back(
        scalar(isa::Opcode::s_mov_b32, {counter}, {isa::imm(loop.trip_count)}, "iterations of " + loop.name));
    body.push_back(scalar(isa::Opcode::s_sub_u32, {counter}, {counter, isa::imm(1)}));
  }
  body.push_back(scalar(isa::Opcode::s_cmp_lg_u32, {}, {counter, isa::imm(end)}));
  body.push_back(scalar(isa::Opcode::s_cbranch_scc1, {}, {isa::label(static_cast<std::uint32_t>(b))},
                        std::to_string(loop.trip_count) + " times"));
}

}  // namespace

Result<void> lower_loops(ir::Kernel& kernel) {
  for (std::size_t b = 0; b < kernel.blocks.size(); ++b) {
    if (!kernel.blocks[b].loop) continue;
    if (b == 0)
      return fail(ErrorCode::invalid_ir, "lower_loops: a counted loop needs a block in front of it");
    lower(kernel, b);
  }
  return {};
}

}  // namespace wavejit::passes
