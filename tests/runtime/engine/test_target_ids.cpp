// SPDX-License-Identifier: MIT
// Target features (xnack, sramecc): which kernels a device may use. The rule is LLVM's (AMDGPUUsage, "Target
// ID"): a code object that does not state a feature runs with it on or off; one that states it runs only so.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include "runtime/cache/bundle.hpp"
#include "runtime/cache/record.hpp"
#include "runtime/device/common/code_object_target.hpp"
#include "runtime/engine/tuning.hpp"
#include "templates/kernel.hpp"
#include "tests/runtime/engine/engine_bench.hpp"

namespace wavejit::test {
namespace {

constexpr MRange rows{1, 16};

templates::Problem problem() { return {.n = 64, .k = 128, .group = 32}; }

/// Every kernel of the range under keys of `target_id`; `flags` replace the feature bits of e_flags, `build`
/// the build ID of the keys.
void write_bundle(const std::string& path, const std::string& target_id, std::optional<unsigned> flags = {},
                  const std::string& build = {}) {
  const target::Target& target = *target::find(target_id);
  const auto normalised = templates::normalise(problem(), target);
  std::vector<cache::Entry> entries;
  const auto selections = templates::select_configs(*normalised, target, rows.first, rows.last);
  for (const auto& s : *selections) {
    for (unsigned stage = 0; stage < templates::stages(*normalised, s.config); ++stage) {
      auto parts = cache::key_parts(*normalised, s.config, target, target_id, stage);
      if (!build.empty()) parts->build = build;
      auto record = cache::make_record(*templates::generate(*normalised, s.config, target, {.stage = stage}));
      if (flags) record.code_object[49] = static_cast<std::uint8_t>(*flags);  // bits 8..15 of e_flags
      entries.push_back({.key_text = cache::make_key(*parts).text, .payload = cache::serialise(record)});
    }
  }
  const auto bytes = cache::serialise_bundle(entries);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes->data()), static_cast<std::streamsize>(bytes->size()));
}

EngineOptions options_for(const std::string& target_id, Log& log) {
  EngineOptions options = quiet_options();
  options.devices = {"sim:" + target_id};
  options.log = log.function();
  return options;
}

std::vector<Variant> variants(const EngineOptions& options) {
  const auto engine = Engine::create(options);
  REQUIRE(engine);
  const auto plan = (*engine)->prepare(problem(), rows);
  INFO((plan ? std::string() : plan.error().message));
  REQUIRE(plan);
  return plan->variants();
}

Tier tier(const EngineOptions& options) { return variants(options).front().from; }

TEST_CASE("A bundle serves the devices that its target ID may run on, and says why not otherwise",
          "[engine][target_id]") {
  const struct {
    std::string bundle, device;
    bool used;
  } cases[] = {{"gfx942", "gfx942", true},
               {"gfx942", "gfx942:sramecc+:xnack-", true},
               {"gfx942", "gfx942:sramecc-:xnack+", true},
               {"gfx942:xnack-", "gfx942:sramecc+:xnack-", true},
               {"gfx942:sramecc+", "gfx942:sramecc+:xnack-", true},
               {"gfx942:sramecc+:xnack-", "gfx942:xnack-:sramecc+", true},
               {"gfx942:xnack-", "gfx942:sramecc+:xnack+", false},
               {"gfx942:sramecc-:xnack-", "gfx942:sramecc+:xnack-", false},
               {"gfx942:xnack-", "gfx942", false},
               {"gfx950", "gfx942", false}};
  for (const auto& c : cases) {
    CAPTURE(c.bundle, c.device);
    const Folder folder;
    Log log;
    EngineOptions options = options_for(c.device, log);
    options.bundles = {folder.path("b.wjb")};
    write_bundle(options.bundles[0], c.bundle);
    CHECK((tier(options) == Tier::bundle) == c.used);
    // One line, of a bundle that has the processor; one for other processors is nobody's mistake.
    CHECK(log.warnings() == (c.used || c.bundle == "gfx950" ? 0 : 1));
    if (log.warnings() == 1) CHECK(log.contains(c.bundle));
  }
}

TEST_CASE("Generated code states no feature, so its keys and its place on disk are the processor's",
          "[engine][target_id]") {
  const target::Target& target = *target::find("gfx942");
  const auto normalised = templates::normalise(problem(), target);
  const auto kernel =
      templates::generate(*normalised, *templates::select_config(*normalised, target, 16), target);
  const auto made = device::read_target(std::as_bytes(std::span(kernel->code_object)));
  CHECK(made->id() == "gfx942");
  CHECK(made->xnack == device::Feature::any);
  CHECK(made->sramecc == device::Feature::any);

  const Folder folder;
  Log log;
  EngineOptions options = options_for("gfx942:sramecc+:xnack-", log);
  options.cache_folder = folder.path("cache");
  const auto first = variants(options);
  CHECK(first.front().from == Tier::compiled);
  for (const char* other : {"sim:gfx942", "sim:gfx942:sramecc-:xnack+"}) {
    options.devices = {other};
    const auto second = variants(options);
    CHECK(second.front().from == Tier::disk);
    CHECK(second.front().key == first.front().key);  // an override's name holds for all of them
  }
}

TEST_CASE("An object that states a feature is not used on a device that has it otherwise",
          "[engine][target_id]") {
  // AMDGPUUsage, e_flags of V4 and later: xnack off = 0x200, sramecc any = 0x400.
  constexpr unsigned xnack_off = 0x06;
  const Folder folder;
  write_bundle(folder.path("b.wjb"), "gfx942", xnack_off);
  for (const auto& [device, used] :
       {std::pair{"gfx942:sramecc+:xnack-", true}, {"gfx942:sramecc+:xnack+", false}}) {
    CAPTURE(device);
    Log log;
    EngineOptions options = options_for(device, log);
    options.bundles = {folder.path("b.wjb")};
    CHECK((tier(options) == Tier::bundle) == used);
    if (!used) CHECK(log.contains("gfx942:xnack-"));
  }
}

TEST_CASE("A bundle that has the processor but not the kernel says once what differs",
          "[engine][target_id]") {
  const Folder folder;
  Log log;
  EngineOptions options = options_for("gfx942:sramecc+:xnack-", log);
  options.bundles = {folder.path("b.wjb")};
  write_bundle(options.bundles[0], "gfx942", {}, "another");
  const auto engine = Engine::create(options);
  REQUIRE(engine);
  for (const int n : {64, 80, 96}) REQUIRE((*engine)->prepare({.n = n, .k = 128, .group = 32}, rows));
  CHECK(log.warnings() == 1);
  CHECK(log.contains("build"));
  CHECK(log.contains("another"));
  // A generic target's kernels run on this device, but only when they are asked for.
  Log second;
  EngineOptions member = options_for("gfx1151", second);
  member.bundles = {folder.path("generic.wjb")};
  write_bundle(member.bundles[0], "gfx11-generic");
  CHECK(tier(member) == Tier::compiled);
  CHECK(second.warnings() == 1);
  CHECK(second.contains("WAVEJIT_GENERIC"));
  member.generic = true;
  CHECK(tier(member) == Tier::bundle);
}

TEST_CASE("Tuned rows follow the same rule, the most specific first", "[engine][target_id][tuning]") {
  const target::Target& target = *target::find("gfx942");
  const auto normalised = templates::normalise({.n = 4096, .k = 4096, .group = 128}, target);
  const auto choices = templates::select_configs(*normalised, target, 1, 8192);
  REQUIRE(choices);
  std::vector<std::string> configs;
  for (const auto& s : *choices)
    if (const auto text = templates::canonical(s.config); std::ranges::find(configs, text) == configs.end())
      configs.push_back(text);
  REQUIRE(configs.size() >= 3);
  const std::string own = templates::canonical(*templates::select_config(*normalised, target, 16));
  const auto row = [&](const char* id, std::size_t config) {
    return engine::TuningEntry{.target_id = id,
                               .build = std::string(cache::generator_build_id()),
                               .problem = templates::canonical(*normalised),
                               .rows = engine::tuning_bucket(16),
                               .m = 16,
                               .by = "hip",
                               .machine = "one",
                               .rounds = 5,
                               .times = {{configs[config], 1}, {own, 2}}};
  };
  engine::TuningDatabase database;
  database.add(row("gfx942", 0));
  database.add(row("gfx942:xnack-", 1));
  database.add(row("gfx942:xnack+", 2));
  for (const auto& [device, config] :
       {std::pair{"gfx942", 0}, {"gfx942:sramecc+:xnack-", 1}, {"gfx942:sramecc+", 0}}) {
    CAPTURE(device);
    const auto tuned = database.apply(*normalised, target, device,
                                      *templates::select_configs(*normalised, target, 16, 16), {});
    REQUIRE(tuned);
    CHECK(templates::canonical(tuned->front().config) == configs[static_cast<std::size_t>(config)]);
  }
}

}  // namespace
}  // namespace wavejit::test
