// SPDX-License-Identifier: MIT
// The engine on the simulated device. What a launch computes is judged by the oracle.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "tests/harness/device_tensors.hpp"
#include "tests/runtime/engine/engine_bench.hpp"

namespace wavejit::test {
namespace {

using harness::DeviceTensors;
constexpr auto truncated = oracle::WeightRounding::toward_zero;  // bf16 on RDNA: docs/numerics.md

std::shared_ptr<Engine> make_engine(const EngineOptions& options = quiet_options()) {
  auto engine = Engine::create(options);
  INFO((engine ? std::string() : engine.error().message));
  REQUIRE(engine);
  return *engine;
}

Plan prepare(Engine& engine, const templates::Problem& problem, MRange range = {1, 64}) {
  auto plan = engine.prepare(problem, range);
  INFO((plan ? std::string() : plan.error().message));
  REQUIRE(plan);
  return *plan;
}

DeviceTensors tensors(Engine& engine, const Plan& plan, std::int64_t m, std::uint64_t seed = 1) {
  auto made = DeviceTensors::create(engine.device(), plan.problem(), m, oracle::random_values(seed));
  INFO((made ? std::string() : made.error().message));
  REQUIRE(made);
  return std::move(*made);
}

bool untouched(const DeviceTensors& t) {
  const auto bits = t.output();
  REQUIRE(bits);
  return std::ranges::all_of(*bits, [](std::uint16_t b) { return b == 0xFFFF; });
}

TEST_CASE("A prepared problem launches and is right for every M of its range", "[engine]") {
  const auto engine = make_engine();
  const Plan plan = prepare(*engine, {.n = 72, .k = 96, .group = 32}, {1, 130});
  for (const std::int64_t m : {1, 5, 16, 17, 33, 64, 65, 130}) {
    DeviceTensors t = tensors(*engine, plan, m);
    CHECK(plan.workspace_bytes(m) == 0U);
    const auto launched = plan.launch(nullptr, t.arguments());
    INFO((launched ? std::string() : launched.error().message));
    REQUIRE(launched);
    REQUIRE(engine->device()->synchronise(nullptr));
    const auto verdict = t.judge(truncated);
    REQUIRE(verdict);
    INFO("m " << m << ": " << verdict->reason);
    CHECK(verdict->ok);
  }
  // One or several tiles serve the range, each compiled once.
  std::set<std::string> kernels;
  for (const Variant& v : plan.variants()) kernels.insert(v.key);
  CHECK(engine->counters().compiles == kernels.size());
  CHECK(engine->counters().launches == 8);
  // A layer's range needs several.
  const Plan layer = prepare(*engine, {.n = 2560, .k = 256, .group = 32}, {1, 512});
  kernels.clear();
  for (const Variant& v : layer.variants()) kernels.insert(v.key);
  CHECK(kernels.size() > 1);
  CHECK(layer.variants().back().range.last == 512);
}

TEST_CASE("Preparing again finds the plan; another engine finds the kernels on disk", "[engine]") {
  const Folder folder;
  EngineOptions options = quiet_options();
  options.cache_folder = folder.path("cache");
  const templates::Problem problem = small_problem();
  {
    const auto engine = make_engine(options);
    CHECK_FALSE(engine->find(problem, {17, 32}));
    const Plan first = prepare(*engine, problem, {17, 32});
    const Plan second = prepare(*engine, problem, {17, 32});
    CHECK(engine->find(problem, {17, 32}));
    CHECK(engine->counters().plan_hits == 1);
    CHECK(engine->counters().compiles == 1);
    CHECK(first.variants().front().from == Tier::compiled);
    // Another range of the same kernel: the kernel is found in memory.
    prepare(*engine, problem, {18, 25});
    CHECK(engine->counters().kernels[static_cast<std::size_t>(Tier::memory)] == 1);
    CHECK(engine->counters().compiles == 1);
    CHECK(engine->counters().loads == 1);
  }
  const auto engine = make_engine(options);
  const auto reasons = engine->explain(problem, {17, 32});
  REQUIRE(reasons);
  CHECK(reasons->front().find("in the disk cache") != std::string::npos);
  const Plan plan = prepare(*engine, problem, {17, 32});
  CHECK(plan.variants().front().from == Tier::disk);
  CHECK(engine->counters().compiles == 0);
  DeviceTensors t = tensors(*engine, plan, 20);
  REQUIRE(plan.launch(nullptr, t.arguments()));
  REQUIRE(engine->device()->synchronise(nullptr));
  CHECK(t.judge(truncated)->ok);
}

TEST_CASE("A cache on disk stays within the bytes that the program gives it", "[engine][cache]") {
  const auto stored = [](std::uint64_t limit) {
    const Folder folder;
    EngineOptions options = quiet_options();
    options.cache_folder = folder.path("cache");
    options.cache_bytes = limit;
    const auto engine = make_engine(options);
    for (int i = 0; i < 6; ++i) prepare(*engine, small_problem(i), {1, 16});
    std::uint64_t bytes = 0;
    const std::filesystem::recursive_directory_iterator files(folder.path("cache")), end;
    for (auto file = files; file != end; ++file)  // entries lie in folders, beside a few bytes of bookkeeping
      if (file->is_regular_file() && file.depth() > 0) bytes += file->file_size();
    return bytes;
  };
  const std::uint64_t all = stored(0);  // the default is far more
  REQUIRE(all > 40'000);
  const std::uint64_t some = stored(all / 2);
  CHECK(some <= all / 2);
  CHECK(some > all / 4);  // what fits is kept
}

TEST_CASE("Every argument of a launch is checked before anything is enqueued", "[engine]") {
  const auto engine = make_engine();
  const Plan plan = prepare(*engine, {.n = 32, .k = 64, .group = 32}, {1, 16});
  DeviceTensors t = tensors(*engine, plan, 4);
  const Arguments good = t.arguments();
  struct Case {
    const char* field;
    void (*spoil)(Arguments&);
  };
  const Case cases[] = {
      {"activations", [](Arguments& a) { a.activations.address = 0; }},
      {"activations", [](Arguments& a) { a.activations.address += 2; }},
      {"activations.type", [](Arguments& a) { a.activations.type = templates::DataType::f16; }},
      {"activations.rank", [](Arguments& a) { a.activations.rank = 0; }},
      {"activations.rank", [](Arguments& a) { a.activations.rank = 9; }},
      {"activations.shape", [](Arguments& a) { a.activations.shape[1] = 32; }},
      {"activations.shape", [](Arguments& a) { a.activations.shape[0] = -1; }},
      {"activations.bytes", [](Arguments& a) { a.activations.bytes -= 1; }},
      {"activations.strides", [](Arguments& a) { a.activations.strides[1] = 2; }},
      {"activations.strides", [](Arguments& a) { a.activations.strides[0] += 8; }},
      {"weights", [](Arguments& a) { a.weights = {}; }},
      {"weights", [](Arguments& a) { a.weights.address += 1; }},
      {"weights.type", [](Arguments& a) { a.weights.type = templates::DataType::bf16; }},
      {"weights.shape",
       [](Arguments& a) {
         a.weights.shape = {64, 4};
       }},
      {"scales.shape",
       [](Arguments& a) {
         a.scales.shape = {2, 32};
       }},
      {"scales.bytes", [](Arguments& a) { a.scales.bytes = 0; }},
      {"output", [](Arguments& a) { a.output.address = 0; }},
      {"output.shape", [](Arguments& a) { a.output.shape[0] = 5; }},
      {"output.bytes", [](Arguments& a) { a.output.bytes -= 2; }},
      {"output", [](Arguments& a) { a.output.address = a.activations.address; }},
      {"bias", [](Arguments& a) { a.bias = a.scales; }},
  };
  for (const Case& c : cases) {
    Arguments bad = good;
    c.spoil(bad);
    const auto launched = plan.launch(nullptr, bad);
    INFO(c.field);
    REQUIRE_FALSE(launched);
    CHECK(launched.error().code == ErrorCode::invalid_argument);
    CHECK(launched.error().field == c.field);
    CHECK_FALSE(launched.error().allowed.empty());
  }
  // Nothing ran: the output is as it was. The good arguments still work.
  REQUIRE(engine->device()->synchronise(nullptr));
  CHECK(untouched(t));
  CHECK(plan.launch(nullptr, good));
  REQUIRE(engine->device()->synchronise(nullptr));
  CHECK(t.judge(truncated)->ok);
}

TEST_CASE("Row 53: activations of three dimensions, and of none", "[engine][cases]") {
  const auto engine = make_engine();
  const Plan plan = prepare(*engine, {.n = 48, .k = 256, .group = 32}, {1, 16});
  DeviceTensors t = tensors(*engine, plan, 6);
  Arguments a = t.arguments();
  a.activations.rank = a.output.rank = 3;
  a.activations.shape = {2, 3, 256};
  a.activations.strides = {3 * 256, 256, 1};
  a.output.shape = {2, 3, 48};
  a.output.strides = {};
  REQUIRE(plan.launch(nullptr, a));
  REQUIRE(engine->device()->synchronise(nullptr));
  CHECK(t.judge(truncated)->ok);
  // Rows that do not lie evenly apart cannot be one launch.
  a.activations.strides = {1000 * 256, 256, 1};
  const auto uneven = plan.launch(nullptr, a);
  REQUIRE_FALSE(uneven);
  CHECK(uneven.error().field == "activations.strides");
  // [0, 256]: nothing to do, and torch gives an empty tensor a null address.
  Arguments none = t.arguments();
  none.activations.shape[0] = none.output.shape[0] = 0;
  none.activations.address = none.output.address = 0;
  none.activations.bytes = none.output.bytes = 0;
  CHECK(plan.launch(nullptr, none));
  CHECK(engine->counters().empty_launches == 1);
  none.activations.shape[1] = 255;
  CHECK_FALSE(plan.launch(nullptr, none));
}

TEST_CASE("A launch outside of what was prepared says so", "[engine]") {
  const auto engine = make_engine();
  CHECK(Plan().launch(nullptr, {}).error().code == ErrorCode::not_prepared);
  const Plan plan = prepare(*engine, small_problem(), {1, 8});
  DeviceTensors t = tensors(*engine, plan, 9);
  const auto launched = plan.launch(nullptr, t.arguments());
  REQUIRE_FALSE(launched);
  CHECK(launched.error().code == ErrorCode::not_prepared);
  CHECK(plan.workspace_bytes(9).error().code == ErrorCode::not_prepared);
}

TEST_CASE("Bad problems and ranges are refused and not remembered", "[engine]") {
  const auto engine = make_engine();
  CHECK(engine->prepare({.n = 16, .k = 33, .group = 32}, {1, 1}).error().code == ErrorCode::invalid_problem);
  CHECK(engine->prepare(small_problem(), {0, 1}).error().field == "range");
  CHECK(engine->prepare(small_problem(), {5, 4}).error().field == "range");
  CHECK(engine->prepare(small_problem(), {1, 1}, 1).error().field == "device");
  CHECK(engine->counters().prepare_failures == 4);
  CHECK(engine->prepare(small_problem(), {1, 1}));
  EngineOptions options = quiet_options();
  options.devices = {"sim:gfx9999"};
  CHECK(Engine::create(options).error().code == ErrorCode::unknown_target);
  options.devices = {"cuda"};
  CHECK_FALSE(Engine::create(options));
}

TEST_CASE("Background preparation gives the same plan; destroying the engine answers every future",
          "[engine]") {
  std::vector<std::shared_future<Result<Plan>>> futures;
  Plan kept;
  {
    EngineOptions options = quiet_options();
    options.threads = 2;
    const auto engine = make_engine(options);
    const auto first = engine->prepare_async(small_problem(), {17, 32});
    REQUIRE(first.get());
    kept = *first.get();
    CHECK(engine->find(small_problem(), {17, 32}));
    for (int i = 1; i < 40; ++i) futures.push_back(engine->prepare_async(small_problem(i), {17, 32}));
  }
  std::size_t ready = 0, shut = 0;
  for (const auto& future : futures) {
    REQUIRE(future.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
    if (future.get())
      ++ready;
    else if (future.get().error().code == ErrorCode::shut_down)
      ++shut;
  }
  CHECK(ready + shut == futures.size());
  // The plan outlives its engine.
  CHECK(kept.workspace_bytes(20) == 0U);
  CHECK(kept.variants().size() == 1);
}

TEST_CASE("What nobody refers to is unloaded by collect, what somebody does is not", "[engine]") {
  auto device = *device::SimDevice::create({});
  EngineOptions options = quiet_options();
  options.opened = {device};
  const auto engine = make_engine(options);
  Plan kept = prepare(*engine, small_problem(0), {17, 32});
  prepare(*engine, small_problem(1), {17, 32});
  CHECK(device->loaded() == 2);
  CHECK(engine->collect() == 0);
  CHECK(device->loaded() == 1);
  DeviceTensors t = tensors(*engine, kept, 20);
  CHECK(kept.launch(nullptr, t.arguments()));
  REQUIRE(device->synchronise(nullptr));
  CHECK(t.judge(truncated)->ok);
  kept = {};
  CHECK(engine->collect() == 0);
  CHECK(device->loaded() == 0);
}

TEST_CASE("Row 72: during a capture, preparing is refused, launching what is prepared is not",
          "[engine][cases]") {
  auto device = *device::SimDevice::create({});
  EngineOptions options = quiet_options();
  options.opened = {device};
  const auto engine = make_engine(options);
  const Plan plan = prepare(*engine, small_problem(0), {1, 16});
  DeviceTensors t = tensors(*engine, plan, 5);
  const device::Stream stream = *device->create_stream();
  REQUIRE(device->begin_capture(stream));
  const auto refused = engine->prepare(small_problem(1), {1, 16});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::capture_active);
  CHECK_FALSE(engine->find(small_problem(1), {1, 16}));
  REQUIRE(plan.launch(stream, t.arguments()));
  CHECK(device->capture_state(stream) == device::CaptureState::active);
  // Letting go of everything meanwhile unloads nothing.
  const std::size_t loaded = device->loaded();
  engine->collect();
  CHECK(device->loaded() == loaded);
  const auto graph = device->end_capture(stream);
  REQUIRE(graph);
  CHECK(untouched(t));  // recorded, not run
  REQUIRE(device->launch_graph(*graph, stream));
  REQUIRE(device->synchronise(stream));
  CHECK(t.judge(truncated)->ok);
  // The refusal was not remembered.
  CHECK(engine->prepare(small_problem(1), {1, 16}));
  CHECK(device->destroy_stream(stream));
}

TEST_CASE("Two devices of different architecture have kernels of their own (row 69)", "[engine][cases]") {
  const Folder folder;
  EngineOptions options = quiet_options();
  options.devices = {"sim:gfx1150", "sim:gfx1151"};
  options.cache_folder = folder.path("cache");
  const auto engine = make_engine(options);
  REQUIRE(engine->devices() == 2);
  const auto first = engine->prepare(small_problem(), {17, 32}, 0);
  const auto second = engine->prepare(small_problem(), {17, 32}, 1);
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->variants().front().key != second->variants().front().key);
  CHECK(first->device().info().target == "gfx1150");
  CHECK(engine->counters().compiles == 2);
}

TEST_CASE("An edited kernel replaces the generated one; a broken one does not", "[engine]") {
  const Folder folder;
  Log log;
  EngineOptions options = quiet_options();
  options.dump_folder = folder.path("dump");
  std::string key, name, text;
  {
    const auto engine = make_engine(options);
    const Plan plan = prepare(*engine, small_problem(), {17, 32});
    key = plan.variants().front().key;
    name = plan.variants().front().kernel;
  }
  {
    std::FILE* file = std::fopen(folder.path("dump/" + name + "." + key + ".s").c_str(), "rb");
    REQUIRE(file != nullptr);
    char buffer[4096];
    for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, n);
    std::fclose(file);
  }
  const std::string overrides = folder.path("overrides");
  std::filesystem::create_directory(overrides);
  std::filesystem::permissions(overrides, std::filesystem::perms::owner_all);
  const auto write = [&](const std::string& as, const std::string& contents) {
    std::FILE* file = std::fopen((overrides + "/" + as).c_str(), "wb");
    REQUIRE(file != nullptr);
    std::fwrite(contents.data(), 1, contents.size(), file);
    std::fclose(file);
    std::filesystem::permissions(overrides + "/" + as,
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  };
  options.override_folder = overrides;
  options.log = log.function();
  for (const std::string& as : {key + ".s", name + ".s"}) {
    write(as, text + "\n");
    const auto engine = make_engine(options);
    const Plan plan = prepare(*engine, small_problem(), {17, 32});
    CHECK(plan.variants().front().from == Tier::override_folder);
    DeviceTensors t = tensors(*engine, plan, 20);
    REQUIRE(plan.launch(nullptr, t.arguments()));
    REQUIRE(engine->device()->synchronise(nullptr));
    CHECK(t.judge(truncated)->ok);
    std::filesystem::remove(overrides + "/" + as);
  }
  CHECK(log.warnings() == 0);
  // The second never ended in LLVM's assembler, and the third divided by zero there.
  for (const std::string& line :
       std::vector<std::string>{"v_no_such_instruction v1\n", "\n.byte 1\n.p2align 8\n", "\n\n.long 1/0\n"}) {
    const std::size_t newlines = line.find_first_not_of('\n');
    write(key + ".s", line + text);
    const auto engine = make_engine(options);
    const Plan plan = prepare(*engine, small_problem(), {17, 32});
    CHECK(plan.variants().front().from == Tier::compiled);
    CHECK(engine->counters().refused_overrides == 1);
    CHECK(log.contains(key + ".s:" + std::to_string(newlines + 1) + ":"));
  }
}

}  // namespace
}  // namespace wavejit::test
