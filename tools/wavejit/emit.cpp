// SPDX-License-Identifier: MIT
// wavejit emit: problem -> `.s`, `.hsaco`, JSON description, IR dumps. All files or none.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generator/lower/lower.hpp"
#include "templates/kernel.hpp"
#include "tests/harness/card.hpp"
#include "tests/harness/run.hpp"
#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/explain_choice.hpp"
#include "tools/wavejit/files.hpp"
#include "tools/wavejit/json.hpp"
#include "tools/wavejit/options.hpp"
#include "tools/wavejit/stages.hpp"

namespace wavejit::tools {
namespace {

struct EmitOptions {
  ProblemOptions problem;
  std::string assembly_path, object_path, dump_path;
  std::vector<std::string> dump_after;
  std::optional<unsigned> stage;
  bool json = false;
};

struct Dump {
  std::string pass, text;
};

/// Keeps the IR after each pass that was asked for, and the names of all. generate() may run the list
/// again with another register budget: the last run is the one that made the kernel.
struct Dumps {
  std::vector<std::string> wanted, seen;
  std::vector<Dump> kept;

  void observe(std::string_view pass, const ir::Kernel& kernel) {
    if (!seen.empty() && seen.front() == pass) {
      seen.clear();
      kept.clear();
    }
    seen.emplace_back(pass);
    const bool all = std::ranges::find(wanted, "all") != wanted.end();
    if (all || std::ranges::find(wanted, pass) != wanted.end())
      kept.push_back({.pass = std::string(pass), .text = ir::print(kernel)});
  }

  [[nodiscard]] Result<void> check() const {
    for (const std::string& name : wanted)
      if (name != "all" && std::ranges::find(seen, name) == seen.end())
        return fail_field(ErrorCode::invalid_argument, "dump-after", name,
                          fmt::format("all or one of {}", fmt::join(seen, ", ")));
    return {};
  }
};

Json describe(const templates::GeneratedKernel& kernel, const harness::Card& card,
              const templates::Launch& launch, std::int64_t m) {
  Json j = {{"kernel", kernel.name},
            {"target", kernel.target->name},
            {"m", m},
            {"stage", kernel.stage},
            {"problem", to_json(kernel.problem)},
            {"config", to_json(kernel.config)},
            {"grid", launch.grid},
            {"block", launch.block}};
  j.update(to_json(card));
  j["dynamic_lds_bytes"] = launch.dynamic_lds_bytes;
  j["kernarg_size"] = launch.kernarg_size;
  j["times"] = {{"generate_ms", kernel.times.generate_ms},
                {"assemble_ms", kernel.times.assemble_ms},
                {"link_ms", kernel.times.link_ms}};
  j["args"] = to_json(launch.arguments);
  return j;
}

void add_dumps(const Dumps& dumps, const std::string& path, Outputs& files) {
  if (dumps.kept.empty()) return;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    for (std::size_t i = 0; i < dumps.kept.size(); ++i)
      files.add(std::filesystem::path(path) / fmt::format("{:02}-{}.ir", i, dumps.kept[i].pass),
                dumps.kept[i].text);
    return;
  }
  std::string text;
  for (const Dump& dump : dumps.kept) text += fmt::format("; after {}\n{}\n", dump.pass, dump.text);
  if (path.empty()) {
    fmt::print(stderr, "{}", text);
  } else {
    files.add(path, text);
  }
}

void print_text(const templates::GeneratedKernel& kernel, const harness::Card& card,
                const templates::Launch& launch, const EmitOptions& options, std::int64_t m) {
  // With nothing else asked for, the assembly itself is the answer.
  if (options.assembly_path == "-" || (options.assembly_path.empty() && options.object_path.empty())) {
    fmt::print("{}", kernel.assembly);
    return;
  }
  fmt::print("{}\n", harness::to_text(card));
  fmt::print("problem: {}\nconfig: {}\n", templates::canonical(kernel.problem),
             templates::canonical(kernel.config));
  fmt::print("launch for m = {}: grid {} x {} x {}, block {}\n", m, launch.grid[0], launch.grid[1],
             launch.grid[2], launch.block[0]);
  fmt::print("times: generate {:.2f} ms, assemble {:.2f} ms, link {:.2f} ms\n", kernel.times.generate_ms,
             kernel.times.assemble_ms, kernel.times.link_ms);
  for (const std::string& path : {options.assembly_path, options.object_path})
    if (!path.empty()) fmt::print("wrote {}\n", path);
}

Result<void> emit(const EmitOptions& options) {
  const auto job = resolve(options.problem);
  if (!job) return std::unexpected(job.error());
  if (options.problem.explain_choice) print_choice(stderr, *job);
  templates::GenerateOptions generate;
  generate.stage = options.stage.value_or(templates::product_stage(job->problem, job->config));
  const auto launch = templates::launch(job->problem, job->config, *job->target, job->m, generate.stage);
  if (!launch) return std::unexpected(launch.error());

  Dumps dumps{.wanted = options.dump_after, .seen = {}, .kept = {}};
  generate.verify = false;
  if (!options.dump_after.empty())
    generate.observer = [&dumps](std::string_view pass, const ir::Kernel& kernel) {
      dumps.observe(pass, kernel);
    };
  const auto kernel = templates::generate(job->problem, job->config, *job->target, generate);
  if (!kernel) return std::unexpected(kernel.error());
  if (auto ok = dumps.check(); !ok) return ok;
  const auto object = lower::decode(kernel->code_object);
  if (!object) return std::unexpected(object.error());
  const harness::Card card = harness::card(object->kernels.at(0), *job->target,
                                           harness::matrix_per_iteration(kernel->config, *job->target));

  Outputs files;
  if (!options.assembly_path.empty() && options.assembly_path != "-")
    files.add(options.assembly_path, kernel->assembly);
  if (!options.object_path.empty()) files.add(options.object_path, kernel->code_object);
  add_dumps(dumps, options.dump_path, files);
  if (auto ok = files.commit(); !ok) return ok;

  if (options.json) {
    fmt::print("{}\n", describe(*kernel, card, *launch, job->m).dump(2));
  } else {
    print_text(*kernel, card, *launch, options, job->m);
  }
  return {};
}

}  // namespace

Action add_emit(CLI::App& app) {
  const auto options = std::make_shared<EmitOptions>();
  add_problem_options(app, options->problem);
  app.add_flag("--explain-choice", options->problem.explain_choice,
               "Say on stderr how the Config was chosen");
  app.add_option("-o,--output", options->assembly_path, "Write the assembly here (- = stdout)");
  app.add_option("--object", options->object_path, "Write the code object here");
  app.add_option("--dump-after", options->dump_after,
                 "Print the IR after this pass (repeatable), or after all")
      ->allow_extra_args(false);
  app.add_option(
      "--stage", options->stage,
      "Which of the kernels that a launch runs (kquant: 0 quantises, 1 multiplies; split along K: 0 "
      "multiplies, 1 adds the slices); default the one that multiplies");
  app.add_option("--dump-to", options->dump_path, "File or existing folder for the IR instead of stderr");
  app.add_flag("--json", options->json, "Describe the kernel as JSON on stdout");
  return [options] {
    const auto result = emit(*options);
    return result ? exit_ok : refuse(result.error(), options->json);
  };
}

}  // namespace wavejit::tools
