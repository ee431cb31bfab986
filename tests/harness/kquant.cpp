// SPDX-License-Identifier: MIT
#include "tests/harness/kquant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>
#include <random>

#include "runtime/check/checker.hpp"

namespace wavejit::harness::kquant {
namespace {

using templates::Argument;
using templates::Launch;
namespace oracle = wavejit::oracle::kquant;

std::vector<float> activation_row(const Request& r, std::int64_t m) {
  std::vector<float> x(static_cast<std::size_t>(r.problem.k));
  std::mt19937_64 random(r.seed * 1000003 + static_cast<std::uint64_t>(m));
  std::normal_distribution<float> normal;
  for (std::size_t k = 0; k < x.size(); ++k)
    x[k] = r.activations ? r.activations(m, static_cast<std::int64_t>(k)) : normal(random);
  return x;
}

std::vector<std::uint8_t> weight_row(const Request& r, std::int64_t n) {
  return r.weights ? r.weights(n) : oracle::random_row(oracle_type(r.problem.type), r.problem.k, r.seed, n);
}

/// The tensors of one run, at simulated addresses.
struct Tensors {
  sim::Memory memory;
  std::vector<std::byte> kernarg;
  std::uint64_t activations = 0, weights = 0, output = 0;
};

/// Every tensor starts as badly aligned as it may; with `segments` at a segment, so that counts of them are
/// the kernel's doing.
Result<void> place(Tensors& t, const Launch& launch, bool segments) {
  t.kernarg.assign(launch.kernarg_size, std::byte{0xA5});
  for (const Argument& a : launch.arguments) {
    const auto address =
        t.memory.allocate(static_cast<std::uint64_t>(a.bytes), segments ? 64U : a.alignment, a.name);
    if (!address) return std::unexpected(address.error());
    (a.name == "workspace" ? t.activations : a.name == "weights" ? t.weights : t.output) = *address;
    std::memcpy(t.kernarg.data() + a.offset, &*address, sizeof *address);
  }
  return {};
}

/// Fills what the chosen rows need and asks the oracle for them.
Result<void> fill(Tensors& t, const Request& r, Report& report) {
  const auto rows = static_cast<std::int64_t>(report.rows.size());
  for (auto* list : {&report.exact, &report.model, &report.exact_bound, &report.model_bound})
    list->resize(static_cast<std::size_t>(r.problem.m * rows));
  std::vector<std::vector<float>> x;
  std::vector<std::uint8_t> packed;
  for (unsigned m = 0; m < r.problem.m; ++m) {
    x.push_back(activation_row(r, m));
    const auto row = pack_activations(oracle::quantise_row_q8_1(x.back()));
    packed.insert(packed.end(), row.begin(), row.end());
  }
  const auto& activations = r.quantised.empty() ? packed : r.quantised;
  const auto used = unpack_activations(activations, r.problem.k);
  if (auto ok = t.memory.write(t.activations, std::as_bytes(std::span(activations))); !ok) return ok;
  const auto stride = static_cast<std::uint64_t>(templates::kquant::row_bytes(r.problem));
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t n = report.rows[static_cast<std::size_t>(i)];
    const auto row = weight_row(r, n);
    const std::uint64_t at = t.weights + static_cast<std::uint64_t>(n) * stride;
    if (auto ok = t.memory.write(at, std::as_bytes(std::span(row))); !ok) return ok;
    for (unsigned m = 0; m < r.problem.m; ++m) {
      const auto e = static_cast<std::size_t>(m * rows + i);
      const std::size_t blocks = x[m].size() / 32;
      const auto want = oracle::reference(oracle_type(r.problem.type), row, x[m],
                                          std::span(used).subspan(m * blocks, blocks));
      report.exact[e] = want.exact;
      report.model[e] = want.model;
      report.exact_bound[e] = want.exact_bound;
      report.model_bound[e] = want.model_bound;
    }
  }
  if (auto ok = t.memory.set_read_only(t.weights, true); !ok) return ok;
  return t.memory.set_read_only(t.activations, true);
}

Result<void> read_output(const Tensors& t, const Request& r, const Launch& launch, Report& report) {
  std::uint64_t covered = 0;
  for (unsigned m = 0; m < r.problem.m; ++m)
    for (const std::int64_t n : report.rows) {
      const std::uint64_t at = t.output + static_cast<std::uint64_t>(m * r.problem.n + n) * 4;
      float value = 0;
      if (auto ok = t.memory.read(at, std::as_writable_bytes(std::span(&value, 1))); !ok) return ok;
      const auto undefined = t.memory.undefined_bytes(at, 4);
      if (!undefined) return std::unexpected(undefined.error());
      report.unwritten_bytes += *undefined;
      covered += 4 - *undefined;
      report.output.push_back(value);
    }
  const auto size = static_cast<std::uint64_t>(launch.arguments.back().bytes);
  const auto undefined = t.memory.undefined_bytes(t.output, size);
  if (!undefined) return std::unexpected(undefined.error());
  report.stray_bytes = size - *undefined - covered;
  return {};
}

std::vector<std::int64_t> computed_rows(const Request& r, const Launch& launch, unsigned rows_per_wave) {
  std::vector<std::int64_t> rows;
  const auto add = [&](std::uint64_t workgroup) {
    for (unsigned i = 0; i < rows_per_wave; ++i) {
      const auto n = static_cast<std::int64_t>(workgroup * rows_per_wave + i);
      if (n < r.problem.n) rows.push_back(n);
    }
  };
  if (r.workgroups.empty())
    for (std::uint64_t w = 0; w < launch.grid[0]; ++w) add(w);
  for (const std::uint64_t w : r.workgroups) add(w);
  return rows;
}

Result<void> simulate(const lower::DecodedKernel& kernel, const target::Target& target, const Request& r,
                      const Launch& launch, Report& report) {
  Tensors tensors;
  if (auto ok = place(tensors, launch, r.traffic); !ok) return ok;
  if (auto ok = fill(tensors, r, report); !ok) return ok;
  const auto program = sim::Program::create(kernel, target);
  if (!program) return std::unexpected(program.error());
  const sim::LaunchParams params{.grid = launch.grid,
                                 .block = launch.block,
                                 .kernarg = tensors.kernarg,
                                 .dynamic_lds_bytes = 0,
                                 .workgroups = r.workgroups,
                                 .options = r.sim};
  auto result = sim::run(*program, tensors.memory, params);
  if (!result) return std::unexpected(result.error());
  report.run = *std::move(result);
  if (auto ok = read_output(tensors, r, launch, report); !ok) return ok;
  if (!r.traffic) return {};
  auto traffic = weight_traffic(kernel, *program, tensors.memory, params, tensors.weights,
                                static_cast<std::uint64_t>(launch.arguments[1].bytes));
  if (!traffic) return std::unexpected(traffic.error());
  report.traffic = *std::move(traffic);
  return {};
}

}  // namespace

std::vector<std::uint8_t> pack_activations(const std::vector<oracle::Q8_1>& row) {
  std::vector<std::uint8_t> bytes((row.size() + 7) / 8 * 320);
  for (std::size_t i = 0; i < row.size(); ++i) {
    std::uint8_t* block = bytes.data() + i / 8 * 320;
    std::memcpy(block + i % 8 * 32, row[i].q.data(), 32);
    const float d = std::ldexp(row[i].d, -16), sum = static_cast<float>(std::ldexp(row[i].sum, -16));
    std::memcpy(block + 256 + i % 8 * 8, &d, 4);
    std::memcpy(block + 256 + i % 8 * 8 + 4, &sum, 4);
  }
  return bytes;
}

std::vector<oracle::Q8_1> unpack_activations(std::span<const std::uint8_t> bytes, std::int64_t k) {
  std::vector<oracle::Q8_1> blocks;
  const auto in_row = static_cast<std::size_t>(k / 32);
  for (std::size_t row = 0; row < bytes.size(); row += (in_row + 7) / 8 * 320)
    for (std::size_t i = 0; i < in_row; ++i) {
      const std::uint8_t* block = bytes.data() + row + i / 8 * 320;
      oracle::Q8_1& b = blocks.emplace_back();
      float sum = 0;
      std::memcpy(b.q.data(), block + i % 8 * 32, 32);
      std::memcpy(&b.d, block + 256 + i % 8 * 8, 4);
      std::memcpy(&sum, block + 256 + i % 8 * 8 + 4, 4);
      b.d = std::ldexp(b.d, 16);
      b.sum = std::ldexp(static_cast<double>(sum), 16);
    }
  return blocks;
}

float Report::at(std::int64_t m, std::int64_t row) const {
  const auto found = std::ranges::find(rows, row);
  if (found == rows.end()) return std::numeric_limits<float>::quiet_NaN();
  return output.at(static_cast<std::size_t>(m) * rows.size() +
                   static_cast<std::size_t>(found - rows.begin()));
}

double Report::worst(const std::vector<double>& reference, const std::vector<double>& bound) const {
  double most = 0;
  for (std::size_t i = 0; i < output.size(); ++i)
    most = std::max(most, oracle::of_bound(output[i], reference[i], bound[i]));
  return most;
}

std::string Report::faults() const {
  std::string text = checker;
  for (std::size_t i = 0; i < std::min<std::size_t>(run.faults.size(), 5); ++i)
    text += sim::to_string(run.faults[i]) + "\n";
  if (unwritten_bytes > 0) text += fmt::format("{} bytes of the output were never stored\n", unwritten_bytes);
  if (stray_bytes > 0) text += fmt::format("{} bytes of the output were stored elsewhere\n", stray_bytes);
  if (scratch > 0) text += fmt::format("{} bytes of scratch\n", scratch);
  return text;
}

std::string Report::reason() const {
  std::string text = faults();
  const auto judge = [&](double worst, const char* against) {
    if (!(worst <= 1)) text += fmt::format("an element is {:.3g} times its bound off {}\n", worst, against);
  };
  judge(worst_exact(), "the product with the activations as they were");
  judge(worst_model(), "the product with the activations as quantised");
  return text;
}

oracle::Type oracle_type(templates::GgufType type) {
  switch (type) {
    case templates::GgufType::q4_k:
      return oracle::Type::q4_k;
    case templates::GgufType::q5_k:
      return oracle::Type::q5_k;
    case templates::GgufType::q6_k:
      return oracle::Type::q6_k;
    case templates::GgufType::q8_0:
      return oracle::Type::q8_0;
    case templates::GgufType::q4_0:
      break;
  }
  return oracle::Type::q4_0;
}

Result<templates::GeneratedKernel> generate(const templates::kquant::Problem& problem,
                                            const templates::kquant::Config& config,
                                            const target::Target& target) {
  return templates::generate(common_problem(problem), common_config(problem, config), target,
                             {.stage = product_stage});
}

Result<Report> run(const Request& request) {
  const target::Target* target = target::find(request.target);
  if (target == nullptr)
    return fail_field(ErrorCode::unknown_target, "target", request.target, "one that has a table");
  const auto kernel = generate(request.problem, request.config, *target);
  if (!kernel) return std::unexpected(kernel.error());
  const auto launch =
      templates::launch(kernel->problem, kernel->config, *target, request.problem.m, product_stage);
  if (!launch) return std::unexpected(launch.error());
  const auto object = lower::decode(request.code_object.empty() ? kernel->code_object : request.code_object);
  if (!object) return std::unexpected(object.error());
  Report report;
  report.kernel = kernel->name;
  report.config = {.rows = kernel->config.rows,
                   .pipeline_depth = kernel->config.pipeline_depth,
                   .waves_per_simd = kernel->config.waves_per_simd};
  report.vgprs = kernel->ir.vgprs_used;
  report.scratch = object->kernels.at(0).private_segment_size;
  const check::Report findings = check::check(object->kernels.at(0), *target);
  if (findings.count(check::Severity::warning) > 0) report.checker = check::to_string(findings) + "\n";
  report.rows = computed_rows(request, *launch, kernel->config.rows);
  if (auto ok = simulate(object->kernels.at(0), *target, request, *launch, report); !ok)
    return std::unexpected(ok.error());
  return report;
}

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << (outcome.text.empty() ? "right" : outcome.text);
}

Outcome passes(const Request& request) {
  auto report = run(request);
  if (!report) return {report.error().message, std::nullopt};
  std::string text = report->reason();
  return {std::move(text), *std::move(report)};
}

}  // namespace wavejit::harness::kquant
