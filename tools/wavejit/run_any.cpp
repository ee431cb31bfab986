// SPDX-License-Identifier: MIT
// wavejit run FILE --args args.json: any code object on the simulator.
#include "tools/wavejit/run_any.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "generator/lower/lower.hpp"
#include "runtime/device/sim/simulator.hpp"
#include "tests/oracle/format.hpp"
#include "tools/wavejit/files.hpp"
#include "tools/wavejit/json.hpp"
#include "tools/wavejit/launch_file.hpp"
#include "tools/wavejit/launch_memory.hpp"
#include "tools/wavejit/progress.hpp"

namespace wavejit::tools {
namespace {

using Bytes = std::vector<std::uint8_t>;
double element(const Bytes& data, std::uint64_t index, ElementType type) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, data.data() + index * bytes(type), bytes(type));
  switch (type) {
    case ElementType::bf16:
      return oracle::decode(static_cast<std::uint16_t>(bits), oracle::Format::bf16);
    case ElementType::f16:
      return oracle::decode(static_cast<std::uint16_t>(bits), oracle::Format::f16);
    case ElementType::f32: {
      float f = 0;
      std::memcpy(&f, &bits, sizeof f);
      return f;
    }
    default:
      return bits;
  }
}

struct Comparison {
  std::string name;
  std::uint64_t elements = 0, wrong = 0, worst_at = 0;
  double worst = 0;  ///< error over its allowance
};

Result<Comparison> compare(const Bytes& got, const LaunchArgument& a) {
  const Expectation& e = *a.expect;
  const auto want = read_file(e.file, most_bytes());
  if (!want) return std::unexpected(want.error());
  if (want->size() != got.size())
    return fail_field(ErrorCode::invalid_argument, e.file.string(), fmt::format("{} bytes", want->size()),
                      fmt::format("{} bytes, as the buffer", got.size()));
  Comparison c{a.name, got.size() / bytes(e.type), 0, 0, 0};
  for (std::uint64_t i = 0; i < c.elements; ++i) {
    const double g = element(got, i, e.type), w = element(*want, i, e.type);
    if (std::isnan(g) && std::isnan(w)) continue;
    if (g == w) continue;
    const double allowed = e.atol + e.rtol * std::abs(w);
    const double ratio = allowed > 0 && std::isfinite(g) ? std::abs(g - w) / allowed : HUGE_VAL;
    c.wrong += ratio > 1 ? 1 : 0;
    if (ratio > c.worst) {
      c.worst = ratio;
      c.worst_at = i;
    }
  }
  return c;
}

void print_report(const sim::RunReport& r, const std::vector<Comparison>& comparisons,
                  const std::string& kernel) {
  fmt::print("{}: {} workgroups, {} wave-instructions in {:.2f} s ({:.2f} million per second)\n", kernel,
             r.workgroups, r.wave_instructions, r.seconds, millions_per_second(r));
  for (const Comparison& c : comparisons)
    fmt::print("{}: {} of {} elements outside the tolerance, worst {:.3g} of it at element {}\n", c.name,
               c.wrong, c.elements, c.worst, c.worst_at);
  for (const sim::Fault& f : r.faults) fmt::print("{}\n", sim::to_string(f));
  fmt::print("{} distinct faults\n", r.distinct_faults);
}

}  // namespace

double millions_per_second(const sim::RunReport& report) {
  return report.seconds > 0 ? static_cast<double>(report.wave_instructions) / report.seconds * 1e-6 : 0;
}

Result<bool> run_any(const std::filesystem::path& object_path, const std::filesystem::path& args,
                     const std::string& kernel_name, const std::string& target_name,
                     const sim::Options& checks, bool json) {
  const target::Target* assembler = target::find_simulated(target_name);
  if (assembler == nullptr)
    return fail_field(ErrorCode::unknown_target, "target", target_name, "a known target");
  auto launch = read_launch_file(args);
  if (!launch) return std::unexpected(launch.error());
  const auto bytes = read_object(object_path, *assembler);
  if (!bytes) return std::unexpected(bytes.error());
  auto object = lower::decode(*bytes);
  if (!object) return std::unexpected(object.error());
  if (auto ok = note_lines(*object, object_path); !ok) return std::unexpected(ok.error());
  const auto chosen = find_kernel(*object, kernel_name.empty() ? launch->kernel : kernel_name);
  if (!chosen) return std::unexpected(chosen.error());
  const lower::DecodedKernel* kernel = *chosen;
  const auto program = sim::Program::create(*kernel, *object->target);
  if (!program) return std::unexpected(program.error());
  sim::Memory memory;
  const auto prepared = prepare_launch(memory, *kernel, *launch);
  if (!prepared) return std::unexpected(prepared.error());

  sim::LaunchParams params;
  params.grid = launch->grid;
  params.block = launch->block;
  params.kernarg = std::as_bytes(std::span(prepared->kernarg));
  params.dynamic_lds_bytes = launch->dynamic_lds_bytes;
  params.options = checks;
  ProgressBar bar("workgroups");
  params.options.progress = [&bar](std::uint64_t done, std::uint64_t all) { bar.update(done, all); };
  const auto report = sim::run(*program, memory, params);
  bar.finish();
  if (!report) return std::unexpected(report.error());

  Outputs outputs;
  std::vector<Comparison> comparisons;
  bool ok = report->clean();
  for (const auto& [argument, address] : prepared->buffers) {
    if (argument->output.empty() && !argument->expect) continue;
    Bytes content(memory.find(address)->size);
    if (auto read = memory.read(address, std::as_writable_bytes(std::span(content))); !read)
      return std::unexpected(read.error());
    if (!argument->output.empty()) outputs.add(argument->output, content);
    if (!argument->expect) continue;
    auto c = compare(content, *argument);
    if (!c) return std::unexpected(c.error());
    ok = ok && c->wrong == 0;
    comparisons.push_back(std::move(*c));
  }
  if (auto written = outputs.commit(); !written) return std::unexpected(written.error());
  if (!json) {
    print_report(*report, comparisons, kernel->name);
    return ok;
  }
  Json faults = Json::array(), compared = Json::array();
  for (const sim::Fault& f : report->faults) faults.push_back(to_json(f));
  for (const Comparison& c : comparisons)
    compared.push_back({{"name", c.name}, {"elements", c.elements}, {"wrong", c.wrong}, {"worst", c.worst}});
  fmt::print("{}\n", Json{{"kernel", kernel->name},
                          {"target", object->target->name},
                          {"ok", ok},
                          {"workgroups", report->workgroups},
                          {"wave_instructions", report->wave_instructions},
                          {"seconds", report->seconds},
                          {"distinct_faults", report->distinct_faults},
                          {"faults", faults},
                          {"compared", compared}}
                         .dump(2));
  return ok;
}

}  // namespace wavejit::tools
