// SPDX-License-Identifier: MIT
#include "runtime/hiprtc/libraries.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "runtime/device/common/mapped_library.hpp"

namespace wavejit::hiprtc {
namespace {

/// One that the process has mapped already, then one beside the HIP runtime that it has mapped, then the
/// loader's.
std::vector<std::string> hiprtc_candidates(const std::string& path) {
  if (!path.empty()) return {path};
  if (const char* named = std::getenv("WAVEJIT_HIPRTC_LIBRARY"); named != nullptr && *named != '\0')
    return {named};
  const std::vector<std::string> names{"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so"};
  std::vector<std::string> all = device::mapped_libraries("libhiprtc");
  // Its compiler's helper library has a name that begins alike.
  std::erase_if(all, [](const std::string& mapped) {
    return mapped.find("builtins", mapped.rfind('/') + 1) != std::string::npos;
  });
  for (const std::string& hip : device::mapped_libraries("libamdhip64"))
    for (const std::string& name : names) all.push_back(hip.substr(0, hip.rfind('/') + 1) + name);
  all.insert(all.end(), names.begin(), names.end());
  all.emplace_back("libamdhip64.so.5");
  return all;
}

/// The file that holds a symbol: "/opt/rocm/lib/libhiprtc.so.6".
std::string file_of(void* symbol) {
  Dl_info info{};
  return dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

/// comgr's name changed with ROCm 6.4 from .2 to .3; HIP 5 only knows .2. One that hiprtc has loaded already
/// comes first, by whatever name, then one beside hiprtc, then the loader's.
std::vector<std::string> comgr_candidates(const std::string& hiprtc_file) {
  std::vector<std::string> names{"libamd_comgr.so.3", "libamd_comgr.so.2"};
  if (hiprtc_file.find(".so.5") != std::string::npos) names = {"libamd_comgr.so.2"};
  std::vector<std::string> all;
  if (const std::size_t slash = hiprtc_file.rfind('/'); slash != std::string::npos)
    for (const std::string& name : names) all.push_back(hiprtc_file.substr(0, slash + 1) + name);
  all.insert(all.end(), names.begin(), names.end());
  return all;
}

void* open_first(const std::vector<std::string>& names, int mode, std::string& found, std::string& reasons) {
  for (const std::string& name : names) {
    if (void* handle = dlopen(name.c_str(), mode)) {
      found = name;
      return handle;
    }
    const char* reason = dlerror();
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", reason != nullptr ? reason : name);
  }
  return nullptr;
}

/// Finds functions and remembers the names of those that are not there.
class Finder {
 public:
  explicit Finder(void* handle) : handle_(handle) {}
  template <class Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    if (function == nullptr) missing_ += (missing_.empty() ? "" : ", ") + std::string(name);
  }
  [[nodiscard]] Result<void> result(const std::string& library) const {
    if (missing_.empty()) return {};
    return fail(ErrorCode::hiprtc, fmt::format("{} lacks {}", library, missing_));
  }

 private:
  void* handle_;
  std::string missing_;
};

Result<void> find_hiprtc(void* handle, Libraries& all) {
  Finder f(handle);
  Hiprtc& h = all.hiprtc;
  f.find("hiprtcCreateProgram", h.hiprtcCreateProgram);
  f.find("hiprtcCompileProgram", h.hiprtcCompileProgram);
  f.find("hiprtcDestroyProgram", h.hiprtcDestroyProgram);
  f.find("hiprtcGetProgramLogSize", h.hiprtcGetProgramLogSize);
  f.find("hiprtcGetProgramLog", h.hiprtcGetProgramLog);
  f.find("hiprtcGetCodeSize", h.hiprtcGetCodeSize);
  f.find("hiprtcGetCode", h.hiprtcGetCode);
  f.find("hiprtcGetErrorString", h.hiprtcGetErrorString);
  return f.result(all.path);
}

Result<void> find_comgr(Libraries& all) {
  const auto names = comgr_candidates(file_of(reinterpret_cast<void*>(all.hiprtc.hiprtcCreateProgram)));
  std::string found, reasons, ignored;
  void* handle = open_first(names, RTLD_NOW | RTLD_NOLOAD, found, ignored);
  if (handle == nullptr)
    handle = open_first(device::mapped_libraries("libamd_comgr"), RTLD_NOW | RTLD_NOLOAD, found, ignored);
  if (handle == nullptr) handle = open_first(names, RTLD_NOW | RTLD_LOCAL, found, reasons);
  if (handle == nullptr) {
    return fail(ErrorCode::hiprtc,
                fmt::format("the comgr of {} could not be loaded to ask which targets it knows: {}", all.path,
                            reasons));
  }
  Finder f(handle);
  f.find("amd_comgr_get_isa_count", all.comgr.amd_comgr_get_isa_count);
  f.find("amd_comgr_get_isa_name", all.comgr.amd_comgr_get_isa_name);
  f.find("amd_comgr_get_isa_metadata", all.comgr.amd_comgr_get_isa_metadata);
  f.find("amd_comgr_destroy_metadata", all.comgr.amd_comgr_destroy_metadata);
  return f.result(found);
}

}  // namespace

Result<Libraries> open_libraries(const std::string& path) {
  Libraries all;
  std::string reasons;
  void* handle = open_first(hiprtc_candidates(path), RTLD_NOW | RTLD_LOCAL, all.path, reasons);
  if (handle == nullptr) return fail(ErrorCode::hiprtc, "hiprtc could not be loaded: " + reasons);
  if (auto ok = find_hiprtc(handle, all); !ok) return std::unexpected(std::move(ok.error()));
  if (auto ok = find_comgr(all); !ok) return std::unexpected(std::move(ok.error()));
  return all;
}

}  // namespace wavejit::hiprtc
