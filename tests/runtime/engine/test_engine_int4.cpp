// SPDX-License-Identifier: MIT
// Batched and grouped int4 products through the engine, on a simulated CDNA device: what a launch computes is
// judged by the oracle, and arguments that do not fit are refused before anything runs.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/harness/device_tensors.hpp"
#include "tests/runtime/engine/engine_bench.hpp"

namespace wavejit::test {
namespace {

using harness::DeviceTensors;

std::shared_ptr<Engine> make_engine() {
  EngineOptions options = quiet_options();
  options.devices = {"sim:gfx942"};
  auto engine = Engine::create(options);
  INFO((engine ? std::string() : engine.error().message));
  REQUIRE(engine);
  return *engine;
}

templates::Problem int4(std::int64_t n, std::int64_t k) {
  templates::Problem p;
  p.op = templates::Operation::int4_gemm;
  p.layout = templates::WeightLayout::row_major_signed;
  p.zero_points = templates::ZeroPoints::additive;
  p.n = n;
  p.k = k;
  p.group = 64;
  return p;
}

templates::Problem grouped(std::int64_t n, std::int64_t k, std::int64_t groups) {
  templates::Problem p = int4(n, k);
  p.op = templates::Operation::int4_grouped;
  p.groups = groups;
  return p;
}

Plan prepare(Engine& engine, const templates::Problem& problem, MRange range) {
  auto plan = engine.prepare(problem, range);
  INFO((plan ? std::string() : plan.error().message));
  REQUIRE(plan);
  return *plan;
}

DeviceTensors tensors(Engine& engine, const Plan& plan, std::int64_t m,
                      const std::vector<std::int64_t>& group_rows = {}) {
  auto made = DeviceTensors::create(engine.device(), plan.problem(), m, oracle::random_values(1), group_rows);
  INFO((made ? std::string() : made.error().message));
  REQUIRE(made);
  return std::move(*made);
}

/// Launches and waits; the workspace is what the plan asks for, filled with NaNs.
Result<void> launch(Engine& engine, const Plan& plan, std::int64_t m, DeviceTensors& t) {
  const auto bytes = plan.workspace_bytes(m);
  REQUIRE(bytes);
  REQUIRE(t.add_workspace(*bytes));
  auto launched = plan.launch(nullptr, t.arguments());
  if (launched) REQUIRE(engine.device()->synchronise(nullptr));
  return launched;
}

void check(Engine& engine, const Plan& plan, std::int64_t m,
           const std::vector<std::int64_t>& group_rows = {}) {
  DeviceTensors t = tensors(engine, plan, m, group_rows);
  const auto launched = launch(engine, plan, m, t);
  INFO((launched ? std::string() : launched.error().message));
  REQUIRE(launched);
  const auto verdict = t.judge(oracle::WeightRounding::nearest);
  REQUIRE(verdict);
  INFO("m " << m << ": " << verdict->reason);
  CHECK(verdict->ok);
}

bool untouched(const DeviceTensors& t) {
  const auto bits = t.output();
  REQUIRE(bits);
  return std::ranges::all_of(*bits, [](std::uint16_t b) { return b == 0xFFFF; });
}

TEST_CASE("Int4 products, one and three side by side, split along K where that pays", "[engine][cdna]") {
  const auto engine = make_engine();
  templates::Problem p = int4(96, 1024);
  p.batch = GENERATE(1, 3);
  const Plan plan = prepare(*engine, p, {1, 40});
  for (const std::int64_t m : {1, 5, 40}) check(*engine, plan, m);
}

TEST_CASE("Grouped products take sizes from the device and leave the rows behind alone", "[engine][cdna]") {
  const auto engine = make_engine();
  const Plan plan = prepare(*engine, grouped(96, 256, 3), {1, 100});
  check(*engine, plan, 45, {5, 0, 40});
  DeviceTensors t = tensors(*engine, plan, 7, {0, 0, 5});
  REQUIRE(launch(*engine, plan, 7, t));
  const auto bits = t.output();
  REQUIRE(bits);
  CHECK(std::all_of(bits->begin() + 5 * 96, bits->end(), [](std::uint16_t b) { return b == 0xFFFF; }));
}

TEST_CASE("No groups, no rows, no rows in any group: success, and the output as it was", "[engine][cdna]") {
  // shared/cases.md rows 51 and 53.
  const auto engine = make_engine();
  const Plan plan = prepare(*engine, grouped(96, 256, 3), {1, 100});
  DeviceTensors empty = tensors(*engine, plan, 4, {0, 0, 0});
  REQUIRE(launch(*engine, plan, 4, empty));
  CHECK(untouched(empty));
  empty.arguments().activations = {.address = 0, .bytes = 0, .rank = 2, .shape = {0, 256}};
  empty.arguments().output.shape[0] = 0;
  REQUIRE(plan.launch(nullptr, empty.arguments()));
  CHECK(untouched(empty));

  const Plan none = prepare(*engine, grouped(96, 256, 0), {1, 100});
  DeviceTensors t = tensors(*engine, plan, 4, {0, 0, 0});
  Arguments& a = t.arguments();
  a.weights = {.type = templates::DataType::i32, .rank = 2, .shape = {0, 32}};
  a.scales = a.zero_points = {.rank = 2, .shape = {0, 96}};
  a.group_rows = {.type = templates::DataType::i64, .rank = 1, .shape = {0}};
  const auto launched = none.launch(nullptr, a);
  INFO((launched ? std::string() : launched.error().message));
  REQUIRE(launched);
  REQUIRE(engine->device()->synchronise(nullptr));
  CHECK(untouched(t));
}

/// An output of `rows` x `columns` filled with NaNs, and the launch of a problem without K into it.
struct NothingToSum {
  std::shared_ptr<Engine> engine = make_engine();
  Arguments a;
  std::vector<device::Address> owned;

  device::Address upload(std::span<const std::byte> bytes) {
    const auto address = engine->device()->allocate(bytes.size());
    REQUIRE(address);
    owned.push_back(*address);
    REQUIRE(engine->device()->copy_in(*address, bytes));
    return *address;
  }
  NothingToSum(std::int64_t rows, std::int64_t columns, std::int64_t sets) {
    const std::vector<std::uint16_t> nan(static_cast<std::size_t>(rows * columns), 0xFFFF);
    const auto bytes = std::as_bytes(std::span(nan));
    a.activations = {.rank = 2, .shape = {rows, 0}};
    a.weights = {.type = templates::DataType::i32, .rank = 2, .shape = {sets * columns, 0}};
    a.scales = a.zero_points = {.rank = 2, .shape = {0, columns}};
    a.output = {.address = upload(bytes), .bytes = bytes.size(), .rank = 2, .shape = {rows, columns}};
  }
  ~NothingToSum() {
    for (const device::Address address : owned) CHECK(engine->device()->release(address));
  }
  std::vector<std::uint16_t> run(const templates::Problem& problem) {
    const auto launched = prepare(*engine, problem, {1, 100}).launch(nullptr, a);
    INFO((launched ? std::string() : launched.error().message));
    REQUIRE(launched);
    REQUIRE(engine->device()->synchronise(nullptr));
    std::vector<std::uint16_t> bits(a.output.bytes / 2);
    REQUIRE(engine->device()->copy_out(std::as_writable_bytes(std::span(bits)), a.output.address));
    return bits;
  }
};

TEST_CASE("Row 53: no K gives zeros, in the rows that groups have", "[engine][cdna][cases]") {
  NothingToSum batched(2 * 3, 40, 2);
  templates::Problem p = int4(40, 0);
  p.batch = 2;
  CHECK(batched.run(p) == std::vector<std::uint16_t>(2 * 3 * 40, 0));

  NothingToSum groups(7, 40, 3);
  const std::vector<std::int64_t> sizes{2, 0, 3};
  groups.a.group_rows = {.address = groups.upload(std::as_bytes(std::span(sizes))),
                         .bytes = 24,
                         .type = templates::DataType::i64,
                         .rank = 1,
                         .shape = {3}};
  std::vector<std::uint16_t> expected(7 * 40, 0xFFFF);
  std::fill_n(expected.begin(), 5 * 40, std::uint16_t{0});
  CHECK(groups.run(grouped(40, 0, 3)) == expected);
}

TEST_CASE("Row 53: no K gives the bias of W4A16", "[engine][cdna][cases]") {
  NothingToSum t(5, 40, 1);
  std::vector<std::uint16_t> bias(40), expected;
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<std::uint16_t>(0x3F80 + i);
  for (int row = 0; row < 5; ++row) expected.insert(expected.end(), bias.begin(), bias.end());
  templates::Problem p;
  p.n = 40;
  p.k = 0;
  p.group = -1;
  p.bias = true;
  t.a.scales = {.rank = 2, .shape = {40, 0}};
  t.a.zero_points = {};
  t.a.bias = {.address = t.upload(std::as_bytes(std::span(bias))), .bytes = 80, .rank = 1, .shape = {40}};
  CHECK(t.run(p) == expected);
}

TEST_CASE("W4A16 with a bias is served on CDNA, split along K by waves or workgroups", "[engine][cdna]") {
  const auto engine = make_engine();
  templates::Problem p;
  p.n = 200;
  p.k = 1024;
  p.group = 64;
  p.bias = true;
  p.zero_points = GENERATE(templates::ZeroPoints::symmetric, templates::ZeroPoints::packed);
  const Plan plan = prepare(*engine, p, {1, 256});
  // Waves split K for the fewest rows, workgroups for more.
  CHECK(plan.variants().front().stages.size() == 1);
  CHECK(std::ranges::any_of(plan.variants(), [](const auto& v) { return v.stages.size() == 2; }));
  for (const std::int64_t m : {1, 17, 64, 200}) check(*engine, plan, m);
}

TEST_CASE("Sizes in int32 are refused, not read as half as many int64", "[engine][cdna]") {
  // shared/cases.md row 52: [3, 5] in int32 would be the single size 21,474,836,483.
  const auto engine = make_engine();
  const Plan plan = prepare(*engine, grouped(96, 256, 2), {1, 100});
  DeviceTensors t = tensors(*engine, plan, 8, {3, 5});
  t.arguments().group_rows.type = templates::DataType::i32;
  const auto launched = launch(*engine, plan, 8, t);
  REQUIRE_FALSE(launched);
  CHECK(launched.error().field == "group_rows.type");
  CHECK(untouched(t));
  t.arguments().group_rows = {};
  CHECK_FALSE(launch(*engine, plan, 8, t));
}

// Rows of all products together are a 31-bit number (templates/cdna/launch.cpp).
TEST_CASE("What cannot be launched is neither prepared nor explained", "[engine][cdna]") {
  const auto engine = make_engine();
  struct Case {
    std::int64_t batch, k, rows;
    bool served;
  };
  for (const Case& c :
       {Case{116896, 128, 1 << 20, false}, Case{116896, 128, 16, true}, Case{1, 0, 16, true}}) {
    templates::Problem p = int4(256, c.k);
    p.batch = c.batch;
    CAPTURE(c.batch, c.k, c.rows);
    const auto explained = engine->explain(p, {c.rows, c.rows});
    const auto selected = templates::select_config(p, *target::find("gfx942"), c.rows);
    const auto plan = engine->prepare(p, {c.rows, c.rows});
    CHECK(explained.has_value() == c.served);
    CHECK(selected.has_value() == c.served);
    CHECK(plan.has_value() == c.served);
    if (explained || selected || plan) continue;
    CHECK(plan.error().field == "m * batch * split_k");
    CHECK(explained.error().message == plan.error().message);
    CHECK(selected.error().message == plan.error().message);
  }
}

TEST_CASE("Rows that do not divide into the batches are refused", "[engine][cdna]") {
  const auto engine = make_engine();
  templates::Problem p = int4(96, 256);
  p.batch = 3;
  const Plan plan = prepare(*engine, p, {1, 16});
  DeviceTensors t = tensors(*engine, plan, 2);
  t.arguments().activations.shape[0] = 5;
  const auto launched = launch(*engine, plan, 2, t);
  REQUIRE_FALSE(launched);
  CHECK(launched.error().field == "activations.shape");
  // [batch, M, K] is as good as [batch * M, K].
  Tensor& x = t.arguments().activations;
  x.rank = 3;
  x.shape = {3, 2, 256};
  x.strides = {};
  CHECK(launch(*engine, plan, 2, t));
}

}  // namespace
}  // namespace wavejit::test
