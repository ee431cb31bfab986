// SPDX-License-Identifier: MIT
// wavejit ablate: what each of the five techniques is worth for a problem, by counts and by the timing
// model: each alone, one on top of the other, each left out.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <optional>

#include "generator/model/loops.hpp"
#include "generator/model/mix.hpp"
#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/json.hpp"
#include "tools/wavejit/model_kernel.hpp"
#include "tools/wavejit/options.hpp"

namespace wavejit::tools {
namespace {

using templates::Techniques;

struct Options {
  ProblemOptions problem;
  bool json = false;
};

struct Row {
  std::string name;
  Techniques techniques;
  std::string published;  ///< change on the row before in the public step table, for gate_up on gfx1151
};

constexpr Techniques none{false, false, false, false, false};

Techniques with(Techniques t, std::string_view name, bool on) {
  *templates::technique(t, name) = on;
  return t;
}

/// ROCm/vllm#1045's steps (shared/published.md), measured on another kernel of the same tile.
constexpr std::array<std::string_view, 5> published{"+6.3 %", "+7.0 %", "+0.0 %", "+0.4 %", "-0.1 %"};

std::vector<Row> rows() {
  std::vector<Row> result{{"none", none, "23.8 TFLOP/s"}};
  Techniques so_far = none;
  std::size_t i = 0;
  for (const std::string_view name : templates::technique_names()) {
    so_far = with(so_far, name, true);
    result.push_back({fmt::format("+ {}", name), so_far, std::string(published[i++])});
  }
  for (const std::string_view name : templates::technique_names())
    result.push_back({fmt::format("{} alone", name), with(none, name, true), {}});
  for (const std::string_view name : templates::technique_names())
    result.push_back({fmt::format("without {}", name), with(Techniques{}, name, false), {}});
  return result;
}

Result<void> ablate(const Options& options) {
  const auto job = resolve(options.problem);
  if (!job) return std::unexpected(job.error());
  if (auto ok = require(*job, templates::Operation::w4a16); !ok) return std::unexpected(ok.error());
  Json all = Json::array();
  if (!options.json)
    fmt::print("{}\n{}\nm {}\n\n{:24} {:>5} {:>5} {:>6} {:>5} {:>6} {:>8} {:>8} {:>8} {:>8}  {:12} {}\n",
               templates::canonical(job->problem), templates::canonical(job->config), job->m, "techniques",
               "VALU", "all", "VGPRs", "waves", "clocks", "bound", "duty", "TFLOP/s", "change", "binds",
               "published");
  double first = 0;
  for (const Row& row : rows()) {
    templates::Config config = job->config;
    config.techniques = row.techniques;
    config.pipeline_depth = row.techniques.pipelined_loads ? std::max(job->config.pipeline_depth, 1U) : 0;
    config.waves_per_simd = 0;
    const auto m = model_generated(job->problem, config, *job->target, job->m,
                                   {.warm_iterations = 6, .iterations = 24, .trace_events = 0});
    if (!m) {
      if (!options.json) fmt::print("{:24} {}\n", row.name, m.error().message);
      continue;
    }
    std::vector<isa::Instruction> body;
    for (const std::size_t i : model::hot_stretches(m->code).body) body.push_back(m->code[i]);
    const model::Mix mix = model::mix(body);
    const model::Estimate& e = m->estimate;
    if (first == 0) first = e.time_us;
    if (options.json) {
      all.push_back({{"techniques", row.name},
                     {"valu", mix.other_valu()},
                     {"instructions", mix.total()},
                     {"vgprs", m->facts.vgprs},
                     {"waves_per_simd", e.occupancy.waves_per_simd},
                     {"clocks", e.cycles_per_iteration},
                     {"time_us", e.time_us},
                     {"tflops", e.tflops},
                     {"binds", e.binds}});
      continue;
    }
    fmt::print("{:24} {:>5} {:>5} {:>6} {:>5} {:>6.0f} {:>8.0f} {:>8.3f} {:>8.1f} {:>+7.1f}%  {:12} {}\n",
               row.name, mix.other_valu(), mix.total(), m->facts.vgprs, e.occupancy.waves_per_simd,
               e.cycles_per_iteration, e.matrix_bound, e.duty, e.tflops, 100 * (first / e.time_us - 1),
               e.binds, row.published);
  }
  if (options.json) fmt::print("{}\n", all.dump(2));
  return {};
}

}  // namespace

Action add_ablate(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  add_problem_options(app, options->problem);
  app.add_flag("--json", options->json, "The table as JSON on stdout");
  return [options] {
    const auto ok = ablate(*options);
    return ok ? exit_ok : refuse(ok.error(), options->json);
  };
}

}  // namespace wavejit::tools
