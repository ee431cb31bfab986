// SPDX-License-Identifier: MIT
// The page of `wavejit explain --html`: one file, nothing loaded from elsewhere, no script.
#include <fmt/format.h>

#include <algorithm>

#include "tools/wavejit/explain_output.hpp"
#include "tools/wavejit/explain_picture.hpp"

namespace wavejit::tools {
namespace {

constexpr std::string_view style = R"(
:root{color-scheme:light dark;--ink:#0f172a;--soft:#475569;--paper:#fff;--line:#cbd5e1;--track:#e2e8f0;--bar:#2563eb;
--live:#bfd4f6;--read:#6d93d8;--written:#c2410c}
@media (prefers-color-scheme:dark){:root{--ink:#e2e8f0;--soft:#94a3b8;--paper:#0f172a;--line:#334155;--track:#1e293b;
--bar:#3b82f6;--live:#2a4a80;--read:#7ba4ee;--written:#fb923c}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:1280px;margin:0 auto;padding:16px}
h1{font-size:24px;margin:8px 0}h2{font-size:20px;margin:36px 0 4px;border-top:2px solid var(--line);padding-top:14px}
h3{font-size:16px;margin:22px 0 6px}
p.about,p.note{color:var(--soft);margin:2px 0 8px;overflow-wrap:anywhere}
table{border-collapse:collapse;margin:4px 0 10px}th,td{padding:3px 10px;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}td.sub{padding-left:28px}td.code{font-family:ui-monospace,monospace;font-size:13px}
div.wide{overflow-x:auto}svg{width:100%;height:auto;display:block}
svg text{font:12px system-ui,sans-serif;fill:var(--ink)}svg text.small{font-size:11px;fill:var(--soft)}
svg text.on{fill:#fff;font-weight:600}
.tick{stroke:var(--soft);stroke-opacity:.35}.track{fill:var(--track)}.bar{fill:var(--bar)}
.live{fill:var(--live)}.read{fill:var(--read)}.written{fill:var(--written)}
i{display:inline-block;width:13px;height:13px;border-radius:3px;margin:0 5px 0 0;vertical-align:-2px}
.legend span{display:inline-block;margin:0 16px 2px 0;white-space:nowrap}
i.live{background:var(--live)}i.read{background:var(--read)}i.written{background:var(--written)}
)";

std::string cell(std::string_view text, std::string_view css = {}) {
  return css.empty() ? fmt::format("<td>{}</td>", escape_html(text))
                     : fmt::format("<td class=\"{}\">{}</td>", css, escape_html(text));
}

std::string table(std::string_view head, const std::string& rows) {
  return fmt::format("<div class=\"wide\"><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>\n",
                     head, rows);
}

std::string card(const Report& r) {
  std::string rows;
  for (const CardLine& line : card_lines(r)) rows += "<tr>" + cell(line.label) + cell(line.text) + "</tr>\n";
  return table("<th>card</th><th></th>", rows);
}

std::string clocks(const Report& r) {
  std::string rows;
  for (const ClockRow& row : clock_rows(r))
    rows += "<tr>" + cell(row.label) + cell(fmt::format("{:.1f}", row.pipe), "n") +
            cell(fmt::format("{:.1f} %", 100 * row.pipe / r.clocks()), "n") +
            cell(fmt::format("{:.1f}", row.wave), "n") +
            cell(fmt::format("{:.1f} %", 100 * row.wave / r.estimate.loop.latency), "n") + "</tr>\n";
  return table(
      "<th>reason</th><th class=\"n\">pipe, clocks</th><th class=\"n\">share</th><th class=\"n\">one wave, "
      "clocks"
      "</th><th class=\"n\">share</th>",
      rows);
}

std::string stalls(const Report& r) {
  constexpr std::size_t shown = 16;
  std::string rows;
  for (const model::InstructionTime& t : costliest(r, shown))
    rows += "<tr>" + cell(fmt::format("{:.1f}", t.idle), "n") + cell(fmt::format("{:.1f}", t.stall), "n") +
            cell(name(t.worst)) + cell(place_of(r, t.index)) + cell(text_of(r, t.index), "code") + "</tr>\n";
  return table(
      "<th class=\"n\">idle pipe</th><th class=\"n\">a wave "
      "waits</th><th>for</th><th>where</th><th>instruction</th>",
      rows);
}

std::string what_if(const Report& r) {
  std::string rows;
  const auto add = [&](std::string_view what, double clocks) {
    rows += "<tr>" + cell(what) + cell(fmt::format("{:.0f}", clocks), "n") +
            cell(fmt::format("{:+.1f} %", 100 * (1 - clocks / r.clocks())), "n") + "</tr>\n";
  };
  for (const WhatIf& w : r.without) add(model::without(w.cost), w.clocks);
  if (r.limit > 0) add("matrix instructions alone: the limit", r.limit);
  return table("<th>with</th><th class=\"n\">clocks</th><th class=\"n\">won</th>", rows);
}

std::string accesses(const Report& r) {
  std::string rows;
  for (const AccessRow& a : r.accesses)
    rows += "<tr>" + cell(place_of(r, a.index)) + cell(text_of(r, a.index), "code") +
            cell(fmt::format("{:.0f}", a.asked), "n") +
            cell(a.lds ? "" : fmt::format("{:.3g}", a.lines), "n") +
            cell(fmt::format("{:.0f}", a.moved), "n") +
            cell(a.lds ? fmt::format("{:.3g}", a.conflict_clocks) : "", "n") + "</tr>\n";
  return "<details><summary>All accesses of the loop</summary>" +
         table(
             "<th>where</th><th>instruction</th><th class=\"n\">bytes asked</th><th class=\"n\">128-byte "
             "lines</th>"
             "<th class=\"n\">bytes moved</th><th class=\"n\">conflict clocks</th>",
             rows) +
         "</details>\n";
}

/// `full`: clocks of the width of the bar of shares, so that two reports can be compared by eye.
std::string section(const Report& r, double full) {
  std::string text = fmt::format("<h2>{}</h2><p class=\"about\">{}</p>\n", escape_html(r.subject.name),
                                 escape_html(r.subject.about));
  text +=
      card(r) + "<h3>Where the clocks of an iteration go</h3>\n" + share_bar(r, full) + legend(r) + clocks(r);
  text +=
      "<p class=\"note\">Pipe: clocks of a SIMD's vector pipe per iteration of a workgroup. One wave: of its "
      "own iteration.</p>";
  text +=
      "<h3>How busy the pipes are</h3>\n" + pipe_bars(r) + "<h3>Costliest instructions</h3>\n" + stalls(r);
  text += "<h3>What would be won</h3>\n" + what_if(r) + accesses(r);
  const auto whole = static_cast<model::Clock>(std::min(r.estimate.loop.latency, r.iterations * r.clocks()));
  constexpr model::Clock close = 580;
  text += fmt::format("<h3>One SIMD during one iteration of a wave ({} clocks)</h3>\n", whole) +
          timeline(r, whole, false);
  if (whole > close)
    text += fmt::format("<h3>The first {} clocks of it</h3>\n", close) + timeline(r, close, true);
  text += legend(r);
  text +=
      "<h3>Vector registers by bank over the loop</h3>\n<p class=\"legend\"><span><i "
      "class=\"live\"></i>holds a value "
      "that is still wanted</span><span><i class=\"read\"></i>read</span><span><i "
      "class=\"written\"></i>written</span>"
      "<span>top strip: the instruction, coloured by class</span></p>\n" +
      register_picture(r);
  return text;
}

std::string comparison(const Report& mine, const Report& theirs) {
  std::string text = "<h2>Why, and what is left</h2>\n", rows;
  for (const std::string& sentence : differences(mine, theirs))
    text += "<p>" + escape_html(sentence) + "</p>\n";
  for (const DifferenceRow& row : difference_rows(mine, theirs))
    rows += "<tr>" + cell(row.label, row.label.starts_with(' ') ? "sub" : "") + cell(row.mine, "n") +
            cell(row.theirs, "n") + "</tr>\n";
  return text + table(fmt::format("<th></th><th class=\"n\">{}</th><th class=\"n\">{}</th>",
                                  escape_html(mine.subject.name), escape_html(theirs.subject.name)),
                      rows);
}

}  // namespace

std::string to_page(const Report& mine, const Report* theirs) {
  const std::string title =
      theirs != nullptr ? mine.subject.name + " against " + theirs->subject.name : mine.subject.name;
  // Bars of both have one scale: clocks per matrix instruction.
  double full = mine.clocks(), their_full = 0;
  if (theirs != nullptr) {
    const double a = std::max(mine.matrix_per_simd(), 1.0), b = std::max(theirs->matrix_per_simd(), 1.0);
    const double each = std::max(mine.clocks() / a, theirs->clocks() / b);
    full = each * a;
    their_full = each * b;
  }
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
      "<meta name=\"viewport\" "
      "content=\"width=device-width\"/><title>{0}</title>\n<style>{1}{2}</style></head>\n<body>\n"
      "<h1>{0}</h1>\n<p class=\"note\">wavejit explain, by the timing model: no GPU was used. docs/model.md "
      "says how far it can "
      "be trusted.</p>\n",
      escape_html(title), style, reason_style());
  if (theirs != nullptr) text += comparison(mine, *theirs);
  text += section(mine, full);
  if (theirs != nullptr) text += section(*theirs, their_full);
  return text + "</body></html>\n";
}

}  // namespace wavejit::tools
