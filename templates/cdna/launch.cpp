// SPDX-License-Identifier: MIT
#include "templates/cdna/launch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "templates/cdna/reduce.hpp"
#include "templates/describe.hpp"

namespace wavejit::templates::cdna {
namespace {

constexpr std::int64_t limit = (std::int64_t{1} << 31) - 1;

bool grouped(const Problem& p) { return p.op == Operation::int4_grouped; }
std::int64_t sets(const Problem& p) { return grouped(p) ? p.groups : p.batch; }

/// Row numbers of every tensor, and workspace rows, are 31-bit numbers in the kernels.
Result<void> check_rows(const Problem& p, const Config& c, std::int64_t m) {
  const auto check = [](std::string field, std::int64_t a, std::int64_t b) -> Result<void> {
    if (a == 0 || b <= limit / a) return {};
    return fail_field(ErrorCode::invalid_argument, std::move(field), fmt::format("{} * {}", a, b),
                      "at most 2^31 - 1");
  };
  if (auto ok = check("n * batch or groups", sets(p), p.n); !ok) return ok;
  if (grouped(p)) return {};
  return check("m * batch * split_k", p.batch * c.split_k, m);
}

void describe_tensor(Argument& a, const Problem& p, const Config& c, std::int64_t m) {
  const auto dense = [](std::int64_t stride, std::int64_t columns) { return stride == 0 ? columns : stride; };
  const std::int64_t rows = grouped(p) ? m : p.batch * m, groups = p.k / p.group;
  if (a.name == "activations") describe(a, p.activation, rows, p.k, dense(p.activation_stride, p.k), 16);
  if (a.name == "weights")
    describe(a, DataType::i32, sets(p) * p.n, p.k / 8, dense(p.weight_stride, p.k / 8), 16);
  if (p.op == Operation::w4a16) {
    if (a.name == "scales") describe(a, p.activation, p.n, groups, dense(p.scale_stride, groups), 2);
    if (a.name == "zero_points")
      describe(a, DataType::i32, zero_point_rows(p), groups, dense(p.zero_point_stride, groups), 4);
    // Loaded 16 bytes at a time where N is a multiple of 8.
    if (a.name == "bias") describe(a, p.activation, p.n, p.n % 8 == 0 ? 4 : 2);
  } else {
    const std::int64_t stride = dense(p.scale_stride, p.n);  // of zero points, too
    if (a.name == "scales" || a.name == "zero_points")
      describe(a, p.scale_type, sets(p) * groups, p.n, stride, 4);
  }
  if (a.name == "output")
    describe(a, p.activation, rows, p.n, dense(p.output_stride, p.n), output_alignment(p));
  if (a.name == "workspace") describe(a, DataType::f32, p.batch * c.split_k * m, p.n, p.n, 16);
  if (a.name == "group_rows") describe(a, DataType::i64, p.groups, 8);
  if (a.name == "m") a.value = m;
}

Launch with_arguments(Launch l, const Problem& problem, const Config& config, unsigned stage,
                      std::int64_t m) {
  const std::vector<ir::KernelArg> args = arguments(problem, config, stage);
  l.kernarg_size = kernarg_size(args);
  for (const ir::KernelArg& arg : args) {
    Argument a = argument_of(arg);
    describe_tensor(a, problem, config, m);
    l.arguments.push_back(std::move(a));
  }
  return l;
}

/// Rows of tiles along x, columns along y, products along z.
Result<void> decode_grid(Launch& l, const Problem& p, const Config& c, std::int64_t m) {
  constexpr std::int64_t most = 65535;
  const std::int64_t threads = static_cast<std::int64_t>(c.waves) * 64, tiles_m = (m + c.bm - 1) / c.bm,
                     tiles_n = (p.n + c.bn - 1) / c.bn;
  if (tiles_m * threads >= (std::int64_t{1} << 32))
    return fail_field(ErrorCode::invalid_argument, "grid.x * block.x",
                      fmt::format("{} * {}", tiles_m, threads), "below 2^32; fewer rows per launch would do");
  if (tiles_n > most)
    return fail_field(ErrorCode::invalid_argument, "grid.y", std::to_string(tiles_n),
                      "at most 65535; a larger bn would do");
  if (p.batch > most)
    return fail_field(ErrorCode::invalid_argument, "grid.z", std::to_string(p.batch),
                      "at most 65535 products");
  l.grid = {static_cast<std::uint32_t>(tiles_m), static_cast<std::uint32_t>(tiles_n),
            static_cast<std::uint32_t>(p.batch)};
  l.row_grid = {.axis = 0, .rows = c.bm, .factor = 1};
  l.block = {static_cast<std::uint32_t>(threads), 1, 1};
  return {};
}

}  // namespace

Schedule schedule_of(const Problem& problem, const Config& config, const target::Target& target) {
  Schedule s;
  s.xcds = target.xcds;
  s.bm = config.bm;
  s.bn = config.bn;
  s.n = problem.n;
  s.slices = config.split_k;
  s.sets = sets(problem);
  s.grouped = grouped(problem);
  return s;
}

std::vector<ir::KernelArg> arguments(const Problem& problem, const Config& config, unsigned stage) {
  using ir::Access;
  std::vector<ir::KernelArg> args;
  std::uint32_t offset = 0;
  const auto buffer = [&](const char* name, Access access = Access::read) {
    args.push_back({name, ir::ArgKind::buffer, offset, 8, access});
    offset += 8;
  };
  if (stage == 0) {
    buffer("activations");
    buffer("weights");
    buffer("scales");
    if (problem.zero_points != ZeroPoints::symmetric) buffer("zero_points");
    if (problem.bias && config.split_k == 1) buffer("bias");
    buffer(config.split_k > 1 ? "workspace" : "output", Access::write);
    if (grouped(problem)) buffer("group_rows");
  } else {
    buffer("workspace");
    buffer("output", Access::write);
    if (problem.bias) buffer("bias");
  }
  args.push_back({"m", ir::ArgKind::scalar, offset, 4, Access::read});
  return args;
}

std::uint32_t kernarg_size(const std::vector<ir::KernelArg>& arguments) {
  std::uint32_t end = 0;
  for (const ir::KernelArg& arg : arguments) end = std::max(end, arg.offset + arg.size);
  return (end + 7) / 8 * 8;
}

std::uint32_t output_alignment(const Problem& p) {
  const std::int64_t both = p.n | p.output_stride;
  return both % 8 == 0 ? 16 : both % 2 == 0 ? 4 : 2;
}

Result<Launch> launch(const Problem& problem, const Config& config, unsigned stage,
                      const target::Target& target, std::int64_t m) {
  if (auto ok = check_rows(problem, config, m); !ok) return std::unexpected(ok.error());
  Launch l;
  if (config.path == Path::decode && !grouped(problem)) {
    if (auto ok = decode_grid(l, problem, config, m); !ok) return std::unexpected(ok.error());
    return with_arguments(std::move(l), problem, config, stage, m);
  }
  const std::int64_t threads =
      stage == 0 ? static_cast<std::int64_t>(config.waves) * target.wave_size : reduce_threads(problem);
  const std::int64_t grid =
      stage == 0 ? workgroups(schedule_of(problem, config, target), m) : reduce_workgroups(problem, m);
  if (grid > limit || grid * threads >= (std::int64_t{1} << 32))
    return fail_field(ErrorCode::invalid_argument, "grid.x * block.x", fmt::format("{} * {}", grid, threads),
                      "below 2^32; a larger tile or fewer rows per launch would do");
  l.grid = {static_cast<std::uint32_t>(grid), 1, 1};
  l.row_grid = stage == 0 ? row_grid(schedule_of(problem, config, target))
                          : RowGrid{.rows = 1, .factor = reduce_workgroups(problem, 1)};
  l.block = {static_cast<std::uint32_t>(threads), 1, 1};
  return with_arguments(std::move(l), problem, config, stage, m);
}

}  // namespace wavejit::templates::cdna
