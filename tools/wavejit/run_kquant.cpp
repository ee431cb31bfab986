// SPDX-License-Identifier: MIT
#include "tools/wavejit/run_kquant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>

#include "templates/kernel.hpp"
#include "tests/harness/kquant.hpp"
#include "tests/harness/kquant_quantise.hpp"
#include "tools/wavejit/json.hpp"

namespace wavejit::tools {
namespace {

namespace harness = wavejit::harness::kquant;

/// The first, the last, the middle and random ones between; none where that would be all.
std::vector<std::uint64_t> choose(std::uint64_t count, const KquantRun& options) {
  if (options.sample == 0 || options.sample >= count) return {};
  std::set<std::uint64_t> chosen;
  for (const std::uint64_t w : {count - 1, std::uint64_t{0}, count / 2})
    if (chosen.size() < options.sample) chosen.insert(w);
  std::mt19937_64 random(options.seed);
  while (chosen.size() < options.sample) chosen.insert(random() % count);
  return {chosen.begin(), chosen.end()};
}

/// N(0, 1), the same for both stages.
std::vector<float> activations_of(const Job& job, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<std::size_t>(job.m * job.problem.k));
  std::ranges::generate(x, [&] { return normal(random); });
  return x;
}

struct Outcome {
  harness::QuantiseReport quantiser;
  harness::Report product;
  std::uint64_t workgroups = 0, workgroups_in_all = 0;

  [[nodiscard]] std::string reason() const { return quantiser.reason() + product.reason(); }
};

Result<Outcome> simulate(const Job& job, const KquantRun& options) {
  const templates::Problem& p = job.problem;
  const auto launch = templates::launch(p, job.config, *job.target, job.m, harness::product_stage);
  if (!launch) return std::unexpected(launch.error());
  const std::vector<float> x = activations_of(job, options.seed);
  const auto at = [&](std::int64_t m, std::int64_t k) { return x[static_cast<std::size_t>(m * p.k + k)]; };
  harness::QuantiseRequest quantise;
  quantise.problem = {.input = p.activation, .k = p.k, .m = job.m};
  quantise.target = job.target->name;
  quantise.input = at;
  quantise.sim = options.sim;
  auto quantised = harness::quantise(quantise);
  if (!quantised) return std::unexpected(quantised.error());
  Outcome outcome;
  outcome.quantiser = *std::move(quantised);
  harness::Request request;
  request.problem = {.type = p.weight_type, .n = p.n, .k = p.k, .m = job.config.tokens};
  request.config = {.rows = job.config.rows,
                    .pipeline_depth = job.config.pipeline_depth,
                    .waves_per_simd = job.config.waves_per_simd};
  request.target = job.target->name;
  request.seed = options.seed;
  // As the quantiser saw them: rounded to the problem's type.
  request.activations = [&](std::int64_t m, std::int64_t k) {
    return outcome.quantiser.input[static_cast<std::size_t>(m * p.k + k)];
  };
  request.quantised = outcome.quantiser.bytes;
  request.workgroups = choose(launch->grid[0], options);
  request.sim = options.sim;
  auto product = harness::run(request);
  if (!product) return std::unexpected(product.error());
  outcome.product = *std::move(product);
  outcome.workgroups_in_all = launch->grid[0];
  outcome.workgroups = request.workgroups.empty() ? launch->grid[0] : request.workgroups.size();
  return outcome;
}

Json describe(const Job& job, const Outcome& o) {
  Json faults = Json::array();
  for (const auto* run : {&o.quantiser.run, &o.product.run})
    for (const sim::Fault& fault : run->faults) faults.push_back(to_json(fault));
  return {{"kernel", o.product.kernel},
          {"target", job.target->name},
          {"m", job.m},
          {"problem", to_json(job.problem)},
          {"config", to_json(job.config)},
          {"ok", o.reason().empty()},
          {"reason", o.reason()},
          {"workgroups", o.workgroups},
          {"workgroups_in_all", o.workgroups_in_all},
          {"wave_instructions", o.quantiser.run.wave_instructions + o.product.run.wave_instructions},
          {"vgprs", o.product.vgprs},
          {"nmse_exact", o.product.nmse_exact()},
          {"nmse_model", o.product.nmse_model()},
          {"worst_exact", o.product.worst_exact()},
          {"worst_model", o.product.worst_model()},
          {"faults", std::move(faults)}};
}

void print_text(const Job& job, const Outcome& o) {
  fmt::print("{} for {}\nproblem: {}\nconfig: {}\n", o.product.kernel, job.target->name,
             templates::canonical(job.problem), templates::canonical(job.config));
  fmt::print("ran the quantiser and {} of {} workgroups of the product for m = {}: {} wave-instructions\n",
             o.workgroups, o.workgroups_in_all, job.m,
             o.quantiser.run.wave_instructions + o.product.run.wave_instructions);
  print_distance(o.product);
  if (o.reason().empty()) {
    fmt::print("verdict: right; no fault, every row of the workgroups stored and nothing else\n");
  } else {
    fmt::print("verdict: WRONG\n{}\n", o.reason());
  }
}

}  // namespace

void print_distance(const harness::Report& r) {
  const auto line = [](const char* against, double worst, double nmse) {
    fmt::print("against {:<24} worst element {:.3g} of its bound (bar 1), NMSE {:.2e}\n", against, worst,
               nmse);
  };
  line("activations as they were", r.worst_exact(), r.nmse_exact());
  line("activations as quantised", r.worst_model(), r.nmse_model());
}

Result<bool> run_kquant(const Job& job, const KquantRun& options) {
  const auto outcome = simulate(job, options);
  if (!outcome) return std::unexpected(outcome.error());
  if (options.json) {
    fmt::print("{}\n", describe(job, *outcome).dump(2));
  } else {
    print_text(job, *outcome);
  }
  return outcome->reason().empty();
}

}  // namespace wavejit::tools
