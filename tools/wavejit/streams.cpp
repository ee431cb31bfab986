// SPDX-License-Identifier: MIT
#include "tools/wavejit/streams.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "runtime/device/sim/record.hpp"
#include "tools/wavejit/access_notes.hpp"

namespace wavejit::tools {
namespace {

/// Position of a workgroup that decides what it executes.
using Kind = std::array<bool, 3>;

Kind kind_of(std::uint64_t linear, const std::array<std::uint32_t, 3>& grid) {
  const std::uint64_t x = linear % grid[0], y = linear / grid[0] % grid[1], z = linear / grid[0] / grid[1];
  return {x + 1 == grid[0], y + 1 == grid[1], z + 1 == grid[2]};
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

Result<StreamedLaunch> play_streams(const PreparedKernel& kernel, const target::Target& target,
                                    std::int64_t m) {
  StreamedLaunch result;
  const templates::Launch& launch = kernel.launch;
  const model::Occupancy occupancy = model::occupancy(kernel.facts, target);
  if (occupancy.workgroups == 0) return fail(ErrorCode::out_of_registers, "no workgroup of this kernel fits");

  const std::uint64_t units = model::workgroup_units(target);
  const std::uint64_t all = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  sim::LaunchParams params;
  std::map<Kind, std::size_t> recorded;
  for (std::uint64_t id = 0; id < all; id += units)
    if (recorded.try_emplace(kind_of(id, launch.grid), params.workgroups.size()).second)
      params.workgroups.push_back(id);

  sim::Memory memory;
  const auto kernarg = place_tensors(launch, memory);
  if (!kernarg) return std::unexpected(kernarg.error());
  params.grid = launch.grid;
  params.block = launch.block;
  params.kernarg = *kernarg;
  params.dynamic_lds_bytes = launch.dynamic_lds_bytes;
  const auto object = lower::decode(kernel.kernel.code_object);
  if (!object) return std::unexpected(object.error());
  const auto program = sim::Program::create(object->kernels.at(0), target);
  if (!program) return std::unexpected(program.error());
  const auto recording = sim::record(*program, memory, params);
  if (!recording) return std::unexpected(recording.error());

  std::vector<std::vector<model::Executed>> waves;
  for (const sim::GroupStream& g : recording->groups)
    for (const sim::WaveStream& w : g.waves) {
      waves.push_back(executed(w, kernel.code));
      result.instructions += w.size();
    }
  const std::vector<model::Steps> steps = model::prepare_streams(kernel.code, waves, target);
  std::vector<std::vector<const model::Steps*>> queue;
  for (std::uint64_t id = 0; id < all; id += units) {
    std::vector<const model::Steps*>& group = queue.emplace_back();
    const std::size_t first = recorded.at(kind_of(id, launch.grid)) * kernel.facts.waves;
    for (unsigned w = 0; w < kernel.facts.waves; ++w) group.push_back(&steps[first + w]);
  }
  result.played = static_cast<unsigned>(queue.size());
  result.kinds = static_cast<unsigned>(params.workgroups.size());
  const model::Residency residency{std::min(occupancy.workgroups, result.played), kernel.facts.waves,
                                   kernel.facts.wgp_mode};
  const double computing = model::run_streams(queue, residency, target);
  const model::LaunchShape shape =
      shape_of(kernel.kernel.problem, kernel.kernel.config, launch, m, kernel.iterations);
  result.clocks = std::max(
      computing, model::memory_cycles(model::launch_traffic(shape, residency.workgroups, target), target));
  return result;
}

}  // namespace wavejit::tools
