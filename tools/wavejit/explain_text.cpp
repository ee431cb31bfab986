// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "tools/wavejit/explain_output.hpp"

namespace wavejit::tools {
namespace {

constexpr std::size_t shown_instructions = 12;

std::string clock_table(const Report& r) {
  std::string text = fmt::format("{:26} {:>9} {:>7} {:>11} {:>7}\n", "where the clocks go", "pipe", "share",
                                 "one wave", "share");
  const auto share = [](double part, double all) { return all > 0 ? 100 * part / all : 0; };
  double pipe = 0, wave = 0;
  for (const ClockRow& row : clock_rows(r)) {
    text += fmt::format("  {:24} {:>9.1f} {:>6.1f}% {:>11.1f} {:>6.1f}%\n", row.label, row.pipe,
                        share(row.pipe, r.clocks()), row.wave, share(row.wave, r.estimate.loop.latency));
    pipe += row.pipe;
    wave += row.wave;
  }
  return text + fmt::format("  {:24} {:>9.1f} {:>7} {:>11.1f}\n", "sum", pipe, "", wave);
}

std::string stall_table(const Report& r) {
  std::string text = fmt::format("{:>9} {:>10}  {:24} {:10} {}\n", "idle pipe", "wave waits", "for", "where",
                                 "costliest instructions");
  for (const model::InstructionTime& t : costliest(r, shown_instructions))
    text += fmt::format("{:>9.1f} {:>10.1f}  {:24} {:10} {}\n", t.idle, t.stall, name(t.worst),
                        place_of(r, t.index), text_of(r, t.index));
  return text;
}

std::string what_if_table(const Report& r) {
  std::string text = fmt::format("{:30} {:>8} {:>8}\n", "what would be won", "clocks", "won");
  for (const WhatIf& w : r.without)
    text += fmt::format("  {:28} {:>8.1f} {:>7.1f}%\n", model::without(w.cost), w.clocks,
                        100 * (1 - w.clocks / r.clocks()));
  if (r.limit > 0)
    text += fmt::format("  {:28} {:>8.1f} {:>7.1f}%\n", "matrix instructions alone", r.limit,
                        100 * (1 - r.limit / r.clocks()));
  return text;
}

std::string access_table(const Report& r) {
  std::string text;
  for (const AccessRow& a : r.accesses) {
    const bool odd = a.conflict_clocks > 0 || (!a.lds && a.moved > a.asked);
    if (!odd) continue;
    if (text.empty()) text = "accesses that cost more than their bytes (one wave)\n";
    text += a.lds ? fmt::format("  {:10} {:<58} {:.3g} clocks of conflicts\n", place_of(r, a.index),
                                text_of(r, a.index), a.conflict_clocks)
                  : fmt::format("  {:10} {:<58} {:.0f} bytes asked, {:.3g} lines = {:.0f} moved\n",
                                place_of(r, a.index), text_of(r, a.index), a.asked, a.lines, a.moved);
  }
  return text.empty() ? text : text + "\n";
}

std::string pipe_line(const Report& r) {
  std::string text = "busy:";
  for (const auto& [pipe, share] : pipe_shares(r)) text += fmt::format(" {} {:.0f} %,", pipe, 100 * share);
  text.back() = '\n';
  return text;
}

}  // namespace

std::string to_text(const Report& r) {
  std::string text = fmt::format("{}\n{}\n\n", r.subject.name, r.subject.about);
  for (const CardLine& line : card_lines(r)) text += fmt::format("{:18} {}\n", line.label, line.text);
  text +=
      "\n" + clock_table(r) +
      "  pipe: clocks of a SIMD's vector pipe per iteration of a workgroup; one wave: of its own iteration\n";
  text += "\n" + pipe_line(r) + "\n" + stall_table(r) + "\n" + what_if_table(r) + "\n" + access_table(r);
  return text;
}

std::string to_text(const Report& mine, const Report& theirs) {
  std::string text = fmt::format("{} against {}\n\n", mine.subject.name, theirs.subject.name);
  for (const std::string& sentence : differences(mine, theirs)) text += sentence + "\n";
  text += fmt::format("\n{:44} {:>14} {:>14}\n", "", "mine", "theirs");
  for (const DifferenceRow& row : difference_rows(mine, theirs))
    text += fmt::format("{:44} {:>14} {:>14}\n", row.label, row.mine, row.theirs);
  return text + "\n";
}

}  // namespace wavejit::tools
