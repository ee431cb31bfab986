// SPDX-License-Identifier: MIT
// wavejit info: what this build knows and what this machine has.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "generator/lower/lower.hpp"
#include "generator/target/target.hpp"
#include "runtime/device/device.hpp"
#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/json.hpp"

namespace wavejit::tools {
namespace {

/// The HIP runtime that an engine would use, and what it finds.
Json hip_runtime() {
  const auto driver = device::hip_driver();
  if (!driver) return {{"hip_devices", 0}, {"hip_error", driver.error().message}};
  Json json = {{"hip_devices", driver->devices},
               {"hip_path", driver->path},
               {"hip_why", driver->why},
               {"hip_version", driver->version}};
  if (!driver->warning.empty()) json["hip_warning"] = driver->warning;
  return json;
}

Json describe() {
  Json targets = Json::array();
  for (const target::Target& t : target::all())
    targets.push_back({{"name", t.name},
                       {"example", t.marketing},
                       {"compute_units", t.compute_units},
                       {"wave_size", t.wave_size},
                       {"vgprs_per_simd", t.vgprs_per_simd},
                       {"lds_per_workgroup", t.lds_per_workgroup}});
  Json devices = {{"sim", true}};
  devices.update(hip_runtime());
  return {{"llvm", lower::llvm_version()}, {"targets", targets}, {"devices", devices}};
}

void print_text(const Json& info) {
  fmt::print("LLVM {}\ntargets:\n", info["llvm"].get<std::string>());
  for (const Json& t : info["targets"])
    fmt::print("  {:<13} {} ({} CUs, wave {}, {} VGPRs per SIMD and lane, {} bytes of LDS per workgroup)\n",
               t["name"].get<std::string>(), t["example"].get<std::string>(), t["compute_units"].get<int>(),
               t["wave_size"].get<int>(), t["vgprs_per_simd"].get<int>(), t["lds_per_workgroup"].get<int>());
  fmt::print("devices:\n  sim      the built-in simulator, any target\n");
  const Json& devices = info["devices"];
  if (devices.contains("hip_error")) {
    fmt::print("  hip      none: {}\n", devices["hip_error"].get<std::string>());
    return;
  }
  fmt::print("  hip      {} GPU(s), HIP_VERSION {}, through {} ({})\n", devices["hip_devices"].get<int>(),
             devices["hip_version"].get<int>(), devices["hip_path"].get<std::string>(),
             devices["hip_why"].get<std::string>());
  if (devices.contains("hip_warning"))
    fmt::print("           {}\n", devices["hip_warning"].get<std::string>());
}

}  // namespace

Action add_info(CLI::App& app) {
  const auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "As JSON on stdout");
  return [json] {
    const Json info = describe();
    if (*json) {
      fmt::print("{}\n", info.dump(2));
    } else {
      print_text(info);
    }
    return exit_ok;
  };
}

}  // namespace wavejit::tools
