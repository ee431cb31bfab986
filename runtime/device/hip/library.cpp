// SPDX-License-Identifier: MIT
#include "runtime/device/hip/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <vector>

namespace wavejit::device::hip {
namespace {

std::vector<std::string> candidates(const std::string& path) {
  if (!path.empty()) return {path};
  if (const char* named = std::getenv("WAVEJIT_HIP_LIBRARY"); named != nullptr && *named != '\0')
    return {named};
  return {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"};
}

struct Opened {
  std::string path;
  void* handle = nullptr;
};

Result<Opened> open_first(const std::string& path) {
  std::string reasons;
  for (const std::string& name : candidates(path)) {
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return Opened{name, handle};
    const char* reason = dlerror();
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", reason != nullptr ? reason : name);
  }
  return fail(ErrorCode::no_device, "the HIP library could not be loaded: " + reasons);
}

template <class Function>
bool find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

Result<Api> resolve(const Opened& library) {
  Api api;
  std::string missing;
  const auto require = [&](const char* name, auto& function) {
    if (!find(library.handle, name, function)) missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
#define WAVEJIT_HIP_REQUIRE(name, parameters) require(#name, api.name);
  WAVEJIT_HIP_REQUIRED(WAVEJIT_HIP_REQUIRE)
#undef WAVEJIT_HIP_REQUIRE
#define WAVEJIT_HIP_FIND(name, parameters) find(library.handle, #name, api.name);
  WAVEJIT_HIP_OPTIONAL(WAVEJIT_HIP_FIND)
#undef WAVEJIT_HIP_FIND
  require("hipGetErrorName", api.hipGetErrorName);
  if (api.hipGetDeviceProperties == nullptr && api.hipGetDevicePropertiesR0600 == nullptr)
    missing += fmt::format("{}hipGetDeviceProperties", missing.empty() ? "" : ", ");
  if (missing.empty()) return api;
  return fail(ErrorCode::driver,
              fmt::format("{} lacks {}; HIP 5.2 or later has all that is needed", library.path, missing));
}

/// Starts the driver. What it says here decides whether there is a device at all.
Result<void> initialise(Library& library) {
  const Api& api = library.api;
  if (const Status s = api.hipInit(0); s != status::success)
    return driver_failure(api, "hipInit", s, ErrorCode::no_device);
  if (const Status s = api.hipGetDeviceCount(&library.devices); s != status::success)
    return driver_failure(api, "hipGetDeviceCount", s, ErrorCode::no_device);
  if (library.devices == 0) return fail(ErrorCode::no_device, library.path + " finds no GPU");
  if (const Status s = api.hipRuntimeGetVersion(&library.version); s != status::success)
    return driver_failure(api, "hipRuntimeGetVersion", s);
  return {};
}

ErrorCode code_of(Status s, ErrorCode otherwise) {
  if (s == status::out_of_memory) return ErrorCode::out_of_memory;
  if (s >= status::capture_unsupported && s <= status::capture_last) return ErrorCode::capture_active;
  if (s == status::no_device || s == status::insufficient_driver) return ErrorCode::no_device;
  if (s == status::no_binary_for_gpu) return ErrorCode::wrong_architecture;
  return otherwise;
}

}  // namespace

Error driver_error(const Api& api, const char* call, Status status, ErrorCode otherwise) {
  (void)api.hipGetLastError();
  const char* name = api.hipGetErrorName(status);
  return {code_of(status, otherwise),
          fmt::format("{} failed with {} ({})", call, name != nullptr ? name : "an unknown error", status),
          {},
          {},
          {}};
}

Result<std::shared_ptr<const Library>> load_library(const std::string& path) {
  const auto opened = open_first(path);
  if (!opened) return std::unexpected(opened.error());
  auto api = resolve(*opened);
  if (!api) return std::unexpected(std::move(api.error()));
  auto library = std::make_shared<Library>();
  library->path = opened->path;
  library->api = *api;
  if (auto ok = initialise(*library); !ok) return std::unexpected(std::move(ok.error()));
  return library;
}

}  // namespace wavejit::device::hip
