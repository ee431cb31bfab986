// SPDX-License-Identifier: MIT
// How many wave-instructions a second the simulator executes on the flagship GEMM, with all checks and
// with none, on one thread. By the thread's CPU time and the best of the runs, since other load on the
// machine only ever slows.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "tests/harness/run.hpp"

namespace {

using namespace wavejit;

struct Rate {
  double millions_per_second = 0;
  std::uint64_t instructions = 0;
};

Rate measure(sim::Checks checks, bool conflicts, unsigned runs) {
  harness::Request request;
  request.problem.n = 1024;
  request.problem.k = 2560;
  request.problem.group = 32;
  request.m = 256;
  templates::Config config;
  request.config = config;
  request.compare = false;
  request.sim.checks = checks;
  request.sim.count_bank_conflicts = conflicts;
  request.sim.threads = 1;
  Rate best;
  for (unsigned i = 0; i < runs; ++i) {
    const auto report = harness::run(request);
    if (!report) {
      fmt::print(stderr, "{}\n", report.error().message);
      return {};
    }
    best.instructions = report->run.wave_instructions;
    best.millions_per_second = std::max(
        best.millions_per_second, 1e-6 * static_cast<double>(best.instructions) / report->run.cpu_seconds);
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Wave-instructions per second of the simulator, one thread, W4A16 256x1024x2560");
  unsigned runs = 3;
  app.add_option("--runs", runs, "Runs of each kind; the best counts")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const Rate strict = measure(sim::Checks::all(), true, runs);
  const Rate free = measure(sim::Checks::none(), false, runs);
  fmt::print("wave-instructions per run       {}\n", strict.instructions);
  fmt::print("all checks on                   {:.2f} million per second\n", strict.millions_per_second);
  fmt::print("all checks off                  {:.2f} million per second\n", free.millions_per_second);
  if (strict.millions_per_second > 0)
    fmt::print("strictness costs                {:.2f}x\n",
               free.millions_per_second / strict.millions_per_second);
  return 0;
}
