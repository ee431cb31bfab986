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

/// Trips of the kernel's loop over superblocks; 0 where a row has too few for one.
std::uint64_t trips_of(const templates::GeneratedKernel& kernel) {
  for (const ir::Block& block : kernel.ir.blocks)
    if (block.is_loop_body) return static_cast<std::uint64_t>(block.trip_count);
  return 0;
}

double bytes_of(const kquant::Problem& p) {
  return static_cast<double>(kquant::row_bytes(p) * p.n + kquant::activation_row_bytes(p) * p.m +
                             4 * p.n * p.m);
}

Result<model::Estimate> estimate(const templates::GeneratedKernel& kernel, const kquant::Problem& p,
                                 const target::Target& target) {
  const auto launch =
      templates::launch(kernel.problem, kernel.config, target, p.m, harness::kquant::product_stage);
  if (!launch) return std::unexpected(launch.error());
  const auto decoded = decode(kernel.code_object);
  if (!decoded) return std::unexpected(decoded.error());
  model::KernelFacts facts;
  facts.vgprs = kernel.ir.vgprs_used;
  facts.wgp_mode = false;
  model::LaunchShape shape;
  shape.workgroups = launch->grid[0];
  shape.iterations = trips_of(kernel);
  shape.useful_flop = 2.0 * static_cast<double>(p.n) * static_cast<double>(p.k) * p.m;
  shape.dram_bytes = bytes_of(p);
  return model::estimate(decoded->code, facts, shape, target);
}

Result<model::Estimate> estimate(const PreparedKernel& prepared, const target::Target& target) {
  const templates::GeneratedKernel& k = prepared.kernel;
  const model::LaunchShape shape = shape_of(k.problem, k.config, prepared.launch, 1, prepared.iterations);
  const auto stretches = prepared.stretches();
  if (stretches) return model::estimate(*stretches, prepared.facts, shape, target);
  // A K too short for a loop has no steady state: the bytes' own time stands for it.
  model::Estimate e;
  e.time_us = shape.dram_bytes / target.timing.dram_gigabytes * 1e-3;
  e.binds = "DRAM";
  return e;
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
  // Rows too short for a loop have no steady state to model: the bytes' own time stands for them.
  price.time_us = dram_us(bytes_of(problem));
  price.binds = "DRAM";
  if (trips_of(*kernel) == 0) return price;
  const auto e = estimate(*kernel, problem, target_);
  if (!e) return std::unexpected(e.error());
  price.time_us = e->time_us;
  price.binds = e->binds;
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
  const auto prepared = prepare_generated(*normal, *config, target_, 1);
  if (!prepared) return refuse(prepared.error());
  const auto idle = idle_loads(*prepared, target_);
  if (!idle) return std::unexpected(idle.error());
  const auto e = estimate(*prepared, target_);
  if (!e) return std::unexpected(e.error());
  return Price{"w4a16", {}, *idle, e->time_us, std::string(e->binds)};
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
