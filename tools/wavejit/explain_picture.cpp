// SPDX-License-Identifier: MIT
#include "tools/wavejit/explain_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "tools/wavejit/explain_output.hpp"

namespace wavejit::tools {
namespace {

constexpr double width = 1152, left = 100;
constexpr auto nothing = model::Reason::count_;

struct Colour {
  std::string_view light, dark;
};
/// By model::Reason. Work is strong, waiting for a busy pipe is pale, what leaves the pipe idle is warm.
constexpr std::array<Colour, model::reasons> colours{{{"#2563eb", "#3b82f6"},
                                                      {"#d97706", "#f59e0b"},
                                                      {"#fca5a5", "#b45454"},
                                                      {"#dc2626", "#ef4444"},
                                                      {"#dbe3ee", "#2c3a4f"},
                                                      {"#cfd6c4", "#3c4433"},
                                                      {"#8b5cf6", "#a78bfa"},
                                                      {"#14b8a6", "#2dd4bf"},
                                                      {"#65a30d", "#a3e635"},
                                                      {"#db2777", "#f472b6"},
                                                      {"#92400e", "#c2803a"},
                                                      {"#94a3b8", "#64748b"},
                                                      {"#0f766e", "#99f6e4"},
                                                      {"#5b21b6", "#ddd6fe"},
                                                      {"#166534", "#86efac"},
                                                      {"#475569", "#cbd5e1"},
                                                      {"#f1f5f9", "#1e293b"}}};

std::size_t at(model::Reason r) { return static_cast<std::size_t>(r); }

std::string open_svg(double height, std::string_view label) {
  return fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">", left + width + 8,
                     height, escape_html(label));
}

std::string rectangle(double x, double y, double w, double h, std::string_view css,
                      std::string_view title = {}) {
  const std::string place = fmt::format(
      "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"", css, x, y, w, h);
  if (title.empty()) return place + "/>";
  return place + fmt::format("><title>{}</title></rect>", escape_html(title));
}

std::string words(double x, double y, std::string_view text, std::string_view css = "label") {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", css, x, y, escape_html(text));
}

/// One row of a timeline: what fills most of each column, runs of the same joined.
class Row {
 public:
  Row(model::Clock begin, model::Clock length) : begin_(begin), length_(length) {
    constexpr std::size_t most = 1152;
    columns_.resize(std::min<std::size_t>(most, static_cast<std::size_t>(length)));
  }
  void add(model::Clock from, model::Clock to, model::Reason reason, std::uint32_t index) {
    const double scale = static_cast<double>(columns_.size()) / length_;
    const double first = std::max(from - begin_, 0) * scale, last = std::min(to - begin_, length_) * scale;
    for (auto c = static_cast<std::size_t>(first); c < columns_.size() && static_cast<double>(c) < last;
         ++c) {
      const double covered =
          std::min(last, static_cast<double>(c + 1)) - std::max(first, static_cast<double>(c));
      columns_[c].share[at(reason)] += static_cast<float>(covered);
      if (covered >= columns_[c].most) columns_[c].index = index;
      columns_[c].most = std::max(columns_[c].most, covered);
    }
  }
  [[nodiscard]] std::string draw(const Report& r, double y, double h, bool titles) const {
    std::string text;
    const double step = width / static_cast<double>(columns_.size());
    for (std::size_t c = 0; c < columns_.size();) {
      const model::Reason reason = columns_[c].reason();
      std::size_t end = c + 1;
      while (end < columns_.size() && columns_[end].reason() == reason &&
             (!titles || columns_[end].index == columns_[c].index))
        ++end;
      if (reason != nothing) {
        const std::string title =
            titles ? fmt::format("{}: {}", name(reason), text_of(r, columns_[c].index)) : std::string();
        text += rectangle(left + step * static_cast<double>(c), y, step * static_cast<double>(end - c), h,
                          fmt::format("r{}", at(reason)), title);
      }
      c = end;
    }
    return text;
  }

 private:
  struct Column {
    std::array<float, model::reasons> share{};
    double most = 0;
    std::uint32_t index = 0;
    [[nodiscard]] model::Reason reason() const {
      const auto best = std::ranges::max_element(share);
      return *best > 0 ? static_cast<model::Reason>(best - share.begin()) : nothing;
    }
  };
  model::Clock begin_, length_;
  std::vector<Column> columns_;
};

std::string clock_axis(model::Clock length, double y) {
  constexpr std::array<model::Clock, 7> steps{10, 25, 50, 100, 250, 500, 1000};
  const auto* step = std::ranges::find_if(steps, [&](model::Clock s) { return length / s <= 12; });
  const model::Clock each = step == steps.end() ? steps.back() * (1 + length / 12'000) : *step;
  std::string text;
  for (model::Clock c = 0; c + each / 2 < length; c += each) {
    const double x = left + width * c / length;
    text +=
        fmt::format("<line class=\"tick\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"18\" y2=\"{1:.1f}\"/>", x, y);
    text += words(x + 2, 13, c == 0 ? "0 clocks" : std::to_string(c), "small");
  }
  return text;
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string reason_style() {
  std::string light, dark;
  for (std::size_t i = 0; i < colours.size(); ++i) {
    light += fmt::format(".r{0}{{fill:{1};background:{1}}}\n", i, colours[i].light);
    dark += fmt::format(".r{0}{{fill:{1};background:{1}}}", i, colours[i].dark);
  }
  return light + "@media (prefers-color-scheme:dark){" + dark + "}\n";
}

std::string legend(const Report& r) {
  std::string text = "<p class=\"legend\">";
  for (std::size_t i = 0; i < model::reasons; ++i) {
    constexpr double nothing_to_see = 0.05;
    if (r.time.pipe[i] < nothing_to_see && r.time.wave[i] < nothing_to_see) continue;
    text += fmt::format("<span><i class=\"r{}\"></i>{}</span> ", i,
                        escape_html(name(static_cast<model::Reason>(i))));
  }
  return text + "</p>";
}

std::string share_bar(const Report& r, double full) {
  std::string text = open_svg(34, "where the pipe's clocks go");
  text += words(0, 20, "pipe");
  double x = left;
  std::vector<std::pair<double, std::size_t>> parts;
  for (std::size_t i = 0; i < model::reasons; ++i) parts.emplace_back(r.time.pipe[i], i);
  std::ranges::stable_sort(parts, std::greater<>(), &std::pair<double, std::size_t>::first);
  for (const auto& [clocks, i] : parts) {
    const double w = full > 0 ? width * clocks / full : 0;
    if (w <= 0) continue;
    const std::string_view reason = name(static_cast<model::Reason>(i));
    text += rectangle(x, 2, w, 26, fmt::format("r{}", i), fmt::format("{}: {:.1f} clocks", reason, clocks));
    constexpr double per_letter = 7.5;
    const std::string inside = fmt::format("{} {:.0f}", reason, clocks);
    if (w > per_letter * static_cast<double>(inside.size())) text += words(x + 6, 20, inside, "on");
    x += w;
  }
  return text + "</svg>";
}

std::string pipe_bars(const Report& r) {
  constexpr double row = 20;
  const auto pipes = pipe_shares(r);
  std::string text = open_svg(row * static_cast<double>(pipes.size()) + 4, "how busy each pipe is");
  double y = 2;
  for (const auto& [pipe, share] : pipes) {
    text += words(0, y + 13, pipe);
    text += rectangle(left, y, width * 0.9, 15, "track");
    text += rectangle(left, y, width * 0.9 * std::min(share, 1.0), 15, "bar");
    text += words(left + width * 0.9 + 8, y + 13, fmt::format("{:.0f} %", 100 * share));
    y += row;
  }
  return text + "</svg>";
}

std::string timeline(const Report& r, model::Clock length, bool titles) {
  constexpr double row = 17, top = 20;
  const model::SteadyState& loop = r.estimate.loop;
  std::vector<model::WaveLife> lives = wave_lives(loop.trace, *r.subject.target);
  std::erase_if(lives, [](const model::WaveLife& l) { return l.simd != 0; });
  const double height = top + row * static_cast<double>(lives.size() + 1) + 8;
  std::string text = open_svg(height, "timeline of one SIMD");
  Row pipe(loop.begin, length);
  for (const model::IssueEvent& e : loop.trace) {
    const bool matrix = e.unit == model::Unit::matrix;
    if (e.simd != 0 || (!matrix && e.unit != model::Unit::valu && e.unit != model::Unit::trans)) continue;
    pipe.add(e.start, e.end, matrix ? model::Reason::matrix : model::Reason::valu, e.index);
  }
  text += words(0, top + 12, "vector pipe") + rectangle(left, top, width, row - 3, "track");
  text += pipe.draw(r, top, row - 3, titles);
  double y = top + row + 6;
  for (const model::WaveLife& life : lives) {
    Row wave(loop.begin, length);
    for (const model::Segment& s : life.segments) wave.add(s.from, s.to, s.reason, s.index);
    text += words(0, y + 12, fmt::format("wg {} wave {}", life.workgroup, life.wave));
    text += wave.draw(r, y, row - 3, titles);
    y += row;
  }
  return text + clock_axis(length, height) + "</svg>";
}

std::string register_picture(const Report& r) {
  const model::RegisterMap& map = r.registers;
  const std::size_t count = r.stretches.body.size();
  if (map.rows.empty() || count == 0) return "<p>No vector register in the loop.</p>";
  constexpr double line = 4.5, gap = 22, top = 26;
  const unsigned banks = std::max(map.banks, 1U);
  const double step = width / static_cast<double>(count);
  std::string text;
  std::map<std::size_t, model::Unit> units;
  for (const model::Step& s : r.prepared.body.list) units[s.index] = s.unit;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = r.stretches.body[i];
    const auto unit = units.find(index);
    if (unit == units.end()) continue;
    text += rectangle(left + step * static_cast<double>(i), 4, step * 0.9, 14,
                      fmt::format("r{}", at(model::issuing(unit->second))),
                      fmt::format("{}: {}", place_of(r, index), text_of(r, index)));
  }
  double y = top;
  for (unsigned bank = 0; bank < banks; ++bank) {
    text += words(0, y + 11, map.banks > 0 ? fmt::format("bank {}", bank) : "registers");
    text += words(0, y + 25, fmt::format("{} live", map.banks > 0 ? map.peak(bank) : map.peak()), "small");
    for (const model::RegisterMap::Row& row : map.rows) {
      if (row.vgpr % banks != bank) continue;
      for (std::size_t i = 0; i < count;) {
        std::size_t end = i;
        while (end < count && row.live[end]) ++end;
        if (end > i)
          text += rectangle(left + step * static_cast<double>(i), y, step * static_cast<double>(end - i),
                            line - 1, "live", fmt::format("v{}", row.vgpr));
        i = std::max(end, i + 1);
      }
      for (std::size_t i = 0; i < count; ++i) {
        if (row.written[i])
          text += rectangle(left + step * static_cast<double>(i), y, step, line - 1, "written");
        else if (row.read[i])
          text += rectangle(left + step * static_cast<double>(i), y, step, line - 1, "read");
      }
      y += line;
    }
    y += gap;
  }
  return open_svg(y, "registers by bank over the loop") + text + "</svg>";
}

}  // namespace wavejit::tools
