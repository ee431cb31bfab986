// SPDX-License-Identifier: MIT
// wavejit run: a problem, or its edited `.s` or `.hsaco`, or a layer of a checkpoint, or a tensor of a GGUF
// file
// -> simulator, random activations, oracle, verdict.
#include "tests/harness/run.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
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
#include "tools/wavejit/model_kernel.hpp"
#include "tools/wavejit/options.hpp"
#include "tools/wavejit/own_header.hpp"
#include "tools/wavejit/progress.hpp"
#include "tools/wavejit/run_any.hpp"
#include "tools/wavejit/run_gguf.hpp"
#include "tools/wavejit/run_kquant.hpp"
#include "tools/wavejit/run_report.hpp"
#include "tools/wavejit/shapes.hpp"
#include "tools/wavejit/stages.hpp"

namespace wavejit::tools {
namespace {

struct RunOptions {
  ProblemOptions problem;
  std::string file;
  std::vector<std::int64_t> group_rows;
  std::vector<std::string> given;  ///< flags of problem and Config that were typed, --target and --m aside
  std::size_t sample = 8;
  bool sample_given = false, whole = false;
  std::uint64_t seed = 1;
  std::string soffset = "both";
  std::string args, kernel;
  std::string checkpoint, layer, format = "auto";
  GgufRun gguf;
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
  if (o.op != templates::name(templates::Operation::w4a16))
    return fail_field(ErrorCode::unsupported, "op", o.op,
                      "w4a16: layers of a checkpoint are repacked for that");
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
  if (!problem.activation && layer->source.scales.dtype == repack::Dtype::f16) problem.activation = "f16";
  return layer;
}

Result<bool> run_gguf_file(const RunOptions& options) {
  const ProblemOptions& o = options.problem;
  std::string other = options.file.empty() ? "" : "a file to run";
  if (!options.checkpoint.empty()) other = "--checkpoint";
  for (const std::string& flag : options.given)
    if (flag != "--act" && (flag != "--op" || o.op != "kquant")) other = flag;
  if (!other.empty())
    return fail_field(ErrorCode::invalid_argument, "gguf", "given with " + other,
                      "given without it: the tensor says all that; of a problem's flags it leaves --act, --m "
                      "and --target");
  if (options.gguf.tensor.empty())
    return fail_field(ErrorCode::invalid_argument, "tensor", "absent", "the name of a tensor of --gguf");
  GgufRun run = options.gguf;
  run.target = o.target;
  run.activation = o.activation.value_or("bf16");
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

/// All rows of the groups' sizes that were typed, at least 1; `most` for absurd ones, which are refused
/// later.
std::int64_t typed_rows(const RunOptions& options) {
  constexpr std::int64_t most = 1LL << 31;
  std::int64_t rows = 0;
  for (const std::int64_t r : options.group_rows)
    rows = std::min(rows + std::clamp<std::int64_t>(r, 0, most), most);
  return std::max<std::int64_t>(rows, 1);
}

/// Sizes that were typed say how many groups there are, and how many rows.
void take_groups(const RunOptions& options, ProblemOptions& problem) {
  if (options.group_rows.empty() || problem.op != templates::name(templates::Operation::int4_grouped)) return;
  if (!problem.groups) problem.groups = std::ssize(options.group_rows);
  if (!problem.m) problem.m = typed_rows(options);
}

/// Rows of each group: those that were typed, or the job's rows shared evenly.
Result<std::vector<std::int64_t>> group_rows_of(const RunOptions& options, const Job& job) {
  const auto bad = [](std::string given, std::string allowed) {
    return fail_field(ErrorCode::invalid_argument, "group_rows", std::move(given), std::move(allowed));
  };
  const std::int64_t groups = job.problem.groups;
  const std::vector<std::int64_t>& rows = options.group_rows;
  if (job.problem.op == templates::Operation::int4_grouped && groups == 0)
    return fail_field(ErrorCode::invalid_argument, "groups", "0",
                      "at least 1: without there is nothing to run");
  if (rows.empty()) return even_groups(job.m, groups);
  if (job.problem.op != templates::Operation::int4_grouped)
    return bad("given", "left out: it is of --op int4_grouped");
  if (std::ssize(rows) != groups)
    return bad(fmt::format("{} sizes", rows.size()), fmt::format("one for each of the {} groups", groups));
  std::int64_t left = job.m;
  for (const std::int64_t r : rows) {
    if (r < 0) return bad(std::to_string(r), "at least 0");
    if (r > left) return bad(std::to_string(r), fmt::format("such that all fit into the {} rows", job.m));
    left -= r;
  }
  return rows;
}

/// What the header of a `.s` of ours says where nothing else does; else what was typed.
Result<Job> job_of(const RunOptions& options, const ProblemOptions& problem) {
  if (options.file.empty() || !options.given.empty()) return resolve(problem);
  const auto text = read_assembly(options.file);
  if (!text) return std::unexpected(text.error());
  const target::Target* target = target::find(problem.target);
  if (!*text || target == nullptr) return resolve(problem);
  const auto own = read_own_header(**text, *target);
  if (!own) return std::unexpected(own.error());
  if (!*own) return resolve(problem);
  Job job{.target = target, .problem = (*own)->problem, .config = (*own)->config, .m = 0};
  job.m = problem.m.value_or(options.group_rows.empty() ? published_m : typed_rows(options));
  return job;
}

/// The file in the place of the generated kernel that it stands for.
Result<harness::Report> run_file(const RunOptions& options, const Job& job, const harness::Request& request) {
  const auto object = read_object(options.file, *job.target);
  if (!object) return std::unexpected(object.error());
  const auto text = read_assembly(options.file);
  if (!text) return std::unexpected(text.error());
  std::optional<harness::SourceText> source;
  if (*text) source = harness::SourceText{**text, options.file};
  if (templates::stages(job.problem, job.config) == 1) return harness::run_object(*object, request, source);
  const auto decoded = lower::decode(*object);
  if (!decoded) return std::unexpected(decoded.error());
  const auto stage = stage_of(decoded->kernels.at(0), job.problem, job.config, *job.target, job.m);
  if (!stage) return std::unexpected(stage.error());
  return harness::run_object(*object, request, source, *stage);
}

/// Any operation but kquant. `layer`: whose weights these are, or null.
Result<bool> run_job(const RunOptions& options, const Job& job, const checkpoint::Layer* layer,
                     const std::vector<std::int64_t>& group_rows, const sim::Options& sim) {
  harness::Request request;
  request.problem = job.problem;
  request.config = job.config;
  request.m = job.m;
  request.group_rows = group_rows;
  request.target = job.target->name;
  request.seed = options.seed;
  // Several kernels run whole: which workgroups of the later ones belong to a tile is the family's business.
  const bool all = options.whole || (!options.sample_given && templates::stages(job.problem, job.config) > 1);
  request.sample = all ? 0 : options.sample;
  request.sim = sim;
  ProgressBar bar("workgroups");
  request.sim.progress = [&bar](std::uint64_t done, std::uint64_t of) { bar.update(done, of); };

  Result<harness::Report> report;
  std::optional<harness::CheckpointReport> checkpoint;
  if (layer != nullptr) {
    auto ran = harness::run_checkpoint(*layer, request);
    if (!ran) return std::unexpected(ran.error());
    checkpoint = *std::move(ran);
    report = checkpoint->report;
  } else {
    report = options.file.empty() ? harness::run(request) : run_file(options, job, request);
  }
  if (!report) return std::unexpected(report.error());
  bar.finish();
  if (options.json) {
    Json j = to_json(*report);
    if (checkpoint) j["checkpoint"] = describe(*layer, *checkpoint);
    fmt::print("{}\n", j.dump(2));
  } else {
    if (checkpoint) print_layer(*layer, *checkpoint);
    print_text(*report, options.card);
  }
  return report->ok();
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
  take_groups(options, problem);
  auto job = job_of(options, problem);
  if (!job) return std::unexpected(job.error());
  if (options.problem.explain_choice) print_choice(stderr, *job);
  const auto soffset = soffset_rule(options.soffset);
  if (!soffset) return std::unexpected(soffset.error());
  if (!options.whole && options.sample == 0)
    return fail_field(ErrorCode::invalid_argument, "sample", "0", "at least 1; --whole runs all workgroups");
  const auto group_rows = group_rows_of(options, *job);
  if (!group_rows) return std::unexpected(group_rows.error());
  sim::Options sim;
  sim.soffset = *soffset;
  sim.checks = *checks;
  sim.global_unaligned_mode = options.global_unaligned;
  if (job->problem.op != templates::Operation::kquant)
    return run_job(options, *job, layer ? &*layer : nullptr, *group_rows, sim);
  if (!options.file.empty())
    return fail_field(ErrorCode::unsupported, "file", options.file,
                      "absent with --op kquant: its two kernels are judged by a harness that generates them "
                      "itself; --args runs any file, without the oracle");
  return run_kquant(
      *job,
      {.sample = options.whole ? 0 : options.sample, .seed = options.seed, .sim = sim, .json = options.json});
}

/// Of problem and Config, --target and --m aside.
std::vector<std::string> typed_flags(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* o : app.get_options()) {
    const std::string name = o->get_name();
    const bool ours = o->get_group() == problem_group || o->get_group() == config_group;
    if (ours && o->count() > 0 && name != "--target" && name != "--m") names.push_back(name);
  }
  return names;
}

}  // namespace

Action add_run(CLI::App& app) {
  const auto options = std::make_shared<RunOptions>();
  app.add_option("file", options->file,
                 "Run this .s or .hsaco in the generated kernel's place (same problem and config); a .s of "
                 "ours says both "
                 "in its header, if no flag does");
  add_problem_options(app, options->problem);
  app.add_flag("--explain-choice", options->problem.explain_choice,
               "Say on stderr how the Config was chosen");
  app.add_option("--group-rows", options->group_rows,
                 "Of int4_grouped: rows of each group, 3,0,5; default: --m shared evenly")
      ->delimiter(',');
  auto* sample =
      app.add_option("--sample", options->sample, "Workgroups to run; tails, first and middle come first")
          ->capture_default_str();
  app.add_flag("--whole", options->whole, "Run every workgroup")->excludes(sample);
  app.add_option(
      "--args", options->args,
      "Run any code object: a JSON file with grid, block and arguments (tools/wavejit/launch_file.hpp)");
  app.add_option("--checkpoint", options->checkpoint,
                 "Run a layer of this folder of .safetensors (and config.json), repacked");
  app.add_option(
      "--layer", options->layer,
      "With --checkpoint: the layer, such as model.layers.0.mlp.down_proj, or of experts in one tensor "
      "'model.layers.0.mlp.experts.gate_up_proj[3]'");
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
  return [options, &app, sample] {
    options->sample_given = sample->count() > 0;
    options->given = typed_flags(app);
    const auto right = run_command(*options);
    if (!right) return refuse(right.error(), options->json);
    return *right ? exit_ok : exit_wrong;
  };
}

}  // namespace wavejit::tools
