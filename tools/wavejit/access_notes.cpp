// SPDX-License-Identifier: MIT
#include "tools/wavejit/access_notes.hpp"

#include <algorithm>

#include "generator/target/caches.hpp"

namespace wavejit::tools {

std::uint32_t kept_lines(const target::Target& target, unsigned resident) {
  return static_cast<std::uint32_t>(static_cast<double>(target::caches(target).l1_bytes) / line_bytes /
                                    std::max(resident, 1U));
}

Result<std::vector<model::AccessNote>> access_notes(const lower::DecodedKernel& kernel,
                                                    const target::Target& target, sim::Memory& memory,
                                                    sim::LaunchParams launch,
                                                    std::vector<std::uint64_t>* executed) {
  const auto program = sim::Program::create(kernel, target);
  if (!program) return std::unexpected(program.error());
  launch.workgroups = {0};
  launch.options.count_memory_lines = true;
  launch.options.threads = 1;
  const auto report = sim::run(*program, memory, launch);
  if (!report) return std::unexpected(report.error());
  if (executed != nullptr) *executed = report->executed;
  std::vector<model::AccessNote> notes;
  for (const sim::AccessStatistics& a : report->accesses) {
    if (a.executed == 0) continue;
    const auto each = [&](std::uint64_t total) {
      return static_cast<double>(total) / static_cast<double>(a.executed);
    };
    const bool store = kernel.instructions[a.index].inst.has(isa::flag::store);
    notes.push_back({a.index, each(a.conflict_cycles), store ? each(a.bytes) : line_bytes * each(a.lines),
                     each(a.bytes), each(a.lines)});
  }
  return notes;
}

}  // namespace wavejit::tools
