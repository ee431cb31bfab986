// SPDX-License-Identifier: MIT
// wavejit sweep: selection and generation over a grid of shapes, groups, types and zero points, on each
// target. W4A16 only. Every Config that selection returns for M up to 4096 must launch and keep its K step
// within one group; those of the rows asked for must generate, assemble and link.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "templates/kernel.hpp"
#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/json.hpp"
#include "tools/wavejit/options.hpp"
#include "tools/wavejit/progress.hpp"

namespace wavejit::tools {
namespace {

struct Options {
  std::vector<std::string> targets;
  std::vector<std::int64_t> rows{1322};
  std::size_t share = 1;
  unsigned threads = 2;
  bool json = false;
};

struct Shape {
  std::int64_t k, n;
};
/// Each K with each N: depths of decoders, widths down to less than a tile and with tails of every kind …
constexpr std::array<std::int64_t, 16> depths{256,  512,  768,  1024, 1536, 2048,  2560,  3584,
                                              4096, 5120, 6144, 8192, 9728, 11008, 12288, 16384};
constexpr std::array<std::int64_t, 9> widths{16, 72, 256, 1024, 2600, 4096, 6144, 12288, 19456};
/// … and layers of models that servers run (shared/domain.md §0.2), as K, N.
constexpr std::array<Shape, 26> layers{
    {{2048, 32768}, {16384, 2048}, {38912, 2048}, {49152, 4096},  {2560, 3840},  {9728, 2560},  {4096, 24576},
     {3584, 37888}, {18944, 3584}, {8192, 512},   {8320, 512},    {6144, 2048},  {2560, 20480}, {10240, 2560},
     {5376, 43008}, {21504, 5376}, {8192, 5376},  {16384, 5376},  {5376, 20480}, {640, 5120},   {5120, 2048},
     {8192, 1280},  {3584, 8192},  {6656, 13312}, {16384, 13312}, {5120, 896}}};
constexpr std::array<std::int64_t, 5> groups{32, 64, 128, 256, -1};

struct Grid {
  std::vector<templates::Problem> problems;
  std::size_t combinations =
      0;  ///< of shape and group; each comes in both types, with zero points and without
};

Grid make_grid() {
  std::vector<Shape> shapes(layers.begin(), layers.end());
  for (const std::int64_t k : depths)
    for (const std::int64_t n : widths) shapes.push_back({k, n});
  Grid grid;
  for (const Shape& s : shapes)
    for (const std::int64_t group : groups) {
      if (group > 0 && s.k % group != 0) continue;
      ++grid.combinations;
      for (unsigned kind = 0; kind < 4; ++kind) {
        templates::Problem p;
        p.n = s.n;
        p.k = s.k;
        p.group = group;
        if (kind % 2 == 1) p.activation = templates::DataType::f16;
        if (kind / 2 == 1) p.zero_points = templates::ZeroPoints::packed;
        grid.problems.push_back(p);
      }
    }
  return grid;
}

/// What became of one target's problems.
struct Tally {
  const target::Target* target = nullptr;
  std::size_t problems = 0, selections = 0, kernels = 0;
  double select_ms = 0, slowest_ms = 0, generate_ms = 0;
  std::set<std::string> configs;
  std::vector<std::string> failures;
};

/// CPU time of this thread in milliseconds, so that other work on the machine does not count.
double cpu_milliseconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

/// What the sweep finds of one problem. The failure is a sentence.
struct Found {
  std::size_t selections = 0, kernels = 0;
  double select_ms = 0, generate_ms = 0;
  std::vector<std::string> configs;
  std::optional<std::string> failure;
};

std::optional<std::string> check(const templates::Problem& p, const templates::Selection& s,
                                 const target::Target& target) {
  const std::string config = templates::canonical(s.config);
  // A skinny kernel has a scale for each 32 weights of a lane, a tile one for its step along K.
  if (s.config.path == templates::Path::tile && (s.config.bk > p.group || p.group % s.config.bk != 0))
    return fmt::format("M {} to {}: {} crosses groups of {}", s.first, s.last, config, p.group);
  if (const auto launch = templates::launch(p, s.config, target, s.last); !launch)
    return fmt::format("M {}: {}: {}", s.last, config, launch.error().message);
  return std::nullopt;
}

Found look_at(const templates::Problem& asked, const target::Target& target, const Options& o) {
  constexpr std::int64_t most_rows = 4096;
  Found f;
  const double begin = cpu_milliseconds();
  const auto p = templates::normalise(asked, target);
  const auto all = p ? templates::select_configs(*p, target, 1, most_rows)
                     : Result<std::vector<templates::Selection>>(std::unexpected(p.error()));
  f.select_ms = cpu_milliseconds() - begin;
  if (!all) {
    f.failure = all.error().message;
    return f;
  }
  f.selections = all->size();
  for (const templates::Selection& s : *all) {
    f.configs.push_back(templates::canonical(s.config));
    f.failure = check(*p, s, target);
    if (f.failure) return f;
  }
  const double generation = cpu_milliseconds();
  for (const std::int64_t m : o.rows) {
    const auto serves = [m](const templates::Selection& s) { return s.first <= m && m <= s.last; };
    const auto kernel = templates::generate(*p, std::ranges::find_if(*all, serves)->config, target);
    if (!kernel) {
      f.failure = kernel.error().message;
      break;
    }
    ++f.kernels;
  }
  f.generate_ms = cpu_milliseconds() - generation;
  return f;
}

void add(Tally& tally, const templates::Problem& p, Found f) {
  ++tally.problems;
  tally.selections += f.selections;
  tally.kernels += f.kernels;
  tally.select_ms += f.select_ms;
  tally.slowest_ms = std::max(tally.slowest_ms, f.select_ms);
  tally.generate_ms += f.generate_ms;
  tally.configs.insert(f.configs.begin(), f.configs.end());
  if (!f.failure) return;
  const auto normal = templates::normalise(p, *tally.target);
  tally.failures.push_back(
      fmt::format("{}: {}", normal ? templates::canonical(*normal) : "a problem", *f.failure));
}

Result<std::vector<Tally>> tallies(const Options& o) {
  std::vector<Tally> all;
  for (const std::string& name : o.targets) {
    const target::Target* target = target::find(name);
    if (target == nullptr)
      return fail_field(ErrorCode::unknown_target, "target", name, "one of " + target_names());
    all.emplace_back().target = target;
  }
  if (!all.empty()) return all;
  templates::Problem any;
  any.n = any.k = any.group = 256;
  for (const target::Target& t : target::all())
    if (templates::normalise(any, t)) all.emplace_back().target = &t;
  return all;
}

/// Every share-th problem; where it begins differs by target, so that a small share has all of them
/// somewhere.
void run(const Options& o, const Grid& grid, std::vector<Tally>& all) {
  struct Work {
    std::size_t tally, problem;
  };
  std::vector<Work> works;
  for (std::size_t t = 0; t < all.size(); ++t)
    for (std::size_t i = t % o.share; i < grid.problems.size(); i += o.share) works.push_back({t, i});
  std::atomic<std::size_t> next = 0;
  std::size_t done = 0;
  std::mutex mutex;
  ProgressBar bar("problems");
  std::vector<std::jthread> pool;
  for (unsigned thread = 0; thread < o.threads; ++thread)
    pool.emplace_back([&] {
      for (std::size_t i; (i = next++) < works.size();) {
        const templates::Problem& p = grid.problems[works[i].problem];
        Found found = look_at(p, *all[works[i].tally].target, o);
        const std::lock_guard lock(mutex);
        add(all[works[i].tally], p, std::move(found));
        bar.update(++done, works.size());
      }
    });
}

Json to_json(const Grid& grid, const std::vector<Tally>& all) {
  Json targets = Json::array();
  for (const Tally& t : all)
    targets.push_back({{"target", t.target->name},
                       {"problems", t.problems},
                       {"selections", t.selections},
                       {"configs", t.configs.size()},
                       {"kernels", t.kernels},
                       {"failures", t.failures}});
  return {{"combinations", grid.combinations}, {"problems", grid.problems.size()}, {"targets", targets}};
}

void print(const Grid& grid, const std::vector<Tally>& all) {
  fmt::print("{} combinations of shape and group, {} problems with type and zero points\n\n",
             grid.combinations, grid.problems.size());
  fmt::print("{:13} {:>8} {:>10} {:>7} {:>7} {:>8}  {:>9} {:>10} {:>11}\n", "target", "problems",
             "selections", "Configs", "kernels", "failures", "ms/choice", "slowest ms", "ms/kernel");
  for (const Tally& t : all) {
    fmt::print("{:13} {:>8} {:>10} {:>7} {:>7} {:>8}  {:>9.1f} {:>10.1f} {:>11.1f}\n", t.target->name,
               t.problems, t.selections, t.configs.size(), t.kernels, t.failures.size(),
               t.select_ms / static_cast<double>(std::max<std::size_t>(t.problems, 1)), t.slowest_ms,
               t.generate_ms / static_cast<double>(std::max<std::size_t>(t.kernels, 1)));
  }
  constexpr std::size_t shown = 10;
  for (const Tally& t : all)
    for (std::size_t i = 0; i < std::min(shown, t.failures.size()); ++i)
      fmt::print("{}: {}\n", t.target->name, t.failures[i]);
}

int sweep(const Options& o) {
  auto all = tallies(o);
  if (!all) return refuse(all.error(), o.json);
  const Grid grid = make_grid();
  run(o, grid, *all);
  if (o.json) {
    fmt::print("{}\n", to_json(grid, *all).dump(2));
  } else {
    print(grid, *all);
  }
  return std::ranges::all_of(*all, [](const Tally& t) { return t.failures.empty(); }) ? exit_ok : exit_wrong;
}

}  // namespace

Action add_sweep(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  app.add_option("--target", o->targets, "GPU architectures, with commas; all that W4A16 serves by default")
      ->delimiter(',');
  app.add_option("--rows", o->rows, "M whose Config is generated for each problem; others are only chosen")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{4096}))
      ->capture_default_str();
  app.add_option("--share", o->share, "Look at every n-th problem of a target only")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("-j,--threads", o->threads, "Problems at once")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--json", o->json, "Print the counts as JSON");
  return [o] { return sweep(*o); };
}

}  // namespace wavejit::tools
