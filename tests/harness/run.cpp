// SPDX-License-Identifier: MIT
#include "tests/harness/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "tests/harness/tensors.hpp"
#include "tests/oracle/product.hpp"

namespace wavejit::harness {
namespace {

struct Resolved {
  const target::Target* target = nullptr;
  templates::Problem problem;
  templates::Config config;
  templates::Launch launch;
};

Result<Resolved> resolve(const Request& request) {
  Resolved r;
  r.target = target::find(request.target);
  if (r.target == nullptr)
    return fail_field(ErrorCode::unknown_target, "target", request.target, "one that has a table");
  auto problem = templates::normalise(request.problem, *r.target);
  if (!problem) return std::unexpected(problem.error());
  r.problem = *std::move(problem);
  auto chosen = request.config ? Result<templates::Config>(*request.config)
                               : templates::select_config(r.problem, *r.target, request.m);
  if (!chosen) return std::unexpected(chosen.error());
  auto config = templates::normalise(*chosen, r.problem, *r.target);
  if (!config) return std::unexpected(config.error());
  r.config = *std::move(config);
  auto launch = templates::launch(r.problem, r.config, *r.target, request.m);
  if (!launch) return std::unexpected(launch.error());
  r.launch = *std::move(launch);
  return r;
}

std::unexpected<Error> differs(std::string_view what, std::string given, std::string allowed) {
  return fail_field(ErrorCode::invalid_code_object, std::string(what), std::move(given), std::move(allowed));
}

/// The host's idea of a launch against what the code object says of itself: a kernel compiled for
/// another Config must not be started with this one's grid.
Result<void> check_metadata(const lower::DecodedKernel& kernel, const lower::CodeObject& object,
                            const Resolved& r) {
  if (object.target != r.target)
    return differs("target", object.isa_name, fmt::format("for {}", r.target->name));
  if (kernel.kernarg_segment_size != r.launch.kernarg_size)
    return differs("kernarg size", std::to_string(kernel.kernarg_segment_size),
                   std::to_string(r.launch.kernarg_size));
  const std::uint32_t threads = r.launch.block[0] * r.launch.block[1] * r.launch.block[2];
  if (kernel.max_flat_workgroup_size != threads)
    return differs("workgroup size", std::to_string(kernel.max_flat_workgroup_size), std::to_string(threads));
  std::vector<lower::ArgMetadata> args = kernel.args;
  std::erase_if(args, [](const lower::ArgMetadata& a) { return a.value_kind.starts_with("hidden_"); });
  if (args.size() != r.launch.arguments.size())
    return differs("number of arguments", std::to_string(args.size()),
                   std::to_string(r.launch.arguments.size()));
  for (std::size_t i = 0; i < args.size(); ++i) {
    const templates::Argument& want = r.launch.arguments[i];
    if (args[i].name != want.name || args[i].offset != want.offset || args[i].size != want.size)
      return differs(fmt::format("argument {}", i),
                     fmt::format("'{}' at {}, {} bytes", args[i].name, args[i].offset, args[i].size),
                     fmt::format("'{}' at {}, {} bytes", want.name, want.offset, want.size));
  }
  return {};
}

std::vector<Tile> choose_tiles(const Request& request, const TileGrid& grid) {
  if (request.tiles.empty())
    return request.sample == 0 ? grid.all() : grid.sample(request.sample, request.seed);
  std::vector<Tile> tiles;
  tiles.reserve(request.tiles.size());
  for (const TileIndex index : request.tiles) tiles.push_back(grid.tile(index));
  return tiles;
}

/// What the generated code promises: `fastest` truncates only where the target's dot product does. Skinny
/// kernels do not round weights at all.
oracle::WeightRounding expected_rounding(const Resolved& r) {
  if (r.config.path == templates::Path::skinny) return oracle::WeightRounding::nearest;
  const bool truncates = r.problem.rounding == templates::WeightRounding::fastest &&
                         r.problem.activation == templates::DataType::bf16 &&
                         r.config.techniques.magic_dequant &&
                         r.target->dot2_bf16 == target::Dot2Bf16Rounding::toward_zero;
  return truncates ? oracle::WeightRounding::toward_zero : oracle::WeightRounding::nearest;
}

/// A whole output is compared in blocks that share their operands, not tile by tile.
std::vector<oracle::Block> comparison_blocks(const Report& report) {
  std::vector<oracle::Block> blocks;
  if (report.tiles_in_all != static_cast<std::int64_t>(report.tiles.size())) {
    for (const Tile& tile : report.tiles) blocks.push_back(tile.block);
    return blocks;
  }
  constexpr std::int64_t edge = 1024;
  for (std::int64_t row = 0; row < report.m; row += edge)
    for (std::int64_t column = 0; column < report.problem.n; column += edge)
      blocks.push_back({.row_begin = row,
                        .row_end = std::min(row + edge, report.m),
                        .column_begin = column,
                        .column_end = std::min(column + edge, report.problem.n)});
  return blocks;
}

Result<void> check_stores(const Tensors& tensors, Report& report) {
  std::uint64_t covered = 0;
  for (const Tile& tile : report.tiles) {
    auto output = tensors.read_output(tile.block);
    if (!output) return std::unexpected(output.error());
    covered += output->bits.size() * 2 - output->unwritten_bytes;
    report.unwritten_bytes += output->unwritten_bytes;
    report.outputs.push_back(std::move(output->bits));
  }
  const auto written = tensors.written_output_bytes();
  if (!written) return std::unexpected(written.error());
  report.stray_bytes = *written - covered;
  return {};
}

Result<void> ask_oracle(const Tensors& tensors, const Request& request, const Resolved& r,
                        const oracle::Values& values, Report& report) {
  if (!request.compare) return {};
  oracle::Shape shape = oracle_shape(r.problem);
  if (request.reference) {
    shape.group = request.reference->group;
    shape.has_zero_points = true;
  }
  const oracle::Values& seen = request.reference ? request.reference->values : values;
  std::vector<oracle::Verdict> verdicts;
  for (const oracle::Block& block : comparison_blocks(report)) {
    const auto output = tensors.read_output(block);
    if (!output) return std::unexpected(output.error());
    verdicts.push_back(oracle::compare(oracle::product(shape, seen, block), output->bits, block, shape.format,
                                       expected_rounding(r)));
  }
  report.verdict = oracle::merge(verdicts);
  return {};
}

Result<Report> run_resolved(std::span<const std::uint8_t> code_object, const Request& request,
                            const Resolved& r, const std::optional<SourceText>& source) {
  auto object = lower::decode(code_object);
  if (!object) return std::unexpected(object.error());
  if (source) {
    if (auto ok = lower::note_source_lines(*object, source->text, source->file); !ok)
      return std::unexpected(ok.error());
  }
  if (object->kernels.size() != 1)
    return differs("number of kernels", std::to_string(object->kernels.size()), "1");
  const lower::DecodedKernel& kernel = object->kernels.front();
  if (auto ok = check_metadata(kernel, *object, r); !ok) return std::unexpected(ok.error());

  Report report;
  report.kernel = kernel.name;
  report.problem = r.problem;
  report.config = r.config;
  report.launch = r.launch;
  report.m = request.m;
  report.card = card(kernel, *r.target, matrix_per_iteration(r.config, *r.target));
  const TileGrid grid(r.problem, r.config, r.launch, request.m);
  report.tiles = choose_tiles(request, grid);
  report.tiles_in_all = grid.count();

  const oracle::Values values = request.values ? *request.values : oracle::random_values(request.seed);
  auto tensors =
      Tensors::create(r.problem, r.launch, report.tiles, values, request.alignment, request.packed);
  if (!tensors) return std::unexpected(tensors.error());
  if (auto ok = templates::check_addresses(r.launch, tensors->addresses()); !ok)
    return std::unexpected(ok.error());
  const auto program = sim::Program::create(kernel, *r.target);
  if (!program) return std::unexpected(program.error());
  sim::LaunchParams params{.grid = r.launch.grid,
                           .block = r.launch.block,
                           .kernarg = tensors->kernarg(),
                           .dynamic_lds_bytes = r.launch.dynamic_lds_bytes,
                           .workgroups = {},
                           .options = request.sim};
  if (static_cast<std::int64_t>(report.tiles.size()) != grid.count())
    for (const Tile& tile : report.tiles) params.workgroups.push_back(tile.workgroup);
  auto result = sim::run(*program, tensors->memory(), params);
  if (!result) return std::unexpected(result.error());
  report.run = *std::move(result);

  if (auto ok = check_stores(*tensors, report); !ok) return std::unexpected(ok.error());
  if (auto ok = ask_oracle(*tensors, request, r, values, report); !ok) return std::unexpected(ok.error());
  return report;
}

}  // namespace

bool Report::ok() const { return reason().empty(); }

std::string Report::reason() const {
  std::string text;
  const auto add = [&text](const std::string& sentence) { text += (text.empty() ? "" : "\n") + sentence; };
  constexpr std::size_t shown = 5;
  for (std::size_t i = 0; i < std::min(run.faults.size(), shown); ++i) add(sim::to_string(run.faults[i]));
  if (run.distinct_faults > shown) add(fmt::format("{} distinct faults in all", run.distinct_faults));
  if (unwritten_bytes > 0) add(fmt::format("{} bytes of the output were never stored", unwritten_bytes));
  if (stray_bytes > 0)
    add(fmt::format("{} bytes of the output were stored outside the tiles that ran", stray_bytes));
  if (verdict && !verdict->ok) add(verdict->reason);
  return text;
}

std::uint16_t Report::at(std::int64_t row, std::int64_t column) const {
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const oracle::Block& b = tiles[i].block;
    if (row < b.row_begin || row >= b.row_end || column < b.column_begin || column >= b.column_end) continue;
    return outputs[i][static_cast<std::size_t>((row - b.row_begin) * b.columns() + column - b.column_begin)];
  }
  assert(false && "the tile of this element did not run");
  return 0xFFFF;
}

Result<Report> run(const Request& request) {
  auto resolved = resolve(request);
  if (!resolved) return std::unexpected(resolved.error());
  const auto kernel = templates::generate(resolved->problem, resolved->config, *resolved->target);
  if (!kernel) return std::unexpected(kernel.error());
  // generate() may settle what normalise() left open.
  resolved->config = kernel->config;
  return run_resolved(kernel->code_object, request, *resolved, {});
}

Result<Report> run_object(std::span<const std::uint8_t> code_object, const Request& request,
                          const std::optional<SourceText>& source) {
  auto resolved = resolve(request);
  if (!resolved) return std::unexpected(resolved.error());
  return run_resolved(code_object, request, *resolved, source);
}

unsigned matrix_per_iteration(const templates::Config& config, const target::Target& target) {
  if (config.path != templates::Path::tile) return 0;
  const target::MatrixShape& shape = target.wmma16;
  const unsigned work = shape.m * shape.n * shape.k * config.waves;
  return work == 0 ? 0 : config.bm * config.bn * config.bk / work;
}

}  // namespace wavejit::harness
