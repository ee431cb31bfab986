// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "generator/ir/names.hpp"
#include "generator/ir/verify_rules.hpp"

namespace wavejit::ir::rules {
namespace {

using isa::Operand;
using isa::RegClass;
namespace flag = isa::flag;

bool is_null(const Operand& o) { return o.is_physical(RegClass::sgpr, isa::sreg::null); }

/// Which operand is looked at; its name is made only for an error.
struct Slot {
  bool is_dst = false;
  unsigned index = 0;
  [[nodiscard]] std::string name() const {
    return fmt::format("{} operand {}", is_dst ? "destination" : "source", index);
  }
};

std::string_view kind_name(const Operand& o) {
  switch (o.kind) {
    case Operand::Kind::none:
      return "absent";
    case Operand::Kind::reg:
      return o.cls == RegClass::sgpr ? "an SGPR" : o.cls == RegClass::vgpr ? "a VGPR" : "an AGPR";
    case Operand::Kind::imm:
    case Operand::Kind::fimm:
      return "a constant";
    case Operand::Kind::label:
      return "a label";
    case Operand::Kind::special:
      return "a special source";
  }
  return "unknown";
}

/// What a class letter of opcodes.def admits.
std::string_view class_meaning(char cls) {
  switch (cls) {
    case 'v':
      return "a VGPR";
    case 'x':
    case 'k':
      return "a VGPR, an SGPR or a constant";
    case 'S':
    case 'M':
    case 'n':
      return "an SGPR";
    case 's':
      return "an SGPR or a constant";
    case 'a':
      return "a VGPR or an AGPR";
    case 'A':
      return "a VGPR, an AGPR or an inline constant";
    case 'i':
      return "an immediate";
    case 'L':
      return "a label";
    default:
      return "nothing";
  }
}

bool is_memory(const isa::Instruction& inst) {
  return inst.pipe() == isa::Pipe::lds || inst.pipe() == isa::Pipe::vmem;
}

bool class_admits(char cls, const Operand& o, const Place& place) {
  const bool special = o.kind == Operand::Kind::special;
  const bool agpr_data = o.is_reg(RegClass::agpr) && place.kernel.target->has_agprs && is_memory(*place.inst);
  switch (cls) {
    case 'v':
      return o.is_vgpr() || agpr_data;
    case 'x':
    case 'k':
      return o.is_vgpr() || o.is_sgpr() || o.is_const() || special;
    case 'S':
    case 'M':
    case 'n':
      return o.is_sgpr();
    case 's':
      return o.is_sgpr() || o.is_const() || special;
    case 'a':
      return o.is_vgpr() || o.is_reg(RegClass::agpr);
    case 'A':
      return o.is_vgpr() || o.is_reg(RegClass::agpr) || o.is_const();
    case 'i':
      return o.kind == Operand::Kind::imm;
    case 'L':
      return o.kind == Operand::Kind::label;
    default:
      return false;
  }
}

/// SGPR tuples are aligned on every target: pairs even, wider ones to a multiple of four.
unsigned alignment(const Operand& o, const target::Target& target) {
  if (o.cls == RegClass::sgpr) return o.width >= 3 ? 4 : o.width;
  return o.width >= 2 ? target.vgpr_tuple_align : 1;
}

Result<void> virtual_register(const Place& place, const Operand& o, Slot slot) {
  const Kernel& kernel = place.kernel;
  if (kernel.registers_assigned)
    return broken(place, slot.name(), "virtual", "physical after register assignment");
  if (o.index >= kernel.vregs.size())
    return broken(place, slot.name(), fmt::format("%{}", o.index),
                  fmt::format("below %{}", kernel.vregs.size()));
  const VirtualRegister& reg = kernel.vregs[o.index];
  if (reg.cls != o.cls)
    return broken(place, slot.name() + "'s class", std::string(kind_name(o)),
                  "the class of its virtual register");
  if (o.width == 0 || o.sub + o.width > reg.width)
    return broken(place, slot.name(),
                  fmt::format("dwords {}..{} of {}%{}", o.sub, o.sub + o.width - 1, reg.name, o.index),
                  fmt::format("within its {} dwords", reg.width));
  const unsigned first = o.sub + reg.fixed.value_or(0), align = alignment(o, *kernel.target);
  if (first % align != 0)
    return broken(place, slot.name() + "'s first dword", std::to_string(first),
                  fmt::format("a multiple of {}", align));
  return {};
}

Result<void> physical_register(const Place& place, const Operand& o, Slot slot) {
  const target::Target& target = *place.kernel.target;
  const std::uint32_t end = o.index + o.width;
  if (o.width == 0) return broken(place, slot.name() + "'s width", "0", "at least 1 dword");
  if (o.cls == RegClass::agpr && !target.has_agprs)
    return broken(place, slot.name(), operand_text(place.kernel, o),
                  fmt::format("another register: {} has no AGPRs", target.name));
  if (o.cls != RegClass::sgpr && end > target.addressable_vgprs)
    return broken(place, slot.name(), operand_text(place.kernel, o),
                  fmt::format("below {}", target.addressable_vgprs));
  const bool plain = o.index < isa::sreg::vcc_lo;
  if (o.cls == RegClass::sgpr && end > (plain ? target.addressable_sgprs : isa::sreg::count))
    return broken(place, slot.name(), operand_text(place.kernel, o),
                  fmt::format("below s{} or a special register", target.addressable_sgprs));
  if (o.index % alignment(o, target) != 0)
    return broken(place, slot.name() + "'s register", operand_text(place.kernel, o),
                  fmt::format("a multiple of {}", alignment(o, target)));
  return {};
}

Result<void> register_operand(const Place& place, const Operand& o, Slot slot) {
  if (o.half != isa::Half::whole && (!o.is_vgpr() || o.width != 1))
    return broken(place, slot.name() + "'s half", "named", "named only on one VGPR");
  return o.is_virtual ? virtual_register(place, o, slot) : physical_register(place, o, slot);
}

Result<void> operand(const Place& place, const Operand& o, isa::OperandSpec spec, Slot slot) {
  if (!class_admits(spec.cls, o, place) || (slot.is_dst && !o.is_reg()))
    return broken(place, slot.name(), std::string(kind_name(o)), std::string(class_meaning(spec.cls)));
  if (!o.is_reg()) return {};
  if (spec.width != 0 && o.width != spec.width && !is_null(o))
    return broken(place, slot.name() + "'s width", fmt::format("{} dwords", o.width),
                  fmt::format("{}", spec.width));
  return register_operand(place, o, slot);
}

/// Address operands that the addressing mode leaves out.
bool may_be_absent(const isa::Instruction& inst, unsigned index) {
  if (inst.pipe() != isa::Pipe::vmem) return false;
  const bool store = inst.has(flag::store);
  if (inst.has(flag::buffer)) return index == (store ? 1 : 0) && !inst.mods.offen && !inst.mods.idxen;
  return index == 0 && inst.has(flag::flat);
}

/// A load that goes to LDS has no destination; an atomic has one only if it returns.
bool destination_is_optional(const isa::Instruction& inst) {
  return inst.has(flag::atomic) || inst.has(flag::to_lds) || inst.mods.lds;
}

}  // namespace

Result<void> operands(const Place& place) {
  const isa::Instruction& inst = *place.inst;
  const isa::Signature sig = isa::signature(inst.op, *place.kernel.target);
  if (inst.dst_count != sig.dst_count && !(inst.dst_count == 0 && destination_is_optional(inst)))
    return broken(place, "the number of destinations", std::to_string(inst.dst_count),
                  std::to_string(sig.dst_count));
  if (inst.src_count != sig.src_count)
    return broken(place, "the number of sources", std::to_string(inst.src_count),
                  std::to_string(sig.src_count));
  for (unsigned i = 0; i < inst.dst_count; ++i)
    if (auto r = operand(place, inst.dst[i], sig.dst[i], {true, i}); !r) return r;
  for (unsigned i = 0; i < inst.src_count; ++i) {
    if (inst.src[i].kind == Operand::Kind::none && may_be_absent(inst, i)) continue;
    isa::OperandSpec spec = sig.src[i];
    if (inst.has(flag::buffer) && inst.mods.offen && inst.mods.idxen &&
        i == (inst.has(flag::store) ? 1U : 0U))
      spec.width = 2;
    if (auto r = operand(place, inst.src[i], spec, {false, i}); !r) return r;
  }
  return {};
}

}  // namespace wavejit::ir::rules
