// SPDX-License-Identifier: MIT
// wavejit mutate: can the judges be trusted? Breaks correct kernels one line at a time and counts what
// the static checker, the simulator and the oracle catch.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "templates/kernel.hpp"
#include "tests/harness/mutation.hpp"
#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/json.hpp"
#include "tools/wavejit/options.hpp"
#include "tools/wavejit/progress.hpp"

namespace wavejit::tools {
namespace {

/// The bar of the project: below it the command fails.
constexpr double required_score = 0.98;

struct MutateOptions {
  ProblemOptions problem;
  std::size_t every = 1;
  bool json = false;
};

struct Kernel {
  templates::Problem problem;
  templates::Config config;
  std::int64_t m = 0;
};

/// Small shapes with tails in M and N, so that a tail tile's every guarantee matters; one and two LDS
/// buffers, each pipeline depth, each way of dequantising, guards in place of descriptors.
std::vector<Kernel> standard_kernels() {
  templates::Problem small;
  small.n = 72;
  small.k = 128;
  small.group = 32;
  templates::Config base;
  std::vector<Kernel> kernels;
  const auto add = [&](auto&& change) {
    Kernel k{small, base, 130};
    change(k);
    kernels.push_back(k);
  };
  add([](Kernel&) {});
  add([](Kernel& k) { k.config.lds_buffers = 1; });
  add([](Kernel& k) { k.config.pipeline_depth = 0; });
  add([](Kernel& k) {
    k.config.pipeline_depth = 2;
    k.problem.k = 192;
  });
  add([](Kernel& k) {
    k.config.bm = 192;
    k.config.lds_buffers = 1;
    k.m = 200;
  });
  add([](Kernel& k) { k.config.techniques.magic_dequant = false; });
  add([](Kernel& k) { k.problem.rounding = templates::WeightRounding::nearest; });
  add([](Kernel& k) { k.config.techniques.exact_descriptors = false; });
  add([](Kernel& k) { k.problem.zero_points = templates::ZeroPoints::packed; });
  add([](Kernel& k) {
    k.problem.activation = templates::DataType::f16;
    k.problem.bias = true;
  });
  add([](Kernel& k) {
    k.problem.activation = templates::DataType::f16;
    k.problem.zero_points = templates::ZeroPoints::packed;
    k.problem.bias = true;
    k.problem.n = 77;
    k.config.lds_buffers = 1;
  });
  add([](Kernel& k) {
    k.problem.activation = templates::DataType::f16;
    k.problem.zero_points = templates::ZeroPoints::packed;
    k.config.techniques.magic_dequant = false;
  });
  add([](Kernel& k) {
    k.problem.group = 64;
    k.config.bm = 64;
    k.config.bk = 64;
    k.config.waves = 4;
    k.problem.n = 97;
  });
  return kernels;
}

Json to_json(const harness::MutationScore& s) {
  Json kinds = Json::array(), survivors = Json::array(), caught = Json::object();
  for (const auto& [catcher, count] : s.caught) caught[std::string(name(catcher))] = count;
  for (const auto& [kind, counts] : s.by_kind)
    kinds.push_back({{"kind", name(kind)}, {"caught", counts.first}, {"total", counts.second}});
  for (const harness::Survivor& v : s.survivors)
    survivors.push_back({{"config", v.config},
                         {"kind", name(v.mutant.kind)},
                         {"line", v.mutant.line},
                         {"before", v.mutant.before},
                         {"after", v.mutant.after},
                         {"explanation", v.explanation}});
  return {{"mutants", s.total},
          {"score", s.score()},
          {"caught_by", caught},
          {"kinds", kinds},
          {"survivors", survivors}};
}

void print_text(const harness::MutationScore& s) {
  fmt::print("{} mutants, score {:.2f} % (required {:.0f} %)\n", s.total, 100 * s.score(),
             100 * required_score);
  for (const auto& [catcher, count] : s.caught) fmt::print("  {:<16} {:>6}\n", name(catcher), count);
  fmt::print("\n{:<20} {:>8} {:>8}\n", "kind", "caught", "mutants");
  for (const auto& [kind, counts] : s.by_kind)
    fmt::print("{:<20} {:>8} {:>8}\n", name(kind), counts.first, counts.second);
  if (s.survivors.empty()) return;
  fmt::print("\nsurvivors:\n");
  for (const harness::Survivor& v : s.survivors) {
    fmt::print("  {} (line {}; {})\n    {}\n    -> {}\n    {}\n", name(v.mutant.kind), v.mutant.line,
               v.config, v.mutant.before, v.mutant.after.empty() ? "(removed)" : v.mutant.after,
               v.explanation.empty() ? "NOT EXPLAINED" : v.explanation);
  }
}

Result<bool> mutate(const MutateOptions& options) {
  std::vector<Kernel> kernels;
  const auto target = target::find(options.problem.target);
  if (options.problem.n || !options.problem.shape.empty()) {
    const auto job = resolve(options.problem);
    if (!job) return std::unexpected(job.error());
    if (auto ok = require(*job, templates::Operation::w4a16); !ok) return std::unexpected(ok.error());
    kernels.push_back({job->problem, job->config, job->m});
  } else {
    if (target == nullptr)
      return fail_field(ErrorCode::unknown_target, "target", options.problem.target, target_names());
    kernels = standard_kernels();
  }
  if (options.every == 0) return fail_field(ErrorCode::invalid_argument, "every", "0", "at least 1");
  harness::MutationScore score;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    ProgressBar bar(fmt::format("kernel {} of {}", i + 1, kernels.size()));
    harness::MutationRequest request;
    request.run.problem = kernels[i].problem;
    request.run.config = kernels[i].config;
    request.run.m = kernels[i].m;
    request.run.target = options.problem.target;
    request.every = options.every;
    request.progress = [&bar](std::size_t done, std::size_t all) { bar.update(done, all); };
    const auto one = harness::mutation_score(request);
    bar.finish();
    if (!one) return std::unexpected(one.error());
    score.add(*one);
  }
  if (options.json) {
    fmt::print("{}\n", to_json(score).dump(2));
  } else {
    print_text(score);
  }
  return score.score() >= required_score;
}

}  // namespace

Action add_mutate(CLI::App& app) {
  const auto options = std::make_shared<MutateOptions>();
  add_problem_options(app, options->problem);
  app.add_option("--every", options->every, "Take each EVERY-th mutant only")->capture_default_str();
  app.add_flag("--json", options->json, "Report as JSON on stdout");
  app.footer("Without a problem: a fixed list of small kernels with tails, one per kind of Config.");
  return [options] {
    const auto right = mutate(*options);
    if (!right) return refuse(right.error(), options->json);
    return *right ? exit_ok : exit_wrong;
  };
}

}  // namespace wavejit::tools
