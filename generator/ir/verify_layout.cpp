// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "generator/ir/verify_rules.hpp"

namespace wavejit::ir::rules {
namespace {

using isa::Operand;

struct Extent {
  std::string_view name;
  std::uint64_t begin, end;
};

Result<void> disjoint(const Kernel& kernel, std::string_view what, std::vector<Extent> extents) {
  std::ranges::sort(extents, {}, &Extent::begin);
  for (std::size_t i = 1; i < extents.size(); ++i)
    if (extents[i].begin < extents[i - 1].end)
      return broken({kernel}, fmt::format("{} {}", what, extents[i].name),
                    fmt::format("at bytes {}..{}", extents[i].begin, extents[i].end - 1),
                    fmt::format("outside {} (bytes {}..{})", extents[i - 1].name, extents[i - 1].begin,
                                extents[i - 1].end - 1));
  return {};
}

Result<void> arguments(const Kernel& kernel) {
  std::vector<Extent> extents;
  for (const KernelArg& arg : kernel.args) {
    const std::uint64_t end = std::uint64_t{arg.offset} + arg.size;
    extents.push_back({arg.name, arg.offset, end});
    if (end > kernel.kernarg_size)
      return broken({kernel}, "the end of argument " + arg.name, std::to_string(end),
                    fmt::format("at most kernarg_size = {}", kernel.kernarg_size));
  }
  return disjoint(kernel, "argument", std::move(extents));
}

Result<void> lds_regions(const Kernel& kernel) {
  std::vector<Extent> extents;
  for (const LdsRegion& region : kernel.lds) {
    const std::uint64_t end = std::uint64_t{region.offset} + region.size;
    extents.push_back({region.name, region.offset, end});
    if (end > kernel.target->lds_per_workgroup)
      return broken({kernel}, "the end of LDS region " + region.name, std::to_string(end),
                    fmt::format("at most {}", kernel.target->lds_per_workgroup));
    if (region.buffers < 1 ||
        (region.buffers > 1 && std::uint64_t{region.buffers - 1} * region.distance >= region.size))
      return broken({kernel}, "the ring of LDS region " + region.name,
                    fmt::format("{} buffers {} bytes apart", region.buffers, region.distance),
                    fmt::format("within its {} bytes", region.size));
  }
  return disjoint(kernel, "LDS region", std::move(extents));
}

bool same_bank(const Operand& a, const Operand& b, unsigned banks) {
  return a.is_vgpr() && b.is_vgpr() && !a.is_virtual && !b.is_virtual && a.index % banks == b.index % banks;
}

/// hardware.md §3.1: the two halves take SRC0 from different banks, SRC1 too, and write one even
/// and one odd register.
Result<void> pair(const Kernel& kernel, const Block& block, const isa::Instruction& x,
                  const isa::Instruction& y) {
  const Place place{kernel, &block, &y};
  if (!kernel.target->has_vopd)
    return broken(place, "a dual pair", "present", fmt::format("absent: {} has none", kernel.target->name));
  if (x.dst_count != 1 || y.dst_count != 1)
    return broken(place, "a dual half's destinations", std::to_string(y.dst_count), "1");
  if (x.dst[0] == y.dst[0]) return broken(place, "a dual pair's destinations", "one register", "different");
  if (x.dst[0].is_virtual || y.dst[0].is_virtual) return {};
  if (x.dst[0].index % 2 == y.dst[0].index % 2)
    return broken(place, "a dual pair's destinations", "both even or both odd", "one even, one odd");
  const unsigned banks = std::max<unsigned>(kernel.target->vgpr_banks, 1);
  for (unsigned i = 0; i < std::min<unsigned>({x.src_count, y.src_count, 2}); ++i)
    if (same_bank(x.src[i], y.src[i], banks))
      return broken(place, fmt::format("a dual pair's sources {}", i), "in one bank", "in different banks");
  return {};
}

}  // namespace

Result<void> layout(const Kernel& kernel) {
  if (auto r = arguments(kernel); !r) return r;
  return lds_regions(kernel);
}

Result<void> dual_pairs(const Kernel& kernel, const Block& block) {
  for (std::size_t i = 0; i < block.insts.size(); ++i) {
    const isa::Instruction& inst = block.insts[i].mi;
    const bool has_x = i > 0 && block.insts[i - 1].mi.dual == isa::Dual::x;
    if (inst.dual == isa::Dual::y && !has_x)
      return broken({kernel, &block, &inst}, "a dual y half", "alone", "right after its x half");
    if (has_x && inst.dual != isa::Dual::y)
      return broken({kernel, &block, &block.insts[i - 1].mi}, "a dual x half", "alone",
                    "right before its y half");
    if (inst.dual == isa::Dual::x && i + 1 == block.insts.size())
      return broken({kernel, &block, &inst}, "a dual x half", "alone", "right before its y half");
    if (inst.dual == isa::Dual::y)
      if (auto r = pair(kernel, block, block.insts[i - 1].mi, inst); !r) return r;
  }
  return {};
}

}  // namespace wavejit::ir::rules
