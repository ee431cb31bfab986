// SPDX-License-Identifier: MIT
// `wavejit tune` for CDNA: entries by the model and through a simulated HIP driver, what an engine then
// takes, and what a measured call launches. Expected: launches and rows of groups by hand; that the database
// and not selection decides is seen by giving its times to other Configs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "runtime/engine/engine.hpp"
#include "tests/runtime/device/fake_driver.hpp"
#include "tests/tools/cli.hpp"
#include "tools/wavejit/tune_measure.hpp"

namespace wavejit::test {
namespace {

using nlohmann::json;
using templates::Operation;

constexpr const char* sizes = " --n 128 --k 512 --group 128 ";

templates::Problem problem(Operation op) {
  templates::Problem p;
  p.op = op;
  p.n = 128;
  p.k = 512;
  p.group = 128;
  if (op != Operation::w4a16) p.layout = templates::WeightLayout::row_major_signed;
  if (op == Operation::int4_grouped) p.groups = 3;
  return p;
}

std::string flags(Operation op) {
  return "--op " + std::string(templates::name(op)) + sizes +
         (op == Operation::int4_grouped ? "--groups 3 " : "");
}

json only_entry(const std::string& file) {
  const json all = json::parse(read_text(file));
  REQUIRE(all.at("entries").size() == 1);
  return all.at("entries")[0];
}

/// The Config that an engine with this database runs `m` rows by.
std::string engine_takes(const std::string& database, const std::string& target, Operation op,
                         std::int64_t m) {
  EngineOptions options;
  options.devices = {"sim:" + target};
  options.cache_folder = "";
  options.environment = false;
  options.tuning_database = database;
  const auto engine = Engine::create(options);
  REQUIRE(engine);
  const auto plan = (*engine)->prepare(problem(op), {m, m});
  INFO((plan ? std::string() : plan.error().message));
  REQUIRE(plan);
  REQUIRE(plan->variants().size() == 1);
  return templates::canonical(plan->variants().front().config);
}

templates::Config split(unsigned slices) {
  templates::Config c;
  c.path = templates::Path::mfma;
  c.bm = 32;
  c.bn = 64;
  c.bk = 64;
  c.waves = 2;
  c.lds_buffers = 1;
  c.split_k = slices;
  return c;
}

/// A device that remembers what is copied to it; all else is the other's.
class Watched : public device::Device {
 public:
  explicit Watched(std::shared_ptr<device::Device> other) : other_(std::move(other)) {}
  std::vector<std::vector<std::byte>> copied;

  [[nodiscard]] const device::Info& info() const override { return other_->info(); }
  Result<std::shared_ptr<const device::Module>> load(std::span<const std::byte> object,
                                                     std::string_view kernel) override {
    return other_->load(object, kernel);
  }
  Result<void> launch(const device::Module& module, const device::Geometry& geometry,
                      std::span<const std::byte> kernarg, device::Stream stream) override {
    return other_->launch(module, geometry, kernarg, stream);
  }
  Result<device::CaptureState> capture_state(device::Stream s) override { return other_->capture_state(s); }
  std::size_t collect() override { return other_->collect(); }
  Result<device::Address> allocate(std::uint64_t bytes) override { return other_->allocate(bytes); }
  Result<void> release(device::Address a) override { return other_->release(a); }
  Result<void> copy_in(device::Address to, std::span<const std::byte> from) override {
    copied.emplace_back(from.begin(), from.end());
    return other_->copy_in(to, from);
  }
  Result<void> copy_out(std::span<std::byte> to, device::Address from) override {
    return other_->copy_out(to, from);
  }
  Result<void> fill(device::Address to, std::uint64_t bytes, std::uint8_t value) override {
    return other_->fill(to, bytes, value);
  }
  Result<device::Stream> create_stream() override { return other_->create_stream(); }
  Result<void> destroy_stream(device::Stream s) override { return other_->destroy_stream(s); }
  Result<void> synchronise(device::Stream s) override { return other_->synchronise(s); }
  Result<device::Event> create_event() override { return other_->create_event(); }
  Result<void> destroy_event(device::Event e) override { return other_->destroy_event(e); }
  Result<void> record(device::Event e, device::Stream s) override { return other_->record(e, s); }
  Result<double> milliseconds_between(device::Event a, device::Event b) override {
    return other_->milliseconds_between(a, b);
  }

 private:
  std::shared_ptr<device::Device> other_;
};

Result<std::vector<engine::TunedTime>> measure(device::Device& device, Operation op, std::int64_t m,
                                               const std::vector<templates::Config>& wanted,
                                               unsigned rounds) {
  const target::Target& target = *target::find(device.info().target);
  const auto p = templates::normalise(problem(op), target);
  REQUIRE(p);
  std::vector<templates::Config> configs;
  for (const templates::Config& c : wanted) {
    const auto fitted = templates::normalise(c, *p, target);
    INFO((fitted ? std::string() : fitted.error().message));
    REQUIRE(fitted);
    configs.push_back(*fitted);
  }
  return tools::measure_configs(device, *p, target, m, configs, rounds, [](auto, auto) {});
}

}  // namespace

TEST_CASE("tune ranks Configs of CDNA by the model, and an engine takes what the database says",
          "[cli][tune][cdna]") {
  struct Case {
    const char* target;
    Operation op;
    std::int64_t m, first, last;  ///< the tuning bucket, by hand: powers of two up to 16, then 16 rows
  };
  const auto c = GENERATE(
      Case{"gfx942", Operation::int4_gemm, 40, 33, 48}, Case{"gfx950", Operation::int4_gemm, 3, 3, 4},
      Case{"gfx950", Operation::int4_grouped, 20, 17, 32}, Case{"gfx942", Operation::w4a16, 17, 17, 32});
  const Folder folder;
  const Ran ran = folder.wavejit("tune --device sim --top 3 --database a.json --target " +
                                 std::string(c.target) + " " + flags(c.op) + "--rows " + std::to_string(c.m));
  CAPTURE(c.target, templates::name(c.op), c.m, ran.out, ran.err);
  REQUIRE(ran.code == 0);
  const json entry = only_entry(folder.file("a.json"));
  const auto p = templates::normalise(problem(c.op), *target::find(c.target));
  REQUIRE(p);
  CHECK(entry.at("target_id") == c.target);
  CHECK(entry.at("problem") == templates::canonical(*p));
  CHECK(entry.at("by") == "model");
  CHECK(entry.at("rows") == json{c.first, c.last});
  REQUIRE(entry.at("times").size() == 3);
  const auto own = templates::select_config(*p, *target::find(c.target), c.m);
  REQUIRE(own);
  // Selection's choice is among them, and the text says so.
  CHECK(std::ranges::count(entry.at("times"), templates::canonical(*own),
                           [](const json& t) { return t.at("config").get<std::string>(); }) == 1);
  CHECK_THAT(ran.out, Catch::Contains(templates::canonical(*own) + "  (selection's choice)"));
  CHECK(engine_takes(folder.file("a.json"), c.target, c.op, c.m) == entry.at("times")[0].at("config"));
  for (std::size_t i = 0; i < 3; ++i) {
    json other = json::parse(read_text(folder.file("a.json")));
    other["entries"][0]["times"][i]["us"] = 1e-3;
    write_text(folder.file("b.json"), other.dump());
    CHECK(engine_takes(folder.file("b.json"), c.target, c.op, c.m) == entry.at("times")[i].at("config"));
  }
}

TEST_CASE("tune times calls of CDNA on a HIP device", "[cli][tune][cdna][hip]") {
  const FakeDriver driver("6");  // for its path
  const auto op = GENERATE(Operation::int4_gemm, Operation::int4_grouped);
  const Folder folder;
  const Ran ran = folder.shell(
      "WAVEJIT_HIP_LIBRARY=" + driver.path() + " WAVEJIT_FAKE_HIP='devices gfx942:sramecc+:xnack-' " +
      WAVEJIT_COMMAND + " tune --device hip --top 2 --rounds 1 --database a.json --rows 20 " + flags(op));
  CAPTURE(templates::name(op), ran.out, ran.err);
  REQUIRE(ran.code == 0);
  const json entry = only_entry(folder.file("a.json"));
  CHECK(entry.at("by") == "hip");
  CHECK_THAT(entry.at("target_id").get<std::string>(), Catch::StartsWith("gfx942"));
  // How long the simulated driver takes decides whether the second is kept; both were timed, the choice is.
  const std::size_t left_out = ran.out.find("(not kept") == std::string::npos ? 0 : 1;
  CHECK(entry.at("times").size() + left_out == 2);
  CHECK_THAT(ran.out, Catch::Contains("(selection's choice)"));
}

TEST_CASE("a measured call launches every kernel of its Config, over one workspace", "[tune][cdna][hip]") {
  const FakeDriver driver("6", "gfx942:sramecc+:xnack-");
  const auto device = device::open(device::Kind::hip, 0, driver.options());
  REQUIRE(device);
  // The workspace of the second is the largest. Fresh memory is undefined to the simulator: a sum that does
  // not read what the slices wrote is a fault.
  const auto times = measure(**device, Operation::int4_gemm, 20, {split(2), split(4), split(1)}, 2);
  INFO((times ? std::string() : times.error().message));
  REQUIRE(times);
  REQUIRE(times->size() == 3);
  for (const engine::TunedTime& t : *times) CHECK(t.us > 0);
  CHECK(driver.calls("hipModuleLaunchKernel") == 3 * (2 + 2 + 1));
  // activations, weights, scales, workspace, output
  CHECK(driver.calls("hipMalloc") == 5);
  CHECK(driver.calls("hipFree") == 5);
}

TEST_CASE("a measured grouped product shares its rows evenly", "[tune][cdna][hip]") {
  const FakeDriver driver("6", "gfx942:sramecc+:xnack-");
  const auto device = device::open(device::Kind::hip, 0, driver.options());
  REQUIRE(device);
  Watched watched(*device);
  const auto times = measure(watched, Operation::int4_grouped, 20, {split(1)}, 1);
  INFO((times ? std::string() : times.error().message));
  REQUIRE(times);
  constexpr std::array<std::int64_t, 3> rows{7, 7, 6};
  const auto bytes = std::as_bytes(std::span(rows));
  CHECK(std::ranges::count(watched.copied, std::vector(bytes.begin(), bytes.end())) == 1);
}

}  // namespace wavejit::test
