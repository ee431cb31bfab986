// SPDX-License-Identifier: MIT
// wavejit run: a problem, or its edited `.s` or `.hsaco`, or a layer of a checkpoint, or a tensor of a GGUF
// file
// -> simulator, random activations, oracle, verdict.
#include "tests/harness/run.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "generator/lower/lower.hpp"
#include "templates/kernel.hpp"
#include "tests/harness/run_checkpoint.hpp"
#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/explain_choice.hpp"
#include "tools/wavejit/files.hpp"
#include "tools/wavejit/json.hpp"
#include "tools/wavejit/options.hpp"
#include "tools/wavejit/progress.hpp"
#include "tools/wavejit/run_any.hpp"
#include "tools/wavejit/run_gguf.hpp"
#include "tools/wavejit/run_kquant.hpp"

namespace wavejit::tools {
namespace {

struct RunOptions {
  ProblemOptions problem;
  std::string file;
  std::size_t sample = 8;
  bool whole = false;
  std::uint64_t seed = 1;
  std::string soffset = "both";
  std::string args, kernel;
  std::string checkpoint, layer, format = "auto";
  GgufRun gguf;
  bool activation_given = false;
  std::vector<std::string> without_check;
  bool list_checks = false;
  bool global_unaligned = false;
  bool card = false;
  bool json = false;
};

Result<sim::Checks> checks_of(const std::vector<std::string>& without) {
  sim::Checks checks = sim::Checks::all();
  for (const std::string& name : without) {
    const auto kind = sim::find_fault(name);
    if (!kind)
      return fail_field(ErrorCode::invalid_argument, "without-check", name,
                        "the name of a simulator check; --list-checks names them");
    checks = checks.without(*kind);
  }
  return checks;
}

Result<sim::SoffsetRule> soffset_rule(const std::string& name) {
  if (name == "both") return sim::SoffsetRule::both;
  if (name == "excluded") return sim::SoffsetRule::excluded;
  if (name == "included") return sim::SoffsetRule::included;
  return fail_field(ErrorCode::invalid_argument, "soffset", name, "both, excluded or included");
}

/// The layer, and the problem that it makes of the options.
Result<checkpoint::Layer> read_checkpoint(const RunOptions& options, ProblemOptions& problem) {
  const ProblemOptions& o = options.problem;
  if (!o.shape.empty() || o.n || o.k || o.group || o.zero_points || o.bias || !options.file.empty())
    return fail_field(ErrorCode::invalid_argument, "checkpoint",
                      "given with a file, --shape, --n, --k, --group, --zero-points or --bias",
                      "given without them: the layer says all that");
  if (options.layer.empty())
    return fail_field(ErrorCode::invalid_argument, "layer", "absent", "the name of a layer of --checkpoint");
  const auto wanted = checkpoint::wanted_format(options.format);
  if (!wanted) return std::unexpected(wanted.error());
  auto layer = checkpoint::read_layer(options.checkpoint, options.layer, *wanted);
  if (!layer) return layer;
  const templates::Problem p = harness::problem_of(*layer, {});
  problem.n = p.n;
  problem.k = p.k;
  problem.group = p.group;
  problem.zero_points = p.zero_points == templates::ZeroPoints::packed;
  problem.bias = p.bias;
  if (!options.activation_given && layer->source.scales.dtype == repack::Dtype::f16)
    problem.activation = "f16";
  return layer;
}

Result<bool> run_gguf_file(const RunOptions& options) {
  const ProblemOptions& o = options.problem;
  if (!o.shape.empty() || o.n || o.k || o.group || o.zero_points || o.bias || !options.file.empty() ||
      !options.checkpoint.empty())
    return fail_field(ErrorCode::invalid_argument, "gguf",
                      "given with a file, --checkpoint, --shape, --n, --k, --group, --zero-points or --bias",
                      "given without them: the tensor says all that");
  if (options.gguf.tensor.empty())
    return fail_field(ErrorCode::invalid_argument, "tensor", "absent", "the name of a tensor of --gguf");
  GgufRun run = options.gguf;
  run.target = o.target;
  run.activation = o.activation;
  run.m = o.m.value_or(1);
  if (options.whole) run.rows = 0;
  run.seed = options.seed;
  run.json = options.json;
  return run_gguf(run);
}

Json describe(const checkpoint::Layer& layer, const harness::CheckpointReport& r) {
  return {{"layer", layer.name},
          {"format", repack::name(layer.source.format)},
          {"format_because", layer.format_because},
          {"n", layer.n},
          {"k", layer.k},
          {"group", layer.group},
          {"tensors", layer.tensors},
          {"scales_rounded", r.scales.rounded},
          {"activations_gathered", r.gathered}};
}

void print_layer(const checkpoint::Layer& layer, const harness::CheckpointReport& r) {
  const bool symmetric = layer.source.zero_points_declared == repack::ZeroPoints::symmetric;
  fmt::print("{}: {} ({}), N = {}, K = {}, groups of {}, {}{}\n", layer.name,
             repack::name(layer.source.format), layer.format_because, layer.n, layer.k, layer.group,
             symmetric ? "symmetric" : "with zero points", layer.bias ? ", with a bias" : "");
  if (r.scales.rounded != 0)
    fmt::print("{} scales were rounded to the activation's type\n", r.scales.rounded);
  if (r.gathered) fmt::print("g_idx reorders the columns: activations were gathered to match\n");
}

Json describe(const harness::Report& r) {
  Json faults = Json::array();
  for (const sim::Fault& fault : r.run.faults) faults.push_back(to_json(fault));
  Json j = {{"kernel", r.kernel},
            {"target", r.card.target},
            {"m", r.m},
            {"problem", to_json(r.problem)},
            {"config", to_json(r.config)},
            {"grid", r.launch.grid},
            {"block", r.launch.block},
            {"card", to_json(r.card)},
            {"ok", r.ok()},
            {"workgroups", r.tiles.size()},
            {"workgroups_in_all", r.tiles_in_all},
            {"wave_instructions", r.run.wave_instructions},
            {"seconds", r.run.seconds},
            {"cpu_seconds", r.run.cpu_seconds},
            {"wave_instructions_per_second", 1e6 * millions_per_second(r.run)},
            {"lds_conflict_cycles", r.run.lds_conflict_cycles},
            {"distinct_faults", r.run.distinct_faults},
            {"faults", faults},
            {"unwritten_bytes", r.unwritten_bytes},
            {"stray_bytes", r.stray_bytes}};
  if (r.verdict) j["oracle"] = to_json(*r.verdict);
  return j;
}

void print_text(const harness::Report& r, bool whole_card) {
  fmt::print("{}\n", whole_card ? harness::to_text(r.card) : harness::summary(r.card));
  fmt::print(
      "ran {} of {} workgroups for m = {}: {} wave-instructions in {:.2f} s, {:.2f} million per second, {} "
      "LDS conflict cycles\n",
      r.tiles.size(), r.tiles_in_all, r.m, r.run.wave_instructions, r.run.seconds, millions_per_second(r.run),
      r.run.lds_conflict_cycles);
  if (r.verdict) {
    const oracle::Metrics& m = r.verdict->metrics;
    const oracle::Bars& b = r.verdict->bars;
    fmt::print("distance to the oracle over {} elements:\n", m.elements);
    fmt::print("  1 - cosine          {:.2e}   (bar {:.0e})\n", m.one_minus_cosine, b.one_minus_cosine);
    fmt::print("  NMSE                {:.2e}   (bar {:.0e})\n", m.nmse, b.nmse);
    fmt::print("  gain                {:.5f}    (bar {:g} .. {:g})\n", m.gain, b.gain_low, b.gain_high);
    fmt::print("  max |e| / rms       {:.2e}\n", m.max_error_of_rms);
    fmt::print("  worst element       {:.2f} of its bar {:g} |ref| + {:g} rms, at ({}, {}): {:g} for {:g}\n",
               m.worst_error, b.relative, b.of_rms, m.worst_row, m.worst_column, m.worst_got,
               m.worst_reference);
  }
  if (r.ok()) {
    fmt::print("verdict: right; no fault, every element of the tiles stored and nothing else\n");
  } else {
    fmt::print("verdict: WRONG, {} distinct faults\n{}\n", r.run.distinct_faults, r.reason());
  }
}

void list_checks() {
  for (std::size_t i = 0; i < sim::fault_kinds; ++i) {
    const auto kind = static_cast<sim::FaultKind>(i);
    fmt::print("{:<20} {}\n", sim::name(kind), sim::describe(kind));
  }
}

Result<bool> run_command(const RunOptions& options) {
  if (options.list_checks) {
    list_checks();
    return true;
  }
  const auto checks = checks_of(options.without_check);
  if (!checks) return std::unexpected(checks.error());
  if (!options.args.empty()) {
    const auto rule = soffset_rule(options.soffset);
    if (!rule) return std::unexpected(rule.error());
    if (options.file.empty())
      return fail_field(ErrorCode::invalid_argument, "file", "absent", "a code object to run with --args");
    sim::Options sim;
    sim.checks = *checks;
    sim.soffset = *rule;
    sim.global_unaligned_mode = options.global_unaligned;
    return run_any(options.file, options.args, options.kernel, options.problem.target, sim, options.json);
  }
  if (!options.gguf.file.empty()) return run_gguf_file(options);
  if (!options.gguf.tensor.empty())
    return fail_field(ErrorCode::invalid_argument, "gguf", "absent", "given with --tensor");
  ProblemOptions problem = options.problem;
  std::optional<checkpoint::Layer> layer;
  if (!options.checkpoint.empty()) {
    auto read = read_checkpoint(options, problem);
    if (!read) return std::unexpected(read.error());
    layer = *std::move(read);
  } else if (!options.layer.empty() || options.format != "auto") {
    return fail_field(ErrorCode::invalid_argument, "checkpoint", "absent", "given with --layer and --format");
  }
  const auto job = resolve(problem);
  if (!job) return std::unexpected(job.error());
  if (options.problem.explain_choice) print_choice(stderr, *job);
  const auto soffset = soffset_rule(options.soffset);
  if (!soffset) return std::unexpected(soffset.error());
  if (!options.whole && options.sample == 0)
    return fail_field(ErrorCode::invalid_argument, "sample", "0", "at least 1; --whole runs all workgroups");

  if (job->problem.op == templates::Operation::kquant) {
    if (!options.file.empty())
      return fail_field(ErrorCode::unsupported, "file", options.file, "absent with --op kquant");
    KquantRun kquant{
        .sample = options.whole ? 0 : options.sample, .seed = options.seed, .sim = {}, .json = options.json};
    kquant.sim.soffset = *soffset;
    kquant.sim.checks = *checks;
    kquant.sim.global_unaligned_mode = options.global_unaligned;
    return run_kquant(*job, kquant);
  }
  harness::Request request;
  request.problem = job->problem;
  request.config = job->config;
  request.m = job->m;
  request.target = job->target->name;
  request.seed = options.seed;
  request.sample = options.whole ? 0 : options.sample;
  request.sim.soffset = *soffset;
  request.sim.checks = *checks;
  request.sim.global_unaligned_mode = options.global_unaligned;
  ProgressBar bar("workgroups");
  request.sim.progress = [&bar](std::uint64_t done, std::uint64_t all) { bar.update(done, all); };

  Result<harness::Report> report;
  std::optional<harness::CheckpointReport> checkpoint;
  if (layer) {
    auto ran = harness::run_checkpoint(*layer, request);
    if (!ran) return std::unexpected(ran.error());
    checkpoint = *std::move(ran);
    report = checkpoint->report;
  } else if (options.file.empty()) {
    report = harness::run(request);
  } else {
    const auto object = read_object(options.file, *job->target);
    if (!object) return std::unexpected(object.error());
    const auto text = read_assembly(options.file);
    if (!text) return std::unexpected(text.error());
    std::optional<harness::SourceText> source;
    if (*text) source = harness::SourceText{**text, options.file};
    report = harness::run_object(*object, request, source);
  }
  if (!report) return std::unexpected(report.error());
  bar.finish();
  if (options.json) {
    Json j = describe(*report);
    if (checkpoint) j["checkpoint"] = describe(*layer, *checkpoint);
    fmt::print("{}\n", j.dump(2));
  } else {
    if (checkpoint) print_layer(*layer, *checkpoint);
    print_text(*report, options.card);
  }
  return report->ok();
}

}  // namespace

Action add_run(CLI::App& app) {
  const auto options = std::make_shared<RunOptions>();
  app.add_option("file", options->file,
                 "Run this .s or .hsaco in the generated kernel's place (same problem and config)");
  add_problem_options(app, options->problem);
  app.add_flag("--explain-choice", options->problem.explain_choice,
               "Say on stderr how the Config was chosen");
  auto* sample =
      app.add_option("--sample", options->sample, "Workgroups to run; tails, first and middle come first")
          ->capture_default_str();
  app.add_flag("--whole", options->whole, "Run every workgroup")->excludes(sample);
  app.add_option(
      "--args", options->args,
      "Run any code object: a JSON file with grid, block and arguments (tools/wavejit/launch_file.hpp)");
  app.add_option("--checkpoint", options->checkpoint,
                 "Run a layer of this folder of .safetensors (and config.json), repacked");
  app.add_option("--layer", options->layer,
                 "With --checkpoint: the layer, such as model.layers.0.mlp.down_proj");
  app.add_option("--format", options->format,
                 "With --checkpoint: auto, awq, gptq, gptq_v1, gptq_v2, compressed-tensors, plain, mslk")
      ->capture_default_str();
  app.add_option("--gguf", options->gguf.file,
                 "Run a tensor of this .gguf with the K-quant decode kernels (--m 1 to 8, --act, --target)");
  app.add_option("--tensor", options->gguf.tensor, "With --gguf: the tensor, such as blk.0.ffn_up.weight");
  app.add_option("--tensor-rows", options->gguf.rows, "With --gguf: about how many rows to run; 0 = all")
      ->capture_default_str();
  app.add_option("--expert", options->gguf.expert, "With --gguf: which matrix of a tensor of several")
      ->capture_default_str();
  app.add_option("--kernel", options->kernel, "With --args: which kernel of the object");
  app.add_option("--without-check", options->without_check,
                 "Switch a check of the simulator off (repeatable)");
  app.add_flag("--list-checks", options->list_checks, "Name the checks of the simulator and what each finds");
  app.add_flag("--global-unaligned", options->global_unaligned,
               "Vector memory takes any address, as with SH_MEM_CONFIG's unaligned mode; LDS does not");
  app.add_option("--seed", options->seed, "Of the random tensors and the sample")->capture_default_str();
  app.add_option("--soffset", options->soffset, "Bounds rule of the scalar offset: both, excluded, included")
      ->capture_default_str();
  app.add_flag("--card", options->card, "Also print what an iteration of the hot loop costs");
  app.add_flag("--json", options->json, "Report as JSON on stdout");
  const CLI::Option* activation = app.get_option("--act");
  return [options, activation] {
    options->activation_given = activation->count() > 0;
    const auto right = run_command(*options);
    if (!right) return refuse(right.error(), options->json);
    return *right ? exit_ok : exit_wrong;
  };
}

}  // namespace wavejit::tools
