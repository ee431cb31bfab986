// SPDX-License-Identifier: MIT
#include "tools/wavejit/budget_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>

namespace wavejit::tools {
namespace {

namespace kquant = templates::kquant;

struct Size {
  std::int64_t n = 0, k = 0, superblocks = 0;
};

/// Zeros for what is no product.
Size size_of(const Served& served) {
  if (const auto* p = std::get_if<kquant::Problem>(&served)) return {p->n, p->k, kquant::superblocks(p->k)};
  if (const auto* p = std::get_if<templates::Problem>(&served)) return {p->n, p->k, 0};
  return {};
}

/// A product with weights in superblocks of 256, whether a kernel serves it or not.
bool is_kquant(const WeightRow& row) {
  const bool type = row.type == "q4_k" || row.type == "q5_k" || row.type == "q6_k";
  const auto* nothing = std::get_if<NoKernel>(&row.served);
  return type && (nothing == nullptr || nothing->because != "one row is looked up");
}

// ---- sums ----

struct Arm {
  std::string kernel;
  std::uint64_t tensors = 0;
  double bytes = 0, time_us = 0;
  bool full_lane = true;
};

std::vector<Arm> arms_of(const std::vector<PricedRow>& rows) {
  std::vector<Arm> arms;
  for (const PricedRow& r : rows) {
    auto it = std::ranges::find(arms, r.price.arm, &Arm::kernel);
    if (it == arms.end()) it = arms.insert(arms.end(), Arm{r.price.arm});
    ++it->tensors;
    it->bytes += r.row.bytes;
    it->time_us += r.time_us();
    it->full_lane = it->full_lane && r.full_lane();
  }
  std::ranges::stable_sort(arms, std::greater<>{}, &Arm::bytes);
  return arms;
}

double share(double part, double all) { return all == 0 ? 0 : part / all; }

// ---- text ----

/// "blk.*.ffn_up" of "blk.17.ffn_up.weight".
std::string pattern_of(const std::string& name) {
  constexpr std::string_view suffix = ".weight";
  const std::string_view stem =
      name.ends_with(suffix) ? std::string_view(name).substr(0, name.size() - suffix.size()) : name;
  std::string pattern;
  bool in_number = false;
  for (std::size_t i = 0; i < stem.size(); ++i) {
    const bool digit = std::isdigit(static_cast<unsigned char>(stem[i])) != 0;
    const bool starts = digit && i > 0 && stem[i - 1] == '.';
    if (starts) pattern += '*';
    in_number = starts || (in_number && digit);
    if (!in_number) pattern += stem[i];
  }
  return pattern;
}

/// The end of a long name says more than its beginning; nothing of it controls a terminal.
std::string column(std::string text, std::size_t width) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7E) c = '?';
  return text.size() <= width ? text : ".." + text.substr(text.size() - width + 2);
}

struct Line {
  std::string name;
  std::uint64_t count = 0;
  double bytes = 0, time_us = 0;
  const PricedRow* first = nullptr;
};

std::vector<Line> lines_of(const std::vector<PricedRow>& rows, bool each) {
  std::vector<Line> lines;
  std::map<std::string, std::size_t> places;
  for (const PricedRow& r : rows) {
    std::string name = each ? r.row.name : pattern_of(r.row.name);
    const std::string key = fmt::format("{} {} {} {} {} {}", name, r.row.type, fmt::join(r.row.shape, "x"),
                                        r.price.arm, pattern_of(r.price.because), r.row.launches);
    const auto [it, added] = places.emplace(key, lines.size());
    if (added) lines.push_back({std::move(name), 0, 0, 0, &r});
    Line& line = lines[it->second];
    ++line.count;
    line.bytes += r.row.bytes;
    line.time_us += r.time_us();
  }
  if (!each) std::ranges::stable_sort(lines, std::greater<>{}, &Line::bytes);
  return lines;
}

/// N x K; GGUF lists the innermost dimension, K, first.
std::string shape_text(const PricedRow& r, bool innermost_first) {
  const Size s = size_of(r.row.served);
  std::vector<std::int64_t> shape = r.row.shape;
  if (innermost_first) std::ranges::reverse(shape);
  std::string text = s.n != 0        ? fmt::format("{} x {}", s.n, s.k)
                     : shape.empty() ? "-"
                                     : fmt::format("{}", fmt::join(shape, " x "));
  if (r.row.launches != 1) text = fmt::format("{:.3g}* {}", r.row.launches, text);
  return text;
}

void print_line(const Line& line, bool innermost_first) {
  const PricedRow& r = *line.first;
  const Size s = size_of(r.row.served);
  const std::string idle = r.price.idle ? fmt::format("{:.2f}", 100 * *r.price.idle) : "-";
  const std::string time = r.price.time_us ? fmt::format("{:.1f}", line.time_us) : "-";
  const std::string blocks = s.superblocks != 0 ? std::to_string(s.superblocks) : "-";
  fmt::print("{:<28} {:>4} {:<8} {:>15} {:>4} {:>9.3f} {:<11} {:>5} {:>8}\n", column(line.name, 28),
             line.count, column(r.row.type, 8), column(shape_text(r, innermost_first), 15), blocks,
             line.bytes * 1e-6, r.price.arm, idle, time);
}

void print_arms(const BudgetReport& report) {
  fmt::print("\n{:<12} {:>7} {:>11} {:>8} {:>12} {:>12} {:>10}\n", "kernel", "tensors", "MB/token", "share",
             "full lanes", "us", "of DRAM");
  for (const Arm& arm : arms_of(report.rows)) {
    const bool none = arm.kernel == "none";
    const double gigabytes = arm.time_us == 0 ? 0 : arm.bytes / arm.time_us * 1e-3;
    fmt::print("{:<12} {:>7} {:>11.3f} {:>7.2f}% {:>12} {:>12} {:>10}\n", arm.kernel, arm.tensors,
               arm.bytes * 1e-6, 100 * share(arm.bytes, report.totals.bytes),
               none ? "-" : (arm.full_lane ? "yes" : "no"), none ? "-" : fmt::format("{:.1f}", arm.time_us),
               none ? "-" : fmt::format("{:.1f}%", 100 * gigabytes / report.target->timing.dram_gigabytes));
  }
}

/// Why tensors have no kernel, the most bytes first.
void print_reasons(const BudgetReport& report) {
  struct Reason {
    std::string kind;  ///< equal for those that differ in numbers of layers
    std::string text;  ///< of the first
    std::uint64_t tensors = 0;
    double bytes = 0;
  };
  std::vector<Reason> reasons;
  for (const PricedRow& r : report.rows) {
    if (r.price.arm != "none") continue;
    const std::string kind = pattern_of(r.price.because);
    auto it = std::ranges::find(reasons, kind, &Reason::kind);
    if (it == reasons.end()) it = reasons.insert(reasons.end(), Reason{kind, r.price.because});
    ++it->tensors;
    it->bytes += r.row.bytes;
  }
  std::ranges::stable_sort(reasons, std::greater<>{}, &Reason::bytes);
  if (!reasons.empty()) fmt::print("\nwithout a kernel:\n");
  for (const Reason& reason : reasons)
    fmt::print("  {:>4} tensors, {:.3f} MB/token: {}\n", reason.tensors, reason.bytes * 1e-6,
               column(reason.text, reason.text.size()));
}

void print_totals(const BudgetReport& report) {
  const Totals& t = report.totals;
  fmt::print("\n{:.3f} MB of weights per token, {:.2f}% of them by these kernels\n", t.bytes * 1e-6,
             100 * share(t.served_bytes, t.bytes));
  if (t.kquant_bytes > 0)
    fmt::print("K-quant bytes served with at most {:.0f}% of lanes idle: {:.2f}% of {:.3f} MB\n",
               100 * full_lanes, 100 * share(t.kquant_full_lane_bytes, t.kquant_bytes),
               t.kquant_bytes * 1e-6);
  fmt::print("modelled on {}: {:.1f} us in these kernels; all bytes at {:g} GB/s: {:.1f} us\n",
             report.target->name, t.time_us, report.target->timing.dram_gigabytes, t.dram_us);
}

}  // namespace

Result<BudgetReport> price(Budget budget, Prices& prices) {
  BudgetReport report;
  report.target = &prices.target();
  for (WeightRow& row : budget.rows) {
    auto made = prices.of(row.served);
    if (!made) return std::unexpected(made.error());
    PricedRow r{std::move(row), *std::move(made)};
    Totals& t = report.totals;
    t.bytes += r.row.bytes;
    if (r.price.arm != "none") t.served_bytes += r.row.bytes;
    if (is_kquant(r.row)) {
      t.kquant_bytes += r.row.bytes;
      if (r.full_lane()) t.kquant_full_lane_bytes += r.row.bytes;
    }
    t.time_us += r.time_us();
    report.rows.push_back(std::move(r));
  }
  budget.rows.clear();
  report.budget = std::move(budget);
  report.totals.dram_us = prices.dram_us(report.totals.bytes);
  return report;
}

Json to_json(const BudgetReport& report) {
  Json tensors = Json::array(), arms = Json::array();
  for (const PricedRow& r : report.rows) {
    Json j = {{"name", r.row.name},   {"type", r.row.type},
              {"shape", r.row.shape}, {"stored_bytes", r.row.stored_bytes},
              {"bytes", r.row.bytes}, {"launches", r.row.launches}};
    const Size s = size_of(r.row.served);
    if (s.n != 0) j.update({{"n", s.n}, {"k", s.k}});
    if (s.superblocks != 0) j["nsb"] = s.superblocks;
    j["kernel"] = r.price.arm;
    if (r.price.idle) j["idle"] = *r.price.idle;
    if (r.price.time_us) j.update({{"time_us", r.time_us()}, {"binds", r.price.binds}});
    if (!r.price.because.empty()) j["because"] = r.price.because;
    tensors.push_back(std::move(j));
  }
  for (const Arm& arm : arms_of(report.rows))
    arms.push_back({{"kernel", arm.kernel},
                    {"tensors", arm.tensors},
                    {"bytes", arm.bytes},
                    {"share", share(arm.bytes, report.totals.bytes)},
                    {"full_lane", arm.kernel != "none" && arm.full_lane},
                    {"time_us", arm.time_us}});
  const Totals& t = report.totals;
  return {{"source", report.budget.source},
          {"format", report.budget.format},
          {"architecture", report.budget.architecture},
          {"target", report.target->name},
          {"notes", report.budget.notes},
          {"tensors", std::move(tensors)},
          {"arms", std::move(arms)},
          {"totals",
           {{"bytes", t.bytes},
            {"served_bytes", t.served_bytes},
            {"kquant_bytes", t.kquant_bytes},
            {"kquant_full_lane_bytes", t.kquant_full_lane_bytes},
            {"time_us", t.time_us},
            {"dram_us", t.dram_us}}}};
}

void print_text(const BudgetReport& report, bool each) {
  fmt::print("{}: {}, {}, M = 1\n\n", column(report.budget.source, 70), report.budget.format,
             column(report.budget.architecture, 20));
  fmt::print("{:<28} {:>4} {:<8} {:>15} {:>4} {:>9} {:<11} {:>5} {:>8}\n", "tensors", "", "type", "N x K",
             "nsb", "MB/token", "kernel", "idle%", "us");
  const bool innermost_first = report.budget.format == "gguf";
  for (const Line& line : lines_of(report.rows, each)) print_line(line, innermost_first);
  print_arms(report);
  print_reasons(report);
  print_totals(report);
  for (const std::string& note : report.budget.notes) fmt::print("{}\n", note);
}

}  // namespace wavejit::tools
