// SPDX-License-Identifier: MIT
// How long a kernel takes to come into being: generate, assemble, link, for the flagship kernel. Cold
// is the first kernel of a new process (each sample is a process of its own), warm the later ones of
// one process. Prints medians and ranges; asserts nothing.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "templates/kernel.hpp"

namespace {

using namespace wavejit;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// gate_up of the 4-B model in the published tile.
Result<templates::Times> make_flagship() {
  templates::Problem problem;
  problem.n = 19456;
  problem.k = 2560;
  problem.group = 32;
  templates::Config config;
  config.bm = 128;
  config.bn = 64;
  config.bk = 32;
  config.waves = 8;
  const target::Target* target = target::find("gfx1151");
  const auto kernel = templates::generate(problem, config, *target);
  if (!kernel) return std::unexpected(kernel.error());
  return kernel->times;
}

struct Sample {
  templates::Times times;
  double whole_ms = 0;  ///< cold: exec to exit of the process; warm: the call
};

/// This program again, as a new process that makes one kernel and prints its three times.
bool cold_sample(Sample& sample) {
  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) return false;
  const Clock::time_point begin = Clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe_ends[1], STDOUT_FILENO);
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
    ::execl("/proc/self/exe", "wavejit_bench", "--one", nullptr);
    ::_exit(127);
  }
  ::close(pipe_ends[1]);
  std::string text;
  char buffer[256];
  for (ssize_t got = 0; (got = ::read(pipe_ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  ::close(pipe_ends[0]);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) return false;
  sample.whole_ms = milliseconds_since(begin);
  std::istringstream in(text);
  return static_cast<bool>(in >> sample.times.generate_ms >> sample.times.assemble_ms >>
                           sample.times.link_ms);
}

void print_row(const char* name, std::vector<double> values) {
  std::ranges::sort(values);
  fmt::print("  {:<22} median {:7.2f} ms   min {:7.2f}   max {:7.2f}\n", name, values[values.size() / 2],
             values.front(), values.back());
}

void print_samples(const char* title, const char* whole, const std::vector<Sample>& samples) {
  fmt::print("{} ({} samples)\n", title, samples.size());
  std::vector<double> generate, assemble, link, sum, all;
  for (const Sample& s : samples) {
    generate.push_back(s.times.generate_ms);
    assemble.push_back(s.times.assemble_ms);
    link.push_back(s.times.link_ms);
    sum.push_back(s.times.generate_ms + s.times.assemble_ms + s.times.link_ms);
    all.push_back(s.whole_ms);
  }
  print_row("generate", generate);
  print_row("assemble", assemble);
  print_row("link", link);
  print_row("all three", sum);
  print_row(whole, all);
}

int print_one() {
  const auto times = make_flagship();
  if (!times) {
    fmt::print(stderr, "{}\n", times.error().message);
    return 1;
  }
  fmt::print("{} {} {}\n", times->generate_ms, times->assemble_ms, times->link_ms);
  return 0;
}

int benchmark(unsigned cold_count, unsigned warm_count) {
  std::vector<Sample> cold(cold_count), warm(warm_count);
  for (Sample& sample : cold)
    if (!cold_sample(sample)) {
      fmt::print(stderr, "wavejit_bench: a new process failed\n");
      return 1;
    }
  if (const auto first = make_flagship(); !first) return 1;  // warm-up
  for (Sample& sample : warm) {
    const Clock::time_point begin = Clock::now();
    const auto times = make_flagship();
    if (!times) return 1;
    sample = {.times = *times, .whole_ms = milliseconds_since(begin)};
  }
  fmt::print("gate_up (N 19456, K 2560, group 32, bf16) for gfx1151, tile 128x64x32, 8 waves\n");
  print_samples("cold: first kernel of a new process", "process, exec to exit", cold);
  print_samples("warm: same process", "call", warm);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times of generating, assembling and linking the flagship kernel");
  unsigned cold = 20, warm = 50;
  bool one = false;
  app.add_option("--cold", cold, "New processes")->capture_default_str()->check(CLI::Range(1, 1000));
  app.add_option("--warm", warm, "Kernels in one process")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  app.add_flag("--one", one, "Make one kernel and print its three times")->group("");
  CLI11_PARSE(app, argc, argv);
  return one ? print_one() : benchmark(cold, warm);
}
