// SPDX-License-Identifier: MIT
#include "generator/passes/live_ranges.hpp"

#include <algorithm>

namespace wavejit::passes {
namespace {

using isa::Opcode;
using isa::Operand;

bool same_register(const Operand& a, const Operand& b) {
  return a.is_reg() && b.is_reg() && a.cls == b.cls && a.is_virtual == b.is_virtual && a.index == b.index &&
         a.sub == b.sub;
}

/// The destination must not share a register with a source that dies here. The 64-bit multiply-adds
/// are among them because parts of gfx11 forward their low result too early (LLVM marks them so).
bool destination_is_early(const isa::Instruction& inst) {
  if (inst.dst_count == 0) return false;
  if (inst.pipe() == isa::Pipe::matrix) return !same_register(inst.dst[0], inst.src[2]);
  if (inst.pipe() == isa::Pipe::smem) return inst.dst[0].width > 1;
  return inst.op == Opcode::v_mad_u64_u32 || inst.op == Opcode::v_mad_i64_i32;
}

/// Walks blocks backwards and emits a segment each time a value's life turns out to begin.
class Builder {
 public:
  Builder(const ir::Kernel& kernel, const ir::RegisterUnits& units)
      : kernel_(kernel),
        units_(units),
        cfg_(ir::build_cfg(kernel)),
        accesses_(kernel, ir::ExecMask(kernel, cfg_), units),
        live_(ir::compute_liveness(kernel, cfg_, units, accesses_)),
        dwords_((units.count() + 1) / 2),
        end_(units.count(), 0),
        first_def_(units.count(), 0) {}

  std::vector<Segments> run(std::vector<BlockGroups>& blocks) {
    std::uint32_t group = 1;
    for (const ir::Block& block : kernel_.blocks) {
      blocks.push_back(number(block, group));
      group = blocks.back().after;
    }
    for (std::uint32_t b = 0; b < kernel_.blocks.size(); ++b) block(b, blocks[b]);
    for (Segments& s : dwords_) normalise(s);
    return std::move(dwords_);
  }

 private:
  void emit(std::size_t unit, std::uint32_t begin, std::uint32_t end) {
    dwords_[unit / 2].push_back({begin, end});
  }

  void use(std::size_t u, std::uint32_t group) {
    if (end_[u] == 0) end_[u] = 2 * group + 1;
  }

  void define(std::size_t u, std::uint32_t group, bool ends) {
    const std::uint32_t at = 2 * group + 1;
    if (end_[u] == 0) {
      emit(u, at, at + 1);
    } else if (ends) {
      emit(u, at, end_[u]);
      end_[u] = 0;
    } else {
      first_def_[u] = at;
    }
  }

  void clobber_early(const isa::Instruction& inst, std::uint32_t group) {
    if (!destination_is_early(inst)) return;
    units_.for_each({inst.dst[0]}, [&](std::size_t u) { emit(u, 2 * group, 2 * group + 1); });
  }

  void instructions(std::uint32_t b, std::size_t begin, std::size_t end, std::uint32_t group) {
    const std::vector<ir::Instruction>& insts = kernel_.blocks[b].insts;
    for (std::size_t i = begin; i < end; ++i) {
      for (const ir::UnitAccesses::Write& write : accesses_.writes(b, i))
        define(write.unit, group, write.ends);
      clobber_early(insts[i].mi, group);
    }
    for (std::size_t i = begin; i < end; ++i)
      for (const std::uint32_t unit : accesses_.reads(b, i)) use(unit, group);
  }

  static BlockGroups number(const ir::Block& block, std::uint32_t first) {
    BlockGroups groups{first, first, {}};
    for (std::size_t i = 0; i < block.insts.size(); ++groups.after)
      for (const std::size_t end = i + ir::issue_group(block.insts, i); i < end; ++i)
        groups.of_inst.push_back(groups.after);
    if (block.loop) ++groups.after;
    return groups;
  }

  void block(std::uint32_t b, const BlockGroups& groups) {
    const ir::Block& block = kernel_.blocks[b];
    live_.live_out[b].for_each([&](std::size_t u) { end_[u] = 2 * groups.after; });
    if (block.loop) loop_end(*block.loop, groups.after - 1);
    for (std::size_t end = block.insts.size(); end > 0;) {
      std::size_t begin = end - 1;
      while (begin > 0 && groups.of_inst[begin - 1] == groups.of_inst[end - 1]) --begin;
      instructions(b, begin, end, groups.of_inst[begin]);
      end = begin;
    }
    close(b, 2 * groups.first);
  }

  void loop_end(const ir::CountedLoop& loop, std::uint32_t group) {
    const auto write = [&](std::size_t u) { define(u, group, true); };
    units_.for_each({isa::sgpr(ir::scc_register)}, write);
    for (const ir::Induction& i : loop.inductions) units_.for_each({i.reg}, write);
    for (const ir::Induction& i : loop.inductions)
      units_.for_each({i.reg}, [&](std::size_t u) { use(u, group); });
  }

  /// What is still live at the block's start came from before, unless nothing can have written it
  /// there: then its life begins at the block's first masked write.
  void close(std::uint32_t b, std::uint32_t begin) {
    for (std::size_t u = 0; u < end_.size(); ++u) {
      if (end_[u] == 0) continue;
      if (live_.live_in[b].test(u)) {
        emit(u, begin, end_[u]);
      } else if (first_def_[u] > begin && first_def_[u] < end_[u]) {
        emit(u, first_def_[u], end_[u]);
      }
      end_[u] = 0;
    }
  }

  const ir::Kernel& kernel_;
  const ir::RegisterUnits& units_;
  ir::Cfg cfg_;
  ir::UnitAccesses accesses_;
  ir::Liveness live_;
  std::vector<Segments> dwords_;
  std::vector<std::uint32_t> end_;        ///< exclusive end of the open segment; 0 = not live
  std::vector<std::uint32_t> first_def_;  ///< earliest masked write seen while walking back
};

}  // namespace

LiveRanges::LiveRanges(const ir::Kernel& kernel) : units_(kernel) {
  dwords_ = Builder(kernel, units_).run(blocks_);
  positions_ = 2 * (blocks_.empty() ? 1 : blocks_.back().after);
}

void normalise(Segments& segments) {
  std::ranges::sort(segments, {}, &Segment::begin);
  std::size_t kept = 0;
  for (const Segment& s : segments) {
    if (s.begin >= s.end) continue;
    if (kept > 0 && s.begin <= segments[kept - 1].end) {
      segments[kept - 1].end = std::max(segments[kept - 1].end, s.end);
    } else {
      segments[kept++] = s;
    }
  }
  segments.resize(kept);
}

}  // namespace wavejit::passes
