// SPDX-License-Identifier: MIT
// The tables of `wavejit explain` that text, JSON and page share.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tools/wavejit/explain_output.hpp"

namespace wavejit::tools {
namespace {

bool is_cdna(const Report& r) { return r.subject.target->generation == target::Generation::gfx9; }

std::string registers(const Report& r) {
  std::vector<std::string> banks;
  for (unsigned b = 0; b < r.registers.banks; ++b) banks.push_back(std::to_string(r.registers.peak(b)));
  std::string text = fmt::format("{} VGPRs", r.subject.facts.vgprs);
  if (r.subject.facts.agprs > 0) text += fmt::format(" + {} AGPRs", r.subject.facts.agprs);
  text += fmt::format(", at most {} live in the loop", r.registers.peak());
  if (!banks.empty()) text += fmt::format(" (by bank {})", fmt::join(banks, ", "));
  return text +
         fmt::format("; {} SGPRs; {} bytes of LDS", r.subject.kernel.sgpr_count, r.subject.facts.lds_bytes);
}

std::string occupancy(const Report& r) {
  const model::Occupancy& o = r.estimate.occupancy;
  std::string text =
      fmt::format("{} workgroups of {} waves of {} lanes on a {}: {:.3g} waves per SIMD, limited by {}",
                  o.workgroups, r.subject.facts.waves, r.subject.target->wave_size, is_cdna(r) ? "CU" : "WGP",
                  o.waves_per_simd, o.limit);
  if (r.residency.workgroups < o.workgroups)
    text += fmt::format("; the launch has only {} for it", r.residency.workgroups);
  return text;
}

std::string instructions(const Report& r) {
  const model::Mix& m = r.mix;
  std::string text = fmt::format("{}{} instructions: {} matrix, {} other VALU",
                                 r.looped ? "" : "none, the whole kernel stands for it: ", m.total(),
                                 m.matrix, m.other_valu());
  if (m.compare_select > 0) text += fmt::format(" ({} of them compare/select)", m.compare_select);
  text += fmt::format(
      ", {} scalar, {} + {} LDS load + store, {} + {} memory load + store, {} barrier{}, {} wait{}",
      m.salu + m.smem, m.lds_load, m.lds_store, m.vmem_load, m.vmem_store, m.barrier,
      m.barrier == 1 ? "" : "s", m.wait, m.wait == 1 ? "" : "s");
  if (m.matrix > 0)
    text += fmt::format("; {:.2f} other VALU per matrix instruction",
                        m.other_valu() / static_cast<double>(m.matrix));
  return text;
}

std::string conflicts(const Report& r) {
  std::string text;
  if (r.registers.banks == 0) {
    text = "no published rule for register banks";
  } else {
    text = fmt::format("register banks: {} of {} matrix, {} of the three-source VALU instructions",
                       r.banks.matrix, r.mix.matrix, r.banks.valu);
  }
  if (!r.subject.simulated) return text + "; LDS: not known, no addresses";
  double clocks = 0;
  unsigned accesses = 0, with = 0;
  for (const AccessRow& a : r.accesses) {
    if (!a.lds) continue;
    clocks += a.conflict_clocks;
    ++accesses;
    with += a.conflict_clocks > 0 ? 1 : 0;
  }
  return text + fmt::format("; LDS: {:.3g} clocks per iteration of a wave, in {} of {} accesses (simulated)",
                            clocks, with, accesses);
}

std::string memory(const Report& r) {
  double asked = 0, moved = 0, loads = 0;
  for (const AccessRow& a : r.accesses) {
    if (a.lds || a.store) continue;
    asked += a.asked;
    moved += a.moved;
    loads += 1;
  }
  if (loads == 0) return "no loads in the loop";
  std::string text = fmt::format("{:.0f} loads of {:.0f} bytes each on average", loads, asked / loads);
  if (r.subject.simulated)
    text += fmt::format("; the 128-byte lines that they touch hold {:.0f} bytes: {:.0f} % used", moved,
                        moved > 0 ? 100 * asked / moved : 0);
  return text;
}

std::string iteration(const Report& r) {
  std::string text = fmt::format("{:.0f} clocks", r.clocks());
  if (r.limit > 0)
    text += fmt::format("; the matrix instructions alone {:.0f} (ratio {:.3f}, duty {:.2f})", r.limit,
                        r.clocks() / r.limit, r.duty());
  return text + fmt::format("; one wave's own iteration takes {:.0f}; binds: {}", r.estimate.loop.latency,
                            r.estimate.binds);
}

std::string launch(const Report& r) {
  if (!r.subject.shape) return "not known: no launch was given";
  const model::Estimate& e = r.estimate;
  std::string all;
  if (r.subject.kernels > 1)
    all = fmt::format("{:.1f} us for {} kernels; this one ", e.time_us + r.subject.others_us,
                      r.subject.kernels);
  return all + fmt::format(
                   "{:.1f} us, {:.1f} TFLOP/s at {:.0f} MHz; {} workgroups of {} iterations, {:.2f} rounds; "
                   "{:.0f} clocks "
                   "a "
                   "workgroup outside the loop",
                   e.time_us, e.tflops, r.subject.target->timing.clock_megahertz, r.subject.shape->workgroups,
                   e.iterations, e.rounds, e.overhead_cycles);
}

std::string waste(const Report& r) {
  if (!r.subject.shape || !r.subject.shape->tiling) return "not known";
  const model::Tiling& t = *r.subject.shape->tiling;
  return fmt::format(
      "{:.1f} % of the tiles' rows ({} of {}) and {:.1f} % of their columns ({} of {}) are outside",
      100 * r.estimate.wasted_rows, t.grid_rows() * t.tile_rows - t.rows, t.grid_rows() * t.tile_rows,
      100 * r.estimate.wasted_columns, t.grid_columns() * t.tile_columns - t.columns,
      t.grid_columns() * t.tile_columns);
}

std::string traffic(const Report& r) {
  if (!r.subject.shape) return "not known: no launch was given";
  const model::Estimate& e = r.estimate;
  if (!r.subject.shape->tiling || !r.subject.shape->tiling->rows_fastest)
    return fmt::format("{:.1f} MB, each tensor once: {:.0f} % of the launch at DRAM's rate",
                       e.traffic.dram / 1e6, 100 * e.dram_cycles / e.launch_cycles);
  return fmt::format(
      "{:.1f} MB asked of level 2, {:.1f} MB of the MALL, {:.1f} MB of DRAM (each tensor once: "
      "{:.1f}): {:.0f} % of the launch",
      e.traffic.asked / 1e6, e.traffic.mall / 1e6, e.traffic.dram / 1e6, r.subject.shape->dram_bytes / 1e6,
      100 * e.dram_cycles / e.launch_cycles);
}

std::string hints(const Report& r) {
  if (!r.subject.target->has_delay_alu) return "the target has none";
  if (r.missing_hints.empty()) return "no VALU instruction of the loop stalls the pipe for want of one";
  const unsigned clocks = std::accumulate(r.missing_hints.begin(), r.missing_hints.end(), 0U,
                                          [](unsigned sum, const auto& h) { return sum + h.clocks; });
  return fmt::format("{} VALU instructions stall the pipe for want of one, {} clocks of a wave's iteration",
                     r.missing_hints.size(), clocks);
}

}  // namespace

std::vector<CardLine> card_lines(const Report& r) {
  return {{"registers", registers(r)}, {"occupancy", occupancy(r)},
          {"loop", instructions(r)},   {"conflicts", conflicts(r)},
          {"memory", memory(r)},       {"s_delay_alu", hints(r)},
          {"iteration", iteration(r)}, {"launch (modelled)", launch(r)},
          {"tiles", waste(r)},         {"traffic", traffic(r)}};
}

std::vector<ClockRow> clock_rows(const Report& r) {
  std::vector<ClockRow> rows;
  for (std::size_t i = 0; i < model::reasons; ++i) {
    constexpr double nothing = 0.005;
    if (r.time.pipe[i] < nothing && r.time.wave[i] < nothing) continue;
    rows.push_back({std::string(name(static_cast<model::Reason>(i))), r.time.pipe[i], r.time.wave[i]});
  }
  std::ranges::stable_sort(rows, [](const ClockRow& a, const ClockRow& b) {
    return std::pair(a.pipe, a.wave) > std::pair(b.pipe, b.wave);
  });
  return rows;
}

std::vector<model::InstructionTime> costliest(const Report& r, std::size_t most) {
  std::vector<model::InstructionTime> list = r.time.instructions;
  // Tenths of a clock of an idle pipe first: a wave may wait long behind another's work and cost nothing.
  std::ranges::stable_sort(list, [](const auto& a, const auto& b) {
    const auto key = [](const auto& t) { return std::pair(std::round(10 * t.idle), t.stall); };
    return key(a) > key(b);
  });
  list.resize(std::min(list.size(), most));
  std::erase_if(list, [](const auto& t) { return t.stall <= 0; });
  return list;
}

std::vector<std::pair<std::string, double>> pipe_shares(const Report& r) {
  const model::Busy& b = r.estimate.loop.busy;
  return {{"matrix", b.matrix}, {"other VALU", b.valu},    {"scalar", b.salu},
          {"LDS", b.lds},       {"vector memory", b.vmem}, {"level-2 cache", b.l2}};
}

}  // namespace wavejit::tools
