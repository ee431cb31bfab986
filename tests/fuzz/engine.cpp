// SPDX-License-Identifier: MIT
// What an engine reads from folders that others may have written, and what a caller hands to it.
#include "runtime/engine/engine.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "runtime/cache/bundle.hpp"
#include "runtime/cache/record.hpp"
#include "runtime/capi/wavejit.h"
#include "runtime/device/simulated/sim_device.hpp"
#include "tests/fuzz/scratch.hpp"
#include "tests/fuzz/targets.hpp"
#include "tests/harness/device_tensors.hpp"

namespace wavejit::test {
namespace {

namespace fs = std::filesystem;

templates::Problem small_problem() {
  templates::Problem problem;
  problem.n = 16;
  problem.k = 64;
  problem.group = 32;
  return problem;
}

/// A simulated gfx1151 whose waves are stopped soon.
std::shared_ptr<device::Device> small_device() {
  device::SimOptions options;
  options.memory_bytes = 256U << 20;
  options.run.max_instructions_per_wave = 5000;
  options.run.threads = 1;
  return *device::SimDevice::create(options);
}

EngineOptions quiet(const std::shared_ptr<device::Device>& device) {
  EngineOptions options;
  options.opened = {device};
  options.cache_folder = "";
  options.environment = false;
  options.threads = 1;
  return options;
}

/// What an engine's disk cache holds of the small problem.
const cache::Entry& good_entry() {
  static const cache::Entry entry = [] {
    const Scratch scratch;
    EngineOptions options = quiet(small_device());
    options.cache_folder = scratch.path("cache").string();
    {
      const auto engine = Engine::create(options);
      static_cast<void>((*engine)->prepare(small_problem(), {1, 1}));
    }
    for (const auto& file : fs::recursive_directory_iterator(scratch.path("cache"))) {
      if (!file.is_regular_file()) continue;
      std::ifstream stream(file.path(), std::ios::binary);
      const Bytes bytes{std::istreambuf_iterator<char>(stream), {}};
      if (auto parsed = cache::parse_entry(bytes); parsed.miss == cache::Miss::none)
        return std::move(parsed.entry);
    }
    std::abort();
  }();
  return entry;
}

/// Prepares the small problem and launches it once. False where either is refused, or where the engine warns
/// that it does without a file.
bool prepare_and_launch(EngineOptions options) {
  std::atomic<bool> warned = false;
  options.log = [&warned](LogLevel level, std::string_view) {
    warned = warned || level == LogLevel::warning;
  };
  const auto engine = Engine::create(options);
  if (!engine) return false;
  const auto plan = (*engine)->prepare(small_problem(), {1, 1});
  if (!plan) return false;
  auto tensors =
      harness::DeviceTensors::create((*engine)->device(), plan->problem(), 1, oracle::random_values(1));
  if (!tensors) return false;
  const bool launched = plan->launch(nullptr, tensors->arguments()).has_value();
  return (*engine)->device()->synchronise(nullptr).has_value() && launched && !warned;
}

template <class T>
void copy_front(T& to, std::span<const std::uint8_t>& from) {
  const std::size_t size = std::min(sizeof to, from.size());
  std::memcpy(&to, from.data(), size);
  from = from.subspan(size);
}

}  // namespace

bool take_entry(std::span<const std::uint8_t> bytes) {
  static_cast<void>(cache::peek_key(bytes));
  const auto parsed = cache::parse_entry(bytes);
  return parsed.miss == cache::Miss::none && cache::parse_record(parsed.entry.payload).has_value();
}

std::vector<Bytes> entry_seeds() { return {cache::serialise(good_entry().key_text, good_entry().payload)}; }

bool take_bundle(std::span<const std::uint8_t> bytes) {
  static const Scratch scratch;
  static const auto device = small_device();
  auto bundle = cache::serialise_bundle({{good_entry().key_text, Bytes(bytes.begin(), bytes.end())}});
  if (!bundle) return false;
  EngineOptions options = quiet(device);
  options.bundles = {scratch.write("b.wjb", *bundle).string()};
  return prepare_and_launch(options);
}

std::vector<Bytes> bundle_seeds() { return {good_entry().payload}; }

bool take_override(std::span<const std::uint8_t> bytes) {
  static const Scratch scratch;
  static const auto device = small_device();
  static const std::string name = [] {
    const auto engine = Engine::create(quiet(device));
    const auto plan = (*engine)->prepare(small_problem(), {1, 1});
    return plan->variants().front().kernel;
  }();
  EngineOptions options = quiet(device);
  scratch.write("overrides/" + name + ".s", bytes);
  fs::permissions(scratch.path("overrides"), fs::perms::owner_all);
  options.override_folder = scratch.path("overrides").string();
  return prepare_and_launch(options);
}

std::vector<Bytes> override_seeds() {
  const target::Target& target = *target::find("gfx1151");
  const auto problem = *templates::normalise(small_problem(), target);
  const auto kernel = templates::generate(problem, *templates::select_config(problem, target, 1), target);
  return {Bytes(kernel->assembly.begin(), kernel->assembly.end())};
}

/// A problem, a range of rows, arguments and a request to repack, one after another. Pointers of the host are
/// the caller's word and are not invented: addresses of the device are.
bool take_structs(std::span<const std::uint8_t> bytes) {
  static wavejit_engine* const engine = [] {
    wavejit_engine_options options = WAVEJIT_ENGINE_OPTIONS_INIT;
    options.devices = "sim";
    options.cache_folder = "";
    options.ignore_environment = 1;
    wavejit_engine* made = nullptr;
    if (wavejit_engine_create(&options, &made) != WAVEJIT_OK) std::abort();
    return made;
  }();
  wavejit_problem problem{};
  wavejit_arguments arguments{};
  wavejit_repack_request request{};
  wavejit_repack_sizes sizes{};
  std::int64_t rows[2]{};
  copy_front(rows, bytes);
  copy_front(problem, bytes);
  copy_front(arguments, bytes);
  copy_front(request, bytes);
  copy_front(sizes.struct_size, bytes);
  // A struct has as many bytes as it says: larger ones end in memory that is not there.
  problem.struct_size = std::min(problem.struct_size, sizeof problem);
  arguments.struct_size = std::min(arguments.struct_size, sizeof arguments);
  request.struct_size = std::min(request.struct_size, sizeof request);
  sizes.struct_size = std::min(sizes.struct_size, sizeof sizes);
  static std::vector<std::uint8_t> host(1 << 16);
  for (wavejit_host_tensor* t :
       {&request.weights, &request.scales, &request.zero_points, &request.g_idx, &request.weight_shape}) {
    t->data = t->data == nullptr ? nullptr : host.data();
    t->bytes = std::min<std::uint64_t>(t->bytes, host.size());
  }
  request.threads %= 3;
  const bool repacks = wavejit_repack_plan(&request, &sizes) == WAVEJIT_OK;
  wavejit_plan* plan = nullptr;
  if (wavejit_prepare(engine, &problem, rows[0], rows[1], 0, &plan) != WAVEJIT_OK) return repacks;
  std::uint64_t workspace = 0;
  static_cast<void>(wavejit_plan_workspace(plan, rows[0], &workspace));
  static_cast<void>(wavejit_plan_launch(plan, nullptr, &arguments));
  static_cast<void>(wavejit_device_synchronise(engine, 0, nullptr));
  wavejit_plan_release(plan);
  wavejit_collect(engine);
  return true;
}

std::vector<Bytes> struct_seeds() {
  std::vector<Bytes> all;
  wavejit_problem w4a16 = WAVEJIT_PROBLEM_INIT, kquant = WAVEJIT_PROBLEM_INIT;
  w4a16.n = 16;
  w4a16.k = 64;
  w4a16.group = 32;
  kquant.operation = WAVEJIT_KQUANT;
  kquant.n = 2;
  kquant.k = 256;
  for (const wavejit_problem& problem : {w4a16, kquant}) {
    const std::int64_t rows[2]{1, 2};
    wavejit_arguments arguments{};
    arguments.struct_size = sizeof arguments;
    wavejit_repack_request request{};
    request.struct_size = sizeof request;
    request.n = 32;
    request.k = 64;
    request.group = 32;
    const std::size_t sizes = sizeof(wavejit_repack_sizes);
    Bytes seed;
    const auto append = [&seed](const auto& value) {
      const auto* from = reinterpret_cast<const std::uint8_t*>(&value);
      seed.insert(seed.end(), from, from + sizeof value);
    };
    append(rows);
    append(problem);
    append(arguments);
    append(request);
    append(sizes);
    all.push_back(std::move(seed));
  }
  return all;
}

}  // namespace wavejit::test
