// SPDX-License-Identifier: MIT
#include "tools/wavejit/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <optional>

#include "templates/fields.hpp"
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
                 "kquant's output is f32; default bf16")
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
  // CLI11 would set an optional bool to false at once; what was not typed stays unset.
  const auto set = [](std::optional<bool>& flag) {
    return [&flag](std::int64_t count) { flag = count > 0; };
  };
  app.add_flag_function("--zero-points", set(o.zero_points),
                        "Of w4a16: packed zero points (int32 [ceil(N/8), K/group]) instead of the constant 8")
      ->group(group);
  app.add_flag_function(
         "--zeros", set(o.zeros),
         "Of int4_gemm and int4_grouped: float zeros [K/group, N] of the scales' type, added after scaling")
      ->group(group);
  app.add_option("--scale-type", o.scale_type,
                 "Type of int4_gemm's and int4_grouped's scales and zeros: bf16, f16, f32; default bf16")
      ->group(group);
  app.add_option("--batch", o.batch, "Of int4_gemm: products side by side, each of M rows; default 1")
      ->group(group);
  app.add_option("--groups", o.groups, "Of int4_grouped: sets of weights, which share the M rows")
      ->group(group);
  app.add_flag_function("--bias", set(o.bias), "Of w4a16: a bias [N] of the activation's type")->group(group);
  app.add_option("--rounding", o.rounding,
                 "Of a dequantised weight: fastest (default), nearest; not of kquant")
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

/// What was typed of a field: by what name, and its value in words.
struct Typed {
  const char* name;   ///< of the flag
  const char* field;  ///< of the Problem
  std::optional<std::string> value;
};

std::vector<Typed> typed(const ProblemOptions& o) {
  const auto number = [](const std::optional<std::int64_t>& given) {
    return given ? std::optional(std::to_string(*given)) : std::nullopt;
  };
  const auto flag = [](const std::optional<bool>& given, const char* on, const char* off) {
    return given ? std::optional<std::string>(*given ? on : off) : std::nullopt;
  };
  return {{"type", "weight_type", o.weight_type},
          {"act", "act", o.activation},
          {"zero_points", "zero_points", flag(o.zero_points, "packed", "symmetric")},
          {"zeros", "zero_points", flag(o.zeros, "additive", "symmetric")},
          {"n", "n", number(o.n)},
          {"k", "k", number(o.k)},
          {"group", "group", number(o.group)},
          {"scale_type", "scale_type", o.scale_type},
          {"rounding", "rounding", o.rounding},
          {"activation_stride", "activation_stride", number(o.activation_stride)},
          {"weight_stride", "weight_stride", number(o.weight_stride)},
          {"scale_stride", "scale_stride", number(o.scale_stride)},
          {"output_stride", "output_stride", number(o.output_stride)},
          {"zero_point_stride", "zero_point_stride", number(o.zero_point_stride)},
          {"bias", "bias", flag(o.bias, "true", "false")},
          {"groups", "groups", number(o.groups)},
          {"batch", "batch", number(o.batch)}};
}

std::size_t index_of(std::string_view field) {
  const auto all = templates::fields();
  return static_cast<std::size_t>(std::ranges::find(all, field, &templates::Field::name) - all.begin());
}

/// Of the two kinds of zeros an operation has one, and a flag for it.
Result<void> check_zeros(const ProblemOptions& o, templates::Operation op) {
  constexpr ErrorCode code = ErrorCode::invalid_problem;
  const std::string of(templates::name(op));
  const bool floats = op == templates::Operation::int4_gemm || op == templates::Operation::int4_grouped;
  if (o.zero_points && floats)
    return bad(code, "zero_points", "given", "left out: the zeros of " + of + " are floats, --zeros");
  if (o.zeros && !floats)
    return bad(code, "zeros", "given",
               "left out: they are of int4_gemm and int4_grouped" +
                   std::string(op == templates::Operation::w4a16 ? "; w4a16 has --zero-points" : ""));
  return {};
}

/// What must be given.
Result<void> check_complete(const ProblemOptions& o, templates::Operation op) {
  constexpr ErrorCode code = ErrorCode::invalid_problem;
  if (!o.shape.empty() && find_shape(o.shape) == nullptr)
    return bad(code, "shape", o.shape, "one of " + shape_names());
  if (o.shape.empty() && (!o.n || !o.k))
    return bad(code, o.n ? "k" : "n", "missing", "given by --n and --k, or by --shape");
  if (!o.weight_type && op == templates::Operation::kquant)
    return bad(code, "type", "missing",
               "given: " + templates::values_for(templates::fields()[index_of("weight_type")], op));
  if (!o.groups && op == templates::Operation::int4_grouped)
    return bad(code, "groups", "missing", "given: the number of sets of weights");
  return {};
}

Result<templates::Problem> problem_of(const ProblemOptions& o) {
  const auto op = templates::find_operation(o.op);
  if (!op) return bad(ErrorCode::invalid_problem, "op", o.op, "one of " + operation_names());
  auto ok = check_zeros(o, *op);
  if (ok) ok = check_complete(o, *op);
  if (!ok) return std::unexpected(ok.error());
  templates::Problem start = templates::blank(*op);
  if (const NamedShape* shape = find_shape(o.shape); shape != nullptr) {
    start.n = shape->n;
    start.k = shape->k;
    if (*op != templates::Operation::kquant) start.group = shape->group;
  }
  templates::Words words = templates::words(start);
  const std::vector<Typed> all = typed(o);
  for (const Typed& t : all) {
    if (!t.value) continue;
    const std::size_t i = index_of(t.field);
    const templates::Field& field = templates::fields()[i];
    const auto value = templates::parse_value(field, *t.value);
    if (value)
      words[i] = *value;
    else if (field.takes[static_cast<std::size_t>(*op)] != 0)
      return bad(ErrorCode::invalid_problem, t.name, *t.value, templates::values_for(field, *op));
  }
  const templates::Problem problem = templates::of_words(words);
  for (const Typed& t : all) {
    const templates::Field& field = templates::fields()[index_of(t.field)];
    if (t.value && !field.means_something(problem))
      return templates::meaningless(field, t.name, *t.value, problem);
  }
  return problem;
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

void add_shard_option(CLI::App& app, std::string& text) {
  app.add_option("--shard", text, "I/N: the I-th of N shares that together are the whole")
      ->capture_default_str();
}

Result<Shard> parse_shard(const std::string& text, std::size_t most) {
  Shard s;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, s.index);
  const bool slash = first.ec == std::errc{} && first.ptr != end && *first.ptr == '/';
  const auto second = slash ? std::from_chars(first.ptr + 1, end, s.count) : first;
  if (!slash || second.ec != std::errc{} || second.ptr != end || s.index < 1 || s.index > s.count ||
      s.count > most)
    return bad(ErrorCode::invalid_argument, "shard", text,
               fmt::format("I/N with I from 1 to N, and N at most {}", most));
  return s;
}

}  // namespace wavejit::tools
