// SPDX-License-Identifier: MIT
#include "runtime/device/sim/record.hpp"

#include <fmt/format.h>

#include <numeric>

#include "runtime/device/sim/group.hpp"
#include "runtime/device/sim/run_memory.hpp"

namespace wavejit::sim {
namespace {

/// As run_wave(wave, slice), one instruction at a time.
void run_recorded(Wave& w, WaveStream& stream, std::uint64_t& room) {
  Worker& worker = *w.worker;
  for (std::uint64_t n = 0; n < slice && w.state == Wave::State::running && room > 0; ++n) {
    const std::uint32_t at = w.pc;
    const std::uint64_t before = w.executed;
    if (at >= w.code->insts.size()) return run_wave(w, 1);  // reports and ends
    const std::uint64_t conflicts = worker.conflicts[at], bytes = worker.bytes[at], lines = worker.lines[at];
    run_wave(w, 1);
    if (w.executed == before) return;  // ended by the watchdog
    stream.push_back({at, static_cast<std::uint32_t>(worker.conflicts[at] - conflicts),
                      static_cast<std::uint32_t>(worker.bytes[at] - bytes),
                      static_cast<std::uint32_t>(worker.lines[at] - lines)});
    --room;
  }
}

GroupStream record_group(Worker& worker, std::uint64_t linear, std::uint64_t& room) {
  start_group(worker, linear);
  Workgroup& g = worker.group;
  GroupStream stream{linear, std::vector<WaveStream>(g.waves.size())};
  while (room > 0) {
    bool running = false, waiting = false;
    for (std::size_t i = 0; i < g.waves.size(); ++i) {
      Wave& w = g.waves[i];
      if (w.state == Wave::State::running) run_recorded(w, stream.waves[i], room);
      running = running || w.state == Wave::State::running;
      waiting = waiting || w.state == Wave::State::at_barrier;
    }
    if (running) continue;
    if (!waiting) break;
    release_barrier(g);
  }
  return stream;
}

}  // namespace

Result<Recording> record(const Program& program, Memory& memory, const LaunchParams& launch,
                         std::uint64_t most) {
  const detail::Code& code = program.code();
  LaunchParams wanted = launch;
  wanted.options.count_memory_lines = true;
  wanted.options.count_bank_conflicts = true;
  if (auto ok = check_launch(code, wanted); !ok) return std::unexpected(std::move(ok.error()));
  if (wanted.workgroups.empty()) {
    const std::uint64_t groups = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    if (groups > most)
      return fail_field(
          ErrorCode::invalid_argument, "grid", fmt::format("{} workgroups", groups),
          fmt::format("at most {} of them, the number of instructions that are recorded", most));
    wanted.workgroups.resize(groups);
    std::iota(wanted.workgroups.begin(), wanted.workgroups.end(), 0);
  }
  const RunMemory own(memory, code, wanted);
  if (auto ok = own.error(); !ok) return std::unexpected(std::move(ok.error()));
  memory.begin_run();
  Worker worker;
  prepare_worker(worker, code, memory, wanted, own.kernarg(), own.packet());
  Recording recording;
  std::uint64_t room = most;
  for (const std::uint64_t linear : wanted.workgroups)
    recording.groups.push_back(record_group(worker, linear, room));
  if (room == 0)
    return fail_field(ErrorCode::invalid_argument, "workgroups",
                      fmt::format("{} of more than {} instructions", wanted.workgroups.size(), most),
                      "fewer workgroups or a shorter reduction");
  recording.distinct_faults = worker.log.distinct();
  return recording;
}

}  // namespace wavejit::sim
