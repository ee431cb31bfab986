// SPDX-License-Identifier: MIT
// The launch: checks its parameters, hands workgroups to host threads, collects their reports.
#include "runtime/device/sim/simulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <mutex>
#include <new>
#include <numeric>
#include <thread>

#include "runtime/device/sim/group.hpp"
#include "runtime/device/sim/run_memory.hpp"
#include "runtime/device/sim/wave.hpp"
#include "runtime/support/guarded.hpp"

namespace wavejit::sim {
namespace {

using detail::Code;

std::uint64_t product(const std::array<std::uint32_t, 3>& a) { return std::uint64_t{a[0]} * a[1] * a[2]; }

/// Work shared by the host threads.
struct Queue {
  Queue(const LaunchParams& l, std::uint64_t n) : launch(l), count(n) {}
  const LaunchParams& launch;
  std::uint64_t count;
  std::atomic<std::uint64_t> next{0}, done{0};
  std::atomic<bool> out_of_memory{false};
  std::mutex progress;

  [[nodiscard]] std::uint64_t id(std::uint64_t i) const {
    return launch.workgroups.empty() ? i : launch.workgroups[i];
  }
};

double thread_cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

void work_share(Queue& queue, Worker& worker) noexcept {
  try {
    for (;;) {
      const std::uint64_t i = queue.next.fetch_add(1);
      if (i >= queue.count) return;
      run_group(worker, queue.id(i));
      const std::uint64_t done = queue.done.fetch_add(1) + 1;
      if (queue.launch.options.progress) {
        const std::scoped_lock lock(queue.progress);
        queue.launch.options.progress(done, queue.count);
      }
    }
  } catch (const std::bad_alloc&) {
    queue.out_of_memory = true;
  } catch (...) {  // a progress callback that throws ends this thread's share
    queue.out_of_memory = true;
  }
}

void work(Queue& queue, Worker& worker) noexcept {
  const double start = thread_cpu_seconds();
  work_share(queue, worker);
  worker.cpu_seconds = thread_cpu_seconds() - start;
}

bool counts_accesses(isa::Pipe pipe) {
  return pipe == isa::Pipe::lds || pipe == isa::Pipe::vmem || pipe == isa::Pipe::smem;
}

RunReport collect(const Code& code, std::vector<Worker>& workers) {
  RunReport r;
  Worker& first = workers.front();
  for (std::size_t t = 1; t < workers.size(); ++t) {
    Worker& w = workers[t];
    first.log.merge(std::move(w.log));
    for (std::size_t i = 0; i < code.insts.size(); ++i) {
      first.executed[i] += w.executed[i];
      first.bytes[i] += w.bytes[i];
      first.conflicts[i] += w.conflicts[i];
      first.lines[i] += w.lines[i];
    }
  }
  for (const Worker& w : workers) r.cpu_seconds += w.cpu_seconds;
  r.totals = first.log.totals();
  r.distinct_faults = first.log.distinct();
  r.faults = first.log.take();
  for (Fault& f : r.faults) {
    const detail::InstText& text = code.texts[f.index];
    f.instruction = text.text;
    f.code_address = text.address;
    if (text.line != 0) f.source = fmt::format("{}:{}", code.source, text.line);
  }
  for (std::size_t i = 0; i < code.insts.size(); ++i) {
    const detail::Inst& inst = code.insts[i];
    const std::uint64_t n = first.executed[i];
    // A VOPD pair is one instruction; its second half is counted with the first.
    const bool second = i > 0 && code.insts[i - 1].dual_first;
    if (!second) {
      r.wave_instructions += n;
      r.per_pipe[static_cast<std::size_t>(inst.pipe)] += n;
    }
    if (n != 0 && counts_accesses(inst.pipe)) {
      r.accesses.push_back({.index = static_cast<std::uint32_t>(i),
                            .executed = n,
                            .bytes = first.bytes[i],
                            .conflict_cycles = first.conflicts[i],
                            .lines = first.lines[i]});
      r.lds_conflict_cycles += first.conflicts[i];
    }
  }
  r.executed = std::move(first.executed);
  return r;
}

Result<RunReport> simulate(const Program& program, Memory& memory, const LaunchParams& launch) {
  const auto start = std::chrono::steady_clock::now();
  const Code& code = program.code();
  if (auto ok = check_launch(code, launch); !ok) return std::unexpected(std::move(ok.error()));
  const RunMemory own(memory, code, launch);
  if (auto ok = own.error(); !ok) return std::unexpected(std::move(ok.error()));
  memory.begin_run();

  Queue queue(launch, launch.workgroups.empty() ? product(launch.grid) : launch.workgroups.size());
  const std::uint64_t wanted = launch.options.threads != 0
                                   ? launch.options.threads
                                   : std::max(1U, std::thread::hardware_concurrency());
  std::vector<Worker> workers(static_cast<std::size_t>(
      std::clamp<std::uint64_t>(wanted, 1, std::min<std::uint64_t>(queue.count, 256))));
  for (Worker& w : workers) {
    prepare_worker(w, code, memory, launch, own.kernarg(), own.packet());
  }
  {
    std::vector<std::jthread> threads;
    try {
      for (std::size_t i = 1; i < workers.size(); ++i)
        threads.emplace_back([&queue, &worker = workers[i]] { work(queue, worker); });
    } catch (const std::exception&) {  // no further thread to be had: go on with those there are
    }
    work(queue, workers.front());
  }
  if (queue.out_of_memory) return fail(ErrorCode::simulation, "the host ran out of memory during the run");
  RunReport report = collect(code, workers);
  report.workgroups = queue.count;
  report.waves = queue.count * ((product(launch.block) + code.lanes - 1) / code.lanes);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace

Result<RunReport> run(const Program& program, Memory& memory, const LaunchParams& launch) {
  return guarded([&] { return simulate(program, memory, launch); });
}

}  // namespace wavejit::sim
