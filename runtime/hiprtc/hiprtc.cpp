// SPDX-License-Identifier: MIT
#include "runtime/hiprtc/hiprtc.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <mutex>

#include "runtime/hiprtc/libraries.hpp"

namespace wavejit::hiprtc {
namespace {

constexpr std::string_view isa_prefix = "amdgcn-amd-amdhsa--";

std::unexpected<Error> failed(std::string message) { return fail(ErrorCode::hiprtc, std::move(message)); }

Result<std::vector<std::string>> targets_of(const Comgr& comgr) {
  std::size_t count = 0;
  if (const int s = comgr.amd_comgr_get_isa_count(&count); s != 0)
    return failed(fmt::format("amd_comgr_get_isa_count failed with status {}", s));
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) {
    const char* text = nullptr;
    if (comgr.amd_comgr_get_isa_name(i, &text) != 0 || text == nullptr) continue;
    std::string_view isa(text);
    if (!isa.starts_with(isa_prefix)) continue;
    isa.remove_prefix(isa_prefix.size());
    std::string processor(isa.substr(0, isa.find(':')));
    if (std::ranges::find(all, processor) == all.end()) all.push_back(std::move(processor));
  }
  return all;
}

/// Whether comgr takes this very name, features and all.
Result<void> check_known(const Libraries& libraries, std::string_view target_id) {
  const bool spelt = target_id.starts_with("gfx") && std::ranges::all_of(target_id, [](unsigned char c) {
                       return std::isalnum(c) != 0 || c == ':' || c == '+' || c == '-';
                     });
  MetadataNode metadata;
  const std::string isa = fmt::format("{}{}", isa_prefix, target_id);
  if (spelt && libraries.comgr.amd_comgr_get_isa_metadata(isa.c_str(), &metadata) == 0) {
    (void)libraries.comgr.amd_comgr_destroy_metadata(metadata);
    return {};
  }
  const auto known = targets_of(libraries.comgr);
  if (!known) return std::unexpected(known.error());
  return fail_field(ErrorCode::hiprtc, "hiprtc target", std::string(target_id),
                    fmt::format("one that the comgr of {} knows, with features that it has: {}",
                                libraries.path, fmt::join(*known, ", ")));
}

/// A program of hiprtc, destroyed at the end.
class ProgramOwner {
 public:
  explicit ProgramOwner(const Hiprtc& api) : api_(api) {}
  ProgramOwner(const ProgramOwner&) = delete;
  ProgramOwner& operator=(const ProgramOwner&) = delete;
  ~ProgramOwner() {
    if (program != nullptr) (void)api_.hiprtcDestroyProgram(&program);
  }
  [[nodiscard]] std::string log() const {
    std::size_t bytes = 0;
    if (api_.hiprtcGetProgramLogSize(program, &bytes) != 0 || bytes == 0) return {};
    std::string text(bytes, '\0');
    if (api_.hiprtcGetProgramLog(program, text.data()) != 0) return {};
    text.resize(std::min(text.find('\0'), text.size()));
    return text;
  }
  Program program = nullptr;

 private:
  const Hiprtc& api_;
};

std::vector<std::string> arguments(std::string_view target_id, const Options& options) {
  std::vector<std::string> all{fmt::format("--offload-arch={}", target_id)};
  for (const std::string& definition : options.definitions) all.push_back("-D" + definition);
  all.insert(all.end(), options.flags.begin(), options.flags.end());
  return all;
}

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> all;
  for (const std::string& text : texts) all.push_back(text.c_str());
  return all;
}

std::unexpected<Error> call_failed(const Hiprtc& api, const char* call, int status) {
  const char* text = api.hiprtcGetErrorString(status);
  return failed(fmt::format("{} failed with {} ({})", call, text != nullptr ? text : "?", status));
}

Result<CodeObject> build(const Hiprtc& api, const std::string& source, const std::string& name,
                         const std::vector<Header>& headers, const std::vector<std::string>& arguments) {
  std::vector<const char*> names, texts;
  for (const Header& header : headers) {
    names.push_back(header.name.c_str());
    texts.push_back(header.text.c_str());
  }
  ProgramOwner owner(api);
  if (const int s = api.hiprtcCreateProgram(&owner.program, source.c_str(), name.c_str(),
                                            static_cast<int>(headers.size()), texts.data(), names.data());
      s != 0)
    return call_failed(api, "hiprtcCreateProgram", s);
  auto options = pointers(arguments);
  if (const int s = api.hiprtcCompileProgram(owner.program, static_cast<int>(options.size()), options.data());
      s != 0) {
    auto error = call_failed(api, "hiprtcCompileProgram", s);
    error.error().message += fmt::format(" for {}: {}", name, owner.log());
    return error;
  }
  CodeObject object{{}, owner.log()};
  std::size_t bytes = 0;
  if (const int s = api.hiprtcGetCodeSize(owner.program, &bytes); s != 0)
    return call_failed(api, "hiprtcGetCodeSize", s);
  object.bytes.resize(bytes);
  if (const int s = api.hiprtcGetCode(owner.program, reinterpret_cast<char*>(object.bytes.data())); s != 0)
    return call_failed(api, "hiprtcGetCode", s);
  return object;
}

}  // namespace

Result<CodeObject> compile(std::string_view source, std::string_view name, std::string_view target_id,
                           const std::vector<Header>& headers, const Options& options) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  const auto libraries = open_libraries(options.library);
  if (!libraries) return std::unexpected(libraries.error());
  if (auto ok = check_known(*libraries, target_id); !ok) return std::unexpected(std::move(ok.error()));
  return build(libraries->hiprtc, std::string(source), std::string(name), headers,
               arguments(target_id, options));
}

Result<void> check_target(std::string_view target_id, const Options& options) {
  const auto libraries = open_libraries(options.library);
  if (!libraries) return std::unexpected(libraries.error());
  return check_known(*libraries, target_id);
}

Result<std::vector<std::string>> known_targets(const Options& options) {
  const auto libraries = open_libraries(options.library);
  if (!libraries) return std::unexpected(libraries.error());
  return targets_of(libraries->comgr);
}

}  // namespace wavejit::hiprtc
