// SPDX-License-Identifier: MIT
// What the engine's calls cost: prepare by the tier that serves it, and launch into a simulated capture.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include "runtime/device/simulated/sim_device.hpp"
#include "tests/harness/device_tensors.hpp"

namespace {

using namespace wavejit;
using Clock = std::chrono::steady_clock;

template <class F>
double nanoseconds(F&& f) {
  const auto start = Clock::now();
  f();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void say(const char* what, double ns, double cold) {
  fmt::print("  {:<44} {:>12.0f} ns   1 / {:.0f} of a cold prepare\n", what, ns, cold / ns);
}

[[noreturn]] void stop(const Error& error) {
  fmt::print(stderr, "wavejit_bench_engine: {}\n", error.message);
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  if (!result) stop(result.error());
  return std::move(*result);
}

std::shared_ptr<Engine> make_engine(const std::string& folder, std::shared_ptr<device::Device> device) {
  EngineOptions options;
  options.environment = false;
  options.opened = {std::move(device)};
  options.cache_folder = folder;
  return must(Engine::create(options));
}

}  // namespace

int main() {
  std::string name = (std::filesystem::temp_directory_path() / "wavejit-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return 1;
  const std::string folder = name + "/cache";
  const auto device = must(device::SimDevice::create({}));
  const templates::Problem problem{.n = 19456, .k = 2560, .group = 32};
  constexpr MRange range{1322, 1322};
  std::vector<double> cold, disk, memory, launch;
  for (int round = 0; round < 5; ++round) {
    std::filesystem::remove_all(folder);
    const auto engine = make_engine(folder, device);
    cold.push_back(nanoseconds([&] { must(engine->prepare(problem, range)); }));
  }
  for (int round = 0; round < 15; ++round) {
    const auto engine = make_engine(folder, device);
    disk.push_back(nanoseconds([&] { must(engine->prepare(problem, range)); }));
  }
  const auto engine = make_engine(folder, device);
  must(engine->prepare(problem, range));
  constexpr int calls = 1000;
  for (int round = 0; round < 31; ++round)
    memory.push_back(nanoseconds([&] {
                       for (int i = 0; i < calls; ++i) must(engine->prepare(problem, range));
                     }) /
                     calls);

  const Plan small = must(engine->prepare({.n = 64, .k = 64, .group = 32}, {1, 16}));
  auto tensors = must(harness::DeviceTensors::create(device, small.problem(), 5, oracle::random_values(1)));
  const device::Stream stream = must(device->create_stream());
  for (int round = 0; round < 31; ++round) {
    if (auto ok = device->begin_capture(stream); !ok) stop(ok.error());
    launch.push_back(nanoseconds([&] {
                       for (int i = 0; i < calls; ++i)
                         if (auto ok = small.launch(stream, tensors.arguments()); !ok) stop(ok.error());
                     }) /
                     calls);
    must(device->end_capture(stream));
  }
  if (auto ok = device->destroy_stream(stream); !ok) stop(ok.error());
  std::filesystem::remove_all(name);

  const double c = median(cold);
  fmt::print("engine on {}, medians\n", device->info().name);
  say("prepare, compiled and written to disk", c, c);
  say("prepare, from disk (checked, loaded)", median(disk), c);
  say("prepare, in memory", median(memory), c);
  say("launch into a capture (checked, recorded)", median(launch), c);
  return 0;
}
