// SPDX-License-Identifier: MIT
// K-quants through the engine on the simulated device: two kernels a launch, with a workspace between them.
// What a launch computes is judged by oracle/kquant.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <set>

#include "tests/harness/kquant_device.hpp"
#include "tests/runtime/engine/engine_bench.hpp"

namespace wavejit::test {
namespace {

using harness::kquant::DeviceRequest;
using harness::kquant::DeviceTensors;
using templates::DataType;
using templates::GgufType;

templates::Problem problem_of(GgufType type, std::int64_t n, std::int64_t k,
                              DataType activation = DataType::bf16) {
  templates::Problem p;
  p.op = templates::Operation::kquant;
  p.activation = activation;
  p.n = n;
  p.k = k;
  p.weight_type = type;
  return p;
}

std::shared_ptr<Engine> make_engine(const EngineOptions& options = quiet_options()) {
  auto engine = Engine::create(options);
  INFO((engine ? std::string() : engine.error().message));
  REQUIRE(engine);
  return *engine;
}

Plan prepare(Engine& engine, const templates::Problem& problem, MRange range) {
  auto plan = engine.prepare(problem, range);
  INFO((plan ? std::string() : plan.error().message));
  REQUIRE(plan);
  return *plan;
}

DeviceTensors tensors(Engine& engine, const Plan& plan, DeviceRequest request) {
  request.problem = plan.problem();
  request.workspace_bytes = plan.workspace_bytes(request.m).value();
  auto made = DeviceTensors::create(engine.device(), request);
  INFO((made ? std::string() : made.error().message));
  REQUIRE(made);
  return std::move(*made);
}

std::vector<float> launched(Engine& engine, const Plan& plan, DeviceTensors& t) {
  const auto ok = plan.launch(nullptr, t.arguments());
  INFO((ok ? std::string() : ok.error().message));
  REQUIRE(ok);
  const auto ran = engine.device()->synchronise(nullptr);
  INFO((ran ? std::string() : ran.error().message));
  REQUIRE(ran);
  auto output = t.output();
  REQUIRE(output);
  return std::move(*output);
}

std::vector<std::uint32_t> first_row(const std::vector<float>& output, std::int64_t n) {
  std::vector<std::uint32_t> bits;
  for (std::int64_t i = 0; i < n; ++i)
    bits.push_back(std::bit_cast<std::uint32_t>(output[static_cast<std::size_t>(i)]));
  return bits;
}

/// A superblock of Q4_K with that d and dmin, all scales and minima 1, every byte of quants `quants`.
std::vector<std::uint8_t> q4_k_block(std::uint16_t d, std::uint16_t dmin, std::uint8_t quants) {
  std::vector<std::uint8_t> b(144, quants);
  b[0] = static_cast<std::uint8_t>(d);
  b[1] = static_cast<std::uint8_t>(d >> 8);
  b[2] = static_cast<std::uint8_t>(dmin);
  b[3] = static_cast<std::uint8_t>(dmin >> 8);
  for (std::size_t i = 4; i < 12; ++i) b[i] = 1;
  for (std::size_t i = 12; i < 16; ++i) b[i] = 0x11;
  return b;
}
constexpr std::uint16_t one = 0x3C00;  // f16

TEST_CASE("Every type of weights and activations, any number of rows, the same bits for each",
          "[engine][kquant]") {
  const auto engine = make_engine();
  const struct {
    GgufType type;
    DataType activation;
  } cases[] = {{GgufType::q4_k, DataType::bf16},
               {GgufType::q5_k, DataType::f16},
               {GgufType::q6_k, DataType::f32},
               {GgufType::q8_0, DataType::bf16},
               {GgufType::q4_0, DataType::f32}};
  for (const auto& c : cases) {
    INFO(name(c.type) << " " << name(c.activation));
    const Plan plan = prepare(*engine, problem_of(c.type, 21, 1280, c.activation), {1, 21});
    std::vector<std::uint32_t> expected;
    // Row 60: one token and two go by different kernels. 9, 16 and 21 are several launches.
    for (const std::int64_t m : {1, 2, 3, 8, 9, 16, 21}) {
      INFO(m << " rows");
      DeviceTensors t = tensors(*engine, plan, {.m = m});
      const auto output = launched(*engine, plan, t);
      const auto distance = t.judge();
      REQUIRE(distance);
      CHECK(distance->worst_exact <= 1);
      CHECK(distance->worst_model <= 1);
      if (expected.empty()) expected = first_row(output, 21);
      CHECK(first_row(output, 21) == expected);
    }
  }
}

TEST_CASE("A plan says which kernels serve which rows and how much workspace", "[engine][kquant]") {
  const auto engine = make_engine();
  const Plan plan = prepare(*engine, problem_of(GgufType::q4_k, 16, 512), {9, 20});
  // 320 bytes for every 256 activations, of eight rows at most.
  CHECK(plan.workspace_bytes(9) == 8U * 2 * 320);
  CHECK(plan.workspace_bytes(20) == 8U * 2 * 320);
  CHECK(plan.workspace_bytes(1).error().code == ErrorCode::not_prepared);
  const auto variants = plan.variants();
  REQUIRE(variants.size() == 8);
  CHECK(variants.front().range == MRange{1, 1});
  CHECK(variants.back().range == MRange{8, 20});
  std::set<std::string> keys;
  for (const Variant& v : variants) {
    REQUIRE(v.stages.size() == 2);
    CHECK(v.stages[0].kernel.find("quantise") != std::string::npos);
    CHECK(v.stages[1].kernel == v.kernel);
    CHECK(v.stages[1].key == v.key);
    for (const StageKernel& s : v.stages) keys.insert(s.key);
  }
  CHECK(keys.size() == 16);
  CHECK(engine->counters().compiles == 16);
  const Plan few = prepare(*engine, problem_of(GgufType::q4_k, 16, 512), {2, 3});
  CHECK(few.variants().size() == 2);
  CHECK(few.workspace_bytes(3) == 3U * 2 * 320);
  CHECK(engine->counters().compiles == 16);  // found in memory
}

TEST_CASE("Arguments of all stages are checked before any of them is enqueued", "[engine][kquant]") {
  const auto engine = make_engine();
  const Plan plan = prepare(*engine, problem_of(GgufType::q4_k, 24, 512), {1, 12});
  for (const std::int64_t m : {3, 12}) {
    DeviceTensors t = tensors(*engine, plan, {.m = m});
    const Arguments good = t.arguments();
    struct Case {
      const char* field;
      void (*spoil)(Arguments&);
    };
    const Case cases[] = {
        {"activations", [](Arguments& a) { a.activations.address += 4; }},
        {"activations.type", [](Arguments& a) { a.activations.type = DataType::f16; }},
        {"activations.bytes", [](Arguments& a) { a.activations.bytes -= 1; }},
        {"weights", [](Arguments& a) { a.weights.address += 4; }},
        {"weights", [](Arguments& a) { a.weights = {}; }},
        {"weights.type", [](Arguments& a) { a.weights.type = DataType::i32; }},
        {"weights.shape", [](Arguments& a) { a.weights.shape[1] += 144; }},
        {"weights.bytes", [](Arguments& a) { a.weights.bytes -= 1; }},
        {"output.type", [](Arguments& a) { a.output.type = DataType::bf16; }},
        {"output.bytes", [](Arguments& a) { a.output.bytes -= 4; }},
        {"workspace_bytes", [](Arguments& a) { a.workspace = 0; }},
        {"workspace_bytes", [](Arguments& a) { a.workspace_bytes -= 1; }},
        {"workspace", [](Arguments& a) { a.workspace += 8; }},
        {"workspace", [](Arguments& a) { a.workspace = a.activations.address; }},
        {"workspace", [](Arguments& a) { a.workspace = a.weights.address; }},
        {"output", [](Arguments& a) { a.output.address = a.workspace; }},
        {"output", [](Arguments& a) { a.output.address = a.activations.address; }},
        {"scales", [](Arguments& a) { a.scales = a.weights; }},
        {"zero_points", [](Arguments& a) { a.zero_points = a.weights; }},
        {"bias", [](Arguments& a) { a.bias = a.activations; }},
    };
    for (const Case& c : cases) {
      Arguments bad = good;
      c.spoil(bad);
      const auto refused = plan.launch(nullptr, bad);
      INFO(c.field << ", " << m << " rows");
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code == ErrorCode::invalid_argument);
      CHECK(refused.error().field == c.field);
      CHECK_FALSE(refused.error().allowed.empty());
    }
    REQUIRE(engine->device()->synchronise(nullptr));
    // Nothing ran: the output is NaN throughout, and the workspace as it was, undefined.
    CHECK(std::ranges::all_of(*t.output(), [](float v) { return std::bit_cast<std::uint32_t>(v) == ~0U; }));
    launched(*engine, plan, t);
    CHECK(t.judge()->ok());
  }
  Arguments none = tensors(*engine, plan, {.m = 1}).arguments();
  none.activations.shape[0] = none.output.shape[0] = 0;
  CHECK(plan.launch(nullptr, none));
  CHECK(engine->counters().empty_launches == 1);
  none.output.type = DataType::f16;
  CHECK_FALSE(plan.launch(nullptr, none));
}

TEST_CASE("A captured launch of several kernels runs again with what its tensors then hold",
          "[engine][kquant]") {
  auto device = *device::SimDevice::create({});
  EngineOptions options = quiet_options();
  options.opened = {device};
  const auto engine = make_engine(options);
  const Plan plan = prepare(*engine, problem_of(GgufType::q6_k, 19, 768), {1, 16});
  DeviceTensors t = tensors(*engine, plan, {.m = 11, .seed = 3});
  const device::Stream stream = *device->create_stream();
  REQUIRE(device->begin_capture(stream));
  REQUIRE(plan.launch(stream, t.arguments()));
  const auto graph = device->end_capture(stream);
  REQUIRE(graph);
  CHECK(std::bit_cast<std::uint32_t>(t.output()->front()) == ~0U);  // recorded, not run
  for (int i = 0; i < 2; ++i) {
    REQUIRE(t.clear_output());
    REQUIRE(device->launch_graph(*graph, stream));
    REQUIRE(device->synchronise(stream));
    CHECK(t.judge()->ok());
  }
  // All activations zero, in place.
  REQUIRE(device->fill(t.arguments().activations.address, t.arguments().activations.bytes, 0));
  REQUIRE(device->launch_graph(*graph, stream));
  REQUIRE(device->synchronise(stream));
  CHECK(std::ranges::all_of(*t.output(), [](float v) { return v == 0; }));
  CHECK(device->destroy_stream(stream));
}

TEST_CASE("Both kernels are found on disk; an edited one replaces its own stage only", "[engine][kquant]") {
  const Folder folder;
  Log log;
  EngineOptions options = quiet_options();
  options.cache_folder = folder.path("cache");
  options.dump_folder = folder.path("dump");
  options.log = log.function();
  const templates::Problem problem = problem_of(GgufType::q4_0, 8, 256);
  StageKernel quantiser;
  {
    const auto engine = make_engine(options);
    quantiser = prepare(*engine, problem, {1, 1}).variants().front().stages.front();
    CHECK(engine->counters().compiles == 2);
  }
  {
    const auto engine = make_engine(options);
    CHECK(engine->explain(problem, {1, 1})->size() == 2);
    const Plan plan = prepare(*engine, problem, {1, 1});
    CHECK(engine->counters().compiles == 0);
    const auto variants = plan.variants();
    for (const StageKernel& s : variants.front().stages) CHECK(s.from == Tier::disk);
  }
  const std::string overrides = folder.path("overrides"), file = quantiser.key + ".s";
  std::filesystem::create_directory(overrides);
  std::filesystem::permissions(overrides, std::filesystem::perms::owner_all);
  std::filesystem::copy(folder.path("dump/" + quantiser.kernel + "." + file), overrides + "/" + file);
  std::filesystem::permissions(overrides + "/" + file, std::filesystem::perms::owner_read);
  options.override_folder = overrides;
  const auto engine = make_engine(options);
  const Plan plan = prepare(*engine, problem, {1, 1});
  CHECK(log.warnings() == 0);
  CHECK(plan.variants().front().stages[0].from == Tier::override_folder);
  CHECK(plan.variants().front().stages[1].from == Tier::disk);
  DeviceTensors t = tensors(*engine, plan, {});
  launched(*engine, plan, t);
  CHECK(t.judge()->ok());
}

TEST_CASE("What no kernel does is refused with the reason", "[engine][kquant]") {
  const auto engine = make_engine();
  const auto field = [&](const auto& change) {
    templates::Problem p = problem_of(GgufType::q4_k, 16, 256);
    change(p);
    const auto plan = engine->prepare(p, {1, 1});
    return plan ? std::string("accepted") : plan.error().field;
  };
  CHECK(field([](auto&) {}) == "accepted");
  CHECK(field([](auto& p) { p.k = 320; }) == "k");
  CHECK(field([](auto& p) { p.k = 0; }) == "k");
  CHECK(field([](auto& p) { p.n = 0; }) == "n");
  CHECK(field([](auto& p) { p.activation = DataType::i32; }) == "act");
  CHECK(field([](auto& p) { p.bias = true; }) == "bias");
  CHECK(field([](auto& p) { p.zero_points = templates::ZeroPoints::packed; }) == "zero_points");
  CHECK(field([](auto& p) { p.activation_stride = 512; }) == "activation_stride");
  CHECK(field([](auto& p) { p.weight_stride = 160; }) == "weight_stride");
  CHECK(field([](auto& p) { p.weight_stride = 144; }) == "accepted");
  CHECK(field([](auto& p) { p.output_stride = 32; }) == "output_stride");
  CHECK(field([](auto& p) { p.weight_type = static_cast<GgufType>(9); }) == "weight_type");
}

TEST_CASE("Rows 47, 48 and 58: sums beyond f16, zeros and huge activations, every lane once",
          "[engine][kquant][cases]") {
  const auto engine = make_engine();
  const auto result = [&](std::int64_t k, std::vector<std::uint8_t> block, float x) {
    const Plan plan = prepare(*engine, problem_of(GgufType::q4_k, 4, k, DataType::f32), {1, 1});
    std::vector<std::uint8_t> row;
    for (std::int64_t i = 0; i < k / 256; ++i) row.insert(row.end(), block.begin(), block.end());
    DeviceTensors t = tensors(*engine, plan,
                              {.weights = [&](std::int64_t) { return row; },
                               .activations = [&](std::int64_t, std::int64_t) { return x; }});
    const auto output = launched(*engine, plan, t);
    CHECK(std::ranges::all_of(output, [&](float v) { return v == output[0]; }));
    return output[0];
  };
  CHECK(result(256, q4_k_block(0, one, 0), 2048) == -524288.0F);  // d 0, dmin 1, minima 1: minus the sum
  CHECK(result(256, q4_k_block(one, one, 0x55), 0) == 0.0F);
  CHECK(result(256, q4_k_block(one, 0, 0x11), 1e7F) == Approx(256e7).epsilon(1e-6));
  CHECK(result(5120, q4_k_block(one, 0, 0x11), 1) == Approx(5120).epsilon(1e-6));
  CHECK(result(5120, q4_k_block(one, 0, 0x11), 127) == 5120.0F * 127);  // 127 quantises exactly
}

TEST_CASE("Row 74: more rows of weights than a grid's second axis has", "[engine][kquant][cases]") {
  const auto engine = make_engine();
  const Plan plan = prepare(*engine, problem_of(GgufType::q4_0, 65600, 256), {1, 1});
  DeviceTensors t = tensors(*engine, plan, {});
  launched(*engine, plan, t);
  CHECK(t.judge()->ok());
}

// Row 75 needs weights beyond 2^31 bytes; the kernel's own test has them (tests/templates/kquant). Here: what
// the engine computes of them.
TEST_CASE("Row 75: the bytes of large tensors do not overflow", "[engine][kquant][cases]") {
  const auto engine = make_engine();
  const Plan plan = prepare(*engine, problem_of(GgufType::q4_k, 1000001, 8192), {1, 1});
  DeviceTensors t = tensors(*engine, prepare(*engine, problem_of(GgufType::q4_k, 1, 8192), {1, 1}), {});
  Arguments a = t.arguments();
  constexpr std::uint64_t needed = std::uint64_t{1000001} * 4608;
  a.weights.shape[0] = a.output.shape[1] = 1000001;
  a.output.bytes = 4 * 1000001;
  a.weights.bytes = needed - 1;
  const auto refused = plan.launch(nullptr, a);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().field == "weights.bytes");
  CHECK(refused.error().allowed.find(std::to_string(needed)) != std::string::npos);
}

}  // namespace
}  // namespace wavejit::test
