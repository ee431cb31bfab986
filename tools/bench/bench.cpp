// SPDX-License-Identifier: MIT
// How long kernels take to come into being: generate, assemble, link. First the flagship kernel: cold is the
// first kernel of a new process (each sample is a process of its own), warm the later ones of one process.
// Then what the chooser picks for many shapes, rows, types and targets, each as CPU time of one core; and the
// dearest of them as the user CPU time of a new process beside the flagship's. Asserts nothing.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <optional>
#include <set>
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

double cpu_milliseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

/// Where a kernel stands in the set: of each list below the number.
struct Place {
  unsigned target = 0, layer = 0, operation = 0, variant = 0, m = 0, kernel = 0;
};

struct Case {
  const target::Target* target = nullptr;
  templates::Problem problem;
  templates::Config config;
  Place place;

  [[nodiscard]] std::string text() const {
    return fmt::format("{}: {}: {}, kernel {}", target->name, templates::canonical(problem),
                       templates::canonical(config), place.kernel);
  }
};

/// gate_up of the 4-B model in the published tile.
Case flagship() {
  Case c;
  c.target = target::find("gfx1151");
  c.problem.n = 19456;
  c.problem.k = 2560;
  c.problem.group = 32;
  c.config.bm = 128;
  c.config.bn = 64;
  c.config.bk = 32;
  c.config.waves = 8;
  return c;
}

struct Layer {
  std::int64_t n, k, group;
};
constexpr std::array targets{"gfx1100", "gfx1151", "gfx1201", "gfx942", "gfx950"};
constexpr std::array layers{Layer{896, 4864, 128}, Layer{2560, 9728, 32}, Layer{19456, 2560, 32},
                            Layer{4096, 14336, 128}, Layer{5120, 5120, -1}};
constexpr std::array operations{templates::Operation::w4a16, templates::Operation::int4_gemm,
                                templates::Operation::kquant};
constexpr std::array<std::int64_t, 8> rows{1, 2, 5, 8, 16, 48, 512, 4096};

/// Variant 0 has bf16 and zero points, or Q4_K; variant 1 f16 and none, or Q6_K.
templates::Problem problem_of(const Place& at) {
  const Layer& layer = layers[at.layer];
  templates::Problem p;
  p.op = operations[at.operation];
  p.n = layer.n;
  p.k = layer.k;
  if (p.op == templates::Operation::kquant) {
    p.weight_type = at.variant == 0 ? templates::GgufType::q4_k : templates::GgufType::q6_k;
    return p;
  }
  p.group = layer.group;
  if (p.op == templates::Operation::int4_gemm) p.layout = templates::WeightLayout::row_major_signed;
  if (at.variant == 1) {
    p.activation = templates::DataType::f16;
  } else {
    p.zero_points =
        p.op == templates::Operation::w4a16 ? templates::ZeroPoints::packed : templates::ZeroPoints::additive;
  }
  return p;
}

/// What the chooser picks there; nothing where the target does not serve the problem or the launch has fewer
/// kernels.
std::optional<Case> choose(const Place& at) {
  const target::Target* target = target::find(targets[at.target]);
  const auto problem = templates::normalise(problem_of(at), *target);
  if (!problem) return std::nullopt;
  const auto config = templates::select_config(*problem, *target, rows[at.m]);
  if (!config || at.kernel >= templates::stages(*problem, *config)) return std::nullopt;
  return Case{target, *problem, *config, at};
}

/// Each kernel once.
std::vector<Case> chosen() {
  std::vector<Case> all;
  std::set<std::string> seen;
  Place at;
  for (at.target = 0; at.target < targets.size(); ++at.target)
    for (at.layer = 0; at.layer < layers.size(); ++at.layer)
      for (at.operation = 0; at.operation < operations.size(); ++at.operation)
        for (at.variant = 0; at.variant < 2; ++at.variant)
          for (at.m = 0; at.m < rows.size(); ++at.m)
            for (at.kernel = 0; const std::optional<Case> c = choose(at); ++at.kernel)
              if (seen.insert(c->text()).second) all.push_back(*c);
  return all;
}

Result<templates::Times> make(const Case& c) {
  const auto kernel =
      templates::generate(c.problem, c.config, *c.target, {.stage = c.place.kernel, .verify = false});
  if (!kernel) return std::unexpected(kernel.error());
  return kernel->times;
}

struct Sample {
  templates::Times times;
  double whole_ms = 0;  ///< cold: exec to exit of the process; warm: the call
  double user_ms = 0;   ///< cold: user CPU time of the process
};

/// This program again, as a new process that chooses and makes one kernel, the flagship where `place` is
/// null, and prints its three times.
bool cold_sample(const Place* place, Sample& sample) {
  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) return false;
  const Clock::time_point begin = Clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe_ends[1], STDOUT_FILENO);
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
    const std::string which = place == nullptr
                                  ? ""
                                  : fmt::format("{} {} {} {} {} {}", place->target, place->layer,
                                                place->operation, place->variant, place->m, place->kernel);
    ::execl("/proc/self/exe", "wavejit_bench", "--one", which.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(pipe_ends[1]);
  std::string text;
  char buffer[256];
  for (ssize_t got = 0; (got = ::read(pipe_ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  ::close(pipe_ends[0]);
  int status = 0;
  rusage usage{};
  if (child < 0 || ::wait4(child, &status, 0, &usage) != child || status != 0) return false;
  sample.whole_ms = milliseconds_since(begin);
  sample.user_ms =
      1e3 * static_cast<double>(usage.ru_utime.tv_sec) + 1e-3 * static_cast<double>(usage.ru_utime.tv_usec);
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

int fail(std::string_view why) {
  fmt::print(stderr, "wavejit_bench: {}\n", why);
  return 1;
}

int print_one(const std::string& which) {
  std::optional<Case> c = flagship();
  if (!which.empty()) {
    Place at;
    std::istringstream(which) >> at.target >> at.layer >> at.operation >> at.variant >> at.m >> at.kernel;
    c = choose(at);
  }
  if (!c) return fail("there is no such kernel");
  const auto times = make(*c);
  if (!times) return fail(times.error().message);
  fmt::print("{} {} {}\n", times->generate_ms, times->assemble_ms, times->link_ms);
  return 0;
}

int bench_flagship(unsigned cold_count, unsigned warm_count) {
  std::vector<Sample> cold(cold_count), warm(warm_count);
  for (Sample& sample : cold)
    if (!cold_sample(nullptr, sample)) return fail("a new process failed");
  if (const auto first = make(flagship()); !first) return fail(first.error().message);  // warm-up
  for (Sample& sample : warm) {
    const Clock::time_point begin = Clock::now();
    const auto times = make(flagship());
    if (!times) return fail(times.error().message);
    sample = {.times = *times, .whole_ms = milliseconds_since(begin)};
  }
  fmt::print("gate_up (N 19456, K 2560, group 32, bf16) for gfx1151, tile 128x64x32, 8 waves\n");
  print_samples("cold: first kernel of a new process", "process, exec to exit", cold);
  print_samples("warm: same process", "call", warm);
  return 0;
}

/// User CPU time of a new process: the least of several, since other work on the machine only adds.
std::optional<double> least_user_ms(const Place* place, unsigned samples) {
  double least = 0;
  for (unsigned i = 0; i < samples; ++i) {
    Sample sample;
    if (!cold_sample(place, sample)) return std::nullopt;
    least = i == 0 ? sample.user_ms : std::min(least, sample.user_ms);
  }
  return least;
}

int bench_chosen(unsigned repeats, unsigned cold_count) {
  struct Timed {
    double ms;
    Case which;
  };
  std::vector<Timed> all;
  for (Case& c : chosen()) {
    double least = 0;
    for (unsigned i = 0; i < repeats; ++i) {
      const double begin = cpu_milliseconds();
      if (const auto times = make(c); !times) return fail(times.error().message);
      const double spent = cpu_milliseconds() - begin;
      least = i == 0 ? spent : std::min(least, spent);
    }
    all.push_back({least, std::move(c)});
  }
  std::ranges::sort(all, std::greater(), &Timed::ms);
  fmt::print("chosen kernels: {}; CPU time of one core, the least of {}: median {:.1f} ms, worst {:.1f} ms\n",
             all.size(), repeats, all[all.size() / 2].ms, all.front().ms);
  for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 10); ++i)
    fmt::print("  {:6.1f} ms  {}\n", all[i].ms, all[i].which.text());
  const auto flagship_ms = least_user_ms(nullptr, cold_count),
             worst_ms = least_user_ms(&all.front().which.place, cold_count);
  if (!flagship_ms || !worst_ms) return fail("a new process failed");
  fmt::print(
      "user CPU time of a new process, the least of {}: worst {:.0f} ms, flagship {:.0f} ms: {:.1f} times\n",
      cold_count, *worst_ms, *flagship_ms, *worst_ms / *flagship_ms);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times of generating, assembling and linking kernels");
  unsigned cold = 20, warm = 50, repeats = 3;
  std::string one;
  app.add_option("--cold", cold, "New processes")->capture_default_str()->check(CLI::Range(1, 1000));
  app.add_option("--warm", warm, "Kernels in one process")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  app.add_option("--repeats", repeats, "Times that each chosen kernel is made")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  const CLI::Option* only =
      app.add_option("--one", one, "Make one kernel and print its three times")->group("");
  CLI11_PARSE(app, argc, argv);
  if (only->count() > 0) return print_one(one);
  const int failed = bench_flagship(cold, warm);
  return failed != 0 ? failed : bench_chosen(repeats, cold);
}
