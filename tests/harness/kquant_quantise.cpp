// SPDX-License-Identifier: MIT
#include "tests/harness/kquant_quantise.hpp"

#include <fmt/format.h>

#include <cstring>

#include "generator/lower/lower.hpp"
#include "runtime/check/checker.hpp"
#include "tests/harness/kquant.hpp"
#include "tests/oracle/format.hpp"

namespace wavejit::harness::kquant {
namespace {

using templates::DataType;

/// The input tensor's bytes; `seen` gets the values that they hold.
std::vector<std::uint8_t> input_bytes(const QuantiseRequest& r, std::vector<float>& seen) {
  std::vector<std::uint8_t> bytes;
  const auto append = [&](const auto& value) {
    const std::size_t at = bytes.size();
    bytes.resize(at + sizeof value);
    std::memcpy(bytes.data() + at, &value, sizeof value);
  };
  for (std::int64_t m = 0; m < r.problem.m; ++m)
    for (std::int64_t k = 0; k < r.problem.k; ++k) {
      const double value = r.input(m, k);
      if (r.problem.input == DataType::f32) {
        seen.push_back(static_cast<float>(value));
        append(seen.back());
        continue;
      }
      const auto format =
          r.problem.input == DataType::f16 ? wavejit::oracle::Format::f16 : wavejit::oracle::Format::bf16;
      const std::uint16_t bits = wavejit::oracle::encode(value, format);
      seen.push_back(static_cast<float>(wavejit::oracle::decode(bits, format)));
      append(bits);
    }
  return bytes;
}

Result<void> simulate(const lower::DecodedKernel& kernel, const target::Target& target,
                      const QuantiseRequest& r, const templates::Launch& launch, QuantiseReport& report) {
  sim::Memory memory;
  std::vector<std::byte> kernarg(launch.kernarg_size);
  std::vector<std::uint64_t> addresses;
  for (const templates::Argument& a : launch.arguments) {
    const auto address = memory.allocate(static_cast<std::uint64_t>(a.bytes), a.alignment, a.name);
    if (!address) return std::unexpected(address.error());
    std::memcpy(kernarg.data() + a.offset, &*address, sizeof *address);
    addresses.push_back(*address);
  }
  const auto bytes = input_bytes(r, report.input);
  if (auto ok = memory.write(addresses[0], std::as_bytes(std::span(bytes))); !ok) return ok;
  if (auto ok = memory.set_read_only(addresses[0], true); !ok) return ok;
  const auto program = sim::Program::create(kernel, target);
  if (!program) return std::unexpected(program.error());
  auto result = sim::run(*program, memory,
                         {.grid = launch.grid, .block = launch.block, .kernarg = kernarg, .options = r.sim});
  if (!result) return std::unexpected(result.error());
  report.run = *std::move(result);
  report.bytes.resize(static_cast<std::size_t>(launch.arguments[1].bytes));
  if (auto ok = memory.read(addresses[1], std::as_writable_bytes(std::span(report.bytes))); !ok) return ok;
  const auto undefined = memory.undefined_bytes(addresses[1], report.bytes.size());
  if (!undefined) return std::unexpected(undefined.error());
  report.unwritten_bytes = *undefined;
  report.blocks = unpack_activations(report.bytes, r.problem.k);
  return {};
}

}  // namespace

std::string QuantiseReport::reason() const {
  std::string text = checker;
  for (const sim::Fault& fault : run.faults) text += sim::to_string(fault) + "\n";
  if (unwritten_bytes > 0) text += fmt::format("{} bytes of the output were never stored\n", unwritten_bytes);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (const auto wrong = oracle::kquant::wrong(blocks[i], std::span(input).subspan(32 * i, 32));
        !wrong.empty())
      return text + fmt::format("block {} of 32 activations has {}\n", i, wrong);
  return text;
}

Result<QuantiseReport> quantise(const QuantiseRequest& request) {
  const target::Target* target = target::find(request.target);
  if (target == nullptr)
    return fail_field(ErrorCode::unknown_target, "target", request.target, "one that has a table");
  const templates::kquant::QuantiseProblem& q = request.problem;
  // The product that these activations are for does not matter.
  const templates::kquant::Problem product{
      .type = templates::GgufType::q8_0, .n = 1, .k = q.k, .m = static_cast<unsigned>(q.m)};
  const auto problem = common_problem(product, q.input);
  const auto kernel = templates::generate(problem, common_config(product, {}), *target, {.stage = 0});
  if (!kernel) return std::unexpected(kernel.error());
  const auto launch = templates::launch(kernel->problem, kernel->config, *target, q.m, 0);
  if (!launch) return std::unexpected(launch.error());
  const auto object = lower::decode(request.code_object.empty() ? kernel->code_object : request.code_object);
  if (!object) return std::unexpected(object.error());
  QuantiseReport report;
  const check::Report findings = check::check(object->kernels.at(0), *target);
  if (findings.count(check::Severity::warning) > 0) report.checker = check::to_string(findings) + "\n";
  if (auto ok = simulate(object->kernels.at(0), *target, request, *launch, report); !ok)
    return std::unexpected(ok.error());
  return report;
}

}  // namespace wavejit::harness::kquant
