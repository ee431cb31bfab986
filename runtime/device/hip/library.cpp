// SPDX-License-Identifier: MIT
#include "runtime/device/hip/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <cstdlib>
#include <vector>

#include "runtime/device/common/fork.hpp"
#include "runtime/device/common/mapped_library.hpp"

namespace wavejit::device::hip {
namespace {

struct Opened {
  std::string path;
  void* handle = nullptr;
  std::string why, warning;
};

/// The first of `names` that the loader takes.
Result<Opened> open_first(const std::vector<std::string>& names, std::string why) {
  std::string reasons;
  for (const std::string& name : names) {
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      const std::string file = library_file(handle);
      return Opened{file.empty() ? name : file, handle, why.empty() ? "the loader's " + name : why, {}};
    }
    const char* reason = dlerror();
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", reason != nullptr ? reason : name);
  }
  return fail(ErrorCode::no_device, "the HIP library could not be loaded: " + reasons);
}

/// What the process has already; a handle of nullptr when there is none.
Opened find_mapped() {
  Opened first;
  std::vector<std::string> others;
  for (const std::string& path : mapped_libraries("libamdhip64")) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    // A name alone does not make a HIP runtime.
    if (handle == nullptr || dlsym(handle, "hipInit") == nullptr) continue;
    if (first.handle == nullptr) {
      first = {path, handle, "already loaded by this process", {}};
    } else {
      others.push_back(path);
    }
  }
  if (!others.empty())
    first.warning = fmt::format(
        "this process has several HIP runtimes: {}, which is used because it was loaded first, and {}; "
        "streams and "
        "memory of another are foreign to it. WAVEJIT_HIP_LIBRARY names one",
        first.path, fmt::join(others, ", "));
  return first;
}

Result<Opened> open_library(const OpenOptions& options) {
  if (!options.hip_library.empty()) return open_first({options.hip_library}, "named by the program");
  const char* named = options.environment ? std::getenv("WAVEJIT_HIP_LIBRARY") : nullptr;
  if (named != nullptr && *named != 0) return open_first({named}, "named by WAVEJIT_HIP_LIBRARY");
  if (auto mapped = find_mapped(); mapped.handle != nullptr) return mapped;
  return open_first({"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"}, {});
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

Result<std::shared_ptr<const Library>> load_library(const OpenOptions& options) {
  // Where HIP was first used. Initialising a copy of a used driver hangs or crashes.
  static std::atomic<const ForkMark*> used = nullptr;
  if (const ForkMark* mark = used.load(); mark != nullptr)
    if (auto ok = mark->check("the HIP runtime"); !ok) return std::unexpected(std::move(ok.error()));
  const auto opened = open_library(options);
  if (!opened) return std::unexpected(opened.error());
  auto api = resolve(*opened);
  if (!api) return std::unexpected(std::move(api.error()));
  auto library = std::make_shared<Library>();
  library->path = opened->path;
  library->why = opened->why;
  library->warning = opened->warning;
  library->api = *api;
  if (auto ok = initialise(*library); !ok) {
    ok.error().message += fmt::format("; the HIP runtime is {} ({})", library->path, library->why);
    return std::unexpected(std::move(ok.error()));
  }
  if (used.load() == nullptr) {
    static const ForkMark first;
    used = &first;
  }
  return library;
}

}  // namespace wavejit::device::hip
