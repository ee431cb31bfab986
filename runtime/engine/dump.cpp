// SPDX-License-Identifier: MIT
#include "runtime/engine/dump.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>

namespace wavejit::engine {
namespace {

namespace fs = std::filesystem;

Result<void> write(const fs::path& path, std::string_view bytes) {
  static std::atomic<unsigned> serial{0};
  const fs::path temporary = fmt::format("{}.{}.{}.tmp", path.string(), ::getpid(), serial++);
  std::error_code code;
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out) {
      fs::remove(temporary, code);
      return fail(ErrorCode::io, fmt::format("could not write {}; the dump folder must exist or be creatable "
                                             "and have room",
                                             path.string()));
    }
  }
  fs::rename(temporary, path, code);
  if (!code) return {};
  const std::string reason = code.message();
  fs::remove(temporary, code);
  return fail(ErrorCode::io, fmt::format("could not write {}: {}", path.string(), reason));
}

}  // namespace

Result<void> dump_kernel(const std::string& folder, std::string_view digest, std::string_view key_text,
                         const templates::GeneratedKernel& kernel) {
  std::error_code code;
  fs::create_directories(folder, code);  // a failure shows when the files are written
  const std::string stem = fmt::format("{}.{}", kernel.name, digest);
  if (auto ok = write(fs::path(folder) / (stem + ".s"), kernel.assembly); !ok) return ok;
  if (auto ok = write(fs::path(folder) / (stem + ".key"), key_text); !ok) return ok;
  return write(fs::path(folder) / (stem + ".hsaco"),
               {reinterpret_cast<const char*>(kernel.code_object.data()), kernel.code_object.size()});
}

}  // namespace wavejit::engine
