// SPDX-License-Identifier: MIT
// A Report in the forms that `wavejit explain` gives: text, JSON, a page, a trace.
#pragma once

#include <string>

#include "tools/wavejit/explain_report.hpp"
#include "tools/wavejit/json.hpp"

namespace wavejit::tools {

/// The card: what the kernel takes of the machine and what an iteration costs. Label and text.
struct CardLine {
  std::string label, text;
};
std::vector<CardLine> card_lines(const Report& report);

/// One row of a table of clocks.
struct ClockRow {
  std::string label;
  double pipe = 0, wave = 0;
};
/// Reasons that any clock goes to, the largest share of the pipe first.
std::vector<ClockRow> clock_rows(const Report& report);

/// Instructions of the loop by what they cost, the costliest first: at most `most`.
std::vector<model::InstructionTime> costliest(const Report& report, std::size_t most);

/// Pipe and share of its time that it is busy.
std::vector<std::pair<std::string, double>> pipe_shares(const Report& report);

/// Why the first is faster or slower than the second, and what is left of it: one sentence each.
std::vector<std::string> differences(const Report& mine, const Report& theirs);

/// The same figures for both, by row.
struct DifferenceRow {
  std::string label, mine, theirs;
};
std::vector<DifferenceRow> difference_rows(const Report& mine, const Report& theirs);

std::string to_text(const Report& report);
std::string to_text(const Report& mine, const Report& theirs);
Json to_json(const Report& report);

/// Chrome's trace format, which Perfetto opens: a process per SIMD, a thread per wave and one per pipe. One
/// microsecond is one clock. `iterations`: about how many of a workgroup; from the window's begin.
std::string to_trace(const Report& report, unsigned iterations);

/// One self-contained HTML page. `theirs` may be nullptr.
std::string to_page(const Report& mine, const Report* theirs);

}  // namespace wavejit::tools
