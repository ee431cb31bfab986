// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "generator/ir/verify_rules.hpp"

namespace wavejit::ir::rules {
namespace {

using isa::Operand;
using isa::Pipe;
namespace flag = isa::flag;

constexpr std::int64_t lds_offset_max = 65535;

Result<void> in_range(const Place& place, std::string_view what, std::int64_t value, std::int64_t low,
                      std::int64_t high) {
  if (value >= low && value <= high) return {};
  return broken(place, std::string(what), std::to_string(value), fmt::format("{}..{}", low, high));
}

Result<void> scalar_load(const Place& place) {
  const isa::Instruction& inst = *place.inst;
  const target::Target& target = *place.kernel.target;
  const std::int64_t immediate =
      inst.src[1].kind == Operand::Kind::imm ? inst.src[1].value : inst.mods.offset;
  if (auto r =
          in_range(place, "the scalar load's offset", immediate, target.smem_imm_min, target.smem_imm_max);
      !r)
    return r;
  if (immediate % 4 != 0)
    return broken(place, "the scalar load's offset", std::to_string(immediate), "a multiple of 4 bytes");
  return {};
}

/// The address is one VGPR beside an SGPR base, a pair where the base is "off".
Result<void> global_address(const Place& place) {
  const isa::Instruction& inst = *place.inst;
  const Operand& base = inst.src[inst.src_count - 1U];
  const Operand& address = inst.src[0];
  const bool off = base.is_physical(isa::RegClass::sgpr, isa::sreg::null);
  const bool scratch = isa::signature(inst.op, *place.kernel.target).src[inst.src_count - 1U].width == 1;
  if (scratch) return {};
  const unsigned width = off ? 2 : 1;
  if (!address.is_vgpr() || address.width != width)
    return broken(place, "the address's width",
                  fmt::format("{} dwords", address.is_vgpr() ? address.width : 0),
                  fmt::format("{} {}", width, off ? "without a base" : "beside an SGPR base"));
  return {};
}

Result<void> offsets(const Place& place) {
  const isa::Instruction& inst = *place.inst;
  const target::Target& target = *place.kernel.target;
  if (inst.pipe() == Pipe::lds) return in_range(place, "the LDS offset", inst.mods.offset, 0, lds_offset_max);
  if (inst.has(flag::buffer) && target.soffset_is_register && inst.src[inst.src_count - 1U].is_const())
    return broken(place, "soffset", "a constant", "an SGPR or null");
  if (inst.has(flag::buffer))
    return in_range(place, "the buffer offset", inst.mods.offset, 0, target.buffer_imm_max);
  if (inst.has(flag::flat)) {
    if (auto r = global_address(place); !r) return r;
    return in_range(place, "the global offset", inst.mods.offset, target.global_imm_min,
                    target.global_imm_max);
  }
  if (inst.pipe() == Pipe::smem) return scalar_load(place);
  return {};
}

Result<void> tag_fits(const Place& place, const MemoryTag& tag) {
  if (tag.space == MemoryTag::Space::none) return {};
  const bool is_lds = tag.space == MemoryTag::Space::lds;
  const Pipe pipe = place.inst->pipe();
  const bool touches_lds = pipe == Pipe::lds || place.inst->mods.lds || place.inst->has(flag::to_lds);
  const bool touches_global = pipe == Pipe::vmem || pipe == Pipe::smem;
  if (is_lds ? !touches_lds : !touches_global)
    return broken(place, "the memory tag", is_lds ? "LDS" : "global", "that of the instruction's memory");
  const std::size_t objects = is_lds ? place.kernel.lds.size() : place.kernel.args.size();
  if (tag.object >= static_cast<std::int64_t>(objects))
    return broken(place, "the memory tag's object", std::to_string(tag.object),
                  fmt::format("below {}", objects));
  if (tag.ring && !is_lds)
    return broken(place, "the memory tag's ring", "set on global memory", "set on LDS only");
  return {};
}

bool overlaps(const Operand& a, const Operand& b) {
  if (!a.is_reg() || !b.is_reg() || a.cls != b.cls || a.is_virtual != b.is_virtual) return false;
  if (!a.is_virtual) return a.index < b.index + b.width && b.index < a.index + a.width;
  return a.index == b.index && a.sub < b.sub + b.width && b.sub < a.sub + a.width;
}

bool equal_registers(const Operand& a, const Operand& b) {
  return overlaps(a, b) && a.index == b.index && a.sub == b.sub && a.width == b.width;
}

}  // namespace

Result<void> memory(const Place& place, const MemoryTag& tag) {
  if (auto r = offsets(place); !r) return r;
  return tag_fits(place, tag);
}

Result<void> matrix(const Place& place) {
  const isa::Instruction& inst = *place.inst;
  if (inst.pipe() != Pipe::matrix) return {};
  const target::MatrixShape& shape = place.kernel.target->wmma16;
  const bool is_16bit =
      inst.op == isa::Opcode::v_wmma_f32_16x16x16_f16 || inst.op == isa::Opcode::v_wmma_f32_16x16x16_bf16;
  for (unsigned i = 0; i < 2; ++i) {
    const unsigned width = i == 0 ? shape.a_dwords : shape.b_dwords;
    if (is_16bit && inst.src[i].width != width)
      return broken(place, fmt::format("matrix source {}'s width", i), std::to_string(inst.src[i].width),
                    std::to_string(width));
    if (overlaps(inst.dst[0], inst.src[i]))
      return broken(place, "the matrix destination", fmt::format("overlapping source {}", i),
                    "disjoint from A and B");
  }
  if (overlaps(inst.dst[0], inst.src[2]) && !equal_registers(inst.dst[0], inst.src[2]))
    return broken(place, "the matrix destination", "overlapping the accumulator in part",
                  "equal to the accumulator or disjoint from it");
  return {};
}

}  // namespace wavejit::ir::rules
