// SPDX-License-Identifier: MIT
#include "tools/wavejit/model_kernel.hpp"

#include <algorithm>
#include <cstring>

#include "generator/lower/lower.hpp"
#include "generator/model/loops.hpp"
#include "tools/wavejit/access_notes.hpp"

namespace wavejit::tools {

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
      const auto bytes = static_cast<std::uint64_t>(a.bytes);
      const auto address = memory.allocate(bytes, 256, a.name);
      if (!address) return std::unexpected(address.error());
      if (auto ok = memory.fill(*address, bytes, std::byte{0x11}); !ok) return std::unexpected(ok.error());
      for (const TensorBytes& t : contents)
        if (t.name == a.name)
          if (auto ok = memory.write(*address, t.bytes); !ok) return std::unexpected(ok.error());
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

model::LaunchShape shape_of(const templates::Problem& p, const templates::Config& config,
                            const templates::Launch& launch, std::int64_t m, std::uint64_t iterations) {
  const auto d = [](std::int64_t x) { return static_cast<double>(x); };
  model::LaunchShape s;
  s.workgroups = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  s.iterations = iterations;
  s.useful_flop = 2 * d(m) * d(p.n) * d(p.k) * d(p.batch);
  const bool int4 = p.op == templates::Operation::int4_gemm || p.op == templates::Operation::int4_grouped;
  if (config.path == templates::Path::gemv || int4) {
    for (const templates::Argument& a : launch.arguments) s.dram_bytes += d(a.bytes);
    return s;
  }
  s.dram_bytes =
      d(m) * d(p.k) * 2 + d(p.n) * d(p.k) / 2 + d(p.n) * d(p.k) / d(p.group) * 2 + d(m) * d(p.n) * 2;
  if (config.path == templates::Path::skinny) return s;
  const double zero_points = p.zero_points == templates::ZeroPoints::packed ? 0.5 : 0;
  s.tiling = model::Tiling{.rows = static_cast<std::uint64_t>(m),
                           .columns = static_cast<std::uint64_t>(p.n),
                           .tile_rows = config.bm,
                           .tile_columns = config.bn,
                           .row_bytes = d(p.k) * 2,
                           .column_bytes = d(p.k) / 2 + d(p.k) / d(p.group) * (2 + zero_points)};
  // Where the grid is not that of the tiles, the kernel orders them itself.
  s.tiling->rows_fastest =
      launch.grid[0] == s.tiling->grid_rows() && launch.grid[1] == s.tiling->grid_columns();
  return s;
}

std::uint64_t iterations_in(std::span<const isa::Instruction> code, unsigned waves,
                            std::span<const std::uint64_t> executed) {
  const auto loop = model::hot_loop(code);
  if (!loop) return 1;
  return std::max<std::uint64_t>(executed[loop->own.front()] / waves, 1);
}

Result<model::Prepared> PreparedKernel::stretches() const {
  const auto loop = model::hot_loop(code);
  if (!loop) return fail(ErrorCode::invalid_argument, "the kernel has no loop to model");
  return model::prepare(code, model::split(code, loop->own), notes, *kernel.target);
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
                                       const model::RunOptions& options) {
  auto prepared = prepare_generated(problem, config, target, m);
  if (!prepared) return std::unexpected(prepared.error());
  ModelledKernel result{*std::move(prepared), {}, {}};
  result.shape = shape_of(result.kernel.problem, result.kernel.config, result.launch, m, result.iterations);
  auto stretches = result.stretches();
  if (!stretches) return std::unexpected(stretches.error());
  auto e = model::estimate(*stretches, result.facts, result.shape, target, options);
  if (!e) return std::unexpected(e.error());
  result.estimate = *std::move(e);
  return result;
}

}  // namespace wavejit::tools
