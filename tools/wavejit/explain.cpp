// SPDX-License-Identifier: MIT
// wavejit explain: what a kernel costs by the timing model, where its clocks go, what binds, and how it
// compares with another one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/explain_output.hpp"
#include "tools/wavejit/files.hpp"
#include "tools/wavejit/shapes.hpp"

namespace wavejit::tools {
namespace {

struct Options {
  ProblemOptions problem;
  std::string what, against, args, against_args, page, trace;
  unsigned trace_iterations = 1;
  bool json = false;
};

/// A file, the name of a shape, or, empty, what the problem's flags say.
Result<Subject> find_subject(const std::string& what, const ProblemOptions& problem,
                             const AssumedSizes& sizes) {
  std::error_code ignored;
  const bool shape = find_shape(what) != nullptr;
  if (!what.empty() && !shape && std::filesystem::exists(what, ignored)) {
    const target::Target* target = target::find_simulated(problem.target);
    if (target == nullptr)
      return fail_field(ErrorCode::unknown_target, "target", problem.target, "one of " + target_names());
    return subject_of(std::filesystem::path(what), *target, sizes);
  }
  if (!what.empty() && !shape) {
    std::string names;
    for (const NamedShape& s : named_shapes()) names += fmt::format("{}, ", s.name);
    return fail_field(ErrorCode::invalid_argument, "what", what,
                      "an existing .s or .hsaco file, or a shape: " + names + "or nothing with --n and --k");
  }
  ProblemOptions named = problem;
  if (shape) named.shape = what;
  const auto job = resolve(named);
  if (!job) return std::unexpected(job.error());
  return subject_of(*job, named.shape.empty() ? "wavejit" : named.shape);
}

Result<Report> find_report(const std::string& what, const ProblemOptions& problem,
                           const AssumedSizes& sizes) {
  auto subject = find_subject(what, problem, sizes);
  if (!subject) return std::unexpected(subject.error());
  return analyse(*std::move(subject));
}

Result<void> explain(const Options& options) {
  const ProblemOptions& p = options.problem;
  auto mine = find_report(options.what, p, {p.m, p.n, p.k, options.args});
  if (!mine) return std::unexpected(mine.error());
  std::optional<Report> theirs;
  if (!options.against.empty()) {
    AssumedSizes same{p.m, p.n, p.k, options.against_args};
    if (mine->subject.m > 0) same = {mine->subject.m, mine->subject.n, mine->subject.k, options.against_args};
    auto other = find_report(options.against, p, same);
    if (!other) return std::unexpected(other.error());
    theirs = *std::move(other);
  }
  Outputs files;
  if (!options.page.empty()) files.add(options.page, to_page(*mine, theirs ? &*theirs : nullptr));
  if (!options.trace.empty()) files.add(options.trace, to_trace(*mine, options.trace_iterations));
  if (auto ok = files.commit(); !ok) return ok;
  if (options.json) {
    Json j = to_json(*mine);
    if (theirs) {
      j["against"] = to_json(*theirs);
      j["differences"] = differences(*mine, *theirs);
    }
    fmt::print("{}\n", j.dump(2));
    return {};
  }
  if (theirs) fmt::print("{}", to_text(*mine, *theirs));
  fmt::print("{}", to_text(*mine));
  if (theirs) fmt::print("{}", to_text(*theirs));
  for (const std::string& path : {options.page, options.trace})
    if (!path.empty()) fmt::print("wrote {}\n", path);
  return {};
}

}  // namespace

Action add_explain(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("what", options->what,
                 "A .s or .hsaco file, or the name of a shape; nothing: what --n, --k … say");
  add_problem_options(app, options->problem);
  app.add_option("--against", options->against, "Another file or shape to compare with");
  app.add_option("--args", options->args, "How a file is launched: a launch file as `wavejit run` takes it");
  app.add_option("--against-args", options->against_args, "The same for the other file");
  app.add_option("--html", options->page, "Write a page with pictures here");
  app.add_option("--trace", options->trace, "Write a trace of the steady state here; Perfetto opens it");
  app.add_option("--trace-iterations", options->trace_iterations, "Of each wave, in the trace")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  app.add_flag("--json", options->json, "As JSON on stdout");
  return [options] {
    const auto ok = explain(*options);
    return ok ? exit_ok : refuse(ok.error(), options->json);
  };
}

}  // namespace wavejit::tools
