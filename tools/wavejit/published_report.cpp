// SPDX-License-Identifier: MIT
#include "tools/wavejit/published_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tools/wavejit/options.hpp"

namespace wavejit::tools {
namespace {

Json to_json(const model::Busy& b) {
  return {{"matrix", b.matrix}, {"valu", b.valu}, {"lds", b.lds}, {"vmem", b.vmem}, {"l2", b.l2}};
}

Json to_json(const WeightCounts& c) {
  return {{"over", c.loop ? "hot loop" : "whole kernel"},
          {"weights_of_a_lane", c.weights},
          {"valu", c.valu},
          {"matrix", c.matrix},
          {"valu_per_weight", c.valu_per_weight()},
          {"loads_of_128_bits", c.wide_loads},
          {"narrower_loads", c.narrow_loads},
          {"wide_only", c.wide_only()},
          {"scale_loads", c.scale_loads},
          {"vector_memory_waits", c.waits},
          {"waits_for_all", c.full_waits}};
}

Json to_json(const StageModel& s) {
  return {{"stage", s.stage},
          {"workgroups", s.workgroups},
          {"waves_of_a_workgroup", s.facts.waves},
          {"vgprs", s.facts.vgprs},
          {"agprs", s.facts.agprs},
          {"lds_bytes", s.facts.lds_bytes},
          {"waves_per_simd", s.occupancy.waves_per_simd},
          {"workgroups_of_the_fullest_unit", s.played},
          {"resident", s.resident},
          {"computing_us", s.computing_us},
          {"dram_us", s.dram_us},
          {"time_us", s.time_us()},
          {"ramp_us", s.alone.ramp_us},
          {"tail_us", s.alone.tail_us},
          {"dram_ramp_tail_us", s.strict_sum_us()},
          {"estimate_us", s.estimate_us ? Json(*s.estimate_us) : Json(nullptr)},
          {"dram_bytes", s.dram_bytes},
          {"busy", to_json(s.busy)},
          {"binds", s.binds},
          {"counts", s.counts ? to_json(*s.counts) : Json(nullptr)}};
}

Json published_json(const PublishedResult& r) {
  const bool decode = r.row.table == PublishedTable::decode;
  Json j{{"gpu", published_gpu}, {"us", r.row.microseconds()}, {"split_k", r.row.split_k}};
  j[decode ? "gigabytes_per_s" : "tflops"] = r.row.rate;
  const auto ratio = r.speedup(r.call.time_us()), strict = r.speedup(r.call.strict_us());
  j["ratio"] = ratio ? Json(*ratio) : Json(nullptr);
  j["strict_ratio"] = strict ? Json(*strict) : Json(nullptr);
  if (!decode && r.comparable()) j["share_of_published_peak"] = r.tflops() / published_peak_tflops;
  if (decode && r.comparable()) j["weight_bytes_over_published_rate"] = r.gigabytes(r.call_us()) / r.row.rate;
  return j;
}

Json to_json(const PublishedResult& r) {
  Json stages = Json::array();
  for (const StageModel& s : r.call.stages) stages.push_back(to_json(s));
  const double us = r.call.time_us(), strict = r.call.strict_us();
  return {{"target", r.target->name},
          {"table", name(r.row.table)},
          {"sets", r.row.sets},
          {"m", r.row.m},
          {"n", r.row.n},
          {"k", r.row.k},
          {"problem", templates::canonical(r.call.problem)},
          {"config", templates::canonical(r.call.config)},
          {"stages", stages},
          {"weight_bytes", r.call.weight_bytes},
          {"flop", r.call.flop},
          {"time_us", us},
          {"strict_us", strict},
          {"call_us", r.call_us()},
          {"gigabytes_per_s", r.gigabytes(us)},
          {"dram_share", r.dram_share(us)},
          {"strict_dram_share", r.dram_share(strict)},
          {"tflops", r.tflops()},
          {"peak_share", r.peak_share()},
          {"binds", r.longest().binds},
          {"published", published_json(r)}};
}

Json target_json(const target::Target& t) {
  return {{"target", t.name},
          {"clock_megahertz", t.timing.clock_megahertz},
          {"dram_gigabytes_per_s", t.timing.dram_gigabytes},
          {"peak_tflops", peak_tflops(t)},
          {"workgroup_start_clocks", t.timing.workgroup_start},
          {"load_clocks", t.timing.vmem_loaded_latency}};
}

std::vector<const target::Target*> targets_of(const std::vector<PublishedResult>& results) {
  std::vector<const target::Target*> targets;
  for (const PublishedResult& r : results)
    if (std::ranges::find(targets, r.target) == targets.end()) targets.push_back(r.target);
  return targets;
}

using Cells = std::vector<std::string>;

/// What binds, and where that is latency the busiest pipe.
std::string binds_text(const StageModel& s) {
  if (s.binds != "latency") return std::string(s.binds);
  const std::array<std::pair<std::string_view, double>, 4> pipes{
      std::pair{"matrix", s.busy.matrix},
      {"VALU", s.busy.valu},
      {"LDS", s.busy.lds},
      {"memory", std::max(s.busy.vmem, s.busy.l2)}};
  const auto& [pipe, share] = *std::ranges::max_element(pipes, {}, [](const auto& p) { return p.second; });
  return fmt::format("latency; {} {:.0f} %", pipe, 100 * share);
}

std::string each_stage(const CallModel& call, double (StageModel::*of)() const) {
  std::string text;
  for (const StageModel& s : call.stages)
    text += fmt::format("{}{:.1f}", text.empty() ? "" : " + ", (s.*of)());
  return text;
}

std::string ratio_text(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.2f}", *ratio) : "-";
}

const Cells common_head{"sets",   "M",           "N",        "K",
                        "Config", "VALU/weight", "128 bit",  "waits for all",
                        "VGPRs",  "waves/SIMD",  "played us"};

Cells common_cells(const PublishedResult& r) {
  const StageModel& s = r.call.stages.front();
  const WeightCounts c = s.counts.value_or(WeightCounts{});
  return {fmt::format("{}", r.row.sets),
          fmt::format("{}", r.row.m),
          fmt::format("{}", r.row.n),
          fmt::format("{}", r.row.k),
          brief(r.call.config),
          fmt::format("{:.2f}{}", c.valu_per_weight(), c.loop ? "" : "*"),
          c.wide_only() ? "yes" : fmt::format("no ({} of {})", c.narrow_loads, c.narrow_loads + c.wide_loads),
          fmt::format("{} of {}", c.full_waits, c.waits),
          fmt::format("{}", s.facts.vgprs),
          fmt::format("{:g}", s.occupancy.waves_per_simd),
          each_stage(r.call, &StageModel::time_us)};
}

void append(Cells& cells, Cells more) { std::ranges::move(more, std::back_inserter(cells)); }

Cells head_of(PublishedTable table) {
  Cells head = common_head;
  if (table == PublishedTable::decode) {
    append(head, {"DRAM + ramp + tail", "GB/s", "of DRAM", "strict", "binds", "published us, GB/s", "ratio",
                  "strict"});
  } else {
    append(head, {"TFLOP/s", "of peak", "estimate us", "binds", "published us, TFLOP/s", "ratio"});
  }
  return head;
}

Cells cells_of(const PublishedResult& r) {
  Cells cells = common_cells(r);
  const double us = r.call.time_us(), strict = r.call.strict_us();
  if (r.row.table == PublishedTable::decode) {
    append(cells, {each_stage(r.call, &StageModel::strict_sum_us), fmt::format("{:.0f}", r.gigabytes(us)),
                   fmt::format("{:.1f} %", 100 * r.dram_share(us)),
                   fmt::format("{:.1f} %", 100 * r.dram_share(strict)), binds_text(r.longest()),
                   fmt::format("{:.1f}, {:.0f}", r.row.microseconds(), r.row.rate), ratio_text(r.speedup(us)),
                   ratio_text(r.speedup(strict))});
  } else {
    const auto& estimate = r.call.stages.front().estimate_us;
    append(cells,
           {fmt::format("{:.0f}", r.tflops()), fmt::format("{:.1f} %", 100 * r.peak_share()),
            estimate ? fmt::format("{:.1f}", *estimate) : "-", binds_text(r.longest()),
            fmt::format("{:.1f}, {:.1f}", r.row.microseconds(), r.row.rate), ratio_text(r.speedup(us))});
  }
  return cells;
}

void print_table(const std::vector<Cells>& lines, bool markdown) {
  std::vector<std::size_t> widths(lines.front().size());
  for (const Cells& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  for (std::size_t n = 0; n < lines.size(); ++n) {
    std::string text;
    for (std::size_t i = 0; i < widths.size(); ++i)
      text += markdown ? fmt::format("| {} ", lines[n][i]) : fmt::format("{:<{}}  ", lines[n][i], widths[i]);
    while (!markdown && text.ends_with(' ')) text.pop_back();
    fmt::print("{}{}\n", text, markdown ? "|" : "");
    if (markdown && n == 0) {
      for (std::size_t i = 0; i < widths.size(); ++i) fmt::print("| --- ");
      fmt::print("|\n");
    }
  }
}

void print_assumptions(const std::vector<PublishedResult>& results, const PublishedOptions& o) {
  fmt::print(
      "Modelled, not measured. Group {}, {} scales and additive zero points. played us: played streams of a "
      "whole call, what its waves\nexecute, one kernel after the other; not the modelled time that explain "
      "prints. A pause of {:g} us before each kernel is counted in\nratios only. estimate us: the steady "
      "state of the kernel that reads the weights, without DRAM. VALU/weight, 128 bit, waits: of the\nhot "
      "loop; *: no loop, of the whole kernel. GB/s: of N K / 2 bytes of weights (published: of all tensors, "
      "workspace twice). strict:\nwith DRAM + ramp + tail where that is more. Published: MI350X, MSLK#420 "
      "(shared/published.md), whole calls; ratio: of times.\n",
      o.group, templates::name(o.scale_type), o.launch_gap_us);
  for (const target::Target* t : targets_of(results))
    fmt::print("{}: {:g} MHz, DRAM {:g} GB/s, bf16 peak {:.0f} TFLOP/s at that clock\n", t->name,
               t->timing.clock_megahertz, t->timing.dram_gigabytes, peak_tflops(*t));
}

}  // namespace

Json to_json(const std::vector<PublishedResult>& results, const PublishedOptions& o) {
  Json targets = Json::array(), rows = Json::array();
  for (const target::Target* t : targets_of(results)) targets.push_back(target_json(*t));
  for (const PublishedResult& r : results) rows.push_back(to_json(r));
  return {{"quantity", "time_us: played streams of a whole call, not the modelled time that explain prints"},
          {"source", "MSLK#420, MI350X, as shared/published.md has it; modelled figures are not measured"},
          {"published_peak_tflops", published_peak_tflops},
          {"published_peak_gigabytes_per_s", published_peak_gigabytes},
          {"group", o.group},
          {"scale_type", templates::name(o.scale_type)},
          {"launch_gap_us", o.launch_gap_us},
          {"targets", targets},
          {"rows", rows}};
}

void print_published(const std::vector<PublishedResult>& results, const PublishedOptions& options,
                     bool markdown) {
  print_assumptions(results, options);
  for (std::size_t i = 0; i < results.size();) {
    const PublishedResult& first = results[i];
    fmt::print("\n{} {}\n{}", first.target->name, name(first.row.table), markdown ? "\n" : "");
    std::vector<Cells> lines{head_of(first.row.table)};
    for (; i < results.size() && results[i].target == first.target && results[i].row.table == first.row.table;
         ++i)
      lines.push_back(cells_of(results[i]));
    print_table(lines, markdown);
  }
}

}  // namespace wavejit::tools
