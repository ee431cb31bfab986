// SPDX-License-Identifier: MIT
#include "tools/wavejit/run_report.hpp"

#include <fmt/format.h>

#include <vector>

#include "tools/wavejit/run_any.hpp"

namespace wavejit::tools {
namespace {

std::vector<const harness::StageReport*> stages_of(const harness::Report& r) {
  std::vector<const harness::StageReport*> all{&r};
  for (const harness::StageReport& s : r.later) all.push_back(&s);
  return all;
}

/// Counts of all stages, as of one run.
sim::RunReport sum(const std::vector<const harness::StageReport*>& stages) {
  sim::RunReport all = stages.front()->run;
  for (std::size_t i = 1; i < stages.size(); ++i) {
    const sim::RunReport& one = stages[i]->run;
    all.wave_instructions += one.wave_instructions;
    all.seconds += one.seconds;
    all.cpu_seconds += one.cpu_seconds;
    all.lds_conflict_cycles += one.lds_conflict_cycles;
    all.distinct_faults += one.distinct_faults;
  }
  return all;
}

Json describe(const harness::StageReport& s, std::size_t stage) {
  return {{"stage", stage},
          {"kernel", s.kernel},
          {"grid", s.launch.grid},
          {"block", s.launch.block},
          {"card", to_json(s.card)},
          {"wave_instructions", s.run.wave_instructions},
          {"distinct_faults", s.run.distinct_faults}};
}

void print_distance(const oracle::Verdict& v) {
  const oracle::Metrics& m = v.metrics;
  const oracle::Bars& b = v.bars;
  fmt::print("distance to the oracle over {} elements:\n", m.elements);
  fmt::print("  1 - cosine          {:.2e}   (no bar)\n", m.one_minus_cosine);
  fmt::print("  max |e| / rms       {:.2e}   (no bar)\n", m.max_error_of_rms);
  fmt::print("  NMSE                {:.2e}   (bar {:.1e} for so many elements)\n", m.nmse, b.nmse);
  fmt::print("  worst row or column {:.2f} of its bar\n", m.worst_line_nmse);
  fmt::print("  gain                {:.5f}    (bar {:.5f} .. {:.5f})\n", m.gain, b.gain_low, b.gain_high);
  fmt::print("  worst element       {:.2f} of its bar {:g} |ref| + {:g} size, at ({}, {}): {:g} for {:g}\n",
             m.worst_error, b.relative, b.of_size, m.worst_row, m.worst_column, m.worst_got,
             m.worst_reference);
}

}  // namespace

Json to_json(const harness::Report& r) {
  const auto stages = stages_of(r);
  const sim::RunReport run = sum(stages);
  Json faults = Json::array();
  for (std::size_t i = 0; i < stages.size(); ++i)
    for (const sim::Fault& fault : stages[i]->run.faults) {
      Json j = to_json(fault);
      if (stages.size() > 1) j["stage"] = i;
      faults.push_back(std::move(j));
    }
  Json j = {{"kernel", r.kernel},
            {"target", r.card.target},
            {"m", r.m},
            {"problem", to_json(r.problem)},
            {"config", to_json(r.config)},
            {"grid", r.launch.grid},
            {"block", r.launch.block},
            {"card", to_json(r.card)},
            {"ok", r.ok()},
            {"workgroups", r.tiles.size()},
            {"workgroups_in_all", r.tiles_in_all},
            {"wave_instructions", run.wave_instructions},
            {"seconds", run.seconds},
            {"cpu_seconds", run.cpu_seconds},
            {"wave_instructions_per_second", 1e6 * millions_per_second(run)},
            {"lds_conflict_cycles", run.lds_conflict_cycles},
            {"distinct_faults", run.distinct_faults},
            {"faults", faults},
            {"unwritten_bytes", r.unwritten_bytes},
            {"stray_bytes", r.stray_bytes}};
  if (stages.size() > 1) {
    Json list = Json::array();
    for (std::size_t i = 0; i < stages.size(); ++i) list.push_back(describe(*stages[i], i));
    j["stages"] = std::move(list);
  }
  if (r.verdict) j["oracle"] = to_json(*r.verdict);
  return j;
}

void print_text(const harness::Report& r, bool whole_card) {
  const auto stages = stages_of(r);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (stages.size() > 1) fmt::print("stage {}: ", i);
    fmt::print("{}\n", whole_card ? harness::to_text(stages[i]->card) : harness::summary(stages[i]->card));
  }
  const sim::RunReport run = sum(stages);
  fmt::print(
      "ran {} of {} {} for m = {}: {} wave-instructions in {:.2f} s, {:.2f} million per second, {} "
      "LDS conflict cycles\n",
      r.tiles.size(), r.tiles_in_all, stages.size() > 1 ? "tiles, all kernels" : "workgroups", r.m,
      run.wave_instructions, run.seconds, millions_per_second(run), run.lds_conflict_cycles);
  if (r.verdict) print_distance(*r.verdict);
  if (r.ok()) {
    fmt::print("verdict: right; no fault, every element of the tiles stored and nothing else\n");
  } else {
    fmt::print("verdict: WRONG, {} distinct faults\n{}\n", run.distinct_faults, r.reason());
  }
}

}  // namespace wavejit::tools
