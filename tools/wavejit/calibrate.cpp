// SPDX-License-Identifier: MIT
// wavejit calibrate: replays what was measured on GPUs through the timing model.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "tools/wavejit/calibrate_fit.hpp"
#include "tools/wavejit/calibrate_points.hpp"
#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/json.hpp"

namespace wavejit::tools {
namespace {

struct Options {
  std::string shared = "../shared";
  bool markdown = false, json = false, fit = false;
  std::vector<std::string> only, set;
};

using Changes = std::map<std::string, double>;

/// Numbers that --set may change, to ask what if.
void change(target::Timing& t, const void* with) {
  for (const auto& [name, value] : *static_cast<const Changes*>(with)) {
    const auto whole = static_cast<std::uint16_t>(value);
    if (name == "vmem_loaded_latency") t.vmem_loaded_latency = whole;
    if (name == "l2_bytes_per_clock") t.l2_bytes_per_clock = value;
    if (name == "clock_megahertz") t.clock_megahertz = value;
    if (name == "valu_queue") t.valu_queue = whole;
    if (name == "valu_start") t.valu_start = whole;
    if (name == "lds_latency") t.lds_latency = whole;
    if (name == "lds_bytes_per_clock") t.lds_bytes_per_clock = whole;
    if (name == "barrier") t.barrier = whole;
    if (name == "memory_after") t.memory_after = whole;
    if (name == "memory_waits_for_valu") t.memory_waits_for_valu = value != 0;
    if (name == "vmem_issue_bytes") t.vmem_issue_bytes = whole;
    if (name == "workgroup_start") t.workgroup_start = whole;
  }
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Median of the absolute errors of the points that `which` takes.
template <class F>
std::string median_error(const Calibration& c, F which) {
  std::vector<double> errors;
  for (const Point& p : c.points)
    if (which(p)) errors.push_back(std::abs(p.error()));
  return errors.empty() ? "-" : fmt::format("{:.1f} % of {}", 100 * median(errors), errors.size());
}

void print_points(const Calibration& c, bool markdown) {
  if (markdown)
    fmt::print(
        "| set | what | measured | model | error | use | model says |\n|---|---|---|---|---|---|---|\n");
  for (const Point& p : c.points) {
    const std::string use = p.fitted ? "fitted" : "judged";
    if (markdown) {
      fmt::print("| {} | {} | {:.4g} {} | {:.4g} | {:+.1f} % | {} | {} |\n", p.set, p.name, p.measured,
                 p.unit, p.modelled, 100 * p.error(), use, p.note);
    } else {
      fmt::print("{:8} {:55} {:>8.4g} {:8} {:>8.4g} {:>+7.1f} %  {}  {}\n", p.set, p.name, p.measured, p.unit,
                 p.modelled, 100 * p.error(), use, p.note);
    }
  }
}

void print_summary(const Calibration& c, bool markdown) {
  const char* bullet = markdown ? "- " : "";
  fmt::print("\n{}median error, all points: {}\n", bullet,
             median_error(c, [](const Point&) { return true; }));
  fmt::print("{}median error, judged points: {}\n", bullet,
             median_error(c, [](const Point& p) { return !p.fitted; }));
  for (const char* set : {"loops", "steps", "shapes", "MI350X"})
    fmt::print("{}{}: judged {}, fitted {}\n", bullet, set,
               median_error(c, [&](const Point& p) { return p.set == set && !p.fitted; }),
               median_error(c, [&](const Point& p) { return p.set == set && p.fitted; }));
  const auto right = std::ranges::count_if(c.orders, &Order::right);
  fmt::print("{}orders right: {} of {} (within 1 % is a tie)\n", bullet, right, c.orders.size());
  for (const Order& o : c.orders)
    if (!o.right())
      fmt::print("{}wrong: {} over {}: measured {:+.1f} %, modelled {:+.1f} %\n", bullet, o.faster, o.slower,
                 100 * (o.measured - 1), 100 * (o.modelled - 1));
}

void print_comparison(const std::vector<Comparison>& all, bool markdown) {
  fmt::print("\n");
  if (markdown)
    fmt::print(
        "| type | shape | M | ours, us | Triton's best, us | ratio | clocks per iteration (bound) | duty | "
        "binds | "
        "Config |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n");
  for (const Comparison& c : all)
    fmt::print(
        fmt::runtime(
            markdown
                ? "| {} | {} | {} | {:.0f} | {:.0f} ({}) | {:.3f} | {:.0f} ({:.0f}) | {:.2f} | {} | {} |\n"
                : "{:9} {:9} {:5} ours {:7.0f} us, best {:7.0f} us ({}), ratio {:.3f}; {:.0f} clocks "
                  "({:.0f}), duty {:.2f}, {}; {}\n"),
        c.kind, c.shape, c.m, c.ours.time_us, c.theirs.time_us, c.peer, c.ours.time_us / c.theirs.time_us,
        c.ours.cycles_per_iteration, c.ours.matrix_bound, c.ours.duty, c.ours.binds, c.config);
}

/// Each half fitted, the other judged.
Result<void> print_fits(const CalibrationOptions& with, bool markdown) {
  if (markdown)
    fmt::print(
        "| fitted on | clock, MHz | level 2, bytes per clock and CU | latency, clocks | fitted half: mean, "
        "worst | judged half | mean, worst |\n|---|---|---|---|---|---|---|\n");
  for (const char* half : {"steps", "shapes"}) {
    const auto fit = fit_gfx1151(with, half);
    if (!fit) return std::unexpected(fit.error());
    const auto errors = [](const std::vector<Point>& points) {
      double sum = 0;
      const Point* worst = &points.front();
      for (const Point& p : points) {
        sum += std::abs(p.error());
        if (std::abs(p.error()) > std::abs(worst->error())) worst = &p;
      }
      return fmt::format("{:.1f} %, {:+.1f} % ({})", 100 * sum / static_cast<double>(points.size()),
                         100 * worst->error(), worst->name);
    };
    fmt::print(
        fmt::runtime(markdown ? "| {} | {:.0f} | {:.1f} | {:.0f} | {} | {} | {} |\n"
                              : "fitted on {}: {:.0f} MHz, {:.1f} bytes, {:.0f} clocks: {}; judged on {}: "
                                "{}\n"),
        fit->fitted_on, fit->numbers.clock_megahertz, fit->numbers.l2_bytes_per_clock,
        fit->numbers.loaded_latency, errors(fit->fitted), fit->judged_on, errors(fit->judged));
  }
  return {};
}

void print_json(const Calibration& c) {
  Json points = Json::array(), orders = Json::array();
  for (const Point& p : c.points)
    points.push_back({{"set", p.set},
                      {"name", p.name},
                      {"unit", p.unit},
                      {"measured", p.measured},
                      {"modelled", p.modelled},
                      {"error", p.error()},
                      {"fitted", p.fitted},
                      {"note", p.note}});
  for (const Order& o : c.orders)
    orders.push_back({{"faster", o.faster},
                      {"slower", o.slower},
                      {"measured", o.measured},
                      {"modelled", o.modelled},
                      {"right", o.right()}});
  fmt::print("{}\n", Json{{"points", points}, {"orders", orders}}.dump(2));
}

Result<Changes> changes_of(const std::vector<std::string>& set) {
  Changes changes;
  for (const std::string& s : set) {
    const std::size_t equals = s.find('=');
    if (equals == std::string::npos) return fail_field(ErrorCode::invalid_argument, "set", s, "NAME=NUMBER");
    changes[s.substr(0, equals)] = std::atof(s.c_str() + equals + 1);
  }
  return changes;
}

Result<void> calibrate(const Options& options) {
  const auto changes = changes_of(options.set);
  if (!changes) return std::unexpected(changes.error());
  CalibrationOptions with;
  with.shared = options.shared;
  with.adjust = change;
  with.adjust_with = &*changes;
  if (options.fit) return print_fits(with, options.markdown);
  const auto wanted = [&](const char* set) {
    return options.only.empty() || std::ranges::find(options.only, set) != options.only.end();
  };
  Calibration result;
  const std::pair<const char*, Result<void> (*)(const CalibrationOptions&, Calibration&)> parts[] = {
      {"loops", calibrate_loops},
      {"steps", calibrate_steps},
      {"shapes", calibrate_shapes},
      {"MI350X", calibrate_cdna}};
  for (const auto& [set, run] : parts)
    if (wanted(set))
      if (auto ok = run(with, result); !ok) return ok;
  if (options.json) {
    print_json(result);
    return {};
  }
  print_points(result, options.markdown);
  print_summary(result, options.markdown);
  if (!wanted("own")) return {};
  const auto own = compare_own(with);
  if (!own) return std::unexpected(own.error());
  print_comparison(*own, options.markdown);
  return {};
}

}  // namespace

Action add_calibrate(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("--shared", options->shared, "Folder with the peers' code objects")->capture_default_str();
  app.add_option("--only", options->only, "Sets: loops, steps, shapes, MI350X, own");
  app.add_option("--set", options->set, "Change a number of the target tables: NAME=VALUE (repeatable)");
  app.add_flag(
      "--fit", options->fit,
      "Fit the free numbers of gfx1151 to the steps and judge on the shapes, and the other way round");
  app.add_flag("--markdown", options->markdown, "Tables for docs/model.md");
  app.add_flag("--json", options->json, "Points and orders as JSON on stdout");
  return [options] {
    const auto ok = calibrate(*options);
    return ok ? exit_ok : refuse(ok.error(), options->json);
  };
}

}  // namespace wavejit::tools
