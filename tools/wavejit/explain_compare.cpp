// SPDX-License-Identifier: MIT
// Two kernels for the same work side by side. Iterations of unlike tiles are compared by what they do: clocks
// of a SIMD per matrix instruction.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tools/wavejit/explain_output.hpp"

namespace wavejit::tools {
namespace {

struct Part {
  std::string label;
  double mine = 0, theirs = 0;
  [[nodiscard]] double saved() const { return theirs - mine; }
};

double per_matrix(const Report& r, double clocks) {
  return r.matrix_per_simd() > 0 ? clocks / r.matrix_per_simd() : clocks;
}

std::vector<Part> parts(const Report& mine, const Report& theirs) {
  std::vector<Part> list;
  for (std::size_t i = 0; i < model::reasons; ++i) {
    const double a = per_matrix(mine, mine.time.pipe[i]), b = per_matrix(theirs, theirs.time.pipe[i]);
    if (a > 0 || b > 0) list.push_back({std::string(name(static_cast<model::Reason>(i))), a, b});
  }
  std::ranges::stable_sort(list, [](const Part& a, const Part& b) { return a.saved() > b.saved(); });
  return list;
}

double bytes_moved(const Report& r) {
  double bytes = 0;
  for (const AccessRow& a : r.accesses)
    if (!a.lds && !a.store) bytes += a.moved;
  return r.mix.matrix > 0 ? bytes / r.mix.matrix : bytes;
}

bool timed(const Report& a, const Report& b) { return a.subject.shape && b.subject.shape; }

std::string speed(const Report& mine, const Report& theirs) {
  const bool launches = timed(mine, theirs);
  const double a = launches ? mine.estimate.time_us : per_matrix(mine, mine.clocks());
  const double b = launches ? theirs.estimate.time_us : per_matrix(theirs, theirs.clocks());
  const char* unit = launches ? "us a launch" : "clocks a matrix instruction";
  return fmt::format("Modelled, {} takes {:.4g} {} and {} {:.4g}: {} {:.1f} % of the time (ratio {:.3f}).",
                     mine.subject.name, a, unit, theirs.subject.name, b, a < b ? "only" : "it is",
                     100 * a / b, a / b);
}

/// The parts that make the difference, largest first, until nine tenths of it are told.
std::string why(const Report& mine, const Report& theirs) {
  const double a = per_matrix(mine, mine.clocks()), b = per_matrix(theirs, theirs.clocks());
  const bool faster = a < b;
  std::vector<Part> list = parts(mine, theirs);
  if (!faster) std::ranges::reverse(list);
  std::vector<std::string> told;
  double sum = 0;
  for (const Part& p : list) {
    constexpr double enough = 0.9;
    const double part = faster ? p.saved() : -p.saved();
    if (part <= 0 || sum > enough * std::abs(b - a)) break;
    sum += part;
    told.push_back(fmt::format("{:.1f} on {} ({:.1f}, theirs {:.1f})", part, p.label, p.mine, p.theirs));
  }
  return fmt::format(
      "In the loop a SIMD needs {:.1f} clocks per matrix instruction, theirs {:.1f}; it {} {}.", a, b,
      faster ? "saves" : "loses",
      told.empty() ? "nothing worth a word" : fmt::format("{}", fmt::join(told, ", ")));
}

/// What in the code stands behind that.
std::string because(const Report& mine, const Report& theirs) {
  const auto valu = [](const Report& r) {
    return r.mix.matrix > 0 ? r.mix.other_valu() / static_cast<double>(r.mix.matrix) : r.mix.other_valu();
  };
  const auto barriers = [](const Report& r) {
    return r.mix.matrix > 0 ? r.mix.barrier / static_cast<double>(r.mix.matrix) : r.mix.barrier;
  };
  return fmt::format(
      "Per matrix instruction of a wave: {:.2f} other VALU instructions (theirs {:.2f}), {:.2f} barriers "
      "({:.2f}), {:.0f} bytes of "
      "cache lines loaded ({:.0f}); {:.3g} waves per SIMD ({:.3g}).",
      valu(mine), valu(theirs), barriers(mine), barriers(theirs), bytes_moved(mine), bytes_moved(theirs),
      mine.estimate.occupancy.waves_per_simd, theirs.estimate.occupancy.waves_per_simd);
}

std::string tiles(const Report& mine, const Report& theirs) {
  return fmt::format("Tiles: {:.1f} % of the work of mine is outside the matrix, {:.1f} % of theirs.",
                     100 * (1 - mine.useful()), 100 * (1 - theirs.useful()));
}

std::string left_of_launch(const Report& r) {
  const double alone = r.estimate.time_us * r.estimate.duty;
  return fmt::format(
      "Of the launch: its useful matrix work alone would take {:.0f} us, so that it is at {:.3f} of that "
      "limit; "
      "{:.1f} points of it are the loop, the rest the tiles' waste, {:.0f} clocks a workgroup outside the "
      "loop, and "
      "the launch's end.",
      alone, r.estimate.time_us / alone, 100 * (r.clocks() / r.limit - 1), r.estimate.overhead_cycles);
}

std::string left(const Report& r) {
  if (r.limit <= 0) return "There is no matrix instruction in the loop to be limited by.";
  const double over = r.clocks() - r.limit;
  std::vector<std::pair<double, model::Reason>> idle;
  for (std::size_t i = 1; i < model::reasons; ++i)
    idle.emplace_back(r.time.pipe[i], static_cast<model::Reason>(i));
  std::ranges::sort(idle, std::greater<>());
  std::vector<std::string> told;
  for (const auto& [clocks, reason] : idle) {
    if (clocks < 0.05 * over || told.size() == 3) break;
    told.push_back(fmt::format("{:.0f} {}", clocks, name(reason)));
  }
  const auto best = std::ranges::min_element(r.without, {}, &WhatIf::clocks);
  return fmt::format(
      "What is left: the loop takes {:.0f} clocks where its matrix instructions alone take {:.0f}, ratio "
      "{:.3f}; of the {:.0f} over "
      "the limit: {}. Most would be won by {}: {:.0f} clocks ({:.1f} %).",
      r.clocks(), r.limit, r.clocks() / r.limit, over,
      told.empty() ? "nothing of note" : fmt::format("{}", fmt::join(told, ", ")), model::without(best->cost),
      best->clocks, 100 * (1 - best->clocks / r.clocks()));
}

}  // namespace

std::vector<std::string> differences(const Report& mine, const Report& theirs) {
  std::vector<std::string> said{speed(mine, theirs), why(mine, theirs), because(mine, theirs)};
  if (timed(mine, theirs)) said.push_back(tiles(mine, theirs));
  said.push_back(left(mine));
  if (mine.subject.shape && mine.limit > 0 && mine.estimate.duty > 0) said.push_back(left_of_launch(mine));
  return said;
}

std::vector<DifferenceRow> difference_rows(const Report& mine, const Report& theirs) {
  std::vector<DifferenceRow> rows;
  const auto add = [&](std::string label, const char* format, auto value) {
    rows.push_back({std::move(label), fmt::format(fmt::runtime(format), value(mine)),
                    fmt::format(fmt::runtime(format), value(theirs))});
  };
  if (timed(mine, theirs)) {
    add("launch, us", "{:.0f}", [](const Report& r) { return r.estimate.time_us; });
    add("TFLOP/s", "{:.1f}", [](const Report& r) { return r.estimate.tflops; });
    add("tiles' work outside the matrix, %", "{:.1f}",
        [](const Report& r) { return 100 * (1 - r.useful()); });
  }
  add("VGPRs", "{}", [](const Report& r) { return r.subject.facts.vgprs; });
  add("LDS, bytes", "{}", [](const Report& r) { return r.subject.facts.lds_bytes; });
  add("waves per SIMD", "{:.3g}", [](const Report& r) { return r.estimate.occupancy.waves_per_simd; });
  add("instructions of the loop", "{}", [](const Report& r) { return r.mix.total(); });
  add("  matrix", "{}", [](const Report& r) { return r.mix.matrix; });
  add("  other VALU", "{}", [](const Report& r) { return r.mix.other_valu(); });
  add("  barriers", "{}", [](const Report& r) { return r.mix.barrier; });
  add("bytes of lines loaded per matrix instruction", "{:.0f}", bytes_moved);
  add("clocks per iteration", "{:.0f}", [](const Report& r) { return r.clocks(); });
  add("  matrix alone: the limit", "{:.0f}", [](const Report& r) { return r.limit; });
  add("  ratio to the limit", "{:.3f}",
      [](const Report& r) { return r.limit > 0 ? r.clocks() / r.limit : 0; });
  add("pipe clocks per matrix instruction", "{:.2f}",
      [](const Report& r) { return per_matrix(r, r.clocks()); });
  for (const Part& p : parts(mine, theirs)) {
    constexpr double nothing = 0.005;
    if (p.mine < nothing && p.theirs < nothing) continue;
    rows.push_back({"  " + p.label, fmt::format("{:.2f}", p.mine), fmt::format("{:.2f}", p.theirs)});
  }
  return rows;
}

}  // namespace wavejit::tools
