// SPDX-License-Identifier: MIT
// s_waitcnt packs its counters differently in each generation (hardware.md §4.1). A field at its
// greatest value waits for nothing, which is what `unlimited` stands for.
#include <algorithm>

#include "generator/isa/instruction.hpp"

namespace wavejit::isa {
namespace {

/// Bits [pos, pos + bits) of the immediate.
struct Field {
  unsigned pos, bits;
  [[nodiscard]] constexpr unsigned max() const { return (1U << bits) - 1; }
  [[nodiscard]] constexpr unsigned put(unsigned value) const { return (value & max()) << pos; }
  [[nodiscard]] constexpr unsigned get(unsigned word) const { return (word >> pos) & max(); }
};

struct Layout {
  Field vm_low, vm_high;  ///< vmcnt in two parts; high part of 0 bits where it is whole
  Field exp, lgkm;
};

constexpr Layout gfx9_layout{.vm_low = {0, 4}, .vm_high = {14, 2}, .exp = {4, 3}, .lgkm = {8, 4}};
constexpr Layout gfx10_layout{.vm_low = {0, 4}, .vm_high = {14, 2}, .exp = {4, 3}, .lgkm = {8, 6}};
constexpr Layout gfx11_layout{.vm_low = {10, 6}, .vm_high = {0, 0}, .exp = {0, 3}, .lgkm = {4, 6}};

const Layout& layout(const target::Target& target) {
  switch (target.generation) {
    case target::Generation::gfx9:
      return gfx9_layout;
    case target::Generation::gfx10:
      return gfx10_layout;
    default:
      return gfx11_layout;
  }
}

}  // namespace

std::uint16_t encode_waitcnt(const WaitCounts& counts, const target::Target& target) {
  const Layout& l = layout(target);
  const unsigned vm_max = (1U << (l.vm_low.bits + l.vm_high.bits)) - 1;
  const unsigned vm = std::min<unsigned>(counts.vmcnt, vm_max);
  const unsigned exp = std::min<unsigned>(counts.expcnt, l.exp.max());
  const unsigned lgkm = std::min<unsigned>(counts.lgkmcnt, l.lgkm.max());
  return static_cast<std::uint16_t>(l.vm_low.put(vm) | l.vm_high.put(vm >> l.vm_low.bits) | l.exp.put(exp) |
                                    l.lgkm.put(lgkm));
}

WaitCounts decode_waitcnt(std::uint16_t simm16, const target::Target& target) {
  const Layout& l = layout(target);
  const unsigned vm_max = (1U << (l.vm_low.bits + l.vm_high.bits)) - 1;
  const unsigned vm = l.vm_low.get(simm16) | l.vm_high.get(simm16) << l.vm_low.bits;
  const auto count = [](unsigned value, unsigned max) {
    return value == max ? WaitCounts::unlimited : static_cast<std::uint8_t>(value);
  };
  return {.vmcnt = count(vm, vm_max),
          .expcnt = count(l.exp.get(simm16), l.exp.max()),
          .lgkmcnt = count(l.lgkm.get(simm16), l.lgkm.max())};
}

}  // namespace wavejit::isa
