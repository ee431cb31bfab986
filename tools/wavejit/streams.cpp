// SPDX-License-Identifier: MIT
#include "tools/wavejit/streams.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "runtime/device/sim/record.hpp"
#include "tools/wavejit/access_notes.hpp"

namespace wavejit::tools {
namespace {

/// What decides what a workgroup executes: its position, or its number where the kernel turns that into a
/// tile in an order of its own.
struct Kind {
  std::array<bool, 3> last{};
  std::uint64_t number = 0;
  friend auto operator<=>(const Kind&, const Kind&) = default;
};

bool orders_tiles(const templates::Problem& problem) {
  return problem.op == templates::Operation::int4_gemm || problem.op == templates::Operation::int4_grouped;
}

Kind kind_of(std::uint64_t linear, const PreparedKernel& kernel) {
  if (orders_tiles(kernel.kernel.problem)) return {.number = linear};
  const std::array<std::uint32_t, 3>& grid = kernel.launch.grid;
  const std::uint64_t x = linear % grid[0], y = linear / grid[0] % grid[1], z = linear / grid[0] / grid[1];
  return {.last = {x + 1 == grid[0], y + 1 == grid[1], z + 1 == grid[2]}};
}

/// Linear numbers of the fullest unit's workgroups.
std::vector<std::uint64_t> of_fullest_unit(const templates::Launch& launch, const target::Target& target) {
  const std::uint64_t units = model::workgroup_units(target);
  const std::uint64_t all = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t id = 0; id < all; id += units) numbers.push_back(id);
  return numbers;
}

Result<sim::Recording> record(const PreparedKernel& kernel, const target::Target& target,
                              std::vector<std::uint64_t> workgroups) {
  sim::Memory memory;
  const auto kernarg = place_tensors(kernel.launch, memory, kernel.contents);
  if (!kernarg) return std::unexpected(kernarg.error());
  sim::LaunchParams params;
  params.grid = kernel.launch.grid;
  params.block = kernel.launch.block;
  params.kernarg = *kernarg;
  params.dynamic_lds_bytes = kernel.launch.dynamic_lds_bytes;
  params.workgroups = std::move(workgroups);
  params.options.kept_lines =
      kept_lines(target, resident_workgroups(kernel.facts, target, kernel.launch.grid));
  const auto object = lower::decode(kernel.kernel.code_object);
  if (!object) return std::unexpected(object.error());
  const auto program = sim::Program::create(object->kernels.at(0), target);
  if (!program) return std::unexpected(program.error());
  return sim::record(*program, memory, params);
}

std::vector<model::Executed> executed(const sim::WaveStream& stream, std::span<const isa::Instruction> code) {
  std::vector<model::Executed> all;
  all.reserve(stream.size());
  for (const sim::Executed& e : stream) {
    const bool store = code[e.index].has(isa::flag::store);
    const bool memory = code[e.index].pipe() == isa::Pipe::vmem;
    const double moved = memory && !store ? line_bytes * e.lines : e.bytes;
    all.push_back({e.index, static_cast<std::uint32_t>(moved), static_cast<float>(e.conflict_cycles)});
  }
  return all;
}

}  // namespace

Result<RecordedUnit> record_unit(const PreparedKernel& kernel, const target::Target& target) {
  const unsigned resident = resident_workgroups(kernel.facts, target, kernel.launch.grid);
  if (resident == 0) return fail(ErrorCode::out_of_registers, "no workgroup of this kernel fits");
  const std::vector<std::uint64_t> numbers = of_fullest_unit(kernel.launch, target);
  std::map<Kind, std::size_t> recorded;
  std::vector<std::uint64_t> chosen;
  for (const std::uint64_t id : numbers)
    if (recorded.try_emplace(kind_of(id, kernel), chosen.size()).second) chosen.push_back(id);
  const auto recording = record(kernel, target, chosen);
  if (!recording) return std::unexpected(recording.error());

  RecordedUnit unit;
  unit.executed.resize(kernel.code.size());
  std::vector<std::vector<model::Executed>> waves;
  for (const sim::GroupStream& g : recording->groups)
    for (const sim::WaveStream& w : g.waves) {
      waves.push_back(executed(w, kernel.code));
      unit.instructions += w.size();
      for (const sim::Executed& e : w) ++unit.executed[e.index];
    }
  unit.waves = model::prepare_streams(kernel.code, waves, target);
  for (const std::uint64_t id : numbers) {
    std::vector<const model::Steps*>& group = unit.queue.emplace_back();
    const std::size_t first = recorded.at(kind_of(id, kernel)) * kernel.facts.waves;
    for (unsigned w = 0; w < kernel.facts.waves; ++w) group.push_back(&unit.waves[first + w]);
  }
  unit.resident = resident;
  unit.kinds = static_cast<unsigned>(chosen.size());
  return unit;
}

Result<StreamedLaunch> play_streams(const PreparedKernel& kernel, const target::Target& target,
                                    std::int64_t m) {
  const auto unit = record_unit(kernel, target);
  if (!unit) return std::unexpected(unit.error());
  const model::Residency residency{unit->resident, kernel.facts.waves, kernel.facts.wgp_mode};
  const double computing = model::run_streams(unit->queue, residency, target);
  const model::LaunchShape shape =
      shape_of(kernel.kernel.problem, kernel.kernel.config, kernel.launch, m, kernel.iterations);
  return StreamedLaunch{
      .clocks = std::max(computing,
                         model::memory_cycles(model::launch_traffic(shape, unit->resident, target), target)),
      .played = static_cast<unsigned>(unit->queue.size()),
      .kinds = unit->kinds,
      .instructions = unit->instructions};
}

}  // namespace wavejit::tools
