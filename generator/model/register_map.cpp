// SPDX-License-Identifier: MIT
#include "generator/model/register_map.hpp"

#include <algorithm>
#include <bitset>

#include "generator/ir/register_access.hpp"

namespace wavejit::model {
namespace {

constexpr std::size_t most = 512;
using Set = std::bitset<most>;

struct Touched {
  Set reads, writes;  ///< writes: both halves of the register
  Set touched;
};

Touched touched(const isa::Instruction& inst, const target::Target& target) {
  Touched t;
  const ir::RegisterAccesses accesses = ir::register_accesses(inst, target);
  for (const ir::RegisterAccess& a : accesses.reads())
    for (unsigned d = 0; a.reg.is_vgpr() && d < a.reg.width && a.reg.index + d < most; ++d)
      t.reads.set(a.reg.index + d);
  for (const ir::RegisterAccess& a : accesses.writes())
    for (unsigned d = 0; a.reg.is_vgpr() && d < a.reg.width && a.reg.index + d < most; ++d) {
      t.touched.set(a.reg.index + d);
      if (a.halves == ir::both_halves) t.writes.set(a.reg.index + d);
    }
  return t;
}

/// Live before a stretch of straight code, with what lives behind it. A VOPD pair reads before it writes,
/// which is how its halves stand in the list but for a register that x writes and y reads.
Set live_before(std::span<const isa::Instruction> code, std::span<const std::size_t> stretch, Set live,
                const target::Target& target, std::vector<Set>* each = nullptr) {
  if (each != nullptr) each->assign(stretch.size(), {});
  for (std::size_t i = stretch.size(); i-- > 0;) {
    const Touched t = touched(code[stretch[i]], target);
    live &= ~t.writes;
    live |= t.reads;
    if (each != nullptr) (*each)[i] = live;
  }
  return live;
}

}  // namespace

unsigned RegisterMap::peak() const {
  unsigned best = 0;
  for (std::size_t i = 0; !rows.empty() && i < rows.front().live.size(); ++i)
    best = std::max(
        best, static_cast<unsigned>(std::ranges::count_if(rows, [i](const Row& r) { return r.live[i]; })));
  return best;
}

unsigned RegisterMap::peak(unsigned bank) const {
  RegisterMap one{banks, {}};
  for (const Row& r : rows)
    if (banks > 0 && r.vgpr % banks == bank) one.rows.push_back(r);
  return one.peak();
}

RegisterMap register_map(std::span<const isa::Instruction> code, const Stretches& stretches,
                         const target::Target& target) {
  const Set after = live_before(code, stretches.epilogue, {}, target);
  const Set first = live_before(code, stretches.body, after, target);
  std::vector<Set> live;
  live_before(code, stretches.body, after | first, target, &live);
  RegisterMap map{target.vgpr_banks, {}};
  std::vector<Touched> each;
  Set any = after | first;
  for (std::size_t i = 0; i < stretches.body.size(); ++i) {
    each.push_back(touched(code[stretches.body[i]], target));
    any |= live[i] | each[i].touched;
  }
  for (std::uint32_t v = 0; v < most; ++v) {
    if (!any[v]) continue;
    RegisterMap::Row row{v, {}, {}, {}};
    for (std::size_t i = 0; i < live.size(); ++i) {
      row.live.push_back(live[i][v]);
      row.read.push_back(each[i].reads[v]);
      row.written.push_back(each[i].touched[v]);
    }
    map.rows.push_back(std::move(row));
  }
  return map;
}

}  // namespace wavejit::model
