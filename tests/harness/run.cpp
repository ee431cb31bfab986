// SPDX-License-Identifier: MIT
#include "tests/harness/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "templates/cdna/tile.hpp"
#include "tests/harness/tensors.hpp"
#include "tests/oracle/product.hpp"

namespace wavejit::harness {
namespace {

struct Resolved {
  const target::Target* target = nullptr;
  templates::Problem problem;
  templates::Config config;
  std::vector<templates::Launch> launches;  ///< one per stage
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
  const unsigned stages = templates::stages(r.problem, r.config);
  for (unsigned stage = 0; stage < stages; ++stage) {
    auto launch = templates::launch(r.problem, r.config, *r.target, request.m, stage);
    if (!launch) return std::unexpected(launch.error());
    r.launches.push_back(*std::move(launch));
  }
  if (std::ssize(request.group_rows) != r.problem.groups)
    return fail_field(ErrorCode::invalid_argument, "group_rows", std::to_string(request.group_rows.size()),
                      fmt::format("one for each of the {} groups", r.problem.groups));
  // Which work of the later stages belongs to a tile is the family's business alone.
  if (stages > 1 && (request.sample != 0 || !request.tiles.empty()))
    return fail_field(ErrorCode::unsupported, "sample", "some tiles",
                      fmt::format("all tiles: this Config runs {} kernels", stages));
  return r;
}

std::unexpected<Error> differs(std::string_view what, std::string given, std::string allowed) {
  return fail_field(ErrorCode::invalid_code_object, std::string(what), std::move(given), std::move(allowed));
}

/// The host's idea of a launch against what the code object says of itself: a kernel compiled for
/// another Config must not be started with this one's grid.
Result<void> check_metadata(const lower::DecodedKernel& kernel, const lower::CodeObject& object,
                            const target::Target& target, const templates::Launch& launch) {
  if (object.target != &target && object.target->name != target.family)
    return differs("target", object.isa_name, fmt::format("for {}", target.name));
  if (kernel.kernarg_segment_size != launch.kernarg_size)
    return differs("kernarg size", std::to_string(kernel.kernarg_segment_size),
                   std::to_string(launch.kernarg_size));
  const std::uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (kernel.max_flat_workgroup_size != threads)
    return differs("workgroup size", std::to_string(kernel.max_flat_workgroup_size), std::to_string(threads));
  std::vector<lower::ArgMetadata> args = kernel.args;
  std::erase_if(args, [](const lower::ArgMetadata& a) { return a.value_kind.starts_with("hidden_"); });
  if (args.size() != launch.arguments.size())
    return differs("number of arguments", std::to_string(args.size()),
                   std::to_string(launch.arguments.size()));
  for (std::size_t i = 0; i < args.size(); ++i) {
    const templates::Argument& want = launch.arguments[i];
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
std::vector<oracle::Block> comparison_blocks(const Report& report, const std::vector<Product>& products) {
  std::vector<oracle::Block> blocks;
  if (report.tiles_in_all != static_cast<std::int64_t>(report.tiles.size())) {
    for (const Tile& tile : report.tiles) blocks.push_back(tile.block);
    return blocks;
  }
  constexpr std::int64_t edge = 1024;
  for (const Product& p : products)
    for (std::int64_t row = p.row_begin; row < p.row_end; row += edge)
      for (std::int64_t column = 0; column < report.problem.n; column += edge)
        blocks.push_back({.row_begin = row,
                          .row_end = std::min(row + edge, p.row_end),
                          .column_begin = column,
                          .column_end = std::min(column + edge, report.problem.n),
                          .set = p.set});
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
                        const oracle::Values& values, const std::vector<Product>& products, Report& report) {
  if (!request.compare || products.empty()) return {};
  oracle::Shape shape = oracle_shape(r.problem);
  if (request.reference) {
    shape.group = request.reference->group;
    shape.has_zero_points = true;
  }
  const oracle::Values& seen = request.reference ? request.reference->values : values;
  std::vector<oracle::Verdict> verdicts;
  for (const oracle::Block& block : comparison_blocks(report, products)) {
    const auto output = tensors.read_output(block);
    if (!output) return std::unexpected(output.error());
    verdicts.push_back(oracle::compare(oracle::reference(shape, seen, block), output->bits, block,
                                       shape.format, expected_rounding(r)));
  }
  report.verdict = oracle::merge(verdicts);
  return {};
}

/// One stage's code object, decoded.
struct Stage {
  lower::CodeObject object;
  [[nodiscard]] const lower::DecodedKernel& kernel() const { return object.kernels.front(); }
};

Result<Stage> decode_stage(std::span<const std::uint8_t> code_object, const Resolved& r, unsigned stage,
                           const std::optional<SourceText>& source) {
  auto object = lower::decode(code_object);
  if (!object) return std::unexpected(object.error());
  if (source) {
    if (auto ok = lower::note_source_lines(*object, source->text, source->file); !ok)
      return std::unexpected(ok.error());
  }
  if (object->kernels.size() != 1)
    return differs("number of kernels", std::to_string(object->kernels.size()), "1");
  if (auto ok = check_metadata(object->kernels.front(), *object, *r.target, r.launches[stage]); !ok)
    return std::unexpected(ok.error());
  return Stage{*std::move(object)};
}

Result<StageReport> run_stage(const Stage& stage, std::size_t index, const Request& request,
                              const Resolved& r, std::vector<std::uint64_t> workgroups, Tensors& tensors) {
  StageReport report;
  report.kernel = stage.kernel().name;
  report.launch = r.launches[index];
  report.card = card(stage.kernel(), *r.target, matrix_per_iteration(r.config, *r.target));
  if (auto ok = templates::check_addresses(report.launch, tensors.addresses(index)); !ok)
    return std::unexpected(ok.error());
  const auto program = sim::Program::create(stage.kernel(), *r.target);
  if (!program) return std::unexpected(program.error());
  const sim::LaunchParams params{.grid = report.launch.grid,
                                 .block = report.launch.block,
                                 .kernarg = tensors.kernarg(index),
                                 .dynamic_lds_bytes = report.launch.dynamic_lds_bytes,
                                 .workgroups = std::move(workgroups),
                                 .options = request.sim};
  auto result = sim::run(*program, tensors.memory(), params);
  if (!result) return std::unexpected(result.error());
  report.run = *std::move(result);
  return report;
}

Result<Report> run_resolved(const std::vector<Stage>& stages, const Request& request, const Resolved& r) {
  Report report;
  report.problem = r.problem;
  report.config = r.config;
  report.m = request.m;
  const TileGrid grid(r.problem, r.config, *r.target, r.launches.front(), request.m, request.group_rows);
  report.tiles = choose_tiles(request, grid);
  report.tiles_in_all = grid.count();
  std::vector<std::uint64_t> workgroups;
  if (static_cast<std::int64_t>(report.tiles.size()) != grid.count())
    for (const Tile& tile : report.tiles) workgroups.push_back(tile.workgroup);

  const oracle::Values values = request.values ? *request.values : oracle::random_values(request.seed);
  auto tensors = Tensors::create(r.problem, r.launches, report.tiles, values, request.alignment,
                                 request.packed, request.group_rows);
  if (!tensors) return std::unexpected(tensors.error());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    auto ran = run_stage(stages[i], i, request, r, workgroups, *tensors);
    if (!ran) return std::unexpected(ran.error());
    if (i == 0)
      static_cast<StageReport&>(report) = *std::move(ran);
    else
      report.later.push_back(*std::move(ran));
  }
  if (auto ok = check_stores(*tensors, report); !ok) return std::unexpected(ok.error());
  if (auto ok = ask_oracle(*tensors, request, r, values, grid.products(), report); !ok)
    return std::unexpected(ok.error());
  return report;
}

/// The generated kernel of one stage. generate() may settle what normalise() left open: `r` learns it.
Result<Stage> generate_stage(Resolved& r, unsigned stage) {
  const auto kernel = templates::generate(r.problem, r.config, *r.target, {.stage = stage});
  if (!kernel) return std::unexpected(kernel.error());
  if (stage == 0) r.config = kernel->config;
  return decode_stage(kernel->code_object, r, stage, {});
}

/// All stages generated, but for `given`, which stands in for stage `in_place_of`.
Result<Report> run_stages(const Request& request, Resolved& r, std::optional<Stage> given,
                          unsigned in_place_of) {
  std::vector<Stage> stages;
  for (unsigned i = 0; i < r.launches.size(); ++i) {
    auto stage = given && i == in_place_of ? Result<Stage>(*std::move(given)) : generate_stage(r, i);
    if (!stage) return std::unexpected(stage.error());
    stages.push_back(*std::move(stage));
  }
  return run_resolved(stages, request, r);
}

template <class Add>
void add_faults(const sim::RunReport& run, const std::string& of, const Add& add) {
  constexpr std::size_t shown = 5;
  for (std::size_t i = 0; i < std::min(run.faults.size(), shown); ++i)
    add(of + sim::to_string(run.faults[i]));
  if (run.distinct_faults > shown) add(fmt::format("{}{} distinct faults in all", of, run.distinct_faults));
}

}  // namespace

bool Report::ok() const { return reason().empty(); }

std::string Report::reason() const {
  std::string text;
  const auto add = [&text](const std::string& sentence) { text += (text.empty() ? "" : "\n") + sentence; };
  add_faults(run, later.empty() ? "" : "stage 0: ", add);
  for (std::size_t i = 0; i < later.size(); ++i)
    add_faults(later[i].run, fmt::format("stage {}: ", i + 1), add);
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
  return run_stages(request, *resolved, {}, 0);
}

Result<Report> run_object(std::span<const std::uint8_t> code_object, const Request& request,
                          const std::optional<SourceText>& source, unsigned stage) {
  auto resolved = resolve(request);
  if (!resolved) return std::unexpected(resolved.error());
  if (stage >= resolved->launches.size())
    return fail_field(ErrorCode::invalid_argument, "stage", std::to_string(stage),
                      fmt::format("below {}", resolved->launches.size()));
  auto given = decode_stage(code_object, *resolved, stage, source);
  if (!given) return std::unexpected(given.error());
  return run_stages(request, *resolved, *std::move(given), stage);
}

unsigned matrix_per_iteration(const templates::Config& config, const target::Target& target) {
  unsigned one = 0;  // multiply-adds of a matrix instruction
  if (config.path == templates::Path::tile) {
    const target::MatrixShape& shape = target.wmma16;
    one = shape.m * shape.n * shape.k;
  } else if (config.path == templates::Path::mfma) {
    const unsigned side = templates::cdna::matrix_side(config.bm);
    for (const target::MatrixShape& s : target.matrix_shapes)
      if (s.input == target::MatrixInput::f16_bf16 && s.m == side && s.n == side)
        one = std::max<unsigned>(one, s.m * s.n * s.k);
  }
  return one == 0 ? 0 : config.bm * config.bn * config.bk / (one * config.waves);
}

}  // namespace wavejit::harness
