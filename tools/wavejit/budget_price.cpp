// SPDX-License-Identifier: MIT
#include "tools/wavejit/budget_price.hpp"

#include <fmt/format.h>

#include "generator/lower/lower.hpp"
#include "generator/model/estimate.hpp"
#include "tests/harness/kquant.hpp"
#include "tests/harness/weight_traffic.hpp"
#include "tools/wavejit/model_kernel.hpp"

namespace wavejit::tools {
namespace {

namespace kquant = templates::kquant;

Price none(std::string because) { return {"none", std::move(because), {}, {}, {}}; }

/// Whether the refusal is an answer (no kernel for this) and not a failure of ours.
bool is_refusal(const Error& e) {
  switch (e.code) {
    case ErrorCode::simulation:
    case ErrorCode::assembler:
    case ErrorCode::invalid_ir:
    case ErrorCode::internal:
      return false;
    default:
      return true;
  }
}

struct Decoded {
  lower::DecodedKernel kernel;
  std::vector<isa::Instruction> code;
};

Result<Decoded> decode(std::span<const std::uint8_t> code_object) {
  auto object = lower::decode(code_object);
  if (!object) return std::unexpected(object.error());
  Decoded d{std::move(object->kernels.at(0)), {}};
  for (const lower::DecodedInstruction& i : d.kernel.instructions) d.code.push_back(i.inst);
  return d;
}

/// The time that `wavejit explain` says, of all kernels of the launch.
Result<void> take_time(Price& price, const ModelledKernel& product, std::int64_t m) {
  const templates::GeneratedKernel& k = product.kernel;
  const auto others = other_kernels_us(k.problem, k.config, *k.target, m, k.stage);
  if (!others) return std::unexpected(others.error());
  price.time_us = product.estimate.time_us + *others;
  price.binds = product.estimate.binds;
  return {};
}

/// Of the lanes of workgroup 0's memory loads, those that moved nothing.
Result<double> idle_loads(const PreparedKernel& prepared, const target::Target& target) {
  const templates::GeneratedKernel& k = prepared.kernel;
  const auto launch = templates::launch(k.problem, k.config, target, 1, k.stage);
  if (!launch) return std::unexpected(launch.error());
  const auto decoded = decode(k.code_object);
  if (!decoded) return std::unexpected(decoded.error());
  std::vector<std::uint64_t> executed;
  const auto notes = notes_of(decoded->kernel, prepared.facts, target, *launch, &executed);
  if (!notes) return std::unexpected(notes.error());
  double moved = 0, possible = 0;
  for (const model::AccessNote& note : *notes) {
    const isa::Instruction& inst = decoded->code.at(note.index);
    if (inst.pipe() != isa::Pipe::vmem || !inst.has(isa::flag::load)) continue;
    const auto times = static_cast<double>(executed.at(note.index));
    moved += times * note.asked;
    possible += times * target.wave_size * harness::lane_bytes(inst);
  }
  return possible == 0 ? 0 : 1 - moved / possible;
}

}  // namespace

Result<double> Prices::idle_lanes(const kquant::Problem& problem, const kquant::Config& config) {
  const std::string key = fmt::format("{} {} {}", templates::name(problem.type), problem.k, config.rows);
  if (const auto it = idle_.find(key); it != idle_.end()) return it->second;
  harness::kquant::Request request;
  request.problem = problem;
  request.problem.n = config.rows;
  request.config = config;
  request.target = std::string(target_.name);
  request.traffic = true;
  const auto report = harness::kquant::run(request);
  if (!report) return std::unexpected(report.error());
  // The distance to the oracle says nothing here: one or two dot products may happen to be near zero.
  if (const std::string wrong = report->faults(); !wrong.empty())
    return fail(ErrorCode::simulation, fmt::format("{} is wrong: {}", report->kernel, wrong));
  return idle_[key] = report->traffic->idle();
}

Result<Price> Prices::price(const kquant::Problem& problem) {
  const auto kernel = harness::kquant::generate(problem, {}, target_);
  if (!kernel) {
    if (!is_refusal(kernel.error())) return std::unexpected(kernel.error());
    return none(kernel.error().message);
  }
  Price price;
  price.arm = fmt::format("kquant {}", templates::name(problem.type));
  const auto idle = idle_lanes(problem, {.rows = kernel->config.rows,
                                         .pipeline_depth = kernel->config.pipeline_depth,
                                         .waves_per_simd = kernel->config.waves_per_simd});
  if (!idle) return std::unexpected(idle.error());
  price.idle = *idle;
  const auto normal = templates::normalise(kquant::common_problem(problem), target_);
  if (!normal) return std::unexpected(normal.error());
  const auto config = templates::select_config(*normal, target_, problem.m);
  if (!config) return std::unexpected(config.error());
  const auto modelled = model_generated(*normal, *config, target_, problem.m);
  if (!modelled) return std::unexpected(modelled.error());
  if (auto ok = take_time(price, *modelled, problem.m); !ok) return std::unexpected(ok.error());
  return price;
}

Result<Price> Prices::price(const templates::Problem& problem) {
  const auto refuse = [](const Error& e) -> Result<Price> {
    if (!is_refusal(e)) return std::unexpected(e);
    return none(e.message);
  };
  const auto normal = templates::normalise(problem, target_);
  if (!normal) return refuse(normal.error());
  const auto config = templates::select_config(*normal, target_, 1);
  if (!config) return refuse(config.error());
  const auto modelled = model_generated(*normal, *config, target_, 1);
  if (!modelled) return refuse(modelled.error());
  const auto idle = idle_loads(*modelled, target_);
  if (!idle) return std::unexpected(idle.error());
  Price price{.arm = "w4a16", .because = {}, .idle = *idle, .time_us = {}, .binds = {}};
  if (auto ok = take_time(price, *modelled, 1); !ok) return std::unexpected(ok.error());
  return price;
}

Result<Price> Prices::of(const Served& served) {
  if (const auto* nothing = std::get_if<NoKernel>(&served)) return none(nothing->because);
  const auto* k = std::get_if<kquant::Problem>(&served);
  const std::string key = k != nullptr ? templates::canonical(kquant::common_problem(*k))
                                       : templates::canonical(std::get<templates::Problem>(served));
  if (const auto it = prices_.find(key); it != prices_.end()) return it->second;
  auto made = k != nullptr ? price(*k) : price(std::get<templates::Problem>(served));
  if (made) prices_.emplace(key, *made);
  return made;
}

}  // namespace wavejit::tools
