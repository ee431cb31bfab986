// SPDX-License-Identifier: MIT
#include "tools/wavejit/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <array>
#include <optional>

#include "tools/wavejit/shapes.hpp"

namespace wavejit::tools {
namespace {

std::string shape_names() {
  std::vector<std::string_view> names;
  for (const NamedShape& shape : named_shapes()) names.push_back(shape.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void add_problem(CLI::App& app, ProblemOptions& o) {
  const std::string group = "Problem";
  app.add_option("--shape", o.shape, "Named shape: " + shape_names() + "; sets n, k and group")->group(group);
  app.add_option("--op", o.op, "Operation: w4a16, kquant")->capture_default_str()->group(group);
  app.add_option("--target", o.target, "GPU architecture: " + target_names())
      ->capture_default_str()
      ->group(group);
  app.add_option("--act", o.activation,
                 "Activation type: bf16, f16, with kquant also f32; w4a16 has scales and output of it, "
                 "kquant's is f32")
      ->capture_default_str()
      ->group(group);
  app.add_option("--n", o.n, "Columns of the output")->group(group);
  app.add_option("--k", o.k, "Length of the reduction")->group(group);
  app.add_option("--group", o.group,
                 "Weights that share a scale along K, a multiple of 32, default 128; -1 = all of K")
      ->group(group);
  app.add_option("--type", o.weight_type, "GGUF weights of kquant: q4_k, q5_k, q6_k, q8_0, q4_0")
      ->group(group);
  app.add_option("--m", o.m,
                 fmt::format("Rows of the activations, default {}; of kquant, whose kernels take up to 8, 1",
                             published_m))
      ->group(group);
  app.add_flag("--zero-points", o.zero_points,
               "Packed zero points (int32 [ceil(N/8), K/group]) instead of the constant 8")
      ->group(group);
  app.add_flag("--bias", o.bias, "A bias [N] of the activation's type")->group(group);
  app.add_option("--rounding", o.rounding, "Of a dequantised weight: fastest, nearest")
      ->capture_default_str()
      ->group(group);
  app.add_option("--activation-stride", o.activation_stride, "Elements between activation rows, 0 = dense")
      ->group(group);
  app.add_option("--weight-stride", o.weight_stride, "int32 words between weight rows, 0 = dense")
      ->group(group);
  app.add_option("--scale-stride", o.scale_stride, "Elements between scale rows, 0 = dense")->group(group);
  app.add_option("--zero-point-stride", o.zero_point_stride,
                 "int32 words between rows of packed zero points, 0 = dense")
      ->group(group);
  app.add_option("--output-stride", o.output_stride, "Elements between output rows, 0 = dense")->group(group);
}

void add_config(CLI::App& app, ProblemOptions& o) {
  const std::string group = "Config (what is not given is chosen)";
  app.add_option("--tile", o.tile, "Workgroup tile BM,BN,BK")->delimiter(',')->expected(3)->group(group);
  app.add_option("--wave-rows", o.rows, "Of kquant: rows of weights per wave, 1, 2 or 4")->group(group);
  app.add_option("--waves", o.waves, "Waves per workgroup")->group(group);
  app.add_option("--waves-m", o.waves_m, "Waves along M")->group(group);
  app.add_option("--waves-n", o.waves_n, "Waves along N")->group(group);
  app.add_option("--depth", o.depth, "Iterations that global loads run ahead: 0, 1, 2")->group(group);
  app.add_option("--unroll", o.unroll, "Steps of BK per loop body")->group(group);
  app.add_option("--lds-buffers", o.lds_buffers, "LDS copies of the tile: 1, 2")->group(group);
  app.add_option("--waves-per-simd", o.waves_per_simd, "Occupancy that the register budget must allow")
      ->group(group);
  app.add_flag("--cu-mode", o.cu_mode, "Keep a workgroup on one CU instead of a WGP")->group(group);
  app.add_option("--without", o.without,
                 fmt::format("Switch a technique off (repeatable): {}",
                             fmt::join(templates::technique_names(), ", ")))
      ->allow_extra_args(false)
      ->group(group);
}

std::unexpected<Error> bad(ErrorCode code, std::string field, std::string given, std::string allowed) {
  return fail_field(code, std::move(field), std::move(given), std::move(allowed));
}

Result<templates::Operation> operation_of(const ProblemOptions& o) {
  for (std::size_t i = 0; i < templates::operations; ++i)
    if (const auto op = static_cast<templates::Operation>(i); templates::name(op) == o.op) return op;
  return bad(ErrorCode::invalid_problem, "op", o.op, "w4a16 or kquant");
}

Result<templates::GgufType> weight_type_of(const ProblemOptions& o) {
  const std::string given = o.weight_type.value_or("absent");
  for (const auto type : {templates::GgufType::q4_k, templates::GgufType::q5_k, templates::GgufType::q6_k,
                          templates::GgufType::q8_0, templates::GgufType::q4_0})
    if (templates::name(type) == given) return type;
  return bad(ErrorCode::invalid_problem, "type", given, "q4_k, q5_k, q6_k, q8_0 or q4_0, with --op kquant");
}

Result<templates::Problem> problem_of(const ProblemOptions& o) {
  templates::Problem p;
  const auto op = operation_of(o);
  if (!op) return std::unexpected(op.error());
  p.op = *op;
  const bool kquant = p.op == templates::Operation::kquant;
  if (kquant) {
    const auto type = weight_type_of(o);
    if (!type) return std::unexpected(type.error());
    p.weight_type = *type;
  } else if (o.weight_type) {
    return bad(ErrorCode::invalid_problem, "type", *o.weight_type, "left out: it is of --op kquant");
  }
  if (!o.shape.empty()) {
    const NamedShape* shape = find_shape(o.shape);
    if (shape == nullptr) return bad(ErrorCode::invalid_problem, "shape", o.shape, "one of " + shape_names());
    p.n = shape->n;
    p.k = shape->k;
    p.group = shape->group;
  } else if (!o.n || !o.k) {
    return bad(ErrorCode::invalid_problem, o.n ? "k" : "n", "missing", "given by --n and --k, or by --shape");
  }
  p.n = o.n.value_or(p.n);
  p.k = o.k.value_or(p.k);
  p.group = o.group.value_or(p.group);

  std::optional<templates::DataType> activation;
  for (const auto type : {templates::DataType::bf16, templates::DataType::f16, templates::DataType::f32})
    if (templates::name(type) == o.activation) activation = type;
  if (!activation || (*activation == templates::DataType::f32 && !kquant))
    return bad(ErrorCode::invalid_problem, "act", o.activation, kquant ? "bf16, f16 or f32" : "bf16 or f16");
  p.activation = *activation;
  if (o.rounding != "fastest" && o.rounding != "nearest")
    return bad(ErrorCode::invalid_problem, "rounding", o.rounding, "fastest or nearest");
  p.rounding =
      o.rounding == "nearest" ? templates::WeightRounding::nearest : templates::WeightRounding::fastest;
  if (o.zero_points) p.zero_points = templates::ZeroPoints::packed;
  p.bias = o.bias;
  p.activation_stride = o.activation_stride;
  p.weight_stride = o.weight_stride;
  p.scale_stride = o.scale_stride;
  p.zero_point_stride = o.zero_point_stride;
  p.output_stride = o.output_stride;
  return p;
}

/// Flags of the other operation's Configs would be silently of no effect.
Result<void> check_config_flags(const ProblemOptions& o, templates::Operation op) {
  const bool kquant = op == templates::Operation::kquant;
  const bool of_tiles =
      !o.tile.empty() || o.waves || o.waves_m || o.waves_n || o.unroll || o.lds_buffers || o.cu_mode;
  if (kquant && of_tiles)
    return bad(ErrorCode::invalid_config, "config", "with flags of tiles",
               "described by --wave-rows, --depth and --waves-per-simd: kquant computes no tiles");
  if (!kquant && o.rows)
    return bad(ErrorCode::invalid_config, "rows", std::to_string(*o.rows), "left out: it is of --op kquant");
  return {};
}

/// With a tile given, the rest starts from a Config's own defaults: what selection would choose
/// beside another tile need not suit this one.
Result<templates::Config> config_of(const ProblemOptions& o, const templates::Problem& problem,
                                    const target::Target& target, std::int64_t m) {
  templates::Config c;
  if (auto ok = check_config_flags(o, problem.op); !ok) return std::unexpected(ok.error());
  if (o.tile.empty()) {
    const auto selected = templates::select_config(problem, target, m);
    if (!selected) return std::unexpected(selected.error());
    c = *selected;
  } else {
    c.bm = o.tile[0];
    c.bn = o.tile[1];
    c.bk = o.tile[2];
  }
  if (o.waves) {
    c.waves = *o.waves;
    c.waves_m = c.waves_n = 0;
  }
  if (o.waves_m || o.waves_n) {
    c.waves_m = o.waves_m.value_or(0);
    c.waves_n = o.waves_n.value_or(0);
  }
  c.rows = o.rows.value_or(c.rows);
  c.pipeline_depth = o.depth.value_or(c.pipeline_depth);
  c.unroll = o.unroll.value_or(c.unroll);
  c.lds_buffers = o.lds_buffers.value_or(c.lds_buffers);
  c.waves_per_simd = o.waves_per_simd.value_or(c.waves_per_simd);
  if (o.cu_mode) c.wgp_mode = false;
  for (const std::string& name : o.without) {
    bool* technique = templates::technique(c.techniques, name);
    if (technique == nullptr)
      return bad(ErrorCode::invalid_config, "without", name,
                 fmt::format("one of {}", fmt::join(templates::technique_names(), ", ")));
    *technique = false;
  }
  return c;
}

}  // namespace

std::string target_names() {
  std::vector<std::string_view> names;
  for (const target::Target& t : target::all()) names.push_back(t.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void add_problem_options(CLI::App& app, ProblemOptions& options) {
  add_problem(app, options);
  add_config(app, options);
}

Result<void> require(const Job& job, templates::Operation op) {
  if (job.problem.op == op) return {};
  return bad(ErrorCode::unsupported, "op", std::string(templates::name(job.problem.op)),
             fmt::format("{} for this command", templates::name(op)));
}

Result<Job> resolve(const ProblemOptions& o) {
  Job job;
  job.target = target::find(o.target);
  if (job.target == nullptr)
    return bad(ErrorCode::unknown_target, "target", o.target, "one of " + target_names());
  job.m = o.m.value_or(o.op == "kquant" ? 1 : published_m);
  if (job.m < 1) return bad(ErrorCode::invalid_problem, "m", std::to_string(job.m), "at least 1");

  const auto problem = problem_of(o);
  if (!problem) return std::unexpected(problem.error());
  auto normal_problem = templates::normalise(*problem, *job.target);
  if (!normal_problem) return std::unexpected(normal_problem.error());
  job.problem = *normal_problem;

  const auto config = config_of(o, job.problem, *job.target, job.m);
  if (!config) return std::unexpected(config.error());
  auto normal_config = templates::normalise(*config, job.problem, *job.target);
  if (!normal_config) return std::unexpected(normal_config.error());
  job.config = *normal_config;
  return job;
}

}  // namespace wavejit::tools
