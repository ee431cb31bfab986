// SPDX-License-Identifier: MIT
#include "templates/cdna/launch.hpp"

#include <fmt/format.h>

#include "templates/describe.hpp"
#include "templates/w4a16/build.hpp"
#include "templates/w4a16/family.hpp"

namespace wavejit::templates::w4a16 {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// What one lane loads of the bias at a time: 16 bytes, which need 4-byte alignment, or single elements.
std::uint32_t bias_alignment(const Problem& p) { return p.n % 8 == 0 ? 4 : 2; }

std::uint32_t output_alignment(const Problem& p) { return p.n % 8 == 0 && p.output_stride % 8 == 0 ? 16 : 2; }

}  // namespace

Result<Launch> launch(const Problem& problem, const Config& config, unsigned stage,
                      const target::Target& target, std::int64_t m) {
  if (config.path == Path::mfma || config.path == Path::decode)
    return cdna::launch(problem, config, stage, target, m);
  Launch l;
  const std::int64_t threads = static_cast<std::int64_t>(config.waves) * target.wave_size;
  const std::int64_t tiles_m = ceil_div(m, config.bm), tiles_n = ceil_div(problem.n, config.bn);
  if (tiles_m * threads >= (1LL << 32))
    return fail_field(ErrorCode::invalid_argument, "grid.x * block.x",
                      fmt::format("{} * {}", tiles_m, threads),
                      "below 2^32; a larger bm or fewer rows per launch would do");
  if (tiles_n > 65535)
    return fail_field(ErrorCode::invalid_argument, "grid.y", std::to_string(tiles_n),
                      "at most 65535; a larger bn would do");
  l.grid = {static_cast<std::uint32_t>(tiles_m), static_cast<std::uint32_t>(tiles_n), 1};
  l.row_grid = {.axis = 0, .rows = config.bm, .factor = 1};
  l.block = {static_cast<std::uint32_t>(threads), 1, 1};
  const std::vector<ir::KernelArg> args = arguments(problem);
  l.kernarg_size = kernarg_size(args);
  for (const ir::KernelArg& arg : args) {
    Argument a = argument_of(arg);
    if (a.name == "activations") describe(a, problem.activation, m, problem.k, problem.activation_stride, 16);
    if (a.name == "weights") describe(a, DataType::i32, problem.n, problem.k / 8, problem.weight_stride, 4);
    if (a.name == "scales")
      describe(a, problem.activation, problem.n, problem.k / problem.group, problem.scale_stride, 2);
    if (a.name == "zero_points")
      describe(a, DataType::i32, zero_point_rows(problem), problem.k / problem.group,
               problem.zero_point_stride, 4);
    if (a.name == "bias") describe(a, problem.activation, problem.n, bias_alignment(problem));
    if (a.name == "output")
      describe(a, problem.activation, m, problem.n, problem.output_stride, output_alignment(problem));
    if (a.name == "m") a.value = m;
    l.arguments.push_back(std::move(a));
  }
  return l;
}

}  // namespace wavejit::templates::w4a16
