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

std::string operation_names() {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < templates::operations; ++i)
    names.push_back(templates::name(static_cast<templates::Operation>(i)));
  return fmt::format("{}", fmt::join(names, ", "));
}

void add_problem(CLI::App& app, ProblemOptions& o) {
  const std::string group = problem_group;
  app.add_option("--shape", o.shape, "Named shape: " + shape_names() + "; sets n, k and group")->group(group);
  app.add_option("--op", o.op, "Operation: " + operation_names())->capture_default_str()->group(group);
  app.add_option("--target", o.target, "GPU architecture: " + target_names())
      ->capture_default_str()
      ->group(group);
  app.add_option("--act", o.activation,
                 "Activation type: bf16, f16, with kquant also f32; the output's too, and w4a16's scales'; "
                 "kquant's output is f32")
      ->capture_default_str()
      ->group(group);
  app.add_option("--n", o.n, "Columns of the output")->group(group);
  app.add_option("--k", o.k, "Length of the reduction")->group(group);
  app.add_option(
         "--group", o.group,
         "Weights that share a scale along K, a multiple of 32 (int4_gemm, int4_grouped: of 64), default "
         "128; -1 = all of K")
      ->group(group);
  app.add_option("--type", o.weight_type, "GGUF weights of kquant: q4_k, q5_k, q6_k, q8_0, q4_0")
      ->group(group);
  app.add_option("--m", o.m,
                 fmt::format("Rows of the activations (of each product of a batch, of all groups together), "
                             "default {}; of kquant, whose kernels take up to 8, 1",
                             published_m))
      ->group(group);
  app.add_flag("--zero-points", o.zero_points,
               "Of w4a16: packed zero points (int32 [ceil(N/8), K/group]) instead of the constant 8")
      ->group(group);
  app.add_flag(
         "--zeros", o.zeros,
         "Of int4_gemm and int4_grouped: float zeros [K/group, N] of the scales' type, added after scaling")
      ->group(group);
  app.add_option("--scale-type", o.scale_type,
                 "Type of int4_gemm's and int4_grouped's scales and zeros: bf16, f16, f32; default bf16")
      ->group(group);
  app.add_option("--batch", o.batch, "Of int4_gemm: products side by side, each of M rows; default 1")
      ->group(group);
  app.add_option("--groups", o.groups, "Of int4_grouped: sets of weights, which share the M rows")
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

std::unexpected<Error> bad(ErrorCode code, std::string field, std::string given, std::string allowed) {
  return fail_field(code, std::move(field), std::move(given), std::move(allowed));
}

Result<templates::Operation> operation_of(const ProblemOptions& o) {
  for (std::size_t i = 0; i < templates::operations; ++i)
    if (const auto op = static_cast<templates::Operation>(i); templates::name(op) == o.op) return op;
  return bad(ErrorCode::invalid_problem, "op", o.op, "one of " + operation_names());
}

Result<templates::GgufType> weight_type_of(const ProblemOptions& o) {
  const std::string given = o.weight_type.value_or("absent");
  for (const auto type : {templates::GgufType::q4_k, templates::GgufType::q5_k, templates::GgufType::q6_k,
                          templates::GgufType::q8_0, templates::GgufType::q4_0})
    if (templates::name(type) == given) return type;
  return bad(ErrorCode::invalid_problem, "type", given, "q4_k, q5_k, q6_k, q8_0 or q4_0, with --op kquant");
}

bool is_int4(templates::Operation op) {
  return op == templates::Operation::int4_gemm || op == templates::Operation::int4_grouped;
}

/// What only some operations have. Errors name the flag that is of another one.
Result<void> check_belongs(const ProblemOptions& o, templates::Operation op) {
  constexpr ErrorCode code = ErrorCode::invalid_problem;
  using templates::Operation;
  const std::string of(templates::name(op));
  if (o.weight_type && op != Operation::kquant)
    return bad(code, "type", *o.weight_type, "left out: it is of --op kquant");
  if (o.zero_points && is_int4(op))
    return bad(code, "zero_points", "packed", "left out: the zeros of " + of + " are floats, --zeros");
  if (o.zeros && !is_int4(op))
    return bad(code, "zeros", "given",
               "left out: they are of int4_gemm and int4_grouped" +
                   std::string(op == Operation::w4a16 ? "; w4a16 has --zero-points" : ""));
  if (o.scale_type && !is_int4(op))
    return bad(code, "scale_type", *o.scale_type,
               "left out: it is of int4_gemm and int4_grouped; " +
                   std::string(op == Operation::kquant ? "GGUF weights say it themselves"
                                                       : "scales of w4a16 have the activations' type"));
  if (o.batch && op != Operation::int4_gemm)
    return bad(code, "batch", std::to_string(*o.batch), "left out: it is of --op int4_gemm");
  if (o.groups && op != Operation::int4_grouped)
    return bad(code, "groups", std::to_string(*o.groups), "left out: they are of --op int4_grouped");
  if (!o.groups && op == Operation::int4_grouped)
    return bad(code, "groups", "missing", "given: the number of sets of weights");
  return {};
}

Result<void> take_sizes(const ProblemOptions& o, templates::Problem& p) {
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
  p.batch = o.batch.value_or(p.batch);
  p.groups = o.groups.value_or(p.groups);
  p.activation_stride = o.activation_stride;
  p.weight_stride = o.weight_stride;
  p.scale_stride = o.scale_stride;
  p.zero_point_stride = o.zero_point_stride;
  p.output_stride = o.output_stride;
  return {};
}

std::optional<templates::DataType> float_type(std::string_view name) {
  for (const auto type : {templates::DataType::bf16, templates::DataType::f16, templates::DataType::f32})
    if (templates::name(type) == name) return type;
  return {};
}

Result<void> take_types(const ProblemOptions& o, templates::Problem& p) {
  const bool kquant = p.op == templates::Operation::kquant;
  const auto activation = float_type(o.activation);
  if (!activation || (*activation == templates::DataType::f32 && !kquant))
    return bad(ErrorCode::invalid_problem, "act", o.activation, kquant ? "bf16, f16 or f32" : "bf16 or f16");
  p.activation = *activation;
  if (kquant) {
    const auto type = weight_type_of(o);
    if (!type) return std::unexpected(type.error());
    p.weight_type = *type;
  }
  if (o.scale_type) {
    const auto type = float_type(*o.scale_type);
    if (!type) return bad(ErrorCode::invalid_problem, "scale_type", *o.scale_type, "bf16, f16 or f32");
    p.scale_type = *type;
  }
  if (is_int4(p.op)) p.layout = templates::WeightLayout::row_major_signed;
  if (o.zero_points) p.zero_points = templates::ZeroPoints::packed;
  if (o.zeros) p.zero_points = templates::ZeroPoints::additive;
  if (o.rounding != "fastest" && o.rounding != "nearest")
    return bad(ErrorCode::invalid_problem, "rounding", o.rounding, "fastest or nearest");
  p.rounding =
      o.rounding == "nearest" ? templates::WeightRounding::nearest : templates::WeightRounding::fastest;
  p.bias = o.bias;
  return {};
}

Result<templates::Problem> problem_of(const ProblemOptions& o) {
  templates::Problem p;
  const auto op = operation_of(o);
  if (!op) return std::unexpected(op.error());
  p.op = *op;
  auto ok = check_belongs(o, p.op);
  if (ok) ok = take_sizes(o, p);
  if (ok) ok = take_types(o, p);
  if (!ok) return std::unexpected(ok.error());
  return p;
}

}  // namespace

std::string target_names() {
  std::vector<std::string_view> names;
  for (const target::Target& t : target::all()) names.push_back(t.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void add_problem_options(CLI::App& app, ProblemOptions& options) {
  add_problem(app, options);
  add_config_options(app, options);
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

  const auto config = resolve_config(o, job.problem, *job.target, job.m);
  if (!config) return std::unexpected(config.error());
  job.config = *config;
  if (!o.m && job.config.path == templates::Path::gemv) job.m = job.config.tokens;
  return job;
}

}  // namespace wavejit::tools
