// SPDX-License-Identifier: MIT
#include "templates/kquant/family.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "templates/kquant/quantise.hpp"

namespace wavejit::templates::kquant {
namespace {

std::unexpected<Error> bad(std::string field, std::string given, std::string allowed) {
  return fail_field(ErrorCode::invalid_problem, std::move(field), std::move(given), std::move(allowed));
}
std::unexpected<Error> bad_config(std::string field, std::string given, std::string allowed) {
  return fail_field(ErrorCode::invalid_config, std::move(field), std::move(given), std::move(allowed));
}

/// The product of stage 1.
Problem product(const templates::Problem& p, unsigned tokens) {
  return {.type = p.weight_type, .n = p.n, .k = p.k, .m = tokens};
}
Config plan(const templates::Config& c) {
  return {.rows = c.rows, .pipeline_depth = c.pipeline_depth, .waves_per_simd = c.waves_per_simd};
}
/// Stage 0.
QuantiseProblem quantiser(const templates::Problem& p, unsigned tokens) {
  return {.input = p.activation, .k = p.k, .m = tokens};
}

Result<void> dense(const char* field, std::int64_t& stride, std::int64_t size) {
  if (stride != 0 && stride != size)
    return bad(field, std::to_string(stride), fmt::format("0 or {}: GGUF tensors are dense", size));
  stride = 0;
  return {};
}

Result<void> check_tokens(unsigned tokens) {
  if (tokens >= 1 && tokens <= max_m) return {};
  return bad_config("tokens", std::to_string(tokens), fmt::format("between 1 and {}", max_m));
}

}  // namespace

Result<templates::Problem> normalise_problem(const templates::Problem& problem,
                                             const target::Target& target) {
  templates::Problem p = problem;
  if (auto ok = normalise(product(p, 1), target); !ok) return std::unexpected(ok.error());
  if (auto ok = normalise(quantiser(p, max_m), target); !ok) return std::unexpected(ok.error());
  auto ok = dense("activation_stride", p.activation_stride, p.k);
  if (ok) ok = dense("weight_stride", p.weight_stride, row_bytes(product(p, 1)));
  if (ok) ok = dense("output_stride", p.output_stride, p.n);
  if (!ok) return std::unexpected(ok.error());
  return p;
}

Result<templates::Config> normalise_config(const templates::Config& config, const templates::Problem& problem,
                                           const target::Target& target) {
  if (config.path != Path::gemv)
    return bad_config("path", std::string(name(config.path)), "gemv, which is how kquant is computed");
  if (auto ok = check_tokens(config.tokens); !ok) return std::unexpected(ok.error());
  for (const std::string_view technique_name : technique_names()) {
    Techniques off = config.techniques;
    if (technique_name != "pipeline" && !*technique(off, technique_name))
      return bad_config("techniques", "without " + std::string(technique_name),
                        "with all but pipeline, the only one that these kernels can do without");
  }
  Config wanted = plan(config);
  if (!config.techniques.pipelined_loads) wanted.pipeline_depth = 0;
  const Problem p = product(problem, config.tokens);
  const auto c = normalise(wanted, p, target);
  if (!c) return std::unexpected(c.error());
  return common_config(p, *c);
}

Result<std::vector<Selection>> select(const templates::Problem& problem, const target::Target& target,
                                      std::int64_t first, std::int64_t last) {
  const bool pieces = last > max_m;
  if (pieces) first = 1;
  std::vector<Selection> selections;
  for (std::int64_t m = first; m <= std::min<std::int64_t>(last, max_m); ++m) {
    templates::Config c;
    c.path = Path::gemv;
    c.tokens = static_cast<unsigned>(m);
    const auto settled = normalise_config(c, problem, target);
    if (!settled) return std::unexpected(settled.error());
    selections.push_back({m, m, *settled});
  }
  if (pieces) selections.back().last = last;
  return selections;
}

Result<ir::Kernel> compile_stage(const templates::Problem& problem, templates::Config& config, unsigned stage,
                                 const target::Target& target, const passes::Observer& observer) {
  const auto kernel_of = [&]() -> Result<ir::Kernel> {
    if (stage == 0) return compile(quantiser(problem, config.tokens), target, observer);
    Config wanted = plan(config);
    auto kernel = compile(product(problem, config.tokens), wanted, target, observer);
    config.waves_per_simd = wanted.waves_per_simd;
    return kernel;
  };
  auto kernel = kernel_of();
  if (kernel) kernel->header = {fmt::format("stage {}", stage)};
  return kernel;
}

Result<Launch> launch_stage(const templates::Problem& problem, const templates::Config& config,
                            unsigned stage, const target::Target& target, std::int64_t m) {
  if (m != config.tokens)
    return fail_field(ErrorCode::invalid_argument, "m", std::to_string(m),
                      fmt::format("{}, the tokens of this Config; more than {} are several launches",
                                  config.tokens, max_m));
  if (stage == 0) return launch(quantiser(problem, config.tokens), target);
  return launch(product(problem, config.tokens), plan(config), target);
}

templates::Problem common_problem(const Problem& problem, DataType activation) {
  templates::Problem p;
  p.op = Operation::kquant;
  p.activation = activation;
  p.n = problem.n;
  p.k = problem.k;
  p.weight_type = problem.type;
  return p;
}

templates::Config common_config(const Problem& problem, const Config& config) {
  templates::Config c;
  c.path = Path::gemv;
  c.tokens = problem.m;
  c.rows = config.rows;
  c.pipeline_depth = config.pipeline_depth;
  c.waves_per_simd = config.waves_per_simd;
  c.wgp_mode = false;
  return c;
}

}  // namespace wavejit::templates::kquant
