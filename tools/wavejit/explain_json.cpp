// SPDX-License-Identifier: MIT
#include "tools/wavejit/explain_output.hpp"

namespace wavejit::tools {
namespace {

Json shares(const model::Shares& s) {
  Json j = Json::object();
  for (std::size_t i = 0; i < model::reasons; ++i) j[std::string(name(static_cast<model::Reason>(i)))] = s[i];
  return j;
}

Json instructions(const Report& r) {
  Json list = Json::array();
  for (const model::InstructionTime& t : r.time.instructions)
    list.push_back({{"index", t.index},
                    {"line", r.subject.kernel.instructions[t.index].line},
                    {"text", text_of(r, t.index)},
                    {"stall_clocks", t.stall},
                    {"reason", name(t.worst)},
                    {"idle_pipe_clocks", t.idle}});
  return list;
}

Json accesses(const Report& r) {
  Json list = Json::array();
  for (const AccessRow& a : r.accesses)
    list.push_back({{"index", a.index},
                    {"text", text_of(r, a.index)},
                    {"kind", a.lds     ? "lds"
                             : a.store ? "store"
                                       : "load"},
                    {"bytes_asked", a.asked},
                    {"bytes_moved", a.moved},
                    {"lines", a.lines},
                    {"conflict_clocks", a.conflict_clocks}});
  return list;
}

Json loop(const Report& r) {
  Json hints = Json::array(), pipes = Json::object(), banks = Json::array();
  for (const model::MissingHint& h : r.missing_hints)
    hints.push_back({{"index", h.index}, {"producer", h.producer}, {"clocks", h.clocks}});
  for (const auto& [pipe, share] : pipe_shares(r)) pipes[pipe] = share;
  for (unsigned b = 0; b < r.registers.banks; ++b) banks.push_back(r.registers.peak(b));
  return {{"whole_kernel", !r.looped},
          {"instructions", r.mix.total()},
          {"matrix", r.mix.matrix},
          {"other_valu", r.mix.other_valu()},
          {"barriers", r.mix.barrier},
          {"live_vgprs", r.registers.peak()},
          {"live_vgprs_by_bank", banks},
          {"bank_conflicts", {{"matrix", r.banks.matrix}, {"valu", r.banks.valu}, {"at", r.bank_conflicts}}},
          {"missing_delay_hints", hints},
          {"clocks", r.clocks()},
          {"matrix_alone", r.limit},
          {"wave_clocks", r.estimate.loop.latency},
          {"binds", r.estimate.binds},
          {"busy", pipes}};
}

}  // namespace

Json to_json(const Report& r) {
  Json without = Json::array();
  for (const WhatIf& w : r.without)
    without.push_back(
        {{"what", model::without(w.cost)}, {"clocks", w.clocks}, {"won", 1 - w.clocks / r.clocks()}});
  const model::Occupancy& o = r.estimate.occupancy;
  Json j = {{"name", r.subject.name},
            {"about", r.subject.about},
            {"target", r.subject.target->name},
            {"kernel", r.subject.kernel.name},
            {"wave_size", r.subject.target->wave_size},
            {"waves", r.subject.facts.waves},
            {"addresses_simulated", r.subject.simulated},
            {"vgprs", r.subject.facts.vgprs},
            {"sgprs", r.subject.kernel.sgpr_count},
            {"lds_bytes", r.subject.facts.lds_bytes},
            {"occupancy",
             {{"workgroups", o.workgroups}, {"waves_per_simd", o.waves_per_simd}, {"limited_by", o.limit}}},
            {"loop", loop(r)}};
  if (r.subject.shape)
    j["launch"] = {{"time_us", r.estimate.time_us + r.subject.others_us},
                   {"kernels", r.subject.kernels},
                   {"kernel_us", r.estimate.time_us},
                   {"tflops", r.estimate.tflops},
                   {"workgroups", r.subject.shape->workgroups},
                   {"iterations", r.estimate.iterations},
                   {"rounds", r.estimate.rounds},
                   {"wasted_rows", r.estimate.wasted_rows},
                   {"wasted_columns", r.estimate.wasted_columns},
                   {"useful", r.useful()},
                   {"bytes",
                    {{"level_2", r.estimate.traffic.asked},
                     {"mall", r.estimate.traffic.mall},
                     {"dram", r.estimate.traffic.dram},
                     {"each_tensor_once", r.subject.shape->dram_bytes}}},
                   {"memory_share", r.estimate.dram_cycles / r.estimate.launch_cycles}};
  j["pipe_clocks"] = shares(r.time.pipe);
  j["wave_clocks"] = shares(r.time.wave);
  j["without"] = without;
  j["accesses"] = accesses(r);
  j["instructions"] = instructions(r);
  return j;
}

}  // namespace wavejit::tools
