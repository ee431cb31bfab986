// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "generator/ir/kernel.hpp"
#include "generator/ir/names.hpp"
#include "generator/ir/verify_rules.hpp"

namespace wavejit::ir {
namespace rules {

std::unexpected<Error> broken(const Place& place, std::string rule, std::string given, std::string allowed) {
  auto failure = fail_field(ErrorCode::invalid_ir, std::move(rule), std::move(given), std::move(allowed));
  std::string where = fmt::format("kernel {}", place.kernel.name);
  if (place.block != nullptr) where += fmt::format(", block {}", place.block->label);
  if (place.inst != nullptr) where += fmt::format(", `{}`", instruction_text(place.kernel, *place.inst));
  failure.error().message = where + ": " + failure.error().message;
  return failure;
}

namespace {

Result<void> opcode(const Place& place) {
  const isa::Opcode op = place.inst->op;
  if (op == isa::Opcode::invalid || op >= isa::Opcode::count_)
    return broken(place, "opcode", std::to_string(static_cast<unsigned>(op)), "one of the vocabulary");
  if (isa::spelling(op, place.kernel.target->generation).empty())
    return broken(place, "opcode", std::string(isa::info(op).name),
                  fmt::format("one that {} has", place.kernel.target->name));
  return {};
}

Result<void> instruction(const Place& place, const MemoryTag& tag) {
  if (auto r = opcode(place); !r) return r;
  if (auto r = operands(place); !r) return r;
  if (auto r = constants(place); !r) return r;
  if (auto r = memory(place, tag); !r) return r;
  return matrix(place);
}

}  // namespace
}  // namespace rules

Result<void> verify(const Kernel& kernel) {
  if (kernel.target == nullptr) return fail_field(ErrorCode::invalid_ir, "target", "null", "a target table");
  for (const Block& block : kernel.blocks)
    for (const Instruction& inst : block.insts)
      if (auto r = rules::instruction({kernel, &block, &inst.mi}, inst.mem); !r) return r;
  for (const Block& block : kernel.blocks)
    if (auto r = rules::dual_pairs(kernel, block); !r) return r;
  if (auto r = rules::layout(kernel); !r) return r;
  if (auto r = rules::control_flow(kernel); !r) return r;
  if (auto r = rules::assignment(kernel); !r) return r;
  return rules::definitions(kernel);
}

}  // namespace wavejit::ir
