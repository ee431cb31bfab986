// SPDX-License-Identifier: MIT
// What a hit costs in each tier beside making the kernel anew: memory, bundle, disk (read, checksum, key
// comparison, record parsed), and what writing an entry costs. Prints medians over batches and ratios;
// asserts nothing.
#include <fmt/format.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cache/bundle.hpp"
#include "runtime/cache/disk_cache.hpp"
#include "runtime/cache/memory_cache.hpp"
#include "runtime/cache/record.hpp"

namespace {

using namespace wavejit;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// Median and quartiles, over `batches`, of the nanoseconds per call of `work` in a batch of `calls`.
struct Times {
  double median = 0, low = 0, high = 0;
};

template <class Work>
Times measure(int batches, int calls, const Work& work) {
  std::vector<double> each;
  for (int b = 0; b < batches; ++b) {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < calls; ++i) work(b * calls + i);
    each.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / calls);
  }
  std::ranges::sort(each);
  return {.median = each[each.size() / 2], .low = each[each.size() / 4], .high = each[each.size() * 3 / 4]};
}

void row(std::string_view name, const Times& t, double compile_ns) {
  fmt::print("  {:<44} {:>12.0f} ns  ({:.0f} to {:.0f})   1 / {:.0f} of a compilation\n", name, t.median,
             t.low, t.high, compile_ns / t.median);
}

/// gate_up of the 4-B model in the published tile.
struct Flagship {
  templates::Problem problem{.n = 19456, .k = 2560, .group = 32};
  templates::Config config;
  const target::Target& target = *target::find("gfx1151");

  [[nodiscard]] Result<cache::Record> make() const {
    const auto kernel = templates::generate(problem, config, target);
    if (!kernel) return std::unexpected(kernel.error());
    return cache::make_record(*kernel);
  }
};

/// A folder that goes at the end.
struct Scratch {
  std::string path = (fs::temp_directory_path() / "wavejit-bench-XXXXXX").string();
  Scratch() {
    if (::mkdtemp(path.data()) == nullptr) path.clear();
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
  }
};

std::vector<cache::Key> some_keys(int count) {
  std::vector<cache::Key> keys;
  const Flagship flagship;
  for (int i = 0; i < count; ++i) {
    templates::Problem problem = flagship.problem;
    problem.n += std::int64_t{16} * i;
    keys.push_back(cache::make_key(*cache::key_parts(problem, flagship.config, flagship.target, "gfx1151")));
  }
  return keys;
}

int benchmark(int key_count, int batches) {
  const Scratch scratch;
  const Flagship flagship;
  const auto record = flagship.make();
  if (!record || scratch.path.empty()) {
    fmt::print(stderr, "wavejit_bench_cache: {}\n", record ? "no temporary folder" : record.error().message);
    return 1;
  }
  const cache::Bytes payload = serialise(*record);
  const std::vector<cache::Key> keys = some_keys(key_count);
  // Another key each time: scattered, as requests of a server are, but the same sequence in every run.
  const auto key = [&](int i) -> const cache::Key& {
    return keys[static_cast<std::size_t>(i) * 7919 % keys.size()];
  };
  std::uint64_t sum = 0;

  const Times compile = measure(15, 1, [&](int) { sum += flagship.make()->code_object.size(); });
  fmt::print("record of {} bytes ({} of code), {} keys, {} batches; median (quartiles)\n", payload.size(),
             record->code_object.size(), key_count, batches);
  row("compilation (generate, assemble, link)", compile, compile.median);
  row("key from problem and config",
      measure(batches, 200,
              [&](int) {
                sum += cache::make_key(
                           *cache::key_parts(flagship.problem, flagship.config, flagship.target, "gfx1151"))
                           .digest.low;
              }),
      compile.median);

  cache::MemoryCache<cache::Record> memory;
  for (const cache::Key& k : keys) memory.insert(k, std::make_shared<cache::Record>(*record));
  const auto hit = [&](int i) { sum += memory.find(key(i))->vgprs; };
  row("memory hit, one key", measure(batches, 20'000, [&](int) { hit(0); }), compile.median);
  row("memory hit, all keys in turn", measure(batches, 20'000, hit), compile.median);
  {
    std::atomic<bool> stop = false;
    std::jthread other([&] {
      std::uint64_t theirs = 0;
      for (int i = 0; !stop; ++i) theirs += memory.find(key(i))->sgprs;
      sum += theirs & 1;
    });
    row("memory hit, a second thread hitting", measure(batches, 20'000, hit), compile.median);
    stop = true;
  }

  std::vector<cache::Entry> entries;
  entries.reserve(keys.size());
  for (const cache::Key& k : keys) entries.push_back({.key_text = k.text, .payload = payload});
  const cache::Bytes bytes = *cache::serialise_bundle(std::move(entries));
  std::ofstream(scratch.path + "/b.wjb", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const auto bundle = cache::Bundle::open(scratch.path + "/b.wjb");
  if (!bundle) return 1;
  row("bundle hit, record parsed",
      measure(batches, 200, [&](int i) { sum += cache::parse_record(*bundle->get(key(i)).payload)->vgprs; }),
      compile.median);

  cache::DiskOptions options;
  options.folder = scratch.path + "/cache";
  cache::DiskCache disk(options);
  for (const cache::Key& k : keys) disk.put(k, payload);
  row("disk hit, checked, record parsed",
      measure(batches, 200, [&](int i) { sum += cache::parse_record(*disk.get(key(i)).payload)->vgprs; }),
      compile.median);
  row("disk miss",
      measure(batches, 200,
              [&](int i) {
                sum += disk.get({.text = key(i).text + "x",
                                 .digest = {.high = static_cast<std::uint64_t>(i), .low = 1}})
                           .miss == cache::Miss::absent;
              }),
      compile.median);
  row("disk write (fsync of file and folder)",
      measure(batches, 4, [&](int i) { sum += disk.put(key(i), payload); }), compile.median);
  return sum == 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Cost of a hit in each tier of the kernel caches");
  int keys = 500, batches = 31;
  app.add_option("--keys", keys, "Different kernels")->capture_default_str()->check(CLI::Range(1, 100'000));
  app.add_option("--batches", batches, "Samples of each")->capture_default_str()->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  return benchmark(keys, batches);
}
