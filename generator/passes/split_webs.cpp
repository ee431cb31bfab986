// SPDX-License-Identifier: MIT
#include "generator/passes/split_webs.hpp"

#include <algorithm>
#include <numeric>

namespace wavejit::passes {
namespace {

using isa::Operand;

/// The pieces of one tuple's life: intervals, and which of them are one web.
struct Webs {
  Segments intervals;
  std::vector<std::uint32_t> parent;
  std::vector<std::uint32_t> name;  ///< tuple id per interval, filled last

  std::uint32_t root(std::uint32_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  }
  /// Index of the interval that holds `position`, or -1.
  [[nodiscard]] int find(std::uint32_t position) const {
    const auto after = std::ranges::upper_bound(intervals, position, {}, &Segment::begin);
    if (after == intervals.begin() || position >= std::prev(after)->end) return -1;
    return static_cast<int>(after - intervals.begin()) - 1;
  }
};

class Splitter {
 public:
  Splitter(ir::Kernel& kernel, const LiveRanges& ranges)
      : kernel_(kernel), ranges_(ranges), webs_(kernel.vregs.size()) {}

  void run() {
    const ir::Cfg cfg = ir::build_cfg(kernel_);
    for (std::uint32_t id = 0; id < webs_.size(); ++id)
      if (!kernel_.vregs[id].fixed) collect(id, cfg);
    for (std::uint32_t id = 0; id < webs_.size(); ++id) rename(id);
    for (std::size_t b = 0; b < kernel_.blocks.size(); ++b) rewrite(kernel_.blocks[b], ranges_.groups(b));
  }

 private:
  void collect(std::uint32_t id, const ir::Cfg& cfg) {
    Webs& w = webs_[id];
    for (unsigned d = 0; d < kernel_.vregs[id].width; ++d) {
      const Segments& s = ranges_.of_vreg(id, d);
      w.intervals.insert(w.intervals.end(), s.begin(), s.end());
    }
    normalise(w.intervals);
    w.parent.resize(w.intervals.size());
    std::iota(w.parent.begin(), w.parent.end(), 0U);
    if (w.intervals.size() < 2) return;
    for (std::size_t from = 0; from < cfg.successors.size(); ++from)
      for (const std::uint32_t to : cfg.successors[from]) {
        const int a = w.find(2 * ranges_.groups(from).after - 1), b = w.find(2 * ranges_.groups(to).first);
        if (a >= 0 && b >= 0)
          w.parent[w.root(static_cast<std::uint32_t>(a))] = w.root(static_cast<std::uint32_t>(b));
      }
  }

  /// The web of the first interval keeps the tuple's id.
  void rename(std::uint32_t id) {
    Webs& w = webs_[id];
    w.name.assign(w.intervals.size(), 0);
    std::vector<std::int64_t> id_of_root(w.intervals.size(), -1);
    if (!w.intervals.empty()) id_of_root[w.root(0)] = id;
    for (std::uint32_t i = 0; i < w.intervals.size(); ++i) {
      std::int64_t& name = id_of_root[w.root(i)];
      if (name < 0) {
        name = static_cast<std::int64_t>(kernel_.vregs.size());
        kernel_.vregs.push_back(ir::VirtualRegister(kernel_.vregs[id]));
      }
      w.name[i] = static_cast<std::uint32_t>(name);
    }
  }

  void rewrite(Operand& o, std::uint32_t position) const {
    if (!o.is_reg() || !o.is_virtual) return;
    const Webs& w = webs_[o.index];
    const int i = w.find(position);
    if (i >= 0) o.index = w.name[static_cast<std::size_t>(i)];
  }

  void rewrite(ir::Block& block, const BlockGroups& groups) const {
    for (std::size_t i = 0; i < block.insts.size(); ++i) {
      isa::Instruction& mi = block.insts[i].mi;
      for (unsigned s = 0; s < mi.src_count; ++s) rewrite(mi.src[s], 2 * groups.of_inst[i]);
      for (unsigned d = 0; d < mi.dst_count; ++d) rewrite(mi.dst[d], 2 * groups.of_inst[i] + 1);
    }
    if (block.loop)
      for (ir::Induction& i : block.loop->inductions) rewrite(i.reg, 2 * (groups.after - 1));
  }

  ir::Kernel& kernel_;
  const LiveRanges& ranges_;
  std::vector<Webs> webs_;
};

}  // namespace

void split_webs(ir::Kernel& kernel, const LiveRanges& ranges) { Splitter(kernel, ranges).run(); }

}  // namespace wavejit::passes
