// SPDX-License-Identifier: MIT
// wavejit info: what this build knows and what this machine has.
#include <dlfcn.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "generator/lower/lower.hpp"
#include "generator/target/target.hpp"
#include "tools/wavejit/commands.hpp"
#include "tools/wavejit/json.hpp"

namespace wavejit::tools {
namespace {

/// GPUs that the HIP library reports. It is looked for at run time, so that one build serves machines
/// with and without ROCm.
struct HipDevices {
  bool library = false;
  int count = 0;
};

HipDevices hip_devices() {
  HipDevices found;
  for (const char* name : {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"}) {
    void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    found.library = true;
    using GetDeviceCount = int (*)(int*);
    const auto get_count = reinterpret_cast<GetDeviceCount>(::dlsym(library, "hipGetDeviceCount"));
    if (get_count == nullptr || get_count(&found.count) != 0) found.count = 0;
    break;
  }
  return found;
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
  const HipDevices hip = hip_devices();
  return {{"llvm", lower::llvm_version()},
          {"targets", targets},
          {"devices", {{"sim", true}, {"hip_library", hip.library}, {"hip_devices", hip.count}}}};
}

void print_text(const Json& info) {
  fmt::print("LLVM {}\ntargets:\n", info["llvm"].get<std::string>());
  for (const Json& t : info["targets"])
    fmt::print("  {:<13} {} ({} CUs, wave {}, {} VGPRs per SIMD and lane, {} bytes of LDS per workgroup)\n",
               t["name"].get<std::string>(), t["example"].get<std::string>(), t["compute_units"].get<int>(),
               t["wave_size"].get<int>(), t["vgprs_per_simd"].get<int>(), t["lds_per_workgroup"].get<int>());
  fmt::print("devices:\n  sim      the built-in simulator, any target\n");
  const Json& devices = info["devices"];
  if (devices["hip_devices"].get<int>() > 0) {
    fmt::print("  hip      {} GPU(s) present; this build does not launch on them yet\n",
               devices["hip_devices"].get<int>());
  } else {
    fmt::print("  hip      none{}\n",
               devices["hip_library"].get<bool>() ? "" : " (no HIP library on this machine)");
  }
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
