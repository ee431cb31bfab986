// SPDX-License-Identifier: MIT
#include "tools/wavejit/model_kernel.hpp"

#include <algorithm>
#include <cstring>

#include "generator/lower/lower.hpp"
#include "generator/model/loops.hpp"
#include "tools/wavejit/access_notes.hpp"
#include "tools/wavejit/stages.hpp"

namespace wavejit::tools {
namespace {

std::int64_t rows_of(const templates::Launch& launch) {
  const auto m = std::ranges::find(launch.arguments, "m", &templates::Argument::name);
  return m == launch.arguments.end() ? 0 : m->value;
}

/// Bytes of the elements, without what lies between rows.
double dense_bytes(const templates::Argument& a) {
  if (a.kind == ir::ArgKind::scalar) return 0;
  double bytes = templates::bytes(a.dtype);
  for (const std::int64_t extent : a.shape) bytes *= static_cast<double>(extent);
  return bytes;
}

}  // namespace

std::vector<std::int64_t> even_groups(std::int64_t m, std::int64_t groups) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(groups));
  for (std::int64_t g = 0; g < groups; ++g)
    rows[static_cast<std::size_t>(g)] = m / groups + (g < m % groups ? 1 : 0);
  return rows;
}

TensorBytes group_rows(std::span<const std::int64_t> rows) {
  const auto bytes = std::as_bytes(rows);
  return {"group_rows", {bytes.begin(), bytes.end()}};
}

Result<std::vector<std::byte>> place_tensors(const templates::Launch& launch, sim::Memory& memory,
                                             std::span<const TensorBytes> contents) {
  std::vector<std::byte> kernarg(launch.kernarg_size);
  for (const templates::Argument& a : launch.arguments) {
    std::uint64_t value = static_cast<std::uint64_t>(a.value);
    if (a.kind == ir::ArgKind::buffer) {
      // A tensor of no elements (K = 0) has an address, too.
      const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(a.bytes, 1));
      const auto address = memory.allocate(bytes, 256, a.name);
      if (!address) return std::unexpected(address.error());
      if (auto ok = memory.fill(*address, bytes, std::byte{0x11}); !ok) return std::unexpected(ok.error());
      const auto given = std::ranges::find(contents, a.name, &TensorBytes::name);
      if (given != contents.end()) {
        if (auto ok = memory.write(*address, given->bytes); !ok) return std::unexpected(ok.error());
      } else if (a.name == "group_rows") {
        const std::vector<std::int64_t> rows = even_groups(rows_of(launch), a.shape.front());
        if (auto ok = memory.write(*address, std::as_bytes(std::span(rows))); !ok)
          return std::unexpected(ok.error());
      }
      value = *address;
    }
    std::memcpy(kernarg.data() + a.offset, &value, std::min<std::size_t>(a.size, sizeof value));
  }
  return kernarg;
}

unsigned resident_workgroups(const model::KernelFacts& facts, const target::Target& target,
                             const std::array<std::uint32_t, 3>& grid) {
  const std::uint64_t all = std::uint64_t{grid[0]} * grid[1] * grid[2];
  const std::uint64_t units = model::workgroup_units(target), each = (all + units - 1) / units;
  return static_cast<unsigned>(std::min<std::uint64_t>(model::occupancy(facts, target).workgroups, each));
}

Result<std::vector<model::AccessNote>> notes_of(const lower::DecodedKernel& kernel,
                                                const model::KernelFacts& facts, const target::Target& target,
                                                const templates::Launch& launch,
                                                std::vector<std::uint64_t>* executed,
                                                std::span<const TensorBytes> contents) {
  sim::Memory memory;
  const auto kernarg = place_tensors(launch, memory, contents);
  if (!kernarg) return std::unexpected(kernarg.error());
  sim::LaunchParams params;
  params.grid = launch.grid;
  params.block = launch.block;
  params.kernarg = *kernarg;
  params.dynamic_lds_bytes = launch.dynamic_lds_bytes;
  params.options.kept_lines = kept_lines(target, resident_workgroups(facts, target, launch.grid));
  return access_notes(kernel, target, memory, std::move(params), executed);
}

namespace {

/// Of one product of a batch; a grouped launch's depends on sizes that only the device knows.
std::optional<model::Tiling> tiling_of(const templates::Problem& p, const templates::Config& config,
                                       const templates::Launch& launch, std::int64_t m) {
  if (p.op == templates::Operation::int4_grouped) return {};
  const auto d = [](std::int64_t x) { return static_cast<double>(x); };
  // Per group and column: packed zero points are half a byte, additive ones as large as the scale.
  const double scale = p.op == templates::Operation::w4a16 ? 2 : templates::bytes(p.scale_type);
  const double zero = p.zero_points == templates::ZeroPoints::packed     ? 0.5
                      : p.zero_points == templates::ZeroPoints::additive ? scale
                                                                         : 0;
  model::Tiling tiling{.rows = static_cast<std::uint64_t>(m),
                       .columns = static_cast<std::uint64_t>(p.n),
                       .tile_rows = config.bm,
                       .tile_columns = config.bn,
                       .row_bytes = d(p.k) * 2,
                       .column_bytes = d(p.k) / 2 + d(p.k) / d(p.group) * (scale + zero)};
  // Where the grid is not that of the tiles, the kernel orders them itself.
  tiling.rows_fastest = launch.grid[0] == tiling.grid_rows() && launch.grid[1] == tiling.grid_columns();
  return tiling;
}

}  // namespace

model::LaunchShape shape_of(const templates::Problem& p, const templates::Config& config,
                            const templates::Launch& launch, std::int64_t m, std::uint64_t iterations) {
  const auto d = [](std::int64_t x) { return static_cast<double>(x); };
  model::LaunchShape s;
  s.workgroups = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  s.iterations = iterations;
  s.useful_flop = 2 * d(p.batch) * d(m) * d(p.n) * d(p.k);
  // Another kernel of the launch (rounding, adding slices) moves its own tensors only.
  const bool product =
      std::ranges::find(launch.arguments, "weights", &templates::Argument::name) != launch.arguments.end();
  if (product && p.op == templates::Operation::w4a16) {
    s.dram_bytes =
        d(m) * d(p.k) * 2 + d(p.n) * d(p.k) / 2 + d(p.n) * d(p.k) / d(p.group) * 2 + d(m) * d(p.n) * 2;
  } else {
    for (const templates::Argument& a : launch.arguments) s.dram_bytes += dense_bytes(a);
  }
  const auto ceil_div = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const bool tiles =
      product && (config.path == templates::Path::tile || config.path == templates::Path::mfma);
  if (tiles) s.tiling = tiling_of(p, config, launch, m);
  if (tiles && p.op == templates::Operation::int4_grouped) {
    // The grid is an upper bound; workgroups without a tile leave at once.
    std::int64_t rows = 0;
    for (const std::int64_t r : even_groups(m, p.groups)) rows += ceil_div(r, config.bm);
    s.workgroups = static_cast<std::uint64_t>(rows * ceil_div(p.n, config.bn));
  }
  return s;
}

std::uint64_t iterations_in(std::span<const isa::Instruction> code, unsigned waves,
                            std::span<const std::uint64_t> executed) {
  const auto loop = model::hot_loop(code);
  if (!loop) return 1;
  return std::max<std::uint64_t>(executed[loop->own.front()] / waves, 1);
}

model::Prepared PreparedKernel::stretches() const {
  return model::prepare(code, model::hot_stretches(code), notes, *kernel.target);
}

Result<PreparedKernel> prepare_generated(const templates::Problem& problem, const templates::Config& config,
                                         const target::Target& target, std::int64_t m,
                                         const PrepareOptions& options) {
  const unsigned stage = options.stage.value_or(templates::product_stage(problem, config));
  auto generated = templates::generate(problem, config, target, {.stage = stage});
  if (!generated) return std::unexpected(generated.error());
  PreparedKernel result;
  result.kernel = *std::move(generated);
  const templates::GeneratedKernel& k = result.kernel;
  const auto launch = templates::launch(k.problem, k.config, target, m, stage);
  if (!launch) return std::unexpected(launch.error());
  const auto object = lower::decode(k.code_object);
  if (!object) return std::unexpected(object.error());
  const lower::DecodedKernel& decoded = object->kernels.at(0);
  result.launch = *launch;
  result.contents = options.contents;
  if (launch->grid[0] == 0)
    return fail_field(ErrorCode::invalid_argument, "grid", "0 workgroups",
                      "at least 1: groups, and rows for them");
  for (const lower::DecodedInstruction& i : decoded.instructions) result.code.push_back(i.inst);
  const unsigned waves = launch->block[0] / target.wave_size;
  result.facts = {k.ir.vgprs_used, k.ir.agprs_used, k.ir.lds_bytes(), waves, k.config.wgp_mode};
  if (options.simulate)
    if (auto ok = measure_accesses(result); !ok) return std::unexpected(ok.error());
  return result;
}

Result<void> measure_accesses(PreparedKernel& kernel) {
  const auto object = lower::decode(kernel.kernel.code_object);
  if (!object) return std::unexpected(object.error());
  auto notes = notes_of(object->kernels.at(0), kernel.facts, *kernel.kernel.target, kernel.launch,
                        &kernel.executed, kernel.contents);
  if (!notes) return std::unexpected(notes.error());
  kernel.notes = *std::move(notes);
  kernel.iterations = iterations_in(kernel.code, kernel.facts.waves, kernel.executed);
  return {};
}

Result<ModelledKernel> model_generated(const templates::Problem& problem, const templates::Config& config,
                                       const target::Target& target, std::int64_t m,
                                       const model::RunOptions& options, std::optional<unsigned> stage) {
  auto prepared =
      prepare_generated(problem, config, target, m, {.stage = stage, .contents = {}, .simulate = true});
  if (!prepared) return std::unexpected(prepared.error());
  ModelledKernel result{*std::move(prepared), {}, {}};
  result.shape = shape_of(result.kernel.problem, result.kernel.config, result.launch, m, result.iterations);
  auto e = model::estimate(result.stretches(), result.facts, result.shape, target, options);
  if (!e) return std::unexpected(e.error());
  result.estimate = *std::move(e);
  return result;
}

Result<double> other_kernels_us(const templates::Problem& problem, const templates::Config& config,
                                const target::Target& target, std::int64_t m, unsigned stage) {
  double sum = 0;
  for (unsigned s = 0; s < templates::stages(problem, config); ++s) {
    if (s == stage) continue;
    const auto other = model_generated(problem, config, target, m, settled, s);
    if (!other) return std::unexpected(other.error());
    sum += other->estimate.time_us;
  }
  return sum;
}

Result<double> modelled_us(const templates::Problem& problem, const templates::Config& config,
                           const target::Target& target, std::int64_t m) {
  const auto product = model_generated(problem, config, target, m);
  if (!product) return std::unexpected(product.error());
  const templates::GeneratedKernel& k = product->kernel;
  const auto others = other_kernels_us(k.problem, k.config, target, m, k.stage);
  if (!others) return std::unexpected(others.error());
  return product->estimate.time_us + *others;
}

}  // namespace wavejit::tools
