// SPDX-License-Identifier: MIT
#include "tools/wavejit/explain_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "generator/model/loops.hpp"
#include "tools/wavejit/model_kernel.hpp"

namespace wavejit::tools {
namespace {

constexpr model::RunOptions steady{
    .warm_iterations = settled.warm_iterations, .iterations = settled.iterations, .trace_events = 4'000'000};

/// Workgroups that fill the machine once, for a kernel of which no launch is known.
model::LaunchShape full_machine(unsigned resident, const target::Target& target) {
  model::LaunchShape s;
  s.workgroups = std::uint64_t{resident} * target.compute_units;
  s.iterations = 100;
  return s;
}

std::vector<std::size_t> conflicting(const Report& r) {
  std::vector<std::size_t> list;
  for (const std::size_t i : r.stretches.body) {
    const auto c = model::bank_conflicts(std::span(&r.subject.code[i], 1), *r.subject.target);
    if (c.matrix + c.valu > 0) list.push_back(i);
  }
  return list;
}

std::vector<AccessRow> accesses_of(const Report& r) {
  std::map<std::size_t, const model::AccessNote*> notes;
  for (const model::AccessNote& n : r.subject.notes) notes.emplace(n.index, &n);
  std::vector<AccessRow> rows;
  for (const model::Step& s : r.prepared.body.list) {
    const bool lds = s.unit == model::Unit::lds;
    if (!lds && s.unit != model::Unit::vmem_load && s.unit != model::Unit::vmem_store) continue;
    AccessRow row{.index = s.index, .lds = lds, .store = r.subject.code[s.index].has(isa::flag::store)};
    row.asked = row.moved = s.bytes;
    if (const auto found = notes.find(s.index); found != notes.end()) {
      row.asked = found->second->asked;
      row.lines = found->second->lines;
      row.conflict_clocks = found->second->conflict_clocks;
      row.moved = lds ? row.asked : found->second->bytes;
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

double Report::matrix_per_simd() const {
  return mix.matrix * static_cast<double>(residency.waves) / subject.target->simds_per_wgp;
}

double Report::useful() const { return (1 - estimate.wasted_rows) * (1 - estimate.wasted_columns); }

Result<Report> analyse(Subject subject) {
  Report r;
  r.subject = std::move(subject);
  const Subject& s = r.subject;
  r.stretches = model::hot_stretches(s.code);
  r.looped = model::hot_loop(s.code).has_value();
  r.prepared = model::prepare(s.code, r.stretches, s.notes, *s.target);
  const model::Occupancy fits = model::occupancy(s.facts, *s.target);
  const model::LaunchShape shape = s.shape.value_or(full_machine(fits.workgroups, *s.target));
  auto e = model::estimate(r.prepared, s.facts, shape, *s.target, settled);
  if (!e) return std::unexpected(e.error());
  r.estimate = *std::move(e);
  const double units = s.target->generation == target::Generation::gfx9
                           ? s.target->compute_units
                           : s.target->compute_units * 2.0 / s.target->simds_per_wgp;
  const auto most = static_cast<unsigned>(std::ceil(static_cast<double>(shape.workgroups) / units));
  r.residency = {std::min(fits.workgroups, std::max(most, 1U)), s.facts.waves, s.facts.wgp_mode};
  r.estimate.loop = model::steady_state(r.prepared.body, r.residency, *s.target, steady);
  r.iterations = steady.iterations;
  std::vector<isa::Instruction> body;
  for (const std::size_t i : r.stretches.body) body.push_back(s.code[i]);
  r.mix = model::mix(body);
  r.banks = model::bank_conflicts(body, *s.target);
  r.bank_conflicts = conflicting(r);
  r.registers = model::register_map(s.code, r.stretches, *s.target);
  r.missing_hints = model::missing_hints(s.code, r.stretches.body, *s.target);
  r.accesses = accesses_of(r);
  r.time = model::account(r.estimate.loop, r.prepared.body, r.residency, *s.target, r.iterations);
  r.limit = model::matrix_only(r.prepared.body, r.residency, *s.target);
  for (std::size_t i = 0; i < model::costs; ++i) {
    const auto cost = static_cast<model::Cost>(i);
    r.without.push_back(
        {cost, model::clocks_without(cost, r.prepared.body, r.residency, *s.target, settled)});
  }
  return r;
}

std::string place_of(const Report& r, std::size_t index) {
  const lower::DecodedInstruction& i = r.subject.kernel.instructions[index];
  if (i.line > 0) return fmt::format("line {}", i.line);
  const std::uint64_t first = r.subject.kernel.instructions.front().address;
  return fmt::format("+{:#x}", i.address - first);
}

std::string text_of(const Report& r, std::size_t index) {
  std::string text = r.subject.kernel.instructions[index].text;
  std::ranges::replace(text, '\t', ' ');
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? text : text.substr(begin);
}

}  // namespace wavejit::tools
